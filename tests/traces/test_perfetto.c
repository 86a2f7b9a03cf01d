/* SPDX-License-Identifier: MIT
 *
 * Traces as pictures for Perfetto. What the program promises: the document has the form of Chrome's trace events; each
 * instruction is a slice of its unit, at the time at which the unit has it; slices of a track do not overlap; counters
 * sum to what the trace counts. The tests read the trace a second time, by docs/exec.md, and not by the exporter's
 * code. */
#include <math.h>

#include "tests/kit/picture.h"
#include "traces/text.h"

enum { MOST_WORDS = 64, MOST_PROGRAMS = 64, MOST_COUNTERS = 64 };

struct instruction {
	int line;
	char name[64], unit[16], layer[32];
	int64_t begin, end, issued, taken, left;
	bool is_load; /* no unit works on it */
};
struct program {
	char device[32], layer[32]; /* its first layer */
	double begin, hz;           /* in seconds; begin as the tasks say */
	int64_t cycles;
	int first, end;  /* of its instructions */
	char last[8192]; /* the line `end` */
};
struct read_trace {
	struct instruction *instruction;
	int n;
	struct program program[MOST_PROGRAMS];
	int n_programs;
	char device[8][32]; /* of the machines of the head */
	double hz[8];
	int n_devices;
};

static double number_of(const char *line, const char *key)
{
	char text[80];
	snprintf(text, sizeof text, " %s=", key);
	const char *at = strstr(line, text);
	return at ? strtod(at + strlen(text), NULL) : 0;
}

static bool is_one_of(const char *word, const char *list)
{
	const char *at = strstr(list, word);
	return at && at[strlen(word)] == ' ' && (at == list || at[-1] == ' ');
}

/* Reads an instruction: docs/exec.md says which of its cycles come before its unit has it, and which after. */
static void read_instruction(char *line, int number, const char *layer, int64_t *begin, struct instruction *i)
{
	char *word[MOST_WORDS], *value[MOST_WORDS];
	const char *problem;
	int64_t issue = 0, queue = 0, after = 0;
	const int n = trace_split(line, word, value, MOST_WORDS, &problem);
	cr_assert_geq(n, 5, "line %d", number);
	*begin += strtoll(word[3], NULL, 10);
	*i = (struct instruction){.line = number, .begin = *begin, .end = *begin + strtoll(word[4], NULL, 10)};
	snprintf(i->name, sizeof i->name, "%s", word[1]);
	snprintf(i->unit, sizeof i->unit, "%s", word[2]);
	snprintf(i->layer, sizeof i->layer, "%s", layer);
	for (int k = 5; k < n; k++) {
		const int64_t count = value[k] ? strtoll(value[k], NULL, 10) : 0;
		const bool own = !strcmp(word[k], "issue") && !strcmp(i->unit, "issue");
		issue += !own && is_one_of(word[k], "issue queue_full ") ? count : 0;
		queue += is_one_of(word[k], "unit_busy queued ") ? count : 0;
		after += is_one_of(word[k], "results memory ") ? count : 0;
	}
	i->issued = i->begin + issue;
	i->taken = i->issued + queue;
	i->left = i->end - after;
	i->is_load = i->taken == i->left;
}

/* Finds when the programs of a batch begin: each of the nets here has one for a layer or a layer group. */
static void place_programs(struct read_trace *t, int first, const char *task, double start)
{
	char kind[16], device[32], layer[32];
	cr_assert_eq(sscanf(task, "task %15s %31s %31s", kind, device, layer), 3);
	for (int i = first; i < t->n_programs && !strcmp(kind, "layer"); i++)
		if (!strcmp(t->program[i].device, device) && !strcmp(t->program[i].layer, layer))
			t->program[i].begin = start;
}

