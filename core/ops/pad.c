/* SPDX-License-Identifier: MIT
 *
 * Pad: puts a constant, the mirror image (without the edge itself), the edge or, from opset 19 on, the tensor again
 * around a tensor; a negative pad cuts elements off, before anything is mirrored or repeated. Pads and value are
 * attributes before opset 11, inputs from then on; opset 18 brought the axes that are padded. Numbers and bool. */
#include "cast.h"
#include "core/base/message.h"
#include "elements.h"
#include "ops.h"

OP_ATTRS(op_pad_attrs)
{
	static const char *const modes[] = {[NPL_PAD_MODE_CONSTANT] = "constant",
					    [NPL_PAD_MODE_REFLECT] = "reflect",
					    [NPL_PAD_MODE_EDGE] = "edge",
					    [NPL_PAD_MODE_WRAP] = "wrap",
					    NULL};
	int64_t pads[2 * NPL_MAX_RANK];
	out->pad.n = -1;
	if (op_attr_choice(list, "mode", modes, NPL_PAD_MODE_CONSTANT, &out->pad.mode, err))
		return NPL_EINPUT;
	if (out->pad.mode == NPL_PAD_MODE_WRAP && op_before(out, 19))
		return npl_fail(err, NPL_EINPUT, "attribute mode is 'wrap', which came with opset 19");
	if (!op_before(out, 11))
		return 0;
	if (op_attr_float(list, "value", 0, &out->pad.value, err) ||
	    op_attr_ints(list, "pads", 2 * NPL_MAX_RANK, pads, &out->pad.n, err))
		return NPL_EINPUT;
	if (out->pad.n < 0 || out->pad.n % 2)
		return npl_fail(err, NPL_EINPUT, "the attribute pads must have two values per dimension");
	for (int d = 0; d < out->pad.n / 2; d++) {
		out->pad.pad_begin[d] = pads[d];
		out->pad.pad_end[d] = pads[out->pad.n / 2 + d];
	}
	return 0;
}

/* Gives the dimensions that are padded: those that an input names, else all. */
static int read_axes(const struct npl_attrs *attrs, const struct npl_tensor *axes_input, int rank, int64_t *axes,
		     int *n, struct npl_err *err)
{
	for (int d = 0; d < rank; d++)
		axes[d] = d;
	*n = rank;
	if (!axes_input)
		return 0;
	if (op_before(attrs, 18))
		return npl_fail(err, NPL_EINPUT, "axes as an input came with opset 18");
	return op_input_indices(axes_input, "axes", axes, n, err) || op_axes(axes, *n, rank, err) ? NPL_EINPUT : 0;
}

/* Reads the pads from opset 11 on: first all at the beginnings, then all at the ends. */
static int read_pads(struct npl_attrs *attrs, const struct npl_tensor *pads, const struct npl_tensor *axes_input,
		     int rank, struct npl_err *err)
{
	int64_t axes[NPL_MAX_RANK];
	int n;
	if (read_axes(attrs, axes_input, rank, axes, &n, err))
		return NPL_EINPUT;
	if (pads->dtype != NPL_I64 || npl_tensor_count(pads) != 2 * (int64_t)n || pads->shape.rank > 2)
		return npl_fail(err, NPL_EINPUT, "the pads must be %d int64 values, got %s %s", 2 * n,
				npl_dtype_name(pads->dtype), OP_TEXT(&pads->shape));
	if (n && !pads->data)
		return op_refuse_not_constant("pads", err);
	for (int d = 0; d < rank; d++)
		attrs->pad.pad_begin[d] = attrs->pad.pad_end[d] = 0;
	for (int i = 0; i < n; i++) {
		attrs->pad.pad_begin[axes[i]] = op_whole(pads, i);
		attrs->pad.pad_end[axes[i]] = op_whole(pads, n + i);
	}
	attrs->pad.n = 2 * rank;
	return 0;
}

/* Gives the part of a dimension that is left after negative pads. */
static void find_remaining(const struct npl_attrs *attrs, int d, int64_t size, int64_t *first, int64_t *end)
{
	*first = attrs->pad.pad_begin[d] < 0 ? -attrs->pad.pad_begin[d] : 0;
	*end = attrs->pad.pad_end[d] < 0 ? size + attrs->pad.pad_end[d] : size;
}

