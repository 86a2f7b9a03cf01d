/* SPDX-License-Identifier: MIT
 *
 * How much memory a comparison needs (footprint.h): sums over the graph in the order in which it is run. Devices run
 * one after the other, so the one that needs most counts; devices of a placement are summed. Mapped files are not
 * counted: the system can take their pages back. */
#include "footprint.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/base/dtype.h"
#include "core/number_format.h"

/* Measured over the shipped networks (docs/limits.md). */
#define PROGRAM_BYTES ((uint64_t)10 << 20)
#define LAYER_BYTES   ((uint64_t)16 << 10) /* per layer: of the graph, the plan, the program and kept rows */
#define LIBRARY_BYTES ((uint64_t)20 << 20) /* OpenBLAS and oneDNN, with their buffers */
#define MACHINE_BYTES                                                                                                  \
	((uint64_t)36 << 20) /* unified buffer and accumulators of a systolic machine, and what its engine keeps */

static uint64_t bytes_of(const struct npl_value *value)
{
	const int64_t count = npl_shape_count(&value->shape);
	return count < 0 ? 0 : (uint64_t)count * npl_dtype_size(value->dtype);
}

/* Returns the bytes of constants that are only described until they are read. */
static uint64_t made_constants(const struct npl_graph *graph)
{
	uint64_t bytes = 0;
	for (int v = 0; v < graph->n_values; v++)
		if (graph->value[v].constant && !graph->value[v].data && graph->value[v].uses > 0)
			bytes += bytes_of(&graph->value[v]);
	return bytes;
}

/* Returns the most bytes of values that are alive at the same time, each freed after its last use, without a device's
 * own forms. *all_bytes: the bytes of all values that nodes make. UINT64_MAX: memory is too short to find out. */
static uint64_t peak_value_bytes(const struct npl_graph *graph, uint64_t *all_bytes)
{
	uint64_t store = 0, peak = 0;
	int *reads_left = malloc(((size_t)graph->n_values + 1) * sizeof *reads_left);
	*all_bytes = 0;
	if (!reads_left)
		return UINT64_MAX;
	for (int v = 0; v < graph->n_values; v++)
		reads_left[v] = graph->value[v].uses;
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		for (int k = 0; k < node->n_out; k++)
			if (node->out[k] >= 0) {
				store += bytes_of(&graph->value[node->out[k]]);
				*all_bytes += bytes_of(&graph->value[node->out[k]]);
			}
		peak = store > peak ? store : peak;
		for (int k = 0; k < node->n_in; k++)
			if (node->in[k] >= 0 && !--reads_left[node->in[k]] && graph->value[node->in[k]].producer >= 0)
				store -= bytes_of(&graph->value[node->in[k]]);
		for (int k = 0; k < node->n_out; k++)
			if (node->out[k] >= 0 && !reads_left[node->out[k]])
				store -= bytes_of(&graph->value[node->out[k]]);
	}
	free(reads_left);
	return peak;
}

/* Returns the bytes of convolutions' weights, which a processor and a GPU hold a second time in the order of their
 * library. */
static uint64_t convolved(const struct npl_graph *graph)
{
	uint64_t bytes = 0;
	for (int i = 0; i < graph->n_nodes; i++)
		if (graph->node[i].op == NPL_OP_CONV && graph->node[i].n_in > 1 && graph->node[i].in[1] >= 0)
			bytes += bytes_of(&graph->value[graph->node[i].in[1]]);
	return bytes;
}

/* Returns the bytes of weights of matrix products that a session transposes in float32, because the device wants a row
 * for each output. */
static uint64_t transposed_weight_bytes(const struct npl_graph *graph)
{
	uint64_t bytes = 0;
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		if ((node->op != NPL_OP_GEMM && node->op != NPL_OP_MATMUL) || node->n_in < 2 || node->in[1] < 0)
			continue;
		const struct npl_value *w = &graph->value[node->in[1]];
		const bool is_in_order = node->op == NPL_OP_GEMM && node->attrs.gemm.trans_b &&
					 node->attrs.gemm.alpha == 1;
		if (w->constant && w->shape.rank == 2 && !is_in_order)
			bytes += bytes_of(w);
	}
	return bytes;
}

/* Returns the bytes that the device holds beside the graph's values: weights in its own form, buffers, libraries.
 * values: the bytes of all values that nodes make, which decide how much of a machine's buffers is touched. */
static uint64_t device_bytes(const struct npl_device_info *info, const struct npl_graph *graph, uint64_t values)
{
	const bool real = info->kind == NPL_KIND_CPU || info->kind == NPL_KIND_GPU;
	const uint64_t base = real ? LIBRARY_BYTES : 0,
		       machine = 2 * values < MACHINE_BYTES ? 2 * values : MACHINE_BYTES;
	const enum npl_dtype weights = npl_format_weight_dtype(info->format);
	if (npl_is_float(weights))
		return base + transposed_weight_bytes(graph) + (real ? convolved(graph) : 0);
	if (npl_is_byte(weights) && info->kind == NPL_KIND_SIMULATED) /* a machine packs its tiles too */
		return 3 * graph->parameters + machine;
	return 2 * graph->parameters + base; /* 8 bits twice, packed too, or 16 bits once */
}

static uint64_t outputs_of(const struct npl_graph *graph, int64_t batches)
{
	uint64_t bytes = 0;
	for (int i = 0; i < graph->n_outputs; i++)
		bytes += bytes_of(&graph->value[graph->output[i]]) * (uint64_t)batches;
	return bytes;
}

uint64_t npl_footprint(const struct npl_graph *graph, const struct npl_samples *samples,
		       struct npl_device *const *device, const struct npl_compare_options *options, size_t judged_bytes)
{
	uint64_t all_bytes, greatest_bytes = 0;
	if (options->plan.timing_only)
		return 0;
	const uint64_t store = peak_value_bytes(graph, &all_bytes);
	if (store == UINT64_MAX)
		return store;
	for (int d = 0; d < options->n_devices; d++) {
		if (!device[d])
			continue; /* it cannot start here */
		const struct npl_device_info *info = npl_device_get_info(device[d]);
		const uint64_t bytes = info->kind == NPL_KIND_NULL ? 0 : store + device_bytes(info, graph, all_bytes);
		greatest_bytes = options->place           ? greatest_bytes + bytes
				 : bytes > greatest_bytes ? bytes
							  : greatest_bytes;
	}
	greatest_bytes = greatest_bytes > store ? greatest_bytes : store;
	uint64_t bytes = PROGRAM_BYTES + LAYER_BYTES * (uint64_t)graph->n_nodes + made_constants(graph) +
			 greatest_bytes + 2 * outputs_of(graph, npl_samples_batches(graph, samples));
	if (options->layer_accuracy && !options->no_accuracy)
		bytes += all_bytes < judged_bytes ? all_bytes : judged_bytes;
	return bytes;
}
