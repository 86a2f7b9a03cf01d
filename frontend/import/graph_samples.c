/* SPDX-License-Identifier: MIT
 *
 * The last step of loading a file: finds whether the samples that will be fed can be cut into batches (follow.h).
 * Samples that cannot be cut are one batch, where the model leaves the batch open. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/graph/build.h"
#include "frontend/graph/follow.h"
#include "frontend/graph/values.h"
#include "npulab/tensor_file.h"
#include "topology.h"

#define PROBE 2 /* the least batch that can be followed */

/* Handles a model that takes only a batch of 1: every sample is a run of its own, and the results must have a place for
 * each sample. */
static void one_by_one(const struct npl_graph *graph, struct follow_result *result)
{
	result->mixed_by[0] = '\0';
	for (int i = 0; i < graph->n_outputs; i++) {
		const struct npl_value *value = &graph->value[graph->output[i]];
		result->rows[i] = value->constant ? 0 : 1;
		if (!value->constant && (!value->shape.rank || value->shape.dim[0] != 1))
			snprintf(result->mixed_by, sizeof result->mixed_by,
				 "the model takes a batch of 1 alone, and output '%s' has no dimension for more",
				 value->name);
	}
}

static int keep(struct npl_graph *graph, const struct follow_result *result, struct npl_err *err)
{
	graph->batching.known = true;
	graph->batching.rows = result->rows;
	if (!result->mixed_by[0])
		return 0;
	graph->batching.mixed_by = npl_arena_strdup(&graph->arena, result->mixed_by);
	return graph->batching.mixed_by ? 0 : npl_fail(err, NPL_ENOMEM, "%s: out of memory", graph->name);
}

/* Loads the same model at another batch; *graph is NULL where the model takes no such batch. */
static int load_at(const char *path, const struct npl_load_options *options, int64_t batch, struct npl_graph **graph,
		   struct npl_err *err)
{
	struct npl_load_options at = *options;
	struct npl_err error = {0};
	at.batch = batch;
	int rc = graph_load_probe(path, &at, graph, &error);
	return rc == NPL_ENOMEM ? npl_fail_as(err, &error) : 0;
}

/* Counts the samples in the files of the batch; *count is 0 where they do not show it. */
static int count_samples(const struct npl_load_options *options, const struct npl_graph *graph, int64_t *count,
			 struct npl_err *err)
{
	const char **name = calloc((size_t)graph->n_inputs + 1, sizeof *name);
	bool *is_bound = calloc((size_t)graph->n_inputs + 1, sizeof *is_bound);
	int rc = name && is_bound ? 0 : npl_fail(err, NPL_ENOMEM, "%s: out of memory", graph->name);
	*count = 0;
	for (int i = 0; i < graph->n_inputs && !rc; i++)
		name[i] = graph->value[graph->input[i]].name;
	for (int f = 0; f < options->n_files && !*count && !rc; f++) {
		const char *file;
		struct npl_tensor tensor;
		int i = npl_input_of_file(name, is_bound, graph->n_inputs, options->files[f], &file);
		if (i < 0 || is_bound[i] || npl_tensor_load(file, &tensor, err))
			break; /* npl_samples_load reports it */
		is_bound[i] = true;
		if (graph->value[graph->input[i]].batched && tensor.shape.rank)
			*count = tensor.shape.dim[0];
		npl_tensor_free(&tensor);
	}
	free(name);
	free(is_bound);
	return rc;
}

/* Handles a model that takes a batch of 1 and no other that was tried. Where it takes all samples as one batch, they
 * belong together: at 1 it may have broadcast a dimension that has a size of its own. */
static int follow_one(const char *path, const struct npl_load_options *options, struct npl_graph *graph,
		      struct follow_result *result, struct npl_err *err)
{
	struct npl_graph *joint_graph = NULL;
	int64_t count = 0;
	int rc = 0;
	if (graph->batching.open)
		rc = count_samples(options, graph, &count, err);
	if (!rc && count > PROBE)
		rc = load_at(path, options, count, &joint_graph, err);
	if (joint_graph) {
		graph->batching.only_one = false;
		snprintf(result->mixed_by, sizeof result->mixed_by,
			 "the model takes %" PRId64 " samples as one batch, but no batch of %d", count, PROBE);
	} else {
		one_by_one(graph, result);
	}
	npl_graph_free(joint_graph);
	return rc;
}

