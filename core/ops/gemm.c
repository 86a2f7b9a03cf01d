/* SPDX-License-Identifier: MIT
 *
 * Gemm: y = alpha * a' * b' + beta * c, where ' is an optional transposition and c broadcasts to y. The product is
 * summed from zero in the order of k, then scaled, then beta * c is added. c is not read when beta is 0. c is
 * optional, as from opset 11, and broadcasts whether or not a model before opset 7 sets the attribute broadcast. */
#include <stdlib.h>

#include "ops.h"

OP_ATTRS(op_gemm_attrs)
{
	if (op_attr_float(list, "alpha", 1.0f, &out->gemm.alpha, err) ||
	    op_attr_float(list, "beta", 1.0f, &out->gemm.beta, err) ||
	    op_attr_flag(list, "transA", false, &out->gemm.trans_a, err) ||
	    op_attr_flag(list, "transB", false, &out->gemm.trans_b, err))
		return NPL_EINPUT;
	if (op_before(out, 7))
		op_attr_accept(list, "broadcast");
	return 0;
}

static int check_c(const struct npl_shape *c, const struct npl_shape *y, struct npl_err *err)
{
	bool fits = c->rank <= 2;
	for (int i = 0; i < c->rank && fits; i++) {
		int64_t size = y->dim[2 - c->rank + i];
		fits = c->dim[i] == size || c->dim[i] == 1;
	}
	if (!fits)
		return npl_fail(err, NPL_EINPUT, "C is %s, which does not broadcast to the output %s", OP_TEXT(c),
				OP_TEXT(y));
	return 0;
}

OP_SHAPE(op_gemm_shape)
{
	if (op_inputs(in, n_in, 2, NPL_F32, err))
		return NPL_EINPUT;
	const struct npl_shape *a = &in[0]->shape, *b = &in[1]->shape;
	if (a->rank != 2 || b->rank != 2)
		return npl_fail(err, NPL_EINPUT, "A %s and B %s must be matrices", OP_TEXT(a), OP_TEXT(b));
	int64_t depth = a->dim[!attrs->gemm.trans_a];
	if (depth != b->dim[attrs->gemm.trans_b])
		return npl_fail(err, NPL_EINPUT, "A is %s%s and B is %s%s: %lld columns do not meet %lld rows",
				OP_TEXT(a), attrs->gemm.trans_a ? " transposed" : "", OP_TEXT(b),
				attrs->gemm.trans_b ? " transposed" : "", (long long)depth,
				(long long)b->dim[attrs->gemm.trans_b]);
	out->dtype = NPL_F32;
	out->shape = npl_shape_of(2, a->dim[attrs->gemm.trans_a], b->dim[!attrs->gemm.trans_b]);
	if (op_output_fits(&out->shape, depth, err))
		return NPL_EINPUT;
	return n_in > 2 && in[2] ? check_c(&in[2]->shape, &out->shape, err) : 0;
}

OP_MACS(op_gemm_macs)
{
	return (uint64_t)npl_tensor_count(out) * (uint64_t)in[0]->shape.dim[!attrs->gemm.trans_a];
}

/* Returns a copy of a(depth,rows) as (rows,depth), since the product walks a by rows. NULL: memory is short. */
static float *transposed(const float *a, int64_t depth, int64_t rows)
{
	float *copy = malloc((size_t)(depth * rows) * sizeof *copy + 1);
	if (copy)
		op_turn_matrix(a, depth, rows, copy);
	return copy;
}

static void scale_and_add(const struct npl_attrs *attrs, const struct npl_tensor *c, struct npl_tensor *out)
{
	int64_t rows = out->shape.dim[0], cols = out->shape.dim[1];
	float *y = out->data;
	if (attrs->gemm.alpha != 1.0f)
		for (int64_t i = 0; i < rows * cols; i++)
			y[i] *= attrs->gemm.alpha;
	if (!c || attrs->gemm.beta == 0.0f)
		return;
	struct op_walk walk;
	op_walk_init(&walk, &out->shape, &out->shape, &c->shape);
	int64_t index[NPL_MAX_RANK] = {0}, unused = 0, from = 0, last = walk.rank - 1;
	const float *term = c->data;
	do {
		for (int64_t i = 0; i < walk.dim[last]; i++)
			*y++ += attrs->gemm.beta * term[from + i * walk.b[last]];
	} while (op_walk_next(&walk, 1, index, &unused, &from));
}

OP_RUN(op_gemm_run)
{
	int64_t rows = out->shape.dim[0], cols = out->shape.dim[1], depth = in[0]->shape.dim[!attrs->gemm.trans_a];
	float *a = NULL, *y = out->data;
	if (attrs->gemm.trans_a && !(a = transposed(in[0]->data, depth, rows)))
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lldx%lld transposed", (long long)rows,
				(long long)depth);
	for (int64_t i = 0; i < rows * cols; i++)
		y[i] = 0.0f;
	struct op_product product = {.rows = rows,
				     .cols = cols,
				     .depth = depth,
				     .a = a ? a : in[0]->data,
				     .a_stride = depth,
				     .y = y,
				     .y_stride = cols};
	struct op_matrix b = {in[1]->data, in[1]->shape.dim[1], attrs->gemm.trans_b};
	int code = op_product_matrix(&product, &b, err);
	free(a);
	if (!code && npl_tensor_count(out))
		scale_and_add(attrs, n_in > 2 ? in[2] : NULL, out);
	return code;
}
