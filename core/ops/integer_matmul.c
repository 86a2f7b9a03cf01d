/* SPDX-License-Identifier: MIT
 *
 * MatMulInteger and QLinearMatMul: MatMul's shapes on 8-bit operands. Zero points and scales are one for the operand or
 * one for each row of the first and each column of the second. */
#include <stdlib.h>

#include "elements.h"
#include "integer_operand.h"

OP_ATTRS(op_integermatmul_attrs)
{
	return 0;
}

OP_SHAPE(op_integermatmul_shape)
{
	const struct npl_integer_inputs *integer_inputs = npl_integer_inputs_of(attrs->op);
	if (op_inputs(in, n_in, integer_inputs->y_zero >= 0 ? integer_inputs->y_zero + 1 : 2, NPL_DTYPES, err))
		return NPL_EINPUT;
	const struct npl_shape *a = &in[integer_inputs->a]->shape, *b = &in[integer_inputs->b]->shape;
	if (op_matmul_result(a, b, &out->shape, err) ||
	    op_integer_check(attrs, in, n_in, a->rank > 1 ? a->dim[a->rank - 2] : 1,
			     b->rank > 1 ? b->dim[b->rank - 1] : 1, err))
		return NPL_EINPUT;
	out->dtype = integer_inputs->y_zero >= 0 ? in[integer_inputs->y_zero]->dtype : NPL_I32;
	return 0;
}

OP_MACS(op_integermatmul_macs)
{
	const struct npl_shape *a = &in[npl_integer_inputs_of(attrs->op)->a]->shape;
	return (uint64_t)npl_tensor_count(out) * (uint64_t)a->dim[a->rank - 1];
}

/* Returns the operand's elements less their zero points, to be freed: `matrices` of (rows, cols), each transposed where
 * asked. NULL: memory is short. */
static int16_t *elements(const struct npl_tensor *x, const struct npl_tensor *zero, int64_t matrices, int64_t rows,
			 int64_t cols, bool transposed)
{
	int16_t *copy = malloc((size_t)(matrices * rows * cols) * sizeof *copy + 1), *to = copy;
	for (int64_t m = 0, from = 0; copy && m < matrices; m++, to += rows * cols)
		for (int64_t i = 0; i < rows; i++)
			for (int64_t j = 0; j < cols; j++, from++)
				to[transposed ? j * rows + i : i * cols + j] =
					(int16_t)(op_whole(x, from) - op_integer_zero(zero, transposed ? j : i));
	return copy;
}

struct integer_matmul {
	const struct npl_tensor *a_scale, *b_scale, *y_scale, *y_zero;
	int64_t rows, cols, depth;
	struct npl_tensor *out;
};

static void multiply(const struct integer_matmul *m, const int16_t *a, const int16_t *b, int64_t to)
{
	float y_scale = op_integer_scale(m->y_scale, 0);
	int32_t y_zero = op_integer_zero(m->y_zero, 0);
	for (int64_t i = 0; i < m->rows; i++)
		for (int64_t j = 0; j < m->cols; j++, to++) {
			int32_t sum = op_integer_dot(a + i * m->depth, b + j * m->depth, m->depth);
			float scale = op_integer_scale(m->a_scale, i) * op_integer_scale(m->b_scale, j) / y_scale;
			op_integer_store(m->out, to, sum, scale, y_zero);
		}
}

OP_RUN(op_integermatmul_run)
{
	const struct npl_integer_inputs *integer_inputs = npl_integer_inputs_of(attrs->op);
	const struct npl_tensor *left = in[integer_inputs->a], *right = in[integer_inputs->b];
	struct op_stack a = op_stack_of(&left->shape, true), b = op_stack_of(&right->shape, false);
	struct integer_matmul m = {op_integer_input(in, n_in, integer_inputs->a_scale),
				   op_integer_input(in, n_in, integer_inputs->b_scale),
				   op_integer_input(in, n_in, integer_inputs->y_scale),
				   op_integer_input(in, n_in, integer_inputs->y_zero),
				   a.rows,
				   b.cols,
				   a.cols,
				   out};
	if (!npl_tensor_count(out))
		return 0;
	struct npl_shape batch;
	struct op_walk walk;
	int rc = op_broadcast_shape(&a.batch, &b.batch, &batch, err);
	int16_t *x = elements(left, op_integer_input(in, n_in, integer_inputs->a_zero), npl_shape_count(&a.batch),
			      a.rows, a.cols, false);
	int16_t *w = elements(right, op_integer_input(in, n_in, integer_inputs->b_zero), npl_shape_count(&b.batch),
			      b.rows, b.cols, true);
	if (!rc && (!x || !w))
		rc = npl_fail(err, NPL_ENOMEM, "out of memory for the operands");
	int64_t index[NPL_MAX_RANK] = {0}, a_at = 0, b_at = 0, y_at = 0;
	if (!rc) {
		op_walk_init(&walk, &batch, &a.batch, &b.batch);
		do {
			multiply(&m, x + a_at * a.rows * a.cols, w + b_at * b.rows * b.cols, y_at);
			y_at += a.rows * b.cols;
		} while (op_walk_next(&walk, 0, index, &a_at, &b_at));
	}
	free(x);
	free(w);
	return rc;
}
