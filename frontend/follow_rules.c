/* SPDX-License-Identifier: MIT
 *
 * What each operator makes of samples (follow.h). An operator without a rule here mixes them. */
#include "follow_rules.h"

#include <string.h>

/* What leaves elements in their order: views, and functions of single elements. */
static bool in_order(const struct at *at, int n_operands)
{
	if (!has_samples(at, 0) || (n_operands > 1 && !others_last(at, 1, -1)))
		return false;
	for (int k = 0; k < at->node->n_out; k++)
		if (at->node->out[k] >= 0)
			at->f->distance[at->node->out[k]] = at->f->distance[at->node->in[0]];
	return true;
}

/* How many dimensions the result has before the operand's first, as broadcasting places it. Before opset 7 the second of two had an
 * axis where it begins, and a PRelu's list of slopes was the channels'. */
static int placed_at(const struct at *at, int k)
{
	const struct npl_attrs *attrs = &at->node->attrs;
	const int behind = out_shape(at)->rank - shape_of(at, k)->rank;
	if (k == 1 && attrs->legacy_broadcast && attrs->axis >= 0 && behind > 0)
		return (int)attrs->axis;
	if (k == 1 && at->node->op == NPL_OP_PRELU && attrs->opset > 0 && attrs->opset < 7 &&
	    shape_of(at, 1)->rank == 1 && out_shape(at)->rank > 1)
		return 1;
	return behind;
}

/* Operands that meet element by element, those of 1 repeated. */
static bool broadcast(const struct at *at)
{
	struct spread joint = {.axis = -1};
	for (int k = 0; k < at->node->n_in; k++) {
		struct spread own;
		if (!has_samples(at, k))
			continue;
		if (!samples_of(at, k, &own))
			return false;
		own.axis += placed_at(at, k);
		if (joint.axis >= 0 && !same(&joint, &own))
			return false;
		joint = own;
	}
	for (int k = 0; k < at->node->n_in; k++) {
		struct spread own = joint;
		if (value_of(at, k) < 0 || has_samples(at, k))
			continue;
		own.axis -= placed_at(at, k);
		if (!is_uniform(at, k, &own))
			return false;
	}
	return place_all(at, &joint);
}

/* Images and their like: every sample of dimension 0 by itself; `per_channel`: every channel too. The other operands are
 * parameters. */
static bool images(const struct at *at, bool per_channel)
{
	struct spread x;
	return samples_of(at, 0, &x) && x.axis <= per_channel && others_last(at, 1, -1) && place_all(at, &x);
}

/* Along one dimension: the samples' may be any other. */
static bool along(const struct at *at, int64_t axis)
{
	struct spread x;
	return samples_of(at, 0, &x) && x.axis != axis && others_last(at, 1, -1) && place_all(at, &x);
}

/* Over all dimensions from one on. */
static bool from_axis(const struct at *at, int64_t axis)
{
	struct spread x;
	return samples_of(at, 0, &x) && x.axis < axis && others_last(at, 1, -1) && place_all(at, &x);
}

static bool softmax(const struct at *at)
{
	const struct npl_attrs *attrs = &at->node->attrs;
	return attrs->opset > 0 && attrs->opset < 13 ? from_axis(at, attrs->axis) : along(at, attrs->axis);
}

static bool named(const struct npl_attrs *attrs, int axis)
{
	for (int i = 0; i < attrs->n_list; i++)
		if (attrs->list[i] == axis)
			return true;
	return false;
}

static bool normalise_axes(const struct at *at)
{
	struct spread x;
	return samples_of(at, 0, &x) && !named(&at->node->attrs, x.axis) && place_all(at, &x);
}

static bool reduce(const struct at *at)
{
	const struct npl_attrs *attrs = &at->node->attrs;
	struct spread x;
	if (!samples_of(at, 0, &x))
		return false;
	const bool all = attrs->n_list <= 0 && !attrs->empty_is_none;
	if (all || named(attrs, x.axis))
		return false;
	const int before = x.axis;
	for (int d = 0; d < before && !attrs->keep_dims; d++)
		x.axis -= named(attrs, d);
	return place_all(at, &x);
}

/* ArgMax, ArgMin. */
static bool arg(const struct at *at)
{
	const struct npl_attrs *attrs = &at->node->attrs;
	struct spread x;
	if (!samples_of(at, 0, &x) || x.axis == attrs->axis)
		return false;
	x.axis -= !attrs->keep_dims && attrs->axis < x.axis;
	return place_all(at, &x);
}

