/* SPDX-License-Identifier: MIT
 *
 * Promise: behind memory the NFU takes its ideal steps plus what it waits, never less than its bytes take, and ideal
 * memory never makes it wait; cycles are the same with and without values and with either DRAM engine; what a preset
 * has of channels and energy is used. */
#include <stdio.h>
#include <stdlib.h>

#include "diannao_fixture.h"

static uint64_t waits(const struct npl_result *r)
{
	return dn_counter(r, "wait_sb") + dn_counter(r, "wait_nbin") + dn_counter(r, "wait_nbout");
}

/* Bytes at 250 GB/s, in cycles of 980 MHz. */
static double least_cycles(const struct npl_result *r)
{
	return (double)r->bytes[NPL_MEM_DRAM] * 980e6 / 250e9;
}

Test(diannao_memory, random_layers)
{
	int waited = 0;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		struct dn_config config = dn_random_machine(&rng);
		struct npl_result ideal, result, again;
		struct dn_case c;
		config.sum_bits = 32;
		dn_random_case(&c, &rng);
		dn_case_run(&config, &c, &result);
		struct dn_config without = config;
		without.memory_preset = "ideal";
		without.dma_request_cycles = 0;
		dn_case_run(&without, &c, &ideal);
		cr_assert_eq(waits(&ideal), 0, "seed %llu", (unsigned long long)seed);
		cr_assert_eq(ideal.cycles, dn_counter(&result, "nfu_active") + dn_counter(&result, "nfu_fill"),
			     "seed %llu", (unsigned long long)seed);
		cr_assert_eq(result.cycles, ideal.cycles + waits(&result), "seed %llu", (unsigned long long)seed);
		cr_assert_geq((double)result.cycles, least_cycles(&result), "seed %llu", (unsigned long long)seed);
		cr_assert_eq(result.bytes[NPL_MEM_DRAM], ideal.bytes[NPL_MEM_DRAM]);
		waited += result.cycles > ideal.cycles + ideal.cycles / 10;
		dn_case_data(&c, &rng, 8, 8);
		dn_case_run(&config, &c, &again);
		cr_assert_eq(again.cycles, result.cycles, "seed %llu: values do not change the time",
			     (unsigned long long)seed);
		for (size_t i = 0; i < DN_STATS; i++)
			if (dn_stats[i].partition != NPL_STAT_OF_VALUES)
				cr_assert_eq(again.counter[i], result.counter[i], "seed %llu, %s",
					     (unsigned long long)seed, dn_stats[i].name);
		dn_case_free(&c);
	}
	cr_assert_gt(waited, 50, "most of these small layers wait");
}

/* 250 GB/s at 980 MHz are 255.102 bytes a cycle; each of these by hand. */
Test(diannao_memory, worked_by_hand)
{
	struct dn_config config = dn_default();
	struct npl_result r;
	struct dn_case c;
	/* One step. NBin's 32 bytes go first, and are there at boundary 1, SB's 512 at 2.13. The step is from 3 to
	 * 4, its result in NBout at 12 and in memory at 12.125. */
	dn_case_gemm(&c, 1, 16, 16);
	dn_case_run(&config, &c, &r);
	cr_expect_eq(r.cycles, 13);
	cr_expect_eq(dn_counter(&r, "wait_sb"), 3);
	cr_expect_eq(dn_counter(&r, "wait_nbin"), 0);
	cr_expect_eq(dn_counter(&r, "wait_nbout"), 1);
	/* A maximum of one row alone, without synapses: from 1 to 2, in NBout at 4, in memory at 4.125. */
	dn_case_window(&c, NPL_OP_MAXPOOL, 1, 16, 1, 1, 0, 1, dn_window(1, 1));
	dn_case_run(&config, &c, &r);
	cr_expect_eq(r.cycles, 5);
	cr_expect_eq(dn_counter(&r, "wait_nbin"), 1);
	cr_expect_eq(dn_counter(&r, "wait_nbout"), 1);
	/* CLASS1: 1920 bytes of inputs and 120 rows of 512 are there at 248.4. The last load is of 4 rows, (60 - 7 *
	 * 8), whose steps are from 249 to 253; results at 261, the last 8 bytes of them in memory a cycle later. */
	dn_case_gemm(&c, 1, 20, 960);
	dn_case_run(&config, &c, &r);
	cr_expect_eq(r.cycles, 262);
	cr_expect_eq(dn_counter(&r, "wait_sb"), 249 + 4 - 120);
	cr_expect_eq(dn_counter(&r, "wait_nbout"), 1);
	/* CLASS3: 400 bytes and 91 rows are there at 184.2; the last load is of 13 - 8 rows. */
	dn_case_gemm(&c, 1, 100, 200);
	dn_case_run(&config, &c, &r);
	cr_expect_eq(r.cycles, 185 + 5 + 8 + 1);
	/* A convolution whose kernels stay in SB, 8x8 of 16 maps: after the first windows the inputs run ahead. */
	dn_case_window(&c, NPL_OP_CONV, 1, 16, 40, 40, 16, 1, dn_window(3, 1));
	dn_case_run(&config, &c, &r);
	cr_expect_lt(waits(&r), 40, "%llu", (unsigned long long)waits(&r));
}

