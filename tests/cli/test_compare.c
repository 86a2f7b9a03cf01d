/* SPDX-License-Identifier: MIT
 *
 * The main job, end to end through the program: `npulab compare digits --devices reference,tpu_v1,diannao,cpu` gives
 * every key of the schema npulab.compare/1, keeps the network's accuracy on each machine, runs every layer that
 * multiplies on the machine itself, and its totals are the sums of its layers. What is simulated is the same in every
 * run, with any number of threads, whatever the batch and whether values are computed or not. */
#include "npulab/graph.h"
#include "npulab/tensor_file.h"
#include "tests/kit/cli_json.h"

#define FOUR            "reference,tpu_v1,diannao,cpu"
#define SIMULATED       "tpu_v1,diannao"
#define SAMPLES         360
#define MACS_PER_SAMPLE 616064LL /* 3 x 3 x (64 x 16 + 64 x 16 x 32 + 16 x 32 x 64) + 256 x 64 + 64 x 10 */

static const struct cli_run_options plainly = {0};

/* Returns the joules of the entries of a component and origin; NAN when one is null. */
static double component_sum(json_t *list, const char *component, const char *origin)
{
	double sum = 0;
	size_t i;
	json_t *part;
	json_array_foreach (list, i, part) {
		bool same = !strcmp(cli_text(cli_at(part, "component")), component) &&
			    !strcmp(cli_text(cli_at(part, "origin")), origin);
		if (same)
			sum += json_is_null(cli_at(part, "joules")) ? (double)NAN : cli_number(cli_at(part, "joules"));
	}
	return sum;
}

/* energy_j is the sum of the components, null when one is not known or there is none. */
static void check_energy_sum(json_t *entry, const char *subject)
{
	double sum = 0;
	size_t i;
	json_t *part, *list = cli_at(entry, "energy"), *total = cli_at(entry, "energy_j");
	json_array_foreach (list, i, part)
		sum += json_is_null(cli_at(part, "joules")) ? (double)NAN : cli_number(cli_at(part, "joules"));
	if (json_array_size(list) == 0 || isnan(sum))
		cr_assert(json_is_null(total), "%s: energy is known though a part of it is not", subject);
	else
		cr_assert(cli_near(cli_number(total), sum, 1e-12), "%s: %g J, the parts sum to %g J", subject,
			  cli_number(total), sum);
}

/* What a simulated device's totals say is what its layers say. */
static void check_sums(json_t *root, json_t *device)
{
	const char *name = cli_text(cli_at(device, "name"));
	json_t *totals = cli_at(device, "totals"), *layers = cli_at(device, "layers"), *layer, *part;
	long long cycles = 0, macs = 0;
	double seconds = 0;
	size_t i, e;
	json_array_foreach (layers, i, layer) {
		cycles += json_is_null(cli_at(layer, "cycles")) ? 0 : cli_integer(cli_at(layer, "cycles"));
		macs += cli_integer(cli_at(layer, "macs"));
		seconds += cli_number(cli_at(layer, "seconds"));
		check_energy_sum(layer, name);
	}
	cr_assert_eq(cycles, cli_integer(cli_at(totals, "cycles")), "%s: cycles", name);
	cr_assert_eq(macs, cli_integer(cli_at(root, "model.macs")) * cli_integer(cli_at(root, "model.batches")),
		     "%s: MACs", name);
	seconds -= cli_number(cli_at(totals, "overlap_seconds"));
	cr_assert(cli_near(seconds, cli_number(cli_at(totals, "seconds")), 1e-12), "%s: seconds", name);
	check_energy_sum(totals, name);
	json_array_foreach (cli_at(totals, "energy"), e, part) {
		const char *component = cli_text(cli_at(part, "component")), *origin = cli_text(cli_at(part, "origin"));
		double sum = 0, total = component_sum(cli_at(totals, "energy"), component, origin);
		json_array_foreach (layers, i, layer)
			sum += component_sum(cli_at(layer, "energy"), component, origin);
		cr_assert(cli_near(sum, total, 1e-12) || (isnan(sum) && isnan(total)),
			  "%s: %s is %g J, its layers' sum %g J", name, component, total, sum);
	}
}

