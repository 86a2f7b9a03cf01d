/* SPDX-License-Identifier: MIT
 *
 * `npulab trace export --vcd`: the dump has the chosen signals and no others, its changes are those of a trace with
 * signals, programs follow each other, other programs read it as it is meant; what cannot be exported is refused and
 * leaves no file. */
#include "tests/kit/digits_input.h"
#include "tests/kit/vcd.h"

#define EXPORT(options, ...) cli_run(options, "trace", "export", "@/a.trace", __VA_ARGS__)

static struct cli_run_options record(char folder[CLI_PATH])
{
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "trace", "record", "layer", "gemm", "-m", "4", "-n", "16", "-k", "16",
				      "--device", "systolic_16x16", "-o", "@/a.trace");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	return options;
}

/* The matrix unit is busy for as many cycles as the instruction of the trace says. */
Test(vcd, the_dump_has_the_cycles_of_the_run)
{
	char folder[CLI_PATH];
	const struct cli_run_options options = record(folder);
	struct vcd *vcd = malloc(sizeof *vcd);
	struct vcd_variable *changed;
	uint64_t busy = 0, since = 0;
	bool was_busy = false;
	struct cli_result r = EXPORT(&options, "--vcd", "@/a.vcd");
	cr_assert(vcd && r.status == 0, "%s", r.err);
	cli_free(&r);
	vcd_open(vcd, cli_read(cli_path(folder, "a.vcd"), NULL));
	cr_expect_str_eq(vcd->timescale, "1fs");
	while (vcd_next(vcd, &changed)) {
		if (changed != vcd_named(vcd, "matrix.busy"))
			continue;
		busy += was_busy ? vcd->time - since : 0;
		since = vcd->time;
		was_busy = changed->value;
	}
	/* Four rows, at 700 MHz; each time is rounded down. */
	cr_expect_eq((busy * 7 + 5000000) / 10000000, 4, "%" PRIu64 " fs", busy);
	cr_expect_eq(vcd->time, 74ull * 10000000 / 7);
	free(vcd->text);
	free(vcd);
	cli_remove_folder(folder);
}

/* The time of a cycle of the dump in fs, at 700 MHz. */
static uint64_t time_of(uint64_t cycle)
{
	return cycle * 10000000 / 7;
}

/* Compares the dump with the lines of signals in a trace, cycle by cycle. Returns how many changes the trace has. */
static int64_t expect_changes_of(struct vcd *vcd, char *trace)
{
	uint64_t begin = 0, cycle = 0;
	int64_t changes = 0;
	for (char *line, *word; (line = strsep(&trace, "\n"));) {
		if (!strncmp(line, "program ", 8))
			cycle = 0;
		if (!strncmp(line, "end ", 4))
			begin += strtoull(line + 4, NULL, 10);
		if (strncmp(line, "c +", 3) != 0)
			continue;
		strsep(&line, "+");
		cycle += strtoull(strsep(&line, " "), NULL, 10);
		vcd_until(vcd, time_of(begin + cycle));
		cr_assert_eq(vcd->time, time_of(begin + cycle), "cycle %" PRIu64, cycle);
		for (; (word = strsep(&line, " ")); changes++) {
			const struct vcd_variable *v = vcd_named(vcd, strsep(&word, "="));
			const uint64_t mask = v->width < 64 ? ((uint64_t)1 << v->width) - 1 : UINT64_MAX;
			cr_assert_eq(v->is_known, *word != 'x', "cycle %" PRIu64 ", %s", cycle, v->name);
			cr_assert(!v->is_known || v->value == ((uint64_t)strtoll(word, NULL, 10) & mask),
				  "cycle %" PRIu64 ", %s: %" PRIu64 ", expected %s", cycle, v->name, v->value, word);
		}
	}
	return changes;
}