static bool cumsum(const struct at *at)
{
	const struct npl_value *axis = &at->f->graph->value[at->node->in[1]];
	int64_t k = 0;
	if (!axis->constant || !axis->data)
		return false;
	if (axis->dtype == NPL_I32)
		k = *(const int32_t *)axis->data;
	else
		k = *(const int64_t *)axis->data;
	return along(at, k < 0 ? k + out_shape(at)->rank : k);
}

static bool transpose(const struct at *at)
{
	const struct npl_attrs *attrs = &at->node->attrs;
	struct spread x;
	if (!samples_of(at, 0, &x))
		return false;
	for (int d = 0; d < attrs->n_list; d++)
		if (attrs->list[d] == x.axis) {
			x.axis = d;
			return place_all(at, &x);
		}
	return false;
}

/* Joined along another dimension, or whole batches behind each other. */
static bool concat(const struct at *at)
{
	struct spread joint = {.axis = -1}, own;
	int64_t outer = 0;
	for (int k = 0; k < at->node->n_in; k++) {
		if (!has_samples(at, k))
			continue;
		if (!samples_of(at, k, &own) ||
		    (joint.axis >= 0 && (own.axis != joint.axis || own.inner != joint.inner)))
			return false;
		if (joint.axis >= 0 && own.axis != at->node->attrs.axis && own.outer != joint.outer)
			return false;
		joint = own;
		outer += own.outer;
	}
	const bool behind = joint.axis == at->node->attrs.axis;
	for (int k = 0; k < at->node->n_in; k++)
		if (!has_samples(at, k) && (behind || !is_uniform(at, k, &joint)))
			return false;
	if (behind)
		joint.outer = outer;
	return place_all(at, &joint);
}

static bool slice(const struct at *at)
{
	const struct npl_slice *cut = &at->node->attrs.slice;
	struct spread x;
	if (!samples_of(at, 0, &x))
		return false;
	const int64_t whole = x.inner * at->f->graph->batch, left = out_shape(at)->dim[x.axis];
	if (left > 1 && cut->step[x.axis] != 1)
		return false;
	if (cut->first[x.axis] % whole || left % whole)
		return false;
	x.outer = left / whole;
	return x.outer && place_all(at, &x);
}

static bool pad(const struct at *at)
{
	struct spread x;
	return samples_of(at, 0, &x) && !at->node->attrs.pad_before[x.axis] && !at->node->attrs.pad_after[x.axis] &&
	       is_lasting(at, 2) && place_all(at, &x);
}

static bool resize(const struct at *at)
{
	const struct npl_resize *r = &at->node->attrs.resize;
	struct spread x;
	if (!samples_of(at, 0, &x))
		return false;
	const int a = x.axis;
	return shape_of(at, 0)->dim[a] == out_shape(at)->dim[a] && r->scale[a] == 1 &&
	       (r->to[a] == 0 || (r->from[a] == 0 && r->to[a] == 1)) && place_all(at, &x);
}

/* Expand and Tile. */
static bool repeat(const struct at *at)
{
	struct spread x;
	if (!samples_of(at, 0, &x))
		return false;
	const int64_t was = shape_of(at, 0)->dim[x.axis];
	at->f->wants_other = at->f->wants_other || !at->f->other; /* an Expand may give this batch its own size */
	x.axis += out_shape(at)->rank - shape_of(at, 0)->rank;
	x.outer *= out_shape(at)->dim[x.axis] / was;
	return place_all(at, &x);
}

/* Trilu: of matrices in the last two dimensions. */
static bool triangle(const struct at *at)
{
	struct spread x;
	return samples_of(at, 0, &x) && x.axis < out_shape(at)->rank - 2 && is_lasting(at, 1) && place_all(at, &x);
}

static bool gather(const struct at *at)
{
	const int axis = (int)at->node->attrs.axis, rank = shape_of(at, 1)->rank;
	struct spread x;
	if (has_samples(at, 0) && has_samples(at, 1))
		return false;
	if (has_samples(at, 1)) { /* rows of a table */
		if (!is_lasting(at, 0) || !samples_of(at, 1, &x))
			return false;
		x.axis += axis;
		return place_all(at, &x);
	}
	if (!samples_of(at, 0, &x) || x.axis == axis || !is_lasting(at, 1))
		return false;
	x.axis += x.axis > axis ? rank - 1 : 0;
	return place_all(at, &x);
}

