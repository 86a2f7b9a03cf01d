/* SPDX-License-Identifier: MIT
 *
 * What `npulab trace diff` says of two traces. What the program promises: results of instructions whose program is
 * another one are no other values; machines with other names are compared all the same; of traces with different detail
 * what both have is compared; what differs can be seen in what is shown; and the run's own cycles come before those of
 * instructions. */
#include "tests/kit/cli_json.h"
#include "tests/kit/written_trace.h"

/* What a comparison prints has all of the texts, and none of those after "!". */
static void expect_says(const struct cli_run_options *options, int status, const char *const *args,
			const char *const *texts)
{
	struct cli_result r = cli_run_list(options, args);
	cr_assert_eq(r.status, status, "%s %s: status %d\n%s%s", args[2], args[3], r.status, r.err, r.out);
	for (; *texts; texts++) {
		const bool is_absent = **texts == '!';
		cr_expect(cli_says(r.out, *texts + is_absent) != is_absent, "%s\n%s", *texts, r.out);
	}
	cli_free(&r);
}
#define DIFF(...) ((const char *const[]){"trace", "diff", __VA_ARGS__, NULL})
/* Returns what a comparison says in JSON, which the caller releases. */
static json_t *difference_of(const struct cli_run_options *options, const char *a, const char *b)
{
	struct cli_result r = cli_run(options, "trace", "diff", a, b, "--json", "-");
	cr_assert_eq(r.status, 1, "%s", r.err);
	json_t *root = cli_parse_json(r.out), *difference = json_incref(cli_at(root, "traces.0.difference"));
	json_decref(root);
	cli_free(&r);
	return difference;
}
#define SAYS(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(trace_diff, other_tiles_are_the_program_and_no_values)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_record(&options, "digits", "--device", "systolic_16x16", "-o", "a.trace");
	cli_record(&options, "digits", "--device", "systolic_16x16", "--set", "systolic_16x16.array.rows=32", "--set",
		   "systolic_16x16.array.columns=32", "-o", "b.trace");
	expect_says(&options, 1, DIFF("a.trace", "b.trace"),
		    SAYS("a.trace and b.trace differ in the program, times, energy and counts\n", "!values",
			 "systolic_16x16: array.rows 16 -> 32\n", "option: set none -> systolic_16x16.array.rows=32\n",
			 "the program, times, energy and counts\n"));
	cli_remove_folder(folder);
}

/* A program of one instruction, and the row of its layer. */
struct one {
	const char *fields, *sum, *row_sum;
};

static void write_one(const char *folder, const char *name, const struct one *one)
{
	char text[1000];
	snprintf(text, sizeof text,
		 "npulab-trace 2\nnpulab 0.1.0\nreason 0.1.0 recorded\nrun run net\ndetail instructions\nvalues yes\n"
		 "times yes\nmachine m m int8 0\nevents follow\nprogram m fc\nblock 1 fields=%s sums=%s\nof fc\n"
		 "i activate activate +1 2 issue=2 sum\nend 3\nlayer fc Gemm m ran macs=8 cycles=3 sum=%s\nbatch 0\n",
		 one->fields, one->sum, one->row_sum);
	trace_write(folder, name, text);
}

