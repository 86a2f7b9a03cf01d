/* SPDX-License-Identifier: MIT
 *
 * Run traces, as `npulab trace` records and compares them. What the program promises: the same run gives the same
 * bytes, whichever engine, number of threads or folder; a check finds what moved and names it; traces that are damaged
 * are refused with their line; blessing keeps the reasons. */
#include <math.h>

#include "npulab/device.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/page.h"
#include "tests/kit/written_trace.h"

static void expect_same_files(const char *folder, const char *a, const char *b)
{
	size_t n, m;
	char *x = cli_read(cli_path(folder, a), &n), *y = cli_read(cli_path(folder, b), &m);
	cr_assert(n == m && !memcmp(x, y, n), "%s and %s differ", a, b);
	free(x);
	free(y);
}

Test(run_trace, the_same_run_gives_the_same_bytes)
{
	static const char *const runs[][20] = {
		{"digits", "--device", "tpu_v1"},
		{"lenet5", "--place", "Conv*=tpu_v1,*=diannao", "--batch", "1"},
		{"layer", "conv", "--input", "1x20x9x9", "--kernel", "3x3", "--filters", "40", "--device", "diannao"},
		{"layer", "gemm", "-m", "20", "-n", "20", "-k", "40", "--device", "systolic_16x16", "--requantise"},
		{"layer", "pool", "--input", "1x20x8x8", "--kernel", "2x2", "--device", "diannao", "--timing-only"}};
	static const char *const variants[][2] = {
		{"--threads", "1"}, {"--threads", "2"}, {"--engine", "rtl"}, {"--engine", "fast"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		for (int v = 0; v < 4; v++) {
			const char *args[CLI_ARGUMENTS] = {
				"trace", "record", "-o", v ? "@/b.trace" : "@/a.trace", variants[v][0], variants[v][1]};
			memcpy(args + 6, runs[i], sizeof runs[i]);
			cli_expect_list(&options, 0, args);
			if (v)
				expect_same_files(folder, "a.trace", "b.trace");
		}
		cli_expect(&options, 0, "trace", "check", "@/a.trace");
	}
	cli_remove_folder(folder);
}

/* Kernels for other instructions, another number of threads of libraries, another folder. */
Test(run_trace, surroundings_change_nothing)
{
	static const char *const around[][2] = {{"NPULAB_MAX_ISA", "sse2"},
						{"NPULAB_MAX_ISA", "avx2"},
						{"NPULAB_MAX_ISA", "avx512"},
						{"OMP_NUM_THREADS", "1"}};
	char folder[CLI_PATH], inner[CLI_PATH + 20];
	cli_folder(folder);
	snprintf(inner, sizeof inner, "%s/inner", folder);
	cr_assert_eq(mkdir(inner, 0777), 0);
	const struct cli_run_options here = {.folder = folder}, there = {.enter = inner};
	for (int d = 0; d < 2; d++) {
		const char *device = d ? "diannao" : "tpu_v1";
		cli_expect(&here, 0, "trace", "record", "lenet5", "--device", device, "--batch", "2", "-o",
			   "@/a.trace");
		cli_expect(&there, 0, "trace", "record", "lenet5", "--device", device, "--batch", "2", "-o",
			   "../b.trace");
		expect_same_files(folder, "a.trace", "b.trace");
		for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
			setenv(around[i][0], around[i][1], 1);
			cli_expect(&here, 0, "trace", "record", "lenet5", "--device", device, "--batch", "2", "-o",
				   "@/b.trace");
			unsetenv(around[i][0]);
			expect_same_files(folder, "a.trace", "b.trace");
		}
	}
	cli_remove_folder(folder);
}

