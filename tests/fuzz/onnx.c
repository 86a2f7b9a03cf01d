/* SPDX-License-Identifier: MIT
 *
 * libFuzzer on the readers of files that come from strangers: ONNX models, TensorProto and .npy. The first byte picks
 * the reader and the options, the rest is the file, copied so that the sanitizer sees every step outside it. A model
 * that loads must keep the promises of graph.h: indices in range, nodes sorted, shapes possible, names there.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Ifrontend tests/fuzz/onnx.c ... -l:libmd.a -lm
 */
#include <stdlib.h>
#include <string.h>

#include "frontend/graph/build.h"
#include "frontend/import/tensor_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libFuzzer reports an abort as a crash, with the input. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_message(int rc, const struct npl_err *err)
{
	require(rc == 0 || rc == NPL_EINPUT || rc == NPL_ENOMEM);
	require(!rc || (err->code == rc && *err->msg && !strchr(err->msg, '\n')));
}

static void check_graph(struct npl_graph *graph)
{
	bool *made = calloc((size_t)graph->n_values + 1, sizeof *made);
	require(made != NULL);
	for (int v = 0; v < graph->n_values; v++) {
		const struct npl_value *value = &graph->value[v];
		require(value->name && npl_shape_count(&value->shape) >= 0 && value->dtype < NPL_DTYPES);
		require(!value->constant || value->data || value->is_fill || value->is_random);
		made[v] = value->constant;
	}
	for (int i = 0; i < graph->n_inputs; i++)
		made[graph->input[i]] = true;
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		require(node->op < NPL_OPS && node->name);
		for (int k = 0; k < node->n_in; k++)
			require(node->in[k] >= -1 && node->in[k] < graph->n_values &&
				(node->in[k] < 0 || made[node->in[k]]));
		for (int k = 0; k < node->n_out; k++) {
			require(node->out[k] >= 0 && node->out[k] < graph->n_values && !made[node->out[k]]);
			made[node->out[k]] = true;
		}
	}
	for (int i = 0; i < graph->n_outputs; i++)
		require(made[graph->output[i]]);
	free(made);
}

static void try_graph(const void *data, size_t size, unsigned choice)
{
	/* small limits: folding a fill of the full size would take seconds and tell nothing new */
	const struct graph_limits limits = {.fold_bytes = 1 << 20, .fold_work = 1 << 20};
	const struct npl_load_options options = {.batch = choice & 4 ? 3 : 0, .no_fold = choice & 8};
	struct npl_graph *graph;
	struct npl_err err = {0};
	int rc = npl_graph_load_memory("f.onnx", data, size, &options, limits, &graph, &err);
	check_message(rc, &err);
	if (!rc)
		check_graph(graph);
	npl_graph_free(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	unsigned choice = data[0] & 15;
	unsigned char *copy = malloc(size > 1 ? size - 1 : 1);
	struct npl_tensor tensor = {0};
	struct npl_err err = {0};
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	if ((choice & 3) == 1)
		check_message(npl_tensor_load_npy_memory(copy, size - 1, &tensor, &err), &err);
	else if ((choice & 3) == 2)
		check_message(npl_tensor_load_pb_memory(copy, size - 1, &tensor, &err), &err);
	else
		try_graph(copy, size - 1, choice);
	npl_tensor_free(&tensor);
	free(copy);
	return 0;
}
