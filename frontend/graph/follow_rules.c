/* SPDX-License-Identifier: MIT
 *
 * The rule of each operator for samples (follow.h). An operator without a row in the table mixes them. */
#include "follow_rules.h"

#include <string.h>

/* Follows samples through operators that keep elements in their order: views, and functions of single elements. */
static bool in_order(const struct rule_context *context, int n_operands)
{
	if (!has_samples(context, 0) || (n_operands > 1 && !others_steady(context, 1, -1)))
		return false;
	for (int k = 0; k < context->node->n_out; k++)
		if (context->node->out[k] >= 0)
			context->f->distance[context->node->out[k]] = context->f->distance[context->node->in[0]];
	return true;
}

bool follow_view(const struct rule_context *context)
{
	return in_order(context, 1);
}

bool follow_clip(const struct rule_context *context)
{
	return in_order(context, 3);
}

/* Returns how many dimensions the result has before the operand's first, as broadcasting places it. Before opset 7 an
 * attribute gave the axis at which the second operand begins, and a PRelu's list of slopes was per channel. */
static int placed_at(const struct rule_context *context, int k)
{
	const struct npl_attrs *attrs = &context->node->attrs;
	const int leading_axes = out_shape(context)->rank - shape_of(context, k)->rank;
	if (k == 1 && npl_op_defs[context->node->op].family == NPL_FAMILY_BINARY && attrs->binary.legacy_broadcast &&
	    attrs->binary.axis >= 0 && leading_axes > 0)
		return (int)attrs->binary.axis;
	if (k == 1 && context->node->op == NPL_OP_PRELU && attrs->opset > 0 && attrs->opset < 7 &&
	    shape_of(context, 1)->rank == 1 && out_shape(context)->rank > 1)
		return 1;
	return leading_axes;
}

/* Follows samples through operators whose operands meet element by element, where a dimension of 1 is repeated. */
static bool broadcast(const struct rule_context *context)
{
	struct spread joint = {.axis = -1};
	for (int k = 0; k < context->node->n_in; k++) {
		struct spread spread;
		if (!has_samples(context, k))
			continue;
		if (!samples_of(context, k, &spread))
			return false;
		spread.axis += placed_at(context, k);
		if (joint.axis >= 0 && !spreads_equal(&joint, &spread))
			return false;
		joint = spread;
	}
	for (int k = 0; k < context->node->n_in; k++) {
		struct spread spread = joint;
		if (value_of(context, k) < 0 || has_samples(context, k))
			continue;
		spread.axis -= placed_at(context, k);
		if (!is_uniform(context, k, &spread))
			return false;
	}
	return place_all(context, &joint);
}

/* Follows samples through operators on images and similar tensors, which take every sample of dimension 0 by itself,
 * with `per_channel` every channel too. The other operands are parameters. */
static bool images(const struct rule_context *context, bool per_channel)
{
	struct spread x;
	return samples_of(context, 0, &x) && x.axis <= per_channel && others_steady(context, 1, -1) &&
	       place_all(context, &x);
}

/* Follows samples through operators that take each sample of dimension 0 by itself. */
bool follow_image(const struct rule_context *context)
{
	return images(context, false);
}

/* Follows samples through operators that take each channel of each sample by itself. */
bool follow_channel(const struct rule_context *context)
{
	return images(context, true);
}

/* Follows samples through MaxPool. Its second result counts places through all samples, so it must not be used. */
bool follow_maxpool(const struct rule_context *context)
{
	return !has_result(context, 1) && follow_channel(context);
}

/* Follows samples through operators that work along one dimension. The samples may be along any other. */
static bool along(const struct rule_context *context, int64_t axis)
{
	struct spread x;
	return samples_of(context, 0, &x) && x.axis != axis && others_steady(context, 1, -1) && place_all(context, &x);
}

bool follow_lp_normalise(const struct rule_context *context)
{
	return along(context, context->node->attrs.norm.axis);
}

bool follow_topk(const struct rule_context *context)
{
	return along(context, context->node->attrs.topk.axis);
}

bool follow_split(const struct rule_context *context)
{
	return along(context, context->node->attrs.split.axis);
}

bool follow_lrn(const struct rule_context *context)
{
	return along(context, 1);
}

/* Follows samples through DFT, whose last dimension has a number's real and imaginary parts. */
bool follow_dft(const struct rule_context *context)
{
	struct spread x;
	return samples_of(context, 0, &x) && x.axis != shape_of(context, 0)->rank - 1 &&
	       along(context, context->node->attrs.signal.axis);
}

/* Follows samples through operators that work over all dimensions from `axis` on. */
static bool from_axis(const struct rule_context *context, int64_t axis)
{
	struct spread x;
	return samples_of(context, 0, &x) && x.axis < axis && others_steady(context, 1, -1) && place_all(context, &x);
}

bool follow_softmax(const struct rule_context *context)
{
	const int64_t axis = context->node->attrs.along.axis;
	const int opset = context->node->attrs.opset;
	return opset > 0 && opset < 13 ? from_axis(context, axis) : along(context, axis);
}

static bool named(const int64_t *axes, int n, int axis)
{
	for (int i = 0; i < n; i++)
		if (axes[i] == axis)
			return true;
	return false;
}

bool follow_normalise_axes(const struct rule_context *context)
{
	const struct npl_norm_attrs *norm = &context->node->attrs.norm;
	struct spread x;
	return samples_of(context, 0, &x) && !named(norm->axes, norm->n_axes, x.axis) && place_all(context, &x);
}

