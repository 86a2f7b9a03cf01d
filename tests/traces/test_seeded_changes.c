/* SPDX-License-Identifier: MIT
 *
 * Seeded changes of runs: a parameter by one step, a bit of a weight, a number of an event, two instructions of a
 * program. Each moves something that the trace says, or the trace is the same and so are all figures of the report. And
 * where nothing changed, nothing is reported. */
#include <ctype.h>

#include "core/device_access.h"
#include "npulab/driver.h"
#include "npulab/random.h"
#include "npulab/report.h"
#include "npulab/run_trace.h"
#include "npulab/single_layer.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/shipped_models.h"

#define TEXT 200

/* What changes are counted as. */
struct tally {
	int found, without_effect, refused;
	/* The changes that were made, so that none is made twice. */
	struct npl_arena *arena;
	const char *made[1000];
	int n_made;
};

/* Notes a change. Returns false if it was made before. */
static bool is_new(struct tally *tally, const char *base, const char *change)
{
	const char *text = npl_arena_printf(tally->arena, "%s %s", base, change);
	cr_assert(text && tally->n_made < 1000);
	for (int i = 0; i < tally->n_made; i++)
		if (!strcmp(tally->made[i], text))
			return false;
	tally->made[tally->n_made++] = text;
	return true;
}

/* A run that is changed: a network with one sample, or a convolution. */
struct base {
	const char *name, *device;
	const char *set[2]; /* "DEVICE.KEY=VALUE", NULL: none */
	bool is_layer;
	struct npl_graph *graph;
	struct npl_samples samples;
	const char *trace; /* of the run without a change */
	char *figures;
};

static const struct base bases[] = {
	{.name = "digits", .device = "systolic_16x16"},
	{.name = "digits", .device = "diannao"},
	{.name = "conv", .device = "tpu_v1", .is_layer = true, .set = {"tpu_v1.weight_memory.preset=ddr3-2133"}},
	{.name = "conv", .device = "diannao", .is_layer = true, .set = {"diannao.activity=counted"}},
};
enum { BASES = sizeof bases / sizeof *bases };

/* Removes `"key":` and its value, which is a text, a number, a list or an object of such. */
static void remove_key(char *json, const char *key)
{
	char word[60];
	snprintf(word, sizeof word, "\"%s\":", key);
	for (char *at = json; (at = strstr(at, word));) {
		char *end = at + strlen(word);
		int depth = 0;
		bool quoted = false;
		for (; *end && (quoted || depth || (*end != ',' && *end != '}' && *end != ']')); end++) {
			if (*end == '\\')
				end++;
			else if (*end == '"')
				quoted = !quoted;
			else if (!quoted)
				depth += (*end == '{' || *end == '[') - (*end == '}' || *end == ']');
		}
		memmove(at, end, strlen(end) + 1);
	}
}

/* The figures of a comparison as JSON, without those that say what the machine is and how long the simulation took. */
static char *figures_of(const struct npl_comparison *comparison, const struct npl_report_context *context)
{
	static const char *const other[] = {
		"settings", "sources", "machine_sha256", "detail", "notes", "simulation_wall_seconds", "clock_hz"};
	char *json = NULL;
	size_t bytes = 0;
	FILE *stream = open_memstream(&json, &bytes);
	cr_assert(stream);
	npl_report_json(stream, comparison, context);
	fclose(stream);
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		remove_key(json, other[i]);
	return json;
}