Test(trace_diff, results_of_instructions_are_judged_by_their_program)
{
	static const struct one before = {"0123456789abcdef", "11111111", "5"};
	static const struct {
		struct one after;
		const char *headline, *first;
	} cases[] = {
		{{"0123456789abcdef", "22222222", "5"}, "differ in values\n", "fc: sum 11111111 -> 22222222\n"},
		{{"0123456789abcdef", "22222222", "6"}, "differ in values\n", "fc: sum 11111111 -> 22222222\n"},
		{{"0000000000000000", "22222222", "5"}, "differ in the program\n", "fc: sum 11111111 -> 22222222\n"},
		{{"0000000000000000", "22222222", "6"}, "differ in the program and values\n", "fc: sum 11111111"},
		{{"0000000000000000", "11111111", "5"}, "differ in the program\n", "fields 0123456789abcdef -> "},
		{{"0000000000000000", "11111111", "6"}, "differ in the program and values\n", "fc: other values"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	write_one(folder, "a.trace", &before);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_one(folder, "b.trace", &cases[i].after);
		expect_says(&options, 1, DIFF("a.trace", "b.trace"), SAYS(cases[i].headline, cases[i].first));
	}
	/* The lines in the file are the same: their checksums are in the line before. */
	write_one(folder, "b.trace", &cases[0].after);
	expect_says(&options, 1, DIFF("a.trace", "b.trace"),
		    SAYS("- i activate activate +1 2 issue=2 sum=11111111\n",
			 "+ i activate activate +1 2 issue=2 sum=22222222\n"));
	cli_remove_folder(folder);
}

Test(trace_diff, machines_with_other_names_are_compared)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_record(&options, "digits", "--device", "systolic_16x16", "-o", "a.trace");
	cli_record(&options, "digits", "--device", "systolic_16x16@array.rows=32", "-o", "variant.trace");
	cli_record(&options, "digits", "--device", "systolic_16x16", "--set", "systolic_16x16.array.rows=32", "-o",
		   "set.trace");
	cli_record(&options, "digits", "--device", "tpu_v1", "-o", "tpu.trace");
	cli_record(&options, "digits", "--device", "diannao", "--timing-only", "-o", "diannao.trace");
	for (int i = 0; i < 2; i++) /* The same machine, named in two ways. */
		expect_says(&options, 0, DIFF(i ? "set.trace" : "variant.trace", i ? "variant.trace" : "set.trace"),
			    SAYS(": the same, ", "HEADS\n",
				 i ? "machine systolic_16x16 -> systolic_16x16@array.rows=32\n"
				   : "machine systolic_16x16@array.rows=32 -> systolic_16x16\n",
				 "!systolic_16x16: array.rows"));
	expect_says(&options, 1, DIFF("a.trace", "variant.trace"),
		    SAYS("systolic_16x16: array.rows 16 -> 32\n", "!-> @array.rows", "!-100 %", "!new", "!values"));
	expect_says(&options, 1, DIFF("tpu.trace", "a.trace"),
		    SAYS("machine tpu_v1 -> systolic_16x16\n", "tpu_v1: array.rows 256 -> 16\n", "!-100 %", "!new",
			 "!values"));
	expect_says(&options, 1, DIFF("a.trace", "diannao.trace"),
		    SAYS("systolic_16x16: driver systolic -> diannao\n", "!array.rows", "systolic_16x16 -> diannao"));
	json_t *difference = difference_of(&options, "a.trace", "diannao.trace"), *layer;
	size_t i;
	json_array_foreach (json_object_get(difference, "layers"), i, layer) {
		cr_expect(json_is_true(json_object_get(layer, "in_trace")) &&
			  json_is_true(json_object_get(layer, "in_other")));
		cr_expect_str_eq(json_string_value(json_object_get(layer, "other_ran_on")), "diannao");
	}
	cr_expect_gt(i, 5);
	json_decref(difference);
	cli_remove_folder(folder);
}

Test(trace_diff, of_other_detail_what_both_have_is_compared)
{
	static const char *const details[] = {"layers", "instructions", "cycles"};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int i = 0; i < 3; i++) {
		cli_record(&options, "layer", "gemm", "-m", "20", "-n", "20", "-k", "40", "--device", "systolic_16x16",
			   "--detail", details[i], "-o", details[i]);
		for (int k = 0; k < i; k++) {
			char head[60];
			snprintf(head, sizeof head, "detail %s -> %s\n", details[i], details[k]);
			expect_says(&options, 0, DIFF(details[i], details[k]), SAYS(": the same, ", "HEADS\n", head));
		}
	}
	cli_record(&options, "layer", "gemm", "-m", "20", "-n", "20", "-k", "40", "--device", "systolic_16x16", "--set",
		   "systolic_16x16.activate.latency_cycles=51", "-o", "slower");
	expect_says(&options, 1, DIFF("cycles", "slower"),
		    SAYS("differ in times and energy\n", "activate.latency_cycles 0 -> 51\n", "activate_cycles"));
	cli_remove_folder(folder);
}

