/* SPDX-License-Identifier: MIT
 *
 * Signal and noise of every value (layer_noise.h). */
#include "layer_noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"

struct judged_value {
	float *reference; /* NULL: not kept */
	int64_t count;
	bool judged;
	double signal, noise, max_error; /* sums of squares; the greatest error */
	uint64_t not_finite;             /* elements that are finite in the reference alone */
};

struct npl_layer_noise {
	const struct npl_graph *graph;
	/* Per value: the value that the model's own QuantizeLinear and DequantizeLinear make of it; -1: there is
	 * none. */
	int *rounded;
	size_t bytes_left; /* bytes of values that may still be kept */
	struct judged_value *value;
};

static void find_rounded(const struct npl_graph *graph, int *rounded)
{
	for (int v = 0; v < graph->n_values; v++)
		rounded[v] = -1;
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		int producer = node->op == NPL_OP_DEQUANTIZELINEAR ? graph->value[node->in[0]].producer : -1;
		if (producer >= 0 && graph->node[producer].op == NPL_OP_QUANTIZELINEAR)
			rounded[graph->node[producer].in[0]] = node->out[0];
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
	made->bytes_left = bytes;
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
	struct judged_value *judged_value = &noise->value[v];
	size_t bytes = npl_tensor_bytes(tensor);
	if (tensor->dtype != NPL_F32 || noise->graph->value[v].producer < 0 || bytes > noise->bytes_left ||
	    judged_value->reference)
		return 0;
	judged_value->reference = malloc(bytes + 1);
	if (!judged_value->reference)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a copy of '%s'", noise->graph->value[v].name);
	if (bytes)
		memcpy(judged_value->reference, tensor->data, bytes);
	judged_value->count = npl_tensor_count(tensor);
	noise->bytes_left -= bytes;
	return 0;
}

/* Returns the real number that element i stands for; of an integer computed as npl_dequantise does. */
static double real(const struct npl_tensor *t, int64_t i)
{
	const double value = npl_tensor_real(t, i);
	return npl_is_integer(t->dtype) ? (double)((float)(value - t->quant.zero_point) * t->quant.scale) : value;
}

static int judge(void *context, int v, const struct npl_tensor *tensor, struct npl_err *err)
{
	struct npl_layer_noise *noise = context;
	struct judged_value *judged_value = &noise->value[v];
	const bool integer = npl_is_integer(tensor->dtype);
	/* Integers of a value that the model itself rounds are compared with the rounded value: the rounding is no loss
	 * of the device. */
	const struct judged_value *rounded = integer && noise->rounded[v] >= 0 ? &noise->value[noise->rounded[v]]
									       : judged_value;
	const float *reference = rounded->reference ? rounded->reference : judged_value->reference;
	if (!judged_value->reference || judged_value->count != npl_tensor_count(tensor) || !tensor->data ||
	    (integer && !(tensor->quant.scale > 0)))
		return 0;
	if (!integer && !npl_is_float(tensor->dtype))
		return npl_fail(err, NPL_EINTERNAL, "'%s' stands for real numbers and is of type %s",
				noise->graph->value[v].name, npl_dtype_name(tensor->dtype));
	judged_value->judged = true;
	for (int64_t i = 0; i < judged_value->count; i++) {
		const double expected = (double)reference[i], error = real(tensor, i) - expected;
		if (isfinite(expected) && !isfinite(error)) {
			judged_value->not_finite++;
			continue;
		}
		judged_value->signal += expected * expected;
		judged_value->noise += error * error;
		judged_value->max_error = fmax(judged_value->max_error, fabs(error));
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
		struct judged_value *judged_value = &noise->value[v];
		judged_value->judged = false;
		judged_value->signal = judged_value->noise = judged_value->max_error = 0;
		judged_value->not_finite = 0;
	}
	return (struct npl_value_observer){judge, noise};
}

struct npl_layer_accuracy npl_layer_noise_of(const struct npl_layer_noise *noise, int i)
{
	const struct npl_node *node = &noise->graph->node[i];
	struct npl_layer_accuracy accuracy = {.max_abs_error = NAN, .sqnr_db = NAN};
	struct judged_value sum = {0};
	for (int k = 0; k < node->n_out; k++) {
		const struct judged_value *judged_value = node->out[k] < 0 ? &sum : &noise->value[node->out[k]];
		if (!judged_value->judged || judged_value == &sum)
			continue;
		sum.judged = true;
		sum.signal += judged_value->signal;
		sum.noise += judged_value->noise;
		sum.max_error = fmax(sum.max_error, judged_value->max_error);
		sum.not_finite += judged_value->not_finite;
	}
	if (sum.judged && sum.not_finite)
		return (struct npl_layer_accuracy){
			.max_abs_error = INFINITY, .sqnr_db = -INFINITY, .not_finite = sum.not_finite};
	if (!sum.judged || !isfinite(sum.signal) ||
	    !isfinite(sum.noise)) /* there is no distance from NaN and infinity */
		return accuracy;
	accuracy.max_abs_error = sum.max_error;
	accuracy.sqnr_db = sum.noise > 0 ? 10 * log10(sum.signal / sum.noise) : INFINITY;
	return accuracy;
}
