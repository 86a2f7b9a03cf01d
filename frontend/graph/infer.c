/* SPDX-License-Identifier: MIT
 *
 * Goes through the sorted nodes once: lets the operator read its attributes, refuses those it did not understand,
 * asks it for the shapes of its outputs, and replaces nodes with constant inputs, and those that only look at shapes, by their values. */
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "core/base/grow.h"
#include "npulab/stage.h"

/* Attributes without effect on what npulab computes, whatever their value: hints for in-place execution
 * (consumed_inputs, before opset 6), for training (momentum, seed), and the order of the indices that MaxPool may
 * return, which is not supported (storage_order). */
static const char *const ignorable[] = {"consumed_inputs", "momentum", "seed", "storage_order"};

/* A shape rule may need the values of a constant that is still a fill; no rule reads more elements than this. */
#define MAX_SHAPE_ELEMENTS 64 /* but for those with NPL_OP_READS_ALL, which count off the limits of folding */

/* The opset nearest to the node's in which its operator has the attribute; 0: there is none. It marks attributes as used. */
static int opset_with(struct graph_node *node, const struct npl_attr *attr)
{
	for (int distance = 1; distance < NPL_LAST_OPSET; distance++)
		for (int side = -1; side <= 1; side += 2) {
			struct npl_err unread = {0};
			struct npl_attrs attrs = {.opset = node->opset + side * distance};
			if (attrs.opset < NPL_FIRST_OPSET || attrs.opset > NPL_LAST_OPSET)
				continue;
			npl_op_attrs(node->op, &node->list, &attrs, &unread);
			if (attr->used)
				return (int)attrs.opset;
		}
	return 0;
}

static int not_used(struct graph_builder *b, struct graph_node *node, const struct npl_attr *attr)
{
	const int opset = opset_with(node, attr);
	if (!opset)
		return npl_fail(b->err, NPL_EINPUT, "attribute '%s' is not supported in opset %d", attr->name,
				node->opset);
	if (opset > node->opset)
		return npl_fail(b->err, NPL_EINPUT, "attribute '%s' comes with opset %d, the node is of opset %d",
				attr->name, opset, node->opset);
	return npl_fail(b->err, NPL_EINPUT,
			"attribute '%s' ended with opset %d, the node is of opset %d: it may be an input since",
			attr->name, opset, node->opset);
}

static int check_used(struct graph_builder *b, struct graph_node *node)
{
	for (int i = 0; i < node->list.n; i++) {
		const struct npl_attr *attr = &node->list.attr[i];
		bool known = attr->used;
		for (size_t k = 0; k < sizeof ignorable / sizeof ignorable[0] && !known; k++)
			known = !strcmp(ignorable[k], attr->name);
		if (!known)
			return not_used(b, node, attr);
	}
	return 0;
}

static int read_attributes(struct graph_builder *b, struct graph_node *node)
{
	node->attrs = (struct npl_attrs){.opset = node->opset};
	b->err->code = 0; /* npl_attr_find reports through it */
	int rc = npl_op_attrs(node->op, &node->list, &node->attrs, b->err);
	return rc ? rc : check_used(b, node);
}

void graph_node_tensors(struct graph_builder *b, const struct graph_node *node)
{
	for (int k = 0; k < node->n_in; k++) {
		b->tensor_ref[k] = NULL;
		if (node->in[k] < 0)
			continue;
		const struct npl_value *value = &b->value[node->in[k]];
		b->tensor[k] = (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape};
		if (value->constant)
			b->tensor[k].data = (void *)value->data; /* kernels only read their inputs */
		b->tensor_ref[k] = &b->tensor[k];
	}
	for (int k = 0; k < node->n_out; k++) {
		const struct npl_value *value = &b->value[node->out[k]];
		b->tensor[node->n_in + k] = (struct npl_tensor){
			.name = value->name, .dtype = value->dtype, .shape = value->shape};
	}
}

