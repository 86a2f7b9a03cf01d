/* SPDX-License-Identifier: MIT
 *
 * Loading a model with its samples (network.h). */
#include "network.h"

static int load_samples(const struct npl_network_options *options, struct npl_network *network, struct npl_err *err)
{
	const struct npl_model_files *files = &network->files;
	const char *const *paths = options->inputs;
	const char *labels = options->labels, *shipped[1] = {files->input};
	int n_inputs = options->n_inputs;
	if (!n_inputs && files->input) { /* a shipped model's own samples, with their labels */
		paths = shipped;
		n_inputs = 1;
		labels = labels ? labels : files->labels;
	}
	if (!n_inputs && options->timing_only) {
		if (npl_samples_describe(network->graph, labels, &network->samples, err))
			return err->code;
	} else if (npl_samples_load(network->graph, paths, n_inputs, labels, options->seed, &network->samples, err))
		return err->code;
	if (!files->calibration)
		return 0;
	network->calibrated = true;
	const char *calibration[] = {files->calibration};
	return npl_samples_load(network->graph, calibration, 1, NULL, 0, &network->calibration, err);
}

int npl_network_load(const char *model, const struct npl_network_options *options, struct npl_network *network,
		     struct npl_err *err)
{
	*network = (struct npl_network){0};
	int rc = npl_model_find(model, &network->arena, &network->files, err);
	struct npl_load_options load = {.batch = options->batch,
					.usual_batch = network->files.batch,
					.n_dims = options->n_dims,
					.dims = options->dims,
					.n_files = options->n_inputs,
					.files = options->inputs};
	if (!options->n_inputs && network->files.input) {
		load.n_files = 1;
		load.files = &network->files.input;
	}
	if (!rc)
		rc = npl_graph_load(network->files.path, &load, &network->graph, err);
	if (!rc)
		rc = load_samples(options, network, err);
	/* A shipped model's batch suits its own samples. Where the user gives fewer samples, the batch is smaller, not
	 * padded. */
	if (!rc && !options->batch && network->samples.count < network->graph->batch) {
		load.usual_batch = network->samples.count;
		npl_samples_free(&network->samples);
		npl_samples_free(&network->calibration);
		npl_graph_free(network->graph);
		network->graph = NULL;
		rc = npl_graph_load(network->files.path, &load, &network->graph, err);
		if (!rc)
			rc = load_samples(options, network, err);
	}
	if (rc)
		npl_network_free(network);
	return rc;
}

void npl_network_free(struct npl_network *network)
{
	npl_samples_free(&network->samples);
	npl_samples_free(&network->calibration);
	npl_graph_free(network->graph);
	npl_arena_free(&network->arena);
	*network = (struct npl_network){0};
}
