/* SPDX-License-Identifier: MIT
 *
 * Prepares a layer group (layer_group.h): the tensors that the GPU holds, the steps and the memory of each, and the
 * layers with their weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/load/alignment.h"
#include "backends/cuda/products/channels_last.h"
#include "core/base/memory_plan.h"
#include "core/base/message.h"
#include "layer_group.h"
#include "layout.h"
#include "replay.h"

static int out_of_memory(struct npl_err *err)
{
	return npl_fail(err, NPL_ENOMEM, "out of memory for a layer group");
}

static int find_tensor(const struct cu_layer_group *group, const struct npl_tensor *tensor)
{
	for (int h = group->n_tensors - 1; h >= 0; h--)
		if (group->tensor[h].host == tensor)
			return h;
	return -1;
}

static int add_tensor(struct cu_layer_group *group, const struct npl_tensor *tensor, int layer, int result, int step)
{
	group->tensor[group->n_tensors] = (struct cu_tensor){.host = tensor,
							     .dtype = cu_device_type(group->device, tensor->dtype),
							     .root = group->n_tensors,
							     .layer = layer,
							     .result = result,
							     .first = step,
							     .last = step,
							     .second_layout_first = -1,
							     .second_layout_last = -1,
							     .second_layout_piece = -1,
							     .piece = -1,
							     .host_copy_piece = -1,
							     .event = -1};
	return group->n_tensors++;
}

static void extend_lifetime(struct cu_layer_group *group, int h, int step)
{
	struct cu_tensor *root = &group->tensor[group->tensor[h].root];
	if (step > root->last)
		root->last = step;
	if (step < root->first)
		root->first = step;
}

static bool is_view(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_RESHAPE;
}

/* Adds the tensors that layer l reads and makes to the group's, except its weights, which the layer holds itself. */
static void add_layer_tensors(struct cu_layer_group *group, int l, bool (*resident)[3])
{
	const struct npl_layer *layer = group->request.layer[l];
	for (int k = 0; k < layer->n_in; k++) {
		group->in[l][k] = layer->in[k] ? find_tensor(group, layer->in[k]) : -1;
		if (!layer->in[k] || group->in[l][k] >= 0)
			continue;
		if ((k == 1 || k == 2) && layer->in[k]->data && cu_layer_weighs(group->device, layer))
			resident[l][k] = true;
		else
			group->in[l][k] = add_tensor(group, layer->in[k], l, -1, 0);
	}
	group->out[l] = group->n_tensors;
	for (int k = 0; k < npl_layer_outputs(layer); k++)
		add_tensor(group, &layer->out[k], l, k, l + 1);
	if (is_view(layer) && group->in[l][0] >= 0)
		group->tensor[group->out[l]].root = group->tensor[group->in[l][0]].root;
}

static int open_layers(struct cu_layer_group *group, struct npl_err *err)
{
	bool(*resident)[3] = calloc((size_t)group->request.n, sizeof *resident);
	int rc = resident ? 0 : out_of_memory(err);
	for (int l = 0; l < group->request.n && !rc; l++) {
		const struct npl_layer *layer = group->request.layer[l];
		add_layer_tensors(group, l, resident);
		rc = cu_layer_open(group->device, layer, resident[l], is_view(layer), &group->layer[l], err);
		if (rc)
			npl_prefix(err, "layer '%s'", layer->name);
		if (!rc && group->layer[l].workspace_bytes > group->workspace_bytes)
			group->workspace_bytes = group->layer[l].workspace_bytes;
	}
	free(resident);
	return rc;
}

/* Finds the steps in which each tensor is needed, and which tensors are outputs or constant. */
static void find_lifetimes(struct cu_layer_group *group, const struct npl_layer_group *request)
{
	for (int l = 0; l < group->request.n; l++)
		for (int k = 0; k < group->request.layer[l]->n_in; k++) {
			int h = group->in[l][k];
			if (h < 0 || (!cu_layer_reads(&group->layer[l], k) && !is_view(group->request.layer[l])))
				continue;
			group->tensor[group->tensor[h].root].read = true;
			extend_lifetime(group, h, l + 1);
		}
	for (int i = 0; i < request->n_outputs; i++) {
		int h = find_tensor(group, request->output[i]);
		if (h < 0)
			continue;
		group->tensor[h].is_output = true;
		extend_lifetime(group, h, group->request.n + 1);
	}
	for (int i = 0; i < request->n_constant; i++) {
		int h = find_tensor(group, request->constant[i]);
		if (h >= 0)
			group->tensor[h].constant = true;
	}
}

static size_t bytes_as(const struct npl_tensor *tensor, enum npl_dtype dtype)
{
	return (size_t)npl_tensor_count(tensor) * npl_dtype_size(dtype);
}

static int add_piece(struct cu_layer_group *group, size_t bytes, int first, int last)
{
	group->piece[group->n_pieces] = (struct npl_memory_piece){.bytes = bytes, .first = first, .last = last};
	return group->n_pieces++;
}

