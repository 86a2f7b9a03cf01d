/* SPDX-License-Identifier: MIT
 *
 * Energy and area of the chips by component (npulab/energy_model.h): what was published, the calibrated figures, and
 * the bottom-up range. The calibrated ones were fitted to the published ones and are marked so. Nothing was fitted to
 * the bottom-up ones, nor to the figures of published/energy.csv: they are predicted. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diannao.h"
#include "diannao_layers.h"
#include "frontend/compare/devices_open.h"
#include "npulab/device.h"
#include "npulab/energy_model.h"
#include "npulab/progress.h"
#include "papers.h"
#include "tpu_applications.h"
#include "validation.h"

#define ENERGY          "energy"
#define TOTAL_TOLERANCE 0.05 /* of what is calibrated */
#define FACTOR          2    /* of bottom-up totals, up or down */

/* A figure of a chip: what was published, and both models. */
struct figure {
	const char *case_name, *metric, *unit, *source;
	double published, calibrated;
	struct npl_estimates bottom_up;
	enum { ONE_COMPONENT, TOTAL, ONLY_BOTTOM_UP } kind; /* of a total the bottom-up figure is judged, too */
};

static const char *paper_of(const struct figure *f)
{
	return strncmp(f->case_name, "TPU", 3) != 0 ? CHEN_2014 : JOUPPI_2017;
}

static int add_row(struct npl_validation *v, const struct figure *f, const char *suffix, double model, double tolerance,
		   bool fitted, const char *note, struct npl_err *err)
{
	char metric[80];
	snprintf(metric, sizeof metric, "%s%s", f->metric, suffix);
	const struct npl_validation_row row = {.case_name = f->case_name,
					       .metric = metric,
					       .unit = f->unit,
					       .published = f->published,
					       .model = model,
					       .tolerance = tolerance,
					       .fitted = fitted,
					       .reference = paper_of(f),
					       .source = f->source,
					       .note = note,
					       .reason = isnan(model) ? "no table has it" : ""};
	return npl_validation_add(v, ENERGY, &row, err);
}

/* Adds how far the middle of the range is from the published figure, up or down: 1 is there. */
static int add_factor(struct npl_validation *v, const struct figure *f, struct npl_err *err)
{
	const double ratio = f->bottom_up.middle / f->published;
	struct figure factor = *f;
	factor.unit = "ratio";
	factor.published = 1;
	return add_row(v, &factor, "_factor", fmax(ratio, 1 / ratio), FACTOR - 1, false,
		       "the middle of the range over what was published, or the reverse", err);
}

static int add_figure(struct npl_validation *v, const struct figure *f, struct npl_err *err)
{
	static const char *const suffixes[] = {"_low", "_middle", "_high"};
	const double bottom_up[] = {f->bottom_up.low, f->bottom_up.middle, f->bottom_up.high};
	int rc = 0;
	if (f->kind != ONLY_BOTTOM_UP)
		rc = add_row(v, f, "", f->calibrated, TOTAL_TOLERANCE * f->published, true, "", err);
	const bool is_range = f->bottom_up.low < f->bottom_up.high;
	for (int i = 0; i < 3 && !rc && !isnan(f->bottom_up.middle); i++)
		if (is_range || i == 1)
			rc = add_row(v, f, suffixes[i], bottom_up[i], NAN, false, "bottom-up", err);
	return rc || f->kind != TOTAL ? rc : add_factor(v, f, err);
}

/* Adds a range to a sum, which begins with zeros. */
static void add_range(struct npl_estimates *sum, const struct npl_estimates *range)
{
	if (isnan(range->middle))
		return;
	sum->low += range->low;
	sum->middle += range->middle;
	sum->high += range->high;
}

static struct npl_estimates milliwatts(const struct npl_device *device, const struct npl_diannao_block *block,
				       const struct npl_estimates *pj)
{
	return (struct npl_estimates){npl_diannao_block_mw(device, block, pj->low),
				      npl_diannao_block_mw(device, block, pj->middle),
				      npl_diannao_block_mw(device, block, pj->high)};
}

/* Adds the blocks of Table 6 at full rate, their sum, and its rows by type that the tables have. The powers of the
 * paper include leakage. */