/* Rates follow from seconds, samples, MACs and joules. */
static void check_rates(json_t *root, json_t *device)
{
	const char *name = cli_text(cli_at(device, "name"));
	json_t *totals = cli_at(device, "totals");
	double seconds = cli_number(cli_at(totals, "seconds")), samples = cli_number(cli_at(root, "model.samples"));
	double batches = cli_number(cli_at(root, "model.batches")), batch = cli_number(cli_at(root, "model.batch"));
	/* what fills up a short last batch is no work */
	double macs = cli_number(cli_at(root, "model.macs")) * samples / batch;
	cr_assert(seconds > 0, "%s: %g seconds", name, seconds);
	cr_assert(cli_near(cli_number(cli_at(totals, "latency_s")), seconds / batches, 1e-12), "%s: latency", name);
	cr_assert(cli_near(cli_number(cli_at(totals, "inferences_per_second")), samples / seconds, 1e-12), "%s: rate",
		  name);
	cr_assert(cli_near(cli_number(cli_at(totals, "ops_per_second")), 2 * macs / seconds, 1e-12), "%s: operations",
		  name);
	if (json_is_null(cli_at(totals, "energy_j"))) {
		cr_assert(strstr(cli_text(cli_at(totals, "energy_origin")), "absent"),
			  "%s: no energy, yet no part is absent", name);
		cr_assert(json_is_null(cli_at(totals, "power_w")) &&
				  json_is_null(cli_at(totals, "inferences_per_joule")),
			  "%s", name);
		return;
	}
	double joules = cli_number(cli_at(totals, "energy_j"));
	cr_assert(joules > 0 && !strstr(cli_text(cli_at(totals, "energy_origin")), "absent"), "%s: %g J", name, joules);
	cr_assert(cli_near(cli_number(cli_at(totals, "power_w")), joules / seconds, 1e-12), "%s: power", name);
	cr_assert(cli_near(cli_number(cli_at(totals, "inferences_per_joule")), samples / joules, 1e-12),
		  "%s: inferences per joule", name);
}

static bool is_product(json_t *layer)
{
	const char *op = cli_text(cli_at(layer, "op"));
	return !strcmp(op, "Conv") || !strcmp(op, "Gemm") || !strcmp(op, "MatMul");
}

/* Every layer that multiplies ran on the machine; returns how many there are. */
static int check_on_machine(json_t *device)
{
	const char *name = cli_text(cli_at(device, "name"));
	int n = 0;
	size_t i;
	json_t *layer;
	json_array_foreach (cli_at(device, "layers"), i, layer) {
		if (!is_product(layer))
			continue;
		n++;
		cr_assert_str_eq(cli_text(cli_at(layer, "ran_on")), name, "%s: layer %s", name,
				 cli_text(cli_at(layer, "name")));
		cr_assert(cli_integer(cli_at(layer, "cycles")) > 0);
	}
	return n;
}

/* Table 3 of the TPU paper: four counters share out all cycles; the useful MACs are the layer's. */
static void check_tpu_counters(json_t *device)
{
	size_t i;
	json_t *layer;
	json_array_foreach (cli_at(device, "layers"), i, layer) {
		if (strcmp(cli_text(cli_at(layer, "role")), "ran")) {
			cr_assert_eq(json_object_size(cli_at(layer, "counters")), 0);
			continue;
		}
		long long parts = cli_integer(cli_at(layer, "counters.array_active")) +
				  cli_integer(cli_at(layer, "counters.weight_stall")) +
				  cli_integer(cli_at(layer, "counters.weight_shift")) +
				  cli_integer(cli_at(layer, "counters.non_matrix"));
		cr_assert_eq(parts, cli_integer(cli_at(layer, "cycles")), "layer %zu", i);
		cr_assert_eq(cli_integer(cli_at(layer, "counters.useful_macs")), cli_integer(cli_at(layer, "macs")),
			     "layer %zu", i);
		cli_integer(cli_at(layer, "counters.unused_macs"));
		cli_integer(cli_at(layer, "counters.raw_stall"));
		cli_integer(cli_at(layer, "counters.input_stall"));
		cli_integer(cli_at(layer, "counters.output_stall"));
		cli_integer(cli_at(layer, "counters.sync_pause"));
	}
}