static void export_to(const struct cli_run_options *options, struct vcd *vcd, const char *trace, const char *arguments)
{
	char *words = strdup(arguments), *rest = words;
	const char *args[CLI_ARGUMENTS] = {"trace", "export", trace, "--vcd", "@/x.vcd"};
	for (int n = 5; rest && n < CLI_ARGUMENTS - 1; n++)
		args[n] = strsep(&rest, " ");
	struct cli_result r = cli_run_list(options, args);
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	free(words);
	vcd_open(vcd, cli_read(cli_path(options->folder, "x.vcd"), NULL));
}

static void record_cycles(const struct cli_run_options *options, const char *const *run)
{
	const char *args[CLI_ARGUMENTS] = {"trace", "record", "--detail", "cycles", "-o", "@/c.trace"};
	for (int n = 6; *run; run++)
		args[n++] = *run;
	struct cli_result r = cli_run_list(options, args);
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
}

#define MANY "default,array.*,accumulator.*,cell[3][*"

Test(vcd, its_changes_are_those_of_the_trace)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct vcd *vcd = malloc(sizeof *vcd);
	record_cycles(&options, (const char *const[]){"layer", "gemm", "-m", "4", "-n", "16", "-k", "40", "--device",
						      "systolic_16x16", "--signals", MANY, NULL});
	export_to(&options, vcd, "@/c.trace", "--signals " MANY);
	char *trace = cli_read(cli_path(folder, "c.trace"), NULL);
	const int64_t changes = expect_changes_of(vcd, trace);
	vcd_until(vcd, UINT64_MAX);
	cr_expect_eq(vcd->changes, changes + 1, "a change of `program`, and no other");
	free(trace);
	free(vcd->text);
	/* Within a window all is as it was, and nothing is known outside. */
	export_to(&options, vcd, "@/c.trace", "--from 30 --until 50 --signals matrix.*");
	struct vcd_variable *queue = vcd_named(vcd, "matrix.queue"), *busy = vcd_named(vcd, "matrix.busy");
	cr_expect_eq(vcd->n, 8); /* `program` too */
	vcd_until(vcd, time_of(30) - 1);
	cr_expect(!queue->is_known && !busy->is_known);
	vcd_until(vcd, time_of(30));
	cr_expect(queue->is_known && busy->is_known);
	vcd_until(vcd, time_of(50) - 1);
	cr_expect(queue->is_known && busy->is_known);
	vcd_until(vcd, time_of(50));
	cr_expect(!queue->is_known && !busy->is_known);
	free(vcd->text);
	free(vcd);
	cli_remove_folder(folder);
}

Test(vcd, programs_follow_each_other)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct vcd *vcd = malloc(sizeof *vcd);
	digits_input(folder, 3);
	record_cycles(&options, (const char *const[]){"digits", "--device", "systolic_16x16", "--batch", "1", "--input",
						      "@/in.npy", NULL});
	export_to(&options, vcd, "@/c.trace", "--quiet");
	char *trace = cli_read(cli_path(folder, "c.trace"), NULL);
	int programs = 0;
	for (const char *at = trace; (at = strstr(at, "\nend ")); at++)
		programs++;
	cr_assert_gt(programs, 1);
	expect_changes_of(vcd, trace);
	cr_expect_eq(vcd_named(vcd, "program")->value, programs);
	free(trace);
	free(vcd->text);
	free(vcd);
	cli_remove_folder(folder);
}

