/* SPDX-License-Identifier: MIT
 *
 * Chooses a convolution's algorithm by measurement (layer.h, conv_search.h). */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/load/alignment.h"
#include "core/base/grow.h"
#include "layer.h"

/* A convolution with fewer MACs takes about as long as its launch and is not measured. */
#define LEAST_MACS ((uint64_t)1 << 20)
/* An algorithm that adds the bias itself may take this much longer than the fastest, after which a kernel reads and
 * writes the result once more. */
#define JOINING_IS_WORTH 1.25f

void cu_dnn_choices_free(struct cu_dnn_choices *choices)
{
	free(choices->choice);
	*choices = (struct cu_dnn_choices){0};
}

static size_t room_for(const struct npl_tensor *tensor, size_t unit)
{
	return cu_aligned((size_t)npl_tensor_count(tensor) * unit);
}

size_t cu_dnn_search_bytes(const struct cu_layer *layer)
{
	const struct npl_layer *request = layer->layer;
	const size_t unit = npl_dtype_size(cu_layer_type(layer));
	if (layer->method != CU_METHOD_DNN || request->macs < LEAST_MACS)
		return 0;
	return room_for(request->in[0], unit) + room_for(request->out, unit) +
	       (layer->weights.matrix ? 0 : room_for(request->in[1], unit));
}

/* Returns the fastest algorithm that may be used; NULL: none. The results are in the order of times. */
static const struct cu_dnn_found *best_of(const struct cu_layer *layer, const struct cu_dnn_found *result, int n,
					  size_t workspace_bytes)
{
	const struct cu_dnn_found *best = NULL;
	for (int i = 0; i < n; i++) {
		/* Float32 loses digits with any mathematics except FMA. */
		if (result[i].status || result[i].workspace_bytes > workspace_bytes ||
		    (layer->precision == CU_F32 && result[i].math != CU_DNN_FMA_MATH))
			continue;
		if (!best || result[i].milliseconds < best->milliseconds)
			best = &result[i];
	}
	for (int i = 0; i < n && best && layer->dnn.key.has_fusable_bias; i++)
		if (!result[i].status && result[i].workspace_bytes <= workspace_bytes &&
		    cu_dnn_layer_fuses_bias(layer, result[i].algorithm) &&
		    result[i].milliseconds <= best->milliseconds * JOINING_IS_WORTH)
			return &result[i];
	return best;
}

/* Measures the algorithms. Returns false if none can be used. */
static bool measure(const struct cu_device *device, const struct cu_layer *layer, struct cu_dnn_found *chosen)
{
	const struct cu_dnn_layer *dnn = &layer->dnn;
	const size_t unit = npl_dtype_size(cu_layer_type(layer));
	const size_t workspace = dnn->most_workspace_bytes < device->workspace.bytes ? dnn->most_workspace_bytes
										     : device->workspace.bytes;
	struct cu_dnn_found result[2 * CU_DNN_ALGORITHMS] = {{0}}; /* each algorithm with two kinds of mathematics */
	struct npl_err ignored;
	const uint64_t x = device->values.address, y = x + room_for(layer->layer->in[0], unit);
	const uint64_t w = layer->weights.matrix ? layer->weights.address : y + room_for(layer->layer->out, unit);
	int returned = 0;
	if (cu_dnn_try(&device->dnn, &ignored, cudnnFindConvolutionForwardAlgorithmEx, search,
		       (device->dnn.handle, dnn->x, (void *)(uintptr_t)x, dnn->filter, (void *)(uintptr_t)w,
			dnn->convolution, dnn->y, (void *)(uintptr_t)y, 2 * CU_DNN_ALGORITHMS, &returned, result,
			(void *)(uintptr_t)device->workspace.address, workspace)))
		return false;
	const struct cu_dnn_found *best = best_of(layer, result, returned, workspace);
	if (best)
		*chosen = *best;
	return best != NULL;
}

void cu_dnn_layer_search(struct cu_device *device, struct cu_layer *layer)
{
	struct cu_dnn_choices *choices = &device->choices;
	struct cu_dnn_choice choice = {.key = layer->dnn.key,
				       .found = {.algorithm = layer->dnn.algorithm,
						 .math = layer->dnn.math,
						 .workspace_bytes = layer->dnn.workspace_bytes}};
	struct npl_err ignored;
	const size_t bytes = cu_dnn_search_bytes(layer);
	if (!bytes || bytes > device->values.bytes)
		return;
	for (int64_t i = 0; i < choices->count; i++)
		if (!memcmp(&choices->choice[i].key, &choice.key, sizeof choice.key)) {
			cu_dnn_layer_set_algorithm(layer, &choices->choice[i].found, &ignored);
			return;
		}
	struct cu_dnn_choice *grown = npl_grow(choices->choice, choices->count, &choices->capacity, sizeof *grown);
	if (!grown)
		return;
	choices->choice = grown;
	if (measure(device, layer, &choice.found) && cu_dnn_layer_set_algorithm(layer, &choice.found, &ignored))
		return;
	choices->choice[choices->count++] = choice;
}