Test(cli_compare, digits_on_four_devices)
{
	static const char *const names[] = {"reference", "tpu_v1", "diannao", "cpu"};
	static const char *const kinds[] = {"reference", "simulated", "simulated", "cpu"};
	static const char *const formats[] = {"float32", "int8", "Q6.10", "float32"};
	json_t *root = cli_json(&plainly, "compare", "digits", "--devices", FOUR, "--json", "-");
	cli_check_result(root);
	double reference = cli_number(cli_at(root, "model.reference_top1_accuracy"));
	cr_assert(reference >= 0.98, "float accuracy %g", reference);
	cr_assert_eq(cli_integer(cli_at(root, "model.samples")), SAMPLES);
	cr_assert_eq(cli_integer(cli_at(root, "model.macs")),
		     MACS_PER_SAMPLE * cli_integer(cli_at(root, "model.batch")));
	cr_assert_eq(json_array_size(cli_at(root, "devices")), 4);
	for (size_t d = 0; d < 4; d++) {
		json_t *device = json_array_get(cli_at(root, "devices"), d);
		bool simulated = !strcmp(kinds[d], "simulated");
		cr_assert_str_eq(cli_text(cli_at(device, "name")), names[d]);
		cr_assert_str_eq(cli_text(cli_at(device, "kind")), kinds[d]);
		cr_assert_str_eq(cli_text(cli_at(device, "precision")), formats[d]);
		double accuracy = cli_number(cli_at(device, "accuracy.top1_accuracy"));
		cr_assert(fabs(accuracy - reference) <= 0.01, "%s: accuracy %g, float %g", names[d], accuracy,
			  reference);
		cr_assert(cli_number(cli_at(device, "accuracy.top1_agreement")) >= 0.98, "%s", names[d]);
		cr_assert_eq(strlen(cli_text(cli_at(device, "output_sha256"))), 64);
		check_rates(root, device);
		cr_assert_eq(json_is_null(cli_at(device, "totals.cycles")), !simulated, "%s: cycles", names[d]);
		cr_assert_eq(json_is_null(cli_at(device, "totals.simulation_wall_seconds")), !simulated, "%s",
			     names[d]);
		cr_assert_eq(json_is_null(cli_at(device, "totals.seconds_spread")), simulated, "%s", names[d]);
		json_t *peak = cli_at(device, "totals.peak_buffer_bytes"); /* of machines with programs */
		cr_assert_eq(json_is_null(peak), strcmp(names[d], "tpu_v1") != 0, "%s", names[d]);
		cr_assert(json_is_null(peak) || (cli_integer(peak) > 0 && cli_integer(peak) <= 24 << 20), "%s",
			  names[d]);
		if (!simulated)
			continue;
		check_sums(root, device);
		cr_assert_eq(check_on_machine(device), 5, "%s", names[d]);
		double utilization = cli_number(cli_at(device, "totals.utilization"));
		cr_assert(utilization > 0 && utilization <= 1, "%s: %g", names[d], utilization);
	}
	check_tpu_counters(cli_device(root, "tpu_v1"));
	cr_assert_eq(cli_number(cli_at(cli_device(root, "reference"), "accuracy.max_abs_error")), 0);
	json_decref(root);
}

/* What may differ between two runs of a simulated device, taken out. */
static void drop_timing(json_t *root)
{
	size_t i;
	json_t *device;
	json_array_foreach (cli_at(root, "devices"), i, device) {
		json_object_del(cli_at(device, "totals"), "simulation_wall_seconds");
	}
}

Test(cli_compare, same_figures_every_time)
{
	json_t *first = cli_json(&plainly, "compare", "digits", "--devices", SIMULATED, "--json", "-");
	json_t *second = cli_json(&plainly, "compare", "digits", "--devices", SIMULATED, "--json", "-");
	json_t *single = cli_json(&plainly, "compare", "digits", "--devices", SIMULATED, "--json", "-", "--threads",
				  "1");
	drop_timing(first);
	drop_timing(second);
	drop_timing(single);
	cr_assert(json_equal(first, second), "a second run gave other figures");
	cr_assert(json_equal(first, single), "one thread gave other figures");
	json_decref(first);
	json_decref(second);
	json_decref(single);
}

/* --threads reaches the real processor. */
Test(cli_compare, threads_reach_the_processor)
{
	json_t *root = cli_json(&plainly, "compare", "digits", "--devices", "cpu,null", "--threads", "1", "--json",
				"-");
	json_t *cpu = cli_device(root, "cpu");
	cr_assert_eq(cli_integer(json_object_get(cli_at(cpu, "settings"), "threads")), 1);
	cr_assert(cli_number(cli_at(cpu, "accuracy.top1_agreement")) == 1);
	json_decref(root);
}