static bool gather_elements(const struct at *at)
{
	const int64_t axis = at->node->attrs.axis;
	struct spread x = {0}, indices = {0};
	const bool own = has_samples(at, 0), theirs = has_samples(at, 1);
	if ((own && !samples_of(at, 0, &x)) || (theirs && !samples_of(at, 1, &indices)))
		return false;
	if (own && x.axis == axis)
		return false;
	if (own && theirs && !same(&x, &indices))
		return false;
	if (own && !theirs && !is_uniform(at, 1, &x))
		return false;
	if (!own && !(indices.axis == axis ? is_lasting(at, 0) : is_uniform(at, 0, &indices)))
		return false;
	return place_all(at, own ? &x : &indices);
}

static bool gather_nd(const struct at *at)
{
	const int64_t batch_dims = at->node->attrs.number;
	struct spread x, indices;
	if (!samples_of(at, 1, &indices) || indices.axis >= shape_of(at, 1)->rank - 1)
		return false;
	if (!has_samples(at, 0))
		return (indices.axis < batch_dims ? is_uniform(at, 0, &indices) : is_lasting(at, 0)) &&
		       place_all(at, &indices);
	return samples_of(at, 0, &x) && same(&x, &indices) && x.axis < batch_dims && place_all(at, &x);
}

static bool one_hot(const struct at *at)
{
	struct spread x;
	if (!samples_of(at, 0, &x) || !others_last(at, 1, -1))
		return false;
	x.axis += x.axis >= at->node->attrs.axis;
	return place_all(at, &x);
}

static bool reverse_sequence(const struct at *at)
{
	struct spread x, lengths;
	if (!samples_of(at, 0, &x) || x.axis == at->node->attrs.axis)
		return false;
	if (x.axis == at->node->attrs.number) {
		const struct spread rows = {.axis = 0, .outer = x.outer, .inner = x.inner};
		if (has_samples(at, 1) ? !samples_of(at, 1, &lengths) || !same(&lengths, &rows)
				       : !is_uniform(at, 1, &rows))
			return false;
	} else if (!is_lasting(at, 1))
		return false;
	return place_all(at, &x);
}

/* One scale and one zero point for all, or one per index of a dimension that the samples do not lie along. */
static bool quantised_by(const struct at *at, int k, int axis, const struct spread *x)
{
	const int v = value_of(at, k);
	if (v < 0 || npl_shape_count(&at->f->graph->value[v].shape) == 1)
		return is_lasting(at, k);
	const struct spread rows = {.axis = 0, .outer = x->outer, .inner = x->inner};
	return x->axis == axis ? is_uniform(at, k, &rows) : is_lasting(at, k);
}

static bool quantise(const struct at *at)
{
	const int axis = (int)at->node->attrs.axis;
	struct spread x;
	if (!others_last(at, 1, -1))
		return false;
	const bool whole = npl_shape_count(shape_of(at, 1)) == 1;
	if (whole)
		return in_order(at, 1);
	return samples_of(at, 0, &x) && quantised_by(at, 1, axis, &x) && quantised_by(at, 2, axis, &x) &&
	       place_all(at, &x);
}

static bool batchnorm(const struct at *at)
{
	const struct npl_attrs *attrs = &at->node->attrs;
	struct spread x;
	return !attrs->training && samples_of(at, 0, &x) && (attrs->per_element ? x.axis == 0 : x.axis != 1) &&
	       others_last(at, 1, -1) && place_all(at, &x);
}

/* Scale and bias of a LayerNormalization broadcast to its input. */
static bool layernorm(const struct at *at)
{
	struct spread x;
	if (!samples_of(at, 0, &x) || x.axis >= at->node->attrs.axis)
		return false;
	for (int k = 1; k < at->node->n_in; k++) {
		struct spread own = x;
		if (value_of(at, k) < 0)
			continue;
		own.axis -= shape_of(at, 0)->rank - shape_of(at, k)->rank;
		if (!is_uniform(at, k, &own))
			return false;
	}
	return place_all(at, &x);
}

/* Operators whose results are made element by element, by the family of functions that does them. */
static bool is_elementwise(enum npl_op op)
{
	static const char *const family_of[NPL_OPS] = {
#define NPL_OP(id, onnx_name, min_in, max_in, outputs, family, flags) [NPL_OP_##id] = #family,
#include "npulab/ops.def"
#undef NPL_OP
	};
	static const char *const families[] = {"op_relu",     "op_unary", "op_binary", "op_prelu",
					       "op_variadic", "op_power", "op_where"};
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (!strcmp(family_of[op], families[i]))
			return true;
	return false;
}

