/* SPDX-License-Identifier: MIT
 *
 * Promises of the SIMD core of the DianNao paper (validate/simd_baseline.h): misses worked out by hand where all arrays
 * fit and where none does; misses near those of two LRU caches that go through the same loops element by element; time
 * and energy are the stated sums; the tiles chosen are the best of those tried. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/support.h"
#include "validate/simd_baseline.h"

/* A fully associative cache: lines from the one used last to the one used least recently. */
struct lru {
	int64_t line[4096];
	int64_t size, held, misses;
};

static bool lru_misses(struct lru *cache, int64_t line)
{
	size_t at = 0, held = (size_t)cache->held;
	while (at < held && cache->line[at] != line)
		at++;
	bool missed = at == held;
	if (missed && cache->held < cache->size)
		cache->held++;
	else if (missed)
		at = held ? held - 1 : 0;
	memmove(cache->line + 1, cache->line, at * sizeof *cache->line);
	cache->line[0] = line;
	cache->misses += missed;
	return missed;
}

struct walk {
	const struct npl_simd *simd;
	const struct npl_simd_layer *layer;
	struct npl_simd_tiles tiles;
	int64_t out[2];
	struct lru first, second;
};

/* Arrays begin at lines, far from each other. */
static void touch(struct walk *w, int64_t array, int64_t element)
{
	int64_t line = (array << 40) + element * w->simd->element_bytes / w->simd->line_bytes;
	if (lru_misses(&w->first, line))
		lru_misses(&w->second, line);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t input_at(const struct walk *w, int64_t y, int64_t x, int64_t ky, int64_t kx, int64_t i)
{
	const struct npl_simd_layer *l = w->layer;
	return ((y * l->stride[0] + ky) * l->in[1] + x * l->stride[1] + kx) * l->ni + i;
}

/* Figure 7 inside its outer tiles: one position, from map `from` on. */
static void walk_products(struct walk *w, int64_t y, int64_t x, int64_t from)
{
	const struct npl_simd_layer *l = w->layer;
	const int64_t end = least(from + w->tiles.maps, l->no), kernel = l->kernel[0] * l->kernel[1] * l->no * l->ni;
	for (int64_t nn = from; nn < end; nn += 16)
		for (int64_t ky = 0; ky < l->kernel[0]; ky++)
			for (int64_t kx = 0; kx < l->kernel[1]; kx++)
				for (int64_t ii = 0; ii < l->ni; ii += 16)
					for (int64_t n = nn; n < least(nn + 16, end); n++)
						for (int64_t i = ii; i < least(ii + 16, l->ni); i++) {
							int64_t synapse = ((ky * l->kernel[1] + kx) * l->no + n) *
										  l->ni +
									  i;
							if (l->private_kernels)
								synapse += (y * w->out[1] + x) * kernel;
							touch(w, 0, input_at(w, y, x, ky, kx, i));
							touch(w, 1, synapse);
							touch(w, 2, (y * w->out[1] + x) * l->no + n);
						}
}

/* Figure 8. */
static void walk_pooling(struct walk *w, int64_t y, int64_t x, int64_t from)
{
	const struct npl_simd_layer *l = w->layer;
	const int64_t end = least(from + w->tiles.maps, l->ni);
	for (int64_t ii = from; ii < end; ii += 16)
		for (int64_t ky = 0; ky < l->kernel[0]; ky++)
			for (int64_t kx = 0; kx < l->kernel[1]; kx++)
				for (int64_t i = ii; i < least(ii + 16, end); i++) {
					touch(w, 0, input_at(w, y, x, ky, kx, i));
					touch(w, 2, (y * w->out[1] + x) * l->ni + i);
				}
}

static void walk(struct walk *w, const struct npl_simd *simd, const struct npl_simd_layer *layer,
		 struct npl_simd_tiles tiles)
{
	*w = (struct walk){.simd = simd, .layer = layer, .tiles = tiles};
	w->first.size = simd->l1_bytes / simd->line_bytes;
	w->second.size = simd->l2_bytes / simd->line_bytes;
	cr_assert_leq(w->second.size, 4096);
	for (int d = 0; d < 2; d++)
		w->out[d] = (layer->in[d] - layer->kernel[d]) / layer->stride[d] + 1;
	const int64_t maps = layer->pools ? layer->ni : layer->no;
	for (int64_t yy = 0; yy < w->out[0]; yy += tiles.y)
		for (int64_t xx = 0; xx < w->out[1]; xx += tiles.x)
			for (int64_t m = 0; m < maps; m += tiles.maps)
				for (int64_t y = yy; y < least(yy + tiles.y, w->out[0]); y++)
					for (int64_t x = xx; x < least(xx + tiles.x, w->out[1]); x++)
						(layer->pools ? walk_pooling : walk_products)(w, y, x, m);
}

/* The paper's core with caches of so many lines. */
static struct npl_simd with_lines(int64_t first, int64_t second)
{
	struct npl_simd simd = npl_simd_chen2014;
	simd.l1_bytes = first * simd.line_bytes;
	simd.l2_bytes = second * simd.line_bytes;
	return simd;
}

static void check_exact(const struct npl_simd *simd, const struct npl_simd_layer *layer, struct npl_simd_tiles tiles,
			double first, double second)
{
	struct npl_simd_run run;
	static struct walk w;
	npl_simd_run_tiles(simd, layer, &tiles, &run);
	walk(&w, simd, layer, tiles);
	cr_assert_float_eq(run.l1_misses, first, 1e-9, "%g misses, by hand %g", run.l1_misses, first);
	cr_assert_float_eq(run.l2_misses, second, 1e-9, "%g misses, by hand %g", run.l2_misses, second);
	cr_assert_eq(w.first.misses, (int64_t)first, "the cache has %d", (int)w.first.misses);
	cr_assert_eq(w.second.misses, (int64_t)second, "the cache has %d", (int)w.second.misses);
}

/* A line holds 32 elements of 2 bytes. */
Test(simd_baseline, lines_read_are_as_worked_by_hand)
{
	/* CLASS1: every synapse once (20 x 30 lines), 30 lines of inputs that stay, 1 of results */
	const struct npl_simd_layer class1 = {.in = {1, 1}, .kernel = {1, 1}, .stride = {1, 1}, .ni = 960, .no = 20};
	const struct npl_simd roomy = with_lines(512, 4096);
	check_exact(&roomy, &class1, (struct npl_simd_tiles){1, 1, 20}, 631, 631);
	/* a 1x1 convolution of 64 maps on 4 x 4 positions: 2 lines a position and 2 a result, synapses 64 x 2 lines. In
	 * a cache of 120 lines a position's 2 + 128 + 2 do not stay, so that synapses come again for each of 16; the
	 * second cache keeps them */
	const struct npl_simd_layer pointwise = {.in = {4, 4}, .kernel = {1, 1}, .stride = {1, 1}, .ni = 64, .no = 64};
	const struct npl_simd small = with_lines(120, 1000);
	check_exact(&small, &pointwise, (struct npl_simd_tiles){1, 1, 64}, 16 * (2 + 128 + 2), 32 + 128 + 32);
	/* the same in tiles of 16 outputs and all positions, 32 + 32 + 16 lines: beside the next 32 of synapses they
	 * stay in 120, so that everything comes once */
	check_exact(&small, &pointwise, (struct npl_simd_tiles){4, 4, 16}, 32 + 128 + 32, 32 + 128 + 32);
	/* in 70 lines only the synapses of a tile stay: inputs come 4 times, lines of results, of 32 maps, twice */
	const struct npl_simd smaller = with_lines(70, 1000);
	check_exact(&smaller, &pointwise, (struct npl_simd_tiles){4, 4, 16}, 4 * 32 + 128 + 2 * 32, 32 + 128 + 32);
	/* all kernels private: nothing of 16 x 128 lines comes back */
	const struct npl_simd_layer own = {
		.private_kernels = true, .in = {4, 4}, .kernel = {1, 1}, .stride = {1, 1}, .ni = 64, .no = 64};
	check_exact(&small, &own, (struct npl_simd_tiles){1, 1, 64}, 16 * (2 + 128 + 2), 16 * (2 + 128 + 2));
	/* pooling touches everything once: 8 x 8 positions of 3 lines, 4 x 4 results of 3 */
	const struct npl_simd_layer pool = {
		.pools = true, .in = {8, 8}, .kernel = {2, 2}, .stride = {2, 2}, .ni = 96, .no = 96};
	check_exact(&small, &pool, (struct npl_simd_tiles){1, 1, 96}, 64 * 3 + 16 * 3, 64 * 3 + 16 * 3);
}

/* Random layers and tiles. The rule looks at whole loops, so single layers differ where their lines just fit: of 120
 * one by 1.44; on the mean 2 % in the first cache and 1 % in the second, whose misses decide the time. */
Test(simd_baseline, misses_are_near_those_of_lru_caches)
{
	static struct walk w;
	uint64_t rng = 20140304;
	double first = 0, second = 0;
	int n = 0;
	while (n < 120) {
		int64_t k = test_range(&rng, 1, 3), e = 2 * test_range(&rng, 1, 2);
		struct npl_simd simd = with_lines(64 << test_range(&rng, 0, 1), 128 << test_range(&rng, 0, 2));
		struct npl_simd_layer layer = {.pools = test_range(&rng, 0, 3) == 0,
					       .in = {k + test_range(&rng, 0, 8), k + test_range(&rng, 0, 8)},
					       .kernel = {k, k},
					       .stride = {1, 1},
					       .ni = 4 * test_range(&rng, 1, 12),
					       .no = 4 * test_range(&rng, 1, 12)};
		if (layer.pools) {
			layer.no = layer.ni;
			layer.stride[0] = layer.stride[1] = k;
		}
		layer.private_kernels = !layer.pools && test_range(&rng, 0, 1);
		struct npl_simd_tiles tiles = {test_range(&rng, 1, 9), test_range(&rng, 1, 9),
					       16 * test_range(&rng, 1, 3)};
		struct npl_simd_run run;
		simd.element_bytes = e;
		npl_simd_run_tiles(&simd, &layer, &tiles, &run);
		if (run.operations > 4e5)
			continue;
		walk(&w, &simd, &layer, tiles);
		double a = log(run.l1_misses / (double)w.first.misses),
		       b = log(run.l2_misses / (double)w.second.misses);
		cr_assert(fabs(a) < log(1.5) && fabs(b) < log(1.5),
			  "layer %d: %g and %g misses, the caches have %d and %d", n, run.l1_misses, run.l2_misses,
			  (int)w.first.misses, (int)w.second.misses);
		first += fabs(a);
		second += fabs(b);
		n++;
	}
	cr_assert_lt(exp(first / n), 1.04, "%g on the mean", exp(first / n));
	cr_assert_lt(exp(second / n), 1.02, "%g on the mean", exp(second / n));
}

/* Cycles, seconds and joules are what the header says of the counts. */
Test(simd_baseline, time_and_energy)
{
	const struct npl_simd *s = &npl_simd_chen2014;
	const struct npl_simd_layer conv = {.in = {20, 20}, .kernel = {3, 3}, .stride = {1, 1}, .ni = 32, .no = 64};
	const struct npl_simd_layer pool = {
		.pools = true, .in = {20, 20}, .kernel = {2, 2}, .stride = {2, 2}, .ni = 32, .no = 32};
	struct npl_simd_run run;
	npl_simd_run(s, &conv, &run);
	cr_assert_eq(run.operations, 2.0 * 18 * 18 * 9 * 32 * 64);
	cr_assert_float_eq(run.cycles, run.operations / 8 + 10 * run.l1_misses + 250 * run.l2_misses, 1e-6);
	cr_assert_float_eq(run.seconds, run.cycles / 2e9, 1e-15);
	/* all fits the second cache: 400 lines of inputs, 576 of synapses, 648 of results, which are written back */
	cr_assert_float_eq(run.l2_misses, 400 + 576 + 648, 1e-9);
	cr_assert_float_eq(run.memory_bytes, 64 * (400 + 576 + 2 * 648), 1e-6);
	cr_assert_float_eq(run.joules, run.seconds * s->core_watts + run.memory_bytes / 32 * 17.6e-9, 1e-12);
	npl_simd_run(s, &pool, &run);
	cr_assert_eq(run.operations, 20.0 * 20 * 32);
	cr_assert_float_eq(run.l2_misses, 400 + 100, 1e-9);
	/* elements twice as wide: half of them at once, twice the lines */
	struct npl_simd wide = *s;
	wide.element_bytes = 4;
	npl_simd_run(&wide, &pool, &run);
	cr_assert_float_eq(run.cycles, 20.0 * 20 * 32 / 4 + 260 * 1000, 1e-6);
}

Test(simd_baseline, the_tiles_chosen_are_the_best)
{
	const struct npl_simd s = with_lines(100, 1000);
	const struct npl_simd_layer conv = {.in = {12, 11}, .kernel = {3, 3}, .stride = {1, 1}, .ni = 40, .no = 70};
	struct npl_simd_run best, run;
	npl_simd_run(&s, &conv, &best);
	for (int64_t y = 1; y <= 10; y += y < 8 ? y : 2)
		for (int64_t x = 1; x <= 9; x += x < 8 ? x : 1)
			for (int64_t m = 16; m <= 70; m += m < 64 ? m : 6) {
				npl_simd_run_tiles(&s, &conv, &(struct npl_simd_tiles){y, x, m}, &run);
				cr_assert_geq(run.cycles, best.cycles, "%d x %d, %d", (int)y, (int)x, (int)m);
			}
	npl_simd_run_tiles(&s, &conv, &best.tiles, &run);
	cr_assert_float_eq(run.cycles, best.cycles, 1e-9);
	/* without tiles every position brings all synapses again */
	const struct npl_simd_layer pointwise = {.in = {4, 4}, .kernel = {1, 1}, .stride = {1, 1}, .ni = 64, .no = 64};
	npl_simd_run(&s, &pointwise, &best);
	npl_simd_run_tiles(&s, &pointwise, &(struct npl_simd_tiles){4, 4, 64}, &run);
	cr_assert_eq(best.tiles.maps, 16);
	cr_assert_lt(best.l1_misses, run.l1_misses / 4);
}