/* A FIFO of one tile stalls the array: that is where the run's cycles go. */
Test(trace_diff, cycles_of_the_run_come_before_those_of_instructions)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int i = 0; i < 2; i++)
		cli_record(&options, "mlp0", "--device", "tpu_v1", "--timing-only", "--set",
			   i ? "tpu_v1.weight_fifo.tiles=1" : "tpu_v1.weight_fifo.tiles=4", "-o", i ? "b" : "a");
	struct cli_result r = cli_run(&options, "trace", "diff", "a", "b", "--markdown", "m.md");
	const char *run = strstr(r.out, "CYCLES OF LAYERS\n"), *stall = run ? strstr(run, "weight_stall") : NULL,
		   *units = strstr(r.out, "CYCLES OF INSTRUCTIONS\n");
	cr_assert(run && stall && units && units > stall, "%s", r.out);
	const char *row = strchr(strchr(run, '\n') + 1, '\n') + 1; /* the greatest change */
	cr_expect(stall < strchr(row, '\n'), "%s", r.out);
	cli_free(&r);
	char *markdown = cli_read(cli_path(folder, "m.md"), NULL);
	cr_expect(strstr(markdown, "\n| layer | class | cycles |\n|---|---|---:|\n| <code>fc"), "%s", markdown);
	cr_expect(strstr(markdown, "\n| unit | class | change |\n"), "%s", markdown);
	free(markdown);
	cli_remove_folder(folder);
}

/* The classes of a layer sum to its cycles, and their changes to the change of these. */
Test(trace_diff, classes_sum_to_the_cycles_of_a_layer)
{
	static const char *const devices[] = {"tpu_v1", "diannao"}, *const sets[] = {"tpu_v1.weight_fifo.tiles=1",
										     "diannao.dma.request_cycles=30"};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int d = 0; d < 2; d++) {
		cli_record(&options, "lenet5", "--device", devices[d], "--timing-only", "--detail", "layers", "-o",
			   "a");
		cli_record(&options, "lenet5", "--device", devices[d], "--timing-only", "--detail", "layers", "--set",
			   sets[d], "-o", "b");
		json_t *difference = difference_of(&options, "a", "b"), *layer, *one;
		size_t i, k;
		int moved = 0;
		json_array_foreach (json_object_get(difference, "layers"), i, layer) {
			json_int_t change = json_integer_value(json_object_get(layer, "other_cycles")) -
					    json_integer_value(json_object_get(layer, "cycles"));
			moved += change != 0;
			json_array_foreach (json_object_get(layer, "classes"), k, one)
				change -= json_integer_value(json_object_get(one, "other_cycles")) -
					  json_integer_value(json_object_get(one, "cycles"));
			cr_expect_eq(change, 0, "%s", json_string_value(json_object_get(layer, "name")));
		}
		cr_expect_gt(moved, 0, "%s", devices[d]);
		json_decref(difference);
	}
	cli_remove_folder(folder);
}

Test(trace_diff, heads_are_shown_where_nothing_moved)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_record(&options, "lenet5", "--device", "tpu_v1", "--timing-only", "-o", "a");
	cli_record(&options, "lenet5", "--device", "tpu_v1", "--timing-only", "--seed", "7", "-o", "b");
	expect_says(&options, 0, DIFF("a", "b"), SAYS("a and b: the same, ", "HEADS\noption: seed none -> 7\n"));
	expect_says(&options, 0, DIFF("a", "a"), SAYS("a and a: the same, ", "!HEADS"));
	cli_remove_folder(folder);
}

/* Returns how many lines of a text begin with another. */
static int count_lines(const char *text, const char *begin)
{
	int n = !strncmp(text, begin, strlen(begin));
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		n += !strncmp(at + 1, begin, strlen(begin));
	return n;
}