static int pad_dimension(const struct npl_attrs *attrs, int d, int64_t size, int64_t *padded, struct npl_err *err)
{
	int64_t begin = attrs->pad.pad_begin[d], end_pad = attrs->pad.pad_end[d], first, end;
	const int64_t limit = NPL_MAX_ELEMENTS;
	if (begin < -limit || begin > limit || end_pad < -limit || end_pad > limit || size + begin + end_pad < 0)
		return npl_fail(err, NPL_EINPUT, "pads of %lld and %lld do not fit dimension %d of %lld",
				(long long)begin, (long long)end_pad, d, (long long)size);
	find_remaining(attrs, d, size, &first, &end);
	if (attrs->pad.mode != NPL_PAD_MODE_CONSTANT && (begin > 0 || end_pad > 0) && end <= first)
		return npl_fail(err, NPL_EINPUT, "dimension %d has no element to pad with", d);
	*padded = size + begin + end_pad;
	return 0;
}

OP_SHAPE(op_pad_shape)
{
	bool inputs = !op_before(attrs, 11);
	if (op_inputs(in, n_in, inputs ? 2 : 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (!inputs && n_in > 1)
		return npl_fail(err, NPL_EINPUT, "pads as an input came with opset 11");
	const struct npl_shape *x = &in[0]->shape;
	if (inputs && read_pads(attrs, in[1], n_in > 3 ? in[3] : NULL, x->rank, err))
		return NPL_EINPUT;
	if (attrs->pad.n != 2 * x->rank)
		return npl_fail(err, NPL_EINPUT, "%d pad%s for the %d dimension%s of %s", attrs->pad.n,
				npl_plural(attrs->pad.n), x->rank, npl_plural(x->rank), OP_TEXT(x));
	if (n_in > 2 && in[2] && (in[2]->dtype != in[0]->dtype || npl_tensor_count(in[2]) != 1))
		return npl_fail(err, NPL_EINPUT, "the constant value is %s %s, expected one %s",
				npl_dtype_name(in[2]->dtype), OP_TEXT(&in[2]->shape), npl_dtype_name(in[0]->dtype));
	out->dtype = in[0]->dtype;
	out->shape = *x;
	for (int d = 0; d < x->rank; d++)
		if (pad_dimension(attrs, d, x->dim[d], &out->shape.dim[d], err))
			return NPL_EINPUT;
	return op_output_fits(&out->shape, 1, err);
}

/* Returns the position that position i, counted from the first element left of n, is copied from; -1: none. */
static int64_t source(enum npl_pad_mode mode, int64_t i, int64_t n)
{
	if (i >= 0 && i < n)
		return i;
	if (mode == NPL_PAD_MODE_CONSTANT)
		return -1;
	if (mode == NPL_PAD_MODE_WRAP)
		return (i % n + n) % n;
	if (mode == NPL_PAD_MODE_EDGE || n == 1)
		return i < 0 ? 0 : n - 1;
	int64_t period = 2 * (n - 1),
		index = (i % period + period) % period; /* longer than the tensor: mirrored back */
	return index < n ? index : period - index;
}

OP_RUN(op_pad_run)
{
	uint64_t element[1];
	struct npl_tensor value = {.dtype = out->dtype, .data = element};
	struct op_index_map map = {{NULL}};
	op_store_real(&value, 0, (double)attrs->pad.value);
	if (op_index_map_alloc(&map, &out->shape, err))
		return NPL_ENOMEM;
	for (int d = 0; d < out->shape.rank; d++) {
		int64_t first, end;
		find_remaining(attrs, d, in[0]->shape.dim[d], &first, &end);
		for (int64_t i = 0; i < out->shape.dim[d]; i++) {
			int64_t index = source(attrs->pad.mode, i - attrs->pad.pad_begin[d] - first, end - first);
			map.from[d][i] = index < 0 ? -1 : first + index;
		}
	}
	op_index_map_copy(&map, in[0], n_in > 2 && in[2] ? in[2]->data : value.data, out);
	op_index_map_free(&map);
	return 0;
}
