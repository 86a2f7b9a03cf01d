/* SPDX-License-Identifier: MIT
 *
 * What the three examples share: the weights and images of the shipped digits network, and a line of results. The
 * networks themselves are in the examples, each built in its own way.
 */
#ifndef NPULAB_EXAMPLES_DIGITS_H
#define NPULAB_EXAMPLES_DIGITS_H

#include <math.h>
#include <npulab/attributes.h>
#include <npulab/graph_run.h>
#include <npulab/model.h>
#include <npulab/sha256.h>
#include <npulab/tensor_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct digits {
	struct npl_graph *trained;        /* where the weights come from */
	struct npl_tensor images, labels; /* (360,1,8,8) float32; (360) uint8 or int64 */
};

/* Every error of the library is a sentence; a program that can do nothing about it says it and ends. */
static inline void check(int rc, const struct npl_err *err)
{
	if (rc < 0) {
		fprintf(stderr, "%s\n", err->msg);
		exit(npl_exit_status(rc));
	}
}

static inline void digits_load(struct digits *digits)
{
	struct npl_arena arena = {0};
	struct npl_model_files files;
	struct npl_err err;
	check(npl_model_find("digits", &arena, &files, &err), &err);
	check(npl_graph_load(files.path, NULL, &digits->trained, &err), &err);
	check(npl_tensor_load(files.input, &digits->images, &err), &err);
	check(npl_tensor_load(files.labels, &digits->labels, &err), &err);
	npl_arena_free(&arena);
}

static inline void digits_free(struct digits *digits)
{
	npl_tensor_free(&digits->images);
	npl_tensor_free(&digits->labels);
	npl_graph_free(digits->trained);
}

/* Constant input `which` (1: weights, 2: bias) of a layer of the trained network: its elements stay in that graph. */
static inline struct npl_tensor digits_weights(struct digits *digits, const char *layer, int which)
{
	struct npl_graph *graph = digits->trained;
	struct npl_err err = {.msg = "the digits network has no such layer"};
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		if (strcmp(node->name, layer) != 0 || which >= node->n_in)
			continue;
		struct npl_value *value = &graph->value[node->in[which]];
		const void *data = npl_value_data(graph, value, &err);
		if (data)
			return npl_tensor_over(value->dtype, value->shape, data);
	}
	check(NPL_EINPUT, &err);
	return (struct npl_tensor){0};
}

static inline double digits_accuracy(const struct digits *digits, const struct npl_tensor *logits)
{
	int64_t n = logits->shape.dim[0], classes = logits->shape.dim[1], right = 0;
	for (int64_t i = 0; i < n; i++) {
		const float *row = (const float *)logits->data + i * classes;
		int64_t best = 0;
		for (int64_t k = 1; k < classes; k++)
			best = row[k] > row[best] ? k : best;
		int64_t label = digits->labels.dtype == NPL_U8 ? ((const uint8_t *)digits->labels.data)[i]
							       : ((const int64_t *)digits->labels.data)[i];
		right += best == label;
	}
	return (double)right / (double)n;
}

/* One line, and a second one where the device left something to its host: what the device needed, how many digits it
 * read, and a hash of all it computed. */
static inline void digits_report(const struct digits *digits, const struct npl_device *device,
				 const struct npl_tensor *logits, const struct npl_cost *cost)
{
	char hash[65], cycles[32] = "-", joules[32] = "-";
	npl_sha256_hex(logits->data, npl_tensor_bytes(logits), hash);
	if (cost->cycles) /* a real device has none */
		snprintf(cycles, sizeof cycles, "%llu", (unsigned long long)cost->cycles);
	if (!isnan(cost->joules)) /* not known */
		snprintf(joules, sizeof joules, "%.2f", cost->joules * 1e3);
	printf("%-9s  %7s cycles  %5s mJ  %6.2f %% right  %s\n", npl_device_name(device), cycles, joules,
	       100 * digits_accuracy(digits, logits), hash);
	if (*cost->on_host) /* an operator that the device does not take is no error: the host runs it */
		printf("  on the host, not on %s: %s\n", npl_device_name(device), cost->on_host);
}

#endif
