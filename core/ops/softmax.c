/* SPDX-License-Identifier: MIT
 *
 * Softmax (exp(x - max) over its sum), LogSoftmax (its logarithm) and Hardmax (1 at the first greatest, 0 elsewhere), in
 * double. From opset 13 along one axis (default the last); before, over all dimensions from the axis on (default 1)
 * taken together, as if the tensor were a matrix. */
#include <math.h>

#include "exact_many.h"
#include "ops.h"

int op_softmax_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	return op_attr_int(list, "axis", op_before(out, 13) ? 1 : -1, &out->axis, err);
}

int op_softmax_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		     int n_out, struct npl_err *err)
{
	(void)n_out;
	bool wide = n_in > 0 && in[0] && in[0]->dtype == NPL_F64;
	if (op_inputs(in, n_in, 1, wide ? NPL_F64 : NPL_F32, err))
		return NPL_EINPUT;
	int rank = in[0]->shape.rank;
	/* As a matrix, an axis behind the last dimension still has a meaning: rows of one element. */
	if (op_axis(&attrs->axis, rank, op_before(attrs, 13) ? rank : rank - 1, err))
		return NPL_EINPUT;
	out->dtype = in[0]->dtype;
	out->shape = in[0]->shape;
	return 0;
}

#define PIECE 512 /* values that are taken at a time: they stay in the first cache */

/* One vector of n values, `stride` apart. The exponentials are summed in their order, whatever the pieces. */
#define DEFINE_VECTOR(type)                                                                                            \
	static void vector_##type(enum npl_op op, int64_t n, int64_t stride, const type *x, type *y)                   \
	{                                                                                                              \
		double piece[PIECE], sum = 0;                                                                          \
		type most = -INFINITY;                                                                                 \
		int64_t first = 0;                                                                                     \
		for (int64_t i = 0; i < n; i++)                                                                        \
			if (x[i * stride] > most || x[i * stride] != x[i * stride]) {                                  \
				most = x[i * stride];                                                                  \
				first = i;                                                                             \
			}                                                                                              \
		for (int64_t i = 0; i < n && op == NPL_OP_HARDMAX; i++)                                                \
			y[i * stride] = i == first;                                                                    \
		for (int64_t i = 0; i < n && op != NPL_OP_HARDMAX; i += PIECE) {                                       \
			int64_t m = n - i < PIECE ? n - i : PIECE;                                                     \
			for (int64_t k = 0; k < m; k++)                                                                \
				piece[k] = (double)x[(i + k) * stride] - (double)most;                                 \
			op_exact_many(OP_MANY_EXP, piece, piece, m);                                                   \
			for (int64_t k = 0; k < m; k++) {                                                              \
				y[(i + k) * stride] = (type)piece[k];                                                  \
				sum += piece[k];                                                                       \
			}                                                                                              \
		}                                                                                                      \
		double log_sum = op == NPL_OP_LOGSOFTMAX ? op_log(sum) : 0;                                            \
		for (int64_t i = 0; i < n && op != NPL_OP_HARDMAX; i++)                                                \
			if (op == NPL_OP_LOGSOFTMAX)                                                                   \
				y[i * stride] = (type)((double)x[i * stride] - (double)most - log_sum);                \
			else                                                                                           \
				y[i * stride] = (type)((double)y[i * stride] / sum);                                   \
	}
DEFINE_VECTOR(float)
DEFINE_VECTOR(double)

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
	for (int64_t o = 0; o < outer; o++)
		for (int64_t i = 0; i < inner; i++) {
			int64_t at = o * n * inner + i;
			if (out->dtype == NPL_F32)
				vector_float(attrs->op, n, inner, (const float *)in[0]->data + at,
					     (float *)out->data + at);
			else
				vector_double(attrs->op, n, inner, (const double *)in[0]->data + at,
					      (double *)out->data + at);
		}
	return 0;
}
