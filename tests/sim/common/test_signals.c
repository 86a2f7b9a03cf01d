/* SPDX-License-Identifier: MIT
 *
 * Signals of the engine rtl (npulab/signal_sink.h). What the program promises, for random layers on every machine that
 * has them: what signals say of a cycle sums to the counters of the program, and to the cycles of each instruction; who
 * looks changes no result; signals are told only when they change, within the window, and those that were chosen;
 * without values they have the same times; a sink that fails ends the run. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "core/device_access.h"
#include "npulab/driver.h"
#include "sim/common/signals.h"
#include "tests/kit/device_cases.h"

enum { SEEDS = 4, SIGNALS = 256, INSTRUCTIONS = 1 << 14 };

/* ---- The choice. */

static const struct sim_signal_index extents[] = {{"row", 12}, {"column", 3}, {0}};
static const struct npl_signal_def rows[] = {
	{.name = "cycle", .width = 64},
	{.name = "matrix.busy", .width = 1, .by_default = true},
	{.name = "matrix.queue", .width = 8, .by_default = true},
	{.name = "array.sum[column]", .width = 32},
	{.name = "cell[row][column].sum", .width = 32},
};
enum { ROWS = sizeof rows / sizeof *rows };

static int keep_names(void *context, const struct npl_signal *signal, int n, int64_t clock_hz, struct npl_err *err)
{
	char *names = context;
	(void)err;
	cr_assert_eq(clock_hz, 700);
	for (int i = 0; i < n; i++)
		npl_append(names, 2000, " ", "%s", signal[i].name);
	return 0;
}

static int choose(const char *choice, char names[2000], struct npl_err *err)
{
	struct npl_signal_def def[ROWS];
	struct sim_signals *signals;
	const struct npl_signal_sink sink = {.choice = choice, .on_signals = keep_names, .context = names};
	memcpy(def, rows, sizeof rows);
	sim_signals_index(def, ROWS, extents);
	*names = '\0';
	const int rc = sim_signals_open(&sink, def, ROWS, 700, &signals, err);
	sim_signals_close(signals);
	return rc;
}

Test(signals, patterns_choose_by_name)
{
	static const struct {
		const char *choice, *names;
	} cases[] = {
		{NULL, "matrix.busy matrix.queue"},
		{"default", "matrix.busy matrix.queue"},
		{"cycle", "cycle"},
		{"matrix.queue,cycle", "cycle matrix.queue"}, /* in the order of the table, each once */
		{"*.busy,default,cycle", "cycle matrix.busy matrix.queue"},
		{"array.*", "array.sum[0] array.sum[1] array.sum[2]"},
		{"array.sum[?]", "array.sum[0] array.sum[1] array.sum[2]"},
		{"cell[3][1].sum", "cell[3][1].sum"},
		{"cell[1?][2].*,cell[0][0].sum", "cell[0][0].sum cell[10][2].sum cell[11][2].sum"},
		{"*[11][*", "cell[11][0].sum cell[11][1].sum cell[11][2].sum"},
		{"c*y*c*e", "cycle"},
	};
	char names[2000];
	struct npl_err err = {0};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cr_assert_eq(choose(cases[i].choice, names, &err), 0, "%s", err.msg);
		cr_expect_str_eq(names, cases[i].names, "%s: %s", cases[i].choice, names);
	}
	static const char *const bad[] = {
		"", "matrix", "cell[12][0].sum", "cell[0][3].sum", "default,matrix.bus", "array.sum[0],", "?"};
	for (size_t i = 1; i < sizeof bad / sizeof *bad; i++) {
		const int rc = choose(bad[i], names, &err);
		cr_expect(rc == NPL_EUSAGE || (rc == 0 && bad[i][strlen(bad[i]) - 1] == ','), "%s", bad[i]);
	}
	cr_assert_eq(choose("matrix.bus", names, &err), NPL_EUSAGE);
	cr_expect(strstr(err.msg, "'matrix.bus'; the nearest is 'matrix.busy'"), "%s", err.msg);
}

/* ---- Machines. */