Test(trace_diff, events_are_chosen_by_layer_and_number)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int i = 0; i < 2; i++)
		cli_record(&options, "digits", "--device", "tpu_v1", "--set",
			   i ? "tpu_v1.weight_fifo.tiles=1" : "tpu_v1.weight_fifo.tiles=4", "-o", i ? "b" : "a");
	struct cli_result all = cli_run(&options, "trace", "diff", "a", "b", "--events", "5"),
			  fc1 = cli_run(&options, "trace", "diff", "a", "b", "--events", "3", "--layer", "fc1");
	cr_expect(all.status == 1 && count_lines(all.out, "FIRST DIFFERENCE") == 1 &&
			  count_lines(all.out, "NEXT DIFFERENCE") == 4,
		  "%s", all.out);
	cr_expect(fc1.status == 1 && count_lines(fc1.out, "NEXT DIFFERENCE") == 2, "%s", fc1.out);
	cr_expect(!cli_says(fc1.out, ", conv2: ") && cli_says(fc1.out, ", fc1: "), "%s", fc1.out);
	cli_free(&all);
	cli_free(&fc1);
	all = cli_run(&options, "trace", "diff", "a", "b", "--events", "0");
	cli_check_refusal(&all, 2, "events", "no events");
	cli_free(&all);
	cli_remove_folder(folder);
}

Test(trace_diff, what_exceeds_a_tolerance_is_named)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int i = 0; i < 2; i++)
		cli_record(&options, "digits", "--device", "tpu_v1", "--timing-only", "--set",
			   i ? "tpu_v1.activate.latency_cycles=551" : "tpu_v1.activate.latency_cycles=550", "-o",
			   i ? "b" : "a");
	expect_says(&options, 1, DIFF("a", "b", "--tolerance", "cycles=0.0001%,energy=5%"),
		    SAYS("first beyond the tolerance: line ", ", end: cycles "));
	expect_says(&options, 1, DIFF("a", "b", "--tolerance", "cycles=5%"),
		    SAYS("first beyond the tolerance: ", "joules:"));
	expect_says(&options, 0, DIFF("a", "b", "--tolerance", "cycles=5%,energy=5%"),
		    SAYS("within the tolerance", "!beyond"));
	expect_says(&options, 1, DIFF("a", "b"), SAYS("!beyond"));
	cli_remove_folder(folder);
}

/* A scale and what was clipped are of the result, and judged with it; a row without a result follows from the row of
 * the layer that is fused with it. */
Test(trace_diff, scales_are_judged_with_their_results)
{
	static const char head[] = "npulab-trace 2\nnpulab 0.1.0\nreason 0.1.0 recorded\nrun run net\n"
				   "option accuracy \"\"\ndetail layers\nvalues yes\ntimes yes\nmachine m m int8 0\n"
				   "events follow\n";
	static const struct {
		const char *before, *after;
		int status;
	} cases[] = {{"scale=0.5 zero_point=1 clipped=3 sum=1 sqnr_db=41.00",
		      "scale=0.25 zero_point=2 clipped=4 sum=2 sqnr_db=41.50", 0},
		     {"scale=0.5 sum=1 sqnr_db=41.00", "scale=0.25 sum=2 sqnr_db=39.00", 1},
		     {"scale=0.5 sum=1 sqnr_db=41.00", "scale=0.25 sum=1 sqnr_db=39.00", 1},
		     {"scale=0.5 saturations=2", "scale=0.25 saturations=1", 0},
		     {"scale=0.5 sum=1", "scale=0.25 sum=1", 1}};
	char folder[CLI_PATH], text[1000];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		for (int k = 0; k < 2; k++) {
			snprintf(text, sizeof text, "%slayer fc Gemm m ran %s\nbatch 0 sum=7\n", head,
				 k ? cases[i].after : cases[i].before);
			trace_write(folder, k ? "b" : "a", text);
		}
		expect_says(&options, cases[i].status, DIFF("a", "b", "--tolerance", "values=1dB"),
			    SAYS("scale 0.5 -> 0.25",
				 cases[i].status ? "first beyond the tolerance: line 11, layer fc Gemm: " : "!beyond"));
		expect_says(&options, 1, DIFF("a", "b"), SAYS("differ in values\n"));
	}
	cli_remove_folder(folder);
}

