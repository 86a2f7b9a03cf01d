/* SPDX-License-Identifier: MIT
 *
 * A layer by the exact kernels of int8 (core/int8/layer.h), its steps and tasks one after the other on the calling
 * thread. */
#ifndef NPULAB_TESTS_KIT_INT8_LAYER_H
#define NPULAB_TESTS_KIT_INT8_LAYER_H

#include "core/int8/layer.h"

/* Runs a whole layer into layer->out. Returns 0 or err->code. */
static inline int kit_int8_run_layer(const struct npl_layer *layer, struct npl_int8_memory *memory,
				     struct npl_int8_counts *counts, struct npl_err *err)
{
	struct npl_int8_job *job;
	const int rc = npl_int8_job_open(layer, layer->out, NULL, 1, memory, &job, err);
	if (rc)
		return rc;
	for (int step = 0; step < npl_int8_job_steps(job); step++)
		for (int64_t task = 0; task < npl_int8_job_tasks(job, step); task++)
			npl_int8_job_run(job, step, task, 0);
	return npl_int8_job_close(job, counts, err);
}

#endif