/* A signal whose sum over all cycles is a counter. */
static const struct sum {
	const char *driver, *signal, *counter;
} sums[] = {{"systolic", "matrix.busy", "array_active"},
	    {"systolic", "array.row_valid", "array_active"},
	    {"systolic", "matrix.weight_stall", "weight_stall"},
	    {"systolic", "matrix.weight_shift", "weight_shift"},
	    {"systolic", "array.switch_weights", "tiles"},
	    {"systolic", "activate.works", "activate_cycles"},
	    {"systolic", "buffer.rows_read", "ub_rows_read"},
	    {"systolic", "buffer.rows_written", "ub_rows_written"},
	    {"systolic", "weights.bytes", "weight_bytes"},
	    {"systolic", "host_in.bytes", "host_bytes_in"},
	    {"systolic", "host_out.bytes", "host_bytes_out"},
	    {"systolic", "issue.issues", "instructions"},
	    {"diannao", "nfu.busy", "nfu_active"},
	    {"diannao", "nfu.fill", "nfu_fill"},
	    {"diannao", "nfu.wait_sb", "wait_sb"},
	    {"diannao", "nfu.wait_nbin", "wait_nbin"},
	    {"diannao", "nfu.wait_nbout", "wait_nbout"},
	    {"diannao", "nbin.rows_read", "nbin_rows"},
	    {"diannao", "sb.rows_read", "sb_rows"},
	    {"diannao", "nbout.rows", "nbout_rows"},
	    {"diannao", "nbin.bytes", "input_bytes"},
	    {"diannao", "sb.bytes", "synapse_bytes"},
	    {"diannao", "nbout.bytes", "output_bytes"}};

/* A signal that is the index of an instruction while it works, and the class of its cycles. */
static const struct work {
	const char *driver, *instruction, *busy, *cycle_class;
} works[] = {{"systolic", "matrix.instruction", "matrix.busy", "array_active"},
	     {"systolic", "activate.instruction", "activate.works", "activate_cycles"},
	     {"diannao", "nfu.instruction", "nfu.busy", "nfu_active"}};
enum { SUMS = sizeof sums / sizeof *sums, WORKS = sizeof works / sizeof *works };

/* What one run told. */
struct seen {
	const char *driver;
	struct npl_executed_program program;
	char name[SIGNALS][NPL_SIGNAL_NAME];
	bool is_told[SIGNALS], is_known[SIGNALS];
	int64_t value[SIGNALS];
	int n;
	uint64_t cycle; /* that was told last */
	bool any_cycle;
	uint64_t sum[SIGNALS];                  /* of the values, over the cycles up to this one */
	uint64_t worked[WORKS][INSTRUCTIONS];   /* the cycles that signals give to each instruction */
	uint64_t expected[WORKS][INSTRUCTIONS]; /* and its time */
	FILE *text; /* a line for each change, without values that only a run with values has */
	char *data;
	size_t bytes;
	int fail_after; /* cycles until the sink fails; 0: never */
	int ends;
	const struct npl_signal_sink *sink; /* for the window */
};

static int signal_named(const struct seen *seen, const char *name)
{
	for (int i = 0; i < seen->n; i++)
		if (!strcmp(seen->name[i], name))
			return i;
	cr_assert_fail("%s has no signal %s", seen->driver, name);
	return -1;
}

static int on_signals(void *context, const struct npl_signal *signal, int n, int64_t clock_hz, struct npl_err *err)
{
	struct seen *seen = context;
	(void)err;
	cr_assert(n > 0 && n <= SIGNALS && clock_hz > 0);
	seen->n = n;
	for (int i = 0; i < n; i++) {
		memcpy(seen->name[i], signal[i].name, sizeof seen->name[i]);
		cr_assert(signal[i].def.width >= 1 && signal[i].def.width <= 64 && *signal[i].def.meaning);
	}
	return 0;
}

/* Counts the cycles from the one that was told last up to `until`. */
static void pass(struct seen *seen, uint64_t until)
{
	const uint64_t cycles = until - seen->cycle;
	for (int i = 0; i < seen->n && seen->any_cycle; i++)
		seen->sum[i] += seen->is_known[i] ? (uint64_t)seen->value[i] * cycles : 0;
	for (int w = 0; w < WORKS && seen->any_cycle; w++) {
		if (strcmp(works[w].driver, seen->driver) != 0)
			continue;
		const int instruction = signal_named(seen, works[w].instruction),
			  busy = signal_named(seen, works[w].busy);
		if (!seen->value[busy])
			continue;
		cr_assert(seen->is_known[instruction] && seen->value[instruction] < INSTRUCTIONS);
		seen->worked[w][seen->value[instruction]] += cycles;
	}
	seen->cycle = until;
}

