/* SPDX-License-Identifier: MIT
 *
 * Which events of two traces come together, and what is summed over them. What the program promises: instructions are
 * compared with those of their own layer; the cycles of a unit's classes are those of all its instructions, whether the
 * other trace has them or not; what one of the traces does not have is not compared; a trace that was cut off or edited
 * is refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/kit/cli_json.h"
#include "tests/kit/written_trace.h"

/* The cycles of each class in each unit, summed over the lines of a trace. */
struct sums {
	struct sum {
		char unit[40], cycle_class[40];
		long long cycles;
	} sum[200];
	int n;
};

static void add(struct sums *sums, const char *unit, const char *cycle_class, long long cycles)
{
	int i = 0;
	while (i < sums->n &&
	       (strcmp(sums->sum[i].unit, unit) != 0 || strcmp(sums->sum[i].cycle_class, cycle_class) != 0))
		i++;
	cr_assert_lt(i, (int)(sizeof sums->sum / sizeof *sums->sum));
	if (i == sums->n) {
		snprintf(sums->sum[i].unit, sizeof sums->sum[i].unit, "%s", unit);
		snprintf(sums->sum[i].cycle_class, sizeof sums->sum[i].cycle_class, "%s", cycle_class);
		sums->n++;
	}
	sums->sum[i].cycles += cycles;
}

static void add_trace(struct sums *sums, const char *folder, const char *name, int sign)
{
	char *text = cli_read(cli_path(folder, name), NULL), *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		char unit[40];
		long long length, sum = 0;
		int at;
		if (sscanf(line, "i %*s %39s %*s %lld%n", unit, &length, &at) < 2)
			continue;
		for (char *words = line + at, *word; sum < length && (word = strsep(&words, " "));) {
			char cycle_class[40];
			long long cycles;
			if (sscanf(word, "%39[^=]=%lld", cycle_class, &cycles) < 2)
				continue;
			sum += cycles;
			add(sums, unit, cycle_class, sign * cycles);
		}
	}
	free(text);
}

/* Compares a.trace and b.trace with sums over their lines. */
static void expect_sums(const struct cli_run_options *options, const char *folder)
{
	static struct sums sums;
	sums.n = 0;
	memset(sums.sum, 0, sizeof sums.sum);
	add_trace(&sums, folder, "a.trace", -1);
	add_trace(&sums, folder, "b.trace", 1);
	struct cli_result r = cli_run(options, "trace", "diff", "a.trace", "b.trace", "--json", "-");
	json_t *root = cli_parse_json(r.out), *cause;
	size_t i;
	int moved = 0, n = 0;
	json_array_foreach (cli_at(root, "traces.0.difference.instructions_cycles"), i, cause) {
		add(&sums, cli_text(cli_at(cause, "unit")), cli_text(cli_at(cause, "class")),
		    -json_integer_value(cli_at(cause, "change")));
		n++;
	}
	for (int s = 0; s < sums.n; s++) {
		cr_expect_eq(sums.sum[s].cycles, 0, "%s %s: %lld cycles are missing", sums.sum[s].unit,
			     sums.sum[s].cycle_class, sums.sum[s].cycles);
		moved += sums.sum[s].cycles != 0;
	}
	cr_expect(n > 0 && !moved);
	json_decref(root);
	cli_free(&r);
}

Test(trace_alignment, causes_are_sums_over_all_instructions)
{
	static const char *const pairs[][2][4] = {
		{{"digits", "--batch", "100"}, {"digits", "--batch", "150"}},
		{{"digits", "--set", "tpu_v1.weight_fifo.tiles=4"}, {"digits", "--set", "tpu_v1.weight_fifo.tiles=1"}},
		{{"lenet5", "--set", "tpu_v1.array.rows=256"}, {"lenet5", "--set", "tpu_v1.array.rows=64"}},
		{{"lenet5", "--batch", "2"}, {"digits", "--batch", "100"}}};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		for (int k = 0; k < 2; k++)
			cli_record(&options, pairs[i][k][0], pairs[i][k][1], pairs[i][k][2], "--device", "tpu_v1",
				   "--timing-only", "-o", k ? "b.trace" : "a.trace");
		expect_sums(&options, folder);
	}
	cli_remove_folder(folder);
}