/* Makes a run and records it. Returns its figures, or NULL where it is refused. */
static char *record(const struct base *base, const char *const *set, int n_sets, int threads, const char *path,
		    struct npl_err *why)
{
	struct npl_trace_header header = {.command = "run", .argument = base->name, .detail = NPL_TRACE_INSTRUCTIONS};
	struct npl_comparison comparison = {0};
	struct npl_trace_recorder *recorder;
	struct npl_err err;
	char *figures = NULL;
	cr_assert_eq(npl_trace_recorder_open(&header, path, &recorder, &err), 0, "%s", err.msg);
	const struct npl_compare_options options = {.device_names = &base->device,
						    .n_devices = 1,
						    .set = set,
						    .n_sets = n_sets,
						    .threads = threads,
						    .no_accuracy = true,
						    .without_host = base->is_layer,
						    .watcher = npl_trace_recorder_watcher(recorder)};
	const struct npl_layer_spec spec = {
		.op = NPL_OP_CONV,
		.x = {4, {1, 20, 9, 9}},
		.outputs = 40,
		.attrs = {.conv = {.window = {.kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}}, .groups = 1}},
		.no_accuracy = true,
		.requantise = true,
		.seed = 1};
	const struct npl_report_context context = {
		.model_name = base->name, .layers = true, .single_layer = base->is_layer};
	if (!(base->is_layer ? npl_single_layer(&spec, &options, &comparison, NULL, why)
			     : npl_compare(base->graph, &base->samples, NULL, &options, &comparison, why))) {
		figures = figures_of(&comparison, &context);
		cr_assert_eq(npl_trace_recorder_finish(recorder, &err), 0, "%s", err.msg);
	}
	npl_comparison_free(&comparison);
	npl_trace_recorder_close(recorder);
	npl_trace_header_free(&header);
	return figures;
}

/* Says whether two traces differ. */
static bool differ(const char *a, const char *b)
{
	const struct npl_trace_tolerance none = {0};
	struct npl_trace_diff diff;
	struct npl_err err;
	cr_assert_eq(npl_trace_diff(a, b, &none, &diff, &err), 0, "%s", err.msg);
	const bool moved = diff.moved != 0;
	cr_assert_eq(moved, diff.is_beyond);
	cr_assert_eq(moved, diff.first.is_known);
	npl_trace_diff_free(&diff);
	return moved;
}

/* Counts a change, after which the run has these figures; NULL: it was refused. Frees them. */
static void count(const struct base *base, const char *trace, char *figures, const char *change, struct tally *tally)
{
	const bool found = figures && differ(base->trace, trace);
	cr_log_info("%s on %s: %s: %s", base->name, base->device, change,
		    !figures ? "refused"
		    : found  ? "found"
			     : "without effect");
	if (!figures) {
		tally->refused++;
		return;
	}
	if (!found)
		cr_expect_str_eq(figures, base->figures, "%s on %s: %s moves figures, and nothing in the trace",
				 base->name, base->device, change);
	tally->found += found;
	tally->without_effect += !found;
	free(figures);
}

static int sets_of(const struct base *base, const char **set)
{
	int n = 0;
	for (int i = 0; i < 2 && base->set[i]; i++)
		set[n++] = base->set[i];
	return n;
}

static void open_bases(struct base *base, const char *folder, struct npl_arena *arena)
{
	const char *set[2];
	const char *again = npl_arena_printf(arena, "%s/again.trace", folder);
	struct npl_err err;
	cr_assert(again);
	for (int i = 0; i < BASES; i++) {
		base[i] = bases[i];
		struct npl_model_files files;
		if (!base[i].is_layer) {
			base[i].graph = shipped_load(base[i].name, NULL, &files, arena);
			cr_assert_eq(npl_samples_load(base[i].graph, NULL, 0, NULL, 1, &base[i].samples, &err), 0, "%s",
				     err.msg);
		}
		base[i].trace = npl_arena_printf(arena, "%s/%d.trace", folder, i);
		cr_assert(base[i].trace);
		const int n = sets_of(&base[i], set);
		base[i].figures = record(&base[i], set, n, 1, base[i].trace, &err);
		cr_assert(base[i].figures, "%s on %s: %s", base[i].name, base[i].device, err.msg);
		/* Where nothing changed, nothing is reported. */
		char *figures = record(&base[i], set, n, 2, again, &err);
		cr_assert_not(differ(base[i].trace, again));
		cr_assert_str_eq(figures, base[i].figures);
		free(figures);
	}
}

