/* SPDX-License-Identifier: MIT
 *
 * What npulab promises of its figures: they are of the samples that were asked for, though a last batch is filled up;
 * rows sum to totals, measured or modelled, and a layer pays for taking its own result out; a placement tells the
 * machines it ran on; and energy that no table has is not known, and what is known is marked as a part. */
#include "tests/kit/cli_figures.h"

#define MACS_PER_SAMPLE 616064.0 /* of digits, see test_compare.c */

/* Seconds, cycles, MACs and joules of the rows sum to those of the totals. */
static void check_rows_sum(json_t *root, json_t *device)
{
	const char *name = cli_text(cli_at(device, "name"));
	json_t *layer, *totals = cli_at(device, "totals");
	double seconds = 0, joules = 0, macs = 0;
	bool known = true;
	size_t i;
	json_array_foreach (cli_at(device, "layers"), i, layer) {
		json_t *part = cli_at(layer, "energy_j");
		bool costs = json_array_size(cli_at(layer, "energy")) > 0;
		seconds += cli_number(cli_at(layer, "seconds"));
		macs += cli_number(cli_at(layer, "macs"));
		known = known && json_is_null(part) != costs;
		joules += json_is_null(part) ? 0 : cli_number(part);
	}
	cr_assert(cli_near(seconds, cli_number(cli_at(totals, "seconds")), 1e-9),
		  "%s: the rows take %.17g s, the totals say %.17g", name, seconds,
		  cli_number(cli_at(totals, "seconds")));
	cr_assert_eq(macs, cli_number(cli_at(root, "model.macs")) * cli_number(cli_at(root, "model.batches")), "%s",
		     name);
	if (known)
		cr_assert(cli_near(joules, cli_number(cli_at(totals, "energy_j")), 1e-9), "%s: %g J in rows", name,
			  joules);
}

/* The rate of work: what was asked for, not what a short last batch was filled up to. */
Test(cli_figures, rates_count_the_samples_of_a_short_last_batch)
{
	static const char *const batches[] = {"1000", "7", "120"};
	static const int held[] = {360, 3, 0}; /* samples in the last batch where it is short */
	char folder[CLI_PATH], note[64];
	cli_folder(folder);
	for (int b = 0; b < 3; b++) {
		struct cli_result table;
		json_t *device, *root = RUN_BOTH(folder, &table, "compare", "digits", "--batch", batches[b],
						 "--devices", b ? "tpu_v1,diannao" : "tpu_v1,diannao,cpu");
		double samples = cli_number(cli_at(root, "model.samples")),
		       batch = cli_number(cli_at(root, "model.batch"));
		cr_assert(samples == 360 && batch == atoi(batches[b]));
		cr_assert_eq(cli_number(cli_at(root, "model.macs")) / batch, MACS_PER_SAMPLE);
		size_t d;
		json_array_foreach (cli_at(root, "devices"), d, device) {
			json_t *totals = cli_at(device, "totals");
			double seconds = cli_number(cli_at(totals, "seconds"));
			double expected = 2 * MACS_PER_SAMPLE * samples / seconds,
			       actual = cli_number(cli_at(totals, "ops_per_second"));
			cr_assert(cli_near(actual, expected, 1e-12), "batch %s, device %zu: %g OP/s, expected %g",
				  batches[b], d, actual, expected);
			cr_assert(cli_near(cli_number(cli_at(totals, "inferences_per_second")), samples / seconds,
					   1e-12));
			check_rows_sum(root, device);
			if (json_is_null(cli_at(device, "clock_hz")))
				continue;
			/* work over what the machine's own time could have done */
			double own = seconds - cli_number(cli_at(totals, "host_seconds")) -
				     cli_number(cli_at(totals, "host_link_seconds"));
			double peak = cli_number(cli_at(device, "clock_hz")) * (d ? 256 : 65536);
			cr_assert(cli_near(cli_number(cli_at(totals, "utilization")),
					   MACS_PER_SAMPLE * samples / (own * peak), 1e-9),
				  "batch %s, device %zu: peak used", batches[b], d);
		}
		snprintf(note, sizeof note, "the last batch holds %d samples", held[b]);
		cr_assert_eq(find_row(table.out, "NOTES", "short") != NULL, held[b] > 0, "batch %s: %s", batches[b],
			     table.out);
		cr_assert_eq(strstr(table.out, note) != NULL, held[b] > 0, "batch %s: %s", batches[b], table.out);
		json_decref(root);
		cli_free(&table);
	}
	cli_remove_folder(folder);
}

