/* SPDX-License-Identifier: MIT
 *
 * Follows samples through operators that move elements: joining, cutting, repeating, picking, scattering (follow.h). */
#include "follow_rules.h"

bool follow_transpose(const struct rule_context *context)
{
	const struct npl_transpose_attrs *transpose = &context->node->attrs.transpose;
	struct spread x;
	if (!samples_of(context, 0, &x))
		return false;
	for (int d = 0; d < transpose->rank; d++)
		if (transpose->perm[d] == x.axis) {
			x.axis = d;
			return place_all(context, &x);
		}
	return false;
}

/* Follows samples through Concat, which must join along another dimension than theirs, or whole batches after each
 * other. */
bool follow_concat(const struct rule_context *context)
{
	struct spread joint = {.axis = -1}, spread;
	int64_t outer = 0;
	for (int k = 0; k < context->node->n_in; k++) {
		if (!has_samples(context, k))
			continue;
		if (!samples_of(context, k, &spread) ||
		    (joint.axis >= 0 && (spread.axis != joint.axis || spread.inner != joint.inner)))
			return false;
		if (joint.axis >= 0 && spread.axis != context->node->attrs.along.axis && spread.outer != joint.outer)
			return false;
		joint = spread;
		outer += spread.outer;
	}
	const bool behind = joint.axis == context->node->attrs.along.axis;
	for (int k = 0; k < context->node->n_in; k++)
		if (!has_samples(context, k) && (behind || !is_uniform(context, k, &joint)))
			return false;
	if (behind)
		joint.outer = outer;
	return place_all(context, &joint);
}

/* Says whether a cut along this dimension keeps all elements at any batch. Limits that are made from shapes are
 * compared with another batch (follow_steady). Any other limit that is neither 0 nor beyond all sizes may fit only the
 * batches that were examined. */
static bool whole_at_any_batch(const struct rule_context *context, int axis)
{
	const struct npl_slice_attrs *slice = &context->node->attrs.slice;
	const int64_t beyond = INT32_MAX;
	const bool steady = is_steady(context, 1) && is_steady(context, 2);
	for (int i = 0; i < slice->n; i++) {
		const int64_t named = slice->axes[i] < 0 ? slice->axes[i] + out_shape(context)->rank : slice->axes[i];
		if (named == axis && steady)
			return (slice->starts[i] == 0 || slice->starts[i] <= -beyond) && slice->ends[i] >= beyond;
	}
	return true;
}

bool follow_slice(const struct rule_context *context)
{
	const struct npl_slice_attrs *slice = &context->node->attrs.slice;
	struct spread x;
	if (!samples_of(context, 0, &x))
		return false;
	const int64_t whole = x.inner * context->f->graph->batch, left = out_shape(context)->dim[x.axis];
	if (left > 1 && slice->step[x.axis] != 1)
		return false;
	if (slice->first[x.axis] % whole || left % whole || !whole_at_any_batch(context, x.axis))
		return false;
	x.outer = left / whole;
	return x.outer && place_all(context, &x);
}

bool follow_pad(const struct rule_context *context)
{
	const struct npl_pad_attrs *pad = &context->node->attrs.pad;
	struct spread x;
	return samples_of(context, 0, &x) && !pad->pad_begin[x.axis] && !pad->pad_end[x.axis] &&
	       is_steady(context, 2) && place_all(context, &x);
}

bool follow_resize(const struct rule_context *context)
{
	const struct npl_resize_attrs *r = &context->node->attrs.resize;
	struct spread x;
	if (!samples_of(context, 0, &x))
		return false;
	const int a = x.axis;
	return shape_of(context, 0)->dim[a] == out_shape(context)->dim[a] && r->scale[a] == 1 &&
	       (r->to[a] == 0 || (r->from[a] == 0 && r->to[a] == 1)) && place_all(context, &x);
}

/* Follows samples through CenterCropPad: a dimension that keeps its length keeps its elements. */
bool follow_center_crop_pad(const struct rule_context *context)
{
	struct spread x;
	if (!samples_of(context, 0, &x))
		return false;
	return shape_of(context, 0)->dim[x.axis] == out_shape(context)->dim[x.axis] && place_all(context, &x);
}

/* Follows samples through Expand and Tile. */
bool follow_repeat(const struct rule_context *context)
{
	struct spread x;
	if (!samples_of(context, 0, &x))
		return false;
	const int64_t was = shape_of(context, 0)->dim[x.axis];
	x.axis += out_shape(context)->rank - shape_of(context, 0)->rank;
	x.outer *= out_shape(context)->dim[x.axis] / was;
	return place_all(context, &x);
}

/* Follows samples through AffineGrid: theta (N,2,3) -> (N,H,W,2), or with one dimension more. The size, which has N
 * too, is constant. */
bool follow_affine_grid(const struct rule_context *context)
{
	struct spread theta;
	if (!samples_of(context, 0, &theta) || theta.axis != 0)
		return false;
	return place_all(context, &theta);
}

/* Follows samples through Trilu, whose matrices are in the last two dimensions. */
bool follow_triangle(const struct rule_context *context)
{
	struct spread x;
	return samples_of(context, 0, &x) && x.axis < out_shape(context)->rank - 2 && is_steady(context, 1) &&
	       place_all(context, &x);
}