static void read_trace(const char *path, struct read_trace *t)
{
	char *text = cli_read(path, NULL), *tail = text, layer[32] = "", machine[32] = "";
	double batch = 0, start = 0;
	int number = 0, first = 0, capacity = 0;
	int64_t begin = 0;
	*t = (struct read_trace){0};
	for (char *line; (line = strsep(&tail, "\n")) && *line;) {
		struct program *program = t->n_programs ? &t->program[t->n_programs - 1] : NULL;
		number++;
		if (sscanf(line, "machine %31s", machine) == 1)
			snprintf(t->device[t->n_devices++], 32, "%s", machine);
		else if (!strncmp(line, "parameter clock_hz ", 19))
			t->hz[t->n_devices - 1] = strtod(line + 19, NULL);
		else if (!strncmp(line, "program ", 8)) {
			cr_assert_lt(t->n_programs, MOST_PROGRAMS);
			program = &t->program[t->n_programs++];
			sscanf(line, "program %31s %31s", program->device, program->layer);
			for (int d = 0; d < t->n_devices; d++)
				program->hz = !strcmp(t->device[d], program->device) ? t->hz[d] : program->hz;
			program->begin = batch;
			program->first = t->n;
			begin = 0;
			*layer = '\0';
		} else if (!strncmp(line, "of ", 3)) {
			snprintf(layer, sizeof layer, "%s", line + 3);
		} else if (!strncmp(line, "i ", 2)) {
			if (t->n == capacity) {
				capacity = 2 * capacity + 1000;
				t->instruction = realloc(t->instruction, (size_t)capacity * sizeof *t->instruction);
				cr_assert(t->instruction);
			}
			read_instruction(line, number, layer, &begin, &t->instruction[t->n++]);
		} else if (!strncmp(line, "end ", 4)) {
			cr_assert(program, "line %d", number);
			program->end = t->n;
			program->cycles = strtoll(line + 4, NULL, 10);
			snprintf(program->last, sizeof program->last, "%s", line);
		} else if (!strncmp(line, "task ", 5)) {
			start += number_of(line, "start");
			place_programs(t, first, line, batch + start);
		} else if (!strncmp(line, "batch ", 6)) {
			batch += number_of(line, "seconds");
			start = 0;
			first = t->n_programs;
		}
	}
	free(text);
}

/* ---- Instructions. */

static int64_t ns_of(const struct program *program, int64_t cycle)
{
	return llrint((program->begin + (double)cycle / program->hz) * 1e9);
}

static const struct program *program_of(const struct read_trace *t, int i)
{
	int p = 0;
	while (i >= t->program[p].end)
		p++;
	return &t->program[p];
}

/* Each instruction is one slice, in the track of its unit and at the time of its unit. */
static void check_instructions(const struct read_trace *t, json_t *events)
{
	struct {
		const char *name;
		int64_t left;
	} unit[16];
	json_t *event;
	size_t e;
	int i = 0, n_units = 0;
	json_array_foreach (events, e, event) {
		if (!picture_is_instruction(event))
			continue;
		cr_assert_lt(i, t->n);
		const struct instruction *o = &t->instruction[i];
		const struct program *program = program_of(t, i);
		int u = 0;
		n_units = i == program->first ? 0 : n_units;
		while (u < n_units && strcmp(unit[u].name, o->unit) != 0)
			u++;
		if (u == n_units)
			unit[n_units].left = 0, unit[n_units++].name = o->unit;
		/* What a unit works on does not overlap in the machine. Loads follow each other. */
		cr_assert(o->is_load || o->taken >= unit[u].left, "line %d", o->line);
		const int64_t taken = o->taken > unit[u].left ? o->taken : unit[u].left,
			      end = o->is_load ? o->end : o->left;
		unit[u].left = end > taken ? end : taken;
		cr_assert(picture_ns(event, "ts") == ns_of(program, taken) &&
				  picture_ns(event, "ts") + picture_ns(event, "dur") == ns_of(program, unit[u].left),
			  "line %d", o->line);
		cr_assert_eq(cli_integer(cli_at(event, "args.line")), o->line);
		cr_assert_str_eq(cli_text(cli_at(event, "name")), o->name);
		cr_assert_str_eq(picture_thread(events, event), o->unit);
		cr_assert_str_eq(picture_process(events, event), program->device);
		cr_assert(!*o->layer || !strcmp(cli_text(cli_at(event, "args.layer")), o->layer));
		cr_assert(cli_integer(cli_at(event, "args.begin")) == o->begin &&
			  cli_integer(cli_at(event, "args.end")) == o->end);
		i++;
	}
	cr_assert_eq(i, t->n, "%d of %d instructions are slices", i, t->n);
}

/* Programs begin when the device begins the first of their layers. Layers last from the begin of their first
 * instruction to the end of their last. */
static void check_programs(const struct read_trace *t, json_t *events)
{
	json_t *event;
	size_t e;
	int p = 0;
	json_array_foreach (events, e, event) {
		const char *name = cli_text(cli_at(event, "name"));
		const bool is_slice = !strcmp(picture_phase(event), "X");
		const char *kind = is_slice ? cli_text(cli_at(event, "cat")) : "";
		const struct program *program = &t->program[p];
		if (!strcmp(kind, "program")) {
			cr_assert_str_eq(picture_process(events, event), program->device);
			cr_assert_eq(picture_ns(event, "ts"), ns_of(program, 0));
			cr_assert_eq(picture_ns(event, "ts") + picture_ns(event, "dur"),
				     ns_of(program, program->cycles));
			cr_assert_eq(cli_integer(cli_at(event, "args.cycles")), program->cycles);
			p++;
		}
		if (strcmp(kind, "instructions") != 0)
			continue;
		int64_t begin = INT64_MAX, end = 0;
		for (int i = program->first; i < program->end; i++) {
			const struct instruction *o = &t->instruction[i];
			begin = !strcmp(o->layer, name) && o->begin < begin ? o->begin : begin;
			end = !strcmp(o->layer, name) && o->end > end ? o->end : end;
		}
		cr_assert_eq(picture_ns(event, "ts"), ns_of(program, begin), "%s", name);
		cr_assert_eq(picture_ns(event, "ts") + picture_ns(event, "dur"), ns_of(program, end), "%s", name);
	}
	cr_assert_eq(p, t->n_programs);
}

