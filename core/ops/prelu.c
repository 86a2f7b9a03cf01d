/* SPDX-License-Identifier: MIT
 *
 * PRelu: negative values times their slope. Slopes broadcast to the input; before opset 7 there is one, or one for each
 * channel, dimension 1. */
#include "loops.h"
#include "ops.h"

#define RECTIFY(dtype, type)  OP_LOOP(rectify, type, type, op_choose_##type(x < 0, x * y, x))
#define INTEGERS(dtype, type) OP_LOOP(rectify, type, type, x < 0 ? (uint64_t)x * (uint64_t)y : (uint64_t)x)
#define ENTRY(dtype, type)    [dtype] = rectify_##type,
OP_EACH_FLOAT(RECTIFY)
OP_EACH_SIGNED(INTEGERS)
static const struct op_loops loops = {{OP_EACH_FLOAT(ENTRY) OP_EACH_SIGNED(ENTRY)}};

OP_ATTRS(op_prelu_attrs)
{
	op_attr_accept(list, "consumed_inputs");
	return 0;
}

static struct npl_shape slope_shape(const struct npl_attrs *attrs, const struct npl_shape *x,
				    const struct npl_shape *slope)
{
	struct npl_shape shape = {.rank = x->rank};
	if (!op_before(attrs, 7) || slope->rank != 1 || x->rank < 2)
		return *slope;
	for (int i = 0; i < x->rank; i++)
		shape.dim[i] = i == 1 ? slope->dim[0] : 1;
	return shape;
}

OP_SHAPE(op_prelu_shape)
{
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err) || op_inputs(in, n_in, 2, in[0]->dtype, err))
		return NPL_EINPUT;
	if (!op_is_number(in[0]->dtype))
		return npl_fail(err, NPL_EINPUT, "inputs are %s, expected numbers", npl_dtype_name(in[0]->dtype));
	struct npl_shape slope = slope_shape(attrs, &in[0]->shape, &in[1]->shape);
	out->dtype = in[0]->dtype;
	out->shape = in[0]->shape;
	return op_broadcast_to(&in[1]->shape, &slope, &in[0]->shape, err);
}

OP_RUN(op_prelu_run)
{
	struct npl_shape slope = slope_shape(attrs, &in[0]->shape, &in[1]->shape);
	if (!loops.by_dtype[out->dtype])
		return op_copy_bytes(in[0], out); /* unsigned: none is negative */
	op_apply(&loops, out->dtype, &in[0]->shape, in[0]->data, &slope, in[1]->data, out);
	return 0;
}