bool follow_gather(const struct rule_context *context)
{
	const int axis = (int)context->node->attrs.gather.axis, rank = shape_of(context, 1)->rank;
	struct spread x;
	if (has_samples(context, 0) && has_samples(context, 1))
		return false;
	if (has_samples(context, 1)) { /* rows of a table */
		if (!is_steady(context, 0) || !samples_of(context, 1, &x))
			return false;
		x.axis += axis;
		return place_all(context, &x);
	}
	if (!samples_of(context, 0, &x) || x.axis == axis || !is_steady(context, 1))
		return false;
	x.axis += x.axis > axis ? rank - 1 : 0;
	return place_all(context, &x);
}

bool follow_gather_elements(const struct rule_context *context)
{
	const int64_t axis = context->node->attrs.gather.axis;
	struct spread x = {0}, indices = {0};
	const bool own = has_samples(context, 0), theirs = has_samples(context, 1);
	if ((own && !samples_of(context, 0, &x)) || (theirs && !samples_of(context, 1, &indices)))
		return false;
	if (own && x.axis == axis)
		return false;
	if (own && theirs && !spreads_equal(&x, &indices))
		return false;
	if (own && !theirs && !is_uniform(context, 1, &x))
		return false;
	if (!own && !(indices.axis == axis ? is_steady(context, 0) : is_uniform(context, 0, &indices)))
		return false;
	return place_all(context, own ? &x : &indices);
}

bool follow_gather_nd(const struct rule_context *context)
{
	const int64_t batch_dims = context->node->attrs.gather.batch_dims;
	struct spread x, indices;
	if (!samples_of(context, 1, &indices) || indices.axis >= shape_of(context, 1)->rank - 1)
		return false;
	if (!has_samples(context, 0))
		return (indices.axis < batch_dims ? is_uniform(context, 0, &indices) : is_steady(context, 0)) &&
		       place_all(context, &indices);
	return samples_of(context, 0, &x) && spreads_equal(&x, &indices) && x.axis < batch_dims &&
	       place_all(context, &x);
}

/* Follows samples through Compress, whose condition is constant. Without an axis it takes elements of all samples. */
bool follow_compress(const struct rule_context *context)
{
	const int64_t axis = context->node->attrs.along.axis;
	struct spread x;
	return samples_of(context, 0, &x) && axis >= 0 && x.axis != axis && is_steady(context, 1) &&
	       place_all(context, &x);
}

/* Follows samples through ScatterElements. Indices and updates have one shape. They may be shorter than the data,
 * except along the samples, whose indices would then differ. */
bool follow_scatter_elements(const struct rule_context *context)
{
	struct spread x = {.axis = -1}, spread;
	for (int k = 0; k < 3; k++) {
		if (!has_samples(context, k))
			continue;
		if (!samples_of(context, k, &spread) || (x.axis >= 0 && !spreads_equal(&x, &spread)))
			return false;
		x = spread;
	}
	if (x.axis < 0 || x.axis == context->node->attrs.scatter.axis)
		return false;
	for (int k = 0; k < 3; k++)
		if (shape_of(context, k)->dim[x.axis] != shape_of(context, 0)->dim[x.axis] ||
		    (!has_samples(context, k) && !is_uniform(context, k, &x)))
			return false;
	return place_all(context, &x);
}

/* Follows samples through ScatterND, data (d0 ... dn), indices (..., m), updates (..., dm ... dn). The tuples of the
 * indices name the first dimensions, which must not be the samples'. */
bool follow_scatter_nd(const struct rule_context *context)
{
	const struct npl_shape *indices = shape_of(context, 1);
	const int places = indices->rank - 1, named = (int)indices->dim[places];
	const bool own = has_samples(context, 0), theirs = has_samples(context, 2);
	struct spread x, updates = {.axis = -1};
	if (!is_steady(context, 1) || (!own && !theirs) || (theirs && !samples_of(context, 2, &updates)))
		return false;
	if (own && !samples_of(context, 0, &x))
		return false;
	if (!own) {
		x = updates;
		x.axis += named - places;
	}
	if (x.axis < named)
		return false;
	struct spread updates_expected = x;
	updates_expected.axis += places - named;
	if (theirs ? !spreads_equal(&updates, &updates_expected) : !is_uniform(context, 2, &updates_expected))
		return false;
	return (own || is_uniform(context, 0, &x)) && place_all(context, &x);
}

bool follow_one_hot(const struct rule_context *context)
{
	struct spread x;
	if (!samples_of(context, 0, &x) || !others_steady(context, 1, -1))
		return false;
	x.axis += x.axis >= context->node->attrs.one_hot.axis;
	return place_all(context, &x);
}

bool follow_reverse_sequence(const struct rule_context *context)
{
	struct spread x, lengths;
	if (!samples_of(context, 0, &x) || x.axis == context->node->attrs.reverse_sequence.time_axis)
		return false;
	if (x.axis == context->node->attrs.reverse_sequence.batch_axis) {
		const struct spread rows = {.axis = 0, .outer = x.outer, .inner = x.inner};
		if (has_samples(context, 1) ? !samples_of(context, 1, &lengths) || !spreads_equal(&lengths, &rows)
					    : !is_uniform(context, 1, &rows))
			return false;
	} else if (!is_steady(context, 1))
		return false;
	return place_all(context, &x);
}
