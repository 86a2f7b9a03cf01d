/* SPDX-License-Identifier: MIT
 *
 * Products by cuBLASLt (product.h). */
#include "product.h"

#include "backends/cuda/load/alignment.h"

int cu_blas_type(enum npl_dtype dtype)
{
	switch (dtype) {
	case NPL_F32:
		return CU_TYPE_F32;
	case NPL_F16:
		return CU_TYPE_F16;
	case NPL_BF16:
		return CU_TYPE_BF16;
	case NPL_I8:
		return CU_TYPE_I8;
	case NPL_I32:
		return CU_TYPE_I32;
	default:
		return -1;
	}
}

static bool in_integers(const struct cu_product_shape *shape)
{
	return shape->operands == NPL_I8;
}

static int set_int32(const struct cu_blas *blas, void *product, int attribute, int32_t value, struct npl_err *err)
{
	return cu_blas_try(blas, err, cublasLtMatmulDescSetAttribute, product_set,
			   (product, attribute, &value, sizeof value));
}

static int describe_product(const struct cu_blas *blas, const struct cu_product_shape *shape, void **product,
			    struct npl_err *err)
{
	const int compute = in_integers(shape) ? CU_COMPUTE_I32 : shape->tf32 ? CU_COMPUTE_TF32 : CU_COMPUTE_F32;
	const int epilogue = !shape->bias && !shape->relu
				     ? CU_EPILOGUE_NONE
				     : (shape->bias ? CU_EPILOGUE_BIAS : 0) | (shape->relu ? CU_EPILOGUE_RELU : 0);
	if (cu_blas_try(blas, err, cublasLtMatmulDescCreate, product_create,
			(product, compute, in_integers(shape) ? CU_TYPE_I32 : CU_TYPE_F32)) ||
	    set_int32(blas, *product, CU_PRODUCT_TRANSPOSE_A, shape->transposed_a, err) ||
	    set_int32(blas, *product, CU_PRODUCT_TRANSPOSE_B, shape->transposed_b, err) ||
	    set_int32(blas, *product, CU_PRODUCT_EPILOGUE, epilogue, err))
		return err->code;
	return 0;
}

static int describe_matrix(const struct cu_blas *blas, const struct cu_product_shape *shape, enum npl_dtype dtype,
			   int64_t rows, int64_t columns, int64_t ld, int64_t stride, void **matrix,
			   struct npl_err *err)
{
	const int32_t batch = (int32_t)shape->batch;
	if (cu_blas_try(blas, err, cublasLtMatrixLayoutCreate, matrix_create,
			(matrix, cu_blas_type(dtype), (uint64_t)rows, (uint64_t)columns, ld)))
		return err->code;
	if (batch <= 1)
		return 0;
	if (cu_blas_try(blas, err, cublasLtMatrixLayoutSetAttribute, matrix_set,
			(*matrix, CU_MATRIX_BATCH, &batch, sizeof batch)) ||
	    cu_blas_try(blas, err, cublasLtMatrixLayoutSetAttribute, matrix_set,
			(*matrix, CU_MATRIX_STRIDE, &stride, sizeof stride)))
		return err->code;
	return 0;
}

static int describe(const struct cu_blas *blas, struct cu_product *p, struct npl_err *err)
{
	const struct cu_product_shape *s = &p->shape;
	if (s->batch > INT32_MAX)
		return npl_fail(err, NPL_EDEVICE, "%lld products in one call, expected at most %d", (long long)s->batch,
				INT32_MAX);
	if (describe_product(blas, s, &p->product, err) ||
	    describe_matrix(blas, s, s->operands, s->transposed_a ? s->k : s->m, s->transposed_a ? s->m : s->k, s->ld_a,
			    s->stride_a, &p->a, err) ||
	    describe_matrix(blas, s, s->operands, s->transposed_b ? s->n : s->k, s->transposed_b ? s->k : s->n, s->ld_b,
			    s->stride_b, &p->b, err) ||
	    describe_matrix(blas, s, s->result, s->m, s->n, s->ld_d, s->stride_d, &p->d, err))
		return err->code;
	return 0;
}

