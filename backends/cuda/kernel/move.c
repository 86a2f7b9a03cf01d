/* SPDX-License-Identifier: MIT
 *
 * Runs operators that only move elements, of any type. All except Pad and the gathering ones copy along a walk from one
 * tensor to another (copy.cu); transposed matrices are copied by tiles (transpose.cu). */
#include <string.h>

#include "core/ops/cast.h"
#include "job.h"

static bool supports_any_type(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	if (layer->op == NPL_OP_DROPOUT && layer->n_further)
		return npl_refuse(reason, reason_bytes, "the GPU makes no mask of Dropout");
	return true;
}

/* Returns the widest unit, up to 16 bytes, of which the last dimension, all steps and both addresses are multiples, and
 * makes the walk one of units. */
static size_t widen(struct cu_walk *walk, size_t element, uint64_t x, uint64_t z)
{
	const int last = walk->rank - 1;
	size_t unit = 16;
	if (walk->step[0][last] != 1 || walk->step[1][last] != 1)
		return element;
	for (; unit > element; unit /= 2) {
		bool fits = x % unit == 0 && z % unit == 0 && (size_t)walk->dim[last].by * element % unit == 0;
		for (int d = 0; d < last; d++)
			fits = fits && (size_t)walk->step[0][d] * element % unit == 0 &&
			       (size_t)walk->step[1][d] * element % unit == 0;
		if (fits)
			break;
	}
	const int64_t elements = (int64_t)(unit / element);
	walk->dim[last] = cu_divisor_of(walk->dim[last].by / elements);
	for (int d = 0; d < last; d++) {
		walk->step[0][d] /= elements;
		walk->step[1][d] /= elements;
	}
	return unit;
}

/* Says whether a walk transposes a stack of matrices, z(m, a, b) = x(m, b, a), that are large enough for tiles to be
 * faster. */
static bool is_transpose(const struct cu_walk *walk, struct cu_transpose_args *args)
{
	enum { LEAST = 16 };
	const int last = walk->rank - 1;
	if (walk->rank < 2 || walk->rank > 3)
		return false;
	const int64_t a = walk->dim[last - 1].by, b = walk->dim[last].by;
	bool dense = walk->step[1][last] == 1 && walk->step[1][last - 1] == b;
	bool transposed = walk->step[0][last] == a && walk->step[0][last - 1] == 1;
	bool stacked = walk->rank == 2 || (walk->step[0][0] == a * b && walk->step[1][0] == a * b);
	args->matrices = walk->rank == 3 ? walk->dim[0].by : 1;
	args->rows = b;
	args->columns = a;
	return dense && transposed && stacked && a >= LEAST && b >= LEAST;
}

/* Copies along axes in units of `element` bytes or more; element 0: the macros name the types. */
static int copy_as(const struct cu_job *job, const struct cu_axes *axes, struct cu_macros *macros, size_t element,
		   uint64_t x, uint64_t z)
{
	struct cu_copy_args args = {.x = x, .z = z, .count = 1, .walk = cu_walk_of(axes)};
	struct cu_transpose_args transpose_args = {.x = x, .z = z};
	const int64_t elements = cu_product(axes->dim, axes->rank);
	if (!elements)
		return 0;
	const bool transposes = is_transpose(&args.walk, &transpose_args);
	if (element)
		cu_macro(macros, "UNIT=%s", cu_unit_name(transposes ? element : widen(&args.walk, element, x, z)));
	cu_macro_wide(job, macros, elements);
	if (transposes) {
		int64_t tiles = transpose_args.matrices * ((transpose_args.rows + 31) / 32) *
				((transpose_args.columns + 31) / 32);
		return cu_launch(job, "transpose", macros, &transpose_args, (struct cu_grid){tiles, 32, 8});
	}
	for (int d = 0; d < args.walk.rank; d++)
		args.count *= args.walk.dim[d].by;
	return cu_launch_each(job, "copy", macros, &args, args.count);
}

int cu_copy(const struct cu_job *job, const struct cu_axes *axes, size_t element, uint64_t x, uint64_t z)
{
	struct cu_macros macros = {""};
	return copy_as(job, axes, &macros, element, x, z);
}

