/* SPDX-License-Identifier: MIT
 *
 * The attribution of cycles to instructions (driver/times.h). What the program promises, on random programs: both
 * engines give the same table; an instruction's cycles begin when issue looks at it, as the document's rule of issue
 * has it; their classes sum to them; those with a counter's name sum to the counter. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "sim/systolic/tpu_v1/driver/times.h"
#include "tests/kit/sim/time_table.h"
#include "tests/kit/sim/tpu_v1/run.h"

/* What is told of a run: to the times, and the cycle in which each instruction issues. */
struct listener {
	void *times;
	uint64_t *issue_cycle;
};

static void listen_event(void *context, const struct sim_event *event)
{
	const struct listener *listener = context;
	if (event->kind == TPU_ISSUED)
		listener->issue_cycle[event->index] = event->cycle;
	tpu_times.on_event(listener->times, event);
}

static void listen_cycles(void *context, const struct sim_cycles *interval)
{
	tpu_times.on_cycles(((const struct listener *)context)->times, interval);
}

/* The begin of each instruction against the independent statement of the rule. */
static void expect_begins(const struct program_case *c, const struct npl_instruction_time *table,
			  const uint64_t *issue_cycle)
{
	for (int64_t i = 0; i < c->program.count; i++) {
		const uint64_t look = i ? program_next_look(&c->config, &tpu_code(&c->program)[i - 1],
							    issue_cycle[i - 1])
					: 0;
		cr_assert_eq(table[i].begin, look, "seed %llu: instruction %lld begins in cycle %llu, expected %llu",
			     (unsigned long long)c->seed, (long long)i, (unsigned long long)table[i].begin,
			     (unsigned long long)look);
	}
}

static struct npl_instruction_time *times_of(const struct program_case *c, tpu_engine *run, struct tpu_outcome *outcome)
{
	const struct tpu_memory none = {.host_bytes = c->host_bytes, .timing_only = true};
	struct time_table table = time_table_for(c->program.count);
	const struct sim_time_sink sink = {time_table_add, &table};
	struct listener listener = {.issue_cycle = calloc((size_t)c->program.count, sizeof *listener.issue_cycle)};
	struct npl_err err = {0};
	cr_assert(listener.issue_cycle);
	cr_assert_eq(tpu_times.open(&listener.times, &c->config, &c->program, &sink, &err), 0);
	const struct sim_observer observer = {
		.on_event = listen_event, .on_cycles = listen_cycles, .context = &listener};
	cr_assert_eq(run(&(struct tpu_engine_input){.config = &c->config,
						    .program = &c->program,
						    .memory = none,
						    .observer = &observer},
			 outcome, &err),
		     0, "%s", err.msg);
	cr_assert_eq(tpu_times.finish(listener.times, outcome->cycles, &err), 0, "seed %llu: %s",
		     (unsigned long long)c->seed, err.msg);
	cr_assert_eq(table.count, c->program.count);
	expect_begins(c, table.time, listener.issue_cycle);
	free(listener.issue_cycle);
	tpu_times.close(listener.times);
	return table.time;
}

static void expect_sums(const struct program_case *c, const struct npl_instruction_time *table,
			const struct tpu_outcome *outcome, uint64_t seen[TPU_TIME_CLASSES])
{
	uint64_t sum[TPU_TIME_CLASSES] = {0}, counter[TPU_COUNTERS];
	int n_found = 0;
	npl_counters_read(tpu_counter_defs, TPU_COUNTERS, &outcome->counters, counter);
	for (int64_t i = 0; i < c->program.count; i++) {
		uint64_t all = 0;
		for (int s = 0; s < TPU_TIME_CLASSES; s++) {
			sum[s] += table[i].cycles[s];
			all += table[i].cycles[s];
		}
		cr_assert_eq(all, table[i].end - table[i].begin, "seed %llu: %lld", (unsigned long long)c->seed,
			     (long long)i);
	}
	for (int s = 0; s < TPU_TIME_CLASSES; s++) {
		seen[s] += sum[s];
		for (int k = 0; k < TPU_COUNTERS; k++)
			if (!strcmp(tpu_counter_defs[k].name, tpu_time_classes[s].name)) {
				cr_assert_eq(sum[s], counter[k], "seed %llu: %s is %llu and %llu",
					     (unsigned long long)c->seed, tpu_time_classes[s].name,
					     (unsigned long long)sum[s], (unsigned long long)counter[k]);
				n_found++;
			}
	}
	cr_assert_eq(n_found, 8);
	cr_assert_eq(sum[TPU_TIME_ISSUE], outcome->counters.instructions);
	cr_assert_eq(table[c->program.count - 1].end, outcome->cycles);
}

Test(tpu_times, times_of_both_engines_agree)
{
	uint64_t seen[TPU_TIME_CLASSES] = {0};
	for (uint64_t seed = 91001; seed <= 91400; seed++) {
		struct program_case c;
		struct tpu_outcome outcome[2];
		struct npl_err err = {0};
		cr_assert_eq(program_case_make(&c, seed, &(struct program_request){0}, &err), 0, "%s", err.msg);
		struct npl_instruction_time *rtl = times_of(&c, tpu_run_rtl, &outcome[0]),
					    *fast = times_of(&c, tpu_run_fast, &outcome[1]);
		expect_sums(&c, rtl, &outcome[0], seen);
		cr_assert(!memcmp(rtl, fast, (size_t)c.program.count * sizeof *rtl), "seed %llu: other times",
			  (unsigned long long)seed);
		free(rtl);
		free(fast);
		program_case_free(&c);
	}
	for (int s = 0; s < TPU_TIME_CLASSES; s++)
		cr_expect_gt(seen[s], 100, "%s: %llu cycles", tpu_time_classes[s].name, (unsigned long long)seen[s]);
}