/* Returns the count of a class in a line of a trace. */
static uint64_t count_of(const char *line, const char *key)
{
	const char *at = strstr(line, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Finds, in the one program of a trace, the cycle in which a unit first has an instruction of the layer, and the end of
 * the last. */
static void find_cycles(char *trace, const char *layer, uint64_t *from, uint64_t *until)
{
	uint64_t begin = 0;
	bool is_of = false;
	*from = UINT64_MAX;
	*until = 0;
	for (char *line; (line = strsep(&trace, "\n"));) {
		char *at = line;
		if (!strncmp(line, "of ", 3))
			is_of = !strcmp(line + 3, layer);
		if (strncmp(line, "i ", 2) != 0)
			continue;
		for (int word = 0; word < 3; word++)
			at = strchr(at, ' ') + 1;
		begin += (uint64_t)strtoll(at, NULL, 10);
		const bool is_issue = strstr(line, " issue +") != NULL;
		const uint64_t waits = count_of(line, " unit_busy=") + count_of(line, " queue_full=") +
				       (is_issue ? 0 : count_of(line, " issue="));
		const uint64_t end = begin + strtoull(strchr(at, ' '), NULL, 10);
		*from = is_of && begin + waits < *from ? begin + waits : *from;
		*until = is_of && end > *until ? end : *until;
	}
}

/* Of a network in one program only the cycles of a layer are known, and these are as in the whole dump. */
Test(vcd, a_layer_has_its_cycles)
{
	static const char *const layers[] = {"conv1", "conv3", "fc1", "fc2"};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct vcd *all = malloc(sizeof *all), *part = malloc(sizeof *part);
	digits_input(folder, 3);
	cli_record(&options, "digits", "--device", "systolic_16x16", "--batch", "3", "--input", "@/in.npy", "-o",
		   "@/c.trace", "--quiet");
	for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
		uint64_t from, until, end, samples = 0;
		char *trace = cli_read(cli_path(folder, "c.trace"), NULL), arguments[40];
		const char *last = strstr(trace, "\nend ");
		cr_assert(last && !strstr(last + 1, "\nend "), "one program");
		end = strtoull(last + 5, NULL, 10);
		find_cycles(trace, layers[i], &from, &until);
		free(trace);
		cr_assert(from < until && until <= end && until - from < end, "%s", layers[i]);
		export_to(&options, all, "@/c.trace", "--quiet");
		snprintf(arguments, sizeof arguments, "--quiet --layer %s", layers[i]);
		export_to(&options, part, "@/c.trace", arguments);
		cr_assert_eq(all->n, part->n);
		for (uint64_t cycle = 0; cycle < end; cycle += 1 + (cycle + 2 < from || cycle > until ? 0 : 16)) {
			const bool is_in = from <= cycle && cycle < until;
			vcd_until(all, time_of(cycle));
			vcd_until(part, time_of(cycle));
			for (int v = 0; v < all->n; v++) {
				const struct vcd_variable *x = &all->variable[v], *y = &part->variable[v];
				const bool is_known = (is_in || strstr(x->name, ".program")) && x->is_known;
				cr_assert(y->is_known == is_known && (!is_known || x->value == y->value),
					  "%s, cycle %" PRIu64 ": %s", layers[i], cycle, x->name);
				samples += is_known;
			}
		}
		cr_assert_gt(samples, 100, "%s", layers[i]);
		free(all->text);
		free(part->text);
	}
	free(all);
	free(part);
	cli_remove_folder(folder);
}

/* The file that docs/waveforms.md gives to GTKWave names signals of its dump, with their widths. */
Test(vcd, the_page_s_save_file_fits_its_dump)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct vcd *vcd = malloc(sizeof *vcd);
	const struct cli_run_options within = {.enter = folder}; /* where "@" is itself */
	struct cli_result r = cli_run(&within, "trace", "record", "layer", "gemm", "-m", "6", "-n", "4", "-k", "8",
				      "--device", "systolic_16x16@array.rows=4@array.columns=4", "-o", "c.trace");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	export_to(&options, vcd, "@/c.trace", "--signals cycle,default,array.*,cell[2][1].*");
	char *text = cli_read("docs/waveforms/product.gtkw", NULL), *rest = text;
	int named = 0;
	for (char *line; (line = strsep(&rest, "\n"));) {
		int high = 0;
		if (!strchr(line, '.') || strchr("[*@-", *line))
			continue;
		char *range = strrchr(line, '['), *colon = range ? strchr(range, ':') : NULL;
		if (colon) {
			high = atoi(range + 1);
			*range = '\0';
		}
		const struct vcd_variable *v = vcd_named(vcd, strchr(line, '.') + 1);
		cr_expect(!strcmp(v->name, line), "%s, not %s", v->name, line);
		cr_expect_eq(v->width, high + 1, "%s", line);
		named++;
	}
	cr_expect_gt(named, 20);
	free(text);
	free(vcd->text);
	free(vcd);
	cli_remove_folder(folder);
}