/* Every way to run: the rows sum to the totals, also where both are of one pass among many. */
Test(cli_figures, rows_sum_to_totals)
{
	static const char *const runs[][7] = {
		{"compare", "digits", "--devices", "reference,cpu,tpu_v1,diannao,systolic_16x16"},
		{"run", "digits", "--place", "Conv=cpu,Gemm=tpu_v1,*=reference"},
		{"run", "digits", "--place", "Conv=diannao"},
		{"compare", "digits", "--devices", "cpu,tpu_v1", "--batch", "50"},
	};
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		const char *args[10] = {0};
		int n = 0;
		for (; runs[i][n]; n++)
			args[n] = runs[i][n];
		args[n++] = "--json";
		args[n] = "-";
		json_t *device, *root = cli_run_json(&(struct cli_run_options){0}, args);
		size_t d;
		json_array_foreach (cli_at(root, "devices"), d, device)
			check_rows_sum(root, device);
		json_decref(root);
	}
}

/* A network that ends with a fused Relu: the row that ran pays for bringing the result to the host and for making it
 * float again; the Relu's is empty. */
Test(cli_figures, the_row_before_a_final_fused_relu_pays_for_the_output)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	for (int is_conv = 0; is_conv < 2; is_conv++) {
		write_product(folder, "net.onnx", is_conv, true);
		json_t *device, *root = cli_json(&(struct cli_run_options){.folder = folder}, "compare", "@/net.onnx",
						 "--devices", "tpu_v1,diannao,cpu,reference", "--json", "-");
		size_t d, e;
		json_array_foreach (cli_at(root, "devices"), d, device) {
			const char *name = cli_text(cli_at(device, "name"));
			json_t *row = cli_at(device, "layers.0"), *relu = cli_at(device, "layers.1"),
			       *totals = cli_at(device, "totals"), *part;
			cr_assert_str_eq(cli_text(cli_at(row, "role")), "ran");
			cr_assert_str_eq(cli_text(cli_at(row, "ran_on")), name);
			cr_assert_str_eq(cli_text(cli_at(relu, "role")), "fused", "%s", name);
			cr_assert_eq(cli_number(cli_at(relu, "seconds")), 0, "%s: the Relu takes time", name);
			cr_assert_eq(cli_integer(cli_at(relu, "transfers")), 0, "%s: the Relu moves data", name);
			cr_assert_eq(json_array_size(cli_at(relu, "energy")), 0, "%s: the Relu takes energy", name);
			cr_assert(json_is_null(cli_at(relu, "output_sha256")) &&
				  json_is_null(cli_at(relu, "output.type")));
			check_rows_sum(root, device);
			cr_assert(cli_number(cli_at(row, "seconds")) > 0);
			if (d > 1)
				continue;
			cr_assert_eq(cli_integer(cli_at(row, "transfers")), 2, "%s: one there and one back", name);
			double around = cli_number(cli_at(totals, "host_seconds")) +
					cli_number(cli_at(totals, "host_link_seconds"));
			double own = cli_number(cli_at(row, "cycles")) / cli_number(cli_at(device, "clock_hz"));
			cr_assert(around > 0 && cli_near(cli_number(cli_at(row, "seconds")), own + around, 1e-9),
				  "%s: the row takes %g s", name, cli_number(cli_at(row, "seconds")));
			json_array_foreach (cli_at(totals, "energy"), e, part)
				cr_assert(json_equal(part, json_array_get(cli_at(row, "energy"), e)), "%s: %s", name,
					  cli_text(cli_at(part, "component")));
			/* what goes in: 4 x 24 or 2 x 3 x 9 x 9 values; what comes out: 4 x 10 or 2 x 10 x 7 x 7 */
			long long values = is_conv ? 486 + 980 : 96 + 40, width = d ? 2 : 1;
			cr_assert_eq(cli_integer(cli_at(totals, "bytes.host_link")), values * width, "%s", name);
		}
		json_decref(root);
	}
	cli_remove_folder(folder);
}

