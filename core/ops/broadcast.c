/* SPDX-License-Identifier: MIT
 *
 * Broadcasting as in numpy: shapes are aligned at their last dimension and a dimension of 1 repeats. */
#include "ops.h"

int op_broadcast_shape(const struct npl_shape *a, const struct npl_shape *b, struct npl_shape *out, struct npl_err *err)
{
	struct npl_shape common = {.rank = a->rank > b->rank ? a->rank : b->rank};
	for (int i = 1; i <= common.rank; i++) { /* counted from the end */
		int64_t da = i <= a->rank ? a->dim[a->rank - i] : 1;
		int64_t db = i <= b->rank ? b->dim[b->rank - i] : 1;
		if (da != db && da != 1 && db != 1)
			return npl_fail(err, NPL_EINPUT, "the shapes %s and %s do not broadcast", OP_TEXT(a),
					OP_TEXT(b));
		common.dim[common.rank - i] = da == 1 ? db : da;
	}
	*out = common;
	return op_output_fits(out, 1, err);
}

/* Computes the elements from one position to the next in each dimension of out; 0 where the operand repeats. */
static void strides(const struct npl_shape *out, const struct npl_shape *operand, int64_t stride[NPL_MAX_RANK])
{
	int64_t step = 1;
	for (int i = 1; i <= out->rank; i++) {
		int64_t dim = i <= operand->rank ? operand->dim[operand->rank - i] : 1;
		stride[out->rank - i] = dim == 1 ? 0 : step;
		step *= dim;
	}
}

void op_walk_init(struct op_walk *walk, const struct npl_shape *out, const struct npl_shape *a,
		  const struct npl_shape *b)
{
	int64_t stride_a[NPL_MAX_RANK], stride_b[NPL_MAX_RANK];
	strides(out, a, stride_a);
	strides(out, b, stride_b);
	*walk = (struct op_walk){.rank = 1, .dim = {1}};
	for (int i = 0, last = 0; i < out->rank; i++) {
		if (out->dim[i] == 1)
			continue;
		bool merges = walk->a[last] == stride_a[i] * out->dim[i] && walk->b[last] == stride_b[i] * out->dim[i];
		if (walk->dim[last] == 1)
			walk->dim[last] = out->dim[i];
		else if (merges)
			walk->dim[last] *= out->dim[i];
		else
			walk->dim[++last] = out->dim[i];
		walk->a[last] = stride_a[i];
		walk->b[last] = stride_b[i];
		walk->rank = last + 1;
	}
}

bool op_walk_next(const struct op_walk *walk, int inner, int64_t index[NPL_MAX_RANK], int64_t *offset_a,
		  int64_t *offset_b)
{
	for (int i = walk->rank - 1 - inner; i >= 0; i--) {
		*offset_a += walk->a[i];
		*offset_b += walk->b[i];
		if (++index[i] < walk->dim[i])
			return true;
		*offset_a -= walk->a[i] * walk->dim[i];
		*offset_b -= walk->b[i] * walk->dim[i];
		index[i] = 0;
	}
	return false;
}

void op_walk_at(const struct op_walk *walk, int64_t i, int64_t *offset_a, int64_t *offset_b)
{
	*offset_a = *offset_b = 0;
	for (int d = walk->rank - 1; d >= 0; d--) {
		*offset_a += i % walk->dim[d] * walk->a[d];
		*offset_b += i % walk->dim[d] * walk->b[d];
		i /= walk->dim[d];
	}
}
