/* SPDX-License-Identifier: MIT
 *
 * Promise: behind memory the NFU takes its ideal steps plus what it waits, never less than its bytes take, and ideal
 * memory never makes it wait where results have room; cycles are the same with and without values; what a preset has of
 * channels and energy is used. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/kit/sim/diannao/fixture.h"

static uint64_t waits(const struct npl_result *r)
{
	return dn_counter(r, "wait_sb") + dn_counter(r, "wait_nbin") + dn_counter(r, "wait_nbout");
}

/* Returns the cycles of 980 MHz that bytes take at 250 GB/s. */
static double least_cycles(const struct npl_result *r)
{
	return (double)r->bytes[NPL_MEM_DRAM] * 980e6 / 250e9;
}

Test(diannao_memory, another_memory_changes_no_result)
{
	int waited = 0;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		struct dn_config config = dn_random_machine(&rng);
		struct npl_result ideal, result, repeated;
		struct dn_case c;
		char reason[200];
		struct dn_layer layer;
		config.sum_bits = 32;
		config.nbout_rows = 64;
		config.nbout_sum_rows = 32;
		dn_random_case(&c, &rng);
		if (!dn_layer_of(&config, &c.layer, &layer, reason, sizeof reason))
			continue;
		dn_case_run(&config, &c, &result);
		struct dn_config without = config;
		without.memory_preset = "ideal";
		without.dma_request_cycles = 0;
		without.dma_queue = 4096;
		dn_case_run(&without, &c, &ideal);
		cr_assert_eq(waits(&ideal), 0, "seed %llu", (unsigned long long)seed);
		cr_assert_eq(ideal.cycles, dn_counter(&result, "nfu_active") + dn_counter(&ideal, "nfu_fill"),
			     "seed %llu", (unsigned long long)seed);
		cr_assert_geq(result.cycles, ideal.cycles, "seed %llu", (unsigned long long)seed);
		cr_assert_geq((double)result.cycles, least_cycles(&result), "seed %llu", (unsigned long long)seed);
		waited += result.cycles > ideal.cycles + ideal.cycles / 10;
		dn_case_data(&c, &rng, 8, 8);
		dn_case_run(&config, &c, &repeated);
		cr_assert_eq(repeated.cycles, result.cycles, "seed %llu: values do not change the time",
			     (unsigned long long)seed);
		for (size_t i = 0; i < DN_COUNTERS; i++)
			if (dn_counter_defs[i].partition != NPL_COUNTER_OF_VALUES)
				cr_assert_eq(repeated.counter[i], result.counter[i], "seed %llu, %s",
					     (unsigned long long)seed, dn_counter_defs[i].name);
		dn_case_free(&c);
	}
	cr_assert_gt(waited, 50, "most of these small layers wait");
}

/* 250 GB/s at 980 MHz are 255.102 bytes a cycle: an SB row of 512 bytes takes 3 cycles; a request keeps the port for 13
 * at least. Each of these by hand. */
Test(diannao_memory, cycles_are_as_worked_by_hand)
{
	struct dn_config config = dn_default();
	struct npl_result r;
	struct dn_case c;
	/* One step. NBin's request begins at 0 and SB's at 13, its row is there at 16. The step is in cycle 16, its
	 * result in NBout at 25; the port is kept to 26, and memory has it at 27. */
	dn_case_gemm(&c, 1, 16, 16);
	dn_case_run(&config, &c, &r);
	cr_expect_eq(r.cycles, 27);
	cr_expect_eq(dn_counter(&r, "wait_sb"), 16);
	cr_expect_eq(dn_counter(&r, "wait_nbin"), 0);
	cr_expect_eq(dn_counter(&r, "nfu_fill"), 8);
	cr_expect_eq(dn_counter(&r, "wait_nbout"), 2);
	/* A maximum of one row alone, without synapses: the step is in cycle 1, its result in NBout at 4, the port kept
	 * to 13. */
	dn_case_window(&c, NPL_OP_MAXPOOL, 1, 16, 1, 1, 0, 1, dn_window(1, 1));
	dn_case_run(&config, &c, &r);
	cr_expect_eq(r.cycles, 14);
	cr_expect_eq(dn_counter(&r, "wait_nbin"), 1);
	cr_expect_eq(dn_counter(&r, "nfu_fill"), 2);
	cr_expect_eq(dn_counter(&r, "wait_nbout"), 10);
	/* CLASS1: 60 SB rows from 13 on, the last there at 193 and read in that cycle. SB has no room for the other 60
	 * before 194; the last of them is there at 374, the results in NBout at 383. */
	dn_case_gemm(&c, 1, 20, 960);
	dn_case_run(&config, &c, &r);
	cr_expect_eq(r.cycles, 384);
	cr_expect_eq(dn_counter(&r, "wait_sb"), 375 - 120);
	cr_expect_eq(dn_counter(&r, "wait_nbout"), 1);
	/* CLASS3: SB takes four of its seven requests of 13 rows ahead, so rows come without a gap. */
	dn_case_gemm(&c, 1, 100, 200);
	dn_case_run(&config, &c, &r);
	cr_expect_eq(r.cycles, 13 + 91 * 3 + 1 + 8 + 1);
	/* A kernel that stays in SB, 9 steps a window of 3 x 3: each new line of a tile is 19 requests for 19 - 2
	 * windows. */
	dn_case_window(&c, NPL_OP_CONV, 1, 16, 40, 40, 16, 1, dn_window(3, 1));
	dn_case_run(&config, &c, &r);
	cr_expect_gt(dn_counter(&r, "wait_nbin"), dn_counter(&r, "nfu_active"));
}

