/* SPDX-License-Identifier: MIT
 *
 * The batch: dimension 0 of every input. `--batch N` sets it, and also the first entry of constant Reshape shapes
 * that repeat the batch the model was exported with (ResNet's "reshape to 1x2048" before its last layer, mnist's
 * 1x256): without that such a model could run its exported batch only. A Reshape of weights is left alone, and so is a
 * shape that the model computes from that of a value. */
#include "graph_build.h"

#include <string.h>

static int open_dimension(struct graph_builder *b, const struct graph_input *input, int i)
{
	if (input->symbol[i] && *input->symbol[i])
		return npl_fail(b->err, NPL_EINPUT,
				"input '%s': dimension %d is symbolic ('%s'); only dimension 0 may be", input->name, i,
				input->symbol[i]);
	return npl_fail(b->err, NPL_EINPUT, "input '%s': dimension %d is not known; only dimension 0 may be left open",
			input->name, i);
}

int graph_batch_input(struct graph_builder *b, const struct graph_input *input, struct npl_shape *shape)
{
	char text[192];
	*shape = input->shape;
	for (int i = 1; i < shape->rank; i++)
		if (shape->dim[i] < 0)
			return open_dimension(b, input, i);
	bool first = !b->old_batch;
	if (first)
		b->old_batch = 1;
	if (shape->rank >= 1) {
		int64_t given = shape->dim[0] > 0 ? shape->dim[0] : 1;
		shape->dim[0] = b->options.batch > 0 ? b->options.batch : given;
		if (first)
			b->old_batch = given;
	}
	if (first)
		b->graph->batch = shape->rank >= 1 ? shape->dim[0] : 1;
	if (npl_shape_count(shape) < 0)
		return npl_fail(b->err, NPL_EINPUT, "input '%s': the shape %s has more than %lld elements", input->name,
				npl_shape_text(shape, text, sizeof text), (long long)NPL_MAX_ELEMENTS);
	return 0;
}

int graph_batch_reshape(struct graph_builder *b, struct graph_node *node)
{
	int64_t batch = b->options.batch;
	const struct npl_value *data = &b->value[node->in[0]];
	bool varies = !data->constant && (data->producer < 0 || b->node[data->producer].varies);
	int s = node->n_in > 1 ? node->in[1] : -1;
	if (batch <= 0 || batch == b->old_batch || !varies || s < 0)
		return 0;
	if (b->value[s].of_shape)
		return 0; /* computed with the batch that is asked for */
	struct npl_value made = b->value[s];
	int64_t count = npl_shape_count(&made.shape);
	if (!made.constant || made.dtype != NPL_I64 || made.shape.rank != 1 || count < 1 || count > NPL_MAX_RANK)
		return 0; /* the shape rule has a word on such shapes */
	const int64_t *old = fold_data(b, &b->value[s]);
	if (!old)
		return b->err->code;
	if (old[0] != b->old_batch)
		return 0;
	int64_t *entry = npl_arena_array(&b->graph->arena, (size_t)count, sizeof *entry);
	if (!entry)
		return graph_no_memory(b);
	memcpy(entry, old, (size_t)count * sizeof *entry);
	entry[0] = batch;
	made.data = entry;
	made.is_fill = false;
	node->in[1] = graph_add_made(b, node->name, "batch_shape", &made); /* the old one may have other readers */
	return node->in[1] < 0 ? node->in[1] : 0;
}
