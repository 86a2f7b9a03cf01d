/* SPDX-License-Identifier: MIT
 *
 * Passes over samples (batches.h). */
#include "batches.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "npulab/progress.h"

/* Copies the outputs of a batch, of which the first `n_samples` samples count, into those of all samples. Returns 0, or
 * NPL_EINTERNAL where they have no room there. */
static int store_batch(const struct npl_graph *graph, const struct npl_samples *samples, const struct npl_tensor *batch,
		       int64_t b, int64_t n_samples, struct npl_tensor *outputs, struct npl_err *err)
{
	for (int i = 0; i < graph->n_outputs; i++) {
		size_t bytes = npl_tensor_bytes(&batch[i]), offset = 0;
		if (samples->rows && samples->rows[i]) {
			const size_t sample_bytes = bytes / (size_t)graph->batch;
			bytes = sample_bytes * (size_t)n_samples;
			offset = sample_bytes * (size_t)(b * graph->batch);
		}
		if (!bytes || !outputs[i].data)
			continue;
		if (offset + bytes > npl_tensor_bytes(&outputs[i]))
			return npl_fail(err, NPL_EINTERNAL,
					"output '%s' of batch %lld has no room in that of all samples", outputs[i].name,
					(long long)b);
		memcpy((char *)outputs[i].data + offset, batch[i].data, bytes);
	}
	return 0;
}

static void free_data(struct npl_tensor *tensor, int n)
{
	for (int i = 0; i < n; i++)
		npl_tensor_free(&tensor[i]);
}

int npl_each_batch(struct npl_graph *graph, const struct npl_samples *samples, const char *part,
		   npl_batch_function *run, void *context, struct npl_tensor *outputs, struct npl_err *err)
{
	const int64_t batches = npl_samples_batches(graph, samples);
	struct npl_tensor *in = calloc((size_t)graph->n_inputs + 1, sizeof *in);
	struct npl_tensor *out = calloc((size_t)graph->n_outputs + 1, sizeof *out);
	int rc = in && out ? 0 : npl_no_memory(err);
	for (int64_t b = 0; b < batches && !rc; b++) {
		int64_t n_samples;
		npl_progress_part(part, "batch", b + 1, batches);
		rc = npl_samples_batch(graph, samples, b, in, &n_samples, err);
		if (rc)
			break;
		rc = run(context, b, in, out, err);
		if (!rc && outputs)
			rc = store_batch(graph, samples, out, b, n_samples, outputs, err);
		free_data(in, graph->n_inputs);
		free_data(out, graph->n_outputs);
	}
	free(in);
	free(out);
	return rc;
}
