/* SPDX-License-Identifier: MIT
 *
 * A product of matrices by cuBLASLt, prepared once for its shape and run often. cuBLASLt stores matrices column by
 * column: d (m,n) = alpha * a (m,k) * b (k,n) + beta * d. A row of ours is a column of its, so y (rows,N) = x (rows,K)
 * * w (N,K)^T, each stored row by row, has m = N, n = rows, a = w transposed and b = x not transposed.
 */
#ifndef NPULAB_BACKENDS_CUDA_PRODUCTS_PRODUCT_H
#define NPULAB_BACKENDS_CUDA_PRODUCTS_PRODUCT_H

#include "backends/cuda/load/blas_api.h"
#include "npulab/tensor.h"

#define CU_BLAS_WORKSPACE ((size_t)32 << 20) /* bytes, as NVIDIA advises for Hopper */

struct cu_product_shape {
	enum npl_dtype operands, result; /* F32, F16 or BF16 for both, or F16 or BF16 and F32, or I8 and I32 */
	bool tf32;                       /* float32 operands may lose 13 bits on the way to the multiplier */
	int64_t m, n, k;
	int64_t ld_a, ld_b, ld_d; /* elements from one column to the next */
	bool transposed_a;        /* a is stored as (k,m) */
	bool transposed_b;        /* b is stored as (n,k) */
	int64_t batch, stride_a, stride_b,
		stride_d; /* the number of products, and elements from one matrix to the next (0: one matrix for all) */
	bool relu;        /* Relu is applied to the result */
	bool bias;        /* a bias (m) is added before Relu */
	float alpha;      /* 0 stands for 1 */
	uint64_t alignment; /* a power of two that divides all addresses of a run; 0: CU_ALIGNMENT */
};

struct cu_product {
	struct cu_product_shape shape;
	void *product, *a, *b, *d; /* cuBLASLt's descriptors */
	struct cu_algorithm algorithm;
	size_t workspace_bytes; /* at most CU_BLAS_WORKSPACE */
};

/* Returns cuBLASLt's number for a type of operands or results; -1, which cuBLASLt refuses: products have no such
 * type. */
int cu_blas_type(enum npl_dtype dtype);

/* Describes the product and takes the algorithm that cuBLASLt's heuristic proposes. NPL_EDEVICE: it proposes none. */
int cu_product_open(const struct cu_blas *blas, const struct cu_product_shape *shape, struct cu_product *product,
		    struct npl_err *err);
void cu_product_close(const struct cu_blas *blas, struct cu_product *product); /* accepts a zeroed one */

/* Queues the product in the stream: it is added to d if `adds`, else it is stored. `bias` is read if the shape has one;
 * the workspace has at least product->workspace_bytes. */
int cu_product_run(const struct cu_blas *blas, struct cu_product *product, uint64_t a, uint64_t b, uint64_t bias,
		   uint64_t d, bool adds, uint64_t workspace, void *stream, struct npl_err *err);

#endif
