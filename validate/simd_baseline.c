/* SPDX-License-Identifier: MIT
 *
 * Misses of a tiled loop nest in a least-recently-used cache, from the sizes of what its loops touch.
 *
 * Take the outermost loop one of whose iterations touches no more lines than the cache has. What two iterations of it
 * have in common is still there in the second, so the whole loop brings each line that it touches once. Loops around it
 * come back to a line only after more lines than the cache has: each of their iterations brings all of them again. (An
 * array of which the next iteration brings other lines may need room for both; that is left out.) */
#include "simd_baseline.h"

#include "core/base/arith.h"

#include <math.h>
#include <string.h>

/* 2.2 W is assumed: section 6 takes the core's energy from McPAT and gives no figure. It is what the published speed-up
 * and energy ratio of CLASS1 and CLASS3 leave for the core beside 17.6 nJ per access (docs/validation-diannao.md). */
const struct npl_simd npl_simd_chen2014 = {
	.clock_hz = 2e9,
	.vector_bytes = 16,
	.element_bytes = 2,
	.line_bytes = 64,
	.l1_bytes = 32 << 10,
	.l2_bytes = 2 << 20,
	.l1_miss_cycles = 10,
	.l2_miss_cycles = 250,
	.access_bytes = 32,
	.access_nj = 17.6,
	.core_watts = 2.2,
};

/* The dimensions of loops: output rows and columns, output maps, rows and columns of the window, input maps. */
enum { Y, X, N, KY, KX, I, DIMS };

#define BLOCK 16 /* maps that the innermost loops take at a time: Tn and Ti */

/* Loops from the innermost to the outermost; the first body is a block of maps. */
struct nest {
	int n;
	struct {
		int64_t body[DIMS];   /* the part that one iteration covers */
		int64_t extent[DIMS]; /* the part that the loop covers */
	} loop[12];
};

enum { INPUT, SYNAPSE, RESULT, ARRAYS };
struct lines {
	double count[ARRAYS];
};

static int64_t outputs(const struct npl_simd_layer *layer, int d)
{
	return (layer->in[d] - layer->kernel[d]) / layer->stride[d] + 1;
}

static void layer_extent(const struct npl_simd_layer *layer, int64_t extent[DIMS])
{
	extent[Y] = outputs(layer, 0);
	extent[X] = outputs(layer, 1);
	extent[N] = layer->pools ? 1 : layer->no;
	extent[KY] = layer->kernel[0];
	extent[KX] = layer->kernel[1];
	extent[I] = layer->ni;
}

static void add_loop(struct nest *nest, int d, int64_t to)
{
	const int n = nest->n++;
	int64_t *body = nest->loop[n].body;
	if (n)
		memcpy(body, nest->loop[n - 1].extent, sizeof nest->loop[n].body);
	memcpy(nest->loop[n].extent, body, sizeof nest->loop[n].extent);
	nest->loop[n].extent[d] = to;
}

static void make_nest(const struct npl_simd_layer *layer, const struct npl_simd_tiles *tiles, struct nest *nest)
{
	int64_t extent[DIMS];
	const int maps = layer->pools ? I : N;
	layer_extent(layer, extent);
	*nest = (struct nest){
		.loop[0].body = {1, 1, npl_min_i64(BLOCK, extent[N]), 1, 1, npl_min_i64(BLOCK, extent[I])}};
	if (!layer->pools)
		add_loop(nest, I, extent[I]);
	add_loop(nest, KX, extent[KX]);
	add_loop(nest, KY, extent[KY]);
	add_loop(nest, maps, npl_min_i64(tiles->maps, extent[maps]));
	add_loop(nest, X, npl_min_i64(tiles->x, extent[X]));
	add_loop(nest, Y, npl_min_i64(tiles->y, extent[Y]));
	add_loop(nest, maps, extent[maps]);
	add_loop(nest, X, extent[X]);
	add_loop(nest, Y, extent[Y]);
}

/* Returns the lines of a box in an array of n dimensions, the innermost last: runs of adjacent elements begin at
 * lines. */
static double lines_of(const struct npl_simd *simd, int n, const int64_t *box, const int64_t *array)
{
	double run = (double)simd->element_bytes, runs = 1;
	int d = n - 1;
	for (bool joined = true; d >= 0 && joined; d--) {
		run *= (double)box[d];
		joined = box[d] == array[d];
	}
	for (; d >= 0; d--)
		runs *= (double)box[d];
	return runs * ceil(run / (double)simd->line_bytes);
}

/* Returns the lines of each array that a box touches. Maps are innermost: inputs [y][x][i], synapses [ky][kx][n][i]
 * (private ones of each [y][x]), results [y][x][n]. */