/* Places the copy in the other order: a constant's for good, any other for the steps that need it. */
static void place_second_layout(struct cu_layer_group *group, struct cu_tensor *tensor, size_t *constants)
{
	const size_t bytes = bytes_as(tensor->host, tensor->dtype);
	if (tensor->second_layout_first < 0)
		return;
	if (tensor->result < 0 && tensor->constant) {
		tensor->second_layout_offset = *constants;
		*constants += cu_aligned(bytes);
	} else {
		tensor->second_layout_piece = add_piece(group, bytes, tensor->second_layout_first,
							tensor->second_layout_last);
	}
}

/* Places a tensor: among the values, or with the weights if it is constant; and in the staging memory if it is
 * transferred. */
static void place_tensor(struct cu_layer_group *group, struct cu_tensor *tensor, int h, size_t *constants)
{
	const bool is_input = tensor->result < 0;
	if (tensor->root == h && is_input && tensor->constant) {
		tensor->offset = *constants;
		*constants += tensor->read ? cu_aligned(bytes_as(tensor->host, tensor->dtype)) : 0;
	} else if (tensor->root == h && (tensor->read || !is_input)) {
		tensor->piece = add_piece(group, bytes_as(tensor->host, tensor->dtype), tensor->first, tensor->last);
	}
	place_second_layout(group, tensor, constants);
	if (tensor->constant || (is_input && !tensor->read) || (!is_input && !tensor->is_output))
		return;
	if (tensor->dtype != tensor->host->dtype || cu_layout_differs_from_onnx(group, h))
		tensor->host_copy_piece = add_piece(group, npl_tensor_bytes(tensor->host),
						    is_input ? 0 : group->request.n + 1,
						    is_input ? 0 : group->request.n + 1);
	tensor->offset = group->staging_bytes;
	group->staging_bytes += cu_aligned(npl_tensor_bytes(tensor->host));
}

static int plan_values(struct cu_layer_group *group, size_t *constants, struct npl_err *err)
{
	group->piece = calloc(3 * (size_t)group->n_tensors + (size_t)group->request.n + 1, sizeof *group->piece);
	if (!group->piece)
		return out_of_memory(err);
	for (int h = 0; h < group->n_tensors; h++)
		place_tensor(group, &group->tensor[h], h, constants);
	for (int l = 0; l < group->request.n; l++)
		group->scratch[l] = group->layer[l].scratch_bytes
					    ? add_piece(group, group->layer[l].scratch_bytes, l + 1, l + 1)
					    : -1;
	return npl_plan_memory(group->piece, group->n_pieces, CU_ALIGNMENT, &group->values_bytes, err);
}

/* Copies one layer's weights to the GPU. The host has memory for one layer's copy at a time. */
static int upload_weights(struct cu_layer_group *group, struct cu_layer *layer, struct npl_err *err)
{
	const struct cu_device *d = group->device;
	const size_t bytes = layer->weights.bytes;
	char *image = bytes ? aligned_alloc(CU_ALIGNMENT, cu_aligned(bytes)) : NULL;
	if (!bytes)
		return 0;
	int rc = image ? cu_layer_fill(layer, image, err) : out_of_memory(err);
	if (!rc)
		rc = cu_try(&d->driver, err, cuMemcpyHtoDAsync, to_device,
			    (layer->weights.address, image, bytes, d->stream));
	if (!rc)
		rc = cu_try(&d->driver, err, cuStreamSynchronize, stream_wait, (d->stream));
	free(image);
	return rc;
}

static int place_weights(struct cu_layer_group *group, size_t constants, struct npl_err *err)
{
	char purpose[100];
	size_t weights = 0;
	int layers = 0;
	for (int l = 0; l < group->request.n; l++) {
		weights += cu_aligned(group->layer[l].weights.bytes);
		layers += group->layer[l].weights.bytes > 0;
	}
	snprintf(purpose, sizeof purpose, "the weights of %d layer%s", layers, npl_plural(layers));
	if (cu_block_open(&group->device->driver, weights + constants, purpose, &group->resident, err))
		return err->code;
	group->constants_at = weights;
	uint64_t address = group->resident.address;
	for (int l = 0; l < group->request.n; l++) {
		group->layer[l].weights.address = address;
		address += cu_aligned(group->layer[l].weights.bytes);
		if (upload_weights(group, &group->layer[l], err))
			return err->code;
	}
	return 0;
}

/* Chooses cuDNN's algorithms by measurement if there is memory for it; too little memory is no error. */
static void search_algorithms(struct cu_layer_group *group)
{
	struct cu_device *d = group->device;
	struct npl_err ignored;
	size_t values = 0, workspace = 0;
	for (int l = 0; l < group->request.n; l++) {
		const struct cu_layer *layer = &group->layer[l];
		const size_t bytes = cu_dnn_search_bytes(layer);
		values = bytes > values ? bytes : values;
		if (bytes && layer->dnn.most_workspace_bytes > workspace)
			workspace = layer->dnn.most_workspace_bytes;
	}
	if (!values || cu_block_reserve(&d->driver, values, "values", &d->values, &ignored) ||
	    cu_block_reserve(&d->driver, workspace, "workspace", &d->workspace, &ignored))
		return;
	group->workspace_bytes = 0;
	for (int l = 0; l < group->request.n; l++) {
		cu_dnn_layer_search(d, &group->layer[l]);
		if (group->layer[l].workspace_bytes > group->workspace_bytes)
			group->workspace_bytes = group->layer[l].workspace_bytes;
	}
}

