/* SPDX-License-Identifier: MIT
 *
 * Promise: the bytes from and to memory are those of the loop nest stated in sim/diannao/traffic.c: for the tiles it
 * chose, a walk over the nest that keeps what NBin holds counts the same; and larger buffers never cost more. */
#include <stdlib.h>

#include "diannao_fixture.h"

static struct dn_traffic traffic_of(const struct dn_config *config, const struct dn_case *c, struct dn_work *work)
{
	struct dn_traffic t;
	char why[200];
	cr_assert(dn_work_of(config, &c->layer, work, why, sizeof why), "%s", why);
	dn_traffic_of(config, work, &t);
	return t;
}

/* Reads one window of one input map, skipping what is held. */
static uint64_t read_window(const struct dn_work *work, int64_t y, int64_t x, bool *held)
{
	const struct npl_window *w = &work->window;
	uint64_t read = 0;
	for (int64_t ky = 0; ky < w->kernel[0]; ky++)
		for (int64_t kx = 0; kx < w->kernel[1]; kx++) {
			int64_t iy = y * w->stride[0] + ky * w->dilation[0] - w->pad_begin[0];
			int64_t ix = x * w->stride[1] + kx * w->dilation[1] - w->pad_begin[1];
			if (iy < 0 || iy >= work->in[0] || ix < 0 || ix >= work->in[1])
				continue;
			read += !held[iy * work->in[1] + ix];
			held[iy * work->in[1] + ix] = true;
		}
	return read;
}

/* The resident nest for the chosen tile: NBin forgets at each output row, at each pass, or at each tile, as much as it
 * can hold; at the earliest possible of these the walk clears `held`. */
static uint64_t walk_resident(const struct dn_config *config, const struct dn_work *work, const struct dn_traffic *t)
{
	const struct npl_window *w = &work->window;
	int64_t rows = work->kind == DN_SUM ? dn_in_rows(config, work) : 1,
		groups = work->kind == DN_SUM ? dn_out_rows(config, work) : 1;
	int64_t extent = (w->kernel[0] - 1) * w->dilation[0] + 1, extent_x = (w->kernel[1] - 1) * w->dilation[1] + 1;
	size_t pixels = (size_t)(work->in[0] * work->in[1]);
	bool *held = calloc(pixels, sizeof *held);
	uint64_t read = 0;
	for (int64_t x0 = 0; x0 < work->out[1]; x0 += t->tile_width) {
		int64_t x1 = x0 + t->tile_width < work->out[1] ? x0 + t->tile_width : work->out[1];
		int64_t columns = (x1 - 1 - x0) * w->stride[1] + extent_x;
		memset(held, 0, pixels);
		for (int64_t nnn = 0; nnn < groups; nnn += t->groups_at_once) {
			if (((work->out[0] - 1) * w->stride[0] + extent) * columns * rows > config->nbin_rows)
				memset(held, 0, pixels);
			for (int64_t y = 0; y < work->out[0]; y++) {
				if (extent * columns * rows > config->nbin_rows)
					memset(held, 0, pixels);
				for (int64_t x = x0; x < x1; x++)
					read += read_window(work, y, x, held);
			}
		}
	}
	free(held);
	return read * (uint64_t)work->ni;
}

/* Without sharing between windows: every window anew, once per pass over the outputs. */
static uint64_t walk_streamed(const struct dn_config *config, const struct dn_work *work, const struct dn_traffic *t)
{
	int64_t groups = work->kind == DN_SUM ? dn_out_rows(config, work) : 1;
	bool *held = calloc((size_t)(work->in[0] * work->in[1]), sizeof *held);
	uint64_t read = 0;
	for (int64_t nnn = 0; nnn < groups; nnn += t->groups_at_once)
		for (int64_t p = 0; p < dn_positions(work); p++) {
			memset(held, 0, (size_t)(work->in[0] * work->in[1]));
			read += read_window(work, p / work->out[1], p % work->out[1], held);
		}
	free(held);
	return read * (uint64_t)work->ni;
}

static int64_t random_rows(uint64_t *rng)
{
	return test_range(rng, 3, 8) << test_range(rng, 0, 5);
}

