/* SPDX-License-Identifier: MIT
 *
 * Chooses a convolution's algorithm by measurement (layer.h, conv_search.h). Each is measured as the layer calls it,
 * with bias and activation, from a CUDA graph. cudnnFindConvolutionForwardAlgorithmEx does neither: a call costs the
 * processor up to 0.3 ms, ten times what the GPU needs, and that is what it would compare. On an H200 its choices made
 * a 1x1 convolution of ResNet-50 fourteen times slower than the best. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/load/alignment.h"
#include "backends/cuda/load/graph.h"
#include "core/base/grow.h"
#include "layer.h"

/* A convolution with fewer MACs takes about as long as its launch and is not measured. */
#define MIN_MACS   ((uint64_t)1 << 20)
#define TIMED_RUNS 3

void cu_dnn_choices_free(struct cu_dnn_choices *choices)
{
	free(choices->choice);
	*choices = (struct cu_dnn_choices){0};
}

/* The operands of a convolution in the memory of values. */
struct trial {
	struct cu_device *device;
	struct cu_layer *layer;
	struct cu_value in[3], out;
	void *event[2];
};

/* Gives a tensor the next part of the memory, unless it is NULL or has its own. Returns where the next part begins. */
static uint64_t place(const struct cu_layer *layer, const struct npl_tensor *tensor, bool resident, uint64_t address,
		      struct cu_value *value)
{
	const enum npl_dtype type = cu_layer_type(layer);
	if (!tensor)
		return address;
	*value = (struct cu_value){
		.address = address, .dtype = type, .shape = tensor->shape, .channels_last = layer->channels_last};
	return resident ? address : address + cu_aligned((size_t)npl_tensor_count(tensor) * npl_dtype_size(type));
}

/* Places all operands from `address` on. Returns where they end. */
static uint64_t place_operands(const struct cu_layer *layer, uint64_t address, struct trial *trial)
{
	const struct npl_layer *request = layer->layer;
	const bool resident[] = {false, layer->weights.matrix, layer->weights.bias};
	for (int k = 0; k < 3; k++)
		address = place(layer, k < request->n_in ? request->in[k] : NULL, resident[k], address, &trial->in[k]);
	return place(layer, request->out, false, address, &trial->out);
}

size_t cu_dnn_search_bytes(const struct cu_layer *layer)
{
	struct trial ignored;
	if (layer->method != CU_METHOD_DNN || layer->layer->macs < MIN_MACS)
		return 0;
	return (size_t)place_operands(layer, 0, &ignored);
}

static int run_between_events(struct trial *t, bool captured, struct npl_err *err)
{
	const struct cu_driver *driver = &t->device->driver;
	void *stream = t->device->stream;
	return cu_record(driver, t->event[0], stream, captured, err) ||
			       cu_dnn_layer_run(t->layer, t->in, &t->out, err) ||
			       cu_record(driver, t->event[1], stream, captured, err)
		       ? err->code
		       : 0;
}

/* Runs the convolution several times, from a graph if cuDNN can be captured. Returns the shortest time; INFINITY: it
 * fails. */
static float shortest_milliseconds(struct trial *t)
{
	const struct cu_driver *driver = &t->device->driver;
	void *stream = t->device->stream, *graph = NULL;
	struct npl_err ignored;
	float best = INFINITY;
	/* The first run prepares the algorithm and compiles our epilogue. */
	if (cu_dnn_layer_run(t->layer, t->in, &t->out, &ignored) || driver->stream_wait(stream))
		return INFINITY;
	if (cu_capture_begin(driver, stream))
		graph = cu_capture_end(driver, stream, !run_between_events(t, true, &ignored));
	for (int i = 0; i < TIMED_RUNS; i++) {
		float milliseconds = INFINITY;
		if ((graph ? driver->graph_launch(graph, stream) : run_between_events(t, false, &ignored)) ||
		    driver->stream_wait(stream) || driver->event_elapsed(&milliseconds, t->event[0], t->event[1])) {
			best = INFINITY;
			break;
		}
		best = fminf(best, milliseconds);
	}
	if (graph)
		driver->graph_exec_destroy(graph);
	return best;
}

/* Measures an algorithm with one epilogue. Sets *choice if it is faster than *least. */
static void try_algorithm(struct trial *t, const struct cu_dnn_found *found, bool own_epilogue, float *least,
			  struct cu_dnn_choice *choice)
{
	struct npl_err ignored;
	if (cu_dnn_layer_set_algorithm(t->layer, found, &ignored))
		return;
	t->layer->dnn.own_epilogue = own_epilogue;
	const float milliseconds = shortest_milliseconds(t);
	if (milliseconds < *least) {
		*least = milliseconds;
		choice->found = *found;
		choice->own_epilogue = t->layer->dnn.own_epilogue; /* also if cuDNN refused its own */
	}
}

static void measure(struct trial *t, struct cu_dnn_choice *choice)
{
	const struct cu_driver *driver = &t->device->driver;
	struct cu_dnn_found found[CU_DNN_ALGORITHMS];
	struct npl_err ignored;
	float least = INFINITY;
	int n = 0;
	bool ready = !cu_dnn_layer_algorithms(t->layer, found, &n, &ignored);
	for (int i = 0; i < 2; i++)
		ready = ready && !driver->event_create(&t->event[i], 0);
	for (int i = 0; i < n && ready; i++) {
		if (found[i].workspace_bytes > t->device->workspace.bytes)
			continue;
		const bool fuses = choice->key.has_bias && cu_dnn_layer_fuses_bias(t->layer, found[i].algorithm);
		try_algorithm(t, &found[i], false, &least, choice);
		if (fuses && !t->layer->dnn.own_epilogue)
			try_algorithm(t, &found[i], true, &least, choice);
	}
	for (int i = 0; i < 2; i++)
		if (t->event[i])
			driver->event_destroy(t->event[i]);
}

static void set_choice(struct cu_layer *layer, const struct cu_dnn_choice *choice)
{
	struct npl_err ignored;
	cu_dnn_layer_set_algorithm(layer, &choice->found, &ignored);
	layer->dnn.own_epilogue = choice->own_epilogue;
}

void cu_dnn_layer_search(struct cu_device *device, struct cu_layer *layer)
{
	struct cu_dnn_choices *choices = &device->choices;
	struct cu_dnn_choice choice = {.key = layer->dnn.key,
				       .found = {.algorithm = layer->dnn.algorithm,
						 .math = layer->dnn.math,
						 .workspace_bytes = layer->dnn.workspace_bytes}};
	struct trial trial = {.device = device, .layer = layer};
	const size_t bytes = cu_dnn_search_bytes(layer);
	if (!bytes || bytes > device->values.bytes)
		return;
	for (int64_t i = 0; i < choices->count; i++)
		if (!memcmp(&choices->choice[i].key, &choice.key, sizeof choice.key)) {
			set_choice(layer, &choices->choice[i]);
			return;
		}
	struct cu_dnn_choice *grown = npl_grow(choices->choice, choices->count, &choices->capacity, sizeof *grown);
	if (!grown)
		return;
	choices->choice = grown;
	place_operands(layer, device->values.address, &trial);
	measure(&trial, &choice);
	set_choice(layer, &choice);
	choices->choice[choices->count++] = choice;
}
