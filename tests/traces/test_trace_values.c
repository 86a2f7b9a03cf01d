/* SPDX-License-Identifier: MIT
 *
 * How values of two traces are compared. What the program promises: bit for bit, except where a tolerance in dB or
 * another environment of a real device says otherwise; then by the signal-to-noise ratios of layers, which are those of
 * `npulab run`. */
#include "tests/kit/cli_json.h"
#include "tests/kit/written_trace.h"

/* A trace with one layer. */
struct one {
	const char *environment; /* NULL: of a simulated machine */
	const char *option, *sum, *ratio, *batch_sum;
};

static void write_one(const char *folder, const char *name, const struct one *one)
{
	char text[2048];
	const bool real = one->environment != NULL;
	snprintf(text, sizeof text,
		 "npulab-trace 2\nnpulab 0.1.0\nreason 0.1.0 recorded\nrun run net\n%sdetail layers\nvalues yes\n"
		 "times %s\n%s%s%smachine m m float32 0\nevents follow\nlayer fc Gemm m ran macs=8 sum=%s%s\n"
		 "batch 0 sum=%s\nlayer fc Gemm m ran macs=8 sum=%s\nbatch 1 sum=%s\n",
		 one->option, real ? "no" : "yes", real ? "environment m " : "", real ? one->environment : "",
		 real ? "\n" : "", one->sum, one->ratio, one->batch_sum, one->sum, one->batch_sum);
	trace_write(folder, name, text);
}

