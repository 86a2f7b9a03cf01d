/* SPDX-License-Identifier: MIT
 *
 * The Q6.10 matrix product of q16.h: packing, choice of the kernel, tiling. The arithmetic is in tile.h.
 *
 * Rounded products are summed, and those that saturate are counted separately. Whether a product saturates is known
 * without computing it, because each weight has a limit for the magnitude of x. Two instructions compare and count a
 * vector of products, and this is done only if the greatest operands could saturate. */
#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "kernel.h"
#include "npulab/cpu_features.h"
#include "npulab/tensor.h"

static const struct npl_q16_kernel *const kernels[] = {&npl_q16_sse2, &npl_q16_avx2, &npl_q16_avx512,
						       &npl_q16_avx512_vnni};
#define N_KERNELS ((int)(sizeof kernels / sizeof kernels[0]))

int npl_q16_kernels(void)
{
	int n = 0;
	for (int i = 0; i < N_KERNELS; i++)
		n += npl_cpu_has(kernels[i]->required_features);
	return n;
}

/* Returns a kernel. The list is in order from the one that every processor has to the newest. */
static const struct npl_q16_kernel *choose(int kernel)
{
	int wanted = kernel ? kernel : npl_q16_kernels();
	for (int i = 0; i < N_KERNELS; i++)
		if (npl_cpu_has(kernels[i]->required_features) && --wanted == 0)
			return kernels[i];
	return kernels[0];
}

const char *npl_q16_kernel_name(int kernel)
{
	return choose(kernel)->name;
}

static int32_t max_magnitude(const int16_t *v, int64_t n)
{
	int16_t low = 0, high = 0;
	for (int64_t i = 0; i < n; i++) {
		low = v[i] < low ? v[i] : low;
		high = v[i] > high ? v[i] : high;
	}
	return -low > high ? -low : high;
}

/* Allocates 64-byte aligned values; NULL: out of memory. */
static int16_t *allot(int64_t rows, int64_t values_each)
{
	size_t bytes;
	if (!npl_mul_size((size_t)rows * sizeof(int16_t), (size_t)(values_each ? values_each : 1), &bytes) ||
	    bytes > SIZE_MAX - 63)
		return NULL;
	bytes = (bytes + 63) / 64 * 64;
	return aligned_alloc(64, bytes ? bytes : 64);
}

/* Packs weights for full products: each output's pair of k side by side. */
static void pack_full(int16_t *packed, int64_t n, int64_t k, int64_t pairs, const int16_t *w)
{
	for (int64_t j = 0; j < n; j++) {
		int16_t *lane = packed + j / NPL_Q16_BLOCK * pairs * 2 * NPL_Q16_BLOCK + j % NPL_Q16_BLOCK * 2;
		for (int64_t i = 0; i < k; i++)
			lane[i / 2 * 2 * NPL_Q16_BLOCK + i % 2] = w[j * k + i];
	}
}

/* Packs weights for rounded products: (w, 512). Of the 16 outputs of a pair of k the first half of the words has
 * outputs 0, 1, 4, 5, 8, 9, 12, 13, the second half 2, 3, 6, 7 and so on; packs_epi32 puts this order into that of the
 * outputs. */
static void pack_rounded(int16_t *packed, int64_t n, int64_t k, int64_t pairs, const int16_t *w)
{
	for (int64_t j = 0; j < npl_round_up_i64(n, NPL_Q16_BLOCK); j++) {
		const int64_t in_block = j % NPL_Q16_BLOCK, half = in_block / 2 % 2, four = in_block / 4;
		int16_t *lane = packed + j / NPL_Q16_BLOCK * pairs * 4 * NPL_Q16_BLOCK +
				2 * (half * NPL_Q16_BLOCK + four * 4 + in_block % 2 * 2);
		for (int64_t i = 0; i < 2 * pairs; i++) {
			int16_t *word = lane + i / 2 * 4 * NPL_Q16_BLOCK + i % 2 * 2;
			word[0] = (int16_t)(j < n && i < k ? w[j * k + i] : 0);
			word[1] = 1 << (NPL_Q16_FRACTION_BITS - 1);
		}
	}
}