Test(run_trace, a_difference_is_found_and_named)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	cli_expect(&options, 0, "trace", "record", "digits", "--device", "tpu_v1", "-o", "@/a.trace");
	cli_expect(&options, 0, "trace", "record", "digits", "--device", "tpu_v1", "--set",
		   "tpu_v1.weight_fifo.tiles=1", "-o", "@/b.trace.zst");
	struct cli_result r = cli_run(&options, "trace", "diff", "@/a.trace", "@/b.trace.zst");
	cr_assert_eq(r.status, 1, "%s", r.err);
	cr_expect(cli_says(r.out, "tpu_v1: weight_fifo.tiles 4 -> 1"), "%s", r.out);
	cr_expect(cli_says(r.out, "conv2: fifo_full 0 -> "), "%s", r.out);
	cr_expect(cli_says(r.out, "- i read_weights weights"), "%s", r.out);
	cli_free(&r);
	/* A tolerance of times covers them, and not the program that differs. */
	cli_expect(&options, 1, "trace", "diff", "@/a.trace", "@/b.trace.zst", "--tolerance", "cycles=50%,energy=50%");
	cli_expect(&options, 0, "trace", "record", "digits", "--device", "tpu_v1", "--set",
		   "tpu_v1.activate.latency_cycles=551", "-o", "@/c.trace");
	cli_expect(&options, 1, "trace", "diff", "@/a.trace", "@/c.trace");
	cli_expect(&options, 1, "trace", "diff", "@/a.trace", "@/c.trace", "--tolerance", "energy=50%");
	cli_expect(&options, 0, "trace", "diff", "@/a.trace", "@/c.trace", "--tolerance", "cycles=5%,energy=5%");
	cli_expect(&options, 1, "trace", "diff", "@/a.trace", "@/c.trace", "--tolerance", "cycles=0.0001%,energy=5%");
	static const char *const none[] = {"values=5%",
					   "cycles=0x5%",
					   "cycles=1%,cycles=0%",
					   "cycles=1%,energy=1%,cycles=1%",
					   "cycles= 1%",
					   "cycles=-0%",
					   "cycles=+1%",
					   "energy=nan%",
					   "energy=1e9%",
					   "energy=1e%",
					   "energy=.%"};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		cli_expect(&options, 2, "trace", "diff", "@/a.trace", "@/c.trace", "--tolerance", none[i]);
	cli_expect(&options, 0, "trace", "diff", "@/a.trace", "@/c.trace", "--tolerance", "energy=.5e1%,cycles=5.0%");
	cli_expect(&options, 2, "trace", "diff", "@/a.trace");
	cli_expect(&options, 2, "trace", "dif", "@/a.trace");
	cli_remove_folder(folder);
}

/* A machine file that has changed: the trace is checked with its own parameters, or with those of now. */
Test(run_trace, a_machine_of_the_past_is_checked_as_it_was)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	struct cli_result yaml = cli_run(&options, "devices", "systolic_16x16", "--yaml");
	char *text = yaml.out, *key = strstr(text, "tiles: ");
	cr_assert(key, "%s", text);
	cli_write(folder, "m.yaml", text, strlen(text));
	cli_expect(&options, 0, "trace", "record", "layer", "gemm", "-m", "40", "-n", "50", "-k", "60", "--device",
		   "m.yaml", "-o", "a.trace");
	key[strlen("tiles: ")] = '1';
	cli_write(folder, "m.yaml", text, strlen(text));
	struct cli_result r = cli_run(&options, "trace", "check", "a.trace");
	cr_assert_eq(r.status, 0, "%s%s", r.out, r.err);
	cr_expect(strstr(r.err, "weight_fifo.tiles is 1 now; checked with 4, as in the trace"), "%s", r.err);
	cli_free(&r);
	r = cli_run(&options, "trace", "check", "a.trace", "--current");
	cr_assert_eq(r.status, 1, "%s%s", r.out, r.err);
	cli_free(&r);
	cli_expect(&options, 2, "trace", "bless", "a.trace");
	cli_expect(&options, 0, "trace", "bless", "a.trace", "--reason", "the FIFO has one tile");
	cli_expect(&options, 0, "trace", "check", "a.trace", "--current");
	r = cli_run(&options, "trace", "show", "a.trace");
	cr_expect(cli_says(r.out, ": recorded\n") && cli_says(r.out, ": the FIFO has one tile\n"), "%s", r.out);
	cli_free(&r);
	unlink(cli_path(folder, "m.yaml"));
	cli_expect(&options, 3, "trace", "check", "a.trace");
	cli_free(&yaml);
	cli_remove_folder(folder);
}