static int make_counters(struct cu_layer_group *group, struct npl_err *err)
{
	if (group->device->precision != CU_INT8)
		return 0;
	group->saturations = calloc((size_t)group->request.n, sizeof *group->saturations);
	return group->saturations
		       ? cu_block_open(&group->device->driver, (size_t)group->request.n * sizeof *group->saturations,
				       "the counters of layers", &group->counters, err)
		       : out_of_memory(err);
}

static int next_event(struct cu_layer_group *group)
{
	return group->n_events++;
}

/* Creates the events: before the first transfer to the GPU and after each, before and after each layer, before the
 * first transfer to the host and after each. */
static int make_events(struct cu_layer_group *group, struct npl_err *err)
{
	const struct cu_driver *driver = &group->device->driver;
	const int max_events = group->n_tensors + 2 * group->request.n + 2;
	group->event = calloc((size_t)max_events, sizeof *group->event);
	if (!group->event)
		return out_of_memory(err);
	next_event(group);
	for (int h = 0; h < group->n_tensors; h++)
		if (group->tensor[h].result < 0 && group->tensor[h].read && !group->tensor[h].constant)
			group->tensor[h].event = next_event(group);
	for (int l = 0; l < group->request.n; l++) {
		group->begin[l] = next_event(group);
		group->end[l] = next_event(group);
	}
	group->first_to_host_event = next_event(group);
	for (int h = 0; h < group->n_tensors; h++)
		if (group->tensor[h].is_output)
			group->tensor[h].event = next_event(group);
	for (int i = 0; i < group->n_events; i++)
		if (cu_try(driver, err, cuEventCreate, event_create, (&group->event[i], 0)))
			return err->code;
	return 0;
}

static int allocate_lists(struct cu_layer_group *group, struct npl_err *err)
{
	const size_t n = (size_t)group->request.n;
	size_t tensors = 0, operands = 0;
	for (int l = 0; l < group->request.n; l++) {
		const struct npl_layer *layer = group->request.layer[l];
		tensors += (size_t)layer->n_in + 1 + (size_t)layer->n_further;
	}
	operands = NPL_LAYER_INPUTS + NPL_MAX_OUTPUTS + 1;
	group->layer = calloc(n, sizeof *group->layer);
	group->tensor = calloc(tensors + 1, sizeof *group->tensor);
	group->in = calloc(n, sizeof *group->in);
	group->read_last = calloc(n, sizeof *group->read_last);
	group->out = calloc(n, sizeof *group->out);
	group->scratch = calloc(n, sizeof *group->scratch);
	group->begin = calloc(n, sizeof *group->begin);
	group->end = calloc(n, sizeof *group->end);
	group->value = calloc(operands, sizeof *group->value);
	return group->layer && group->tensor && group->in && group->read_last && group->out && group->scratch &&
			       group->begin && group->end && group->value
		       ? 0
		       : out_of_memory(err);
}

int cu_layer_group_prepare(struct cu_layer_group *group, struct npl_err *err)
{
	size_t constants = 0;
	int rc = allocate_lists(group, err);
	if (!rc)
		rc = open_layers(group, err);
	if (!rc) {
		find_lifetimes(group, &group->request);
		cu_layout_plan(group);
		rc = plan_values(group, &constants, err);
	}
	if (!rc)
		rc = place_weights(group, constants, err);
	if (!rc)
		search_algorithms(group);
	if (!rc)
		rc = make_counters(group, err);
	if (!rc)
		rc = make_events(group, err);
	if (rc)
		cu_layer_group_release(group);
	else
		group->ready = true;
	return rc;
}

void cu_layer_group_release(struct cu_layer_group *group)
{
	const struct cu_driver *driver = &group->device->driver;
	cu_replay_close(group);
	for (int i = 0; group->event && i < group->n_events; i++)
		if (group->event[i])
			driver->event_destroy(group->event[i]);
	for (int l = 0; group->layer && l < group->request.n; l++)
		cu_layer_close(&group->layer[l]);
	cu_block_close(driver, &group->resident);
	cu_block_close(driver, &group->counters);
	free(group->saturations);
	free(group->layer);
	free(group->tensor);
	free(group->in);
	free(group->read_last);
	free(group->out);
	free(group->scratch);
	free(group->piece);
	free(group->event);
	free(group->begin);
	free(group->end);
	free(group->value);
	*group = (struct cu_layer_group){.device = group->device, .request = group->request, .pass = group->pass};
}
