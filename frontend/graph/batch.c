/* SPDX-License-Identifier: MIT
 *
 * The batch, dimension 0 of every input, is set by `--batch N`. Constant Reshape shapes whose first entry repeats the
 * batch that the model was exported with (ResNet's "reshape to 1x2048" before its last layer, mnist's 1x256) are
 * changed with it: otherwise such a model could run only its exported batch. A Reshape of weights is not changed, nor
 * is a shape that the model computes from the shape of a value. A model that leaves its batch open takes any batch: its
 * shapes are first used as they are. Only where that gives no valid network are they taken to repeat a batch of 1
 * (graph_load.c). */
#include "build.h"

#include <string.h>

#include "core/base/refuse.h"

int graph_batch_reshape(struct graph_builder *b, struct graph_node *node)
{
	int64_t batch = b->options.batch;
	const struct npl_value *data = &b->value[node->in[0]];
	bool varies = !data->constant && (data->producer < 0 || b->node[data->producer].varies);
	int s = node->n_in > 1 ? node->in[1] : -1;
	if (batch <= 0 || batch == b->old_batch || !varies || s < 0)
		return 0;
	if (b->value[s].of_shape)
		return 0; /* computed with the batch that the user asks for */
	struct npl_value new_value = b->value[s];
	int64_t count = npl_shape_count(&new_value.shape);
	if (!new_value.constant || new_value.dtype != NPL_I64 || new_value.shape.rank != 1 || count < 1 ||
	    count > NPL_MAX_RANK)
		return 0; /* the shape rule reports such shapes */
	const int64_t *old = fold_data(b, &b->value[s]);
	if (!old)
		return b->err->code;
	if (old[0] != b->old_batch)
		return 0;
	if (b->batch_is_open && !b->constant_shapes_assume_batch_1) {
		b->kept_shape = true;
		return 0;
	}
	int64_t *entry = npl_arena_array(&b->graph->arena, (size_t)count, sizeof *entry);
	if (!entry)
		return npl_no_memory(b->err);
	memcpy(entry, old, (size_t)count * sizeof *entry);
	entry[0] = batch;
	new_value.data = entry;
	new_value.is_fill = false;
	node->in[1] = graph_add_made(b, node->name, "batch_shape",
				     &new_value); /* the old shape may have other readers */
	return node->in[1] < 0 ? node->in[1] : 0;
}
