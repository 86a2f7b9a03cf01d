/* SPDX-License-Identifier: MIT
 *
 * A product of matrices by cuBLASLt, prepared once for its shape and run often. As cuBLASLt has it, matrices are column
 * by column: d (m,n) = alpha * a (m,k) * b (k,n) + beta * d. Rows of ours are its columns, so y (rows,N) = x (rows,K) *
 * w (N,K)^T, each row by row, is m = N, n = rows, a = w transposed, b = x plain.
 */
#ifndef NPULAB_BACKENDS_CUDA_PRODUCTS_PRODUCT_H
#define NPULAB_BACKENDS_CUDA_PRODUCTS_PRODUCT_H

#include "backends/cuda/load/blas_api.h"
#include "npulab/tensor.h"

#define CU_BLAS_WORKSPACE ((size_t)32 << 20) /* bytes: what NVIDIA advises for Hopper */

struct cu_product_shape {
	enum npl_dtype operands, result; /* F32, F16 or BF16 both, 16 bits and F32, or I8 and I32 */
	bool tf32;                       /* float32 operands may lose 13 bits on the way to the multiplier */
	int64_t m, n, k;
	int64_t ld_a, ld_b, ld_d; /* elements from column to column */
	bool transposed_a;        /* a lies as (k,m), */
	bool transposed_b;        /* b as (n,k) */
	int64_t batch, stride_a, stride_b,
		stride_d;   /* how many products, elements from one's to the next's; 0: the same matrix */
	bool relu;          /* on the result; */
	bool bias;          /* with bias, of m elements, added first */
	float alpha;        /* 0: 1 */
	uint64_t alignment; /* a power of two: all addresses, when it runs, are multiples of it; 0: CU_ALIGNMENT */
};

struct cu_product {
	struct cu_product_shape shape;
	void *product, *a, *b, *d; /* cuBLASLt's descriptions */
	struct cu_algorithm algorithm;
	size_t workspace_bytes; /* at most CU_BLAS_WORKSPACE */
};

/* cuBLASLt's number for a type of operands or results. */
int cu_blas_type(enum npl_dtype dtype);

/* Describes the product and asks cuBLASLt's heuristic for the way to make it. NPL_EDEVICE: it has none. */
int cu_product_open(const struct cu_blas *blas, const struct cu_product_shape *shape, struct cu_product *product,
		    struct npl_err *err);
void cu_product_close(const struct cu_blas *blas, struct cu_product *product); /* accepts a zeroed one */

/* Puts the product into the stream: adds to d, or makes it. `bias` where the shape has one; the workspace holds at
 * least product->workspace_bytes. */
int cu_product_run(const struct cu_blas *blas, struct cu_product *product, uint64_t a, uint64_t b, uint64_t bias,
		   uint64_t d, bool adds, uint64_t workspace, void *stream, struct npl_err *err);

#endif