int cu_turn(const struct cu_job *job, const struct cu_value *x, const struct cu_value *y)
{
	struct cu_axes axes = cu_axes_of(&y->shape);
	struct cu_macros macros = {""};
	cu_steps_of(&x->shape, x->channels_last, axes.step[0]);
	cu_steps_of(&y->shape, y->channels_last, axes.step[1]);
	cu_axes_order(&axes, y->channels_last);
	if (x->dtype == y->dtype)
		return cu_copy(job, &axes, npl_dtype_size(x->dtype), x->address, y->address);
	cu_macro(&macros, "UNIT=%s AS=%s", cu_type_name(x->dtype), cu_type_name(y->dtype));
	return copy_as(job, &axes, &macros, 0, x->address, y->address);
}

/* Returns the axes of DepthToSpace and SpaceToDepth: six dimensions of z with their steps in x
 * (core/ops/depth_space.c). */
static struct cu_axes blocks_of(const struct npl_layer *layer, const struct cu_value *in, const struct npl_shape *z)
{
	static const int from_outer[] = {0, 3, 4, 1, 5, 2}, from_inner[] = {0, 1, 4, 2, 5, 3},
			 to_outer[] = {0, 3, 5, 1, 2, 4};
	static const int parts_of_depth[] = {0, 1, 2, 2, 3, 3}, parts_of_space[] = {0, 1, 1, 1, 2, 3};
	const int64_t b = layer->attrs->depth_space.block, *xs = in->shape.dim, *zs = z->dim;
	const bool to_depth = layer->op == NPL_OP_SPACETODEPTH, outer = layer->attrs->depth_space.mode == NPL_DCR;
	const int64_t depth[] = {xs[0], xs[1], zs[2], b, zs[3], b}, space_outer[] = {xs[0], b, b, zs[1], xs[2], xs[3]},
		      space_inner[] = {xs[0], zs[1], b, b, xs[2], xs[3]};
	const int64_t *from = to_depth ? depth : outer ? space_outer : space_inner;
	const int *order = to_depth ? to_outer : outer ? from_outer : from_inner;
	const int *part = to_depth ? parts_of_depth : parts_of_space;
	struct cu_axes axes = {.rank = 6};
	int64_t step[6], next[NPL_MAX_RANK];
	cu_steps_of(&in->shape, in->channels_last, next);
	for (int d = 5; d >= 0; d--) {
		step[d] = next[part[d]];
		next[part[d]] *= from[d];
	}
	for (int d = 0; d < 6; d++) {
		axes.dim[d] = from[order[d]];
		axes.step[0][d] = step[order[d]];
	}
	cu_dense_steps(6, axes.dim, axes.step[1]);
	return axes;
}

/* Returns the axes of Tile, which has each dimension of x as two: the number of repetitions and the length. */
static struct cu_axes tiles_of(const struct cu_value *in, const struct npl_shape *z)
{
	const struct npl_shape *x = &in->shape;
	struct cu_axes axes = {.rank = 2 * z->rank};
	int64_t step[NPL_MAX_RANK];
	cu_steps_of(x, in->channels_last, step);
	for (int d = 0; d < z->rank; d++) {
		axes.dim[2 * d] = x->dim[d] ? z->dim[d] / x->dim[d] : 0;
		axes.dim[2 * d + 1] = x->dim[d];
		axes.step[0][2 * d + 1] = step[d];
	}
	cu_dense_steps(axes.rank, axes.dim, axes.step[1]);
	return axes;
}

static int run_slice(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *x,
		     const struct cu_value *z)
{
	const struct npl_slice_attrs *slice = &layer->attrs->slice;
	const size_t element = npl_dtype_size(z->dtype);
	struct cu_axes axes = cu_axes_of(&z->shape);
	int64_t step[NPL_MAX_RANK], first = 0;
	cu_steps_of(&x->shape, x->channels_last, step);
	cu_steps_of(&z->shape, z->channels_last, axes.step[1]);
	for (int d = 0; d < z->shape.rank; d++) {
		axes.step[0][d] = z->shape.dim[d] > 1 ? step[d] * slice->step[d] : 0;
		first += slice->first[d] * step[d];
	}
	cu_axes_order(&axes, z->channels_last);
	return cu_copy(job, &axes, element, x->address + (uint64_t)first * element, z->address);
}

