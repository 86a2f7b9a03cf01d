/* SPDX-License-Identifier: MIT
 *
 * Preparing a layer group (layer_group.h): which tensors lie on the GPU, when and where, and the layers with their
 * weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/load/memory_plan.h"
#include "backends/cuda/products/channels_last.h"
#include "layer_group.h"
#include "layout.h"
#include "npulab/text.h"

static int out_of_memory(struct npl_err *err)
{
	return npl_fail(err, NPL_ENOMEM, "out of memory for a layer group");
}

static int find_held(const struct cu_layer_group *c, const struct npl_tensor *tensor)
{
	for (int h = c->n_held - 1; h >= 0; h--)
		if (c->held[h].tensor == tensor)
			return h;
	return -1;
}

static int add_held(struct cu_layer_group *c, const struct npl_tensor *tensor, int layer, int result, int step)
{
	c->held[c->n_held] = (struct cu_held){.tensor = tensor,
					      .stored = cu_device_type(c->device, tensor->dtype),
					      .root = c->n_held,
					      .layer = layer,
					      .result = result,
					      .first = step,
					      .last = step,
					      .turned_first = -1,
					      .turned_last = -1,
					      .turned_piece = -1,
					      .piece = -1,
					      .landing = -1,
					      .event = -1};
	return c->n_held++;
}

static void needed_at(struct cu_layer_group *c, int h, int step)
{
	struct cu_held *root = &c->held[c->held[h].root];
	if (step > root->last)
		root->last = step;
	if (step < root->first)
		root->first = step;
}

static bool names_data(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_RESHAPE;
}

/* Tensors that the layer reads and makes. Weights are the layer's own business. */
static void hold_layer(struct cu_layer_group *c, int l, bool (*resident)[3])
{
	const struct npl_layer *layer = c->asked.layer[l];
	for (int k = 0; k < layer->n_in; k++) {
		c->in[l][k] = layer->in[k] ? find_held(c, layer->in[k]) : -1;
		if (!layer->in[k] || c->in[l][k] >= 0)
			continue;
		if ((k == 1 || k == 2) && layer->in[k]->data && cu_layer_weighs(c->device, layer))
			resident[l][k] = true;
		else
			c->in[l][k] = add_held(c, layer->in[k], l, -1, 0);
	}
	c->out[l] = c->n_held;
	for (int k = 0; k <= layer->n_more; k++)
		add_held(c, &layer->out[k], l, k, l + 1);
	if (names_data(layer) && c->in[l][0] >= 0)
		c->held[c->out[l]].root = c->held[c->in[l][0]].root;
}

static int open_layers(struct cu_layer_group *c, struct npl_err *err)
{
	bool(*resident)[3] = calloc((size_t)c->asked.n, sizeof *resident);
	int rc = resident ? 0 : out_of_memory(err);
	for (int l = 0; l < c->asked.n && !rc; l++) {
		const struct npl_layer *layer = c->asked.layer[l];
		hold_layer(c, l, resident);
		rc = cu_layer_open(c->device, layer, resident[l], names_data(layer), &c->layer[l], err);
		if (rc)
			npl_prefix(err, "layer '%s'", layer->name);
		if (!rc && c->layer[l].workspace_bytes > c->workspace_bytes)
			c->workspace_bytes = c->layer[l].workspace_bytes;
	}
	free(resident);
	return rc;
}

/* When each tensor is needed. */
static void find_lifetimes(struct cu_layer_group *c, const struct npl_layer_group *asked)
{
	for (int l = 0; l < c->asked.n; l++)
		for (int k = 0; k < c->asked.layer[l]->n_in; k++) {
			int h = c->in[l][k];
			if (h < 0 || (!cu_layer_reads(&c->layer[l], k) && !names_data(c->asked.layer[l])))
				continue;
			c->held[c->held[h].root].read = true;
			needed_at(c, h, l + 1);
		}
	for (int i = 0; i < asked->n_wanted; i++) {
		int h = find_held(c, asked->wanted[i]);
		if (h < 0)
			continue;
		c->held[h].wanted = true;
		needed_at(c, h, c->asked.n + 1);
	}
	for (int i = 0; i < asked->n_constant; i++) {
		int h = find_held(c, asked->constant[i]);
		if (h >= 0)
			c->held[h].constant = true;
	}
}

static size_t bytes_as(const struct npl_tensor *tensor, enum npl_dtype dtype)
{
	return (size_t)npl_tensor_count(tensor) * npl_dtype_size(dtype);
}