#define PLACED "run", "digits", "--place", "Conv=tpu_v1,Gemm=diannao,*=cpu", "--layers"

static json_t *part_of(json_t *entry, const char *name)
{
	size_t i;
	json_t *part, *match = NULL;
	json_array_foreach (cli_at(entry, "devices"), i, part)
		match = strcmp(cli_text(cli_at(part, "name")), name) ? match : part;
	cr_assert(match, "the placement does not tell of %s", name);
	return match;
}

/* A placement's entry tells each machine it ran on, as it would stand alone, and what --set made of it. */
Test(cli_figures, placement_tells_its_machines)
{
	static const char *const names[] = {"tpu_v1", "diannao", "cpu"};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	json_t *plain = cli_json(&options, PLACED, "--json", "-"),
	       *known = cli_json(&options, "devices", "--json", "-");
	json_t *changed = cli_json(&options, PLACED, "--json", "-", "--set", "diannao.nfu.tn=8");
	json_t *entry = cli_at(plain, "devices.0"), *other = cli_at(changed, "devices.0");
	cr_assert_str_eq(cli_text(cli_at(entry, "kind")), "mixed");
	cr_assert_eq(json_array_size(cli_at(entry, "devices")), 3);
	for (int i = 0; i < 3; i++) {
		json_t *part = part_of(entry, names[i]), *listed = cli_device(known, names[i]);
		cli_check_keys(part,
			       "name:s kind:s engine:S precision:s clock_hz:N machine_sha256:s detail:s settings:o",
			       names[i]);
		static const char *const same[] = {"kind", "precision", "clock_hz", "machine_sha256", "detail"};
		for (size_t k = 0; k < sizeof same / sizeof *same; k++)
			cr_assert(json_equal(cli_at(part, same[k]), cli_at(listed, same[k])), "%s: %s", names[i],
				  same[k]);
		bool is_set = !strcmp(names[i], "diannao");
		json_t *set = part_of(other, names[i]);
		cr_assert(json_equal(cli_at(part, "machine_sha256"), cli_at(set, "machine_sha256")) != is_set,
			  "%s: the machine's hash and --set diannao.nfu.tn=8", names[i]);
		cr_assert(json_equal(cli_at(part, "settings"), cli_at(set, "settings")) != is_set, "%s", names[i]);
	}
	json_t *settings = cli_at(part_of(entry, "tpu_v1"), "settings");
	cr_assert_eq(cli_integer(json_object_get(settings, "array.rows")), 256);
	cr_assert_eq(cli_integer(json_object_get(cli_at(part_of(entry, "diannao"), "settings"), "nfu.tn")), 16);
	cr_assert_eq(cli_integer(json_object_get(cli_at(part_of(other, "diannao"), "settings"), "nfu.tn")), 8);
	json_decref(plain);
	json_decref(known);
	json_decref(changed);
	cli_remove_folder(folder);
}