/* A request that keeps the port for 16 cycles at least. */
Test(diannao_memory, short_requests_worked_by_hand)
{
	struct dn_config config = dn_default();
	struct npl_result r;
	struct dn_case c;
	config.dma_request_cycles = 16;
	/* NBin's in cycle 0, SB's in 16, there at 18.007; the step from 19 to 20, its result asked for at 28, but the port is
	 * kept to 32. */
	dn_case_gemm(&c, 1, 16, 16);
	dn_case_run(&config, &c, &r);
	cr_expect_eq(r.cycles, 33);
	/* Windows as POOL1's: each is four requests for 24 bytes of 12 maps and one for its result, the last of 2000 begins after 1999.
	 * With 16 maps they are the same requests: nothing waits for bytes. */
	for (int64_t maps = 12; maps <= 16; maps += 4) {
		dn_case_window(&c, NPL_OP_MAXPOOL, 1, maps, 40, 40, 0, 1, dn_window(2, 2));
		dn_case_run(&config, &c, &r);
		cr_expect(r.cycles > 1999 * 16 && r.cycles < 1999 * 16 + 10, "%llu", (unsigned long long)r.cycles);
	}
}

/* The paper's two classifiers take about twice their steps, as SB rows cross at 255 of their 512 bytes a cycle (it
 * measures 3.05). */
Test(diannao_memory, classifiers_are_bound_by_memory)
{
	static const int64_t sizes[][2] = {{960, 20}, {200, 100}, {4096, 1024}, {25088, 256}};
	struct dn_config config = dn_default();
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct npl_result r;
		struct dn_case c;
		dn_case_gemm(&c, 1, sizes[i][1], sizes[i][0]);
		dn_case_run(&config, &c, &r);
		double ratio = (double)r.cycles / (double)dn_counter(&r, "nfu_active"), law = 512 * 980e6 / 250e9;
		cr_expect(ratio > law && ratio < law + 24 / (double)dn_counter(&r, "nfu_active") + 0.05,
			  "%lld x %lld: %g times the steps", (long long)sizes[i][0], (long long)sizes[i][1], ratio);
		cr_expect_eq(dn_counter(&r, "wait_nbin"), 0);
	}
}