/* A request that keeps the port for 16 cycles at least. */
Test(diannao_memory, short_requests_worked_by_hand)
{
	struct dn_config config = dn_default();
	struct npl_result r;
	struct dn_case c;
	config.dma_request_cycles = 16;
	/* NBin's in cycle 0, SB's in 16, there at 19; the step from 19 to 20, its result asked for at 28, but the port
	 * is kept to 32. */
	dn_case_gemm(&c, 1, 16, 16);
	dn_case_run(&config, &c, &r);
	cr_expect_eq(r.cycles, 33);
	/* Windows as POOL1's: each is four requests for 24 bytes of 12 maps and one for its result, the last of 2000
	 * begins after 1999. With 16 maps they are the same requests: nothing waits for bytes. */
	for (int64_t maps = 12; maps <= 16; maps += 4) {
		dn_case_window(&c, NPL_OP_MAXPOOL, 1, maps, 40, 40, 0, 1, dn_window(2, 2));
		dn_case_run(&config, &c, &r);
		cr_expect(r.cycles > 1999 * 16 && r.cycles < 1999 * 16 + 10, "%llu", (unsigned long long)r.cycles);
	}
}

/* Synapses that are used once: three cycles for each SB row, and little beside. */
Test(diannao_memory, classifiers_are_bound_by_memory)
{
	static const int64_t sizes[][2] = {{960, 20}, {200, 100}, {4096, 1024}, {25088, 256}};
	struct dn_config config = dn_default();
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct npl_result r;
		struct dn_case c;
		dn_case_gemm(&c, 1, sizes[i][1], sizes[i][0]);
		dn_case_run(&config, &c, &r);
		double ratio = (double)r.cycles / (double)dn_counter(&r, "nfu_active");
		cr_expect(ratio > 3 && ratio < 3 + 25 / (double)dn_counter(&r, "nfu_active") + 0.05,
			  "%lld x %lld: %g times the steps", (long long)sizes[i][0], (long long)sizes[i][1], ratio);
		cr_expect_lt(dn_counter(&r, "wait_nbin"), 100 + dn_counter(&r, "nfu_active") / 100);
	}
}

/* What waits is named: few bytes a second make pooling wait for inputs, Relu of long rows for its results as well. */
Test(diannao_memory, waits_are_for_what_is_missing)
{
	struct dn_config config = dn_default();
	struct npl_result r;
	struct dn_case c;
	config.memory_preset = "ddr3-2133";
	dn_case_window(&c, NPL_OP_MAXPOOL, 1, 64, 64, 64, 0, 1, dn_window(2, 2));
	dn_case_run(&config, &c, &r);
	cr_expect_gt(dn_counter(&r, "wait_nbin"), dn_counter(&r, "nfu_active"));
	cr_expect_eq(dn_counter(&r, "wait_sb"), 0);
	dn_case_gemm(&c, 1, 256, 1024);
	dn_case_run(&config, &c, &r);
	cr_expect_gt(dn_counter(&r, "wait_sb"), 20 * dn_counter(&r, "nfu_active"));
	cr_expect_eq(dn_counter(&r, "wait_nbin"), 0);
	/* 64 outputs a position from 16 inputs: 4 steps leave 128 bytes, 7 cycles at 17 GB/s. */
	dn_case_window(&c, NPL_OP_CONV, 1, 16, 64, 64, 64, 1, dn_window(1, 1));
	dn_case_run(&config, &c, &r);
	cr_expect_gt(dn_counter(&r, "wait_nbout"), dn_counter(&r, "nfu_active") / 2);
}

