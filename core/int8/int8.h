/* SPDX-License-Identifier: MIT
 *
 * Exact 8-bit integer products, shared by the simulated machines' values and the cpu device: operands u8 or i8, each
 * with a zero point, sums in 32-bit two's complement that wraps. Every kernel gives the same bits; the fastest that
 * this processor has is chosen at run time. Also the conversion of sums to 8 bits by the ONNX QLinearConv rule
 * (docs/integers.md). No function keeps state; any number of threads may call them.
 *
 *     struct npl_int8_product p = {
 *             .m = m, .n = n, .k = k,
 *             .a = {a, NPL_U8, a_zero, k, 1},   // (m,k) row-major
 *             .b = {b, NPL_I8, 0, k, 1},        // (n,k) row-major
 *             .c = c, .c_stride = n};           // (m,n)
 *     uint64_t overflows = 0;
 *     if (npl_int8_gemm(&p, &overflows, &err)) ...
 */
#ifndef NPULAB_CORE_INT8_INT8_H
#define NPULAB_CORE_INT8_INT8_H

#include "npulab/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An operand: vectors of k values. Value j of vector i is data[i * stride + j * k_stride]; one of the strides is 1. */
struct npl_int8_matrix {
	const void *data;
	enum npl_dtype dtype; /* NPL_U8 or NPL_I8 */
	int32_t zero_point;   /* subtracted from every value; it is in the type's range */
	int64_t stride, k_stride;
};

/* The product c[i * c_stride + j] = sum over k of (a(i,k) - a_zero) * (b(j,k) - b_zero), in 32 bits, wrapping. */
struct npl_int8_product {
	int64_t m, n, k;
	struct npl_int8_matrix a, b;
	int32_t *c;
	int64_t c_stride;
	/* The order in which a machine accumulates, so that additions that wrap can be counted: k is cut into segments
	 * of k_segment values, each segment into blocks of at most k_block (the last of a segment may be shorter). The
	 * sum of a block is one addition to the 32-bit accumulator. k_block 0: wrapping is not counted. k_block is at
	 * most NPL_INT8_MAX_BLOCK, so that a block's own sum cannot wrap. */
	int64_t k_segment, k_block;
	void *workspace; /* npl_int8_workspace bytes, 64-byte aligned; NULL: allocated and freed here */
	int64_t workspace_bytes;
	/* 0: the fastest for the shape. For tests and measurements: 1 to npl_int8_kernels(), or NPL_INT8_LIBRARY */
	int kernel;
};
#define NPL_INT8_LIBRARY   (-1)  /* oneDNN if it may be used and takes the product; else kernel 1 */
#define NPL_INT8_MAX_BLOCK 32768 /* 255 * 255 * 32768 = 2,130,739,200 < 2^31 */

/* Computes the product and adds the number of additions that wrapped to *overflows. NPL_ENOMEM; NPL_EINTERNAL: a
 * malformed product. */
int npl_int8_gemm(const struct npl_int8_product *product, uint64_t *overflows, struct npl_err *err);

/* Returns the bytes of workspace that suffice for products of this k (and k_block) with m and n up to these, with any
 * kernel. */
int64_t npl_int8_workspace(int64_t m, int64_t n, int64_t k, int64_t k_block);

/* Says whether any accumulation of the product could wrap, from its types, zero points and k alone. If false, the order
 * of the k values is free and nothing is counted. */
bool npl_int8_may_wrap(const struct npl_int8_product *product);

int npl_int8_kernels(void);                   /* how many kernels this processor can run */
const char *npl_int8_kernel_name(int kernel); /* "avx512-vnni", ...; 0 names the fastest */

/* Loads oneDNN at the first call (5 to 20 ms) and checks that its products are exact on this processor. Returns its
 * version and instruction set, "oneDNN 2.6.3, AVX-512 VNNI", or NULL with the reason in *reason (unless reason is
 * NULL). From then on kernel 0 uses oneDNN where it is faster. Results are the same with and without it. */
const char *npl_int8_library(const char **reason);

/* Adds bias[i * step] to acc[i], wrapping. step is 0 or 1. Returns how many additions wrapped. */
uint64_t npl_int8_add_bias(int32_t *acc, int64_t count, const int32_t *bias, int step);

/* Computes out[i] = saturate(round_half_even((float)acc[i] * scale[i * step]) + zero_point) as dtype (NPL_U8 or
 * NPL_I8). step is 0 or 1, scales are finite, and the caller's rounding mode is to nearest. Returns how many results
 * saturation changed. */
uint64_t npl_int8_requantise(const int32_t *acc, int64_t count, const float *scale, int step, int32_t zero_point,
			     enum npl_dtype dtype, void *out);

/* The conversion of sums to results in one pass: bias, Relu, requantisation. bias (NULL: none) and scale point to those
 * of the first result, and step says whether each result has its own (1) or all share one (0). With NPL_I32 the results
 * are the sums after bias and Relu, and scale is not read. acc is overwritten. For NPL_I32 out may be acc. */
struct npl_int8_finish {
	const int32_t *bias;
	const float *scale;
	int step;
	bool relu;
	int32_t zero_point;
	enum npl_dtype dtype; /* NPL_U8, NPL_I8 or NPL_I32 */
	bool has_limit; /* Relu6 to bytes, with relu: results above `limit` become it and do not count as saturated */
	int32_t limit;
};
struct npl_int8_counts {
	uint64_t overflows, saturations; /* additions that wrapped; results that saturation changed */
};
void npl_int8_finish(const struct npl_int8_finish *finish, int32_t *acc, int64_t count, void *out,
		     struct npl_int8_counts *counts);
/* Finishes `rows` rows of `count` results each; every row starts with the first bias and scale again. */
void npl_int8_finish_rows(const struct npl_int8_finish *finish, int32_t *acc, int64_t rows, int64_t count, void *out,
			  struct npl_int8_counts *counts);

/* npl_int8_quantise computes q = saturate(round_half_even(x / scale) + zero_point) as dtype (NPL_U8 or NPL_I8), and
 * adds the number of values that saturation changed to *saturations. It returns false if an x is NaN. The other
 * function is the reverse. */
bool npl_int8_quantise(const float *x, int64_t count, const struct npl_quant *quant, enum npl_dtype dtype, void *out,
		       uint64_t *saturations);
void npl_int8_dequantise(const void *in, int64_t count, const struct npl_quant *quant, enum npl_dtype dtype,
			 float *out);

/* Returns the scale of a channel in the order of operations of the rule: (x_scale * w_scale) / y_scale, each step in
 * float32. */
float npl_int8_scale(float x_scale, float w_scale, float y_scale);

#ifdef __cplusplus
}
#endif

#endif
