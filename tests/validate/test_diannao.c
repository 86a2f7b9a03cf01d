/* SPDX-License-Identifier: MIT
 *
 * Promises of `npulab validate diannao`: published/diannao.csv agrees with itself (means, sums, units), with what was
 * read off the paper where that is at hand, and the shapes of the layers with its Table 5; ideal cycles are the closed
 * forms under either reading; four layers are fitted, three predicted, all seven within their tolerance; figures of the
 * machine follow from its parameters; a layer that the machine refuses has no figure, says why, and fails --check;
 * settings give what the page says of them. */
#include "tests/kit/cli_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files/csv.h"
#include "npulab/arena.h"
#include "npulab/validate.h"
#include "validate/diannao.h"
#include "validate/diannao_layers.h"
#include "validate/validation.h"

#define MACHINE "diannao"
#define FACTS   "../shared/facts/"

static struct npl_validation loaded(void)
{
	struct npl_validation v = {0};
	struct npl_err err;
	cr_assert_eq(npl_validation_load(&v, MACHINE, "diannao.csv", &err), 0, "%s", err.msg);
	return v;
}

static const struct npl_validation_row *row_of(const struct npl_validation *v, const char *name, const char *metric)
{
	const struct npl_validation_row *row = npl_validation_find(v, MACHINE, name, metric);
	cr_assert(row, "no %s of %s", metric, name);
	return row;
}

static double published(const struct npl_validation *v, const char *name, const char *metric)
{
	return row_of(v, name, metric)->published;
}

/* The mean of a metric over the layers whose bit is set. */
static double mean_of(const struct npl_validation *v, const char *metric, unsigned layers)
{
	double sum = 0;
	int n = 0;
	for (int i = 0; i < NPL_DIANNAO_LAYERS; i++)
		if (layers >> i & 1) {
			sum += log(published(v, npl_diannao_layers[i].name, metric));
			n++;
		}
	return exp(sum / n);
}

#define BIT(layer) (1u << NPL_DIANNAO_##layer)
#define TEN        ((1u << NPL_DIANNAO_LAYERS) - 1)

/* Bars are read off within 2.5 %, their means are printed. */
Test(validate_diannao, published_means_follow_from_the_bars)
{
	const struct {
		const char *name, *metric;
		unsigned layers;
		double printed;
	} means[] = {
		{"ten layers", "time_over_ideal", TEN, 4.36},
		{"not CONV2*, POOL1", "time_over_ideal", TEN & ~(BIT(CONV2) | BIT(POOL1)), 2.64},
		{"ten layers", "speedup", TEN, 117.87},
		{"ten layers", "speedup_32bit", TEN, 117.87},
		{"CLASS1/3, CONV5*", "speedup", BIT(CLASS1) | BIT(CLASS3) | BIT(CONV5), 629.92},
		{"CONV1 to CONV4", "speedup", BIT(CONV1) | BIT(CONV2) | BIT(CONV3) | BIT(CONV4), 195.15},
		{"ten layers", "energy_ratio", TEN, 21.08},
		{"ten layers", "energy_ratio_32bit", TEN, 21.08},
		{"POOL1 to POOL5", "energy_ratio", BIT(POOL1) | BIT(POOL3) | BIT(POOL5), 22.17},
	};
	struct npl_validation v = loaded();
	for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
		double mean = mean_of(&v, means[i].metric, means[i].layers);
		cr_assert_float_eq(published(&v, means[i].name, means[i].metric), means[i].printed, 1e-9);
		cr_assert_float_eq(mean / means[i].printed, 1, 0.0125, "%s of %s: %g of the layers, %g printed",
				   means[i].metric, means[i].name, mean, means[i].printed);
	}
	/* it is no mean of the classifiers and convolutions alone, whatever the text says */
	cr_assert_gt(mean_of(&v, "speedup", TEN & ~(BIT(POOL1) | BIT(POOL3) | BIT(POOL5))), 300);
	npl_validation_free(&v);
}