static void close_bases(struct base *base)
{
	for (int i = 0; i < BASES; i++) {
		npl_samples_free(&base[i].samples);
		npl_graph_free(base[i].graph);
		free(base[i].figures);
	}
}

/* Writes a value one step from `now`; empty where the parameter has none. */
static void step(const struct npl_param *param, const char *now, struct npl_random *random, char text[TEXT])
{
	const double value = strtod(now, NULL);
	const bool up = npl_random_u64(random) % 2;
	double next = value + (up ? 1 : -1);
	text[0] = '\0';
	switch (param->type) {
	case NPL_PARAM_DOUBLE:
		next = value == 0 ? 0.01 : value * (up ? 1.01 : 0.99);
		/* fall through */
	case NPL_PARAM_INT:
		if (next >= param->min && next <= param->max && next != value)
			snprintf(text, TEXT, "%.15g", next);
		return;
	case NPL_PARAM_CHOICE: {
		char words[1000];
		snprintf(words, sizeof words, "%s", param->words);
		int n = 0;
		char *list[40], *rest = NULL;
		for (char *word = strtok_r(words, " ", &rest); word && n < 40; word = strtok_r(NULL, " ", &rest)) {
			word[strcspn(word, "/")] = '\0';
			if (strcmp(word, now) != 0)
				list[n++] = word;
		}
		if (n)
			snprintf(text, TEXT, "%s", list[npl_random_u64(random) % (unsigned)n]);
		return;
	}
	case NPL_PARAM_STRING:
	case NPL_PARAM_ORIGIN:
		return;
	}
}

/* A parameter by one step. */
static void change_parameter(struct base *base, struct npl_random *random, const char *trace, struct tally *tally)
{
	const char *own_sets[2];
	const int n_own = sets_of(base, own_sets);
	struct npl_device_options options = {.set = own_sets};
	const char *set[3];
	char text[TEXT], change[2 * TEXT];
	struct npl_device *device;
	struct npl_err err;
	const char *filled[2];
	options.n_sets = npl_device_sets(base->device, own_sets, n_own, filled);
	options.set = filled;
	cr_assert_eq(npl_device_open(base->device, &options, &device, &err), 0, "%s", err.msg);
	const struct npl_param *list = npl_device_driver(device)->params, *param = NULL;
	int n = 0;
	while (list[n].key)
		n++;
	do {
		param = &list[npl_random_u64(random) % (unsigned)n];
		step(param, npl_device_setting(device, param->key), random, text);
		snprintf(change, sizeof change, "%s.%s=%s", base->device, param->key, text);
	} while (!*text || !is_new(tally, base->name, change));
	const int n_sets = sets_of(base, set);
	set[n_sets] = change;
	count(base, trace, record(base, set, n_sets + 1, 1, trace, &err), change, tally);
	npl_device_close(device);
}

/* One bit of a weight or a bias of the network. */
static void change_weight(struct base *base, struct npl_random *random, const char *trace, struct tally *tally)
{
	struct npl_graph *graph = base->graph;
	struct npl_value *value;
	do
		value = &graph->value[npl_random_u64(random) % (unsigned)graph->n_values];
	while (!value->constant || value->dtype != NPL_F32 || !value->data);
	const size_t count_of = (size_t)npl_shape_count(&value->shape);
	const size_t element = npl_random_u64(random) % count_of, bit = npl_random_u64(random) % 31;
	const void *before = value->data;
	uint32_t *bits = malloc(4 * count_of);
	const char *set[2];
	char change[TEXT];
	struct npl_err err;
	float changed;
	cr_assert(bits);
	memcpy(bits, before, 4 * count_of);
	bits[element] ^= (uint32_t)1 << bit;
	memcpy(&changed, &bits[element], 4);
	snprintf(change, sizeof change, "bit %zu of element %zu of %s", bit, element, value->name);
	value->data = bits;
	if (isfinite(changed) && is_new(tally, base->device, change))
		count(base, trace, record(base, set, sets_of(base, set), 1, trace, &err), change, tally);
	value->data = before;
	free(bits);
}