/* A weight that changes by one bit. */
Test(run_trace, another_version_of_the_model_is_named)
{
	char folder[CLI_PATH];
	size_t bytes;
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	char *model = cli_read("models/digits.onnx", &bytes);
	cli_write(folder, "net.onnx", model, bytes);
	cli_expect(&options, 0, "trace", "record", "net.onnx", "--device", "tpu_v1", "--batch", "2", "-o", "a.trace");
	cli_expect(&options, 0, "trace", "check", "a.trace");
	model[bytes / 2 + 3] = (char)(model[bytes / 2 + 3] ^ 0x40); /* within the weights of a layer */
	cli_write(folder, "net.onnx", model, bytes);
	struct cli_result r = cli_run(&options, "trace", "check", "a.trace");
	cr_assert_eq(r.status, 3, "%s%s", r.out, r.err);
	cr_expect(strstr(r.err, "a.trace: the model of 'net.onnx' is another version"), "%s", r.err);
	cli_free(&r);
	r = cli_run(&options, "trace", "check", "a.trace", "--current");
	cr_assert_eq(r.status, 1, "%s%s", r.out, r.err);
	cr_expect(cli_says(r.out, " and values"), "%s", r.out);
	cli_free(&r);
	free(model);
	cli_remove_folder(folder);
}

/* Programs by hand, with their memories; real devices have values and no times. */
Test(run_trace, programs_and_other_devices_are_recorded)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_expect(&options, 0, "layer", "gemm", "-m", "5", "-n", "20", "-k", "30", "--devices", "systolic_16x16",
		   "--dump-program", "p.s", "--quiet");
	cli_expect(&options, 0, "trace", "record", "p.s", "--weights", "p.weights.npy", "--buffer", "p.buffer.npy",
		   "-o", "p.trace");
	cli_expect(&options, 0, "trace", "check", "p.trace");
	cli_expect(&options, 0, "trace", "record", "digits", "--device", "reference", "--batch", "60", "-o", "r.trace");
	cli_expect(&options, 0, "trace", "check", "r.trace");
	struct cli_result r = cli_run(&options, "trace", "show", "r.trace", "--layer", "relu1");
	cr_expect(cli_says(r.out, "without times") && cli_says(r.out, "sum="), "%s", r.out);
	cli_free(&r);
	r = cli_run(&options, "trace", "show", "p.trace", "--unit", "matrix");
	cr_expect(cli_says(r.out, "matrix_multiply") && !cli_says(r.out, "read_weights"), "%s", r.out);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Returns the number of a key in a line of a trace; 0: the line lacks it. */
static double number_of(const char *line, const char *key)
{
	char text[40];
	snprintf(text, sizeof text, " %s=", key);
	const char *at = strstr(line, text);
	return at ? strtod(at + strlen(text), NULL) : 0;
}

