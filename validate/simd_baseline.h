/* SPDX-License-Identifier: MIT
 *
 * The processor that the DianNao paper measures itself against (Chen et al., ASPLOS 2014, sections 6 and 7), as a count
 * of operations and cache misses: a core with a 128-bit vector unit at 2 GHz, 32 KB and 2 MB of cache with lines of 64
 * bytes, 10 cycles for a miss of the first, 250 for one of the second, and no prefetcher.
 *
 *     cycles = operations / (vector bytes / element bytes) + 10 x misses of L1 + 250 x misses of L2
 *
 * A multiply-accumulate is two operations, as the paper counts; a pooled input is one. The loop nests are those of
 * figures 7 and 8 (a classifier is the convolution of one position), with the tiles that take the least time. Misses
 * are those of two fully associative LRU caches that are empty at first, by the rule in simd_baseline.c;
 * tests/validate/test_simd_baseline.c holds it against such caches.
 *
 * Not modelled: the out-of-order core (every miss is waited for in full, every operation has a lane), the ways of the
 * caches, instructions beside the operations, stores that need not wait.
 */
#ifndef NPULAB_VALIDATE_SIMD_BASELINE_H
#define NPULAB_VALIDATE_SIMD_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "npulab/op.h"

struct npl_simd {
	double clock_hz;
	int64_t vector_bytes, element_bytes;
	int64_t line_bytes, l1_bytes, l2_bytes;
	double l1_miss_cycles, l2_miss_cycles;
	double access_bytes, access_nj; /* the bytes of a memory access, and its energy */
	double core_watts;              /* power of the core with its caches while it runs */
};

/* The paper's core, with 16-bit elements. All members except core_watts are the paper's. */
extern const struct npl_simd npl_simd_chen2014;

struct npl_simd_layer {
	bool pools;           /* the loops pool; if false, they are products */
	bool private_kernels; /* every position has kernels of its own */
	int64_t in[NPL_SPATIAL], kernel[NPL_SPATIAL], stride[NPL_SPATIAL];
	int64_t ni, no; /* maps; equal where it pools */
};

/* The steps of an outer loop: output positions, and maps (of outputs; for pooling, of inputs). */
struct npl_simd_tiles {
	int64_t y, x, maps;
};

struct npl_simd_run {
	double operations, l1_misses, l2_misses; /* misses: lines */
	/* the bytes of the lines that are read, and of the results that are written */
	double memory_bytes;
	double cycles, seconds, joules;
	struct npl_simd_tiles tiles;
};

/* Runs the layer with these tiles. */
void npl_simd_run_tiles(const struct npl_simd *simd, const struct npl_simd_layer *layer,
			const struct npl_simd_tiles *tiles, struct npl_simd_run *run);
/* Runs the layer with the best tiles; powers of two and whole sizes are tried. */
void npl_simd_run(const struct npl_simd *simd, const struct npl_simd_layer *layer, struct npl_simd_run *run);

#endif
