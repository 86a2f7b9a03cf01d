/* SPDX-License-Identifier: MIT
 *
 * A pass over samples, batch by batch. */
#ifndef NPULAB_FRONTEND_COMPARE_BATCHES_H
#define NPULAB_FRONTEND_COMPARE_BATCHES_H

#include "npulab/compare.h"

/* Computes a batch (from 0) of the graph: in[] has its n_inputs inputs, out[] gets its n_outputs outputs, zeroed
 * before. Returns 0 or err->code. */
typedef int npl_batch_function(void *context, int64_t batch, const struct npl_tensor *in, struct npl_tensor *out,
			       struct npl_err *err);

/* Calls `run` for each batch of the samples in turn and shows `part` as progress. outputs[], unless NULL, has room for
 * the outputs of all samples and gets them; padding of the last batch is left out. Returns 0, what `run` or the reading
 * of samples returned, NPL_ENOMEM, or NPL_EINTERNAL where outputs[] has no room. */
int npl_each_batch(struct npl_graph *graph, const struct npl_samples *samples, const char *part,
		   npl_batch_function *run, void *context, struct npl_tensor *outputs, struct npl_err *err);

#endif
