/* SPDX-License-Identifier: MIT
 *
 * The fake cuBLASLt (fake.h). It checks what the real library requires, and computes products by loops. Sums of floats
 * are in double, and sums of int8 in 32 bits, which wrap. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/load/blas_api.h"
#include "core/base/half.h"
#include "fake.h"

#define CU_CALL(result, member, symbol, parameters) result fake_##symbol parameters CU_FAKE_NAME(symbol);
#include "backends/cuda/load/blas_api.def"
#undef CU_CALL

enum { HANDLE = 0x0b1a5, PRODUCT, MATRIX, PREFERENCE };
enum { WORKSPACE = 4096 }; /* bytes that a product uses where the caller allows as many */

struct handle {
	int magic;
};
struct product {
	int magic, compute, scale;
	int32_t transposed_a, transposed_b, epilogue;
	const void *bias;
};
struct matrix {
	int magic, type;
	int64_t rows, columns, ld, stride;
	int32_t batch;
};
struct preference {
	int magic;
	uint64_t workspace;
	uint32_t alignment[4];
};

#define FAKE_CALL(symbol)                                                                                              \
	do {                                                                                                           \
		int code_ = cu_fake_fails(CU_FAKE_BLAS, #symbol);                                                      \
		if (code_)                                                                                             \
			return code_;                                                                                  \
	} while (0)
#define BAD(...) cu_fake_violation(CU_BLAS_INVALID_VALUE, __VA_ARGS__)

static bool has_magic(const void *object, int magic)
{
	return (object && *(const int *)object == magic) || BAD("a handle of cuBLASLt's that is none") < 0;
}

static void *make(int magic, size_t bytes, const char *object_kind)
{
	int *object = calloc(1, bytes);
	*object = magic;
	cu_fake_live(object_kind, 1);
	return object;
}

static int end(void *object, int magic, const char *object_kind)
{
	if (!has_magic(object, magic))
		return CU_BLAS_INVALID_VALUE;
	*(int *)object = 0;
	free(object);
	cu_fake_live(object_kind, -1);
	return 0;
}

size_t fake_cublasLtGetVersion(void)
{
	return 130000;
}

CU_BLAS_STATUS fake_cublasLtCreate(CU_BLAS *handle)
{
	FAKE_CALL(cublasLtCreate);
	if (!cu_fake_context())
		return cu_fake_violation(CU_BLAS_NOT_INITIALIZED, "cublasLtCreate without a context");
	*handle = make(HANDLE, sizeof(struct handle), "cuBLASLt handles");
	return 0;
}

CU_BLAS_STATUS fake_cublasLtDestroy(CU_BLAS handle)
{
	return end(handle, HANDLE, "cuBLASLt handles");
}

CU_BLAS_STATUS fake_cublasLtMatmulDescCreate(CU_PRODUCT *to, CU_COMPUTE compute, CU_TYPE scale)
{
	FAKE_CALL(cublasLtMatmulDescCreate);
	struct product *product = make(PRODUCT, sizeof *product, "product descriptions");
	product->compute = compute;
	product->scale = scale;
	product->epilogue = CU_EPILOGUE_NONE;
	*to = product;
	return 0;
}

CU_BLAS_STATUS fake_cublasLtMatmulDescDestroy(CU_PRODUCT product)
{
	return end(product, PRODUCT, "product descriptions");
}

CU_BLAS_STATUS fake_cublasLtMatmulDescSetAttribute(CU_PRODUCT at, CU_PRODUCT_ATTRIBUTE attribute, const void *value,
						   size_t bytes)
{
	struct product *product = at;
	FAKE_CALL(cublasLtMatmulDescSetAttribute);
	if (!has_magic(product, PRODUCT) || bytes != (attribute == CU_PRODUCT_BIAS ? sizeof(void *) : sizeof(int32_t)))
		return BAD("attribute %d of a product in %zu bytes", attribute, bytes);
	switch (attribute) {
	case CU_PRODUCT_TRANSPOSE_A:
		product->transposed_a = *(const int32_t *)value;
		return 0;
	case CU_PRODUCT_TRANSPOSE_B:
		product->transposed_b = *(const int32_t *)value;
		return 0;
	case CU_PRODUCT_EPILOGUE:
		product->epilogue = *(const int32_t *)value;
		return 0;
	case CU_PRODUCT_BIAS:
		memcpy(&product->bias, value, sizeof product->bias);
		return 0;
	default:
		return BAD("attribute %d of a product", attribute);
	}
}

CU_BLAS_STATUS fake_cublasLtMatrixLayoutCreate(CU_MATRIX *to, CU_TYPE type, uint64_t rows, uint64_t columns, int64_t ld)
{
	FAKE_CALL(cublasLtMatrixLayoutCreate);
	if (!rows || !columns || ld < (int64_t)rows)
		return BAD("a matrix of %zu x %zu with columns %lld apart", (size_t)rows, (size_t)columns,
			   (long long)ld);
	struct matrix *matrix = make(MATRIX, sizeof *matrix, "matrix layouts");
	matrix->type = type;
	matrix->rows = (int64_t)rows;
	matrix->columns = (int64_t)columns;
	matrix->ld = ld;
	matrix->batch = 1;
	*to = matrix;
	return 0;
}

CU_BLAS_STATUS fake_cublasLtMatrixLayoutDestroy(CU_MATRIX matrix)
{
	return end(matrix, MATRIX, "matrix layouts");
}

CU_BLAS_STATUS fake_cublasLtMatrixLayoutSetAttribute(CU_MATRIX at, CU_MATRIX_ATTRIBUTE attribute, const void *value,
						     size_t bytes)
{
	struct matrix *matrix = at;
	FAKE_CALL(cublasLtMatrixLayoutSetAttribute);
	if (!has_magic(matrix, MATRIX))
		return CU_BLAS_INVALID_VALUE;
	if (attribute == CU_MATRIX_BATCH && bytes == sizeof(int32_t) && *(const int32_t *)value > 0)
		matrix->batch = *(const int32_t *)value;
	else if (attribute == CU_MATRIX_STRIDE && bytes == sizeof(int64_t))
		matrix->stride = *(const int64_t *)value;
	else
		return BAD("attribute %d of a matrix in %zu bytes", attribute, bytes);
	return 0;
}

CU_BLAS_STATUS fake_cublasLtMatmulPreferenceCreate(CU_PREFERENCE *to)
{
	FAKE_CALL(cublasLtMatmulPreferenceCreate);
	struct preference *preference = make(PREFERENCE, sizeof *preference, "preferences");
	for (int i = 0; i < 4; i++)
		preference->alignment[i] = 256;
	*to = preference;
	return 0;
}

CU_BLAS_STATUS fake_cublasLtMatmulPreferenceDestroy(CU_PREFERENCE preference)
{
	return end(preference, PREFERENCE, "preferences");
}

CU_BLAS_STATUS fake_cublasLtMatmulPreferenceSetAttribute(CU_PREFERENCE at, CU_PREFERENCE_ATTRIBUTE attribute,
							 const void *value, size_t bytes)
{
	struct preference *preference = at;
	FAKE_CALL(cublasLtMatmulPreferenceSetAttribute);
	if (!has_magic(preference, PREFERENCE))
		return CU_BLAS_INVALID_VALUE;
	if (attribute == CU_PREFERENCE_WORKSPACE && bytes == sizeof(uint64_t))
		memcpy(&preference->workspace, value, bytes);
	else if (attribute >= CU_PREFERENCE_ALIGNMENT_A && attribute <= CU_PREFERENCE_ALIGNMENT_D &&
		 bytes == sizeof(uint32_t))
		memcpy(&preference->alignment[attribute - CU_PREFERENCE_ALIGNMENT_A], value, bytes);
	else
		return BAD("attribute %d of a preference in %zu bytes", attribute, bytes);
	return 0;
}

static size_t unit(int type)
{
	return type == CU_TYPE_F32 || type == CU_TYPE_I32 ? 4 : type == CU_TYPE_I8 ? 1 : 2;
}

/* Whether NVIDIA's table of types and its rules for int8 allow the product. Returns 0, or the library's code. */
static int check(const struct product *p, const struct matrix *a, const struct matrix *b, const struct matrix *c,
		 const struct matrix *d)
{
	const int64_t m = d->rows, n = d->columns, k = p->transposed_a ? a->rows : a->columns;
	const bool integers = p->compute == CU_COMPUTE_I32;
	if (!has_magic(p, PRODUCT) || !has_magic(a, MATRIX) || !has_magic(b, MATRIX) || !has_magic(c, MATRIX) ||
	    !has_magic(d, MATRIX))
		return CU_BLAS_INVALID_VALUE;
	if ((p->transposed_a ? a->columns : a->rows) != m || (p->transposed_b ? b->rows : b->columns) != n ||
	    (p->transposed_b ? b->columns : b->rows) != k || c->rows != m || c->columns != n)
		return BAD("a product of matrices that do not meet");
	if (a->batch != d->batch || b->batch != d->batch || c->batch != d->batch)
		return BAD("a batch of %d, %d and %d products", a->batch, b->batch, d->batch);
	if (!integers)
		return a->type == b->type && (a->type == d->type || d->type == CU_TYPE_F32) && c->type == d->type &&
				       p->scale == CU_TYPE_F32 &&
				       (p->compute == CU_COMPUTE_F32 || a->type == CU_TYPE_F32)
			       ? 0
			       : CU_BLAS_NOT_SUPPORTED;
	if (cu_fake.no_int8)
		return CU_BLAS_NOT_SUPPORTED;
	if (a->type != CU_TYPE_I8 || b->type != CU_TYPE_I8 || d->type != CU_TYPE_I32 || p->scale != CU_TYPE_I32 ||
	    !p->transposed_a || p->transposed_b || m % 4 || k % 4 || a->ld % 4 || b->ld % 4 || d->ld % 4 ||
	    p->epilogue != CU_EPILOGUE_NONE)
		return BAD("int8 wants rows of 4: m %lld, k %lld, leads %lld, %lld, %lld", (long long)m, (long long)k,
			   (long long)a->ld, (long long)b->ld, (long long)d->ld);
	return 0;
}

CU_BLAS_STATUS fake_cublasLtMatmulAlgoGetHeuristic(CU_BLAS handle, CU_PRODUCT product, CU_MATRIX a, CU_MATRIX b,
						   CU_MATRIX c, CU_MATRIX d, CU_PREFERENCE at, int max_results,
						   CU_HEURISTIC *results, int *returned)
{
	const struct preference *preference = at;
	FAKE_CALL(cublasLtMatmulAlgoGetHeuristic);
	if (!has_magic(handle, HANDLE) || !has_magic(preference, PREFERENCE) || max_results < 1)
		return CU_BLAS_INVALID_VALUE;
	int code = check(product, a, b, c, d);
	*returned = 0;
	if (code)
		return code;
	if (((struct matrix *)a)->type == CU_TYPE_I8 && (preference->alignment[0] < 4 || preference->alignment[1] < 4))
		return BAD("int8 at addresses that are no multiples of 4");
	results[0] = (struct cu_heuristic){.workspace_bytes = preference->workspace < WORKSPACE ? 0 : WORKSPACE};
	for (int i = 0; i < 4; i++)
		results[0].algorithm.data[i] = preference->alignment[i];
	*returned = 1;
	return 0;
}

static double element(const void *base, int type, int64_t i)
{
	switch (type) {
	case CU_TYPE_F16:
		return npl_f16_to_float(((const uint16_t *)base)[i]);
	case CU_TYPE_BF16:
		return npl_bf16_to_float(((const uint16_t *)base)[i]);
	case CU_TYPE_I8:
		return ((const int8_t *)base)[i];
	case CU_TYPE_I32:
		return ((const int32_t *)base)[i];
	default:
		return ((const float *)base)[i];
	}
}

static void store_element(void *base, int type, int64_t i, double value)
{
	if (type == CU_TYPE_F16)
		((uint16_t *)base)[i] = npl_f16_of_double(value);
	else if (type == CU_TYPE_BF16)
		((uint16_t *)base)[i] = npl_bf16_of_float((float)value);
	else
		((float *)base)[i] = (float)value;
}

/* Rounds to TF32, which has 10 bits of the fraction. */
static double short_of(double value)
{
	uint32_t bits;
	float x = (float)value;
	memcpy(&bits, &x, sizeof bits);
	bits = (bits + 0xfff + (bits >> 13 & 1)) & ~UINT32_C(0x1fff);
	memcpy(&x, &bits, sizeof x);
	return x;
}

/* Bytes from the first to the last element. */
static size_t extent(const struct matrix *x)
{
	int64_t last = (x->batch - 1) * x->stride + (x->columns - 1) * x->ld + x->rows;
	return (size_t)last * unit(x->type);
}

struct operands {
	const struct product *p;
	const struct matrix *a, *b, *d;
	const char *at_a, *at_b;
	char *at_d;
};

static void multiply_integers(const struct operands *o, int64_t i, int64_t j, int64_t k, bool adds)
{
	const int8_t *a = (const int8_t *)o->at_a + i * o->a->ld, *b = (const int8_t *)o->at_b + j * o->b->ld;
	int32_t *d = (int32_t *)(void *)o->at_d + j * o->d->ld + i;
	uint32_t sum = adds ? (uint32_t)*d : 0;
	for (int64_t l = 0; l < k; l++)
		sum += (uint32_t)(a[l] * b[l]);
	*d = (int32_t)sum;
}

static void multiply_floats(const struct operands *o, int64_t i, int64_t j, int64_t k, float alpha, float beta)
{
	const struct product *p = o->p;
	const int64_t at = j * o->d->ld + i;
	double sum = 0;
	for (int64_t l = 0; l < k; l++) {
		double x = element(o->at_a, o->a->type, p->transposed_a ? i * o->a->ld + l : l * o->a->ld + i);
		double y = element(o->at_b, o->b->type, p->transposed_b ? l * o->b->ld + j : j * o->b->ld + l);
		sum += p->compute == CU_COMPUTE_TF32 ? short_of(x) * short_of(y) : x * y;
	}
	sum *= (double)alpha;
	if (beta > 0 || beta < 0)
		sum += (double)beta * element(o->at_d, o->d->type, at);
	if (p->epilogue != CU_EPILOGUE_NONE && p->epilogue & CU_EPILOGUE_BIAS)
		sum += element(p->bias, o->d->type, i);
	if (p->epilogue != CU_EPILOGUE_NONE && p->epilogue & CU_EPILOGUE_RELU && sum < 0)
		sum = 0;
	store_element(o->at_d, o->d->type, at, sum);
}

static int check_memory(const struct operands *o, const struct cu_algorithm *algorithm, const void *c,
			const void *workspace, size_t workspace_bytes)
{
	const uint64_t a = (uint64_t)(uintptr_t)o->at_a, b = (uint64_t)(uintptr_t)o->at_b,
		       d = (uint64_t)(uintptr_t)o->at_d, w = (uint64_t)(uintptr_t)workspace;
	if (a % algorithm->data[0] || b % algorithm->data[1] || d % algorithm->data[3])
		return BAD("operands are not aligned as they were promised to be");
	if (c != (const void *)o->at_d)
		return BAD("what is added to lies elsewhere");
	if (!cu_fake_holds(a, extent(o->a)) || !cu_fake_holds(b, extent(o->b)) || !cu_fake_holds(d, extent(o->d)))
		return BAD("a matrix of a product reaches beyond its memory");
	if (!cu_fake_holds(w, workspace_bytes) || w % 256)
		return BAD("a workspace that is none");
	if (o->p->epilogue != CU_EPILOGUE_NONE && o->p->epilogue & CU_EPILOGUE_BIAS &&
	    !cu_fake_holds((uint64_t)(uintptr_t)o->p->bias, (size_t)o->d->rows * unit(o->d->type)))
		return BAD("a bias reaches beyond its memory");
	return 0;
}

/* A product with copies of its descriptors, since a graph keeps them as they were when it was captured. */
struct multiplication {
	struct operands o;
	struct product p;
	struct matrix a, b, d;
	struct cu_algorithm algorithm;
	const void *c;
	void *workspace;
	size_t workspace_bytes;
	float alpha, beta;
	int32_t integer_beta;
};

static int multiply(struct multiplication *m)
{
	struct operands o = m->o;
	o.p = &m->p;
	o.a = &m->a;
	o.b = &m->b;
	o.d = &m->d;
	const bool integers = o.p->compute == CU_COMPUTE_I32;
	const int64_t k = o.p->transposed_a ? o.a->rows : o.a->columns;
	int code = check_memory(&o, &m->algorithm, m->c, m->workspace, m->workspace_bytes);
	if (code)
		return code;
	cu_fake_begin();
	memset(m->workspace, 0xcd, m->workspace_bytes);
	for (int32_t batch = 0; batch < o.d->batch && !cu_fake.no_values; batch++) {
		for (int64_t j = 0; j < o.d->columns; j++)
			for (int64_t i = 0; i < o.d->rows; i++)
				if (integers)
					multiply_integers(&o, i, j, k, m->integer_beta != 0);
				else
					multiply_floats(&o, i, j, k, m->alpha, m->beta);
		o.at_a += (size_t)o.a->stride * unit(o.a->type);
		o.at_b += (size_t)o.b->stride * unit(o.b->type);
		o.at_d += (size_t)o.d->stride * unit(o.d->type);
	}
	cu_fake_end();
	cu_fake.products++;
	cu_fake_seconds(3e-6 + (double)(o.d->rows * o.d->columns * k) * o.d->batch / cu_fake.macs_per_second);
	return 0;
}

static int replay_multiplication(void *data)
{
	return multiply(data);
}

CU_BLAS_STATUS fake_cublasLtMatmul(CU_BLAS handle, CU_PRODUCT product, const void *alpha, const void *a,
				   CU_MATRIX a_layout, const void *b, CU_MATRIX b_layout, const void *beta,
				   const void *c, CU_MATRIX c_layout, void *d, CU_MATRIX d_layout,
				   const CU_ALGORITHM *algorithm, void *workspace, size_t workspace_bytes,
				   CU_STREAM stream)
{
	FAKE_CALL(cublasLtMatmul);
	if (!has_magic(handle, HANDLE) || !cu_fake_stream(stream) || !cu_fake_context())
		return CU_BLAS_INVALID_VALUE;
	int code = check(product, a_layout, b_layout, c_layout, d_layout);
	if (code)
		return code;
	struct multiplication m = {.o = {.at_a = a, .at_b = b, .at_d = d},
				   .p = *(const struct product *)product,
				   .a = *(const struct matrix *)a_layout,
				   .b = *(const struct matrix *)b_layout,
				   .d = *(const struct matrix *)d_layout,
				   .algorithm = *algorithm,
				   .c = c,
				   .workspace = workspace,
				   .workspace_bytes = workspace_bytes};
	if (m.p.compute == CU_COMPUTE_I32) {
		m.integer_beta = *(const int32_t *)beta;
	} else {
		m.alpha = *(const float *)alpha;
		m.beta = *(const float *)beta;
	}
	if (!cu_fake_captures())
		return multiply(&m);
	return cu_fake.no_capture ? cu_fake_spoil() : cu_fake_keep(replay_multiplication, &m, sizeof m);
}

void *cu_fake_blas_symbol(const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} symbols[] = {
#define CU_CALL(result, member, symbol, parameters) {#symbol, (void (*)(void))fake_##symbol},
#include "backends/cuda/load/blas_api.def"
#undef CU_CALL
	};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (!strcmp(symbols[i].name, name)) {
			void *pointer;
			memcpy(&pointer, &symbols[i].function, sizeof pointer);
			return pointer;
		}
	return NULL;
}