Test(validate_diannao, published_sums_and_units)
{
	static const char *const blocks[] = {"SB", "NBin", "NBout", "NFU", "CP", "AXIMUX", "other"};
	static const char *const types[] = {"combinational", "memory", "registers", "clock network"};
	struct npl_validation v = loaded();
	double power = 0, area = 0, type_power = 0, type_area = published(&v, "filler", "area");
	for (int i = 0; i < 7; i++) {
		power += published(&v, blocks[i], "power");
		area += published(&v, blocks[i], "area");
	}
	for (int i = 0; i < 4; i++) {
		type_power += published(&v, types[i], "power");
		type_area += published(&v, types[i], "area");
	}
	cr_assert_float_eq(power, 485, 1e-9);
	cr_assert_float_eq(power, published(&v, "blocks together", "power"), 1e-9);
	cr_assert_float_eq(area, 3.023077, 1e-9);
	cr_assert_float_eq(area, published(&v, "blocks together", "area"), 1e-9);
	cr_assert_float_eq(type_power, power, 1 + 1e-9, "rounded one by one");
	cr_assert_float_eq(type_area, area, 1e-9);
	/* G is 2^30: in decimal units 452 would be 7 % off */
	double per_second = published(&v, "DianNao", "ops_per_cycle") / published(&v, "DianNao", "critical_path") * 1e9;
	double with_nfu3 = published(&v, "DianNao", "ops_per_cycle_nfu3") / published(&v, "DianNao", "critical_path") *
			   1e9;
	cr_assert_eq(floor(per_second / 0x1p30), published(&v, "DianNao", "peak"));
	cr_assert_eq(floor(with_nfu3 / 0x1p30), published(&v, "DianNao", "peak_nfu3"));
	cr_assert_gt(per_second / 1e9, published(&v, "DianNao", "peak") * 1.07);
	npl_validation_free(&v);
}

/* The four that parameters were fitted to, the three that are predicted, the three that are shown. */
Test(validate_diannao, fitted_and_predicted_figures_are_judged)
{
	const unsigned fitted = BIT(CLASS1) | BIT(CLASS3) | BIT(CONV2) | BIT(POOL1),
		       predicted = BIT(CONV1) | BIT(CONV3) | BIT(CONV4);
	struct npl_validation v = loaded();
	for (int i = 0; i < NPL_DIANNAO_LAYERS; i++) {
		const struct npl_validation_row *row = row_of(&v, npl_diannao_layers[i].name, "time_over_ideal");
		double share = fitted >> i & 1 ? 0.10 : 0.15;
		cr_assert_eq(row->fitted, fitted >> i & 1, "%s", row->case_name);
		if ((fitted | predicted) >> i & 1)
			cr_assert_float_eq(row->tolerance, share * row->published, 1e-9, "%s", row->case_name);
		else
			cr_assert(isnan(row->tolerance), "%s", row->case_name);
		cr_assert_eq(published(&v, row->case_name, "time_over_ideal_2"), row->published);
		cr_assert_eq(published(&v, row->case_name, "speedup_32bit"), published(&v, row->case_name, "speedup"));
	}
	for (int i = 0; i < v.n; i++)
		cr_assert(*v.row[i].source && !strcmp(v.row[i].reference, "Chen et al. (ASPLOS 2014)"), "%s of %s",
			  v.row[i].metric, v.row[i].case_name);
	npl_validation_free(&v);
}

static const char *field(const struct npl_csv *csv, int row, const char *name)
{
	struct npl_err err;
	int column = npl_csv_column(csv, name, &err);
	cr_assert_geq(column, 0, "%s", err.msg);
	return csv->row[row].field[column];
}

static struct npl_csv facts(const char *file, struct npl_arena *arena)
{
	struct npl_csv csv;
	struct npl_err err;
	if (access(FACTS "diannao_published_results.csv", R_OK))
		cr_skip_test("no collection of published figures beside the project");
	cr_assert_eq(npl_csv_load(file, arena, &csv, &err), 0, "%s", err.msg);
	return csv;
}

