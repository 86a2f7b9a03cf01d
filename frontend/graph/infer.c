/* SPDX-License-Identifier: MIT
 *
 * Goes through the sorted nodes once: lets the operator read its attributes, refuses attributes that it did not read,
 * asks it for the shapes of its outputs, and replaces nodes with constant inputs, and nodes that only read shapes, by
 * their values. */
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "npulab/progress.h"

/* Attributes without effect on what npulab computes, whatever their value: hints for in-place execution
 * (consumed_inputs, before opset 6), for training (momentum, seed), and the order of the indices that MaxPool may
 * return, which is not supported (storage_order). */
static const char *const ignorable[] = {"consumed_inputs", "momentum", "seed", "storage_order"};

/* Returns the opset nearest to the node's in which its operator has the attribute; 0: there is none. Marks attributes
 * as used. */
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

static int check_given_once(struct graph_builder *b, const struct npl_attr_list *list)
{
	for (int i = 0; i < list->n; i++)
		for (int k = 0; k < i; k++)
			if (!strcmp(list->attr[i].name, list->attr[k].name))
				return npl_fail(b->err, NPL_EINPUT, "attribute '%s' is given twice",
						list->attr[i].name);
	return 0;
}

static int read_attributes(struct graph_builder *b, struct graph_node *node)
{
	node->attrs = (struct npl_attrs){.opset = node->opset};
	int rc = check_given_once(b, &node->list);
	if (!rc)
		rc = npl_op_attrs(node->op, &node->list, &node->attrs, b->err);
	return rc ? rc : check_used(b, node);
}

/* Sets node->varies; says whether all inputs are constant. */
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
	npl_progress_step("reading node", index + 1, b->n_nodes, node->name);
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

/* Nodes that replace a node come after it in the order. */
int graph_infer(struct graph_builder *b)
{
	const int n = b->n_nodes;
	int *order = NULL, length = 0, rc = 0;
	int64_t capacity = 0;
	for (int i = 0; i < n && !rc; i++) {
		const int before = b->n_nodes;
		rc = graph_infer_node(b, &b->node[b->order[i]]);
		for (int k = before - 1; k < b->n_nodes && !rc; k++) {
			int *grown = npl_grow(order, length, &capacity, sizeof *order);
			if (!grown)
				rc = npl_no_memory(b->err);
			else
				(order = grown)[length++] = k < before ? b->order[i] : k;
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