/* Cycles, counters, seconds and energy do not need the values; what needs them is null. */
Test(cli_compare, timing_only_changes_no_cycle)
{
	json_t *full = cli_json(&plainly, "compare", "digits", "--devices", SIMULATED, "--json", "-");
	json_t *timed = cli_json(&plainly, "compare", "digits", "--devices", SIMULATED, "--json", "-", "--timing-only");
	cli_check_result(timed);
	cr_assert(json_is_null(cli_at(timed, "model.calibrated_on")) &&
		  json_is_null(cli_at(timed, "model.reference_top1_accuracy")));
	for (size_t d = 0; d < 2; d++) {
		json_t *a = json_array_get(cli_at(full, "devices"), d),
		       *b = json_array_get(cli_at(timed, "devices"), d);
		static const char *const same[] = {"cycles", "seconds", "host_seconds", "host_link_seconds", "energy_j",
						   "energy", "bytes",   "utilization",  "peak_buffer_bytes"};
		for (size_t i = 0; i < sizeof same / sizeof *same; i++)
			cr_assert(
				json_equal(cli_at(cli_at(a, "totals"), same[i]), cli_at(cli_at(b, "totals"), same[i])),
				"%s: %s", cli_text(cli_at(a, "name")), same[i]);
		cr_assert(json_is_null(cli_at(b, "output_sha256")) &&
			  json_is_null(cli_at(b, "accuracy.top1_accuracy")));
		cr_assert(json_is_null(cli_at(b, "accuracy.saturations")) &&
			  json_is_null(cli_at(b, "accuracy.overflows")));
		size_t i;
		json_t *layer, *timed_layer;
		json_array_foreach (cli_at(a, "layers"), i, layer) {
			timed_layer = json_array_get(cli_at(b, "layers"), i);
			cr_assert(json_is_null(cli_at(timed_layer, "output_sha256")));
			cr_assert(json_equal(cli_at(layer, "cycles"), cli_at(timed_layer, "cycles")), "layer %zu", i);
			cli_check_timed_counters(cli_at(layer, "counters"), cli_at(timed_layer, "counters"),
						 cli_text(cli_at(layer, "name")));
		}
	}
	json_decref(full);
	json_decref(timed);
}

/* 360 samples in batches of 7 are 52 batches, the last of three: every sample still gets the same output. */
Test(cli_compare, batches_that_do_not_divide)
{
	json_t *whole = cli_json(&plainly, "compare", "digits", "--devices", SIMULATED, "--json", "-");
	json_t *cut = cli_json(&plainly, "compare", "digits", "--devices", SIMULATED, "--json", "-", "--batch", "7");
	cli_check_result(cut);
	cr_assert_eq(cli_integer(cli_at(cut, "model.batch")), 7);
	cr_assert_eq(cli_integer(cli_at(cut, "model.samples")), SAMPLES);
	cr_assert_eq(cli_integer(cli_at(cut, "model.batches")), (SAMPLES + 6) / 7);
	cr_assert_eq(cli_integer(cli_at(cut, "model.macs")), 7 * MACS_PER_SAMPLE);
	for (size_t d = 0; d < 2; d++) {
		json_t *a = json_array_get(cli_at(whole, "devices"), d), *b = json_array_get(cli_at(cut, "devices"), d);
		static const char *const same[] = {"max_abs_error", "sqnr_db", "top1_agreement", "top1_accuracy"};
		cr_assert(json_equal(cli_at(a, "output_sha256"), cli_at(b, "output_sha256")),
			  "device %zu: other outputs", d);
		for (size_t i = 0; i < sizeof same / sizeof *same; i++)
			cr_assert(json_equal(cli_at(cli_at(a, "accuracy"), same[i]),
					     cli_at(cli_at(b, "accuracy"), same[i])),
				  "%s", same[i]);
		check_rates(cut, b);
		check_sums(cut, b);
	}
	json_decref(whole);
	json_decref(cut);
}

/* Each layer's signal-to-noise ratio, where its result leaves a pass; with all samples in one batch the last layer's is
 * the network's. In float32 on the reference itself there is no error. */