int npl_q16_pack(struct npl_q16_weights *weights, enum npl_q16_product product, int64_t n, int64_t k, const int16_t *w,
		 struct npl_err *err)
{
	npl_q16_weights_free(weights);
	const int64_t pairs = (k + 1) / 2, blocks = npl_div_up_i64(n, NPL_Q16_BLOCK);
	const int64_t block = pairs * NPL_Q16_BLOCK * (product == NPL_Q16_FULL ? 2 : 4);
	struct npl_q16_weights packed = {.n = n, .k = k, .product = product, .max_abs = max_magnitude(w, n * k)};
	/* |x| is at most 2^15, so products can saturate only where the greatest |w| times 2^15 reaches
	 * NPL_Q16_SATURATES. Only then are limits needed. */
	const bool limited = product == NPL_Q16_ROUNDED && (int64_t)packed.max_abs << 15 >= NPL_Q16_SATURATES;
	packed.packed = allot(blocks, block);
	if (limited) { /* filled when they are needed */
		packed.limits = allot(2 * npl_round_up_i64(n, NPL_Q16_LANES), 2 * pairs);
		packed.least_limits = allot(2, 2 * pairs);
	}
	if (!packed.packed || (limited && (!packed.limits || !packed.least_limits))) {
		npl_q16_weights_free(&packed);
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld x %lld packed 16-bit weights", (long long)n,
				(long long)k);
	}
	if (product == NPL_Q16_FULL)
		memset(packed.packed, 0, (size_t)(blocks * block) * sizeof *packed.packed);
	(product == NPL_Q16_FULL ? pack_full : pack_rounded)(packed.packed, n, k, pairs, w);
	*weights = packed;
	return 0;
}

void npl_q16_weights_free(struct npl_q16_weights *weights)
{
	free(weights->packed);
	free(weights->limits);
	free(weights->least_limits);
	*weights = (struct npl_q16_weights){0};
}

/* Rows of x over one stretch of k: what the kernels work on at a time, with one block's weights in the first-level
 * cache. */
struct stretch {
	const struct npl_q16_kernel *kernel;
	const struct npl_q16_weights *weights;
	int64_t first, k; /* first index of k; number of values */
	int rows;
	const int16_t *x;
	int64_t x_stride;
	int64_t *sums;
	_Alignas(64) int32_t words[NPL_Q16_COUNT_ROWS * NPL_Q16_STRETCH];
};

static void prepare_rows(struct stretch *s)
{
	const bool full = s->weights->product == NPL_Q16_FULL;
	for (int r = 0; r < s->rows; r++) {
		const int16_t *x = s->x + r * s->x_stride;
		int32_t *word = s->words + (int64_t)r * NPL_Q16_STRETCH;
		int16_t *half = (int16_t *)word;
		if (s->k % 2)
			word[s->k] = full ? 0 : 1 << 16;
		if (!full)
			for (int64_t i = 0; i < s->k; i++)
				word[i] = (int32_t)((uint16_t)x[i] | 1u << 16);
		else
			for (int64_t i = 0; i < s->k; i++) {
				half[i / 2 * 4 + i % 2] = (int16_t)(x[i] >> 8);
				half[i / 2 * 4 + 2 + i % 2] = x[i] & 255;
			}
	}
}

static void sum_rows(const struct stretch *s)
{
	const struct npl_q16_weights *weights = s->weights;
	const int64_t pair = NPL_Q16_BLOCK * (weights->product == NPL_Q16_FULL ? 2 : 4), pairs = (weights->k + 1) / 2;
	for (int64_t first = 0; first < weights->n; first += NPL_Q16_BLOCK)
		for (int r = 0; r < s->rows; r += NPL_Q16_TILE_ROWS) {
			struct npl_q16_tile tile = {.product = weights->product,
						    .rows = (int)npl_min_i64(s->rows - r, NPL_Q16_TILE_ROWS),
						    .pairs = (s->k + 1) / 2,
						    .x = s->words + (int64_t)r * NPL_Q16_STRETCH,
						    .w = weights->packed + first / NPL_Q16_BLOCK * pairs * pair +
							 s->first / 2 * pair,
						    .sums = s->sums + r * weights->n + first,
						    .stride = weights->n,
						    .outputs = (int)npl_min_i64(weights->n - first, NPL_Q16_BLOCK)};
			s->kernel->tile(&tile);
		}
}