static int add_piece(struct cu_layer_group *c, size_t bytes, int first, int last)
{
	c->piece[c->n_pieces] = (struct cu_piece){.bytes = bytes, .first = first, .last = last};
	return c->n_pieces++;
}

/* The copy in the other order: of a constant made once, else for its steps. */
static void place_turned(struct cu_layer_group *c, struct cu_held *held, size_t *constants)
{
	const size_t bytes = bytes_as(held->tensor, held->stored);
	if (held->turned_first < 0)
		return;
	if (held->result < 0 && held->constant) {
		held->turned_at = *constants;
		*constants += cu_aligned(bytes);
	} else {
		held->turned_piece = add_piece(c, bytes, held->turned_first, held->turned_last);
	}
}

/* A tensor's memory: among the values, or with the weights if it never changes; and its place in the staging memory. */
static void place(struct cu_layer_group *c, struct cu_held *held, int h, size_t *constants)
{
	const bool given = held->result < 0;
	if (held->root == h && given && held->constant) {
		held->at = *constants;
		*constants += held->read ? cu_aligned(bytes_as(held->tensor, held->stored)) : 0;
	} else if (held->root == h && (held->read || !given)) {
		held->piece = add_piece(c, bytes_as(held->tensor, held->stored), held->first, held->last);
	}
	place_turned(c, held, constants);
	if (held->constant || (given && !held->read) || (!given && !held->wanted))
		return;
	if (held->stored != held->tensor->dtype || cu_layout_crosses(c, h))
		held->landing = add_piece(c, npl_tensor_bytes(held->tensor), given ? 0 : c->asked.n + 1,
					  given ? 0 : c->asked.n + 1);
	held->at = c->staging_bytes;
	c->staging_bytes += cu_aligned(npl_tensor_bytes(held->tensor));
}

static int plan_values(struct cu_layer_group *c, size_t *constants, struct npl_err *err)
{
	c->piece = calloc(3 * (size_t)c->n_held + (size_t)c->asked.n + 1, sizeof *c->piece);
	if (!c->piece)
		return out_of_memory(err);
	for (int h = 0; h < c->n_held; h++)
		place(c, &c->held[h], h, constants);
	for (int l = 0; l < c->asked.n; l++)
		c->scratch[l] = c->layer[l].scratch_bytes ? add_piece(c, c->layer[l].scratch_bytes, l + 1, l + 1) : -1;
	return cu_plan_memory(c->piece, c->n_pieces, &c->values_bytes, err);
}

