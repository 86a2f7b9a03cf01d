/* SPDX-License-Identifier: MIT
 *
 * What DianNao's instructions spend their cycles on (driver/times.h). What the program promises, on random programs: an instruction's
 * spendings sum to its cycles, and those of all instructions to the machine's counters, which are all cycles. That both engines
 * give the same is a part of their agreement (tests/kit/sim/diannao/agree.c). */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "sim/diannao/diannao/driver/times.h"
#include "tests/kit/sim/diannao/agree.h"

static void expect_sums(const struct dn_run *run, const struct npl_instruction_time *table, int64_t count,
			uint64_t sum[DN_TIMES], unsigned long long seed)
{
	for (int64_t i = 0; i < count; i++) {
		uint64_t all = 0;
		for (int s = 0; s < DN_TIMES; s++) {
			sum[s] += table[i].cycles[s];
			all += table[i].cycles[s];
		}
		cr_assert_eq(all, table[i].end - table[i].begin, "seed %llu: %lld", seed, (long long)i);
	}
	cr_assert(sum[DN_SPENT_ACTIVE] == run->counters.nfu_active && sum[DN_SPENT_FILL] == run->counters.nfu_fill &&
			  sum[DN_SPENT_WAIT_SB] == run->counters.wait_sb &&
			  sum[DN_SPENT_WAIT_NBIN] == run->counters.wait_nbin &&
			  sum[DN_SPENT_WAIT_NBOUT] == run->counters.wait_nbout,
		  "seed %llu", seed);
	cr_assert_eq(table[count - 1].end, run->cycles, "seed %llu", seed);
}

Test(dn_times, random_programs)
{
	uint64_t seen[DN_TIMES] = {0};
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct diannao_case c;
		struct diannao_stream stream;
		struct npl_memory *memory;
		struct dn_times times;
		struct npl_err err = {0};
		uint64_t sum[DN_TIMES] = {0};
		char why[300] = "";
		cr_assert(diannao_checked(&c, seed, &(struct diannao_wish){0}, &memory, why, sizeof why), "%s", why);
		cr_assert_eq(dn_times_open(&times, c.program.count, &err), 0);
		const struct sim_observer observer = {
			.context = &times, .on_event = dn_times_event, .on_span = dn_times_span};
		struct dn_run run = diannao_run(&c, memory);
		run.source = diannao_source(&stream, &c, false);
		run.observer = &observer;
		cr_assert_eq(dn_run_fast(&run, &err), 0, "%s", err.msg);
		struct npl_instruction_time *table = dn_times_take(&times, run.cycles);
		expect_sums(&run, table, c.program.count, sum, seed);
		for (int s = 0; s < DN_TIMES; s++)
			seen[s] += sum[s];
		free(table);
		dn_times_close(&times);
		npl_memory_close(memory);
		diannao_case_free(&c);
	}
	for (int s = 0; s < DN_TIMES; s++)
		cr_expect_gt(seen[s], 100, "%s: %llu cycles", dn_spendings[s].name, (unsigned long long)seen[s]);
}