/* With another batch each layer has other instructions: no instruction is compared with one of another layer. */
Test(trace_alignment, instructions_are_compared_within_their_layers)
{
	static const char *const batches[][3] = {{"lenet5", "2", "3"}, {"digits", "100", "150"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (size_t i = 0; i < 2; i++) {
		for (int k = 1; k < 3; k++)
			cli_record(&options, batches[i][0], "--device", "tpu_v1", "--batch", batches[i][k],
				   "--timing-only", "-o", k == 1 ? "a.trace" : "b.trace");
		struct cli_result r = cli_run(&options, "trace", "diff", "a.trace", "b.trace", "--events", "5000");
		cr_expect(r.status == 1 && cli_says(r.out, "only the second trace has it"), "%s", r.err);
		cr_expect(!cli_says(r.out, ": layer ") && !cli_says(r.out, ", layer "), "%s", batches[i][0]);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* A layer under another name is the same one: its instructions are compared, and are not missing. */
Test(trace_alignment, a_renamed_layer_keeps_its_instructions)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_record(&options, "digits", "--device", "tpu_v1", "--timing-only", "-o", "a.trace");
	trace_replace(folder, "conv2", "conv_b");
	struct cli_result r = cli_run(&options, "trace", "diff", "a.trace", "b.trace", "--json", "-");
	json_t *root = cli_parse_json(r.out), *difference = cli_at(root, "traces.0.difference");
	/* Of each batch: the program's first line, and the rows of the layer and of its tasks. */
	cr_expect_lt(json_integer_value(cli_at(difference, "only_in_trace")), 12);
	cr_expect_eq(json_array_size(cli_at(difference, "instructions_cycles")), 0);
	cr_expect_gt(json_integer_value(cli_at(difference, "moved_events")), 20);
	json_decref(root);
	cli_free(&r);
	cli_remove_folder(folder);
}

Test(trace_alignment, a_trace_that_is_cut_off_at_a_line_is_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_record(&options, "layer", "gemm", "-m", "4", "-n", "40", "-k", "30", "--device", "systolic_16x16", "-o",
		   "a.trace");
	char *text = cli_read(cli_path(folder, "a.trace"), NULL), *at = strstr(text, "\nevents follow\n");
	int cuts = 0;
	for (at = strchr(at + 1, '\n') + 1; *at; at = strchr(at, '\n') + 1) {
		const char kept = *at;
		*at = '\0';
		cli_write_text(folder, "cut.trace", text);
		*at = kept;
		const char *const commands[][6] = {{"trace", "show", "cut.trace"},
						   {"trace", "check", "cut.trace"},
						   {"trace", "diff", "a.trace", "cut.trace"},
						   {"trace", "export", "cut.trace", "--perfetto", "p.json"}};
		struct cli_result r = cli_run_list(&options, commands[cuts++ % 4]);
		cr_expect(r.status == 3 && strstr(r.err, "cut.trace: the trace is cut off"), "status %d: %s", r.status,
			  r.err);
		cli_free(&r);
	}
	cr_expect_gt(cuts, 8);
	free(text);
	trace_replace(folder, "\ncomplete ", "\nbatch 1\ncomplete ");
	struct cli_result r = cli_run(&options, "trace", "check", "b.trace");
	cr_expect(r.status == 3 && strstr(r.err, " events have come, expected "), "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Figures of instructions are whole numbers, whose classes sum to the length. */
Test(trace_alignment, edited_instructions_are_refused)
{
	static const char *const edits[][2] = {
		{" issue=1 ", " issue=1junk "},        {" issue=1 ", " issue=1 issue=1 "},
		{" weights +0 ", " weights nan "},     {" weights +0 ", " weights 0 "},
		{" weight_bytes=", " weight_bytes=-"}, {"\nend ", "\nend -"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_record(&options, "layer", "gemm", "-m", "4", "-n", "16", "-k", "16", "--device", "systolic_16x16", "-o",
		   "a.trace");
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		trace_replace(folder, edits[i][0], edits[i][1]);
		const char *const commands[][5] = {{"trace", "check", "b.trace"},
						   {"trace", "show", "b.trace"},
						   {"trace", "diff", "a.trace", "b.trace"}};
		for (int c = 0; c < 3; c++) {
			struct cli_result r = cli_run_list(&options, commands[c]);
			cr_expect(r.status == 3 && strstr(r.err, "b.trace:"), "%s: status %d: %s", edits[i][1],
				  r.status, r.err);
			cli_free(&r);
		}
	}
	trace_replace(folder, "\nprogram systolic_16x16 ", "\nprogram other ");
	struct cli_result r = cli_run(&options, "trace", "check", "b.trace");
	cr_expect(r.status == 1 && cli_says(r.out, "ran on other -> systolic_16x16"), "status %d: %s", r.status, r.out);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* What one of two traces does not have is not compared. */
Test(trace_alignment, what_both_have_is_compared)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_record(&options, "digits", "--device", "tpu_v1", "-o", "a.trace");
	cli_record(&options, "digits", "--device", "tpu_v1", "--timing-only", "-o", "timing.trace");
	cli_record(&options, "digits", "--device", "reference", "-o", "reference.trace");
	for (int i = 0; i < 2; i++) {
		struct cli_result r = cli_run(&options, "trace", "diff", i ? "timing.trace" : "a.trace",
					      i ? "a.trace" : "timing.trace");
		cr_expect(r.status == 0 && cli_says(r.out, ": the same, "), "%s", r.out);
		cli_free(&r);
	}
	struct cli_result r = cli_run(&options, "trace", "diff", "a.trace", "reference.trace");
	cr_expect(r.status == 1 && cli_says(r.out, " -> reference - - - ") && !cli_says(r.out, "-100 %") &&
			  !cli_says(r.out, "times") && !cli_says(r.out, "energy"),
		  "%s", r.out);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Rows of layers have no cycles where a real device takes part: the ends of programs are judged. */
Test(trace_alignment, a_tolerance_judges_the_ends_of_programs)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int i = 0; i < 2; i++)
		cli_record(&options, "lenet5", "--place", "Conv*=tpu_v1,*=reference", "--set",
			   i ? "tpu_v1.activate.latency_cycles=551" : "tpu_v1.activate.latency_cycles=550", "-o",
			   i ? "b.trace" : "a.trace");
	cli_expect(&options, 1, "trace", "diff", "a.trace", "b.trace", "--tolerance", "cycles=0.0001%");
	cli_expect(&options, 0, "trace", "diff", "a.trace", "b.trace", "--tolerance", "cycles=50%");
	cli_remove_folder(folder);
}

/* Energy is judged by the sum of a row, as tables have it, and not by single components. */
Test(trace_alignment, a_tolerance_judges_the_energy_of_rows)
{
	static const char head[] = "npulab-trace 2\nnpulab 0.1.0\nreason 0.1.0 recorded\nrun run net\ndetail layers\n"
				   "values no\ntimes yes\nmachine m m int8 0\nevents follow\n"
				   "layer fc Gemm m ran macs=8 joules:array:x=1 joules:buffer:x=";
	char folder[CLI_PATH], text[1000];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof text, "%s%s\nbatch 0\n", head, i ? "0.011" : "0.01");
		trace_write(folder, i ? "b.trace" : "a.trace", text);
	}
	cli_expect(&options, 0, "trace", "diff", "a.trace", "b.trace", "--tolerance", "energy=1%");
	cli_expect(&options, 1, "trace", "diff", "a.trace", "b.trace", "--tolerance", "energy=0.05%");
	cli_remove_folder(folder);
}

/* Neither layers, units nor classes of a hostile trace cost more than their number allows. */
Test(trace_alignment, units_and_classes_are_bounded)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int k = 0; k < 2; k++) {
		FILE *file = fopen(cli_path(folder, k ? "b.trace" : "a.trace"), "w");
		cr_assert(file);
		fputs("npulab-trace 2\nnpulab 0\nrun layer gemm\ndetail instructions\nvalues no\ntimes yes\n"
		      "machine m systolic int8 0\nevents follow\nprogram m\nblock 5000 fields=0\n",
		      file);
		for (int i = 0; i < 5000; i++)
			fprintf(file, "i read u%d +1 %d class%d=%d\n", i, k + 1, i, k + 1);
		fputs("end 9\nbatch 0\ncomplete 5003\n", file);
		cr_assert_eq(fclose(file), 0);
	}
	struct cli_result r = cli_run(&options, "trace", "diff", "a.trace", "b.trace");
	cr_expect(r.status == 3 && strstr(r.err, ".trace: has more than 4096 units and classes"), "status %d: %s",
		  r.status, r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}