Test(cli_compare, each_layer_has_its_signal_to_noise_ratio)
{
	json_t *root = cli_json(&plainly, "compare", "digits", "--devices", "tpu_v1,diannao,cpu,reference", "--batch",
				"360", "--json", "-");
	for (size_t d = 0; d < 4; d++) {
		json_t *device = json_array_get(cli_at(root, "devices"), d), *layers = cli_at(device, "layers");
		const bool exact = d == 3;
		json_t *last = json_array_get(layers, json_array_size(layers) - 1);
		size_t judged = 0;
		for (size_t i = 0; i < json_array_size(layers); i++) {
			json_t *layer = json_array_get(layers, i), *ratio = cli_at(layer, "sqnr_db"),
			       *error = cli_at(layer, "max_abs_error");
			judged += json_is_number(error);
			cr_assert(json_is_number(error) || json_is_null(error));
			if (exact && json_is_number(error))
				cr_assert(json_number_value(error) == 0 && json_is_null(ratio));
			else
				cr_assert_eq(json_is_number(error), json_is_number(ratio), "layer %zu", i);
			if (json_is_number(ratio))
				cr_assert_gt(json_number_value(ratio), 30, "layer %zu", i);
		}
		cr_assert_geq(judged, 4, "device %zu", d);
		if (exact)
			continue;
		cr_assert_float_eq(json_number_value(cli_at(last, "sqnr_db")),
				   json_number_value(cli_at(device, "accuracy.sqnr_db")), 1e-9, "device %zu", d);
		cr_assert_float_eq(json_number_value(cli_at(last, "max_abs_error")),
				   json_number_value(cli_at(device, "accuracy.max_abs_error")), 1e-12);
	}
	json_t *without = cli_json(&plainly, "compare", "digits", "--devices", "tpu_v1", "--json", "-",
				   "--no-accuracy");
	json_t *first = json_array_get(cli_at(json_array_get(cli_at(without, "devices"), 0), "layers"), 0);
	cr_assert(json_is_null(cli_at(first, "sqnr_db")) && json_is_null(cli_at(first, "max_abs_error")));
	json_decref(root);
	json_decref(without);
}

Test(cli_compare, no_accuracy_leaves_only_accuracy_out)
{
	json_t *with = cli_json(&plainly, "compare", "digits", "--devices", SIMULATED, "--json", "-");
	json_t *without = cli_json(&plainly, "compare", "digits", "--devices", SIMULATED, "--json", "-",
				   "--no-accuracy");
	cr_assert(json_is_null(cli_at(without, "model.reference_top1_accuracy")));
	cr_assert_str_eq(cli_text(cli_at(without, "model.calibrated_on")), "calibration set");
	for (size_t d = 0; d < 2; d++) {
		json_t *a = json_array_get(cli_at(with, "devices"), d),
		       *b = json_array_get(cli_at(without, "devices"), d);
		cr_assert(json_is_null(cli_at(b, "accuracy.max_abs_error")) &&
			  json_is_null(cli_at(b, "accuracy.top1_agreement")));
		cr_assert(json_equal(cli_at(a, "accuracy.top1_accuracy"), cli_at(b, "accuracy.top1_accuracy")),
			  "labels need no reference");
		cr_assert(json_equal(cli_at(a, "output_sha256"), cli_at(b, "output_sha256")));
		cr_assert(json_equal(cli_at(a, "totals.cycles"), cli_at(b, "totals.cycles")));
	}
	json_decref(with);
	json_decref(without);
}