/* What moves elements, sums of products, and what is made element by element. */
static bool of_moving(const struct at *at, const char **why)
{
	switch (at->node->op) {
	case NPL_OP_TRANSPOSE:
		return transpose(at);
	case NPL_OP_CONCAT:
		return concat(at);
	case NPL_OP_SLICE:
		return slice(at);
	case NPL_OP_PAD:
		return pad(at);
	case NPL_OP_RESIZE:
	case NPL_OP_UPSAMPLE:
		return resize(at);
	case NPL_OP_EXPAND:
	case NPL_OP_TILE:
		return repeat(at);
	case NPL_OP_TRILU:
		return triangle(at);
	case NPL_OP_GATHER:
		return gather(at);
	case NPL_OP_GATHERELEMENTS:
		return gather_elements(at);
	case NPL_OP_GATHERND:
		return gather_nd(at);
	case NPL_OP_ONEHOT:
		return one_hot(at);
	case NPL_OP_REVERSESEQUENCE:
		return reverse_sequence(at);
	case NPL_OP_MATMUL:
		return follow_product(at, 0, 1);
	case NPL_OP_QLINEARMATMUL:
		return follow_integer_product(at, 0, 3);
	case NPL_OP_MATMULINTEGER:
		return follow_integer_product(at, 0, 1);
	case NPL_OP_GEMM:
		return follow_gemm(at);
	case NPL_OP_RNN:
	case NPL_OP_GRU:
	case NPL_OP_LSTM:
		return follow_recurrent(at, why);
	case NPL_OP_EINSUM:
		return follow_einsum(at);
	default:
		return is_elementwise(at->node->op) && broadcast(at);
	}
}

/* What works along axes. */
static bool of_axes(const struct at *at, const char **why)
{
	switch (at->node->op) {
	case NPL_OP_SOFTMAX:
	case NPL_OP_LOGSOFTMAX:
	case NPL_OP_HARDMAX:
		return softmax(at);
	case NPL_OP_LPNORMALIZATION:
	case NPL_OP_TOPK:
	case NPL_OP_SPLIT:
		return along(at, at->node->attrs.axis);
	case NPL_OP_MEANVARIANCENORMALIZATION:
		return normalise_axes(at);
	case NPL_OP_REDUCESUM:
	case NPL_OP_REDUCEMEAN:
	case NPL_OP_REDUCEMAX:
	case NPL_OP_REDUCEMIN:
	case NPL_OP_REDUCEPROD:
	case NPL_OP_REDUCEL1:
	case NPL_OP_REDUCEL2:
	case NPL_OP_REDUCESUMSQUARE:
	case NPL_OP_REDUCELOGSUM:
	case NPL_OP_REDUCELOGSUMEXP:
		return reduce(at);
	case NPL_OP_ARGMAX:
	case NPL_OP_ARGMIN:
		return arg(at);
	case NPL_OP_CUMSUM:
		return cumsum(at);
	default:
		return of_moving(at, why);
	}
}

bool follow_node(struct follow *f, const struct npl_node *node, const char **why)
{
	const struct at at = {f, node};
	switch (node->op) {
	case NPL_OP_RESHAPE:
	case NPL_OP_FLATTEN:
	case NPL_OP_SQUEEZE:
	case NPL_OP_UNSQUEEZE:
	case NPL_OP_IDENTITY:
	case NPL_OP_DROPOUT:
	case NPL_OP_CAST:
	case NPL_OP_CASTLIKE:
		return in_order(&at, 1);
	case NPL_OP_CLIP:
		return in_order(&at, 3);
	case NPL_OP_QUANTIZELINEAR:
	case NPL_OP_DEQUANTIZELINEAR:
		return quantise(&at);
	case NPL_OP_CONV:
	case NPL_OP_CONVTRANSPOSE:
	case NPL_OP_CONVINTEGER:
	case NPL_OP_INSTANCENORMALIZATION:
	case NPL_OP_GROUPNORMALIZATION:
	case NPL_OP_DEPTHTOSPACE:
	case NPL_OP_SPACETODEPTH:
	case NPL_OP_QLINEARCONV:
		return images(&at, false);
	case NPL_OP_MAXPOOL: /* where its second result says is counted through all samples */
		return !has_result(&at, 1) && images(&at, true);
	case NPL_OP_AVERAGEPOOL:
	case NPL_OP_GLOBALAVERAGEPOOL:
	case NPL_OP_GLOBALMAXPOOL:
	case NPL_OP_LPPOOL:
	case NPL_OP_GLOBALLPPOOL:
		return images(&at, true);
	case NPL_OP_LRN:
		return along(&at, 1);
	case NPL_OP_BATCHNORMALIZATION:
		return batchnorm(&at);
	case NPL_OP_LAYERNORMALIZATION:
	case NPL_OP_RMSNORMALIZATION:
		return layernorm(&at);
	default:
		return of_axes(&at, why);
	}
}
