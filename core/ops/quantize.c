/* SPDX-License-Identifier: MIT
 *
 * QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: y = saturate(round_half_even(x / scale) + zero_point),
 * its inverse, and the first with scale and zero point from the data's own range. From opset 13 scale and zero point
 * may be vectors along an axis, from 19 floats of 16 bits, and from 21 the integers may have 16 bits. The quotient is
 * rounded to the type of the scale, or from opset 23 on to another that the model names. Not supported: 4-bit integers,
 * 8-bit floats, scales of blocks. */
#include <math.h>
#include <string.h>

#include "cast.h"
#include "core/base/dtype.h"
#include "core/base/half.h"
#include "elements.h"
#include "ops.h"

/* Reads a type by its number; 0 means absent. */
static int optional_type(struct npl_attr_list *list, const char *name, enum npl_dtype *type, struct npl_err *err)
{
	const struct npl_attr *attr;
	*type = NPL_DTYPES;
	for (int i = 0; i < list->n; i++) {
		attr = &list->attr[i];
		if (attr->type == NPL_ATTR_INT && attr->i == 0 && !strcmp(attr->name, name)) {
			op_attr_accept(list, name);
			return 0;
		}
	}
	return op_attr_type(list, name, type, err);
}

OP_ATTRS(op_quantize_attrs)
{
	const bool is_dequantise = out->op == NPL_OP_DEQUANTIZELINEAR;
	int64_t block = 0;
	out->quantise.to = out->quantise.precision = NPL_DTYPES;
	if (op_attr_int(list, "axis", 1, &out->quantise.axis, err))
		return NPL_EINPUT;
	if (!is_dequantise && !op_before(out, 19))
		op_attr_accept(list, "saturate"); /* concerns results in 8-bit floats, which npulab does not have */
	if (!op_before(out, 21) && op_attr_int(list, "block_size", 0, &block, err))
		return NPL_EINPUT;
	if (block)
		return npl_fail(
			err, NPL_EINPUT,
			"attribute block_size is %lld: a scale for each block is not supported, only one scale or one "
			"for each index along an axis",
			(long long)block);
	if (!op_before(out, is_dequantise ? 23 : 21) && optional_type(list, "output_dtype", &out->quantise.to, err))
		return NPL_EINPUT;
	if (!is_dequantise && npl_is_float32_or_half(out->quantise.to))
		return npl_fail(err, NPL_EINPUT, "attribute output_dtype is %s, expected uint8, int8, uint16 or int16",
				npl_dtype_name(out->quantise.to));
	return is_dequantise || op_before(out, 23) ? 0
						   : optional_type(list, "precision", &out->quantise.precision, err);
}

/* Checks scale and zero point: scalars, or vectors along the axis. */
static int check_parameters(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_err *err)
{
	const struct npl_shape *x = &in[0]->shape;
	const struct npl_tensor *zero = n_in > 2 ? in[2] : NULL;
	if (in[1]->dtype != NPL_F32 && (op_before(attrs, 19) || !npl_is_float32_or_half(in[1]->dtype)))
		return npl_fail(err, NPL_EINPUT, "the scale is %s, expected float32%s", npl_dtype_name(in[1]->dtype),
				npl_is_float32_or_half(in[1]->dtype) ? ": other floats came with opset 19" : "");
	for (int k = 1; k < 3; k++) {
		const struct npl_tensor *p = k == 1 ? in[1] : zero;
		if (!p || (p->shape.rank <= 1 && npl_tensor_count(p) == 1))
			continue;
		if (op_before(attrs, 13))
			return npl_fail(err, NPL_EINPUT, "input %d is %s, but vectors came with opset 13", k,
					OP_TEXT(&p->shape));
		if (op_axis(&attrs->quantise.axis, x->rank, x->rank - 1, err))
			return NPL_EINPUT;
		if (p->shape.rank != 1 || p->shape.dim[0] != x->dim[attrs->quantise.axis])
			return npl_fail(err, NPL_EINPUT, "input %d is %s, expected a scalar or %lld values", k,
					OP_TEXT(&p->shape), (long long)x->dim[attrs->quantise.axis]);
	}
	if (zero && npl_tensor_count(zero) != npl_tensor_count(in[1]))
		return npl_fail(err, NPL_EINPUT, "the scale is %s, the zero point %s", OP_TEXT(&in[1]->shape),
				OP_TEXT(&zero->shape));
	return 0;
}

/* Checks that q is a type of integers that stand for floats. */
static int check_integers(const struct npl_attrs *attrs, enum npl_dtype q, bool is_dequantise, struct npl_err *err)
{
	const bool wide = q == NPL_U16 || q == NPL_I16;
	if (npl_is_byte(q) || (is_dequantise && q == NPL_I32) || (wide && !op_before(attrs, 21)))
		return 0;
	return npl_fail(err, NPL_EINPUT, "the quantised type is %s, expected uint8 or int8%s", npl_dtype_name(q),
			wide ? ": 16 bits came with opset 21" : "");
}