/* Weights go up one layer at a time, so that the host needs room for one more copy of one layer's alone. */
static int upload_weights(struct cu_layer_group *c, struct cu_layer *layer, struct npl_err *err)
{
	const struct cu_device *d = c->device;
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

static int place_weights(struct cu_layer_group *c, size_t constants, struct npl_err *err)
{
	char what[100];
	size_t weights = 0;
	int layers = 0;
	for (int l = 0; l < c->asked.n; l++) {
		weights += cu_aligned(c->layer[l].weights.bytes);
		layers += c->layer[l].weights.bytes > 0;
	}
	snprintf(what, sizeof what, "the weights of %d layer%s", layers, npl_plural(layers));
	if (cu_block_open(&c->device->driver, weights + constants, what, &c->resident, err))
		return err->code;
	c->constants_at = weights;
	uint64_t at = c->resident.address;
	for (int l = 0; l < c->asked.n; l++) {
		c->layer[l].weights.address = at;
		at += cu_aligned(c->layer[l].weights.bytes);
		if (upload_weights(c, &c->layer[l], err))
			return err->code;
	}
	return 0;
}

/* Algorithms by measurement, where there is room for it: less memory than that is no error. */
static void search_algorithms(struct cu_layer_group *c)
{
	struct cu_device *d = c->device;
	struct npl_err ignored;
	size_t values = 0, workspace = 0;
	for (int l = 0; l < c->asked.n; l++) {
		const struct cu_layer *layer = &c->layer[l];
		const size_t bytes = cu_dnn_search_bytes(layer);
		values = bytes > values ? bytes : values;
		if (bytes && layer->dnn.most_workspace_bytes > workspace)
			workspace = layer->dnn.most_workspace_bytes;
	}
	if (!values || cu_block_reserve(&d->driver, values, "values", &d->values, &ignored) ||
	    cu_block_reserve(&d->driver, workspace, "workspace", &d->workspace, &ignored))
		return;
	c->workspace_bytes = 0;
	for (int l = 0; l < c->asked.n; l++) {
		cu_dnn_layer_search(d, &c->layer[l]);
		if (c->layer[l].workspace_bytes > c->workspace_bytes)
			c->workspace_bytes = c->layer[l].workspace_bytes;
	}
}

static int make_counters(struct cu_layer_group *c, struct npl_err *err)
{
	if (c->device->precision != CU_INT8)
		return 0;
	c->saturations = calloc((size_t)c->asked.n, sizeof *c->saturations);
	return c->saturations ? cu_block_open(&c->device->driver, (size_t)c->asked.n * sizeof *c->saturations,
					      "the counters of layers", &c->counters, err)
			      : out_of_memory(err);
}

static int next_event(struct cu_layer_group *c)
{
	return c->n_events++;
}

/* An event before the first transfer, behind each, behind each layer, before a layer where another did not just end,
 * and behind each wanted tensor. */
static int make_events(struct cu_layer_group *c, struct npl_err *err)
{
	const struct cu_driver *driver = &c->device->driver;
	const int most = c->n_held + 2 * c->asked.n + 2;
	c->event = calloc((size_t)most, sizeof *c->event);
	if (!c->event)
		return out_of_memory(err);
	next_event(c);
	for (int h = 0; h < c->n_held; h++)
		if (c->held[h].result < 0 && c->held[h].read && !c->held[h].constant)
			c->held[h].event = next_event(c);
	for (int l = 0; l < c->asked.n; l++) {
		c->begin[l] = next_event(c);
		c->end[l] = next_event(c);
	}
	c->leave = next_event(c);
	for (int h = 0; h < c->n_held; h++)
		if (c->held[h].wanted)
			c->held[h].event = next_event(c);
	for (int i = 0; i < c->n_events; i++)
		if (cu_try(driver, err, cuEventCreate, event_create, (&c->event[i], 0)))
			return err->code;
	return 0;
}

static int take_room(struct cu_layer_group *c, struct npl_err *err)
{
	const size_t n = (size_t)c->asked.n;
	size_t tensors = 0, operands = 0;
	for (int l = 0; l < c->asked.n; l++) {
		const struct npl_layer *layer = c->asked.layer[l];
		tensors += (size_t)layer->n_in + 1 + (size_t)layer->n_more;
	}
	operands = NPL_LAYER_INPUTS + NPL_MAX_OUTPUTS + 1;
	c->layer = calloc(n, sizeof *c->layer);
	c->held = calloc(tensors + 1, sizeof *c->held);
	c->in = calloc(n, sizeof *c->in);
	c->read_last = calloc(n, sizeof *c->read_last);
	c->out = calloc(n, sizeof *c->out);
	c->scratch = calloc(n, sizeof *c->scratch);
	c->begin = calloc(n, sizeof *c->begin);
	c->end = calloc(n, sizeof *c->end);
	c->value = calloc(operands, sizeof *c->value);
	return c->layer && c->held && c->in && c->read_last && c->out && c->scratch && c->begin && c->end && c->value
		       ? 0
		       : out_of_memory(err);
}

int cu_layer_group_prepare(struct cu_layer_group *c, struct npl_err *err)
{
	size_t constants = 0;
	int rc = take_room(c, err);
	if (!rc)
		rc = open_layers(c, err);
	if (!rc) {
		find_lifetimes(c, &c->asked);
		cu_layout_plan(c);
		rc = plan_values(c, &constants, err);
	}
	if (!rc)
		rc = place_weights(c, constants, err);
	if (!rc)
		search_algorithms(c);
	if (!rc)
		rc = make_counters(c, err);
	if (!rc)
		rc = make_events(c, err);
	if (rc)
		cu_layer_group_release(c);
	else
		c->ready = true;
	return rc;
}

void cu_layer_group_release(struct cu_layer_group *c)
{
	const struct cu_driver *driver = &c->device->driver;
	for (int i = 0; c->event && i < c->n_events; i++)
		if (c->event[i])
			driver->event_destroy(c->event[i]);
	for (int l = 0; c->layer && l < c->asked.n; l++)
		cu_layer_close(&c->layer[l]);
	cu_block_close(driver, &c->resident);
	cu_block_close(driver, &c->counters);
	free(c->saturations);
	free(c->layer);
	free(c->held);
	free(c->in);
	free(c->read_last);
	free(c->out);
	free(c->scratch);
	free(c->piece);
	free(c->event);
	free(c->begin);
	free(c->end);
	free(c->value);
	*c = (struct cu_layer_group){.device = c->device, .asked = c->asked, .pass = c->pass};
}