/* The tasks of a batch have the times of the rows of its layers, and the batch ends with the last of them. */
Test(run_trace, tasks_are_those_of_the_schedule)
{
	static const char *const runs[][4] = {{"digits", "--device", "tpu_v1"},
					      {"lenet5", "--place", "Conv*=tpu_v1,*=diannao"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	for (int i = 0; i < 2; i++) {
		double start = 0, end = 0, of_tasks = 0, of_rows = 0;
		int batches = 0, tasks = 0;
		cli_expect(&options, 0, "trace", "record", runs[i][0], runs[i][1], runs[i][2], "--timing-only", "-o",
			   "@/a.trace");
		char *text = cli_read(cli_path(folder, "a.trace"), NULL), *tail = text;
		for (char *line; (line = strsep(&tail, "\n"));) {
			const double seconds = number_of(line, "seconds");
			if (!strncmp(line, "layer ", 6)) {
				of_rows += seconds + number_of(line, "host_seconds") + number_of(line, "link_seconds");
			} else if (!strncmp(line, "task ", 5)) {
				start += number_of(line, "start");
				end = fmax(end, start + seconds);
				of_tasks += strncmp(line, "task link_held ", 15) ? seconds : 0;
				tasks++;
			} else if (!strncmp(line, "batch ", 6)) {
				cr_assert(fabs(end - seconds) < 1e-12 && fabs(of_tasks - of_rows) < 1e-12,
					  "%s, batch %d: tasks end at %g of %g s, and take %g of %g s", runs[i][0],
					  batches, end, seconds, of_tasks, of_rows);
				start = end = of_tasks = of_rows = 0;
				batches++;
			}
		}
		cr_assert(batches > 0 && tasks >= 8 * batches, "%d batches, %d tasks", batches, tasks);
		free(text);
	}
	cli_remove_folder(folder);
}

/* Reads a damaged trace by each command that reads one. */
static void expect_refused(const struct cli_run_options *options, const char *folder, const char *data, size_t bytes,
			   const char *what)
{
	cli_write(folder, "bad.trace", data, bytes);
	for (int command = 0; command < 2; command++) {
		struct cli_result r = command ? cli_run(options, "trace", "check", "bad.trace")
					      : cli_run(options, "trace", "diff", "bad.trace", "a.trace");
		cr_expect(r.status == 3 || (r.status == 1 && !command), "%s: status %d: %s", what, r.status, r.err);
		cr_expect(r.err_bytes < 1000 && strstr(r.err, r.status == 3 ? "bad.trace" : "differ"), "%s: %s", what,
			  r.err);
		cli_free(&r);
	}
}

Test(run_trace, damaged_traces_are_refused)
{
	char folder[CLI_PATH];
	size_t bytes;
	uint64_t rng = 5;
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_expect(&options, 0, "trace", "record", "layer", "gemm", "-m", "4", "-n", "20", "-k", "30", "--device",
		   "systolic_16x16", "-o", "a.trace");
	char *data = cli_read(cli_path(folder, "a.trace"), &bytes);
	for (int i = 0; i < 12; i++) {
		char what[60];
		const size_t cut = (size_t)test_range(&rng, 0, (int64_t)bytes / 2);
		snprintf(what, sizeof what, "cut after %zu bytes", cut);
		expect_refused(&options, folder, data, cut, what);
	}
	static const char *const heads[] = {"npulab-trace 1\n",           "npulab-trace 3\n",
					    "npulab-trace x\n",           "hello\n",
					    "npulab-trace 2\nevents x\n", "npulab-trace 2\nnpulab 1 2\n",
					    "\x28\xb5\x2f\xfd????????"};
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		expect_refused(&options, folder, heads[i], strlen(heads[i]), heads[i]);
	struct cli_result r = cli_run(&options, "trace", "check", "no.trace");
	cr_expect(r.status == 3 && strstr(r.err, "no.trace"), "%s", r.err);
	cli_free(&r);
	/* A full disk leaves no trace, and the one that was there as it was. */
	struct cli_run_options full = options;
	full.largest_file = 1000;
	r = cli_run(&full, "trace", "record", "digits", "--device", "tpu_v1", "-o", "a.trace");
	cr_expect(r.status == 5 && strstr(r.err, "a.trace"), "status %d: %s", r.status, r.err);
	cli_free(&r);
	size_t now;
	char *after = cli_read(cli_path(folder, "a.trace"), &now);
	cr_expect(now == bytes && !memcmp(after, data, bytes));
	free(after);
	free(data);
	cli_remove_folder(folder);
}

/* Names of a trace from elsewhere control no terminal. */
Test(run_trace, a_hostile_trace_is_shown_as_text)
{
	static const char text[] =
		"npulab-trace 2\nnpulab 0.1.0\nreason \"\\x1b[2J\" \"a\\x0ab\"\nrun run \"n\\x1bet\"\n"
		"option device \"\\x1b\"\ndetail layers\nvalues yes\ntimes yes\nmachine \"\\x1bm\" m "
		"float32 0\nevents follow\nprogram m \"\\x1b[31mfc\"\nend 5 \"\\x1bk\"=\"\\x1bv\"\n"
		"layer \"\\x1b[31mfc\" Gemm m ran macs=8 sum=%d\nbatch 0\n";
	char folder[CLI_PATH], trace[2][1000];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int i = 0; i < 2; i++) {
		snprintf(trace[i], sizeof trace[i], text, i);
		trace_write(folder, i ? "b.trace" : "a.trace", trace[i]);
	}
	struct cli_result show = cli_run(&options, "trace", "show", "a.trace"),
			  diff = cli_run(&options, "trace", "diff", "a.trace", "b.trace");
	cr_expect(!show.status && !strchr(show.out, '\x1b') && cli_says(show.out, "?[2J: a?b\n"), "%s", show.out);
	cr_expect(diff.status == 1 && !strchr(diff.out, '\x1b') && cli_says(diff.out, "?[31mfc: other values"), "%s",
		  diff.out);
	cli_free(&show);
	cli_free(&diff);
	cli_remove_folder(folder);
}

/* Each key of the head and each kind of event stands in the tables of docs/traces.md. */
Test(run_trace, the_page_has_every_key_and_event)
{
	static const char *const runs[][10] = {
		{"digits", "--device", "reference"},
		{"digits", "--device", "tpu_v1", "--timing-only"},
		{"layer", "pool", "--input", "1x4x4x4", "--kernel", "2x2", "--device", "tpu_v1", "--detail", "cycles"}};
	char folder[CLI_PATH], *head = page_section("docs/traces.md", "### The head"),
			       *events = page_section("docs/traces.md", "### Events");
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		const char *args[CLI_ARGUMENTS] = {"trace", "record", "-o", "@/a.trace"};
		memcpy(args + 4, runs[i], sizeof runs[i]);
		cli_expect_list(&options, 0, args);
		char *text = cli_read(cli_path(folder, "a.trace"), NULL), *tail = text, *section = head;
		for (char *line; (line = strsep(&tail, "\n")) && *line;) {
			line[strcspn(line, " ")] = '\0';
			cr_expect(page_row(section, line), "docs/traces.md has no row of `%s`", line);
			section = !strcmp(line, "events") ? events : section;
		}
		free(text);
	}
	free(head);
	free(events);
	cli_remove_folder(folder);
}