/* Every bar that was read off the figures is here, rounded; a printed figure goes before it and is as near as a bitmap
 * is. */
Test(validate_diannao, bars_as_collected)
{
	static const struct {
		const char *prefix, *metric;
		double tolerance;
	} figures[] = {{"Fig16 time(Acc)/time(ideal) ", "time_over_ideal", 0.009},
		       {"Fig16 speedup over SIMD ", "speedup", 0.02},
		       {"Fig17 energy reduction over SIMD ", "energy_ratio", 0.001}};
	struct npl_arena arena = {0};
	struct npl_csv csv = facts(FACTS "diannao_published_results.csv", &arena);
	struct npl_validation v = loaded();
	int met = 0;
	for (int i = 0; i < csv.n_rows; i++)
		for (int f = 0; f < 3; f++) {
			const char *metric = field(&csv, i, "metric"), *name = metric + strlen(figures[f].prefix);
			if (strcmp(field(&csv, i, "paper"), "DianNao") ||
			    strncmp(metric, figures[f].prefix, strlen(figures[f].prefix)) || !strcmp(name, "GeoMean"))
				continue;
			double bar = strtod(field(&csv, i, "value"), NULL);
			cr_assert_float_eq(published(&v, name, figures[f].metric) / bar, 1, figures[f].tolerance, "%s",
					   metric);
			met++;
		}
	cr_assert_eq(met, 30);
	npl_validation_free(&v);
	npl_arena_free(&arena);
}

Test(validate_diannao, shapes_as_collected)
{
	struct npl_arena arena = {0};
	struct npl_csv csv = facts(FACTS "diannao_layers.csv", &arena);
	int met = 0;
	for (int i = 0; i < csv.n_rows; i++)
		for (int k = 0; k < NPL_DIANNAO_LAYERS; k++) {
			const struct npl_simd_layer *s = &npl_diannao_layers[k].shape;
			if (strcmp(field(&csv, i, "paper"), "DianNao") ||
			    strcmp(field(&csv, i, "layer"), npl_diannao_layers[k].name))
				continue;
			const struct {
				const char *name;
				int64_t value;
			} numbers[] = {{"Nx", s->in[1]},           {"Ny", s->in[0]},          {"Kx", s->kernel[1]},
				       {"Ky", s->kernel[0]},       {"Ni_maps", s->ni},        {"No_maps", s->no},
				       {"stride_x", s->stride[1]}, {"stride_y", s->stride[0]}};
			for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
				if (*field(&csv, i, numbers[n].name))
					cr_assert_eq(atoll(field(&csv, i, numbers[n].name)), numbers[n].value,
						     "%s of %s", numbers[n].name, npl_diannao_layers[k].name);
			cr_assert_eq(s->private_kernels, !strcmp(field(&csv, i, "kernel_sharing"), "private"));
			cr_assert_eq(s->private_kernels, strchr(npl_diannao_layers[k].name, '*') != NULL);
			met++;
		}
	cr_assert_eq(met, NPL_DIANNAO_LAYERS);
	npl_arena_free(&arena);
}

