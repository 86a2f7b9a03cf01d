/* SPDX-License-Identifier: MIT
 *
 * The Q6.10 matrix product of q16.h: packing, choice of the kernel, tiling. The arithmetic is in q16_tile.h. */
#include "npulab/q16.h"

#include <stdlib.h>
#include <string.h>

#include "npulab/tensor.h"
#include "q16_kernel.h"

static const struct npl_q16_kernel *const kernels[] = {&npl_q16_sse2, &npl_q16_avx2, &npl_q16_avx512};
#define N_KERNELS ((int)(sizeof kernels / sizeof kernels[0]))

int npl_q16_kernels(void)
{
	int n = 0;
	for (int i = 0; i < N_KERNELS; i++)
		n += kernels[i]->usable();
	return n;
}

/* The kernels are listed from what every processor has to what few have. */
static const struct npl_q16_kernel *choose(int kernel)
{
	int wanted = kernel ? kernel : npl_q16_kernels();
	for (int i = 0; i < N_KERNELS; i++)
		if (kernels[i]->usable() && --wanted == 0)
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

int npl_q16_pack(struct npl_q16_weights *weights, int64_t n, int64_t k, const int16_t *w, struct npl_err *err)
{
	npl_q16_weights_free(weights);
	int64_t blocks = (n + NPL_Q16_BLOCK - 1) / NPL_Q16_BLOCK, pairs = (k + 1) / 2;
	size_t bytes;
	if (!npl_mul_size((size_t)blocks * 2 * NPL_Q16_BLOCK * sizeof *w, (size_t)(pairs ? pairs : 1), &bytes) ||
	    !(weights->packed = aligned_alloc(64, bytes ? bytes : 64)))
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld x %lld packed 16-bit weights", (long long)n,
				(long long)k);
	memset(weights->packed, 0, bytes);
	weights->n = n;
	weights->k = k;
	weights->max_abs = max_magnitude(w, n * k);
	for (int64_t j = 0; j < n; j++) {
		int16_t *lane = weights->packed + j / NPL_Q16_BLOCK * pairs * 2 * NPL_Q16_BLOCK + j % NPL_Q16_BLOCK * 2;
		for (int64_t p = 0; p < k / 2; p++)
			memcpy(lane + p * 2 * NPL_Q16_BLOCK, w + j * k + 2 * p, 2 * sizeof *w);
		if (k % 2)
			lane[(pairs - 1) * 2 * NPL_Q16_BLOCK] = w[j * k + k - 1];
	}
	return 0;
}

void npl_q16_weights_free(struct npl_q16_weights *weights)
{
	free(weights->packed);
	*weights = (struct npl_q16_weights){0};
}

/* Rounded products can saturate only when the largest ones reach 2^25 - 512. */
static enum npl_q16_mode mode_for(enum npl_q16_product product, int64_t rows, const int16_t *x, int64_t x_stride,
				  const struct npl_q16_weights *weights)
{
	if (product == NPL_Q16_FULL)
		return NPL_Q16_SUM_FULL;
	int32_t max_x = 0;
	for (int64_t r = 0; r < rows; r++) {
		int32_t m = max_magnitude(x + r * x_stride, weights->k);
		max_x = m > max_x ? m : max_x;
	}
	return (int64_t)max_x * weights->max_abs + 512 < 1 << 25 ? NPL_Q16_SUM_ROUNDED : NPL_Q16_SUM_ROUNDED_COUNTED;
}

uint64_t npl_q16_gemm(const struct npl_q16_weights *weights, enum npl_q16_product product, int64_t rows,
		      const int16_t *x, int64_t x_stride, int64_t *sums, int kernel)
{
	const struct npl_q16_kernel *chosen = choose(kernel);
	enum npl_q16_mode mode = mode_for(product, rows, x, x_stride, weights);
	int64_t n = weights->n, pairs = (weights->k + 1) / 2;
	uint64_t saturated = 0;
	for (int64_t first = 0; first < n; first += NPL_Q16_BLOCK) {
		const int16_t *w = weights->packed + first * pairs * 2;
		size_t used = (size_t)(n - first < NPL_Q16_BLOCK ? n - first : NPL_Q16_BLOCK);
		for (int64_t r = 0; r < rows;) {
			int height = rows - r >= chosen->tile_rows ? chosen->tile_rows : 1;
			int64_t tile[NPL_Q16_MAX_TILE_ROWS * NPL_Q16_BLOCK] = {0};
			saturated += chosen->tile(mode, height, pairs, x + r * x_stride, x_stride, w, tile);
			for (int i = 0; i < height; i++, r++)
				memcpy(sums + r * n + first, tile + i * NPL_Q16_BLOCK, used * sizeof *sums);
		}
	}
	return saturated;
}