Test(diannao_traffic, chosen_tiles_walked)
{
	int resident = 0, streamed = 0;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		struct dn_config config = dn_default();
		struct dn_work work;
		struct dn_case c;
		config.nbin_rows = random_rows(&rng);
		config.sb_rows = random_rows(&rng);
		config.nbout_rows = random_rows(&rng);
		config.tn = 1 << test_range(&rng, 0, 4);
		dn_random_case(&c, &rng);
		struct dn_traffic t = traffic_of(&config, &c, &work);
		uint64_t inputs = t.resident ? walk_resident(&config, &work, &t) : walk_streamed(&config, &work, &t);
		resident += t.resident;
		streamed += !t.resident;
		cr_assert_eq(t.input_bytes, 2 * inputs * (uint64_t)(work.images * work.groups), "%s, seed %llu",
			     t.resident ? "resident" : "streamed", (unsigned long long)seed);
		cr_assert_geq(t.input_bytes + t.synapse_bytes + t.output_bytes, t.at_least, "seed %llu",
			      (unsigned long long)seed);
	}
	cr_assert(resident > 50 && streamed > 50, "%d resident, %d streamed", resident, streamed);
}

Test(diannao_traffic, larger_buffers_never_cost_more)
{
	for (uint64_t seed = 1; seed <= 400; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		struct dn_config config = dn_default();
		struct dn_work work;
		struct dn_case c;
		config.nbin_rows = random_rows(&rng);
		config.sb_rows = random_rows(&rng);
		config.nbout_rows = random_rows(&rng);
		dn_random_case(&c, &rng);
		struct dn_traffic small = traffic_of(&config, &c, &work);
		config.nbin_rows *= test_range(&rng, 1, 3);
		config.sb_rows *= test_range(&rng, 1, 3);
		config.nbout_rows *= test_range(&rng, 1, 3);
		struct dn_traffic large = traffic_of(&config, &c, &work);
		cr_assert_leq(large.input_bytes + large.synapse_bytes, small.input_bytes + small.synapse_bytes,
			      "seed %llu", (unsigned long long)seed);
		cr_assert_eq(large.at_least, small.at_least);
		config.nbin_rows = config.sb_rows = 1 << 20;
		struct dn_traffic all = traffic_of(&config, &c, &work);
		uint64_t kernels = 0, rows = 0; /* as the layer has them; as they are padded */
		if (work.kind == DN_SUM) {
			uint64_t bias = work.bias ? 4 : 0,
				 outputs = (uint64_t)(dn_out_rows(&config, &work) * config.tn);
			uint64_t taps = (uint64_t)dn_taps(&work),
				 inputs = (uint64_t)(dn_in_rows(&config, &work) * config.tn);
			kernels = (uint64_t)(work.groups * work.no) * (2 * taps * (uint64_t)work.ni + bias);
			rows = (uint64_t)work.groups * outputs * (2 * taps * inputs + bias);
		}
		cr_assert_eq(all.input_bytes + kernels + all.output_bytes, all.at_least, "everything once (seed %llu)",
			     (unsigned long long)seed);
		cr_assert_eq(all.synapse_bytes, rows, "seed %llu", (unsigned long long)seed);
	}
}

