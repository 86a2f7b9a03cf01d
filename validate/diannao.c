/* SPDX-License-Identifier: MIT
 *
 * Compares the DianNao paper (Chen et al., ASPLOS 2014) with the model: the times of its ten layers (Table 5), over the
 * ideal time and beside the SIMD core that the paper compares with (Figures 16 and 17). diannao_machine.c compares the
 * machine itself. */
#include "diannao.h"

#include <math.h>
#include <stdio.h>

#include "diannao_layers.h"
#include "npulab/compare.h"
#include "npulab/progress.h"
#include "papers.h"
#include "validation.h"

#define MAX_SETS 32
#define PAPER_TN 16 /* Tn of the published figures, whatever the machine's setting is */

/* One layer on the machine and on the core. */
struct outcome {
	const struct npl_diannao_layer *layer;
	double tn, cycles, seconds, joules; /* NAN: the machine does not run it */
	struct npl_simd_run simd, wide;     /* runs of the core with 16-bit and with 32-bit elements */
	char reason[300];                   /* why the machine does not run it */
};

static double time_over_ideal(const struct outcome *o)
{
	return o->cycles / npl_diannao_ideal(o->layer, NPL_DIANNAO_STEPS, o->tn);
}

static double time_over_other_ideal(const struct outcome *o)
{
	return o->cycles / npl_diannao_ideal(o->layer, NPL_DIANNAO_OTHER, o->tn);
}

static double speedup(const struct outcome *o)
{
	return o->simd.seconds / o->seconds;
}

static double speedup_32bit(const struct outcome *o)
{
	return o->wide.seconds / o->seconds;
}

static double energy_ratio(const struct outcome *o)
{
	return o->simd.joules / o->joules;
}

static double energy_ratio_32bit(const struct outcome *o)
{
	return o->wide.joules / o->joules;
}

static const struct {
	const char *metric;
	double (*figure)(const struct outcome *outcome);
} metrics[] = {
	{"time_over_ideal", time_over_ideal},
	{"time_over_ideal_2", time_over_other_ideal},
	{"speedup", speedup},
	{"speedup_32bit", speedup_32bit},
	{"energy_ratio", energy_ratio},
	{"energy_ratio_32bit", energy_ratio_32bit},
};
#define METRICS ((int)(sizeof metrics / sizeof *metrics))

/* Geometric means of a metric over some of the layers: `layers` has BIT(L) for each layer L in the mean. */
#define BIT(layer) (1u << NPL_DIANNAO_##layer)
#define ALL        ((1u << NPL_DIANNAO_LAYERS) - 1)
static const struct {
	const char *name, *metric;
	double (*figure)(const struct outcome *outcome);
	unsigned layers;
} means[] = {
	{"ten layers", "time_over_ideal", time_over_ideal, ALL},
	{"not CONV2*, POOL1", "time_over_ideal", time_over_ideal, ALL & ~(BIT(CONV2) | BIT(POOL1))},
	{"ten layers", "speedup", speedup, ALL},
	{"CLASS1/3, CONV5*", "speedup", speedup, BIT(CLASS1) | BIT(CLASS3) | BIT(CONV5)},
	{"CONV1 to CONV4", "speedup", speedup, BIT(CONV1) | BIT(CONV2) | BIT(CONV3) | BIT(CONV4)},
	{"ten layers", "speedup_32bit", speedup_32bit, ALL},
	{"ten layers", "energy_ratio", energy_ratio, ALL},
	{"ten layers", "energy_ratio_32bit", energy_ratio_32bit, ALL},
	{"POOL1 to POOL5", "energy_ratio", energy_ratio, BIT(POOL1) | BIT(POOL3) | BIT(POOL5)},
};
#define MEANS ((int)(sizeof means / sizeof *means))

static int open_machine(const struct npl_validate_options *options, struct npl_device **device, struct npl_err *err)
{
	const char *sets[MAX_SETS];
	struct npl_device_options device_options = {.set = sets};
	if (options->n_sets > MAX_SETS)
		return npl_fail(err, NPL_EUSAGE, "--set: at most %d", MAX_SETS);
	device_options.n_sets = npl_device_sets(NPL_DIANNAO_MACHINE, options->set, options->n_sets, sets);
	return npl_device_open(NPL_DIANNAO_MACHINE, &device_options, device, err);
}