static struct lines lines_touched(const struct npl_simd *simd, const struct npl_simd_layer *layer,
				  const int64_t cover[DIMS])
{
	int64_t extent[DIMS];
	layer_extent(layer, extent);
	const int64_t input[] = {npl_min_i64((cover[Y] - 1) * layer->stride[0] + cover[KY], layer->in[0]),
				 npl_min_i64((cover[X] - 1) * layer->stride[1] + cover[KX], layer->in[1]), cover[I]};
	const int64_t synapse[] = {cover[Y], cover[X], cover[KY], cover[KX], cover[N], cover[I]};
	const int64_t synapses[] = {extent[Y], extent[X], extent[KY], extent[KX], extent[N], extent[I]};
	const int64_t result[] = {cover[Y], cover[X], layer->pools ? cover[I] : cover[N]};
	const int shared = layer->private_kernels ? 0 : 2; /* shared synapses have no y and x */
	return (struct lines){{
		lines_of(simd, 3, input, (const int64_t[]){layer->in[0], layer->in[1], layer->ni}),
		layer->pools ? 0 : lines_of(simd, 6 - shared, synapse + shared, synapses + shared),
		lines_of(simd, 3, result, (const int64_t[]){extent[Y], extent[X], layer->no}),
	}};
}

static double sum_of_lines(const struct lines *lines)
{
	return lines->count[INPUT] + lines->count[SYNAPSE] + lines->count[RESULT];
}

static bool array_depends_on(const struct npl_simd_layer *layer, int array, int d)
{
	switch (array) {
	case INPUT:
		return d != N;
	case SYNAPSE:
		return layer->private_kernels || (d != Y && d != X);
	default:
		return d == Y || d == X || d == (layer->pools ? I : N);
	}
}

/* Returns the lines that each array brings into a cache of so many lines. */
static struct lines cache_misses(const struct npl_simd *simd, const struct npl_simd_layer *layer,
				 const struct nest *nest, int64_t cache_bytes)
{
	int64_t extent[DIMS];
	int fits = 0; /* a block alone always fits */
	layer_extent(layer, extent);
	for (int l = 1; l < nest->n; l++) {
		const struct lines body = lines_touched(simd, layer, nest->loop[l].body);
		if (sum_of_lines(&body) * (double)simd->line_bytes <= (double)cache_bytes)
			fits = l;
	}
	const int64_t *cover = nest->loop[fits].extent;
	struct lines loaded = lines_touched(simd, layer, cover);
	for (int a = 0; a < ARRAYS; a++)
		for (int d = 0; d < DIMS; d++) {
			/* A last, smaller tile brings less of an array that it is a tile of, and all of another. */
			double times = (double)extent[d] / (double)cover[d];
			loaded.count[a] *= array_depends_on(layer, a, d) ? times : ceil(times);
		}
	return loaded;
}

static double operations(const struct npl_simd_layer *layer)
{
	double n = layer->pools ? 1 : 2;
	int64_t extent[DIMS];
	layer_extent(layer, extent);
	for (int d = 0; d < DIMS; d++)
		n *= (double)extent[d];
	return n;
}

void npl_simd_run_tiles(const struct npl_simd *simd, const struct npl_simd_layer *layer,
			const struct npl_simd_tiles *tiles, struct npl_simd_run *run)
{
	struct nest nest;
	make_nest(layer, tiles, &nest);
	const struct lines first = cache_misses(simd, layer, &nest, simd->l1_bytes),
			   second = cache_misses(simd, layer, &nest, simd->l2_bytes);
	*run = (struct npl_simd_run){.operations = operations(layer), .tiles = *tiles};
	run->l2_misses = sum_of_lines(&second);
	run->l1_misses = fmax(sum_of_lines(&first), run->l2_misses);
	run->memory_bytes = (run->l2_misses + second.count[RESULT]) * (double)simd->line_bytes;
	run->cycles = run->operations * (double)simd->element_bytes / (double)simd->vector_bytes +
		      run->l1_misses * simd->l1_miss_cycles + run->l2_misses * simd->l2_miss_cycles;
	run->seconds = run->cycles / simd->clock_hz;
	run->joules = run->seconds * simd->core_watts + run->memory_bytes / simd->access_bytes * simd->access_nj * 1e-9;
}

/* Returns the size to try after this one. The sizes are 1, 2, 4 ... and all; 0: there is none left. */
static int64_t next_size(int64_t size, int64_t extent)
{
	return size == extent ? 0 : npl_min_i64(2 * size, extent);
}

void npl_simd_run(const struct npl_simd *simd, const struct npl_simd_layer *layer, struct npl_simd_run *run)
{
	int64_t extent[DIMS];
	layer_extent(layer, extent);
	const int64_t maps = extent[layer->pools ? I : N];
	run->cycles = INFINITY;
	for (int64_t y = 1; y; y = next_size(y, extent[Y]))
		for (int64_t x = 1; x; x = next_size(x, extent[X]))
			for (int64_t m = npl_min_i64(BLOCK, maps); m; m = next_size(m, maps)) {
				struct npl_simd_run candidate;
				npl_simd_run_tiles(simd, layer, &(struct npl_simd_tiles){y, x, m}, &candidate);
				if (candidate.cycles < run->cycles)
					*run = candidate;
			}
}