/* In the table of layers "~" marks what is modelled: all of a simulated machine's, and what goes to or from one. */
Test(cli_figures, marks_of_a_placement)
{
	char folder[CLI_PATH];
	struct cli_result table;
	cli_folder(folder);
	json_t *layer, *root = RUN_BOTH(folder, &table, PLACED);
	int marked = 0, unmarked = 0;
	size_t i;
	json_array_foreach (cli_at(root, "devices.0.layers"), i, layer) {
		const char *name = cli_text(cli_at(layer, "name")), *ran_on = cli_text(cli_at(layer, "ran_on"));
		const char *header = strstr(table.out, " SHARE "), *row = header ? find_row(header, NULL, name) : NULL;
		char time[64];
		cr_assert(row && sscanf(row, "%*s %*s %63s", time) == 1, "no row of %s in %s", name, table.out);
		if (!strcmp(cli_text(cli_at(layer, "role")), "view"))
			continue;
		bool modelled = strcmp(ran_on, "cpu") != 0 || cli_integer(cli_at(layer, "transfers")) > 0;
		cr_assert_eq(*time == '~', modelled, "%s on %s: %.80s", name, ran_on, row);
		cr_assert_eq(json_is_null(cli_at(layer, "cycles")), !strcmp(ran_on, "cpu"), "%s: cycles", name);
		marked += modelled;
		unmarked += !modelled;
	}
	cr_assert(marked >= 5 && unmarked >= 2, "%d modelled and %d measured layers", marked, unmarked);
	json_decref(root);
	cli_free(&table);
	cli_remove_folder(folder);
}

/* Joules of a component of the only layer, over an event count. */
static double joules_per(json_t *root, const char *component, const char *counter)
{
	json_t *layer = cli_at(root, "devices.0.layers.0"), *part;
	size_t i;
	json_array_foreach (cli_at(layer, "energy"), i, part)
		if (!strcmp(cli_text(cli_at(part, "component")), component))
			return cli_number(cli_at(part, "joules")) /
			       cli_number(cli_at(cli_at(layer, "counters"), counter));
	cr_assert_fail("no %s", component);
	return 0;
}

/* A row of the memories is as wide as the array: half the width costs half, of macros that stay as large. */
Test(cli_figures, energy_follows_the_array)
{
	static const char *const sizes[] = {"1", "100", "300"};
	static const char *const parts[][2] = {{"unified buffer read", "ub_rows_read"},
					       {"unified buffer write", "ub_rows_written"},
					       {"accumulators", "accumulator_writes"}};
#define SMALL(n) "layer", "gemm", "-m", "64", "-n", n, "-k", n, "--devices", "tpu_v1", "--timing-only", "--json", "-"
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		json_t *wide = cli_json(&(struct cli_run_options){0}, SMALL(sizes[s]));
		json_t *half = cli_json(&(struct cli_run_options){0}, SMALL(sizes[s]), "--set", "tpu_v1.array.rows=128",
					"--set", "tpu_v1.array.columns=128");
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
			double a = joules_per(wide, parts[i][0], parts[i][1]),
			       b = joules_per(half, parts[i][0], parts[i][1]);
			cr_assert(a > 0 && cli_near(b, a / 2, 1e-8), "%s, size %s: %g J a row of 256, %g J of 128",
				  parts[i][0], sizes[s], a, b);
		}
		double byte = joules_per(wide, "weight memory", "weight_bytes");
		cr_assert(cli_near(byte, joules_per(half, "weight memory", "weight_bytes"), 1e-12),
			  "a byte of weights costs the same");
		json_decref(wide);
		json_decref(half);
	}
}

#define MINIMAL "driver: systolic\narray:\n  rows: 16\n  columns: 16\n"

