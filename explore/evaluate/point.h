/* SPDX-License-Identifier: MIT
 *
 * A point of a sweep as it is asked for, and what came of it. */
#ifndef NPULAB_EXPLORE_EVALUATE_POINT_H
#define NPULAB_EXPLORE_EVALUATE_POINT_H

#include <stdint.h>

#include "explore/space/metrics.h"
#include "npulab/error.h"

/* A parameter of a point: one of a machine, "array.rows" or "host.clock_hz", or "model", "batch", "device". */
struct sweep_parameter {
	const char *key, *value;
};

struct sweep_request {
	int64_t id;
	int n;
	const struct sweep_parameter *parameter; /* n of them: what differs from the plan's base */
};

enum sweep_status {
	SWEEP_DONE,     /* it ran */
	SWEEP_EXCLUDED, /* a constraint on parameters or area excludes it: it did not run */
	SWEEP_FAILED,   /* it could not run */
	SWEEP_STATUSES
};
extern const char *const sweep_status_name[SWEEP_STATUSES]; /* "done", "excluded", "failed" */

/* A layer's row. NAN: not known. */
struct sweep_layer {
	const char *name, *op, *ran_on;
	double seconds, energy_j;
	uint64_t cycles, macs;
};

struct sweep_outcome {
	enum sweep_status status;
	/* Why the point did not run, or which constraint its results do not meet; empty: neither. */
	char reason[sizeof((struct npl_err *)0)->msg];
	bool feasible;    /* it ran, and its results meet all constraints */
	double violation; /* how far the constraints are from being met (sweep_expression_violation); 0: they are */
	struct sweep_metrics metrics;
	int n_layers;
	struct sweep_layer *layer; /* n_layers of them, where the plan keeps layers; owned by who made the outcome */
};

/* Makes the outcome of a point that could not run, of which no figure is known. */
struct sweep_outcome sweep_failed(const char *reason);

#endif
