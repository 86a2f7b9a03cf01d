/* SPDX-License-Identifier: MIT
 *
 * Chooses the tensors that are stored with channels last (layout.h). */
#include "layout.h"
#include "backends/cuda/products/channels_last.h"

#include <string.h>

#include "layer_group.h"

int cu_layout_owner(const struct cu_layer_group *group, int h)
{
	const int root = group->held[h].root;
	return npl_shape_equal(&group->held[h].tensor->shape, &group->held[root].tensor->shape) ? root : h;
}

bool cu_layout_differs_from_onnx(const struct cu_layer_group *group, int h)
{
	const struct cu_tensor *root = &group->held[group->held[h].root];
	return root->channels_last && !cu_layout_is_free(&root->tensor->shape);
}

enum need { ANY, PLAIN, LAST };

/* The order in which layer l needs input k if its result has channels last (result_last) or ONNX's order. */
static enum need need_of(const struct cu_layer_group *group, int l, int k, bool result_last)
{
	const struct cu_layer *layer = &group->layer[l];
	const struct npl_layer *asked = group->request.layer[l];
	if (layer->method == CU_METHOD_NONE)
		return ANY;
	if (layer->method != CU_METHOD_KERNEL)
		return layer->channels_last && k < 2 ? LAST : PLAIN;
	switch (cu_kernel_layouts(asked)) {
	case CU_LAYOUT_READS:
		return k ? PLAIN : ANY;
	case CU_LAYOUT_FOLLOWS:
		if (asked->in[k]->shape.rank != asked->out->shape.rank)
			return PLAIN;
		return !cu_kernel_same_layout(asked, k) ? ANY : result_last ? LAST : PLAIN;
	case CU_LAYOUT_PLAIN:
	default:
		return PLAIN;
	}
}

static bool is_view(const struct cu_layer_group *group, int l)
{
	return group->layer[l].method == CU_METHOD_NONE && group->request.layer[l]->op == NPL_OP_RESHAPE;
}

/* Returns the held tensor that layer l reads as input k; -1: none. */
static int read_by(const struct cu_layer_group *group, int l, int k)
{
	const int h = group->in[l][k];
	return h < 0 || is_view(group, l) || !cu_layer_reads(&group->layer[l], k) ? -1 : cu_layout_owner(group, h);
}

/* Marks, from the last layer to the first, the tensors that should have channels last: a layer needs that order, or
 * passes it on to one that does. A tensor that any layer needs in ONNX's order keeps that. Given tensors and constants
 * take their order from these marks. */
static void find_wishes(struct cu_layer_group *group)
{
	for (int l = group->request.n - 1; l >= 0; l--) {
		const struct cu_tensor *out = &group->held[group->out[l]];
		const bool result = out->channels_last && !out->needed_plain;
		for (int k = 0; k < group->request.layer[l]->n_in; k++) {
			const int h = read_by(group, l, k);
			const enum need need = h < 0 ? ANY : need_of(group, l, k, result);
			if (need == ANY || cu_layout_is_free(&group->held[h].tensor->shape))
				continue;
			group->held[h].channels_last |= need == LAST;
			group->held[h].needed_plain |= need == PLAIN;
		}
		for (int k = 0; k < group->request.layer[l]->n_in && is_view(group, l); k++)
			if (group->in[l][k] >= 0 && cu_layout_owner(group, group->out[l]) == group->out[l])
				group->held[group->held[group->in[l][k]].root].needed_plain = true;
	}
}

/* Notes that the copy of h in the other order must exist at this step. */
static void turned_at(struct cu_layer_group *group, int h, int step)
{
	struct cu_tensor *held = &group->held[h];
	if (held->second_layout_first < 0)
		held->second_layout_first = step;
	held->second_layout_last = step;
}

/* Notes that a layer reads h at this step, with channels last if `last`. A view of another shape needs its root in
 * ONNX's order. */
static void reads(struct cu_layer_group *group, int h, bool last, int step)
{
	const struct cu_tensor *held = &group->held[h];
	const bool turned = last != held->channels_last && !cu_layout_is_free(&held->tensor->shape);
	if (held->root != h && cu_layout_differs_from_onnx(group, h) && (!turned || held->second_layout_first < 0))
		turned_at(group, held->root, step);
	if (turned)
		turned_at(group, h, step);
}

static bool result_lies_last(const struct cu_layer_group *group, int l)
{
	const struct npl_layer *asked = group->request.layer[l];
	if (group->layer[l].method != CU_METHOD_KERNEL)
		return group->layer[l].channels_last;
	if (cu_kernel_layouts(asked) != CU_LAYOUT_FOLLOWS)
		return false;
	for (int k = 0; k < asked->n_in; k++) {
		const int h = read_by(group, l, k);
		if (h >= 0 && group->held[h].channels_last && asked->in[k]->shape.rank == asked->out->shape.rank &&
		    !cu_layout_is_free(&asked->in[k]->shape))
			return true;
	}
	return false;
}

void cu_layout_plan(struct cu_layer_group *group)
{
	for (int h = 0; h < group->n_held; h++)
		group->held[h].second_layout_first = group->held[h].second_layout_last = -1;
	find_wishes(group);
	for (int h = 0; h < group->n_held; h++) {
		struct cu_tensor *held = &group->held[h];
		held->channels_last = held->result < 0 && held->channels_last && !held->needed_plain;
	}
	for (int l = 0; l < group->request.n; l++) {
		const struct npl_layer *asked = group->request.layer[l];
		const bool last = result_lies_last(group, l);
		for (int k = 0; k < npl_layer_outputs(asked); k++)
			group->held[group->out[l] + k].channels_last = last &&
								       (group->layer[l].method != CU_METHOD_KERNEL ||
									cu_kernel_follows(asked, k));
		for (int k = 0; k < asked->n_in; k++) {
			const int h = read_by(group, l, k);
			if (h < 0)
				continue;
			const enum need need = need_of(group, l, k, last);
			group->read_last[l][k] = need == ANY ? group->held[h].channels_last : need == LAST;
			reads(group, h, group->read_last[l][k], l + 1);
		}
	}
}