/* Joules come from a table or not at all. In a table ">" marks a sum that lacks parts, where there is a sum. */
Test(cli_figures, energy_that_no_table_has)
{
	char folder[CLI_PATH];
	struct cli_result table;
	size_t i;
	json_t *part;
	cli_folder(folder);
	cli_write_text(folder, "none.yaml", "name: none\n" MINIMAL);
	cli_write_text(folder, "some.yaml",
		       "name: some\n" MINIMAL "energy:\n  matrix_unit:\n    pj: 2\n    origin: modelled:mine\n");
#define ENERGY_LAYER "layer", "gemm", "-m", "40", "-n", "16", "-k", "16", "--devices", "@/none.yaml,@/some.yaml,tpu_v1"
	json_t *root = RUN_BOTH(folder, &table, ENERGY_LAYER);
	json_t *none = cli_at(cli_device(root, "none"), "totals"), *some = cli_at(cli_device(root, "some"), "totals");
	cr_assert(json_is_null(cli_at(none, "energy_j")) && json_is_null(cli_at(some, "energy_j")));
	cr_assert(json_is_null(cli_at(none, "power_w")) && json_is_null(cli_at(some, "inferences_per_joule")));
	cr_assert_str_eq(cli_text(cli_at(none, "energy_origin")), "absent");
	cr_assert_str_eq(cli_text(cli_at(some, "energy_origin")), "modelled:mine + absent");
	cr_assert_eq(json_array_size(cli_at(none, "energy")), 6);
	json_array_foreach (cli_at(none, "energy"), i, part)
		cr_assert(json_is_null(cli_at(part, "joules")) && !strcmp(cli_text(cli_at(part, "origin")), "absent"));
	json_array_foreach (cli_at(some, "energy"), i, part)
		if (!strcmp(cli_text(cli_at(part, "component")), "matrix unit"))
			/* 40 rows through 16 x 16 cells at 2 pJ: 20.48 nJ */
			cr_assert(cli_near(cli_number(cli_at(part, "joules")), 40 * 256 * 2e-12, 1e-12));
		else
			cr_assert(json_is_null(cli_at(part, "joules")));
	cr_assert(!line_has(find_row(table.out, "DEVICE", "none"), ">"), "%s", table.out);
	cr_assert(!line_has(find_row(table.out, "DEVICE", "none"), "J"), "nothing is known: %s", table.out);
	cr_assert(line_has(find_row(table.out, "DEVICE", "some"), " >~20.5 nJ"), "%s", table.out);
	cr_assert(!line_has(find_row(table.out, "DEVICE", "tpu_v1"), ">"), "all is known: %s", table.out);
	cr_assert(line_has(find_row(table.out, "DEVICE", "tpu_v1"), "J"), "%s", table.out);
	cli_free(&table);
	json_decref(root);
	/* in a whole network the modelled host is a known part of either */
	root = RUN_BOTH(folder, &table, "compare", "digits", "--devices", "@/none.yaml,@/some.yaml", "--timing-only");
	cr_assert(json_is_null(cli_at(cli_device(root, "none"), "totals.energy_j")));
	cr_assert(line_has(find_row(table.out, "DEVICE", "none"), " >~"), "%s", table.out);
	cr_assert(line_has(find_row(table.out, "DEVICE", "some"), " >~"), "%s", table.out);
	cr_assert(cli_says(table.out, "not known and not in the sum"), "%s", table.out);
	cli_free(&table);
	json_decref(root);
	cli_remove_folder(folder);
}

/* x (2,4) -> QuantizeLinear -> DequantizeLinear -> MatMul with int8 weights -> QuantizeLinear -> DequantizeLinear ->
 * y. */
static void write_quantised(const char *folder, const char *file)
{
	static const float scale = 0.01f;
	static const int8_t weights[12] = {10, -20, 30, -40, 50, -60, 70, -80, 90, -100, 110, -120};
	struct onnx_writer g = {0}, t = onnx_tensor_of("w", ONNX_INT8, 2, (int64_t[]){4, 3}, weights, 12);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){2, 4});
	onnx_put_floats(&g, "s", 0, NULL, &scale);
	onnx_put_message(&g, 5, &t);
	t = onnx_tensor_of("z", ONNX_UINT8, 0, NULL, "\x80", 1);
	onnx_put_message(&g, 5, &t);
	onnx_put_node(&g, "QuantizeLinear", "q0", "x s z", "a", NULL);
	onnx_put_node(&g, "DequantizeLinear", "d0", "a s z", "b", NULL);
	onnx_put_node(&g, "DequantizeLinear", "dw", "w s", "v", NULL);
	onnx_put_node(&g, "MatMul", "fc", "b v", "c", NULL);
	onnx_put_node(&g, "QuantizeLinear", "q1", "c s z", "d", NULL);
	onnx_put_node(&g, "DequantizeLinear", "d1", "d s z", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, file, &g);
}

