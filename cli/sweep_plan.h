/* SPDX-License-Identifier: MIT
 *
 * The plan of a sweep from a file and from options, as sweep takes them. */
#ifndef NPULAB_CLI_SWEEP_PLAN_H
#define NPULAB_CLI_SWEEP_PLAN_H

#include "explore/space/plan.h"
#include "options.h"

/* Options that are entries of a plan. */
struct cli_sweep_options {
	struct cli_list vary, set, constraint, input, dim;
	const char *device, *batch, *minimise, *maximise, *method, *points, *seed, *engine, *host, *labels;
	bool values, layers;
};

/* Reads the plan of a file NAME.yaml, or of a model, with the options, and checks it. sweep_plan_free frees it, after a
 * failure too. */
int cli_sweep_plan(const char *word, const struct cli_sweep_options *options, struct sweep_plan *plan,
		   struct npl_err *err);

#endif