static int on_cycle(void *context, uint64_t cycle, const struct npl_signal_change *change, int n, struct npl_err *err)
{
	struct seen *seen = context;
	if (seen->fail_after && !--seen->fail_after)
		return npl_fail(err, NPL_EINPUT, "the sink is full");
	cr_assert(n > 0 && (!seen->any_cycle || cycle > seen->cycle));
	cr_assert(seen->any_cycle || n == seen->n);
	cr_assert(cycle >= seen->sink->from && (!seen->sink->until || cycle < seen->sink->until));
	pass(seen, cycle);
	seen->any_cycle = true;
	fprintf(seen->text, "%llu:", (unsigned long long)cycle);
	for (int i = 0; i < n; i++) {
		const int s = change[i].signal;
		cr_assert(!seen->is_told[s] || seen->is_known[s] != change[i].is_known ||
			  seen->value[s] != change[i].value);
		seen->is_told[s] = true;
		seen->is_known[s] = change[i].is_known;
		seen->value[s] = change[i].value;
		fprintf(seen->text, " %s=%lld", seen->name[s], change[i].is_known ? (long long)change[i].value : -1);
	}
	fprintf(seen->text, "\n");
	return 0;
}

static int on_program(void *context, const struct npl_executed_program *program, struct npl_err *err)
{
	(void)err;
	((struct seen *)context)->program = *program;
	return 0;
}

static int on_instruction(void *context, const struct npl_executed_instruction *i, struct npl_err *err)
{
	struct seen *seen = context;
	(void)err;
	cr_assert_lt(i->index, INSTRUCTIONS);
	for (int w = 0; w < WORKS; w++)
		for (int k = 0; k < seen->program.n_cycle_classes; k++)
			if (!strcmp(seen->program.cycle_class[k].name, works[w].cycle_class))
				seen->expected[w][i->index] = i->time->cycles[k];
	return 0;
}

static void expect_sums(const struct seen *seen, const uint64_t *counter)
{
	for (int s = 0; s < SUMS; s++)
		for (size_t k = 0; k < seen->program.n_counters && !strcmp(sums[s].driver, seen->driver); k++)
			if (!strcmp(seen->program.counter_def[k].name, sums[s].counter))
				cr_assert_eq(seen->sum[signal_named(seen, sums[s].signal)], counter[k],
					     "%s sums to %llu, %s is %llu", sums[s].signal,
					     (unsigned long long)seen->sum[signal_named(seen, sums[s].signal)],
					     sums[s].counter, (unsigned long long)counter[k]);
	for (int w = 0; w < WORKS; w++)
		for (int i = 0; i < INSTRUCTIONS; i++)
			cr_assert_eq(seen->worked[w][i], seen->expected[w][i], "%s %d: %llu cycles, it took %llu",
				     works[w].instruction, i, (unsigned long long)seen->worked[w][i],
				     (unsigned long long)seen->expected[w][i]);
}

static int on_end(void *context, const struct npl_executed_end *end, struct npl_err *err)
{
	struct seen *seen = context;
	(void)err;
	if (!end) /* the sink itself ended the run */
		return 0;
	seen->ends++;
	if (seen->sink->from || seen->sink->until)
		return 0;
	/* DianNao's last signals are those of the boundary that ends the program. */
	pass(seen, end->cycles + !strcmp(seen->driver, "diannao"));
	expect_sums(seen, end->counter);
	return 0;
}

/* Runs the layer with a sink. The caller frees seen->data. */
static int look(struct npl_device *device, struct npl_layer *layer, struct npl_signal_sink *signals, struct seen *seen,
		struct npl_err *err)
{
	struct npl_result result = {0};
	const int fail_after = seen->fail_after;
	*seen = (struct seen){.driver = npl_device_driver(device)->name, .sink = signals, .fail_after = fail_after};
	signals->on_signals = on_signals;
	signals->on_cycle = on_cycle;
	signals->context = seen;
	const struct npl_instruction_sink sink = {.on_program = on_program,
						  .on_instruction = on_instruction,
						  .on_end = on_end,
						  .context = seen,
						  .signals = signals};
	seen->text = open_memstream(&seen->data, &seen->bytes);
	cr_assert(seen->text);
	cr_assert_eq(npl_device_tell_instructions(device, &sink, err), 0, "%s", err->msg);
	const int rc = npl_device_run(device, layer, &result, err);
	cr_assert_eq(npl_device_tell_instructions(device, NULL, &(struct npl_err){0}), 0);
	fclose(seen->text);
	return rc;
}

static const char *const chosen = "cycle,default,weights.bytes";