/* ---- Counters. */

struct counter {
	const char *process, *name, *series;
	int n;
	int64_t ns[20000];
	double value[20000];
};

static int read_counters(json_t *events, struct counter *counter)
{
	json_t *event;
	size_t e;
	int n = 0;
	json_array_foreach (events, e, event) {
		if (strcmp(picture_phase(event), "C") != 0)
			continue;
		const char *process = picture_process(events, event), *name = cli_text(cli_at(event, "name")),
			   *series = json_object_iter_key(json_object_iter(cli_at(event, "args")));
		int i = 0;
		while (i < n && (strcmp(counter[i].process, process) != 0 || strcmp(counter[i].name, name) != 0))
			i++;
		cr_assert_lt(i, MOST_COUNTERS);
		struct counter *c = &counter[i];
		if (i == n) {
			n++;
			*c = (struct counter){.process = process, .name = name, .series = series};
		}
		cr_assert_lt(c->n, 20000);
		c->ns[c->n] = picture_ns(event, "ts");
		c->value[c->n] = cli_number(json_object_get(cli_at(event, "args"), series));
		cr_assert(!c->n || c->ns[c->n] >= c->ns[c->n - 1], "%s goes back in time", name);
		c->n++;
	}
	return n;
}

/* Returns the counter of a process; NULL: it is always 0. */
static const struct counter *counter_of(const struct counter *counter, int n, const char *process, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(counter[i].process, process) && !strcmp(counter[i].name, name))
			return &counter[i];
	return NULL;
}

static double value_at(const struct counter *c, int64_t ns)
{
	double value = 0;
	for (int i = 0; c && i < c->n && c->ns[i] <= ns; i++)
		value = c->value[i];
	return value;
}

/* The sum of a counter's value over the time of a program, in values times seconds. */
static double sum_of(const struct counter *c, const struct program *program)
{
	const int64_t begin = ns_of(program, 0), end = ns_of(program, program->cycles);
	double sum = 0;
	for (int i = 0; c && i < c->n; i++) {
		const int64_t until = i + 1 < c->n && c->ns[i + 1] < end ? c->ns[i + 1] : end;
		sum += c->ns[i] >= begin && until > c->ns[i] ? c->value[i] * (double)(until - c->ns[i]) * 1e-9 : 0;
	}
	return sum;
}

/* At the begin and the end of each wait the counter of a unit's queue has the number of instructions that wait. */
static void check_queues(const struct read_trace *t, const struct counter *counter, int n)
{
	int checks = 0;
	for (int i = 0; i < t->n; i++) {
		const struct program *program = program_of(t, i);
		const struct instruction *o = &t->instruction[i];
		char name[40];
		snprintf(name, sizeof name, "queue of %s", o->unit);
		const struct counter *c = counter_of(counter, n, program->device, name);
		for (int end = 0; end < 2; end++) {
			const int64_t cycle = end ? o->taken : o->issued;
			int waiting = 0;
			for (int k = program->first; k < program->end; k++)
				waiting += !strcmp(t->instruction[k].unit, o->unit) &&
					   t->instruction[k].issued <= cycle && t->instruction[k].taken > cycle;
			if (cycle < program->cycles)
				cr_assert_eq(value_at(c, ns_of(program, cycle)), waiting, "line %d: %s in cycle %lld",
					     o->line, name, (long long)cycle);
			checks += waiting > 0;
		}
	}
	cr_assert_gt(checks, 0);
}

static void expect_sum(const struct counter *c, const struct program *program, const char *what, double expected)
{
	const double sum = sum_of(c, program);
	cr_assert(cli_near(sum, expected, 0.01), "%s, %s: the picture has %g, the trace %g", program->layer, what, sum,
		  expected);
}

