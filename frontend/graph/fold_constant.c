/* SPDX-License-Identifier: MIT
 *
 * Constant folding: replaces a node whose inputs are all constant, or that only reads their shapes, by its value. Some
 * values need no computation: Constant refers to the file, ConstantOfShape becomes a fill (one element and a shape),
 * RandomNormal and the other random operators become a description of their values, and a view refers to its input.
 * Every other node runs once on its reference kernel, within the limits of build.h. */
#include <string.h>

#include "build.h"
#include "core/base/refuse.h"
#include "core/op_functions.h"

/* Returns the steps of a kernel for each element, where it has no window. */
static int64_t steps_of(enum npl_op op, const struct npl_attrs *attrs)
{
	switch (npl_op_defs[op].family) {
	case NPL_FAMILY_LRN:
		return attrs->lrn.size;
	case NPL_FAMILY_ROTARY:
		return attrs->rotary.turned;
	case NPL_FAMILY_SIGNAL:
		return attrs->signal.length;
	case NPL_FAMILY_TOPK:
		return attrs->topk.comparisons;
	case NPL_FAMILY_RESIZE:
		return attrs->resize.neighbours;
	default:
		return 1;
	}
}

/* Returns an upper bound on the steps of a kernel: its multiply-accumulates or, where it has none, its elements times
 * its window or its steps per element. */
static uint64_t work_of(const struct graph_builder *b, const struct graph_node *node, uint64_t elements)
{
	const struct npl_attrs *attrs = &node->attrs;
	uint64_t macs = npl_op_macs(node->op, attrs, b->tensor_ref, node->n_in, &b->tensor[node->n_in]);
	const struct npl_window *window = npl_op_window(node->op, attrs);
	const int64_t steps = steps_of(node->op, attrs);
	const int64_t *factor = window ? window->kernel : &steps;
	uint64_t work = elements;
	for (int i = 0; i < (window ? NPL_VOLUME : 1); i++)
		if (factor[i] > 1 && __builtin_mul_overflow(work, (uint64_t)factor[i], &work))
			return UINT64_MAX;
	return work > macs ? work : macs;
}

static bool by_shape(const struct graph_node *node)
{
	return npl_op_defs[node->op].flags & NPL_OP_BY_SHAPE;
}

/* Says whether the node may be run. Subtracts its outputs, and inputs that are still fills, from the limits. */
static bool may_run(struct graph_builder *b, const struct graph_node *node)
{
	size_t bytes = 0;
	uint64_t elements = 0;
	for (int k = 0; k < node->n_in + node->n_out; k++) {
		bool input = k < node->n_in;
		int v = input ? node->in[k] : node->out[k - node->n_in];
		if (v < 0 || (input && by_shape(node)))
			continue;
		const struct npl_value *value = &b->value[v];
		uint64_t count = (uint64_t)npl_shape_count(&value->shape); /* at most 2^40 elements each */
		if (__builtin_add_overflow(elements, count, &elements))
			return false;
		if (!input || !value->data)
			bytes += count * npl_dtype_size(value->dtype);
		if (bytes > b->limits.fold_bytes)
			return false;
	}
	return fold_allowed(b, bytes, work_of(b, node, elements));
}

/* Runs the node on its constants; the results go to the arena. */
static int run(struct graph_builder *b, struct graph_node *node)
{
	for (int k = 0; k < node->n_in && !by_shape(node); k++)
		if (node->in[k] >= 0 && !fold_data(b, &b->value[node->in[k]]))
			return b->err->code;
	graph_node_tensors(b, node);
	struct npl_tensor *out = &b->tensor[node->n_in];
	for (int k = 0; k < node->n_out; k++) {
		out[k].data = npl_arena_alloc(&b->graph->arena, npl_tensor_bytes(&out[k]));
		if (!out[k].data)
			return npl_no_memory(b->err);
	}
	int rc = npl_op_run(node->op, &node->attrs, b->tensor_ref, node->n_in, out, node->n_out, b->err);
	for (int k = 0; k < node->n_out && !rc; k++)
		b->value[node->out[k]].data = out[k].data;
	return rc;
}

/* Makes the value a fill, as ConstantOfShape does: copies of one element, which is float zero unless the model gives
 * another. */
static void set_fill(struct npl_value *value, const struct npl_tensor *element)
{
	value->is_fill = true;
	value->data = NULL;
	if (element->data)
		memcpy(value->fill, element->data, npl_dtype_size(value->dtype));
}

/* Describes random values. Without a seed of its own, each tensor gets one from its name (FNV-1a), the same in every
 * run. */
static void set_law(struct npl_value *value, const struct npl_random_law *law)
{
	value->is_random = true;
	value->data = NULL;
	value->law = *law;
	if (law->seeded)
		return;
	value->law.seed = 0xcbf29ce484222325u;
	for (const char *c = value->name; *c; c++)
		value->law.seed = (value->law.seed ^ (unsigned char)*c) * 0x100000001b3u;
}

static bool is_random(enum npl_op op)
{
	return op == NPL_OP_RANDOMNORMAL || op == NPL_OP_RANDOMUNIFORM || op == NPL_OP_RANDOMNORMALLIKE ||
	       op == NPL_OP_RANDOMUNIFORMLIKE;
}

/* Says whether the node's value follows from the shape of a value that varies. */
static bool follows_shape(const struct graph_builder *b, const struct graph_node *node)
{
	bool follows = node->varies;
	for (int k = 0; k < node->n_in; k++)
		follows |= node->in[k] >= 0 && b->value[node->in[k]].of_shape;
	return follows;
}

int fold_constant(struct graph_builder *b, struct graph_node *node)
{
	struct npl_value *out = &b->value[node->out[0]];
	int rc = 0;
	if (node->op == NPL_OP_CONSTANT) {
		out->data = node->attrs.constant.value.data;
		if (!out->data)
			return npl_fail(b->err, NPL_EINPUT, "it holds no value");
	} else if (node->op == NPL_OP_CONSTANTOFSHAPE) {
		set_fill(out, &node->attrs.constant.value);
	} else if (is_random(node->op)) {
		set_law(out, &node->attrs.random.law);
	} else if ((npl_op_defs[node->op].flags & NPL_OP_IS_VIEW) && node->n_out == 1) {
		const struct npl_value *in = &b->value[node->in[0]];
		out->data = in->data;
		out->is_random = in->is_random;
		out->law = in->law;
		out->is_fill = in->is_fill;
		memcpy(out->fill, in->fill, sizeof out->fill);
	} else if (may_run(b, node)) {
		rc = run(b, node);
	} else {
		return 0;
	}
	rc = rc ? rc : fold_integers(b, node);
	for (int k = 0; k < node->n_out; k++) {
		b->value[node->out[k]].constant = true;
		b->value[node->out[k]].producer = -1;
		b->value[node->out[k]].of_shape = follows_shape(b, node);
	}
	node->removed = true;
	b->graph->folded_constants++;
	return rc;
}