/* A parameter changes the machine and its cycles, not what it computes; a machine dumped and read again is the same. */
Test(cli_compare, machines_can_be_edited)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "devices", "tpu_v1", "--yaml");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_write(folder, "copy.yaml", r.out, r.out_bytes);
	cli_free(&r);
	r = cli_run(&options, "devices", "tpu_v1", "--yaml", "--set", "array.rows=16");
	cli_write(folder, "small.yaml", r.out, r.out_bytes);
	cli_free(&r);
	json_t *plain = cli_json(&options, "compare", "digits", "--devices", "tpu_v1", "--json", "-");
	json_t *set = cli_json(&options, "compare", "digits", "--devices", "tpu_v1", "--json", "-", "--set",
			       "tpu_v1.array.rows=16");
	json_t *copy = cli_json(&options, "compare", "digits", "--devices", "@/copy.yaml", "--json", "-");
	json_t *small = cli_json(&options, "compare", "digits", "--devices", "@/small.yaml", "--json", "-");
	json_t *copy_set = cli_json(&options, "compare", "digits", "--devices", "@/copy.yaml", "--json", "-", "--set",
				    "tpu_v1.array.rows=16");
	cr_assert_eq(cli_integer(json_object_get(cli_at(set, "devices.0.settings"), "array.rows")), 16);
	cr_assert_eq(cli_integer(json_object_get(cli_at(set, "devices.0.settings"), "clock_hz")), 700000000);
	cr_assert(!json_equal(cli_at(plain, "devices.0.machine_sha256"), cli_at(set, "devices.0.machine_sha256")));
	cr_assert(cli_integer(cli_at(set, "devices.0.totals.cycles")) >
		  cli_integer(cli_at(plain, "devices.0.totals.cycles")));
	cr_assert(json_equal(cli_at(plain, "devices.0.output_sha256"), cli_at(set, "devices.0.output_sha256")));
	drop_timing(plain);
	drop_timing(copy);
	drop_timing(set);
	drop_timing(small);
	drop_timing(copy_set);
	cr_assert(json_equal(plain, copy), "the dumped machine gives other figures");
	cr_assert(json_equal(set, small), "the machine dumped with --set gives other figures");
	cr_assert(json_equal(set, copy_set), "--set on a machine file gives other figures");
	json_decref(plain);
	json_decref(set);
	json_decref(copy);
	json_decref(small);
	json_decref(copy_set);
	cli_remove_folder(folder);
}

/* A folder or file of the same name in the current folder does not hide a shipped model. */
Test(cli_compare, shipped_names_come_first)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cr_assert_eq(mkdir(cli_path(folder, "digits"), 0777), 0);
	struct cli_result r = cli_run(&(struct cli_run_options){.enter = folder}, "compare", "digits", "--devices",
				      "null");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	/* and a model's own path finds the settings beside it */
	json_t *root = cli_json(&plainly, "compare", "models/digits.onnx", "--devices", "null", "--json", "-");
	cr_assert_eq(cli_integer(cli_at(root, "model.samples")), SAMPLES);
	json_decref(root);
	cli_remove_folder(folder);
}

/* Without an input the samples come from the seed: the same seed gives the same, another seed others. */
Test(cli_compare, random_inputs_follow_the_seed)
{
	char folder[CLI_PATH];
	struct onnx_writer graph = {0};
	cli_folder(folder);
	onnx_put_input(&graph, "x", ONNX_FLOAT, 2, (int64_t[]){1, 40});
	onnx_put_node(&graph, "Relu", "r", "x", "y", NULL);
	onnx_put_output(&graph, "y");
	cli_write_model(folder, "net.onnx", &graph);
	const struct cli_run_options options = {.folder = folder};
	static const char *const seeds[] = {"1", "7", "7", "8"};
	json_t *root[4], *hash[4];
	for (int i = 0; i < 4; i++) {
		root[i] = cli_json(&options, "compare", "@/net.onnx", "--devices", "tpu_v1", "--json", "-", "--batch",
				   "3", "--seed", seeds[i]);
		hash[i] = cli_at(root[i], "devices.0.output_sha256");
		cr_assert_eq(cli_integer(cli_at(root[i], "model.samples")), 3);
		cr_assert_str_eq(cli_text(cli_at(root[i], "model.calibrated_on")), "inputs");
	}
	cr_assert(json_equal(hash[1], hash[2]) && !json_equal(hash[0], hash[1]) && !json_equal(hash[1], hash[3]));
	json_t *plain = cli_json(&options, "compare", "@/net.onnx", "--devices", "tpu_v1", "--json", "-", "--batch",
				 "3");
	cr_assert(json_equal(cli_at(plain, "devices.0.output_sha256"), hash[0]), "the seed is 1 unless said");
	json_decref(plain);
	for (int i = 0; i < 4; i++)
		json_decref(root[i]);
	cli_remove_folder(folder);
}

