/* SPDX-License-Identifier: MIT
 *
 * Clip: values below `min` become min, then those above `max` become max; NaN passes. The limits are attributes before
 * opset 11, optional scalar inputs from then on, of the data's type. Clip(0, 6) is what networks call ReLU6. */
#include <math.h>

#include "elements.h"
#include "ops.h"

OP_ATTRS(op_clip_attrs)
{
	out->clip.min = -INFINITY;
	out->clip.max = INFINITY;
	out->clip.known = true;
	if (!op_before(out, 11))
		return 0;
	op_attr_accept(list, "consumed_inputs");
	struct npl_attr *low, *high;
	if (op_attr_find(list, "min", NPL_ATTR_FLOAT, &low, err) ||
	    op_attr_find(list, "max", NPL_ATTR_FLOAT, &high, err))
		return NPL_EINPUT;
	if (low && op_attr_float(list, "min", 0, &out->clip.min, err))
		return NPL_EINPUT;
	return high ? op_attr_float(list, "max", 0, &out->clip.max, err) : 0;
}

/* Reads a limit from input k: its value, where it is constant. */
static int read_limit(const struct npl_tensor *const *in, int n_in, int k, const char *name, float *limit, bool *known,
		      struct npl_err *err)
{
	if (k >= n_in || !in[k])
		return 0;
	if (npl_tensor_count(in[k]) != 1 || in[k]->shape.rank > 1)
		return npl_fail(err, NPL_EINPUT, "%s is %s, expected a scalar", name, OP_TEXT(&in[k]->shape));
	*known = *known && in[k]->data;
	if (in[k]->data)
		*limit = (float)npl_tensor_real(in[k], 0);
	return 0;
}

OP_SHAPE(op_clip_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err) || op_inputs(in, n_in, 1, in[0]->dtype, err))
		return NPL_EINPUT;
	if (!op_is_number(in[0]->dtype))
		return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected numbers", npl_dtype_name(in[0]->dtype));
	if (op_before(attrs, 11) && n_in > 1)
		return npl_fail(err, NPL_EINPUT, "limits as inputs came with opset 11");
	out->dtype = in[0]->dtype;
	out->shape = in[0]->shape;
	if (op_before(attrs, 11))
		return 0;
	attrs->clip.known = true;
	if (read_limit(in, n_in, 1, "min", &attrs->clip.min, &attrs->clip.known, err))
		return NPL_EINPUT;
	return read_limit(in, n_in, 2, "max", &attrs->clip.max, &attrs->clip.known, err);
}

/* Limits that are attributes are floats, as the data then is; a limit of infinity has no effect. */
#define CLIP(type, given)                                                                                              \
	do {                                                                                                           \
		const type *x = in[0]->data;                                                                           \
		type *y = out->data;                                                                                   \
		bool has_low = low || (given), has_high = high || (given);                                             \
		type least = low ? *(const type *)low->data : (given) ? (type)attrs->clip.min : (type)0;               \
		type most = high ? *(const type *)high->data : (given) ? (type)attrs->clip.max : (type)0;              \
		for (int64_t i = 0; i < count; i++) {                                                                  \
			type v = has_low && x[i] < least ? least : x[i];                                               \
			y[i] = has_high && v > most ? most : v;                                                        \
		}                                                                                                      \
	} while (0)

OP_RUN(op_clip_run)
{
	const struct npl_tensor *low = n_in > 1 ? in[1] : NULL, *high = n_in > 2 ? in[2] : NULL;
	int64_t count = npl_tensor_count(out);
#define CASE(element, type)                                                                                            \
	case element:                                                                                                  \
		CLIP(type, element == NPL_F32 || element == NPL_F64);                                                  \
		break;
	switch (out->dtype) {
		OP_EACH_NUMBER(CASE)
	default:
		break;
	}
	return 0;
}
