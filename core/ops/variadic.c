/* SPDX-License-Identifier: MIT
 *
 * Sum, Mean, Min and Max of any number of inputs: the first two together, then each further one with the result so far.
 * They broadcast from opset 8. */
#include "core/base/dtype.h"
#include "loops.h"
#include "ops.h"

static const struct {
	const char *name;
	const struct op_loops *loops;
} variadic[NPL_OPS] = {
	[NPL_OP_SUM] = {"Sum", &op_add_loops},
	[NPL_OP_MEAN] = {"Mean", &op_add_loops},
	[NPL_OP_MIN] = {"Min", &op_min_loops},
	[NPL_OP_MAX] = {"Max", &op_max_loops},
};

OP_ATTRS(op_variadic_attrs)
{
	op_attr_accept(list, "consumed_inputs");
	return 0;
}

static int check_types(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_err *err)
{
	if (op_inputs(in, n_in, n_in > 1 ? n_in : 1, NPL_DTYPES, err) || op_inputs(in, n_in, n_in, in[0]->dtype, err))
		return NPL_EINPUT;
	bool mean = attrs->op == NPL_OP_MEAN;
	if (!op_is_number(in[0]->dtype) || (mean && npl_is_integer(in[0]->dtype)))
		return npl_fail(err, NPL_EINPUT, "inputs are %s, expected %s", npl_dtype_name(in[0]->dtype),
				mean ? "floats" : "numbers");
	return 0;
}

OP_SHAPE(op_variadic_shape)
{
	if (check_types(attrs, in, n_in, err))
		return NPL_EINPUT;
	struct npl_shape common = in[0]->shape;
	for (int i = 1; i < n_in; i++) {
		if (op_before(attrs, 8) && !npl_shape_equal(&common, &in[i]->shape))
			return npl_fail(err, NPL_EINPUT,
					"the shapes %s and %s differ, and %s broadcasts only from opset 8",
					OP_TEXT(&common), OP_TEXT(&in[i]->shape), variadic[attrs->op].name);
		struct npl_shape previous = common;
		if (op_broadcast_shape(&previous, &in[i]->shape, &common, err))
			return NPL_EINPUT;
	}
	out->dtype = in[0]->dtype;
	out->shape = common;
	return 0;
}

OP_RUN(op_variadic_run)
{
	const struct op_loops *loops = variadic[attrs->op].loops;
	if (n_in == 1)
		return op_copy_bytes(in[0], out);
	op_apply(loops, out->dtype, &in[0]->shape, in[0]->data, &in[1]->shape, in[1]->data, out);
	for (int i = 2; i < n_in; i++)
		op_apply(loops, out->dtype, &out->shape, out->data, &in[i]->shape, in[i]->data, out);
	if (attrs->op != NPL_OP_MEAN)
		return 0;
	const struct npl_shape scalar = {.rank = 0};
	const float inputs = (float)n_in;
	const double wide = n_in;
	op_apply(&op_div_loops, out->dtype, &out->shape, out->data, &scalar,
		 out->dtype == NPL_F32 ? (const void *)&inputs : &wide, out);
	return 0;
}