/* The device null computes nothing and costs nothing, and says so. */
Test(cli_compare, the_null_device_computes_nothing_and_says_so)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	json_t *root = cli_json(&(struct cli_run_options){.folder = folder}, "run", "digits", "--device", "null",
				"--json", "-", "--output", "@/y.npy");
	json_t *device = cli_device(root, "null");
	struct npl_tensor y;
	struct npl_err err;
	cli_check_result(root);
	cr_assert_eq(cli_number(cli_at(device, "totals.seconds")), 0);
	cr_assert(json_is_null(cli_at(device, "totals.energy_j")) && json_is_null(cli_at(device, "totals.cycles")));
	cr_assert(json_is_null(cli_at(device, "totals.inferences_per_second")) &&
		  json_is_null(cli_at(device, "totals.ops_per_second")));
	cr_assert_str_eq(cli_text(cli_at(device, "totals.energy_origin")), "absent");
	cr_assert_eq(npl_tensor_load(cli_path(folder, "y.npy"), &y, &err), 0, "%s", err.msg);
	struct npl_shape shape = npl_shape_of(2, SAMPLES, 10);
	cr_assert(y.dtype == NPL_F32 && npl_shape_equal(&y.shape, &shape));
	for (int64_t i = 0; i < npl_tensor_count(&y); i++)
		cr_assert_eq(((float *)y.data)[i], 0);
	npl_tensor_free(&y);
	json_decref(root);
	cli_remove_folder(folder);
}

/* Layers on several devices in one run: kind mixed, each layer tells where it ran and what crossed a link. */
Test(cli_compare, each_layer_tells_where_it_ran)
{
	json_t *root = cli_json(&plainly, "run", "digits", "--place",
				"/conv2/=diannao,Conv*=tpu_v1,gemm=diannao,*pool=cpu", "--json", "-");
	json_t *device = cli_device(root, "placement"), *layer;
	size_t i;
	cli_check_result(root);
	cr_assert_str_eq(cli_text(cli_at(device, "kind")), "mixed");
	static const char *const used[] = {"diannao", "tpu_v1", "cpu"};
	cr_assert_eq(json_array_size(cli_at(device, "devices")), 3);
	for (i = 0; i < 3; i++) {
		json_t *part = json_array_get(cli_at(device, "devices"), i);
		cli_check_keys(part, "name:s kind:s precision:s machine_sha256:s settings:o", used[i]);
		cr_assert_str_eq(cli_text(cli_at(part, "name")), used[i]);
	}
	cr_assert(cli_number(cli_at(device, "accuracy.top1_agreement")) >= 0.98);
	cr_assert(json_is_null(cli_at(device, "totals.cycles")), "cycles of different clocks have no sum");
	cr_assert(json_is_null(cli_at(device, "totals.energy_j")),
		  "the processor's energy is not known, so the sum is not");
	json_array_foreach (cli_at(device, "layers"), i, layer) {
		const char *name = cli_text(cli_at(layer, "name")), *op = cli_text(cli_at(layer, "op")),
			   *on = cli_text(cli_at(layer, "ran_on"));
		const char *expected = !strcmp(name, "conv2") || !strcmp(op, "Gemm") ? "diannao"
				       : !strcmp(op, "Conv")                         ? "tpu_v1"
				       : !strcmp(op, "MaxPool")                      ? "cpu"
										     : "host";
		bool machine = !strcmp(expected, "diannao") || !strcmp(expected, "tpu_v1");
		cr_assert_str_eq(on, expected, "layer %s", name);
		cr_assert_eq(json_is_null(cli_at(layer, "cycles")), !machine, "layer %s: cycles", name);
		cr_assert_eq(json_object_size(cli_at(layer, "counters")) > 0, machine, "layer %s: counters", name);
		cr_assert(!machine || cli_integer(cli_at(layer, "transfers")) > 0, "layer %s: no transfer", name);
	}
	json_decref(root);
}

/* mnist-8 has pixels to 255 and logits in the thousands: the reference gives the outputs delivered with the model, and
 * each machine's choice is the reference's. */