static int add_diannao_blocks(struct npl_validation *v, const struct npl_validation *paper,
			      const struct npl_device *device, struct npl_err *err)
{
	const struct npl_energy_model *model = npl_device_energy_model(device);
	struct npl_estimates all = {0}, memories = {0}, logic = {0};
	double block_mw[NPL_DIANNAO_BLOCKS];
	const double all_mw = npl_diannao_powers(device, block_mw);
	char name[80];
	int rc = 0;
	for (int b = 0; b < NPL_DIANNAO_BLOCKS && !rc; b++) {
		const struct npl_diannao_block *block = &npl_diannao_blocks[b];
		const struct npl_component *component = npl_diannao_component(device, block);
		const struct npl_estimates mw = milliwatts(device, block, &component->action[0].bottom_up_pj);
		snprintf(name, sizeof name, "DianNao %s", block->name);
		const struct figure power = {name,
					     "power",
					     "mW",
					     "Table 6 power",
					     npl_diannao_published(paper, block->name, "power"),
					     block_mw[b],
					     mw,
					     ONE_COMPONENT};
		const struct figure area = {name,
					    "area",
					    "mm2",
					    "Table 6 area",
					    npl_diannao_published(paper, block->name, "area"),
					    component->area_mm2,
					    component->bottom_up_mm2,
					    ONE_COMPONENT};
		add_range(&all, &mw);
		add_range(component->leakage_watts.high > 0 ? &memories : &logic, &mw);
		rc = add_figure(v, &power, err);
		if (!rc)
			rc = add_figure(v, &area, err);
	}
	const struct figure sums[] = {
		{"DianNao", "power", "mW", "Table 6 power", npl_diannao_published(paper, "blocks together", "power"),
		 all_mw, all, TOTAL},
		{"DianNao memories", "power", "mW", "Table 6 power, by type",
		 npl_diannao_published(paper, "memory", "power"), NAN, memories, ONLY_BOTTOM_UP},
		{"DianNao logic", "power", "mW", "Table 6 power, combinational",
		 npl_diannao_published(paper, "combinational", "power"), NAN, logic, ONLY_BOTTOM_UP},
		{"DianNao",
		 "area",
		 "mm2",
		 "Table 6 area",
		 npl_diannao_published(paper, "blocks together", "area"),
		 model->area_mm2,
		 {NAN, NAN, NAN},
		 ONE_COMPONENT},
	};
	for (size_t i = 0; i < sizeof sums / sizeof *sums && !rc; i++)
		rc = add_figure(v, &sums[i], err);
	return rc;
}

/* Returns the chip's share of the energy of the ten layers that the machine runs. */
static int find_chip_share(struct npl_device *device, double *share, struct npl_err *err)
{
	double chip = 0, all = 0;
	for (int l = 0; l < NPL_DIANNAO_LAYERS; l++) {
		struct npl_result result = {0};
		char reason[200];
		bool supported;
		if (npl_diannao_run(device, &npl_diannao_layers[l], &result, &supported, reason, sizeof reason, err))
			return err->code;
		for (int i = 0; i < result.n_energy && supported; i++) {
			all += result.energy[i].joules;
			chip += result.energy[i].part == NPL_OF_MACHINE ? result.energy[i].joules : 0;
		}
	}
	*share = chip / all;
	return 0;
}

static int open_diannao(const struct npl_validate_options *options, const char *change, struct npl_device **device,
			struct npl_err *err)
{
	const char *sets[33];
	struct npl_device_options opening = {.set = sets};
	if (options->n_sets > 32)
		return npl_fail(err, NPL_EUSAGE, "--set: at most 32");
	opening.n_sets = npl_device_sets(NPL_DIANNAO_MACHINE, options->set, options->n_sets, sets);
	if (change)
		sets[opening.n_sets++] = change;
	return npl_device_open(NPL_DIANNAO_MACHINE, &opening, device, err);
}

static int validate_diannao(struct npl_validation *v, const struct npl_validate_options *options, struct npl_err *err)
{
	struct npl_validation paper = {0};
	struct npl_device *device = NULL, *narrow = NULL;
	double share = NAN;
	int rc = npl_validation_load(&paper, NPL_DIANNAO_MACHINE, NPL_DIANNAO_MACHINE ".csv", err);
	if (!rc)
		rc = open_diannao(options, NULL, &device, err);
	if (!rc)
		rc = add_diannao_blocks(v, &paper, device, err);
	if (!rc)
		rc = find_chip_share(device, &share, err);
	if (!rc)
		rc = npl_validation_set(v, ENERGY, "DianNao's ten layers", "chip_share", "fraction", share, err);
	if (!rc)
		rc = open_diannao(options, "nfu.tn=8", &narrow, err);
	if (!rc)
		rc = npl_validation_set(v, ENERGY, "DianNao, Tn = 8", "area", "mm2",
					npl_device_energy_model(narrow)->area_mm2, err);
	npl_device_close(narrow);
	npl_device_close(device);
	npl_validation_free(&paper);
	return rc;
}