static int run_layer(struct npl_device *device, const struct npl_diannao_layer *layer, struct outcome *outcome,
		     struct npl_err *err)
{
	struct npl_result result;
	struct npl_simd wide = npl_simd_chen2014;
	char reason[200] = "";
	bool supported;
	*outcome = (struct outcome){.layer = layer,
				    .tn = npl_device_setting_number(device, "nfu.tn"),
				    .cycles = NAN,
				    .seconds = NAN,
				    .joules = NAN};
	wide.element_bytes = 4;
	npl_simd_run(&npl_simd_chen2014, &layer->shape, &outcome->simd);
	npl_simd_run(&wide, &layer->shape, &outcome->wide);
	if (npl_diannao_run(device, layer, &result, &supported, reason, sizeof reason, err))
		return err->code;
	if (supported) {
		outcome->cycles = (double)result.cycles;
		outcome->seconds = result.seconds;
		outcome->joules = npl_result_joules(&result);
		if (isnan(outcome->joules))
			snprintf(outcome->reason, sizeof outcome->reason,
				 "an energy of the machine or of its memory is not known");
	} else
		snprintf(outcome->reason, sizeof outcome->reason, "%s does not run %s: %s", NPL_DIANNAO_MACHINE,
			 layer->name, reason);
	return 0;
}

/* Returns the paper's time: a multiple of the ideal time, which depends on the definition of ideal. */
static double published_seconds(const struct npl_validation *validation, const struct npl_diannao_layer *layer,
				enum npl_diannao_ideal reading)
{
	return npl_diannao_published(validation, layer->name, "time_over_ideal") *
	       npl_diannao_ideal(layer, reading, PAPER_TN) / npl_diannao_published(validation, "DianNao", "clock") /
	       1e9;
}

/* Adds the core's cycles for a product or a pooled input; the paper's follow from its speed-up and time. */
static int add_core_cycles(struct npl_validation *validation, const struct outcome *o, enum npl_diannao_ideal reading,
			   struct npl_err *err)
{
	const char *name = o->layer->name;
	const bool is_other = reading == NPL_DIANNAO_OTHER;
	const double count = npl_diannao_operations(o->layer);
	const struct npl_validation_row row = {
		.case_name = name,
		.metric = is_other ? "simd_cycles_per_op_2" : "simd_cycles_per_op",
		.unit = "cycles/op",
		.published = npl_diannao_published(validation, name, "speedup") *
			     published_seconds(validation, o->layer, reading) * npl_simd_chen2014.clock_hz / count,
		.model = (is_other ? &o->wide : &o->simd)->cycles / count,
		.tolerance = NAN,
		.reference = CHEN_2014,
		.source = "derived from Fig. 16",
		.note = is_other ? "the same with the other reading of ideal, beside the core with 32-bit elements"
				 : "for each product or pooled input: speed-up times time over ideal times ideal, "
				   "beside the core with 16-bit elements"};
	return npl_validation_add(validation, NPL_DIANNAO_MACHINE, &row, err);
}

/* Adds the power that the core, memory included, must draw for the published energy ratio at the published speed-up. */
static int add_core_power(struct npl_validation *validation, const struct outcome *o, struct npl_err *err)
{
	const char *name = o->layer->name;
	const struct npl_validation_row row = {
		.case_name = name,
		.metric = "simd_power",
		.unit = "W",
		.published = NAN,
		.model = npl_diannao_published(validation, name, "energy_ratio") * o->joules /
			 npl_diannao_published(validation, name, "speedup") / o->seconds,
		.tolerance = NAN,
		.source = "derived from Fig. 17",
		.note = "derived: the published energy ratio over the published speed-up, times the model's power "
			"with memory"};
	return npl_validation_add(validation, NPL_DIANNAO_MACHINE, &row, err);
}

static int validate_layer(struct npl_validation *validation, const struct outcome *o, struct npl_err *err)
{
	int rc = 0;
	for (int m = 0; m < METRICS && !rc; m++)
		rc = npl_validation_set(validation, NPL_DIANNAO_MACHINE, o->layer->name, metrics[m].metric, "ratio",
					metrics[m].figure(o), err);
	return rc ? rc : npl_validation_explain(validation, NPL_DIANNAO_MACHINE, o->layer->name, o->reason, err);
}

/* Adds the figures of the core over all layers. */
static int validate_core(struct npl_validation *validation, const struct outcome *outcome, struct npl_err *err)
{
	int rc = 0;
	for (int i = 0; i < NPL_DIANNAO_LAYERS && !rc; i++)
		rc = add_core_cycles(validation, &outcome[i], NPL_DIANNAO_STEPS, err);
	for (int i = 0; i < NPL_DIANNAO_LAYERS && !rc; i++)
		rc = add_core_cycles(validation, &outcome[i], NPL_DIANNAO_OTHER, err);
	for (int i = 0; i < NPL_DIANNAO_LAYERS && !rc; i++) {
		rc = add_core_power(validation, &outcome[i], err);
		if (!rc)
			rc = npl_validation_explain(validation, NPL_DIANNAO_MACHINE, outcome[i].layer->name,
						    outcome[i].reason, err);
	}
	return rc;
}

