/* SPDX-License-Identifier: MIT
 *
 * Elements whatever their type (elements.h). */
#include "elements.h"

#include "cast.h"
#include "core/base/dtype.h"

bool op_is_number(enum npl_dtype dtype)
{
	return dtype == NPL_F32 || dtype == NPL_F64 || npl_is_integer(dtype);
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
	int64_t whole;
	double x = npl_tensor_real(tensor, i);
	op_narrow_reals(&x, 1, NPL_I64, &whole);
	return whole;
}