/* Writes a trace of a program whose instructions have names of their own, with `extra` more of them at one place. */
static void write_program(const char *folder, const char *name, int extra)
{
	enum { INSTRUCTIONS = 3000, PLACE = 1000 };
	FILE *file = fopen(cli_path(folder, name), "w");
	cr_assert(file);
	fputs("npulab-trace 2\nnpulab 0.1.0\nrun layer gemm\noption m 4\ndetail instructions\nvalues no\ntimes yes\n"
	      "machine m systolic int8 0\nevents follow\nprogram m Gemm\n",
	      file);
	for (int i = 0; i < INSTRUCTIONS + extra; i++) {
		if (i % 100 == 0)
			fprintf(file, "block %d fields=%016d\n",
				INSTRUCTIONS + extra - i < 100 ? INSTRUCTIONS + extra - i : 100, i);
		if (!i)
			fputs("of Gemm\n", file);
		const bool is_extra = i >= PLACE && i < PLACE + extra;
		fprintf(file, "i %s%d weights +1 2 issue=2\n", is_extra ? "extra" : "read",
			is_extra || i < PLACE ? i : i - extra);
	}
	fprintf(file, "end 9\nlayer Gemm Gemm m ran macs=4 cycles=9\nbatch 0 cycles=9\ncomplete %d\n",
		INSTRUCTIONS + extra + 4);
	cr_assert_eq(fclose(file), 0);
}

Test(trace_diff, what_is_inserted_is_alone)
{
	static const int lengths[] = {1, 100, 600, 5000};
	char folder[CLI_PATH], text[100];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	write_program(folder, "a.trace", 0);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		write_program(folder, "b.trace", lengths[i]);
		snprintf(text, sizeof text, "%d only in the second", lengths[i]);
		expect_says(&options, 1, DIFF("a.trace", "b.trace"), SAYS("; 0 only in the first, ", text));
		snprintf(text, sizeof text, "%d only in the first", lengths[i]);
		expect_says(&options, 1, DIFF("b.trace", "a.trace"), SAYS(text));
	}
	cli_remove_folder(folder);
}

Test(trace_diff, layers_of_instructions_and_words_count)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_record(&options, "digits", "--device", "tpu_v1", "--batch", "2", "--timing-only", "-o", "a.trace");
	trace_replace(folder, "\nof conv2\n", "\nof fc2\n");
	expect_says(&options, 1, DIFF("a.trace", "b.trace"),
		    SAYS("differ in the program", "conv2: only the first trace has it"));
	trace_replace(folder, "\ni halt issue", "\ni halt issue"); /* the same */
	expect_says(&options, 0, DIFF("a.trace", "b.trace"), SAYS("the same"));
	trace_replace(folder, "\nbatch 0 ", "\nbatch 0 foo ");
	expect_says(&options, 1, DIFF("a.trace", "b.trace"), SAYS("a word none -> foo"));
	cli_remove_folder(folder);
}

/* Parameters that the trace has and the machine has not. */
Test(trace_diff, parameters_that_are_unknown_now_are_noted)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_record(&options, "layer", "gemm", "-m", "4", "-n", "16", "-k", "16", "--device", "systolic_16x16", "-o",
		   "a.trace");
	trace_replace(folder, "parameter weight_fifo.tiles 4", "parameter weight_fifo.tilez 1");
	struct cli_result r = cli_run(&options, "trace", "check", "b.trace");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_expect(strstr(r.err, "this npulab has no parameter weight_fifo.tilez"), "%s", r.err);
	cr_expect(strstr(r.err, "the trace lacks weight_fifo.tiles"), "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* A trace with more layers than any network has is refused by its name. */
Test(trace_diff, layers_are_bounded)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	FILE *file = fopen(cli_path(folder, "many.trace"), "w");
	cr_assert(file);
	fputs("npulab-trace 2\nnpulab 0.1.0\nrun layer gemm\noption m 4\ndetail layers\nvalues no\ntimes yes\n"
	      "machine m systolic int8 0\nevents follow\n",
	      file);
	for (int i = 0; i < 20001; i++)
		fprintf(file, "layer l%d Gemm m ran cycles=1\n", i);
	fputs("batch 0 cycles=20001\n", file);
	cr_assert_eq(fclose(file), 0);
	struct cli_result r = cli_run(&options, "trace", "diff", "many.trace", "many.trace");
	cr_expect(r.status == 3 && strstr(r.err, "many.trace: has more than 20000 layers"), "status %d: %s", r.status,
		  r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}