/* Returns the key of the page that a key of a trace is one of: names after a colon stand for themselves. */
static void page_key(const char *key, char *to, size_t n)
{
	static const char *const families[] = {"cycles:NAME", "ps:NAME", "joules:COMPONENT:ORIGIN"};
	snprintf(to, n, "%s", key);
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (!strncmp(key, families[i], strcspn(families[i], ":") + 1))
			snprintf(to, n, "%s", families[i]);
}

/* Says whether a key is a counter of a device of this test. */
static bool is_counter(const char *key)
{
	static const char *const names[] = {"tpu_v1", "diannao", "gpu_a100"};
	bool found = false;
	for (int d = 0; d < 3; d++) {
		const struct npl_device_options none = {0};
		struct npl_device *device;
		struct npl_err err;
		cr_assert_eq(npl_device_open(names[d], &none, &device, &err), 0, "%s", err.msg);
		const struct npl_device_info *info = npl_device_get_info(device);
		for (size_t k = 0; k < info->n_counters; k++)
			found |= !strcmp(info->counter_def[k].name, key);
		npl_device_close(device);
	}
	return found;
}

/* The table of keys has those of recorded traces, and recorded traces have those of the table. */
Test(run_trace, the_page_has_every_key_of_rows)
{
	static const char *const runs[][12] = {
		{"lenet5", "--place", "Conv*=tpu_v1,*=diannao", "--batch", "1", "--accuracy"},
		{"digits", "--device", "gpu_a100"},
		{"cnn1", "--device", "tpu_v1", "--timing-only", "--detail", "layers"},
		{"layer", "gemm", "-m", "5", "-n", "20", "-k", "30", "--device", "diannao"}};
	/* Keys that need arithmetic which goes wrong, or a layer that reads the host's memory. */
	static const char *const rare[] = {"overflows", "clipped", "host_bytes", NULL};
	char folder[CLI_PATH], *table = page_section("docs/traces.md", "### Keys of layers, tasks and batches"),
			       name[80];
	char *seen = calloc(1, 4096);
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	cr_assert(seen);
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		const char *args[CLI_ARGUMENTS] = {"trace", "record", "-o", "@/a.trace"};
		memcpy(args + 4, runs[i], sizeof runs[i]);
		cli_expect_list(&options, 0, args);
		char *text = cli_read(cli_path(folder, "a.trace"), NULL), *tail = text;
		for (char *line, *word; (line = strsep(&tail, "\n"));) {
			if (strncmp(line, "layer ", 6) != 0 && strncmp(line, "task ", 5) != 0 &&
			    strncmp(line, "batch ", 6) != 0 && strncmp(line, "end ", 4) != 0)
				continue;
			while ((word = strsep(&line, " "))) {
				char *equals = strchr(word, '='), key[60], found[70];
				if (!equals)
					continue;
				*equals = '\0';
				page_key(word, key, sizeof key);
				cr_expect(page_row(table, key) || is_counter(key),
					  "docs/traces.md has no row of `%s`, and it is no counter", key);
				snprintf(found, sizeof found, "`%s` ", key);
				if (!strstr(seen, found))
					strncat(seen, found, 4095 - strlen(seen));
			}
		}
		free(text);
	}
	for (const char *row = strstr(table, "\n| `"); row; row = strstr(row + 1, "\n| `")) {
		bool is_rare = false;
		snprintf(name, sizeof name, "%.*s ", (int)strcspn(row + 3, " "), row + 3);
		for (int r = 0; rare[r]; r++)
			is_rare |= !strncmp(name + 1, rare[r], strlen(rare[r]));
		cr_expect(is_rare || strstr(seen, name), "no trace has %s", name);
	}
	free(seen);
	free(table);
	cli_remove_folder(folder);
}

