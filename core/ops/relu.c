/* SPDX-License-Identifier: MIT
 *
 * Relu: negative values become zero, NaN passes. On quantised integers zero is the tensor's zero point. */
#include "elements.h"
#include "ops.h"

OP_ATTRS(op_relu_attrs)
{
	op_attr_accept(list, "consumed_inputs");
	return 0;
}

OP_SHAPE(op_relu_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	enum npl_dtype dtype = in[0]->dtype;
	if (!op_is_number(dtype))
		return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected numbers", npl_dtype_name(dtype));
	out->dtype = dtype;
	out->shape = in[0]->shape;
	return 0;
}

#define RECTIFY(element, type)                                                                                         \
	case element: {                                                                                                \
		const type *x = in[0]->data, zero = (type)in[0]->quant.zero_point;                                     \
		type *y = out->data;                                                                                   \
		for (int64_t i = 0; i < count; i++)                                                                    \
			y[i] = x[i] < zero ? zero : x[i];                                                              \
		return 0;                                                                                              \
	}

OP_RUN(op_relu_run)
{
	int64_t count = npl_tensor_count(out);
	switch (in[0]->dtype) {
		OP_EACH_NUMBER(RECTIFY)
	default:
		return npl_fail(err, NPL_EINTERNAL, "Relu has no kernel for %s", npl_dtype_name(in[0]->dtype));
	}
}