/* Copies pieces between one tensor and its parts along an axis: Split reads the whole, Concat writes it. */
static int run_pieces(const struct cu_job *job, int axis, const struct cu_value *tensor, const struct cu_value *piece,
		      int n, bool to_tensor)
{
	const size_t element = npl_dtype_size(tensor->dtype);
	int64_t first = 0, step[NPL_MAX_RANK];
	int rc = 0;
	cu_steps_of(&tensor->shape, tensor->channels_last, step);
	for (int k = 0; k < n && !rc; k++) {
		struct cu_axes axes = cu_axes_of(&piece[k].shape);
		int64_t *tensor_step = axes.step[to_tensor ? 1 : 0], *piece_step = axes.step[to_tensor ? 0 : 1];
		cu_steps_of(&piece[k].shape, piece[k].channels_last, piece_step);
		memcpy(tensor_step, step, (size_t)axes.rank * sizeof *step);
		cu_axes_order(&axes, to_tensor ? tensor->channels_last : piece[k].channels_last);
		uint64_t piece_address = tensor->address + (uint64_t)(first * step[axis]) * element;
		if (piece[k].address)
			rc = cu_copy(job, &axes, element, to_tensor ? piece[k].address : piece_address,
				     to_tensor ? piece_address : piece[k].address);
		first += piece[k].shape.dim[axis];
	}
	return rc;
}

int cu_run_copy(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		struct cu_value *out)
{
	const size_t element = npl_dtype_size(out->dtype);
	struct cu_axes axes = cu_axes_of(&out->shape);
	int64_t step[NPL_MAX_RANK];
	cu_steps_of(&out->shape, out->channels_last, axes.step[1]);
	cu_steps_of(&in[0].shape, in[0].channels_last, step);
	switch (layer->op) {
	case NPL_OP_SLICE:
		return run_slice(job, layer, &in[0], out);
	case NPL_OP_SPLIT:
		return run_pieces(job, (int)layer->attrs->split.axis, &in[0], out, npl_layer_outputs(layer), false);
	case NPL_OP_CONCAT:
		return run_pieces(job, (int)layer->attrs->along.axis, out, in, layer->n_in, true);
	case NPL_OP_TRANSPOSE:
		for (int d = 0; d < axes.rank; d++)
			axes.step[0][d] = step[layer->attrs->transpose.perm[d]];
		break;
	case NPL_OP_EXPAND:
		cu_axes_broadcast(&axes, 0, &in[0].shape, in[0].channels_last);
		break;
	case NPL_OP_TILE:
		axes = tiles_of(&in[0], &out->shape);
		break;
	case NPL_OP_DEPTHTOSPACE:
	case NPL_OP_SPACETODEPTH:
		axes = blocks_of(layer, &in[0], &out->shape);
		break;
	default: /* the same elements, perhaps in another shape */
		if (in[0].address == out->address)
			return 0;
		axes = cu_axes_of(&in[0].shape);
		if (out->channels_last)
			cu_steps_of(&out->shape, true, axes.step[1]);
		else
			memcpy(axes.step[1], axes.step[0], sizeof axes.step[1]);
		memcpy(axes.step[0], step, sizeof step);
		break;
	}
	cu_axes_order(&axes, out->channels_last);
	return cu_copy(job, &axes, element, in[0].address, out->address);
}
const struct cu_family cu_copy_family = {supports_any_type, cu_run_copy, false};

/* Returns the bits of an element for Pad's value, which is a float attribute before opset 11. */
static uint64_t bits_of(float value, enum npl_dtype dtype)
{
	uint64_t bits = 0;
	const double wide = (double)value;
	if (!npl_is_float(dtype))
		return (uint64_t)(int64_t)value;
	op_narrow_reals(&wide, 1, dtype, &bits);
	return bits;
}

static bool takes_pad(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	/* Before opset 11 Pad takes floats only. */
	return npl_is_float32_or_half(layer->in[0]->dtype) ||
	       (layer->attrs->pad.value >= -128 && layer->attrs->pad.value <= 127) ||
	       npl_refuse(reason, reason_bytes, "the GPU does not pad integers with %g",
			  (double)layer->attrs->pad.value);
}