static void try_layer(struct npl_device *device, const char *name, struct device_case *c, uint64_t seed)
{
	static struct seen seen[3];
	struct npl_signal_sink signals = {.choice = strcmp(npl_device_driver(device)->name, "systolic") ? NULL
													: chosen};
	struct npl_result result = {0};
	struct npl_err err = {0};
	c->layer.timing_only = false;
	cr_assert_eq(npl_device_run(device, &c->layer, &result, &err), 0, "%s", err.msg);
	void *values = malloc(npl_tensor_bytes(&c->y) + 1);
	cr_assert(values);
	memcpy(values, c->y.data, npl_tensor_bytes(&c->y));
	memset(c->y.data, 0x5a, npl_tensor_bytes(&c->y));
	cr_assert_eq(look(device, &c->layer, &signals, &seen[0], &err), 0, "%s", err.msg);
	cr_assert_eq(seen[0].ends, 1);
	cr_assert(!memcmp(values, c->y.data, npl_tensor_bytes(&c->y)), "%s, seed %llu", name, (unsigned long long)seed);
	free(values);
	/* Without values everything that is chosen by default is the same. */
	c->layer.timing_only = true;
	cr_assert_eq(look(device, &c->layer, &signals, &seen[1], &err), 0, "%s", err.msg);
	c->layer.timing_only = false;
	cr_assert_str_eq(seen[0].data, seen[1].data, "%s, seed %llu", name, (unsigned long long)seed);
	/* A window of cycles; one behind the end. */
	signals.from = seen[0].cycle / 3;
	signals.until = seen[0].cycle / 2 + 1;
	cr_assert_eq(look(device, &c->layer, &signals, &seen[2], &err), 0, "%s", err.msg);
	cr_assert(seen[2].any_cycle);
	free(seen[2].data);
	signals = (struct npl_signal_sink){.from = seen[0].cycle + 1000};
	cr_assert_eq(look(device, &c->layer, &signals, &seen[2], &err), 0, "%s", err.msg);
	cr_assert_not(seen[2].any_cycle);
	free(seen[2].data);
	signals.from = 0;
	seen[2].fail_after = 1 + (int)(seed % 3);
	cr_assert(look(device, &c->layer, &signals, &seen[2], &err) == NPL_EINPUT &&
			  strstr(err.msg, "the sink is full"),
		  "%s", err.msg);
	seen[2].fail_after = 0;
	for (int i = 0; i < 3; i++)
		free(seen[i].data);
}

static int try_device(const char *name)
{
	static struct device_case c;
	struct npl_device *device;
	struct npl_err err = {0};
	const struct npl_device_options options = {.engine = "rtl"};
	int taken = 0;
	cr_assert_eq(npl_device_open(name, &options, &device, &err), 0, "%s", err.msg);
	for (int numbers = DEVICE_INTEGERS; numbers < DEVICE_NUMBERS; numbers++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			device_case_make(&c, (enum device_numbers)numbers, seed);
			if (npl_device_supports(device, &c.layer, NULL, 0)) {
				try_layer(device, name, &c, seed);
				taken++;
			}
			device_case_free(&c);
		}
	npl_device_close(device);
	return taken;
}

Test(signals, sums_are_the_counters_and_the_cycles_of_instructions)
{
	struct npl_arena arena = {0};
	struct npl_err err = {0};
	const char *const *name;
	struct npl_signal_def def[NPL_MAX_SIGNAL_ROWS];
	int n, machines = 0;
	cr_assert_eq(npl_device_list(&arena, &name, &n, &err), 0, "%s", err.msg);
	for (int i = 0; i < n; i++) {
		struct npl_device *device;
		if (npl_device_open(name[i], NULL, &device, &err))
			continue;
		const int listed = npl_device_signals(device, def);
		cr_expect_eq(listed > 0, npl_device_driver(device)->isa != NULL, "%s", name[i]);
		npl_device_close(device);
		if (!listed)
			continue;
		cr_assert_gt(try_device(name[i]), 1, "%s", name[i]);
		machines++;
	}
	cr_assert_gt(machines, 2);
	npl_arena_free(&arena);
}

Test(signals, only_the_engine_rtl_has_them)
{
	static const struct {
		const char *device, *engine, *message;
	} bad[] = {{"tpu_v1", NULL, "tpu_v1 runs the engine fast, and only rtl has signals"},
		   {"diannao", "fast", "diannao runs the engine fast, and only rtl has signals"}};
	struct npl_signal_sink signals = {.choice = "default"};
	const struct npl_instruction_sink sink = {.signals = &signals};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct npl_device *device;
		struct npl_err err = {0};
		const struct npl_device_options options = {.engine = bad[i].engine};
		cr_assert_eq(npl_device_open(bad[i].device, &options, &device, &err), 0, "%s", err.msg);
		signals.machine = NULL;
		cr_expect_eq(npl_device_tell_instructions(device, &sink, &err), NPL_EUSAGE);
		cr_expect(strstr(err.msg, bad[i].message), "%s", err.msg);
		signals.machine = "another"; /* then they are not for this device */
		cr_expect_eq(npl_device_tell_instructions(device, &sink, &err), 0, "%s", err.msg);
		npl_device_close(device);
	}
}
