/* SPDX-License-Identifier: MIT
 *
 * The attribution of cycles to DianNao's instructions (driver/times.h). What the program promises, on random programs:
 * an instruction's classes sum to its cycles, and those of all instructions to the machine's counters, which are all
 * cycles; without the program as a whole the table is the same. That both engines give the same is a part of their
 * agreement (tests/kit/sim/diannao/agree.c). */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "sim/diannao/diannao/driver/times.h"
#include "sim/diannao/diannao/fast/run.h"
#include "tests/kit/sim/diannao/agree.h"
#include "tests/kit/sim/time_table.h"

static void expect_sums(const struct dn_outcome *outcome, const struct npl_instruction_time *table, int64_t count,
			uint64_t sum[DN_TIME_CLASSES], unsigned long long seed)
{
	for (int64_t i = 0; i < count; i++) {
		uint64_t all = 0;
		for (int s = 0; s < DN_TIME_CLASSES; s++) {
			sum[s] += table[i].cycles[s];
			all += table[i].cycles[s];
		}
		cr_assert_eq(all, table[i].end - table[i].begin, "seed %llu: %lld", seed, (long long)i);
	}
	cr_assert(sum[DN_TIME_NFU_ACTIVE] == outcome->counters.nfu_active &&
			  sum[DN_TIME_NFU_FILL] == outcome->counters.nfu_fill &&
			  sum[DN_TIME_WAIT_SB] == outcome->counters.wait_sb &&
			  sum[DN_TIME_WAIT_NBIN] == outcome->counters.wait_nbin &&
			  sum[DN_TIME_WAIT_NBOUT] == outcome->counters.wait_nbout,
		  "seed %llu", seed);
	cr_assert_eq(table[count - 1].end, outcome->cycles, "seed %llu", seed);
}

/* An engine's stream whose instructions are given to times that have no program. */
struct fetched_stream {
	struct dn_stream inner;
	void *times;
};

static void fetch(void *state, struct dn_instruction *instruction)
{
	const struct fetched_stream *stream = state;
	stream->inner.next(stream->inner.state, instruction);
	dn_times_fetched(stream->times, instruction);
}

/* Returns the table of an engine; streamed: its instructions are fetched, and not those of a program. The caller frees
 * it. */
static struct npl_instruction_time *times_of(const struct diannao_case *c, struct npl_memory *memory, dn_engine *engine,
					     bool streamed, struct dn_outcome *outcome)
{
	struct time_table table = time_table_for(c->program.count);
	const struct sim_time_sink sink = {time_table_add, &table};
	struct diannao_stream stream;
	struct fetched_stream fetched = {.inner = diannao_source(&stream, c, false)};
	struct npl_err err = {0};
	cr_assert_eq(dn_times.open(&fetched.times, &c->config, streamed ? NULL : &c->program, &sink, &err), 0);
	const struct sim_observer observer = {
		.context = fetched.times, .on_event = dn_times.on_event, .on_cycles = dn_times.on_cycles};
	struct dn_engine_input engine_input = diannao_engine_input(c, memory);
	engine_input.stream = streamed ? (struct dn_stream){.state = &fetched, .next = fetch} : fetched.inner;
	engine_input.observer = &observer;
	cr_assert_eq(engine(&engine_input, outcome, &err), 0, "%s", err.msg);
	cr_assert_eq(dn_times.finish(fetched.times, outcome->cycles, &err), 0, "%s", err.msg);
	cr_assert_eq(table.count, c->program.count);
	dn_times.close(fetched.times);
	return table.time;
}

Test(diannao_times, classes_sum_to_cycles_and_counters)
{
	uint64_t seen[DN_TIME_CLASSES] = {0};
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct diannao_case c;
		struct npl_memory *memory;
		struct dn_outcome outcome;
		uint64_t sum[DN_TIME_CLASSES] = {0};
		char reason[300] = "";
		cr_assert(diannao_checked(&c, seed, &(struct diannao_request){0}, &memory, reason, sizeof reason), "%s",
			  reason);
		struct npl_instruction_time *table = times_of(&c, memory, dn_run_fast, false, &outcome),
					    *streamed = times_of(&c, memory, dn_run_fast, true, &outcome);
		expect_sums(&outcome, table, c.program.count, sum, seed);
		cr_assert(!memcmp(table, streamed, (size_t)c.program.count * sizeof *table), "seed %llu",
			  (unsigned long long)seed);
		for (int s = 0; s < DN_TIME_CLASSES; s++)
			seen[s] += sum[s];
		free(table);
		free(streamed);
		npl_memory_close(memory);
		diannao_case_free(&c);
	}
	for (int s = 0; s < DN_TIME_CLASSES; s++)
		cr_expect_gt(seen[s], 100, "%s: %llu cycles", dn_time_classes[s].name, (unsigned long long)seen[s]);
}