static int run_pad(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		   struct cu_value *out)
{
	const struct npl_pad_attrs *pad = &layer->attrs->pad;
	struct cu_macros macros = {""};
	struct cu_pad_args args = {.x = in[0].address,
				   .z = out->address,
				   .value = cu_reads(layer, 2) ? in[2].address : 0,
				   .fill = bits_of(pad->value, out->dtype),
				   .count = npl_shape_count(&out->shape),
				   .rank = out->shape.rank,
				   .mode = (int)pad->mode};
	int64_t step[NPL_MAX_RANK];
	int order[NPL_MAX_RANK];
	cu_steps_of(&in[0].shape, in[0].channels_last, step);
	cu_order_of(args.rank, out->channels_last, order);
	for (int i = 0; i < args.rank; i++) {
		const int d = order[i];
		int64_t begin_pad = pad->pad_begin[d], end_pad = pad->pad_end[d];
		args.dim[i] = cu_divisor_of(out->shape.dim[d]);
		args.step[i] = step[d];
		args.first[i] = begin_pad < 0 ? -begin_pad : 0;
		args.left[i] = in[0].shape.dim[d] + (end_pad < 0 ? end_pad : 0) - args.first[i];
		args.before[i] = begin_pad > 0 ? begin_pad : 0;
	}
	cu_macro(&macros, "UNIT=%s", cu_unit_name(npl_dtype_size(out->dtype)));
	cu_macro_wide(job, &macros, args.count);
	return cu_launch_each(job, "pad", &macros, &args, args.count);
}
const struct cu_family cu_pad_family = {takes_pad, run_pad, false};

static int run_gather(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		      struct cu_value *out)
{
	const struct npl_shape *x = &in[0].shape, *indices = &in[1].shape;
	const struct npl_gather_attrs *gather = &layer->attrs->gather;
	const int axis = layer->op == NPL_OP_GATHERND ? 0 : (int)gather->axis, batch = (int)gather->batch_dims;
	const char *name = "gather";
	struct cu_macros macros = {""};
	struct cu_gather_args args = {.x = in[0].address,
				      .indices = in[1].address,
				      .z = out->address,
				      .fault = cu_fault_of(job),
				      .count = npl_shape_count(&out->shape),
				      .size = x->dim[axis]};
	int64_t step[NPL_MAX_RANK], piece = cu_product(x->dim + axis + 1, x->rank - axis - 1);
	cu_dense_steps(x->rank, x->dim, step);
	if (layer->op == NPL_OP_GATHERELEMENTS) {
		struct cu_axes axes = cu_axes_of(indices);
		for (int d = 0; d < x->rank; d++)
			axes.step[0][d] = d == axis ? 0 : step[d];
		name = "gather_elements";
		args.walk = cu_walk_of(&axes);
		args.axis_step = step[axis];
	} else if (layer->op == NPL_OP_GATHERND) {
		name = "gather_tuples";
		args.tuple = (int)indices->dim[indices->rank - 1];
		args.whole = cu_product(x->dim + batch, x->rank - batch);
		args.per_batch = cu_divisor_of(cu_product(indices->dim + batch, indices->rank - 1 - batch));
		piece = cu_product(x->dim + batch + args.tuple, x->rank - batch - args.tuple);
		for (int k = 0; k < args.tuple; k++) {
			args.tuple_size[k] = x->dim[batch + k];
			args.tuple_step[k] = step[batch + k];
		}
	}
	args.piece = cu_divisor_of(piece);
	args.n = cu_divisor_of(npl_shape_count(indices));
	cu_macro(&macros, "UNIT=%s", cu_unit_name(npl_dtype_size(out->dtype)));
	cu_macro(&macros, "INDEX=%s", cu_type_name(in[1].dtype));
	cu_macro_wide(job, &macros, args.count);
	return cu_launch_each(job, name, &macros, &args, args.count);
}
static bool takes_gather(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	/* An index into an empty tensor has no nearest element: the kernel would read outside. */
	return npl_shape_count(&layer->in[0]->shape) > 0 || !npl_shape_count(&layer->out->shape) ||
	       npl_refuse(reason, reason_bytes, "its tensor is empty");
}
const struct cu_family cu_gather_family = {takes_gather, run_gather, false};