/* Worked by hand: positions x taps x rows of inputs x rows of outputs; and products over 256. */
Test(validate_diannao, ideal_cycles_are_as_worked_by_hand)
{
	static const double steps[] = {60 * 2,
				       13 * 7,
				       367.0 * 492 * 81 * 2 * 3,
				       183.0 * 183 * 324,
				       29 * 29 * 16 * 7 * 13,
				       26 * 26 * 49 * 32,
				       246.0 * 246 * 121 * 16 * 24,
				       183 * 246,
				       64 * 7,
				       128 * 128 * 16};
	static const double other[] = {75,
				       78.125,
				       367.0 * 492 * 81 * 2 * 3,
				       183.0 * 183 * 324 / 4,
				       29.0 * 29 * 16 * 6.75 * 12.5,
				       26 * 26 * 49 * 32,
				       246.0 * 246 * 121 * 16 * 24,
				       183 * 246 * 4 * 0.75,
				       64 * 16 * 6.25,
				       128 * 128 * 4 * 16};
	for (int i = 0; i < NPL_DIANNAO_LAYERS; i++) {
		const struct npl_diannao_layer *l = &npl_diannao_layers[i];
		cr_assert_float_eq(npl_diannao_ideal(l, NPL_DIANNAO_STEPS, 16), steps[i], 1e-6, "%s", l->name);
		cr_assert_float_eq(npl_diannao_ideal(l, NPL_DIANNAO_OTHER, 16), other[i], 1e-6, "%s", l->name);
	}
	cr_assert_eq(npl_diannao_ideal(&npl_diannao_layers[NPL_DIANNAO_CLASS1], NPL_DIANNAO_STEPS, 8), 120 * 3);
}

static double model(const struct npl_validation *v, const char *name, const char *metric)
{
	const struct npl_validation_row *row = row_of(v, name, metric);
	cr_assert(row->attempted);
	return row->model;
}

Test(validate_diannao, the_paper_is_met)
{
	struct npl_validation v;
	struct npl_err err;
	int judged = 0, layers = 0;
	cr_assert_eq(npl_validate(MACHINE, &(struct npl_validate_options){0}, &v, &err), 0, "%s", err.msg);
	for (int i = 0; i < v.n; i++) {
		const struct npl_validation_row *row = &v.row[i];
		enum npl_verdict verdict = npl_validation_verdict(row);
		cr_assert_neq((int)verdict, (int)NPL_OUTSIDE, "%s of %s: %g, published %g", row->metric, row->case_name,
			      row->model, row->published);
		judged += verdict == NPL_WITHIN;
		layers += verdict == NPL_WITHIN && !strcmp(row->metric, "time_over_ideal");
	}
	cr_assert_eq(layers, 7);
	cr_assert_geq(judged, 7 + 10 + 8);
	for (int i = 0; i < NPL_DIANNAO_LAYERS; i++) {
		const char *name = npl_diannao_layers[i].name;
		struct npl_simd_run run;
		npl_simd_run(&npl_simd_chen2014, &npl_diannao_layers[i].shape, &run);
		/* the same time under both readings, and in the speed-up */
		double cycles = model(&v, name, "time_over_ideal") *
				npl_diannao_ideal(&npl_diannao_layers[i], NPL_DIANNAO_STEPS, 16);
		cr_assert_float_eq(model(&v, name, "time_over_ideal_2") *
					   npl_diannao_ideal(&npl_diannao_layers[i], NPL_DIANNAO_OTHER, 16) / cycles,
				   1, 1e-9);
		cr_assert_float_eq(model(&v, name, "speedup") * cycles / 0.98e9 / run.seconds, 1, 1e-9);
		cr_assert_float_eq(model(&v, name, "simd_cycles_per_op") *
					   npl_diannao_operations(&npl_diannao_layers[i]) / run.cycles,
				   1, 1e-9);
		cr_assert(model(&v, name, "energy_ratio") > 0 && model(&v, name, "simd_power") > 0);
	}
	/* what docs/validation-diannao.md says of the core */
	cr_assert_float_eq(model(&v, "CLASS and CONV", "simd_rate"), 2.01, 0.15);
	cr_assert_float_eq(published(&v, "ten layers", "speedup_quoted_rate"), 14, 0.5);
	cr_assert_float_eq(model(&v, "DianNao", "peak_decimal"), 486.08, 1e-6);
	cr_assert_float_eq(model(&v, "DianNao", "peak"), 486.08e9 / 0x1p30, 1e-6);
	npl_validation_free(&v);
}

/* By the second reading of ideal a pooled input costs the core the same in all three layers, and a synapse in four; by
 * the first neither. */
