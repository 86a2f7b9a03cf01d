/* SPDX-License-Identifier: MIT
 *
 * Expand (broadcasts to a shape, both ways: the shape may have dimensions of 1 where the input has more) and Tile (the
 * whole tensor again and again along each dimension). Any type; the shape and the repeats are constant inputs. */
#include "core/base/message.h"
#include "ops.h"

OP_ATTRS(op_repeat_attrs)
{
	return 0;
}

static int expand_shape(const struct npl_shape *x, const int64_t *dims, int n, struct npl_shape *y, struct npl_err *err)
{
	struct npl_shape requested;
	return op_requested_shape(dims, n, &requested, err) ? err->code : op_broadcast_shape(x, &requested, y, err);
}

static int tile_shape(const struct npl_shape *x, const int64_t *repeats, int n, struct npl_shape *y,
		      struct npl_err *err)
{
	*y = *x;
	if (n != x->rank)
		return npl_fail(err, NPL_EINPUT, "%d repeat%s for the %d dimension%s of %s", n, npl_plural(n), x->rank,
				npl_plural(x->rank), OP_TEXT(x));
	for (int d = 0; d < n; d++)
		if (repeats[d] < 0 || __builtin_mul_overflow(x->dim[d], repeats[d], &y->dim[d]))
			return npl_fail(err, NPL_EINPUT, "dimension %d of %s is repeated %lld times", d, OP_TEXT(x),
					(long long)repeats[d]);
	return op_output_fits(y, 1, err);
}

OP_SHAPE(op_repeat_shape)
{
	bool expand = attrs->op == NPL_OP_EXPAND;
	int64_t values[NPL_MAX_RANK];
	int n;
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err) ||
	    op_input_dims(in[1], expand ? "shape" : "repeats", values, &n, err))
		return NPL_EINPUT;
	out->dtype = in[0]->dtype;
	return expand ? expand_shape(&in[0]->shape, values, n, &out->shape, err)
		      : tile_shape(&in[0]->shape, values, n, &out->shape, err);
}

OP_RUN(op_repeat_run)
{
	struct op_index_map map = {{NULL}};
	struct npl_tensor x = *in[0]; /* with the output's rank: dimensions of 1 before its own */
	int extra_rank = out->shape.rank - x.shape.rank;
	x.shape.rank = out->shape.rank;
	for (int d = 0; d < out->shape.rank; d++)
		x.shape.dim[d] = d < extra_rank ? 1 : in[0]->shape.dim[d - extra_rank];
	if (op_index_map_alloc(&map, &out->shape, err))
		return NPL_ENOMEM;
	for (int d = 0; d < out->shape.rank; d++)
		for (int64_t i = 0; i < out->shape.dim[d]; i++)
			map.from[d][i] = i % x.shape.dim[d];
	op_index_map_copy(&map, &x, NULL, out);
	op_index_map_free(&map);
	return 0;
}