/* Its other layers fit 250 GB/s: docs/machine-diannao.md has the ratios beside the paper's. */
Test(diannao_memory, the_papers_layers)
{
	static const struct {
		int64_t ni, ny, nx, no, k, stride; /* no 0: pooling */
		double ratio;
	} layer[] = {{8, 200, 200, 8, 18, 1, 1.00}, {108, 32, 32, 200, 4, 1, 1.00}, {16, 32, 32, 512, 7, 1, 1.01},
		     {12, 367, 492, 0, 2, 2, 1.00}, {100, 32, 32, 0, 4, 4, 1.00},   {256, 256, 256, 0, 2, 2, 1.00}};
	struct dn_config config = dn_default();
	for (size_t i = 0; i < sizeof layer / sizeof *layer; i++) {
		struct npl_result r;
		struct dn_case c;
		dn_case_window(&c, layer[i].no ? NPL_OP_CONV : NPL_OP_MAXPOOL, 1, layer[i].ni, layer[i].ny, layer[i].nx,
			       layer[i].no, 1, dn_window(layer[i].k, layer[i].stride));
		dn_case_run(&config, &c, &r);
		cr_expect_float_eq((double)r.cycles / (double)dn_counter(&r, "nfu_active"), layer[i].ratio, 0.005,
				   "layer %zu", i);
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

static uint64_t time_on(const struct dn_config *config, const struct dn_case *c,
			const struct npl_memory_options *options, struct dn_counters *counters)
{
	struct dn_work work;
	struct dn_traffic traffic;
	struct npl_memory *memory;
	struct npl_dma *dma;
	struct npl_err err;
	cr_assert(dn_planned(config, c, &work, &traffic));
	cr_assert_eq(npl_memory_open(config->memory_preset, options, &memory, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_dma_open(memory, &(struct npl_dma_config){.engines = DN_ENGINES, .queue = config->dma_queue},
				  &dma, &err),
		     0, "%s", err.msg);
	*counters = (struct dn_counters){0};
	dn_count(config, &work, &traffic, counters);
	cr_assert_eq(dn_time(config, &work, &traffic, memory, dma, counters, &err), 0, "%s", err.msg);
	npl_dma_close(dma);
	npl_memory_close(memory);
	return dn_cycles(counters);
}

/* Any preset will do, with the cycles of the engine that looks at every cycle. */
Test(diannao_memory, dram_presets)
{
	static const char *const names[] = {"ddr3-1600", "ddr3-2133", "ddr4-3200", "hbm2", "gddr6", "lpddr4-2400"};
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		struct npl_memory_options options = {.channels = test_range(&rng, 0, 2)};
		struct dn_config config = dn_random_machine(&rng);
		struct dn_counters fast, slow;
		struct dn_case c;
		config.clock_hz = test_range(&rng, 100000000, 2000000000);
		config.memory_preset = names[test_range(&rng, 0, 5)];
		dn_random_case(&c, &rng);
		uint64_t cycles = time_on(&config, &c, &options, &fast);
		options.every_cycle = true;
		cr_assert_eq(time_on(&config, &c, &options, &slow), cycles, "%s, seed %llu", config.memory_preset,
			     (unsigned long long)seed);
		cr_assert_eq(memcmp(&fast, &slow, sizeof fast), 0, "%s, seed %llu", config.memory_preset,
			     (unsigned long long)seed);
		cr_assert_gt(cycles, fast.nfu_active + fast.nfu_fill, "latency is there");
		cr_assert(fast.dram_activates > 0 && fast.dram_row_hits < fast.dram_reads + fast.dram_writes);
	}
}

/* Twice the channels, twice the bandwidth for a stream of synapses; the energy has its parts, and they fit the
 * table. */
Test(diannao_memory, channels_and_energy)
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
	cr_expect_eq(one.n_energy, 7 + NPL_MEMORY_ENERGIES);
	double joules = 0;
	for (int i = 7; i < one.n_energy; i++) {
		cr_expect(!strncmp(one.energy[i].component, "memory ", 7) &&
				  !strcmp(one.energy[i].origin, "modelled:micron-ddr3-idd"),
			  "%s", one.energy[i].component);
		joules += one.energy[i].joules;
	}
	cr_expect_gt(joules, 0);
	cr_expect_eq(dn_counter(&one, "dram_reads"), (2048 + 512 * 2048) * 2 / 64);
	cr_expect_eq(dn_counter(&one, "dram_writes"), 512 / 16, "a row of 32 bytes is half an access");
	cr_expect_gt(dn_counter(&one, "dram_refreshes"), 0);
}

static void cannot_open(const char *preset, int64_t channels, const char *reason)
{
	struct dn_config config = dn_default();
	struct npl_err err;
	void *state;
	config.memory_preset = preset;
	config.memory_channels = channels;
	cr_expect_eq(npl_driver_diannao.open(&config, &state, &err), NPL_EINPUT, "%s", preset);
	cr_expect(strstr(err.msg, reason) && strstr(err.msg, "memory.preset"), "'%s' does not say '%s'", err.msg,
		  reason);
}

Test(diannao_memory, what_it_refuses)
{
	cannot_open("ddr3-2134", 0, "nearest is 'ddr3-2133'");
	cannot_open("diannao-250gbps", 2, "no channels");
	cannot_open("/nowhere/at/all.yaml", 0, "/nowhere/at/all.yaml");
	/* A layer that memory does not hold is not for this machine. */
	char path[] = "/tmp/npulab-diannao-XXXXXX.yaml", why[200] = "";
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
	cr_expect(npl_driver_diannao.supports(state, &c.layer, why, sizeof why), "%s", why);
	dn_case_gemm(&c, 1, 16, 400);
	cr_expect_not(npl_driver_diannao.supports(state, &c.layer, why, sizeof why));
	cr_expect(strstr(why, "it needs 20512 bytes of memory, there are 16384"), "%s", why);
	npl_driver_diannao.close(state);
	remove(path);
}
