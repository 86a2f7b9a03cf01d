/* SPDX-License-Identifier: MIT
 *
 * DRAM at command level (sim/memory/dram.h). The engine that skips cycles and the one that looks at each of them
 * give the same answers to the same requests: every completion and its cycle, every refusal, all counters. Addresses
 * go where the mapping says, each to its own place. Events cost what Micron's TN-41-01 says. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/sim/dram/agree.h"
#include "tests/kit/sim/dram/case.h"
#include "tests/kit/support.h"

#define SEED 0x5eedull

Test(dram, both_engines_agree)
{
	struct npl_memory_counters sum = {0};
	for (uint64_t seed = SEED; seed < SEED + TEST_TIMES(3000); seed++) {
		char reason[512] = "";
		cr_assert(dram_agrees(seed, &sum, reason, sizeof reason), "seed %llu: %s", (unsigned long long)seed,
			  reason);
	}
#define EXPECT_MOVED(name) cr_expect_gt(sum.name, 0, #name " is always 0");
	NPL_MEMORY_COUNTERS(EXPECT_MOVED)
}

/* Against digits taken one by one, and no two accesses in one place. */
Test(dram, mappings_put_each_access_in_a_place_of_its_own)
{
	uint64_t rng = SEED;
	for (int n = 0; n < 500; n++) {
		struct dram_config c;
		struct dram_mapping mapping;
		char text[DRAM_CASE_MAPPING];
		struct npl_err err;
		dram_case_random(&c, text, &rng);
		cr_assert_eq(dram_mapping_of(&c, &mapping, &err), 0, "%s", err.msg);
		const uint64_t bytes = dram_access_bytes(&c), accesses = dram_capacity_bytes(&c) / bytes;
		bool *seen = calloc(accesses, 1);
		for (uint64_t a = 0; a < accesses; a++) {
			const uint64_t address = a * bytes + (uint64_t)test_range(&rng, 0, (int64_t)bytes - 1);
			const struct dram_case_place expected = dram_case_locate(&c, address);
			const struct dram_address actual = dram_locate(&mapping, address);
			const uint64_t bank = (expected.rank * (uint64_t)c.bank_groups + expected.group) *
						      (uint64_t)c.banks +
					      expected.bank;
			cr_assert(actual.channel == expected.channel && actual.rank == expected.rank &&
					  actual.group == expected.group && actual.bank == bank &&
					  actual.row == expected.row && actual.column == expected.column,
				  "%s: access %llu", text, (unsigned long long)a);
			uint64_t place = expected.channel;
			place = place * (uint64_t)(c.ranks * c.bank_groups * c.banks) + bank;
			place = place * (uint64_t)c.rows + expected.row;
			place = place * (uint64_t)(c.columns / c.burst_length) + expected.column;
			cr_assert(place < accesses && !seen[place], "%s: access %llu", text, (unsigned long long)a);
			seen[place] = true;
		}
		free(seen);
	}
}

/* The currents of DDR3-2133: per event and rank of eight devices, IDD * VDD * clocks * 0.9375 ns. */
Test(dram, energy_is_that_of_the_currents)
{
	struct npl_memory *memory;
	struct npl_err err;
	struct npl_memory_energy energy[NPL_MEMORY_ENERGIES];
	cr_assert_eq(npl_memory_open("ddr3-2133", NULL, &memory, &err), 0, "%s", err.msg);
	const struct npl_memory_counters n = {.activates = 2,
					      .read_commands = 3,
					      .write_commands = 5,
					      .refreshes = 7,
					      .active_rank_cycles = 11,
					      .idle_rank_cycles = 13};
	static const struct {
		const char *part;
		uint64_t events;
		double milliamperes_clocks;
	} expected[] = {
		{"activate", 2, 31 * 49 - 23 * 36 - 22 * 13},
		{"read", 3, (110 - 23) * 4},
		{"write", 5, (110 - 23) * 4},
		{"refresh", 7, (160 - 23) * 278},
		{"active standby", 11, 23},
		{"idle standby", 13, 22},
	};
	cr_assert_eq(npl_memory_energy_of(memory, &n, energy), NPL_MEMORY_ENERGIES);
	for (int i = 0; i < NPL_MEMORY_ENERGIES; i++) {
		const double pj = expected[i].milliamperes_clocks * 1.5 * 0.9375 * 8;
		cr_expect_str_eq(energy[i].name, expected[i].part);
		cr_expect_eq(energy[i].events, expected[i].events, "%s", expected[i].part);
		cr_expect_float_eq(energy[i].pj, pj, 1e-9 * pj, "%s: %g pJ, expected %g", expected[i].part,
				   energy[i].pj, pj);
		cr_expect_str_eq(energy[i].origin, "modelled:micron-ddr3-idd");
	}
	npl_memory_close(memory);
}

/* A gap of 2^40 cycles between two requests: every rank is refreshed as often as its interval fits in it, and that is
 * counted and not gone through. */
Test(dram, a_long_rest_is_counted_and_not_gone_through)
{
	static const char *const presets[] = {"hbm2", "ddr3-2133", "ddr4-2400", "gddr6"};
	for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
		struct npl_memory *memory;
		struct npl_err err;
		cr_assert_eq(npl_memory_open(presets[i], NULL, &memory, &err), 0, "%s", err.msg);
		struct npl_memory_counters before, after;
		const uint64_t step = UINT64_C(1) << 14, gap = UINT64_C(1) << 40;
		npl_memory_advance(memory, step, 0);
		npl_memory_advance(memory, 64 * step, 0);
		npl_memory_counters(memory, &before);
		npl_memory_advance(memory, 64 * step + gap, 0);
		npl_memory_counters(memory, &after);
		cr_expect_eq(npl_memory_now(memory), 64 * step + gap);
		const double rate = (double)before.refreshes / (double)(64 * step);
		const double counted = (double)(after.refreshes - before.refreshes) / (double)gap;
		cr_expect_float_eq(counted, rate, 0.02 * rate, "%s: %g refreshes a cycle, expected %g", presets[i],
				   counted, rate);
		npl_memory_close(memory);
	}
}