Test(validate_diannao, the_second_reading_of_ideal_is_uniform)
{
	static const int pools[] = {NPL_DIANNAO_POOL1, NPL_DIANNAO_POOL3, NPL_DIANNAO_POOL5};
	static const int once[] = {NPL_DIANNAO_CLASS1, NPL_DIANNAO_CLASS3, NPL_DIANNAO_CONV2, NPL_DIANNAO_CONV5};
	struct npl_validation v;
	struct npl_err err;
	cr_assert_eq(npl_validate(MACHINE, &(struct npl_validate_options){0}, &v, &err), 0, "%s", err.msg);
	for (int i = 0; i < 3; i++) {
		const char *name = npl_diannao_layers[pools[i]].name;
		double cycles = published(&v, name, "simd_cycles_per_op_2");
		cr_assert_float_eq(cycles, 18.25, 0.0925, "%s: %g", name, cycles);
		/* what the model's core takes with 32-bit elements */
		cr_assert_float_eq(model(&v, name, "simd_cycles_per_op_2") / cycles, 1, 0.135, "%s", name);
	}
	for (int i = 0; i < 4; i++)
		cr_assert_float_eq(published(&v, npl_diannao_layers[once[i]].name, "simd_cycles_per_op_2"), 16.65, 0.6);
	cr_assert_gt(published(&v, "POOL1", "simd_cycles_per_op"), 4.5 * published(&v, "POOL3", "simd_cycles_per_op"));
	cr_assert_gt(published(&v, "CONV2*", "simd_cycles_per_op"), 4 * published(&v, "CONV5*", "simd_cycles_per_op"));
	npl_validation_free(&v);
}

/* What docs/validation-diannao.md says that other settings give. */
Test(validate_diannao, the_page_s_variants_are_right)
{
	static const struct {
		const char *set[2], *name;
		double ratio;
	} variants[] = {
		{{"diannao.dma.request_cycles=12", NULL}, "POOL1", 60.0},
		{{"diannao.dma.request_cycles=14", NULL}, "POOL1", 70.0},
		{{"diannao.tiles.positions=18", "diannao.nbout.sum_rows=36"}, "CONV1", 1.30},
		{{"diannao.tiles.positions=10", "diannao.tiles.groups=1"}, "CONV1", 1.69},
		{{"diannao.tiles.positions=5", "diannao.tiles.groups=3"}, "CONV1", 1.31},
		{{"diannao.nbout.rows=160", "diannao.nbout.sum_rows=128"}, "CONV1", 1.04},
		{{"diannao.nbout.rows=130", "diannao.nbout.sum_rows=128"}, "CLASS3", 4.01},
	};
	for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
		const struct npl_validate_options options = {.n_sets = variants[i].set[1] ? 2 : 1,
							     .set = variants[i].set};
		struct npl_validation v;
		struct npl_err err;
		cr_assert_eq(npl_validate(MACHINE, &options, &v, &err), 0, "%s", err.msg);
		cr_assert_float_eq(model(&v, variants[i].name, "time_over_ideal"), variants[i].ratio, 0.005, "%s: %g",
				   variants[i].set[0], model(&v, variants[i].name, "time_over_ideal"));
		npl_validation_free(&v);
	}
}

