/* SPDX-License-Identifier: MIT
 *
 * Signal and noise of every value (layer_noise.h). */
#include "layer_noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct seen {
	float *reference; /* NULL: not kept */
	int64_t count;
	bool judged;
	double signal, noise, most; /* sums of squares; the greatest error */
	uint64_t not_finite;        /* elements that are finite in the reference alone */
};

struct npl_layer_noise {
	const struct npl_graph *graph;
	/* Per value: the value that the model's own QuantizeLinear and DequantizeLinear make of it; -1: there is
	 * none. */
	int *rounded;
	size_t left; /* bytes of values that may still be kept */
	struct seen *value;
};

static void find_rounded(const struct npl_graph *graph, int *rounded)
{
	for (int v = 0; v < graph->n_values; v++)
		rounded[v] = -1;
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		int maker = node->op == NPL_OP_DEQUANTIZELINEAR ? graph->value[node->in[0]].producer : -1;
		if (maker >= 0 && graph->node[maker].op == NPL_OP_QUANTIZELINEAR)
			rounded[graph->node[maker].in[0]] = node->out[0];
	}
}

int npl_layer_noise_open(const struct npl_graph *graph, size_t bytes, struct npl_layer_noise **noise,
			 struct npl_err *err)
{
	struct npl_layer_noise *made = calloc(1, sizeof *made);
	*noise = made;
	if (made) {
		made->graph = graph;
		made->value = calloc((size_t)graph->n_values + 1, sizeof *made->value);
		made->rounded = calloc((size_t)graph->n_values + 1, sizeof *made->rounded);
	}
	if (!made || !made->value || !made->rounded) {
		npl_layer_noise_close(made);
		*noise = NULL;
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d values", graph->n_values);
	}
	made->left = bytes;
	find_rounded(graph, made->rounded);
	return 0;
}

void npl_layer_noise_close(struct npl_layer_noise *noise)
{
	if (!noise)
		return;
	for (int v = 0; noise->value && v < noise->graph->n_values; v++)
		free(noise->value[v].reference);
	free(noise->value);
	free(noise->rounded);
	free(noise);
}

static int keep(void *context, int v, const struct npl_tensor *tensor, struct npl_err *err)
{
	struct npl_layer_noise *noise = context;
	struct seen *seen = &noise->value[v];
	size_t bytes = npl_tensor_bytes(tensor);
	if (tensor->dtype != NPL_F32 || noise->graph->value[v].producer < 0 || bytes > noise->left || seen->reference)
		return 0;
	seen->reference = malloc(bytes + 1);
	if (!seen->reference)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a copy of '%s'", noise->graph->value[v].name);
	if (bytes)
		memcpy(seen->reference, tensor->data, bytes);
	seen->count = npl_tensor_count(tensor);
	noise->left -= bytes;
	return 0;
}

/* Returns the real number that element i stands for, computed as npl_dequantise does. */
static double real(const struct npl_tensor *t, int64_t i)
{
	const struct npl_quant *q = &t->quant;
	switch (t->dtype) {
	case NPL_U8:
		return (double)((float)(((const uint8_t *)t->data)[i] - q->zero_point) * q->scale);
	case NPL_I8:
		return (double)((float)(((const int8_t *)t->data)[i] - q->zero_point) * q->scale);
	case NPL_I16:
		return (double)((float)(((const int16_t *)t->data)[i] - q->zero_point) * q->scale);
	default:
		return (double)((const float *)t->data)[i];
	}
}

static int judge(void *context, int v, const struct npl_tensor *tensor, struct npl_err *err)
{
	struct npl_layer_noise *noise = context;
	struct seen *seen = &noise->value[v];
	bool integer = tensor->dtype == NPL_U8 || tensor->dtype == NPL_I8 || tensor->dtype == NPL_I16;
	/* Integers of a value that the model itself rounds are compared with the rounded value: the rounding is no loss
	 * of the device. */
	const struct seen *rounded = integer && noise->rounded[v] >= 0 ? &noise->value[noise->rounded[v]] : seen;
	const float *reference = rounded->reference ? rounded->reference : seen->reference;
	(void)err;
	if (!seen->reference || seen->count != npl_tensor_count(tensor) || !tensor->data ||
	    !(tensor->dtype == NPL_F32 || (integer && tensor->quant.scale > 0)))
		return 0;
	seen->judged = true;
	for (int64_t i = 0; i < seen->count; i++) {
		const double want = (double)reference[i], error = real(tensor, i) - want;
		if (isfinite(want) && !isfinite(error)) {
			seen->not_finite++;
			continue;
		}
		seen->signal += want * want;
		seen->noise += error * error;
		seen->most = fmax(seen->most, fabs(error));
	}
	return 0;
}

struct npl_value_observer npl_layer_noise_reference(struct npl_layer_noise *noise)
{
	return (struct npl_value_observer){keep, noise};
}

struct npl_value_observer npl_layer_noise_device(struct npl_layer_noise *noise)
{
	for (int v = 0; v < noise->graph->n_values; v++) {
		struct seen *seen = &noise->value[v];
		seen->judged = false;
		seen->signal = seen->noise = seen->most = 0;
		seen->not_finite = 0;
	}
	return (struct npl_value_observer){judge, noise};
}

struct npl_layer_accuracy npl_layer_noise_of(const struct npl_layer_noise *noise, int i)
{
	const struct npl_node *node = &noise->graph->node[i];
	struct npl_layer_accuracy accuracy = {.max_abs_error = NAN, .sqnr_db = NAN};
	struct seen all = {0};
	for (int k = 0; k < node->n_out; k++) {
		const struct seen *seen = node->out[k] < 0 ? &all : &noise->value[node->out[k]];
		if (!seen->judged || seen == &all)
			continue;
		all.judged = true;
		all.signal += seen->signal;
		all.noise += seen->noise;
		all.most = fmax(all.most, seen->most);
		all.not_finite += seen->not_finite;
	}
	if (all.judged && all.not_finite)
		return (struct npl_layer_accuracy){
			.max_abs_error = INFINITY, .sqnr_db = -INFINITY, .not_finite = all.not_finite};
	if (!all.judged || !isfinite(all.signal) ||
	    !isfinite(all.noise)) /* there is no distance from NaN and infinity */
		return accuracy;
	accuracy.max_abs_error = all.most;
	accuracy.sqnr_db = all.noise > 0 ? 10 * log10(all.signal / all.noise) : INFINITY;
	return accuracy;
}