/* What decides a run is an option of `trace record` too; options of reports and limits are not. */
Test(run_trace, options_of_runs_are_options_of_recording)
{
	static const char *const commands[] = {"run", "layer", "exec"};
	static const char *const others[] = {"labels",        "layers",
					     "match",         "sort",
					     "top",           "json",
					     "csv",           "output",
					     "timeline",      "log-placement",
					     "dump-program",  "no-accuracy",
					     "devices",       "precision",
					     "machine",       "output-as",
					     "buffer-output", "buffer-output-as",
					     "instructions",  "events",
					     "html",          NULL};
	struct cli_result record = cli_run(&(struct cli_run_options){0}, "trace", "record", "--help");
	for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
		struct cli_result r = cli_run(&(struct cli_run_options){0}, commands[c], "--help");
		int n = 0;
		for (const char *at = strstr(r.out, "\n  -"); at; at = strstr(at + 1, "\n  -"), n++) {
			char option[60];
			const char *name = at + 3 + strspn(at + 3, "-"), *const *other = others;
			snprintf(option, sizeof option, "\n  %.*s ", (int)strcspn(at + 3, " "), at + 3);
			const size_t length = strcspn(name, " ");
			while (*other && (strlen(*other) != length || strncmp(*other, name, length) != 0))
				other++;
			cr_expect(*other || strstr(record.out, option), "trace record has no%s of %s", option + 2,
				  commands[c]);
		}
		cr_expect_gt(n, 10);
		cli_free(&r);
	}
	cli_free(&record);
}
