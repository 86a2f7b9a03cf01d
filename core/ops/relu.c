/* SPDX-License-Identifier: MIT
 *
 * Relu: negative values become zero, NaN passes. On quantised integers zero is the tensor's zero point. */
#include "ops.h"

int op_relu_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	(void)out;
	(void)err;
	op_attr_accept(list, "consumed_inputs");
	return 0;
}

int op_relu_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		  int n_out, struct npl_err *err)
{
	(void)attrs;
	(void)n_out;
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	enum npl_dtype dtype = in[0]->dtype;
	if (dtype != NPL_F32 && dtype != NPL_I8 && dtype != NPL_U8 && dtype != NPL_I16 && dtype != NPL_I32)
		return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected float32, int8, uint8, int16 or int32",
				npl_dtype_name(dtype));
	out->dtype = dtype;
	out->shape = in[0]->shape;
	return 0;
}

#define RECTIFY(type, zero)                                                                                            \
	do {                                                                                                           \
		const type *x = in[0]->data;                                                                           \
		type *y = out->data;                                                                                   \
		for (int64_t i = 0; i < count; i++)                                                                    \
			y[i] = x[i] < (zero) ? (type)(zero) : x[i];                                                    \
	} while (0)

int op_relu_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		int n_out, struct npl_err *err)
{
	(void)attrs;
	(void)n_in;
	(void)n_out;
	int64_t count = npl_tensor_count(out);
	int32_t zero = in[0]->quant.zero_point;
	switch (in[0]->dtype) {
	case NPL_F32:
		RECTIFY(float, 0.0f);
		return 0;
	case NPL_I8:
		RECTIFY(int8_t, zero);
		return 0;
	case NPL_U8:
		RECTIFY(uint8_t, zero);
		return 0;
	case NPL_I16:
		RECTIFY(int16_t, zero);
		return 0;
	case NPL_I32:
		RECTIFY(int32_t, zero);
		return 0;
	default:
		return npl_fail(err, NPL_EINTERNAL, "Relu has no kernel for %s", npl_dtype_name(in[0]->dtype));
	}
}