static int find_integer_type(const struct npl_attrs *attrs, enum npl_dtype x, enum npl_dtype scale,
			     const struct npl_tensor *zero, enum npl_dtype *q, struct npl_err *err)
{
	const enum npl_dtype to = attrs->quantise.to, precision = attrs->quantise.precision;
	/* NPL_DTYPES: the model names no output_dtype. NPL_F32, which is 0: the attributes of a layer made by hand are
	 * zeroed. */
	const bool has_type = to != NPL_DTYPES && to != NPL_F32;
	*q = zero ? zero->dtype : has_type ? to : NPL_U8;
	if (has_type && to != *q)
		return npl_fail(err, NPL_EINPUT, "the zero point is %s and output_dtype %s", npl_dtype_name(*q),
				npl_dtype_name(to));
	if (x != NPL_I32 && (!npl_is_float32_or_half(x) || (x != NPL_F32 && op_before(attrs, 19))))
		return npl_fail(err, NPL_EINPUT, "x is %s, expected float32 or int32%s", npl_dtype_name(x),
				npl_is_float32_or_half(x) ? ": other floats came with opset 19" : "");
	if (x != scale && x != NPL_I32 && op_before(attrs, 23))
		return npl_fail(err, NPL_EINPUT, "x is %s and the scale %s: that they may differ came with opset 23",
				npl_dtype_name(x), npl_dtype_name(scale));
	if (precision != NPL_DTYPES && !npl_is_float32_or_half(precision))
		return npl_fail(err, NPL_EINPUT, "attribute precision is %s, expected float32, float16 or bfloat16",
				npl_dtype_name(precision));
	return check_integers(attrs, *q, false, err);
}

static int reals_type(const struct npl_attrs *attrs, enum npl_dtype q, enum npl_dtype scale,
		      const struct npl_tensor *zero, enum npl_dtype *real, struct npl_err *err)
{
	*real = attrs->quantise.to == NPL_DTYPES ? scale : attrs->quantise.to;
	if (zero && zero->dtype != q)
		return npl_fail(err, NPL_EINPUT, "x is %s and its zero point %s", npl_dtype_name(q),
				npl_dtype_name(zero->dtype));
	if (!npl_is_float32_or_half(*real))
		return npl_fail(err, NPL_EINPUT, "attribute output_dtype is %s, expected float32, float16 or bfloat16",
				npl_dtype_name(*real));
	return check_integers(attrs, q, true, err);
}

OP_SHAPE(op_quantize_shape)
{
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err) || check_parameters(attrs, in, n_in, err))
		return NPL_EINPUT;
	const struct npl_tensor *zero = n_in > 2 ? in[2] : NULL;
	out->shape = in[0]->shape;
	return attrs->op == NPL_OP_DEQUANTIZELINEAR
		       ? reals_type(attrs, in[0]->dtype, in[1]->dtype, zero, &out->dtype, err)
		       : find_integer_type(attrs, in[0]->dtype, in[1]->dtype, zero, &out->dtype, err);
}

/* Returns a value from its quotient by the scale, rounded half to even. */
static int32_t quantised(float quotient, int32_t zero, enum npl_dtype dtype)
{
	const float low = (float)npl_dtype_min(dtype), high = (float)npl_dtype_max(dtype);
	float q = rintf(quotient) + (float)zero;
	return (int32_t)(q > low ? q < high ? q : high : low); /* a NaN becomes the least value */
}

/* precision is one of which a float32 holds every value. */
static float rounded_to(enum npl_dtype precision, float x)
{
	if (precision == NPL_F32)
		return x;
	return precision == NPL_F16 ? npl_f16_to_float(npl_f16_of_float(x)) : npl_bf16_to_float(npl_bf16_of_float(x));
}

static void quantise(const struct npl_tensor *x, int64_t i, float scale, int64_t zero, enum npl_dtype precision,
		     struct npl_tensor *out)
{
	const float value = rounded_to(precision, (float)npl_tensor_real(x, i));
	const float quotient = rounded_to(precision, value / rounded_to(precision, scale));
	op_store_whole(out, i, (uint64_t)quantised(quotient, (int32_t)zero, out->dtype));
}

/* Computes in float32, and rounds to 16-bit floats once: the product is exact in double. */
static void dequantise(const struct npl_tensor *x, int64_t i, float scale, int64_t zero, struct npl_tensor *out)
{
	if (out->dtype == NPL_F32)
		((float *)out->data)[i] = (float)(op_whole(x, i) - zero) * scale;
	else
		op_store_real(out, i, (double)(op_whole(x, i) - zero) * (double)scale);
}

OP_RUN(op_quantize_run)
{
	const struct npl_tensor *x = in[0], *zero = n_in > 2 ? in[2] : NULL;
	bool is_dequantise = attrs->op == NPL_OP_DEQUANTIZELINEAR;
	const enum npl_dtype precision = attrs->quantise.precision == NPL_DTYPES ? in[1]->dtype
										 : attrs->quantise.precision;
	int64_t vectors = npl_tensor_count(in[1]), inner = npl_tensor_count(x), outer = 1;
	if (vectors != 1) {
		outer = op_count(x->shape.dim, (int)attrs->quantise.axis);
		inner = op_count(x->shape.dim + attrs->quantise.axis + 1,
				 x->shape.rank - (int)attrs->quantise.axis - 1);
	}
	int64_t i = 0;
	for (int64_t o = 0; o < outer; o++)
		for (int64_t v = 0; v < vectors; v++) {
			const int64_t z = zero ? op_whole(zero, v) : 0;
			const float scale = (float)npl_tensor_real(in[1], v);
			for (int64_t end = i + inner; i < end; i++)
				if (is_dequantise)
					dequantise(x, i, scale, z, out);
				else
					quantise(x, i, scale, z, precision, out);
		}
	return 0;
}

OP_ATTRS(op_dynamicquantize_attrs)
{
	return 0;
}

OP_SHAPE(op_dynamicquantize_shape)
{
	if (op_inputs(in, n_in, 1, NPL_F32, err))
		return NPL_EINPUT;
	for (int k = 0; k < n_out; k++) {
		out[k].dtype = k == 1 ? NPL_F32 : NPL_U8;
		out[k].shape = k == 0 ? in[0]->shape : (struct npl_shape){.rank = 0};
	}
	return 0;
}

OP_RUN(op_dynamicquantize_run)
{
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