/* A layer that the machine refuses has no figure: the check does not pass, and every row that lacks one says why. */
Test(validate_diannao, a_refused_layer_fails_the_check)
{
	static const struct {
		const char *set, *refused, *reason, *first;
		int missing;
	} cases[] = {
		{"diannao.tiles.positions=18", "CONV3", "no tiles as asked for by tiles.* fit the buffers",
		 "2 judged figures are missing; the first is time_over_ideal of CONV1: diannao does not run CONV1: no "
		 "tiles",
		 2},
		{"diannao.tiles.nest=down", "CONV2*", "no tiles as asked for by tiles.* fit the buffers",
		 "3 judged figures are missing; the first is time_over_ideal of CONV1: diannao does not run CONV1: no "
		 "tiles",
		 3},
		{"diannao.energy.table=none", "CP", "neither a table nor the machine file has it",
		 "7 judged figures are missing; the first is power of CP: neither a table nor the machine file has it",
		 7},
		{"diannao.memory.preset=ideal", "DianNao", "there is no limit in the model",
		 "1 judged figure is missing; the first is memory_bandwidth of DianNao", 1},
	};
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		const struct npl_validate_options options = {.n_sets = 1, .set = &cases[c].set};
		struct npl_validation v;
		struct npl_err err;
		int missing = 0, n_reasons = 0;
		cr_assert_eq(npl_validate(MACHINE, &options, &v, &err), 0, "%s", err.msg);
		for (int i = 0; i < v.n; i++) {
			const struct npl_validation_row *row = &v.row[i];
			missing += npl_validation_verdict(row) == NPL_MISSING;
			cr_assert_eq(*row->reason != '\0', isnan(row->model) != 0, "%s of %s: '%s'", row->metric,
				     row->case_name, row->reason);
			cr_assert(!row->attempted || strcmp(row->reason, "no model works it out") != 0, "%s of %s",
				  row->metric, row->case_name);
			n_reasons += !strcmp(row->case_name, cases[c].refused) && strstr(row->reason, cases[c].reason);
		}
		cr_assert_eq(missing, cases[c].missing, "%s: %d", cases[c].set, missing);
		cr_assert_gt(n_reasons, 0, "%s", cases[c].set);
		npl_validation_free(&v);
		const struct cli_refusal refused[] = {
			{1, cases[c].first, {"validate", MACHINE, "--quiet", "--check", "--set", cases[c].set}}};
		CLI_CHECK(".", refused);
	}
}

/* Figures of the configuration follow it; what it does not know is not known. */
Test(validate_diannao, figures_follow_another_configuration)
{
	static const char *const sets[] = {"nfu.tn=8", "nbin.rows=128", "clock_hz=490000000", "dma.request_cycles=5"};
	struct npl_device *device;
	struct npl_err err;
	for (int absent = 0; absent < 2; absent++) {
		const char *set[] = {sets[0], sets[1], sets[2], sets[3], "energy.table=none"};
		struct npl_validation v = loaded();
		cr_assert_eq(npl_device_open(MACHINE, &(struct npl_device_options){.set = set, .n_sets = 4 + absent},
					     &device, &err),
			     0, "%s", err.msg);
		cr_assert_eq(npl_diannao_machine(&v, device, &err), 0, "%s", err.msg);
		cr_assert_eq(model(&v, "DianNao", "ops_per_cycle"), 64 + 56);
		cr_assert_eq(model(&v, "DianNao", "ops_per_cycle_nfu3"), 64 + 56 + 16);
		cr_assert_float_eq(model(&v, "DianNao", "peak_decimal"), 120 * 0.49, 1e-9);
		cr_assert_eq(model(&v, "DianNao", "nbin_size"), 2);
		cr_assert_eq(model(&v, "DianNao", "sb_size"), 8);
		cr_assert_eq(model(&v, "DianNao", "dma.request_cycles"), 5);
		cr_assert(row_of(&v, "DianNao", "dma.request_cycles")->fitted);
		cr_assert_eq(isnan(model(&v, "CP", "power")) != 0, absent);
		if (!absent) /* a quarter as wide, half as often; control does not get narrower, and half as often */
			cr_assert(fabs(model(&v, "SB", "power") / (105.0 / 8) - 1) < 0.02 &&
				  fabs(model(&v, "CP", "power") / (31.0 / 2) - 1) < 0.02);
		cr_assert(model(&v, "SB", "area") > 0.2 && model(&v, "SB", "area") < 0.4, "a quarter");
		npl_device_close(device);
		npl_validation_free(&v);
	}
}