/* A digit of an event, as a wrong counter would make it. Such a change always moves something. */
static void change_event(struct base *base, struct npl_random *random, const char *trace, struct tally *tally)
{
	size_t bytes;
	char *text = cli_read(base->trace, &bytes), *events = strstr(text, "\nevents follow\n");
	char change[TEXT];
	char *at;
	cr_assert(events);
	events += strlen("\nevents follow\n");
	/* A digit of a number or a checksum, which stand after a blank, a '+' or a '='. */
	do {
		at = events + npl_random_u64(random) % (size_t)(text + bytes - events);
		while (at > events && isxdigit((unsigned char)at[-1]))
			at--;
	} while (!strchr(" +=", at[-1]) || !isdigit((unsigned char)*at) ||
		 !strchr(" \n", at[strspn(at, "0123456789abcdef")]));
	at += npl_random_u64(random) % strspn(at, "0123456789");
	*at = *at == '9' ? '8' : (char)(*at + 1);
	char *line = at;
	while (line[-1] != '\n')
		line--;
	snprintf(change, sizeof change, "'%.*s'", (int)strcspn(line, "\n"), line);
	FILE *file = fopen(trace, "wb");
	cr_assert(file && fwrite(text, 1, bytes, file) == bytes && !fclose(file));
	free(text);
	const struct npl_trace_tolerance none = {0};
	struct npl_trace_diff diff;
	struct npl_err err;
	const int rc = npl_trace_diff(base->trace, trace, &none, &diff, &err);
	cr_expect(rc || diff.moved, "%s on %s: %s is not found", base->name, base->device, change);
	tally->found += rc || diff.moved;
	cr_log_info("%s on %s: %s: %s", base->name, base->device, change, rc ? err.msg : "found");
	npl_trace_diff_free(&diff);
}

static int record_program(const struct cli_run_options *options, const char *device, const char *trace)
{
	const bool has_buffer = strcmp(device, "diannao") != 0;
	struct cli_result r = cli_run(options, "trace", "record", "@/p.s", "--weights", "@/p.weights.npy",
				      has_buffer ? "--buffer" : "--host-memory",
				      has_buffer ? "@/p.buffer.npy" : "@/p.host.npy", "-o", trace, "--quiet");
	const int status = r.status;
	cr_assert(status == 0 || status == 3, "%d: %s", status, r.err);
	cli_free(&r);
	return status;
}

/* The beginning of instruction n. */
static char *instruction_at(char *first, int n)
{
	while (n--)
		first = strchr(first, '\n') + 1;
	return first;
}

/* Swaps two neighbouring instructions, which differ. */
static void swap_instructions(char *first, int n_instructions, struct npl_random *random, char change[TEXT])
{
	char *a, *b, copy[2000];
	size_t of_a, of_b;
	int n;
	do {
		n = (int)(npl_random_u64(random) % (unsigned)(n_instructions - 1));
		a = instruction_at(first, n);
		b = instruction_at(a, 1);
		of_a = strcspn(a, "\n") + 1;
		of_b = strcspn(b, "\n") + 1;
	} while (*a == '#' || *b == '#' || (of_a == of_b && !memcmp(a, b, of_a)));
	snprintf(change, TEXT, "instructions %d and %d swapped", n, n + 1);
	cr_assert_lt(of_a, sizeof copy);
	memcpy(copy, a, of_a);
	memmove(a, b, of_b);
	memcpy(a + of_b, copy, of_a);
}

