/* SPDX-License-Identifier: MIT
 *
 * Chooses the tensors that are stored with channels last (layout.h). */
#include "layout.h"
#include "backends/cuda/products/channels_last.h"

#include <string.h>

#include "layer_group.h"

int cu_layout_owner(const struct cu_layer_group *group, int h)
{
	const int root = group->tensor[h].root;
	return npl_shape_equal(&group->tensor[h].host->shape, &group->tensor[root].host->shape) ? root : h;
}

bool cu_layout_differs_from_onnx(const struct cu_layer_group *group, int h)
{
	const struct cu_tensor *root = &group->tensor[group->tensor[h].root];
	return root->channels_last && !cu_layout_is_free(&root->host->shape);
}

enum layout_need { ANY_LAYOUT, ONNX_LAYOUT, CHANNELS_LAST };

/* Returns the order in which layer l needs input k if its result has channels last (result_last) or ONNX's order. */
static enum layout_need need_of(const struct cu_layer_group *group, int l, int k, bool result_last)
{
	const struct cu_layer *layer = &group->layer[l];
	const struct npl_layer *layer_request = group->request.layer[l];
	if (layer->method == CU_METHOD_NONE)
		return ANY_LAYOUT;
	if (layer->method != CU_METHOD_KERNEL)
		return layer->channels_last && k < 2 ? CHANNELS_LAST : ONNX_LAYOUT;
	switch (cu_kernel_layouts(layer_request)) {
	case CU_LAYOUT_READS:
		return k ? ONNX_LAYOUT : ANY_LAYOUT;
	case CU_LAYOUT_FOLLOWS:
		if (layer_request->in[k]->shape.rank != layer_request->out->shape.rank)
			return ONNX_LAYOUT;
		return !cu_kernel_same_layout(layer_request, k) ? ANY_LAYOUT
		       : result_last                            ? CHANNELS_LAST
								: ONNX_LAYOUT;
	case CU_LAYOUT_PLAIN:
	default:
		return ONNX_LAYOUT;
	}
}

static bool is_view(const struct cu_layer_group *group, int l)
{
	return group->layer[l].method == CU_METHOD_NONE && group->request.layer[l]->op == NPL_OP_RESHAPE;
}

/* Returns the tensor that layer l reads as input k; -1: none. */
static int read_by(const struct cu_layer_group *group, int l, int k)
{
	const int h = group->in[l][k];
	return h < 0 || is_view(group, l) || !cu_layer_reads(&group->layer[l], k) ? -1 : cu_layout_owner(group, h);
}

/* Marks, from the last layer to the first, the tensors that should have channels last: a layer needs that order, or
 * passes it on to one that does. A tensor that any layer needs in ONNX's order keeps that. Given tensors and constants
 * take their order from these marks. */
static void mark_channels_last(struct cu_layer_group *group)
{
	for (int l = group->request.n - 1; l >= 0; l--) {
		const struct cu_tensor *out = &group->tensor[group->out[l]];
		const bool result = out->channels_last && !out->needed_plain;
		for (int k = 0; k < group->request.layer[l]->n_in; k++) {
			const int h = read_by(group, l, k);
			const enum layout_need layout_need = h < 0 ? ANY_LAYOUT : need_of(group, l, k, result);
			if (layout_need == ANY_LAYOUT || cu_layout_is_free(&group->tensor[h].host->shape))
				continue;
			group->tensor[h].channels_last |= layout_need == CHANNELS_LAST;
			group->tensor[h].needed_plain |= layout_need == ONNX_LAYOUT;
		}
		for (int k = 0; k < group->request.layer[l]->n_in && is_view(group, l); k++)
			if (group->in[l][k] >= 0 && cu_layout_owner(group, group->out[l]) == group->out[l])
				group->tensor[group->tensor[group->in[l][k]].root].needed_plain = true;
	}
}

/* Notes that the copy of h in the other order must exist at this step. */
static void need_second_layout(struct cu_layer_group *group, int h, int step)
{
	struct cu_tensor *tensor = &group->tensor[h];
	if (tensor->second_layout_first < 0)
		tensor->second_layout_first = step;
	tensor->second_layout_last = step;
}

/* Notes that a layer reads h at this step, with channels last if `last`. A view of another shape needs its root in
 * ONNX's order. */
static void note_read(struct cu_layer_group *group, int h, bool last, int step)
{
	const struct cu_tensor *tensor = &group->tensor[h];
	const bool needs_copy = last != tensor->channels_last && !cu_layout_is_free(&tensor->host->shape);
	if (tensor->root != h && cu_layout_differs_from_onnx(group, h) &&
	    (!needs_copy || tensor->second_layout_first < 0))
		need_second_layout(group, tensor->root, step);
	if (needs_copy)
		need_second_layout(group, h, step);
}

static bool has_channels_last_result(const struct cu_layer_group *group, int l)
{
	const struct npl_layer *layer_request = group->request.layer[l];
	if (group->layer[l].method != CU_METHOD_KERNEL)
		return group->layer[l].channels_last;
	if (cu_kernel_layouts(layer_request) != CU_LAYOUT_FOLLOWS)
		return false;
	for (int k = 0; k < layer_request->n_in; k++) {
		const int h = read_by(group, l, k);
		if (h >= 0 && group->tensor[h].channels_last &&
		    layer_request->in[k]->shape.rank == layer_request->out->shape.rank &&
		    !cu_layout_is_free(&layer_request->in[k]->shape))
			return true;
	}
	return false;
}

void cu_layout_plan(struct cu_layer_group *group)
{
	for (int h = 0; h < group->n_tensors; h++)
		group->tensor[h].second_layout_first = group->tensor[h].second_layout_last = -1;
	mark_channels_last(group);
	for (int h = 0; h < group->n_tensors; h++) {
		struct cu_tensor *tensor = &group->tensor[h];
		tensor->channels_last = tensor->result < 0 && tensor->channels_last && !tensor->needed_plain;
	}
	for (int l = 0; l < group->request.n; l++) {
		const struct npl_layer *layer_request = group->request.layer[l];
		const bool last = has_channels_last_result(group, l);
		for (int k = 0; k < npl_layer_outputs(layer_request); k++)
			group->tensor[group->out[l] + k].channels_last = last &&
									 (group->layer[l].method != CU_METHOD_KERNEL ||
									  cu_kernel_follows(layer_request, k));
		for (int k = 0; k < layer_request->n_in; k++) {
			const int h = read_by(group, l, k);
			if (h < 0)
				continue;
			const enum layout_need layout_need = need_of(group, l, k, last);
			group->read_last[l][k] = layout_need == ANY_LAYOUT ? group->tensor[h].channels_last
									   : layout_need == CHANNELS_LAST;
			note_read(group, h, group->read_last[l][k], l + 1);
		}
	}
}