static int prefer(const struct cu_blas *blas, const struct cu_product_shape *shape, void *preference,
		  struct npl_err *err)
{
	static const int alignments[] = {CU_PREFERENCE_ALIGNMENT_A, CU_PREFERENCE_ALIGNMENT_B,
					 CU_PREFERENCE_ALIGNMENT_C, CU_PREFERENCE_ALIGNMENT_D};
	const uint64_t workspace = CU_BLAS_WORKSPACE;
	const uint32_t alignment = (uint32_t)(shape->alignment && shape->alignment < CU_ALIGNMENT ? shape->alignment
												  : CU_ALIGNMENT);
	if (cu_blas_try(blas, err, cublasLtMatmulPreferenceSetAttribute, preference_set,
			(preference, CU_PREFERENCE_WORKSPACE, &workspace, sizeof workspace)))
		return err->code;
	for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++)
		if (cu_blas_try(blas, err, cublasLtMatmulPreferenceSetAttribute, preference_set,
				(preference, alignments[i], &alignment, sizeof alignment)))
			return err->code;
	return 0;
}

static int choose(const struct cu_blas *blas, struct cu_product *p, struct npl_err *err)
{
	const struct cu_product_shape *s = &p->shape;
	struct cu_heuristic heuristic = {0};
	void *preference = NULL;
	int returned = 0;
	int rc = cu_blas_try(blas, err, cublasLtMatmulPreferenceCreate, preference_create, (&preference));
	if (!rc)
		rc = prefer(blas, s, preference, err);
	int status = rc ? 0
			: blas->heuristic(blas->handle, p->product, p->a, p->b, p->d, p->d, preference, 1, &heuristic,
					  &returned);
	if (preference)
		blas->preference_destroy(preference);
	if (rc)
		return rc;
	if (status == CU_BLAS_NOT_SUPPORTED || (!status && (returned < 1 || heuristic.status)))
		return npl_fail(
			err, NPL_EDEVICE,
			"cuBLASLt has no way to make a product of %lld x %lld x %lld (m, n, k; %lld times) in %s on "
			"this GPU",
			(long long)s->m, (long long)s->n, (long long)s->k, (long long)(s->batch ? s->batch : 1),
			s->tf32 ? "tf32" : npl_dtype_name(s->operands));
	p->algorithm = heuristic.algorithm;
	p->workspace_bytes = heuristic.workspace_bytes;
	return cu_blas_result("cublasLtMatmulAlgoGetHeuristic", status, err);
}

int cu_product_open(const struct cu_blas *blas, const struct cu_product_shape *shape, struct cu_product *product,
		    struct npl_err *err)
{
	*product = (struct cu_product){.shape = *shape};
	if (shape->alpha >= 0 && shape->alpha <= 0)
		product->shape.alpha = 1;
	int rc = describe(blas, product, err);
	if (!rc)
		rc = choose(blas, product, err);
	if (rc)
		cu_product_close(blas, product);
	return rc;
}

void cu_product_close(const struct cu_blas *blas, struct cu_product *p)
{
	void *const matrices[] = {p->a, p->b, p->d};
	for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
		if (matrices[i])
			blas->matrix_destroy(matrices[i]);
	if (p->product)
		blas->product_destroy(p->product);
	*p = (struct cu_product){0};
}

static const void *pointer(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

int cu_product_run(const struct cu_blas *blas, struct cu_product *p, uint64_t a, uint64_t b, uint64_t bias, uint64_t d,
		   bool adds, uint64_t workspace, void *stream, struct npl_err *err)
{
	const struct cu_product_shape *s = &p->shape;
	const float alpha = s->alpha, beta = adds;
	const int32_t int_alpha = 1, int_beta = adds;
	const void *bias_at = pointer(bias);
	if (s->bias && cu_blas_try(blas, err, cublasLtMatmulDescSetAttribute, product_set,
				   (p->product, CU_PRODUCT_BIAS, &bias_at, sizeof bias_at)))
		return err->code;
	return cu_blas_try(blas, err, cublasLtMatmul, multiply,
			   (blas->handle, p->product, in_integers(s) ? (const void *)&int_alpha : &alpha, pointer(a),
			    p->a, pointer(b), p->b, in_integers(s) ? (const void *)&int_beta : &beta, pointer(d), p->d,
			    (void *)(uintptr_t)d, p->d, &p->algorithm, (void *)(uintptr_t)workspace, p->workspace_bytes,
			    stream));
}