/* Adds 1 to the last digit of a number of an instruction. */
static void change_number(char *first, int n_instructions, struct npl_random *random, char change[TEXT])
{
	char *line, *digit;
	do {
		line = instruction_at(first, (int)(npl_random_u64(random) % (unsigned)n_instructions));
		digit = line + npl_random_u64(random) % (strcspn(line, "\n") + 1);
		digit += strspn(digit, "0123456789");
	} while (*line == '#' || digit == line || !isdigit((unsigned char)digit[-1]) || digit[-1] == '9' ||
		 digit > line + strcspn(line, "\n"));
	digit[-1]++;
	snprintf(change, TEXT, "%.*s", (int)strcspn(line, "\n"), line);
}

/* The order of instructions, and of tiles with them, and numbers in instructions. Those that the machine takes are
 * found, whether or not they move times or values. */
static void change_programs(const char *device, const char *folder, int wanted, struct npl_random *random,
			    struct tally *tally)
{
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "layer", "conv", "--input", "1x20x9x9", "--kernel", "3x3", "--filters",
				      "40", "--devices", device, "--dump-program", "@/p.s", "--quiet");
	size_t bytes;
	char change[TEXT];
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	cr_assert_eq(record_program(&options, device, "@/p.trace"), 0);
	const char *before = npl_arena_printf(tally->arena, "%s/p.trace", folder),
		   *after = npl_arena_printf(tally->arena, "%s/q.trace", folder);
	char *text = cli_read(cli_path(folder, "p.s"), &bytes);
	const int skipped = strcmp(device, "diannao") != 0 ? 12 : 8;
	int n = 0;
	char *first = instruction_at(text, skipped), *changed = malloc(bytes + 1);
	cr_assert(changed && before && after);
	for (char *at = first; *at; at = instruction_at(at, 1))
		n++;
	for (int done = 0; done < wanted;) {
		memcpy(changed, text, bytes + 1);
		(done % 2 ? swap_instructions : change_number)(changed + (first - text), n, random, change);
		if (!is_new(tally, device, change))
			continue;
		cli_write(folder, "p.s", changed, bytes);
		const bool is_refused = record_program(&options, device, "@/q.trace") != 0;
		const bool is_found = !is_refused && differ(before, after);
		cr_log_info("program of %s: %s: %s", device, change, is_refused ? "refused" : "found");
		cr_expect(is_refused || is_found, "program of %s: %s is not found", device, change);
		tally->refused += is_refused;
		tally->found += is_found;
		done += !is_refused;
	}
	free(changed);
	free(text);
}

static int counted(const struct tally *tally)
{
	return tally->found + tally->without_effect;
}

Test(seeded_changes, each_is_found_or_is_without_effect)
{
	struct base base[BASES];
	struct npl_arena arena = {0};
	struct tally tally = {.arena = &arena};
	struct npl_random random = {.state = 28};
	char folder[CLI_PATH];
	const int all = TEST_TIMES(300);
	cli_folder(folder);
	const char *trace = npl_arena_printf(&arena, "%s/changed.trace", folder);
	cr_assert(trace);
	open_bases(base, folder, &arena);
	for (int i = 0; counted(&tally) < all * 2 / 5; i++)
		change_parameter(&base[i % BASES], &random, trace, &tally);
	for (int i = 0; counted(&tally) < all * 3 / 5; i++)
		change_weight(&base[i % 2], &random, trace, &tally);
	for (int i = 0; counted(&tally) < all * 4 / 5; i++)
		change_event(&base[i % BASES], &random, trace, &tally);
	change_programs("systolic_16x16", folder, all / 10, &random, &tally);
	change_programs("diannao", folder, all - counted(&tally), &random, &tally);
	fprintf(stderr, "%d seeded changes: %d found, %d without effect; %d more were refused\n", counted(&tally),
		tally.found, tally.without_effect, tally.refused);
	cr_assert_geq(counted(&tally), all);
	cr_assert_geq(tally.found, all / 2);
	close_bases(base);
	npl_arena_free(&arena);
	cli_remove_folder(folder);
}
