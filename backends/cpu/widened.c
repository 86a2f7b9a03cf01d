/* SPDX-License-Identifier: MIT
 *
 * Layers of float16 and bfloat16 (widened.h). The layer in float32 is a layer group of its own, so that it gets
 * oneDNN's kernels and prepared weights like any other. Constants are widened when it is opened; the time of widening
 * the other inputs and of rounding the results is part of the layer's time. */
#include "widened.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/base/half.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "core/one_layer_group.h"
#include "layer_group.h"

#define PIECE_ELEMENTS 32768 /* elements of a task: some 10 us */

enum { MAX_TENSORS = NPL_LAYER_INPUTS + NPL_MAX_OUTPUTS };

struct cpu_widened {
	struct npl_layer layer, float32;    /* the layer in the model's types, and in float32 */
	struct npl_one_layer_group request; /* of `float32` */
	struct npl_tensor
		tensor[MAX_TENSORS];       /* the tensors of `float32`: inputs, and results from NPL_LAYER_INPUTS on */
	bool is_wide[MAX_TENSORS];         /* float32 where the model has 16 bits */
	size_t offset[MAX_TENSORS], bytes; /* bytes in the device's memory for widened values; not for constants */
	void *group;
};

/* Describes a tensor for the layer in float32; a constant is widened here. */
static int describe(struct cpu_widened *w, int i, const struct npl_tensor *model, bool constant, struct npl_err *err)
{
	struct npl_tensor *tensor = &w->tensor[i];
	*tensor = *model;
	tensor->owned = false;
	w->is_wide[i] = npl_op_widens(w->layer.op, model);
	if (!constant)
		tensor->data = NULL;
	if (!w->is_wide[i])
		return 0;
	tensor->dtype = NPL_F32;
	tensor->data = NULL;
	if (constant) {
		if (npl_tensor_alloc(tensor, err))
			return err->code;
		npl_half_widen(model->dtype, model->data, npl_tensor_count(model), tensor->data);
		return 0;
	}
	w->offset[i] = w->bytes;
	w->bytes += (npl_tensor_bytes(tensor) + 63) / 64 * 64;
	return 0;
}

int cpu_widened_open(struct cpu_state *cpu, const struct npl_layer *layer, bool constants, struct cpu_widened **handle,
		     struct npl_err *err)
{
	struct cpu_widened *w = *handle = calloc(1, sizeof *w);
	struct npl_layer_group_info info;
	int rc = w ? 0 : npl_no_memory(err);
	if (rc)
		return rc;
	w->layer = w->float32 = *layer;
	for (int k = 0; k < layer->n_in && !rc; k++)
		if (layer->in[k]) {
			rc = describe(w, k, layer->in[k], constants && layer->in[k]->data, err);
			w->float32.in[k] = &w->tensor[k];
		}
	for (int k = 0; k < npl_layer_outputs(layer) && !rc; k++)
		rc = describe(w, NPL_LAYER_INPUTS + k, &layer->out[k], false, err);
	w->float32.out = &w->tensor[NPL_LAYER_INPUTS];
	w->float32.timing_only = false; /* the results of `float32` have memory in any case */
	npl_one_layer_group_init(&w->request, &w->float32);
	if (!rc)
		rc = cpu_layer_group_open(cpu, &w->request.group, &w->group, &info, err);
	if (rc) {
		cpu_widened_close(w);
		*handle = NULL;
	}
	return rc;
}

void cpu_widened_close(struct cpu_widened *w)
{
	if (!w)
		return;
	cpu_layer_group_close(w->group);
	for (int i = 0; i < MAX_TENSORS; i++)
		npl_tensor_free(&w->tensor[i]);
	free(w);
}

struct conversion {
	enum npl_dtype half_type;
	int64_t count;
	const void *source;
	void *target;
	bool widens;
};

static void convert_piece(void *context, int64_t i, int worker)
{
	const struct conversion *c = context;
	const int64_t first = i * PIECE_ELEMENTS,
		      n = c->count - first < PIECE_ELEMENTS ? c->count - first : PIECE_ELEMENTS;
	(void)worker;
	if (c->widens)
		npl_half_widen(c->half_type, (const uint16_t *)c->source + first, n, (float *)c->target + first);
	else
		npl_half_narrow(c->half_type, (const float *)c->source + first, n, (uint16_t *)c->target + first);
}

static void convert(struct cpu_state *cpu, struct conversion *c)
{
	npl_pool_run(cpu->pool, npl_div_up_i64(c->count, PIECE_ELEMENTS), convert_piece, c);
}

static int take_memory(struct cpu_state *cpu, size_t bytes, struct npl_err *err)
{
	if (bytes <= cpu->widened_bytes)
		return 0;
	char *bigger = aligned_alloc(64, bytes);
	if (!bigger)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes of values in float32", bytes);
	memset(bigger, 0, bytes); /* pages are taken here, not while a layer is timed */
	free(cpu->widened);
	cpu->widened = bigger;
	cpu->widened_bytes = bytes;
	return 0;
}

int cpu_widened_run(struct cpu_state *cpu, struct cpu_widened *w, const struct npl_layer *layer, struct npl_tensor *out,
		    double *seconds, struct npl_err *err)
{
	struct npl_result result = {0};
	int rc = take_memory(cpu, w->bytes, err);
	if (rc)
		return rc;
	double begin = npl_clock_seconds();
	for (int k = 0; k < layer->n_in; k++) {
		struct npl_tensor *tensor = &w->tensor[k];
		if (!layer->in[k] || tensor->owned)
			continue;
		tensor->data = w->is_wide[k] ? cpu->widened + w->offset[k] : layer->in[k]->data;
		if (w->is_wide[k])
			convert(cpu, &(struct conversion){.half_type = layer->in[k]->dtype,
							  .count = npl_tensor_count(tensor),
							  .source = layer->in[k]->data,
							  .target = tensor->data,
							  .widens = true});
	}
	for (int k = 0; k < npl_layer_outputs(layer); k++) {
		const int i = NPL_LAYER_INPUTS + k;
		w->tensor[i].data = w->is_wide[i] ? cpu->widened + w->offset[i] : out[k].data;
	}
	*seconds = npl_clock_seconds() - begin;
	rc = cpu_layer_group_run(cpu, w->group, NULL, &result, err);
	begin = npl_clock_seconds();
	for (int k = 0; k < npl_layer_outputs(layer) && !rc; k++)
		if (w->is_wide[NPL_LAYER_INPUTS + k])
			convert(cpu, &(struct conversion){.half_type = out[k].dtype,
							  .count = npl_tensor_count(&out[k]),
							  .source = w->tensor[NPL_LAYER_INPUTS + k].data,
							  .target = out[k].data});
	*seconds += result.seconds + npl_clock_seconds() - begin;
	return rc;
}

int cpu_widened_run_alone(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out, double *seconds,
			  struct npl_err *err)
{
	struct cpu_widened *w;
	int rc = cpu_widened_open(cpu, layer, false, &w, err);
	if (!rc)
		rc = cpu_widened_run(cpu, w, layer, out, seconds, err);
	cpu_widened_close(w);
	return rc;
}
