/* SPDX-License-Identifier: MIT
 *
 * MatMul with numpy's rules: the last two dimensions are matrices, those before broadcast; a one-dimensional operand is
 * a row (left) or a column (right) whose dimension of 1 leaves the result. Sums run in the order of k; float64 and the
 * integers of 32 and 64 bits, which wrap, are computed by plain loops. */
#include <string.h>

#include "ops.h"

OP_ATTRS(op_matmul_attrs)
{
	return 0;
}

struct op_stack op_stack_of(const struct npl_shape *shape, bool is_left)
{
	if (shape->rank == 1)
		return is_left ? (struct op_stack){.rows = 1, .cols = shape->dim[0]}
			       : (struct op_stack){.rows = shape->dim[0], .cols = 1};
	struct op_stack stack = {
		.rows = shape->dim[shape->rank - 2], .cols = shape->dim[shape->rank - 1], .batch = *shape};
	stack.batch.rank -= 2;
	return stack;
}

void op_stack_walk(struct op_walk *walk, const struct npl_shape *batch, const struct op_stack *a,
		   const struct op_stack *b)
{
	op_walk_init(walk, batch, &a->batch, &b->batch);
	for (int d = 0; d < walk->rank; d++) {
		walk->a[d] *= a->rows * a->cols;
		walk->b[d] *= b->rows * b->cols;
	}
}

int op_matmul_result(const struct npl_shape *a_shape, const struct npl_shape *b_shape, struct npl_shape *y,
		     struct npl_err *err)
{
	if (!a_shape->rank || !b_shape->rank)
		return npl_fail(err, NPL_EINPUT, "the operands %s and %s must not be scalars", OP_TEXT(a_shape),
				OP_TEXT(b_shape));
	struct op_stack a = op_stack_of(a_shape, true), b = op_stack_of(b_shape, false);
	if (a.cols != b.rows)
		return npl_fail(err, NPL_EINPUT, "%s times %s: %lld columns do not meet %lld rows", OP_TEXT(a_shape),
				OP_TEXT(b_shape), (long long)a.cols, (long long)b.rows);
	if (op_broadcast_shape(&a.batch, &b.batch, y, err))
		return NPL_EINPUT;
	if (a_shape->rank > 1)
		y->dim[y->rank++] = a.rows;
	if (b_shape->rank > 1)
		y->dim[y->rank++] = b.cols;
	return op_output_fits(y, a.cols, err);
}

/* Defines plain_TYPE, which computes y(rows,cols) = a(rows,depth) * b(depth,cols) into a zeroed y. */
#define DEFINE_PLAIN(type, wide)                                                                                       \
	static void plain_##type(int64_t rows, int64_t cols, int64_t depth, const void *left, const void *right,       \
				 void *product)                                                                        \
	{                                                                                                              \
		const type *a = left, *b = right;                                                                      \
		type *y = product;                                                                                     \
		for (int64_t i = 0; i < rows; i++)                                                                     \
			for (int64_t k = 0; k < depth; k++)                                                            \
				for (int64_t n = 0; n < cols; n++)                                                     \
					y[i * cols + n] = (type)((wide)y[i * cols + n] +                               \
								 (wide)a[i * depth + k] * (wide)b[k * cols + n]);      \
	}
DEFINE_PLAIN(double, double)
DEFINE_PLAIN(int32_t, uint64_t)
DEFINE_PLAIN(int64_t, uint64_t)
DEFINE_PLAIN(uint32_t, uint64_t)
DEFINE_PLAIN(uint64_t, uint64_t)

static const struct {
	void (*by_dtype[NPL_DTYPES])(int64_t rows, int64_t cols, int64_t depth, const void *a, const void *b, void *y);
} plain_products = {{[NPL_F64] = plain_double,
		     [NPL_I32] = plain_int32_t,
		     [NPL_I64] = plain_int64_t,
		     [NPL_U32] = plain_uint32_t,
		     [NPL_U64] = plain_uint64_t}};

OP_SHAPE(op_matmul_shape)
{
	bool plain = n_in > 0 && in[0] && plain_products.by_dtype[in[0]->dtype];
	if (op_inputs(in, n_in, 2, plain ? in[0]->dtype : NPL_F32, err) ||
	    op_matmul_result(&in[0]->shape, &in[1]->shape, &out->shape, err))
		return NPL_EINPUT;
	out->dtype = in[0]->dtype;
	const struct npl_tensor *bias = n_in > 2 ? in[2] : NULL;
	if (bias && (out->dtype != NPL_F32 || !out->shape.rank || bias->shape.rank != 1 ||
		     bias->shape.dim[0] != out->shape.dim[out->shape.rank - 1]))
		return npl_fail(err, NPL_EINPUT, "the bias is %s, expected one float32 for each column of %s",
				OP_TEXT(&bias->shape), OP_TEXT(&out->shape));
	return 0;
}

OP_MACS(op_matmul_macs)
{
	return (uint64_t)npl_tensor_count(out) * (uint64_t)op_stack_of(&in[0]->shape, true).cols;
}

static int float_product(const struct op_stack *a, const struct op_stack *b, const float *left, const float *right,
			 float *y, struct npl_err *err)
{
	struct op_product product = {.rows = a->rows,
				     .cols = b->cols,
				     .depth = a->cols,
				     .a = left,
				     .a_stride = a->cols,
				     .y = y,
				     .y_stride = b->cols};
	struct op_matrix matrix = {right, b->cols, false};
	return op_product_matrix(&product, &matrix, err);
}

static void add_bias(const float *bias, int64_t columns, float *y, int64_t count)
{
	for (int64_t i = 0; i < count; i += columns)
		for (int64_t j = 0; j < columns; j++)
			y[i + j] += bias[j];
}

OP_RUN(op_matmul_run)
{
	struct op_stack a = op_stack_of(&in[0]->shape, true), b = op_stack_of(&in[1]->shape, false);
	size_t element = npl_dtype_size(out->dtype);
	char *y = out->data;
	if (!npl_tensor_count(out))
		return 0;
	memset(y, 0, npl_tensor_bytes(out));
	if (npl_shape_count(&b.batch) == 1) { /* one right-hand matrix: all rows of a in one product */
		a.rows *= npl_shape_count(&a.batch);
		a.batch.rank = 0;
	}
	struct npl_shape batch;
	struct op_walk walk;
	if (op_broadcast_shape(&a.batch, &b.batch, &batch, err))
		return NPL_EINTERNAL;
	op_stack_walk(&walk, &batch, &a, &b);
	int64_t index[NPL_MAX_RANK] = {0}, a_at = 0, b_at = 0;
	do {
		const char *left = (const char *)in[0]->data + (size_t)a_at * element;
		const char *right = (const char *)in[1]->data + (size_t)b_at * element;
		if (out->dtype != NPL_F32)
			plain_products.by_dtype[out->dtype](a.rows, b.cols, a.cols, left, right, y);
		else if (float_product(&a, &b, (const float *)(const void *)left, (const float *)(const void *)right,
				       (float *)(void *)y, err))
			return NPL_ENOMEM;
		y += (size_t)(a.rows * b.cols) * element;
	} while (op_walk_next(&walk, 0, index, &a_at, &b_at));
	if (n_in > 2 && in[2])
		add_bias(in[2]->data, in[2]->shape.dim[0], out->data, npl_tensor_count(out));
	return 0;
}