Test(cli_compare, machines_choose_as_the_reference_on_mnist_8)
{
	char folder[CLI_PATH], input[200], output[200];
	if (access(MNIST "/model.onnx", R_OK))
		cr_skip("no " MNIST);
	cli_folder(folder);
	for (int set = 0; set < 2; set++) {
		struct npl_tensor y, expected;
		struct npl_err err;
		snprintf(input, sizeof input, MNIST "/test_data_set_%d/input_0.pb", set);
		snprintf(output, sizeof output, MNIST "/test_data_set_%d/output_0.pb", set);
		struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "run", MNIST "/model.onnx",
					      "--device", "reference", "--input", input, "--output", "@/y.npy",
					      "--quiet");
		cr_assert_eq(r.status, 0, "%s", r.err);
		cli_free(&r);
		cr_assert_eq(npl_tensor_load(cli_path(folder, "y.npy"), &y, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_tensor_load(output, &expected, &err), 0, "%s", err.msg);
		cr_assert(npl_shape_equal(&y.shape, &expected.shape));
		for (int64_t i = 0; i < npl_tensor_count(&y); i++) {
			double a = ((float *)y.data)[i], b = ((float *)expected.data)[i];
			cr_assert(fabs(a - b) <= 1e-4 * fabs(b), "set %d: output %d is %.9g, expected %.9g", set,
				  (int)i, a, b);
		}
		npl_tensor_free(&y);
		npl_tensor_free(&expected);
		json_t *root = cli_json(&plainly, "compare", MNIST "/model.onnx", "--devices", FOUR, "--input", input,
					"--json", "-"),
		       *device;
		size_t d;
		cli_check_result(root);
		json_array_foreach (cli_at(root, "devices"), d, device)
			cr_assert_eq(cli_number(cli_at(device, "accuracy.top1_agreement")), 1, "%s",
				     cli_text(cli_at(device, "name")));
		cr_assert_eq(check_on_machine(cli_device(root, "tpu_v1")), 3);
		cr_assert_eq(check_on_machine(cli_device(root, "diannao")), 3);
		json_decref(root);
	}
	cli_remove_folder(folder);
}

/* ResNet-50: all 53 convolutions and the Gemm run on the machine; what does not run there is listed with its reason. */
Test(cli_compare, all_products_of_resnet_50_run_on_the_machine)
{
	if (access(RESNET, R_OK))
		cr_skip("no " RESNET);
	json_t *root = cli_json(&plainly, "compare", RESNET, "--devices", SIMULATED, "--timing-only", "--json", "-"),
	       *device, *layer;
	size_t d, i;
	json_array_foreach (cli_at(root, "devices"), d, device) {
		cr_assert_eq(check_on_machine(device), 54);
		check_sums(root, device);
		check_rates(root, device);
		json_array_foreach (cli_at(device, "layers"), i, layer)
			if (!strcmp(cli_text(cli_at(layer, "ran_on")), "host"))
				cr_assert(*cli_text(cli_at(layer, "note")) && cli_number(cli_at(layer, "seconds")) > 0,
					  "layer %zu", i);
	}
	json_decref(root);
}

/* What crosses the host link within the cycles is in the sum of what crosses it, and the notes say so. */
Test(cli_compare, bytes_within_the_cycles)
{
	static const struct cli_run_options options;
	json_t *root = cli_json(&options, "compare", "cnn0", "--batch", "8", "--timing-only", "--devices", "tpu_v1",
				"--set", "tpu_v1.unified_buffer.bytes=786432", "--json", "-");
	json_t *device = json_array_get(cli_at(root, "devices"), 0), *layer;
	json_int_t counted = 0;
	size_t i;
	json_array_foreach (cli_at(device, "layers"), i, layer)
		if (json_is_object(cli_at(layer, "counters")) && json_object_size(cli_at(layer, "counters")))
			counted += cli_integer(cli_at(layer, "counters.host_bytes_in")) +
				   cli_integer(cli_at(layer, "counters.host_bytes_out"));
	json_int_t within = cli_integer(cli_at(device, "totals.bytes.host_link_within_cycles"));
	cr_assert_gt(within, 8 * 361 * (48 + 256) - 1, "input and output at least");
	cr_assert_eq(within, counted);
	cr_assert_eq(cli_integer(cli_at(device, "totals.bytes.host_link")), within, "nothing crosses besides");
	json_decref(root);
	struct cli_result table = cli_run(&options, "compare", "cnn0", "--batch", "8", "--timing-only", "--devices",
					  "tpu_v1", "--set", "tpu_v1.unified_buffer.bytes=786432");
	cr_assert(table.status == 0 && cli_says(table.out, "over the host link within"), "%s", table.out);
	cli_free(&table);
}