bool follow_reduce(const struct rule_context *context)
{
	const struct npl_reduce_attrs *reduced = &context->node->attrs.reduce;
	struct spread x;
	if (!samples_of(context, 0, &x))
		return false;
	const bool all = reduced->n_axes <= 0 && !reduced->empty_is_none;
	if (all || named(reduced->axes, reduced->n_axes, x.axis))
		return false;
	const int before = x.axis;
	for (int d = 0; d < before && !reduced->keep_dims; d++)
		x.axis -= named(reduced->axes, reduced->n_axes, d);
	return place_all(context, &x);
}

/* Follows samples through ArgMax and ArgMin. */
bool follow_arg(const struct rule_context *context)
{
	const struct npl_arg_attrs *found = &context->node->attrs.arg;
	struct spread x;
	if (!samples_of(context, 0, &x) || x.axis == found->axis)
		return false;
	x.axis -= !found->keep_dims && found->axis < x.axis;
	return place_all(context, &x);
}

bool follow_cumsum(const struct rule_context *context)
{
	const struct npl_value *axis = &context->f->graph->value[context->node->in[1]];
	int64_t k = 0;
	if (!axis->constant || !axis->data)
		return false;
	if (axis->dtype == NPL_I32)
		k = *(const int32_t *)axis->data;
	else
		k = *(const int64_t *)axis->data;
	return along(context, k < 0 ? k + out_shape(context)->rank : k);
}

/* Says whether input k has one scale or zero point for all elements, or one for each index of a dimension other than
 * the samples'. */
static bool quantised_by(const struct rule_context *context, int k, int axis, const struct spread *x)
{
	const int v = value_of(context, k);
	if (v < 0 || npl_shape_count(&context->f->graph->value[v].shape) == 1)
		return is_steady(context, k);
	const struct spread rows = {.axis = 0, .outer = x->outer, .inner = x->inner};
	return x->axis == axis ? is_uniform(context, k, &rows) : is_steady(context, k);
}

bool follow_quantise(const struct rule_context *context)
{
	const int axis = (int)context->node->attrs.quantise.axis;
	struct spread x;
	if (!others_steady(context, 1, -1))
		return false;
	const bool whole = npl_shape_count(shape_of(context, 1)) == 1;
	if (whole)
		return in_order(context, 1);
	return samples_of(context, 0, &x) && quantised_by(context, 1, axis, &x) && quantised_by(context, 2, axis, &x) &&
	       place_all(context, &x);
}

bool follow_batchnorm(const struct rule_context *context)
{
	const struct npl_norm_attrs *norm = &context->node->attrs.norm;
	struct spread x;
	return !norm->training && samples_of(context, 0, &x) && (norm->per_element ? x.axis == 0 : x.axis != 1) &&
	       others_steady(context, 1, -1) && place_all(context, &x);
}

/* Follows samples through LayerNormalization, whose scale and bias broadcast to its input. */
bool follow_layernorm(const struct rule_context *context)
{
	struct spread x;
	if (!samples_of(context, 0, &x) || x.axis >= context->node->attrs.norm.axis)
		return false;
	for (int k = 1; k < context->node->n_in; k++) {
		struct spread spread = x;
		if (value_of(context, k) < 0)
			continue;
		spread.axis -= shape_of(context, 0)->rank - shape_of(context, k)->rank;
		if (!is_uniform(context, k, &spread))
			return false;
	}
	return place_all(context, &x);
}

/* Follows samples through RotaryEmbedding, with x (N, sequence, heads * size) or (N, heads, sequence, size). The caches
 * are (N, sequence, half), or (positions, half) with position_ids (N, sequence). Heads are independent, so the samples
 * may be along the heads. */
bool follow_rotary(const struct rule_context *context)
{
	enum { POSITIONS = 3 };
	const bool by_position = value_of(context, POSITIONS) >= 0;
	struct spread x, spread;
	if (!samples_of(context, 0, &x))
		return false;
	if (x.axis == 1 && shape_of(context, 0)->rank == 4)
		return others_steady(context, 1, -1) && place_all(context, &x);
	if (x.axis != 0)
		return false;
	for (int k = 1; k < context->node->n_in; k++) {
		if (by_position && k != POSITIONS) {
			if (!is_steady(context, k))
				return false;
		} else if (has_samples(context, k) ? !samples_of(context, k, &spread) || !spreads_equal(&spread, &x)
						   : !is_uniform(context, k, &x))
			return false;
	}
	return place_all(context, &x);
}

bool follow_matmul(const struct rule_context *context)
{
	return follow_product(context, 0, 1);
}

bool follow_qlinear_matmul(const struct rule_context *context)
{
	return follow_integer_product(context, 0, 3);
}

bool follow_matmul_integer(const struct rule_context *context)
{
	return follow_integer_product(context, 0, 1);
}

static bool (*const rule_of[NPL_OPS])(const struct rule_context *context) = {
#define FOLLOW_RULE(op, rule) [NPL_OP_##op] = follow_##rule,
#include "follow_rules.def"
#undef FOLLOW_RULE
};

bool follow_has_rule(enum npl_op op)
{
	return rule_of[op] || npl_op_defs[op].flags & NPL_OP_BY_ELEMENT;
}

bool follow_node(struct follow *f, const struct npl_node *node, const char **reason)
{
	const struct rule_context context = {f, node, reason};
	if (rule_of[node->op])
		return rule_of[node->op](&context);
	return (npl_op_defs[node->op].flags & NPL_OP_BY_ELEMENT) && broadcast(&context);
}