static int follow(const char *path, const struct npl_load_options *options, struct npl_graph *graph,
		  struct npl_err *err)
{
	struct npl_graph *probe = NULL;
	struct follow_result result = {
		.rows = npl_arena_array(&graph->arena, (size_t)graph->n_outputs + 1, sizeof *result.rows)};
	int rc = result.rows ? 0 : npl_fail(err, NPL_ENOMEM, "%s: out of memory", graph->name);
	if (!rc && graph->batch < PROBE) {
		rc = load_at(path, options, PROBE, &probe, err);
		graph->batching.only_one = !rc && (!probe || probe->n_outputs != graph->n_outputs);
		if (graph->batching.only_one && !rc)
			rc = follow_one(path, options, graph, &result, err);
		else if (!rc)
			rc = follow_samples(probe, graph, &result, err);
	} else if (!rc) {
		/* A model may take one of these batches and not the other. */
		const int64_t batches[] = {2 * graph->batch, graph->batch + 1};
		for (int k = 0; k < 2 && !rc && !probe; k++)
			rc = load_at(path, options, batches[k], &probe, err);
		if (!rc)
			rc = follow_samples(graph, probe, &result, err);
	}
	npl_graph_free(probe);
	return rc ? rc : keep(graph, &result, err);
}

/* Loads a model that cannot be loaded at its usual batch for all samples of the first file, if it leaves the batch
 * open: it may be one that takes all its samples at once. Otherwise returns the code of err. */
static int load_as_one_batch(const char *path, const struct npl_load_options *options, struct npl_graph **graph,
			     struct npl_err *err)
{
	struct npl_load_options all = *options;
	struct npl_err error = {0};
	struct npl_tensor tensor;
	const char *equals = strchr(options->files[0], '='), *file = options->files[0];
	if (equals && access(file, F_OK))
		file = equals + 1;
	if (options->batch > 0 || npl_tensor_load(file, &tensor, &error))
		return err->code;
	all.batch = tensor.shape.rank ? tensor.shape.dim[0] : 0;
	npl_tensor_free(&tensor);
	if (all.batch < 1 || graph_load_file(path, &all, graph, &error))
		return err->code;
	if ((*graph)->batching.open)
		return 0;
	npl_graph_free(*graph); /* the model's own description of its batch is kept */
	*graph = NULL;
	return err->code;
}

/* Fills (*graph)->batching. Where the samples of options->files must be one batch and the batch is open, loads the
 * graph again with it. When that fails, *graph is NULL and the code is returned. */
static int settle_batch(const char *path, const struct npl_load_options *options, struct npl_graph **graph,
			struct npl_err *err)
{
	struct npl_load_options all = *options;
	int64_t count = 0;
	int rc = (*graph)->batch > 0 ? follow(path, options, *graph, err) : 0;
	if (!rc && (*graph)->batching.mixed_by && (*graph)->batching.open && options->batch <= 0)
		rc = count_samples(options, *graph, &count, err);
	(*graph)->batching.indivisible = count > 1 && count == (*graph)->batch;
	if (!rc && count > 0 && count != (*graph)->batch) {
		struct npl_graph *joint_graph;
		all.batch = count;
		rc = graph_load_file(path, &all, &joint_graph, err);
		if (!rc) {
			joint_graph->batching = (*graph)->batching;
			joint_graph->batching.indivisible = true;
			joint_graph->batching.rows = NULL;
			joint_graph->batching.mixed_by = npl_arena_strdup(&joint_graph->arena,
									  (*graph)->batching.mixed_by);
			if (!joint_graph->batching.mixed_by)
				rc = npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
			npl_graph_free(*graph);
			*graph = joint_graph;
		}
	}
	if (rc) {
		npl_graph_free(*graph);
		*graph = NULL;
	}
	return rc;
}

int npl_graph_load(const char *path, const struct npl_load_options *options, struct npl_graph **graph,
		   struct npl_err *err)
{
	*graph = NULL;
	if (topology_is(path))
		return topology_load(path, options, graph, err);
	struct npl_err local;
	int rc = graph_load_file(path, options, graph, err ? err : &local);
	if (!options || !options->n_files)
		return rc;
	if (rc == NPL_EINPUT)
		rc = load_as_one_batch(path, options, graph, err ? err : &local);
	return rc || !*graph ? rc : settle_batch(path, options, graph, err ? err : &local);
}