/* A model that has all its scales itself is not calibrated, and nobody says so; on a machine of another format it
 * is. */
Test(cli_figures, calibrated_where_it_counts)
{
	static const struct {
		const char *devices, *on;
	} cases[] = {{"tpu_v1", NULL}, {"cpu,reference", NULL}, {"diannao", "inputs"}, {"tpu_v1,diannao", "inputs"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	write_quantised(folder, "q.onnx");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cli_result table;
		json_t *root = RUN_BOTH(folder, &table, "compare", "@/q.onnx", "--devices", cases[i].devices);
		json_t *on = cli_at(root, "model.calibrated_on");
		cr_assert_eq(json_is_null(on), !cases[i].on, "%s", cases[i].devices);
		cr_assert(!cases[i].on || !strcmp(cli_text(on), cases[i].on));
		cr_assert_eq(!strstr(table.out, "\ncalibration "), !cases[i].on, "%s", table.out);
		json_decref(root);
		cli_free(&table);
	}
	cli_remove_folder(folder);
}

/* A placement on one device, or on several of one format, has that format; its passes are told where they were
 * measured. */
Test(cli_figures, format_and_passes_of_a_placement)
{
	static const struct {
		const char *place, *format;
		bool measured;
	} cases[] = {{"*=null", "float32", false},
		     {"*=tpu_v1", "int8", false},
		     {"*=host", "float32", false},
		     {"Conv=reference,*=cpu", "float32", true},
		     {"Conv=tpu_v1,*=cpu", NULL, true}};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cli_result table;
		json_t *root = RUN_BOTH(folder, &table, "run", "digits", "--place", cases[i].place);
		json_t *entry = cli_at(root, "devices.0");
		const char *row = find_row(table.out, "DEVICE", "placement");
		char start[40];
		snprintf(start, sizeof start, "placement  %s ", cases[i].format ? cases[i].format : "mixed");
		cr_assert(row && !strncmp(row, start, strlen(start)), "%s: %s", cases[i].place, table.out);
		cr_assert_eq(json_is_null(cli_at(entry, "precision")), !cases[i].format);
		cr_assert_eq(json_is_integer(cli_at(entry, "totals.passes")), cases[i].measured, "%s", cases[i].place);
		cr_assert_eq(cli_says(table.out, "median of"), cases[i].measured, "%s", table.out);
		json_decref(root);
		cli_free(&table);
	}
	cli_remove_folder(folder);
}

/* The table of docs/quantisation.md is what the command above it prints. */
Test(cli_figures, the_page_s_table_of_calibration_is_right)
{
	char folder[CLI_PATH], method[64], error[16], ratio[16], clipped[16], expected[80];
	char *text = cli_read("docs/quantisation.md", NULL);
	int rows = 0;
	cli_folder(folder);
	const char *line = strstr(text, "| METHOD |");
	cr_assert(line);
	for (; line; line = strchr(line, '\n'), line += line != NULL) {
		if (sscanf(line, "| %63[a-z0-9.=] | %15[0-9.] | %15[0-9.] dB | %15[0-9] |", method, error, ratio,
			   clipped) != 4)
			continue;
		struct cli_result table;
		json_t *root = RUN_BOTH(folder, &table, "compare", "digits", "--devices", "tpu_v1", "--calibrate",
					method);
		json_t *accuracy = cli_at(cli_device(root, "tpu_v1"), "accuracy");
		snprintf(expected, sizeof expected, "%.3g %.1f %lld", cli_number(cli_at(accuracy, "max_abs_error")),
			 cli_number(cli_at(accuracy, "sqnr_db")),
			 (long long)cli_integer(cli_at(accuracy, "saturations")));
		char row[80];
		snprintf(row, sizeof row, "%s %s %s", error, ratio, clipped);
		cr_assert_str_eq(row, expected, "%s", method);
		json_decref(root);
		cli_free(&table);
		rows++;
	}
	cr_assert_eq(rows, 5);
	free(text);
	cli_remove_folder(folder);
}
