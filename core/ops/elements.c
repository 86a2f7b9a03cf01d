/* SPDX-License-Identifier: MIT
 *
 * Elements whatever their type (elements.h). */
#include "elements.h"

#include "npulab/half.h"

#define IS(dtype, type) case dtype:

bool op_is_integer(enum npl_dtype dtype)
{
	switch (dtype) {
		OP_EACH_INTEGER(IS)
		return true;
	default:
		return false;
	}
}

bool op_is_number(enum npl_dtype dtype)
{
	return dtype == NPL_F32 || dtype == NPL_F64 || op_is_integer(dtype);
}

double op_real(const struct npl_tensor *tensor, int64_t i)
{
#define REAL(dtype, type)                                                                                              \
	case dtype:                                                                                                    \
		return (double)((const type *)tensor->data)[i];
	switch (tensor->dtype) {
		OP_EACH_NUMBER(REAL)
	case NPL_F16:
		return (double)npl_f16_to_float(((const uint16_t *)tensor->data)[i]);
	case NPL_BF16:
		return (double)npl_bf16_to_float(((const uint16_t *)tensor->data)[i]);
	default:
		return ((const uint8_t *)tensor->data)[i] != 0;
	}
}

#define TWO_TO_63 9223372036854775808.0

/* The cast of a double that may be out of range is undefined in C. */
static int64_t cut(double x)
{
	return x > -TWO_TO_63 && x < TWO_TO_63 ? (int64_t)x : 0;
}

int64_t op_whole(const struct npl_tensor *tensor, int64_t i)
{
#define WHOLE(dtype, type)                                                                                             \
	case dtype:                                                                                                    \
		return (int64_t)((const type *)tensor->data)[i];
	switch (tensor->dtype) {
		OP_EACH_INTEGER(WHOLE)
	case NPL_BOOL:
		return ((const uint8_t *)tensor->data)[i] != 0;
	default:
		break;
	}
	return cut(op_real(tensor, i));
}

void op_set_real(const struct npl_tensor *tensor, int64_t i, double x)
{
#define SET(dtype, type)                                                                                               \
	case dtype:                                                                                                    \
		((type *)tensor->data)[i] = (type)cut(x);                                                              \
		break;
	switch (tensor->dtype) {
	case NPL_F32:
		((float *)tensor->data)[i] = (float)x;
		break;
	case NPL_F64:
		((double *)tensor->data)[i] = x;
		break;
	case NPL_F16:
		((uint16_t *)tensor->data)[i] = npl_f16_of_double(x);
		break;
	case NPL_BF16:
		((uint16_t *)tensor->data)[i] = npl_bf16_of_float((float)x);
		break;
		OP_EACH_INTEGER(SET)
	default:
		((uint8_t *)tensor->data)[i] = x != 0.0;
		break;
	}
}