/* Over a program, the rates of bytes sum to its bytes, and the use of the array to its multiply-accumulates. */
static void check_sums(const struct read_trace *t, const struct counter *counter, int n)
{
	static const char *const bytes[] = {"weight_bytes", "host_bytes_in", "host_bytes_out",
					    "input_bytes",  "synapse_bytes", "output_bytes"};
	for (int p = 0; p < t->n_programs; p++) {
		const struct program *program = &t->program[p];
		const char *device = program->device;
		const double active = number_of(program->last, "cycles:array_active") +
				      number_of(program->last, "cycles:nfu_active"),
			     useful = number_of(program->last, "useful_macs"),
			     idle = number_of(program->last, "unused_macs") + number_of(program->last, "idle_lanes");
		for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++)
			expect_sum(counter_of(counter, n, device, bytes[b]), program, bytes[b],
				   number_of(program->last, bytes[b]));
		expect_sum(counter_of(counter, n, device, "array active"), program, "active", active / program->hz);
		if (useful > 0)
			expect_sum(counter_of(counter, n, device, "array use"), program, "use",
				   active * useful / (useful + idle) / program->hz);
	}
	for (int i = 0; i < n; i++)
		for (int k = 0; k < counter[i].n && strstr(counter[i].series, "share"); k++)
			cr_assert_leq(counter[i].value[k], 1, "%s", counter[i].name);
}

/* Each task is a slice of the host, of its device or of its link. */
static void check_work(const char *folder, json_t *events)
{
	char *text = cli_read(cli_path(folder, "a.trace"), NULL), *tail = text, kind[16], device[32];
	double start = 0, batch = 0;
	int number = 0;
	for (char *line; (line = strsep(&tail, "\n"));) {
		json_t *event;
		size_t e;
		int found = 0;
		number++;
		if (!strncmp(line, "batch ", 6)) {
			batch += number_of(line, "seconds");
			start = 0;
		}
		if (sscanf(line, "task %15s %31s", kind, device) != 2)
			continue;
		start += number_of(line, "start");
		json_array_foreach (events, e, event) {
			json_t *at = json_object_get(cli_at(event, "args"), "line");
			if (!at || json_integer_value(at) != number)
				continue;
			const double begin = (double)picture_ns(event, "ts"), ns = (double)picture_ns(event, "dur");
			cr_assert_str_eq(cli_text(cli_at(event, "cat")), kind);
			cr_assert_str_eq(picture_process(events, event), device);
			cr_assert_str_eq(picture_thread(events, event), strchr(kind, '_') ? "link" : "work");
			cr_assert(fabs(begin - (batch + start) * 1e9) <= 1.5 &&
					  fabs(ns - number_of(line, "seconds") * 1e9) <= 1.5,
				  "line %d", number);
			found++;
		}
		cr_assert_eq(found, 1, "line %d has %d slices", number, found);
	}
	free(text);
}

/* A program that uses both directions of the link. */
static const char product[] = ".machine systolic_16x16\nread_weights first=0 count=3\nread_host_memory ub=0 rows=200\n"
			      "sync host_in\nmatrix_multiply.switch ub=0 acc=0 rows=200\n"
			      "matrix_multiply.switch.accumulate ub=0 acc=0 rows=200\n"
			      "matrix_multiply.switch.accumulate ub=0 acc=0 rows=200\nset_config result_type i32\n"
			      "set_config result_plane_rows 200\nactivate ub=300 acc=0 rows=200\nsync activate\n"
			      "write_host_memory ub=300 rows=800\nwrite_host_memory ub=300 rows=80\nhalt\n";

Test(perfetto, a_picture_has_what_its_trace_has)
{
	static const char *const runs[][16] = {
		{"digits", "--device", "tpu_v1"},
		{"lenet5", "--place", "Conv*=tpu_v1,*=diannao", "--batch", "1"},
		{"layer", "gemm", "-m", "20", "-n", "40", "-k", "60", "--device", "systolic_16x16", "--set",
		 "systolic_16x16.weight_fifo.tiles=1"},
		{"layer", "conv", "--input", "1x20x9x9", "--kernel", "3x3", "--filters", "40", "--device", "diannao"},
		{"@/product.s", "--timing-only"}};
	static struct counter counter[MOST_COUNTERS];
	static struct read_trace t;
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "product.s", product);
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		json_t *event;
		size_t e;
		picture_record(folder, runs[i]);
		PICTURE_EXPECT(folder, 0, "trace", "export", "@/a.trace", "--perfetto", "@/a.json");
		json_t *root = picture_read(folder, "a.json"), *events = cli_at(root, "traceEvents");
		cr_assert_str_eq(cli_text(cli_at(root, "displayTimeUnit")), "ns");
		json_array_foreach (events, e, event)
			picture_check_form(events, event);
		read_trace(cli_path(folder, "a.trace"), &t);
		picture_check_no_overlap(events);
		check_instructions(&t, events);
		check_programs(&t, events);
		check_work(folder, events);
		const int n = read_counters(events, counter);
		check_queues(&t, counter, n);
		check_sums(&t, counter, n);
		free(t.instruction);
		json_decref(root);
	}
	cli_remove_folder(folder);
}