/* Classifiers, figure 5, worked by hand: 64 NBin rows of 16 inputs, 64 NBout rows for 32 groups of 32-bit sums. */
Test(diannao_traffic, classifiers)
{
	static const struct {
		int64_t k, n;
		uint64_t input_passes, partial_rows;
	} row[] = {
		{960, 20, 1, 0},                   /* 60 rows: the inputs stay in NBin */
		{1024, 4096, 1, 0},                /* 64 rows: just */
		{16384, 256, 1, 2 * 15 * 16 * 2},  /* the paper's example: 16 chunks, 16 groups, all sums in NBout */
		{16384, 512, 1, 2 * 15 * 32 * 2},  /* the most sums NBout holds */
		{16384, 1024, 2, 2 * 15 * 64 * 2}, /* inputs pass twice */
	};
	struct dn_config config = dn_default();
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct dn_work work;
		struct dn_case c;
		dn_case_gemm(&c, 1, row[i].n, row[i].k);
		struct dn_traffic t = traffic_of(&config, &c, &work);
		cr_expect_eq(t.input_bytes, row[i].input_passes * 2 * (uint64_t)row[i].k, "%lld x %lld",
			     (long long)row[i].k, (long long)row[i].n);
		cr_expect_eq(t.synapse_bytes, 2 * (uint64_t)(row[i].k * ((row[i].n + 15) / 16 * 16)), "whole SB rows");
		cr_expect_eq(t.output_bytes, 2 * (uint64_t)row[i].n);
		cr_expect_eq(t.partial_rows, row[i].partial_rows, "%lld x %lld", (long long)row[i].k,
			     (long long)row[i].n);
	}
	/* 16-bit partial sums take half the room: the paper's 1024 sums. */
	struct dn_work work;
	struct dn_case c;
	config.sum_bits = 16;
	dn_case_gemm(&c, 1, 1024, 16384);
	cr_expect_eq(traffic_of(&config, &c, &work).input_bytes, 2 * 16384);
}

/* Convolutions of 3x3 windows, worked by hand. */
Test(diannao_traffic, convolutions)
{
	struct dn_config config = dn_default();
	struct dn_work work;
	struct dn_case c;
	/* 8x8 pixels of 16 maps are NBin's 64 rows; 7 kernels of 9 rows fit SB: nothing moves twice. */
	dn_case_window(&c, NPL_OP_CONV, 5, 16, 8, 8, 112, 1, dn_window(3, 1));
	struct dn_traffic t = traffic_of(&config, &c, &work);
	cr_expect_eq(t.input_bytes, 5 * 16 * 64 * 2);
	cr_expect_eq(t.synapse_bytes, 112 * 16 * 9 * 2);
	/* 128 outputs: 8 kernels do not fit SB, so two passes, and synapses again for each image. */
	dn_case_window(&c, NPL_OP_CONV, 5, 16, 8, 8, 128, 1, dn_window(3, 1));
	t = traffic_of(&config, &c, &work);
	cr_expect_eq(t.input_bytes, 5 * 16 * 64 * 2, "the whole image stays in NBin");
	cr_expect_eq(t.synapse_bytes, 5 * 128 * 16 * 9 * 2);
	/* 32x32: three rows of 32 pixels do not fit 64 NBin rows, two tiles of 15 columns (17 pixels) do. */
	dn_case_window(&c, NPL_OP_CONV, 1, 16, 32, 32, 16, 1, dn_window(3, 1));
	t = traffic_of(&config, &c, &work);
	cr_expect(t.resident);
	cr_expect_eq(t.tile_width, 15);
	cr_expect_eq(t.input_bytes, 2 * 16 * 32 * (17 + 17));
	cr_expect_eq(t.synapse_bytes, 16 * 16 * 9 * 2);
	/* A stride beyond the kernel leaves three of four pixels unread. */
	dn_case_window(&c, NPL_OP_CONV, 1, 16, 32, 32, 16, 1, dn_window(1, 2));
	t = traffic_of(&config, &c, &work);
	cr_expect_eq(t.input_bytes, 2 * 16 * 16 * 16);
	cr_expect_eq(t.at_least, t.input_bytes + t.synapse_bytes + t.output_bytes);
}