Test(trace_values, ratios_judge_where_bits_may_differ)
{
	static const char none[] = "", accuracy[] = "option accuracy \"\"\n";
	static const struct {
		struct one a, b;
		const char *tolerance;
		int status;
	} cases[] = {
		/* Real devices: in the same environment bit for bit. */
		{{"x", none, "1", " sqnr_db=41.00", "1"}, {"x", none, "2", " sqnr_db=41.00", "1"}, NULL, 1},
		{{"x", none, "1", " sqnr_db=41.00", "1"}, {"x", none, "1", " sqnr_db=41.00", "2"}, NULL, 1},
		{{"x", none, "1", " sqnr_db=41.00", "1"}, {"y", none, "1", " sqnr_db=41.00", "1"}, NULL, 0},
		/* In another one within 1 dB. */
		{{"x", none, "1", " sqnr_db=41.00", "1"}, {"y", none, "2", " sqnr_db=41.90", "2"}, NULL, 0},
		{{"x", none, "1", " sqnr_db=41.00", "1"}, {"y", none, "2", " sqnr_db=42.10", "2"}, NULL, 1},
		{{"x", none, "1", " sqnr_db=41.00", "1"}, {"y", none, "2", " sqnr_db=39.90", "2"}, NULL, 1},
		{{"x", none, "1", " sqnr_db=inf", "1"}, {"y", none, "2", " sqnr_db=-inf", "2"}, NULL, 1},
		{{"x", none, "1", " sqnr_db=-inf", "1"}, {"y", none, "2", " sqnr_db=-inf", "2"}, NULL, 0},
		/* From 100 dB on the order of additions decides. */
		{{"x", none, "1", " sqnr_db=inf", "1"}, {"y", none, "2", " sqnr_db=101.00", "2"}, NULL, 0},
		{{"x", none, "1", " sqnr_db=130.00", "1"}, {"y", none, "2", " sqnr_db=98.00", "2"}, NULL, 1},
		/* A result without a ratio, such as integers, is compared bit for bit. */
		{{"x", none, "1", "", "1"}, {"y", none, "2", "", "1"}, NULL, 1},
		{{"x", none, "1", " sqnr_db=41.00", "1"}, {"y", none, "2", "", "1"}, NULL, 1},
		{{"x", none, "1", " sqnr_db=41.00", "1"}, {"x", none, "1", "", "1"}, NULL, 0},
		/* A tolerance of the user. */
		{{"x", none, "1", " sqnr_db=41.00", "1"}, {"x", none, "2", " sqnr_db=42.90", "2"}, "values=2dB", 0},
		{{"x", none, "1", " sqnr_db=41.00", "1"}, {"y", none, "2", " sqnr_db=43.10", "2"}, "values=2dB", 1},
		{{"x", none, "1", " sqnr_db=41.00", "1"}, {"y", none, "2", " sqnr_db=41.40", "2"}, "values=0.3dB", 1},
		/* Simulated machines. */
		{{NULL, none, "1", "", "1"}, {NULL, none, "2", "", "2"}, "values=90dB", 1},
		{{NULL, accuracy, "1", " sqnr_db=41.00", "1"}, {NULL, accuracy, "2", " sqnr_db=41.10", "2"}, NULL, 1},
		{{NULL, accuracy, "1", " sqnr_db=41.00", "1"},
		 {NULL, accuracy, "2", " sqnr_db=41.10", "2"},
		 "cycles=1%,values=1dB",
		 0},
		{{NULL, accuracy, "1", " sqnr_db=41.00", "1"},
		 {NULL, none, "2", " sqnr_db=41.10", "2"},
		 "values=1dB",
		 1},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_one(folder, "a.trace", &cases[i].a);
		write_one(folder, "b.trace", &cases[i].b);
		const char *const args[] = {"trace",
					    "diff",
					    "a.trace",
					    "b.trace",
					    cases[i].tolerance ? "--tolerance" : NULL,
					    cases[i].tolerance,
					    NULL};
		struct cli_result r = cli_run_list(&options, args);
		cr_expect_eq(r.status, cases[i].status, "case %zu: status %d: %s%s", i, r.status, r.out, r.err);
		cli_free(&r);
	}
	static const char *const refused[] = {"values=1%",   "values=1",    "cycles=1dB",
					      "values=dB",   "values=-1dB", "values=101dB",
					      "values=1dB,", "vales=1dB",   "cycles=1%energy=1%"};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct cli_result r = cli_run(&options, "trace", "diff", "a.trace", "b.trace", "--tolerance",
					      refused[i]);
		cli_check_refusal(&r, 2, "expected percentages of cycles or of energy, or dB of values", refused[i]);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

static bool has_ratios(const char *folder)
{
	char *text = cli_read(cli_path(folder, "a.trace"), NULL);
	const bool found = strstr(text, " sqnr_db=");
	free(text);
	return found;
}

/* The ratios are those of a comparison, and are of the first batch. */
Test(trace_values, ratios_are_those_of_run)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder, .enter = folder};
	cli_record(&options, "digits", "--device", "tpu_v1", "--batch", "100", "--accuracy", "-o", "a.trace");
	json_t *run = cli_json(&options, "run", "digits", "--device", "tpu_v1", "--batch", "100", "--json", "-");
	json_t *layers = cli_at(run, "devices.0.layers"), *layer;
	char *trace = cli_read(cli_path(folder, "a.trace"), NULL), *at = trace;
	size_t i;
	int n = 0;
	json_array_foreach (layers, i, layer) {
		const json_t *ratio = json_object_get(layer, "sqnr_db");
		char row[60], expected[60];
		snprintf(row, sizeof row, "\nlayer %s ", json_string_value(json_object_get(layer, "name")));
		at = strstr(at, row);
		cr_assert(at, "no row %s", row);
		char *line = strndup(at + 1, strcspn(at + 1, "\n"));
		snprintf(expected, sizeof expected, " sqnr_db=%.2f", json_number_value(ratio));
		cr_expect(json_is_null(ratio) ? !strstr(line, "sqnr_db") : strstr(line, expected) != NULL, "%s: %s",
			  expected, line);
		n += !json_is_null(ratio);
		free(line);
	}
	cr_expect_gt(n, 4);
	cr_expect(!strstr(strstr(at, "\nbatch 0"), "sqnr_db"), "only the first batch has ratios");
	json_decref(run);
	free(trace);
	struct cli_result r = cli_run(&options, "trace", "check", "a.trace");
	cr_assert_eq(r.status, 0, "%s%s", r.out, r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Real devices have ratios always, others where they are asked for. */
Test(trace_values, real_devices_have_ratios)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder, .enter = folder};
	cli_record(&options, "layer", "gemm", "-m", "4", "-n", "20", "-k", "30", "--device", "cpu", "-o", "a.trace");
	cr_expect(has_ratios(folder));
	cli_record(&options, "layer", "gemm", "-m", "4", "-n", "20", "-k", "30", "--device", "tpu_v1", "-o", "a.trace");
	cr_expect(!has_ratios(folder));
	cli_record(&options, "digits", "--device", "diannao", "--batch", "100", "--detail", "layers", "-o", "a.trace");
	cr_expect(!has_ratios(folder));
	cli_record(&options, "digits", "--place", "Conv*=tpu_v1,*=reference", "--batch", "100", "-o", "a.trace");
	cr_expect(has_ratios(folder));
	/* On another processor, as the cap makes this one, the float32 values of a library are others. */
	cr_assert_eq(setenv("NPULAB_MAX_ISA", "sse2", 1), 0);
	cli_record(&options, "digits", "--device", "cpu", "--batch", "100", "-o", "a.trace");
	cr_assert_eq(unsetenv("NPULAB_MAX_ISA"), 0);
	struct cli_result r = cli_run(&options, "trace", "check", "a.trace");
	cr_expect_eq(r.status, 0, "%s%s", r.out, r.err);
	cli_free(&r);
	cli_write_text(folder, "p.s", "halt\n");
	static const struct cli_refusal cases[] = {
		{2,
		 "--accuracy needs values",
		 {"trace", "record", "digits", "--device", "tpu_v1", "--timing-only", "--accuracy", "-o", "@/b.trace"}},
		{2,
		 "--accuracy is an option of networks and layers",
		 {"trace", "record", "@/p.s", "--accuracy", "-o", "@/b.trace"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}