/* Makes the elements of small constants for rules that read values, and of single ones for all (Dropout's mode). */
static int materialise_shapes(struct graph_builder *b, const struct graph_node *node)
{
	unsigned flags = npl_op_defs[node->op].flags;
	int64_t most = flags & NPL_OP_NEEDS_VALUES ? MAX_SHAPE_ELEMENTS : 1;
	for (int k = 0; k < node->n_in; k++) {
		struct npl_value *value = node->in[k] < 0 ? NULL : &b->value[node->in[k]];
		if (!value || value->data || !(value->is_fill || value->is_random))
			continue;
		int64_t count = npl_shape_count(&value->shape);
		bool make = count <= most;
		if (!make && flags & NPL_OP_READS_ALL)
			make = fold_allowed(b, (size_t)count * npl_dtype_size(value->dtype), (uint64_t)count);
		if (make && !fold_data(b, value))
			return b->err->code;
	}
	return 0;
}

int graph_shape_node(struct graph_builder *b, struct graph_node *node)
{
	int rc = materialise_shapes(b, node);
	if (rc)
		return rc;
	graph_node_tensors(b, node);
	struct npl_tensor *out = &b->tensor[node->n_in];
	rc = npl_op_shape(node->op, &node->attrs, b->tensor_ref, node->n_in, out, node->n_out, b->err);
	if (rc)
		return rc;
	for (int k = 0; k < node->n_out; k++) {
		char text[192];
		if (npl_shape_count(&out[k].shape) < 0)
			return npl_fail(b->err, NPL_EINPUT, "its output would have the shape %s, more than can be",
					npl_shape_text(&out[k].shape, text, sizeof text));
		b->value[node->out[k]].dtype = out[k].dtype;
		b->value[node->out[k]].shape = out[k].shape;
	}
	return 0;
}

/* Does it depend on an input of the graph; are all its inputs constant? */
static bool all_constant(const struct graph_builder *b, struct graph_node *node)
{
	bool constant = true;
	node->varies = false;
	for (int k = 0; k < node->n_in; k++) {
		const struct npl_value *value = node->in[k] < 0 ? NULL : &b->value[node->in[k]];
		if (!value || value->constant)
			continue;
		constant = false;
		if (value->producer < 0 || b->node[value->producer].varies)
			node->varies = true;
	}
	return constant;
}

int graph_infer_node(struct graph_builder *b, struct graph_node *node)
{
	const int index = (int)(node - b->node);
	npl_stage_step("reading node", index + 1, b->n_nodes, node->name);
	bool constant = all_constant(b, node);
	int rc = read_attributes(b, node);
	if (!rc && node->op == NPL_OP_RESHAPE)
		rc = graph_batch_reshape(b, node);
	if (!rc)
		rc = graph_shape_node(b, node);
	if (!rc && (constant || npl_op_defs[node->op].flags & NPL_OP_BY_SHAPE))
		rc = fold_constant(b, node);
	if (!rc && node->op == NPL_OP_ATTENTION && !node->removed)
		rc = graph_compose_attention(b, index);
	return rc ? graph_blame(b, &b->node[index]) : 0;
}

/* Nodes that take the place of one stand behind it in the order. */
int graph_infer(struct graph_builder *b)
{
	const int n = b->n_nodes;
	int *order = NULL, length = 0, rc = 0;
	int64_t room = 0;
	for (int i = 0; i < n && !rc; i++) {
		const int before = b->n_nodes;
		rc = graph_infer_node(b, &b->node[b->order[i]]);
		for (int k = before - 1; k < b->n_nodes && !rc; k++) {
			int *bigger = npl_grow(order, length, &room, sizeof *order);
			if (!bigger)
				rc = graph_no_memory(b);
			else
				(order = bigger)[length++] = k < before ? b->order[i] : k;
		}
	}
	if (!rc && length > n) {
		free(b->order);
		b->order = order;
		order = NULL;
	}
	free(order);
	return rc;
}