/* Twice the channels, twice the bandwidth for a stream of synapses; the energy has its parts, and they fit the
 * table. */
Test(diannao_memory, two_channels_double_the_bandwidth_and_energy_has_parts)
{
	struct dn_config config = dn_default();
	struct npl_result one, two;
	struct dn_case c;
	dn_case_gemm(&c, 1, 512, 2048);
	config.memory_preset = "ddr3-2133";
	dn_case_run(&config, &c, &one);
	config.memory_channels = 2;
	dn_case_run(&config, &c, &two);
	double bytes = (double)one.bytes[NPL_MEM_DRAM], peak = 1066666666.7 * 2 * 8 / 980e6; /* a cycle and channel */
	cr_expect(bytes / (double)one.cycles > 0.9 * peak && bytes / (double)one.cycles < peak, "%g bytes a cycle",
		  bytes / (double)one.cycles);
	cr_expect(bytes / (double)two.cycles > 1.8 * peak && bytes / (double)two.cycles < 2 * peak, "%g bytes a cycle",
		  bytes / (double)two.cycles);
	cr_expect_eq(one.n_energy, DN_CHIP_ENERGIES + 1 + NPL_MEMORY_ENERGIES); /* and the static energy */
	double joules = 0;
	for (int i = DN_CHIP_ENERGIES + 1; i < one.n_energy; i++) {
		cr_expect(!strncmp(one.energy[i].component, "memory ", 7) &&
				  !strcmp(one.energy[i].origin, "modelled:micron-ddr3-idd"),
			  "%s", one.energy[i].component);
		joules += one.energy[i].joules;
	}
	cr_expect_gt(joules, 0);
	cr_expect_eq(dn_counter(&one, "dram_reads"), (2 * 2048 + 512 * 2048) * 2 / 64,
		     "inputs once in each pass over 16 groups, whose sums NBout holds");
	cr_expect_eq(dn_counter(&one, "dram_writes"), 512 * 2 / 64, "results of 16 groups are one store");
	cr_expect_gt(dn_counter(&one, "dram_refreshes"), 0);
}

/* Opens the machine with a memory; expects the code, and a message with the key that is at fault and the reason. */
static void cannot_open(const char *preset, int64_t channels, int code, const char *key, const char *reason)
{
	struct dn_config config = dn_default();
	struct npl_err err;
	void *state;
	config.memory_preset = preset;
	config.memory_channels = channels;
	cr_expect_eq(npl_driver_diannao.open(&config, &state, &err), code, "%s", preset);
	cr_expect(strstr(err.msg, reason) && strstr(err.msg, key), "'%s' does not say '%s'", err.msg, reason);
}

Test(diannao_memory, layers_beyond_the_memory_are_refused)
{
	cannot_open("ddr3-2134", 0, NPL_EUSAGE, "memory.preset", "nearest is 'ddr3-2133'");
	cannot_open("diannao-250gbps", 2, NPL_EUSAGE, "memory.channels", "without channels");
	cannot_open("/nowhere/at/all.yaml", 0, NPL_EINPUT, "memory.preset", "/nowhere/at/all.yaml");
	/* A layer that memory does not hold is not for this machine. */
	char path[] = "/tmp/npulab-diannao-XXXXXX.yaml", reason[200] = "";
	int fd = mkstemps(path, 5);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	cr_assert(file);
	fputs("name: small\nmodel: fixed\nbytes_per_second: 1e9\ncapacity_bytes: 16384\n", file);
	fclose(file);
	struct dn_config config = dn_default();
	struct dn_case c;
	config.memory_preset = path;
	void *state = dn_opened(&config);
	dn_case_gemm(&c, 1, 16, 16); /* pages of inputs and synapses, and 32 bytes */
	cr_expect(npl_driver_diannao.supports(state, &c.layer, reason, sizeof reason), "%s", reason);
	dn_case_gemm(&c, 1, 16, 400);
	dn_refuses(state, &c.layer, "it needs 20512 bytes of memory, there are 16384");
	npl_driver_diannao.close(state);
	remove(path);
}
