/* SPDX-License-Identifier: MIT
 *
 * Exact arithmetic of 16-bit fixed point with 10 fraction bits (Q6.10), as the DianNao family computes it. A tensor
 * holds int16 values q that stand for q * 2^(e - 10), one exponent e per tensor.
 *
 *     struct npl_q16_weights w = {0};
 *     if (npl_q16_pack(&w, NPL_Q16_ROUNDED, n, k, weights, &err)) ...
 *     saturated += npl_q16_gemm(&w, rows, x, x_stride, sums, 0);
 *     npl_q16_weights_free(&w);
 *
 * The sums are exact in 64 bits, so they do not depend on the order of additions, on the kernel or on the computer. A
 * machine with narrower registers wraps or saturates them itself.
 *
 * Rounded products saturate once |x * w| reaches 2^25: a quantiser that fills all 16 bits of both tensors clips most of
 * them (quantise.h leaves the room).
 */
#ifndef NPULAB_CORE_Q16_Q16_H
#define NPULAB_CORE_Q16_Q16_H

#include <stdbool.h>
#include <stdint.h>

#include "core/param_members.h"
#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ROUNDED: saturate16((x * w + 512) >> 10), 10 fraction bits, ties towards plus infinity. FULL: x * w, 20 fraction
 * bits. */
#define NPL_Q16_PRODUCTS(X) X(NPL_Q16_ROUNDED, "rounded") X(NPL_Q16_FULL, "full")
enum npl_q16_product { NPL_Q16_PRODUCTS(PARAM_CONSTANT) };

/* A weight matrix (n,k) in the order the kernels read: blocks of 16 outputs, within them pairs of k. */
struct npl_q16_weights {
	int64_t n, k;
	enum npl_q16_product product;
	int32_t max_abs; /* 0..32768 */
	/* The members from here on are for the kernels (core/q16/kernel.h). */
	int16_t *packed, *limits, *least_limits;
	bool limited; /* whether limits and least_limits have been made */
};

/* Packs w, (n,k) row-major, for one kind of product. Weights that were packed before are freed first; zero-initialise.
 * Returns 0 or NPL_ENOMEM. */
int npl_q16_pack(struct npl_q16_weights *weights, enum npl_q16_product product, int64_t n, int64_t k, const int16_t *w,
		 struct npl_err *err);
void npl_q16_weights_free(struct npl_q16_weights *weights); /* accepts a zeroed one */

/* Computes sums[r * n + j] = sum over k of product(x[r * x_stride + k], w[j][k]). Returns the number of products that
 * saturated (0 for full products). kernel is 0 for the fastest, else 1 to npl_q16_kernels(), for tests and
 * measurements. */
uint64_t npl_q16_gemm(struct npl_q16_weights *weights, int64_t rows, const int16_t *x, int64_t x_stride, int64_t *sums,
		      int kernel);

int npl_q16_kernels(void);                   /* how many kernels this processor can run, slowest first */
const char *npl_q16_kernel_name(int kernel); /* "avx512vnni", ...; 0 names the fastest */

#ifdef __cplusplus
}
#endif

#endif
