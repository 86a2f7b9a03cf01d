/* SPDX-License-Identifier: MIT
 *
 * Softmax: exp(x - max) over its sum, in double. From opset 13 along one axis (default the last); before, over all
 * dimensions from the axis on (default 1) taken together, as if the tensor were a matrix. */
#include <math.h>

#include "ops.h"

int op_softmax_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	return op_attr_int(list, "axis", op_before(out, 13) ? 1 : -1, &out->axis, err);
}

int op_softmax_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		     int n_out, struct npl_err *err)
{
	(void)n_out;
	if (op_inputs(in, n_in, 1, NPL_F32, err))
		return NPL_EINPUT;
	int rank = in[0]->shape.rank;
	/* As a matrix, an axis behind the last dimension still has a meaning: rows of one element. */
	if (op_axis(&attrs->axis, rank, op_before(attrs, 13) ? rank : rank - 1, err))
		return NPL_EINPUT;
	out->dtype = NPL_F32;
	out->shape = in[0]->shape;
	return 0;
}

/* One vector of n values, `stride` apart. */
static void softmax(int64_t n, int64_t stride, const float *x, float *y)
{
	float most = -INFINITY;
	for (int64_t i = 0; i < n; i++)
		if (x[i * stride] > most || x[i * stride] != x[i * stride])
			most = x[i * stride];
	double sum = 0;
	for (int64_t i = 0; i < n; i++) {
		double e = op_exp((double)x[i * stride] - (double)most);
		y[i * stride] = (float)e;
		sum += e;
	}
	for (int64_t i = 0; i < n; i++)
		y[i * stride] = (float)((double)y[i * stride] / sum);
}

int op_softmax_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		   int n_out, struct npl_err *err)
{
	(void)n_in;
	(void)n_out;
	(void)err;
	const struct npl_shape *shape = &in[0]->shape;
	int axis = (int)attrs->axis;
	bool matrix = op_before(attrs, 13);
	int64_t outer = op_count(shape->dim, axis);
	int64_t n = matrix ? op_count(shape->dim + axis, shape->rank - axis) : shape->dim[axis];
	int64_t inner = matrix ? 1 : op_count(shape->dim + axis + 1, shape->rank - axis - 1);
	const float *x = in[0]->data;
	float *y = out->data;
	for (int64_t o = 0; o < outer; o++)
		for (int64_t i = 0; i < inner; i++)
			softmax(n, inner, x + o * n * inner + i, y + o * n * inner + i);
	return 0;
}