/* Rows of NBout: results, partial sums and the sums' starting values, worked by hand. */
Test(diannao_traffic, nbout_rows_raw_results_and_biases)
{
	static const struct {
		bool raw, bias;
		uint64_t rows, output_bytes, synapse_bytes;
	} variant[] = {{false, false, 3 * 2, 3 * 20 * 2, 2 * 7 * 512},
		       {true, false, 3 * 2 * 2, 3 * 20 * 4, 2 * 7 * 512}, /* 32-bit results take two rows */
		       {false, true, 3 * 2 + 3 * 2 * 2, 3 * 20 * 2, 2 * (7 * 512 + 16 * 4)},
		       {true, true, 3 * 2 * 2 + 3 * 2 * 2, 3 * 20 * 4, 2 * (7 * 512 + 16 * 4)}};
	struct dn_config config = dn_default();
	for (size_t i = 0; i < sizeof variant / sizeof *variant; i++) {
		struct npl_result result;
		struct dn_case c;
		dn_case_gemm(&c, 3, 20, 100);
		c.y.dtype = variant[i].raw ? NPL_I32 : NPL_I16;
		if (variant[i].bias)
			c.bias = (struct npl_tensor){.dtype = NPL_I32, .shape = npl_shape_of(1, 20)};
		dn_case_layer(&c, NPL_OP_GEMM);
		dn_case_run(&config, &c, &result);
		cr_expect_eq(dn_counter(&result, "nbout_rows"), variant[i].rows, "variant %zu", i);
		cr_expect_eq(dn_counter(&result, "output_bytes"), variant[i].output_bytes, "variant %zu", i);
		cr_expect_eq(dn_counter(&result, "synapse_bytes"), variant[i].synapse_bytes, "variant %zu", i);
		cr_expect_eq(dn_counter(&result, "nfu3_operations"), variant[i].raw ? 0 : 60, "variant %zu", i);
		uint64_t steps = 3 * 7 * 2;
		cr_expect_eq(result.bytes[NPL_MEM_BUFFER], steps * (32 + 512) + variant[i].rows * 32, "variant %zu", i);
	}
	struct npl_result result;
	struct dn_case c;
	dn_case_gemm(&c, 1, 256, 16384);
	dn_case_run(&config, &c, &result);
	cr_expect_eq(dn_counter(&result, "nbout_rows"), 16 + 2 * 15 * 16 * 2, "16 chunks of inputs");
}

/* Windows larger than the buffers, in blocks of positions, worked by hand. */
Test(diannao_traffic, streamed_blocks)
{
	struct dn_config config = dn_default();
	struct dn_work work;
	struct dn_case c;
	const uint64_t positions = 492 * 367, window = 9 * 9 * 32;
	/* The paper's CONV1: 162 rows a window. One group at a time, sums of 32 positions: 6 chunks of 32 rows, so that the next
	 * one fits SB beside. */
	dn_case_window(&c, NPL_OP_CONV, 1, 32, 375, 500, 48, 1, dn_window(9, 1));
	struct dn_traffic t = traffic_of(&config, &c, &work);
	cr_expect_not(t.resident);
	cr_expect_eq(t.groups_at_once, 1);
	cr_expect_eq(t.positions_at_once, 32);
	cr_expect_eq(t.input_bytes, 2 * 3 * positions * window);
	cr_expect_eq(t.synapse_bytes, 2 * 48 * window * ((positions + 31) / 32));
	cr_expect_eq(t.chunk_rows, 32);
	cr_expect_eq(t.partial_rows, 2 * (6 - 1) * positions * 3 * 2);
	/* Twice the NBout and 32 outputs: two groups share the inputs, with 11 chunks of 16 rows. */
	config.nbout_rows = 128;
	dn_case_window(&c, NPL_OP_CONV, 1, 32, 375, 500, 32, 1, dn_window(9, 1));
	t = traffic_of(&config, &c, &work);
	cr_expect_eq(t.groups_at_once, 2);
	cr_expect_eq(t.input_bytes, 2 * positions * window);
	cr_expect_eq(t.synapse_bytes, 2 * 32 * window * ((positions + 31) / 32));
	cr_expect_eq(t.chunk_rows, 16);
	cr_expect_eq(t.partial_rows, 2 * (11 - 1) * positions * 2 * 2);
	/* Dilation spreads a window of 9 rows over more columns than NBin holds. 7 of 10 kernels fit SB: two passes, no
	 * partial sums. */
	config = dn_default();
	struct npl_window wide = dn_window(3, 1);
	wide.dilation[0] = wide.dilation[1] = 16;
	dn_case_window(&c, NPL_OP_CONV, 1, 16, 40, 40, 160, 1, wide);
	t = traffic_of(&config, &c, &work);
	cr_expect_not(t.resident);
	cr_expect_eq(t.input_bytes, 2 * 2 * 64 * 9 * 16);
	cr_expect_eq(t.synapse_bytes, 2 * 160 * 9 * 16);
	cr_expect_eq(t.partial_rows, 0);
}
