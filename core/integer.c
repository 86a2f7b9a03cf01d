/* SPDX-License-Identifier: MIT
 *
 * Elements, rounding, saturation and the function table of the integer rules (integer.h). */
#include "integer_impl.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/dtype.h"
#include "core/ops/ops.h"

int32_t integer_at(const struct npl_tensor *t, int64_t i)
{
	switch (t->dtype) {
	case NPL_U8:
		return ((const uint8_t *)t->data)[i];
	case NPL_I8:
		return ((const int8_t *)t->data)[i];
	case NPL_I16:
		return ((const int16_t *)t->data)[i];
	default:
		return ((const int32_t *)t->data)[i];
	}
}

int64_t integer_less_zero(const struct npl_tensor *t, int64_t i)
{
	return (int64_t)integer_at(t, i) - t->quant.zero_point;
}

int32_t *integer_elements(const struct npl_tensor *t)
{
	int64_t count = npl_tensor_count(t);
	int32_t *element = calloc((size_t)count + 1, sizeof *element);
	for (int64_t i = 0; element && i < count; i++)
		element[i] = (int32_t)integer_less_zero(t, i);
	return element;
}

void integer_put(struct npl_tensor *t, int64_t i, int32_t q)
{
	if (t->dtype == NPL_I32)
		((int32_t *)t->data)[i] = q;
	else if (t->dtype == NPL_I16)
		((int16_t *)t->data)[i] = (int16_t)q;
	else
		((uint8_t *)t->data)[i] = (uint8_t)q;
}

bool npl_activation_has_table(enum npl_activation activation)
{
	switch (activation) {
	case NPL_ACT_SIGMOID:
	case NPL_ACT_TANH:
		return true;
	case NPL_ACT_NONE:
	case NPL_ACT_RELU:
	case NPL_ACT_RELU6:
		break;
	}
	return false;
}

/* Returns the function that has a table at x. */
static double function_at(enum npl_activation function, double x)
{
	switch (function) {
	case NPL_ACT_SIGMOID:
		return op_logistic(x);
	case NPL_ACT_TANH:
		return op_tanh(x);
	case NPL_ACT_NONE:
	case NPL_ACT_RELU:
	case NPL_ACT_RELU6:
		break;
	}
	return 0;
}

void npl_function_points(enum npl_activation function, int16_t point[NPL_FUNCTION_POINTS])
{
	for (int i = 0; i < NPL_FUNCTION_POINTS; i++) {
		double x = (i - 128) / 16.0;
		double f = rint(function_at(function, x) * 32768.0);
		point[i] = (int16_t)(f > 32767.0 ? 32767.0 : f);
	}
}

int16_t npl_function_value(const int16_t point[NPL_FUNCTION_POINTS], int16_t q)
{
	int32_t index = q + 32768, i = index / 256, r = index % 256;
	int32_t sum = point[i] * (256 - r) + point[i + 1] * r + 128;
	return (int16_t)(sum >= 0 ? sum / 256 : -((255 - sum) / 256)); /* rounded down */
}

static int32_t saturate(float value, enum npl_dtype dtype, struct npl_integer_counts *counts)
{
	int32_t low = npl_dtype_min(dtype), high = npl_dtype_max(dtype);
	if (value >= (float)low && value <= (float)high)
		return (int32_t)value;
	counts->saturations++;
	return value > (float)high ? high : low;
}

void integer_finish_init(struct integer_finish *finish, enum npl_activation fused, const struct npl_tensor *out,
			 struct npl_integer_counts *counts)
{
	struct npl_integer_counts not_counted = {0};
	bool function = npl_activation_has_table(fused);
	float y_scale = out->quant.scale;
	*finish = (struct integer_finish){.scale = function ? 0x1p-12f : y_scale,
					  .fused = fused,
					  .dtype = out->dtype,
					  .zero = out->quant.zero_point,
					  .function_scale = 0x1p-15f / y_scale,
					  .counts = counts};
	if (fused == NPL_ACT_RELU6)
		finish->relu6 = saturate(rintf(6.0f / y_scale) + (float)finish->zero, out->dtype, &not_counted);
	if (function)
		npl_function_points(fused, finish->point);
}

int32_t integer_finish(const struct integer_finish *finish, float value)
{
	int32_t q;
	switch (finish->fused) {
	case NPL_ACT_SIGMOID:
	case NPL_ACT_TANH:
		q = saturate(rintf(value), NPL_I16, finish->counts);
		value = (float)npl_function_value(finish->point, (int16_t)q) * finish->function_scale;
		return saturate(rintf(value) + (float)finish->zero, finish->dtype, finish->counts);
	case NPL_ACT_RELU:
	case NPL_ACT_RELU6:
		value = rintf(value) + (float)finish->zero;
		if (value < (float)finish->zero)
			return finish->zero;
		if (finish->fused == NPL_ACT_RELU6 && value > (float)finish->relu6)
			return finish->relu6;
		return saturate(value, finish->dtype, finish->counts);
	case NPL_ACT_NONE:
		break;
	}
	return saturate(rintf(value) + (float)finish->zero, finish->dtype, finish->counts);
}

void npl_describe_int8x16(struct npl_device_info *info)
{
	/* the greatest sum of 32 bits over the greatest product of 8 bits */
	_Static_assert(INT32_MAX / (INT8_MAX * UINT8_MAX) == 66311, "the text below has this number");
	info->format = NPL_FORMAT_INT8X16;
	info->wrap_setting = "precision=int8";
	info->wrap_setting_effect = "makes activations smaller, so that sums of up to 66311 products fit";
}
