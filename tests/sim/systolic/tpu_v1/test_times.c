/* SPDX-License-Identifier: MIT
 *
 * What instructions spend their cycles on (driver/times.h). What the program promises, on random programs: both engines give the same
 * table; an instruction's spendings sum to its cycles; those with a counter's name sum to the counter. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "sim/systolic/tpu_v1/driver/times.h"
#include "tests/kit/sim/tpu_v1/run.h"

static void happened(void *context, const struct sim_event *event)
{
	tpu_times_event(context, event);
}

static void spent(void *context, const struct sim_span *span)
{
	tpu_times_span(context, span);
}

static struct npl_instruction_time *times_of(const struct program_case *c, program_engine *run,
					     struct tpu_outcome *outcome)
{
	const struct tpu_memory none = {.host_bytes = c->host_bytes, .timing_only = true};
	struct npl_instruction_time *table;
	struct tpu_times *times;
	struct npl_err err = {0};
	cr_assert_eq(tpu_times_open(&times, &c->config, &c->program, &err), 0);
	const struct sim_observer observer = {.on_event = happened, .on_span = spent, .context = times};
	cr_assert_eq(run(&c->config, &c->program, &none, &observer, outcome, &err), 0, "%s", err.msg);
	cr_assert_eq(tpu_times_take(times, &table, &err), 0, "seed %llu: %s", (unsigned long long)c->seed, err.msg);
	tpu_times_close(times);
	return table;
}

static void expect_sums(const struct program_case *c, const struct npl_instruction_time *table,
			const struct tpu_outcome *outcome, uint64_t seen[TPU_TIMES])
{
	uint64_t sum[TPU_TIMES] = {0}, counter[TPU_COUNTERS];
	int found = 0;
	npl_stats_read(tpu_counter_table, TPU_COUNTERS, &outcome->counter, counter);
	for (int64_t i = 0; i < c->program.count; i++) {
		uint64_t all = 0;
		for (int s = 0; s < TPU_TIMES; s++) {
			sum[s] += table[i].cycles[s];
			all += table[i].cycles[s];
		}
		cr_assert_eq(all, table[i].end - table[i].begin, "seed %llu: %lld", (unsigned long long)c->seed,
			     (long long)i);
	}
	for (int s = 0; s < TPU_TIMES; s++) {
		seen[s] += sum[s];
		for (int k = 0; k < TPU_COUNTERS; k++)
			if (!strcmp(tpu_counter_table[k].name, tpu_spendings[s].name)) {
				cr_assert_eq(sum[s], counter[k], "seed %llu: %s is %llu and %llu",
					     (unsigned long long)c->seed, tpu_spendings[s].name,
					     (unsigned long long)sum[s], (unsigned long long)counter[k]);
				found++;
			}
	}
	cr_assert_eq(found, 8);
	cr_assert_eq(sum[TPU_TIME_ISSUE], outcome->counter.instructions);
	cr_assert_eq(table[c->program.count - 1].end, outcome->cycles);
}

Test(tpu_times, random_programs)
{
	uint64_t seen[TPU_TIMES] = {0};
	for (uint64_t seed = 91001; seed <= 91400; seed++) {
		struct program_case c;
		struct tpu_outcome outcome[2];
		struct npl_err err = {0};
		cr_assert_eq(program_case_make(&c, seed, &(struct program_wish){0}, &err), 0, "%s", err.msg);
		struct npl_instruction_time *rtl = times_of(&c, tpu_run_rtl, &outcome[0]),
					    *fast = times_of(&c, tpu_run_fast, &outcome[1]);
		expect_sums(&c, rtl, &outcome[0], seen);
		cr_assert(!memcmp(rtl, fast, (size_t)c.program.count * sizeof *rtl), "seed %llu: other times",
			  (unsigned long long)seed);
		free(rtl);
		free(fast);
		program_case_free(&c);
	}
	for (int s = 0; s < TPU_TIMES; s++)
		cr_expect_gt(seen[s], 100, "%s: %llu cycles", tpu_spendings[s].name, (unsigned long long)seen[s]);
}