/* Adds the components of the floor plan. */
static int add_floor_plan(struct npl_validation *v, const struct npl_validation *paper, const struct npl_device *device,
			  struct npl_err *err)
{
	const struct npl_energy_model *model = npl_device_energy_model(device);
	const double die_mm2 = npl_tpu_published(paper, "TPU", "die_area");
	char name[80];
	int rc = 0;
	for (int c = 0; c < model->n_components && !rc; c++) {
		const struct npl_component *component = &model->component[c];
		snprintf(name, sizeof name, "TPU %s", component->name);
		const struct figure area = {name,
					    "area",
					    "mm2",
					    "Figure 2",
					    die_mm2 * npl_tpu_published(paper, component->name, "floor_plan"),
					    component->area_mm2,
					    component->bottom_up_mm2,
					    ONE_COMPONENT};
		rc = add_figure(v, &area, err);
	}
	return rc;
}

/* Adds the powers of Table 2; the work is CNN0's. */
static int validate_tpu(struct npl_validation *v, const struct npl_validate_options *options, struct npl_err *err)
{
	const struct npl_tpu_application *cnn0 = &npl_tpu_applications[NPL_TPU_CNN0];
	struct npl_validation paper = {0};
	struct npl_device *device = NULL;
	struct npl_tpu_counts counts = {0};
	int rc = npl_validation_load(&paper, NPL_TPU_MACHINE, NPL_TPU_MACHINE ".csv", err);
	if (!rc)
		rc = npl_tpu_open(options, false, NULL, 0, &device, err);
	if (!rc)
		rc = npl_tpu_count(cnn0, cnn0->counted_samples, options, NULL, 0, &counts, err);
	if (!rc) {
		const struct npl_energy_model *model = npl_device_energy_model(device);
		const double idle = npl_tpu_published(&paper, "TPU", "die_idle_power"),
			     busy = npl_tpu_published(&paper, "TPU", "die_busy_power");
		struct npl_estimates dynamic = counts.dynamic_watts;
		dynamic.middle = sqrt(dynamic.low * dynamic.high);
		const struct figure figures[] = {
			{"TPU", "idle_power", "W", "Table 2", idle, model->static_watts, model->bottom_up_static_watts,
			 ONE_COMPONENT},
			{"TPU", "dynamic_power", "W", "Table 2: busy less idle", busy - idle,
			 counts.dynamic_watts.middle, dynamic, TOTAL},
			{"TPU", "busy_power", "W", "Table 2", busy, counts.watts, {NAN, NAN, NAN}, ONE_COMPONENT},
		};
		for (size_t i = 0; i < sizeof figures / sizeof *figures && !rc; i++)
			rc = add_figure(v, &figures[i], err);
		const struct figure tenth = {"TPU",
					     "power_at_10_percent_load",
					     "fraction",
					     "section 6",
					     npl_tpu_published(&paper, "TPU", "power_at_10_percent_load"),
					     NAN,
					     {NAN, NAN, NAN},
					     ONE_COMPONENT};
		if (!rc)
			rc = add_row(v, &tenth, "", (0.9 * model->static_watts + 0.1 * counts.watts) / counts.watts,
				     NAN, false, "predicted: of that at full load, CNN0", err);
		if (!rc)
			rc = add_floor_plan(v, &paper, device, err);
	}
	npl_device_close(device);
	npl_validation_free(&paper);
	return rc;
}

int npl_validate_energy(struct npl_validation *validation, const struct npl_validate_options *options,
			struct npl_err *err)
{
	if (npl_validation_load(validation, ENERGY, ENERGY ".csv", err))
		return err->code;
	npl_progress_part(ENERGY, "chip", 1, 2);
	if (validate_tpu(validation, options, err))
		return err->code;
	npl_progress_part(ENERGY, "chip", 2, 2);
	return validate_diannao(validation, options, err);
}
