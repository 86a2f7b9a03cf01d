/* SPDX-License-Identifier: MIT
 *
 * QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: y = saturate(round_half_even(x / scale) + zero_point), its
 * inverse, and the first with scale and zero point from the data's own range. From opset 13 scale and zero point may be
 * vectors along an axis. */
#include <math.h>

#include "elements.h"
#include "ops.h"

int op_quantize_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	return op_attr_int(list, "axis", 1, &out->axis, err);
}

/* Scale and zero point: scalars, or vectors along the axis. */
static int check_parameters(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_err *err)
{
	const struct npl_shape *x = &in[0]->shape;
	const struct npl_tensor *zero = n_in > 2 ? in[2] : NULL;
	if (in[1]->dtype != NPL_F32)
		return npl_fail(err, NPL_EINPUT, "the scale is %s, expected float32", npl_dtype_name(in[1]->dtype));
	for (int k = 1; k < 3; k++) {
		const struct npl_tensor *p = k == 1 ? in[1] : zero;
		if (!p || (p->shape.rank <= 1 && npl_tensor_count(p) == 1))
			continue;
		if (op_before(attrs, 13))
			return npl_fail(err, NPL_EINPUT, "input %d is %s, but vectors came with opset 13", k,
					OP_TEXT(&p->shape));
		if (op_axis(&attrs->axis, x->rank, x->rank - 1, err))
			return NPL_EINPUT;
		if (p->shape.rank != 1 || p->shape.dim[0] != x->dim[attrs->axis])
			return npl_fail(err, NPL_EINPUT, "input %d is %s, expected a scalar or %lld values", k,
					OP_TEXT(&p->shape), (long long)x->dim[attrs->axis]);
	}
	if (zero && npl_tensor_count(zero) != npl_tensor_count(in[1]))
		return npl_fail(err, NPL_EINPUT, "the scale is %s, the zero point %s", OP_TEXT(&in[1]->shape),
				OP_TEXT(&zero->shape));
	return 0;
}

int op_quantize_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		      int n_out, struct npl_err *err)
{
	(void)n_out;
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err) || check_parameters(attrs, in, n_in, err))
		return NPL_EINPUT;
	const struct npl_tensor *zero = n_in > 2 ? in[2] : NULL;
	bool back = attrs->op == NPL_OP_DEQUANTIZELINEAR;
	enum npl_dtype x = in[0]->dtype, q = back ? x : zero ? zero->dtype : NPL_U8;
	if (q != NPL_U8 && q != NPL_I8 && !(back && q == NPL_I32))
		return npl_fail(err, NPL_EINPUT, "the quantised type is %s, expected uint8 or int8", npl_dtype_name(q));
	if (back && zero && zero->dtype != x)
		return npl_fail(err, NPL_EINPUT, "x is %s and its zero point %s", npl_dtype_name(x),
				npl_dtype_name(zero->dtype));
	if (!back && x != NPL_F32 && x != NPL_I32)
		return npl_fail(err, NPL_EINPUT, "x is %s, expected float32 or int32", npl_dtype_name(x));
	out->dtype = back ? NPL_F32 : q;
	out->shape = in[0]->shape;
	return 0;
}

/* To a value from its quotient by the scale, half to even. */
static int32_t quantised(float quotient, int32_t zero, enum npl_dtype dtype)
{
	float low = dtype == NPL_U8 ? 0 : -128, high = dtype == NPL_U8 ? 255 : 127;
	float q = rintf(quotient) + (float)zero;
	return (int32_t)(q > low ? q < high ? q : high : low); /* a NaN becomes the least */
}

static void put(struct npl_tensor *t, int64_t i, int32_t q)
{
	if (t->dtype == NPL_U8)
		((uint8_t *)t->data)[i] = (uint8_t)q;
	else
		((int8_t *)t->data)[i] = (int8_t)q;
}

int op_quantize_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		    int n_out, struct npl_err *err)
{
	(void)n_out;
	(void)err;
	const struct npl_tensor *x = in[0], *zero = n_in > 2 ? in[2] : NULL;
	bool back = attrs->op == NPL_OP_DEQUANTIZELINEAR;
	const float *scale = in[1]->data;
	int64_t vectors = npl_tensor_count(in[1]), inner = npl_tensor_count(x), outer = 1;
	if (vectors != 1) {
		outer = op_count(x->shape.dim, (int)attrs->axis);
		inner = op_count(x->shape.dim + attrs->axis + 1, x->shape.rank - (int)attrs->axis - 1);
	}
	int64_t i = 0;
	for (int64_t o = 0; o < outer; o++)
		for (int64_t v = 0; v < vectors; v++) {
			const int64_t z = zero ? op_whole(zero, v) : 0;
			for (int64_t end = i + inner; i < end; i++)
				if (back)
					((float *)out->data)[i] = (float)(op_whole(x, i) - z) * scale[v];
				else
					put(out, i,
					    quantised((float)npl_tensor_real(x, i) / scale[v], (int32_t)z, out->dtype));
		}
	return 0;
}

int op_dynamicquantize_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	(void)list;
	(void)out;
	(void)err;
	return 0;
}

int op_dynamicquantize_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
			     struct npl_tensor *out, int n_out, struct npl_err *err)
{
	(void)attrs;
	if (op_inputs(in, n_in, 1, NPL_F32, err))
		return NPL_EINPUT;
	for (int k = 0; k < n_out; k++) {
		out[k].dtype = k == 1 ? NPL_F32 : NPL_U8;
		out[k].shape = k == 0 ? in[0]->shape : (struct npl_shape){.rank = 0};
	}
	return 0;
}

int op_dynamicquantize_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
			   struct npl_tensor *out, int n_out, struct npl_err *err)
{
	(void)attrs;
	(void)n_in;
	(void)err;
	const float *x = in[0]->data;
	int64_t count = npl_tensor_count(in[0]);
	float low = 0, high = 0; /* the range always holds 0 */
	for (int64_t i = 0; i < count; i++) {
		low = x[i] < low ? x[i] : low;
		high = x[i] > high ? x[i] : high;
	}
	float scale = (high - low) / 255.0f;
	if (!(scale > 0)) /* nothing but zeros: any scale says so, and 1 divides by nothing */
		scale = 1.0f;
	int32_t zero = quantised((0 - low) / scale, 0, NPL_U8);
	for (int64_t i = 0; i < count; i++)
		((uint8_t *)out[0].data)[i] = (uint8_t)quantised(x[i] / scale, zero, NPL_U8);
	if (n_out > 1)
		*(float *)out[1].data = scale;
	if (n_out > 2)
		*(uint8_t *)out[2].data = (uint8_t)zero;
	return 0;
}