/* Makes the limits of all weights: for each k those of one sign of x, then of the other. The order of outputs does not
 * matter for counting. */
static void make_limits(struct npl_q16_weights *weights, const struct npl_q16_kernel *kernel)
{
	const int64_t lanes = npl_round_up_i64(weights->n, NPL_Q16_LANES),
		      blocks = npl_round_up_i64(weights->n, NPL_Q16_BLOCK);
	const int64_t pairs = (weights->k + 1) / 2;
	const int16_t *w = weights->packed;
	for (int64_t first = 0; first < blocks; first += NPL_Q16_BLOCK)
		for (int64_t p = 0; p < pairs; p++, w += 4 * NPL_Q16_BLOCK) {
			int16_t limit[2][2 * NPL_Q16_BLOCK];
			kernel->limits(w, limit);
			for (int i = 0; i < 4; i++) {
				int16_t *lane = weights->limits + (4 * p + i) * lanes + first;
				for (int j = 0; j < NPL_Q16_BLOCK; j++)
					lane[j] = limit[i % 2][2 * j + i / 2];
			}
		}
	for (int64_t i = 0; i < 4 * pairs; i++) {
		int16_t *lane = weights->limits + i * lanes, least = INT16_MAX;
		for (int64_t j = blocks; j < lanes; j++)
			lane[j] = INT16_MAX;
		for (int64_t j = 0; j < lanes; j++)
			least = lane[j] < least ? lane[j] : least;
		weights->least_limits[i] = least;
	}
	weights->limited = true;
}

static uint64_t count_rows(const struct stretch *s)
{
	const struct npl_q16_weights *weights = s->weights;
	const int64_t lanes = npl_round_up_i64(weights->n, NPL_Q16_LANES);
	uint64_t saturated = 0;
	for (int64_t first = 0; first < lanes; first += NPL_Q16_COUNT_MAX) {
		struct npl_q16_count count = {.rows = s->rows,
					      .k = s->k,
					      .x = s->x,
					      .x_stride = s->x_stride,
					      .limits = weights->limits + 2 * s->first * lanes + first,
					      .outputs = npl_min_i64(lanes - first, NPL_Q16_COUNT_MAX),
					      .stride = lanes,
					      .least_limits = weights->least_limits + 2 * s->first};
		saturated += s->kernel->count(&count);
	}
	return saturated;
}

/* Says whether the greatest magnitude of these rows times the greatest weight could saturate. */
static bool can_saturate(const struct npl_q16_weights *weights, int64_t rows, const int16_t *x, int64_t x_stride)
{
	int32_t most = 0;
	for (int64_t r = 0; r < rows && weights->limits; r++) {
		int32_t m = max_magnitude(x + r * x_stride, weights->k);
		most = m > most ? m : most;
	}
	return (int64_t)most * weights->max_abs >= NPL_Q16_SATURATES;
}

uint64_t npl_q16_gemm(struct npl_q16_weights *weights, int64_t rows, const int16_t *x, int64_t x_stride, int64_t *sums,
		      int kernel)
{
	const bool counted = can_saturate(weights, rows, x, x_stride);
	struct stretch s = {.kernel = choose(kernel), .weights = weights, .x_stride = x_stride};
	uint64_t saturated = 0;
	if (counted && !weights->limited)
		make_limits(weights, s.kernel);
	memset(sums, 0, (size_t)(rows * weights->n) * sizeof *sums);
	for (s.first = 0; s.first < weights->k; s.first += NPL_Q16_STRETCH) {
		s.k = npl_min_i64(weights->k - s.first, NPL_Q16_STRETCH);
		for (int64_t r = 0; r < rows; r += s.rows) {
			s.rows = (int)npl_min_i64(rows - r, NPL_Q16_COUNT_ROWS);
			s.x = x + r * x_stride + s.first;
			s.sums = sums + r * weights->n;
			prepare_rows(&s);
			sum_rows(&s);
			if (counted)
				saturated += count_rows(&s);
		}
	}
	return saturated;
}
