/* SPDX-License-Identifier: MIT
 *
 * A model with its samples, as commands load it: a shipped one has samples, labels, a calibration set and a batch of
 * its own. */
#ifndef NPULAB_FRONTEND_SAMPLES_NETWORK_H
#define NPULAB_FRONTEND_SAMPLES_NETWORK_H

#include "npulab/model.h"

struct npl_network_options {
	int64_t batch; /* 0: the model's own, else 1 */
	int n_dims;
	const struct npl_dim *dims; /* sizes of dimensions that the model leaves open */
	int n_inputs;
	const char *const *inputs; /* files of samples; none: the model's own, else random ones */
	const char *labels;        /* NULL: none but those of the model's own samples */
	uint64_t seed;             /* of random samples */
	bool timing_only;          /* random samples are described and not made */
};

struct npl_network { /* zero-initialise before use */
	struct npl_arena arena;
	struct npl_model_files files;
	struct npl_graph *graph;
	struct npl_samples samples, calibration;
	bool calibrated; /* calibration holds samples */
};

/* Loads a model by its name or path, with its samples. After a failure nothing is loaded. */
int npl_network_load(const char *model, const struct npl_network_options *options, struct npl_network *network,
		     struct npl_err *err);
void npl_network_free(struct npl_network *network);

#endif
