/* SPDX-License-Identifier: MIT
 *
 * Shapes and tensors of tensor.h: checked products, names and allocation. */
#include "npulab/tensor.h"
#include "dtype.h"
#include "half.h"
#include "message.h"
#include "npulab/budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	size_t size;
	enum { NONE, FLOAT, SIGNED, UNSIGNED, TRUTH } kind;
} dtypes[] = {
#define NPL_ELEMENT_TYPE(constant, name, bytes, kind, descr) {name, bytes, kind},
#include "npulab/element_types.def"
	{"no type", 0, NONE}, /* NPL_DTYPES */
};

/* The least and the greatest value of a kind of integers, by the bytes of a type; 0 beyond 16 bits. */
#define LEAST_FLOAT(bytes)       0
#define LEAST_TRUTH(bytes)       0
#define LEAST_UNSIGNED(bytes)    0
#define LEAST_SIGNED(bytes)      ((bytes) == 1 ? INT8_MIN : (bytes) == 2 ? INT16_MIN : 0)
#define GREATEST_FLOAT(bytes)    0
#define GREATEST_TRUTH(bytes)    0
#define GREATEST_UNSIGNED(bytes) ((bytes) == 1 ? UINT8_MAX : (bytes) == 2 ? UINT16_MAX : 0)
#define GREATEST_SIGNED(bytes)   ((bytes) == 1 ? INT8_MAX : (bytes) == 2 ? INT16_MAX : 0)

const int32_t npl_dtype_least[NPL_DTYPES] = {
#define NPL_ELEMENT_TYPE(constant, name, bytes, kind, descr) LEAST_##kind(bytes),
#include "npulab/element_types.def"
};
const int32_t npl_dtype_greatest[NPL_DTYPES] = {
#define NPL_ELEMENT_TYPE(constant, name, bytes, kind, descr) GREATEST_##kind(bytes),
#include "npulab/element_types.def"
};

size_t npl_dtype_size(enum npl_dtype dtype)
{
	return dtypes[dtype].size;
}

const char *npl_dtype_name(enum npl_dtype dtype)
{
	return dtypes[dtype].name;
}

bool npl_is_integer(enum npl_dtype dtype)
{
	return dtypes[dtype].kind == SIGNED || dtypes[dtype].kind == UNSIGNED;
}

bool npl_is_signed(enum npl_dtype dtype)
{
	return dtypes[dtype].kind == SIGNED;
}

bool npl_is_float(enum npl_dtype dtype)
{
	return dtypes[dtype].kind == FLOAT;
}

bool npl_shape_equal(const struct npl_shape *a, const struct npl_shape *b)
{
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	return true;
}

int64_t npl_shape_count(const struct npl_shape *shape)
{
	int64_t count = 1;
	if (shape->rank < 0 || shape->rank > NPL_MAX_RANK)
		return -1;
	for (int i = 0; i < shape->rank; i++)
		if (shape->dim[i] < 0 || __builtin_mul_overflow(count, shape->dim[i], &count) ||
		    count > NPL_MAX_ELEMENTS)
			return -1;
	return count;
}

const char *npl_shape_text(const struct npl_shape *shape, char *buf, size_t n)
{
	snprintf(buf, n, "%s", shape->rank ? "" : "scalar");
	for (int i = 0; i < shape->rank; i++)
		npl_append(buf, n, "x", "%lld", (long long)shape->dim[i]);
	return buf;
}

double npl_tensor_real(const struct npl_tensor *t, int64_t i)
{
#define REAL(dtype, type)                                                                                              \
	case dtype:                                                                                                    \
		return (double)((const type *)t->data)[i];
	switch (t->dtype) {
		REAL(NPL_F32, float)
		REAL(NPL_F64, double)
		REAL(NPL_I8, int8_t)
		REAL(NPL_U8, uint8_t)
		REAL(NPL_I16, int16_t)
		REAL(NPL_U16, uint16_t)
		REAL(NPL_I32, int32_t)
		REAL(NPL_U32, uint32_t)
		REAL(NPL_I64, int64_t)
		REAL(NPL_U64, uint64_t)
	case NPL_F16:
		return (double)npl_f16_to_float(((const uint16_t *)t->data)[i]);
	case NPL_BF16:
		return (double)npl_bf16_to_float(((const uint16_t *)t->data)[i]);
	default:
		return ((const uint8_t *)t->data)[i] != 0;
	}
}

bool npl_quant_equal(const struct npl_quant *a, const struct npl_quant *b)
{
	return !(a->scale < b->scale) && !(a->scale > b->scale) && a->zero_point == b->zero_point;
}

bool npl_tensor_quant_equal(const struct npl_tensor *a, const struct npl_tensor *b)
{
	return a->dtype == b->dtype && npl_quant_equal(&a->quant, &b->quant);
}

int64_t npl_tensor_count(const struct npl_tensor *tensor)
{
	return npl_shape_count(&tensor->shape);
}

size_t npl_tensor_bytes(const struct npl_tensor *tensor)
{
	int64_t count = npl_tensor_count(tensor);
	return count < 0 ? 0 : (size_t)count * npl_dtype_size(tensor->dtype);
}

int npl_tensor_alloc(struct npl_tensor *tensor, struct npl_err *err)
{
	int64_t count = npl_tensor_count(tensor);
	char text[128];
	if (count < 0)
		return npl_fail(err, NPL_EINPUT, "%s: the shape %s is not possible: at most %lld elements",
				tensor->name ? tensor->name : "tensor",
				npl_shape_text(&tensor->shape, text, sizeof text), (long long)NPL_MAX_ELEMENTS);
	size_t bytes = (size_t)count * npl_dtype_size(tensor->dtype);
	size_t padded = (bytes + 63) / 64 * 64;
	if (npl_budget_check(padded, tensor->name ? tensor->name : "tensor", err))
		return err->code;
	tensor->data = aligned_alloc(64, padded ? padded : 64);
	if (!tensor->data)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory for %zu bytes",
				tensor->name ? tensor->name : "tensor", bytes);
	memset(tensor->data, 0, padded ? padded : 64);
	tensor->owned = true;
	return 0;
}

void npl_tensor_free(struct npl_tensor *tensor)
{
	if (tensor->owned)
		free(tensor->data);
	tensor->data = NULL;
	tensor->owned = false;
}
