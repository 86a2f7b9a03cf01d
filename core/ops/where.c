/* SPDX-License-Identifier: MIT
 *
 * Where: elements of X where the condition holds, else of Y, all three broadcast. The output is written twice, once
 * where the condition holds and once where it does not. */
#include "ops.h"

OP_ATTRS(op_where_attrs)
{
	return 0;
}

OP_SHAPE(op_where_shape)
{
	if (op_inputs(in, n_in, 3, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (in[0]->dtype != NPL_BOOL)
		return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected bool", npl_dtype_name(in[0]->dtype));
	if (in[1]->dtype != in[2]->dtype)
		return npl_fail(err, NPL_EINPUT, "input 2 is %s, expected %s", npl_dtype_name(in[2]->dtype),
				npl_dtype_name(in[1]->dtype));
	struct npl_shape branches;
	out->dtype = in[1]->dtype;
	return op_broadcast_shape(&in[0]->shape, &in[1]->shape, &branches, err)
		       ? NPL_EINPUT
		       : op_broadcast_shape(&branches, &in[2]->shape, &out->shape, err);
}

/* Defines choose_TYPE, which sets y[i] = x[i] where the condition is `when`. */
#define CHOOSE(type)                                                                                                   \
	static void choose_##type(int64_t n, const uint8_t *condition, int64_t c_step, bool when, const void *from,    \
				  int64_t x_step, void *to)                                                            \
	{                                                                                                              \
		const type *x = from;                                                                                  \
		type *y = to;                                                                                          \
		for (int64_t i = 0; i < n; i++)                                                                        \
			if ((condition[i * c_step] != 0) == when)                                                      \
				y[i] = x[i * x_step];                                                                  \
	}
CHOOSE(uint8_t)
CHOOSE(uint16_t)
CHOOSE(uint32_t)
CHOOSE(uint64_t)

static void choose(const struct npl_tensor *condition, bool when, const struct npl_tensor *x, struct npl_tensor *out)
{
	size_t element = npl_dtype_size(out->dtype);
	void (*row)(int64_t, const uint8_t *, int64_t, bool, const void *, int64_t,
		    void *) = element == 1   ? choose_uint8_t
			      : element == 2 ? choose_uint16_t
			      : element == 4 ? choose_uint32_t
					     : choose_uint64_t;
	struct op_walk walk;
	op_walk_init(&walk, &out->shape, &condition->shape, &x->shape);
	int64_t index[NPL_MAX_RANK] = {0}, c_at = 0, x_at = 0, last = walk.rank - 1;
	char *y = out->data;
	do {
		row(walk.dim[last], (const uint8_t *)condition->data + c_at, walk.a[last], when,
		    (const char *)x->data + x_at * (int64_t)element, walk.b[last], y);
		y += walk.dim[last] * (int64_t)element;
	} while (op_walk_next(&walk, 1, index, &c_at, &x_at));
}

OP_RUN(op_where_run)
{
	if (npl_tensor_count(out) == 0)
		return 0;
	choose(in[0], true, in[1], out);
	choose(in[0], false, in[2], out);
	return 0;
}
