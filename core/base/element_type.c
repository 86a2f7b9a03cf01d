/* SPDX-License-Identifier: MIT
 *
 * The element types of ONNX, TensorProto.DataType, by their numbers. */
#include <stddef.h>

#include "npulab/op.h"

#define EIGHT_BITS "quantise to INT8 or UINT8, or keep FLOAT16"

static const struct npl_element_type types[] = {
	{"UNDEFINED", NPL_DTYPES, "say which one it is"},
	{"FLOAT", NPL_F32, NULL},
	{"UINT8", NPL_U8, NULL},
	{"INT8", NPL_I8, NULL},
	{"UINT16", NPL_U16, NULL},
	{"INT16", NPL_I16, NULL},
	{"INT32", NPL_I32, NULL},
	{"INT64", NPL_I64, NULL},
	{"STRING", NPL_DTYPES, "turn text into numbers before the network"},
	{"BOOL", NPL_BOOL, NULL},
	{"FLOAT16", NPL_F16, NULL},
	{"DOUBLE", NPL_F64, NULL},
	{"UINT32", NPL_U32, NULL},
	{"UINT64", NPL_U64, NULL},
	{"COMPLEX64", NPL_DTYPES, "give real and imaginary parts as FLOAT"},
	{"COMPLEX128", NPL_DTYPES, "give real and imaginary parts as DOUBLE"},
	{"BFLOAT16", NPL_BF16, NULL},
	{"FLOAT8E4M3FN", NPL_DTYPES, EIGHT_BITS},
	{"FLOAT8E4M3FNUZ", NPL_DTYPES, EIGHT_BITS},
	{"FLOAT8E5M2", NPL_DTYPES, EIGHT_BITS},
	{"FLOAT8E5M2FNUZ", NPL_DTYPES, EIGHT_BITS},
	{"UINT4", NPL_DTYPES, EIGHT_BITS},
	{"INT4", NPL_DTYPES, EIGHT_BITS},
	{"FLOAT4E2M1", NPL_DTYPES, EIGHT_BITS},
};
#define N_TYPES (sizeof types / sizeof types[0])

const struct npl_element_type *npl_element_type(uint64_t number)
{
	return number < N_TYPES ? &types[number] : NULL;
}

int64_t npl_element_type_number(enum npl_dtype dtype)
{
	int64_t number = 0;
	while (types[number].dtype != dtype)
		number++;
	return number;
}