/* GTKWave's own programs take the dump into their format and back: at every time each variable has the same value. */
Test(vcd, other_programs_read_the_same)
{
	char folder[CLI_PATH], command[6 * CLI_PATH];
	if (system("type vcd2fst fst2vcd > /dev/null 2>&1") != 0)
		cr_skip_test("gtkwave is not installed");
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct vcd *vcd = malloc(sizeof *vcd), *back = malloc(sizeof *back);
	record_cycles(&options, (const char *const[]){"layer", "gemm", "-m", "4", "-n", "16", "-k", "40", "--device",
						      "systolic_16x16", NULL});
	export_to(&options, vcd, "@/c.trace", "--from 3 --signals " MANY);
	snprintf(command, sizeof command, "vcd2fst %s/x.vcd %s/x.fst > %s/log && fst2vcd %s/x.fst > %s/y.vcd", folder,
		 folder, folder, folder, folder);
	cr_assert_eq(system(command), 0, "%s", command);
	vcd_open(back, cli_read(cli_path(folder, "y.vcd"), NULL));
	cr_assert_eq(back->n, vcd->n);
	cr_expect_str_eq(back->timescale, vcd->timescale);
	for (uint64_t cycle = 0; cycle < 120; cycle++) {
		vcd_until(vcd, time_of(cycle));
		vcd_until(back, time_of(cycle));
		for (int i = 0; i < vcd->n; i++) {
			const struct vcd_variable *a = &vcd->variable[i],
						  *b = vcd_named(back, strchr(a->name, '.') + 1);
			cr_assert(a->width == b->width && a->is_known == b->is_known && a->value == b->value,
				  "cycle %" PRIu64 ", %s", cycle, a->name);
		}
	}
	cr_expect_gt(vcd->changes, 1000);
	free(vcd->text);
	free(back->text);
	free(vcd);
	free(back);
	cli_remove_folder(folder);
}

Test(vcd, what_cannot_be_exported_is_refused)
{
	char folder[CLI_PATH];
	const struct cli_run_options options = record(folder);
	static const struct {
		const char *option, *value, *message;
		int status;
	} bad[] = {{"--signals", "matrx.busy", "no signal has the name 'matrx.busy'; the nearest is 'matrix.busy'", 2},
		   {"--signals", "cell[16][0].sum", "no signal has the name 'cell[16][0].sum'", 2},
		   {"--layer", "conv", "no layer has 'conv' in its name; expected Gemm", 2},
		   {"--machine", "tpu_v1", "no program of tpu_v1 has run", 2}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct cli_result r = EXPORT(&options, "--vcd", "@/a.vcd", bad[i].option, bad[i].value);
		cr_expect(r.status == bad[i].status && strstr(r.err, bad[i].message), "status %d: %s", r.status, r.err);
		cr_expect(access(cli_path(folder, "a.vcd"), F_OK) != 0);
		cli_free(&r);
	}
	struct cli_result r = EXPORT(&options, "--vcd", "@/a.vcd", "--from", "9", "--until", "9");
	cr_expect_eq(r.status, 2, "%s", r.err);
	cli_free(&r);
	r = EXPORT(&options, "--vcd", "@/a.vcd", "--layer", "Gemm", "--until", "1");
	cr_expect(r.status == 2 && strstr(r.err, "no instruction of a layer like Gemm runs in the chosen cycles"), "%s",
		  r.err);
	cli_free(&r);
	cli_record(&options, "digits", "--device", "systolic_16x16", "-o", "@/d.trace", "--quiet");
	r = cli_run(&options, "trace", "export", "@/d.trace", "--vcd", "@/a.vcd", "--layer", "flatten");
	cr_expect(r.status == 2 && strstr(r.err, "no layer with 'flatten' in its name has instructions"), "%s", r.err);
	cli_free(&r);
	cr_expect(access(cli_path(folder, "a.vcd"), F_OK) != 0);
	r = EXPORT(&options, "--quiet");
	cr_expect_eq(r.status, 2, "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}