static double geometric_mean(const struct outcome *outcome, unsigned layers,
			     double (*figure)(const struct outcome *outcome))
{
	double sum = 0;
	int n = 0;
	for (int i = 0; i < NPL_DIANNAO_LAYERS; i++)
		if (layers >> i & 1) {
			sum += log(figure(&outcome[i]));
			n++;
		}
	return exp(sum / n);
}

/* Explains means without a figure, each with the reason of its first layer without a figure. */
static int explain_means(struct npl_validation *validation, const struct outcome *outcome, struct npl_err *err)
{
	for (int m = 0; m < MEANS; m++)
		for (int i = 0; i < NPL_DIANNAO_LAYERS; i++)
			if (means[m].layers >> i & 1 && *outcome[i].reason &&
			    npl_validation_explain(validation, NPL_DIANNAO_MACHINE, means[m].name, outcome[i].reason,
						   err))
				return err->code;
	return 0;
}

/* Adds the time of the core at the rate that the paper quotes, without a cache, over the published times and over the
 * model's. */
static int add_quoted_rate(struct npl_validation *validation, const struct outcome *outcome, struct npl_err *err)
{
	const double rate = npl_diannao_published(validation, "CLASS and CONV", "simd_rate");
	double published = 0, model = 0;
	for (int i = 0; i < NPL_DIANNAO_LAYERS; i++) {
		const double seconds = outcome[i].simd.operations / rate / npl_simd_chen2014.clock_hz;
		published += log(seconds / published_seconds(validation, outcome[i].layer, NPL_DIANNAO_STEPS));
		model += log(seconds / outcome[i].seconds);
	}
	const struct npl_validation_row row = {
		.case_name = "ten layers",
		.metric = "speedup_quoted_rate",
		.unit = "ratio",
		.published = exp(published / NPL_DIANNAO_LAYERS),
		.model = exp(model / NPL_DIANNAO_LAYERS),
		.tolerance = NAN,
		.reference = CHEN_2014,
		.source = "Figure 16 speed-up",
		.note = "derived: the mean if the core did 2.01 operations in every cycle, over the published times "
			"and over the model's; that rate and the published speed-ups contradict each other "
			"(docs/validation-diannao.md)"};
	return npl_validation_add(validation, NPL_DIANNAO_MACHINE, &row, err);
}

static int validate_means(struct npl_validation *validation, const struct outcome *outcome, struct npl_err *err)
{
	double rate = 0;
	int rc = 0, n = 0;
	for (int m = 0; m < MEANS && !rc; m++)
		rc = npl_validation_set(validation, NPL_DIANNAO_MACHINE, means[m].name, means[m].metric, "ratio",
					geometric_mean(outcome, means[m].layers, means[m].figure), err);
	for (int i = 0; i < NPL_DIANNAO_LAYERS; i++)
		if (!outcome[i].layer->shape.pools) {
			rate += outcome[i].simd.operations / outcome[i].simd.cycles;
			n++;
		}
	if (!rc)
		rc = npl_validation_set(validation, NPL_DIANNAO_MACHINE, "CLASS and CONV", "simd_rate", "op/cycle",
					rate / n, err);
	if (!rc)
		rc = add_quoted_rate(validation, outcome, err);
	return rc ? rc : explain_means(validation, outcome, err);
}

int npl_validate_diannao(struct npl_validation *validation, const struct npl_validate_options *options,
			 struct npl_err *err)
{
	struct npl_device *device = NULL;
	struct outcome outcome[NPL_DIANNAO_LAYERS];
	int rc = npl_validation_load(validation, NPL_DIANNAO_MACHINE, NPL_DIANNAO_MACHINE ".csv", err);
	if (!rc)
		rc = open_machine(options, &device, err);
	if (!rc)
		rc = npl_diannao_machine(validation, device, err);
	for (int i = 0; i < NPL_DIANNAO_LAYERS && !rc; i++) {
		npl_progress_part(npl_diannao_layers[i].name, "layer", i + 1, NPL_DIANNAO_LAYERS);
		rc = run_layer(device, &npl_diannao_layers[i], &outcome[i], err);
		if (!rc)
			rc = validate_layer(validation, &outcome[i], err);
	}
	if (!rc)
		rc = validate_means(validation, outcome, err);
	if (!rc)
		rc = validate_core(validation, outcome, err);
	npl_device_close(device);
	return rc;
}
