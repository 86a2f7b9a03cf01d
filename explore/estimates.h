/* SPDX-License-Identifier: MIT
 *
 * Estimates of the points of a sweep's grid that did not run, from those that did (methods/kriging.h). They tell which
 * points are worth running; an estimate is never a result. */
#ifndef NPULAB_EXPLORE_ESTIMATES_H
#define NPULAB_EXPLORE_ESTIMATES_H

#include <stdio.h>

#include "explore/methods/kriging.h"
#include "explore/space/plan.h"
#include "front.h"

#define SWEEP_MOST_ESTIMATED 20e6 /* points of a grid; more would take minutes */

/* What is to be estimated. */
struct sweep_to_estimate {
	const struct sweep_plan *plan; /* with all its axes */
	const struct sweep_results *results;
	const struct sweep_front *front; /* of the results, with the objectives */
	/* Constraints beside those of the plan. */
	int n_constraints;
	const struct sweep_measure *constraint;
};

struct sweep_estimates { /* zero-initialise before use */
	int64_t n;       /* points that did not run, all of them estimated */
	int n_figures;   /* that are estimated: those that objectives and constraints name */
	enum sweep_metric figure[SWEEP_METRICS];
	/* The errors against the engine: that of figure f for the network at level m of the plan's axis is error[f *
	 * n_models + m]. Owned. */
	int n_models;
	struct sweep_kriging_error *error;
	/* The points that would be on the front if their objectives were worse by the median error. They have no
	 * number. Points that are estimated to fail are none of them. */
	struct sweep_results points;
};

/* Estimates. Returns NPL_EUSAGE where too few points ran, the grid is too large, or a constraint names what neither was
 * varied nor is a figure. */
int sweep_estimate(const struct sweep_to_estimate *wanted, struct sweep_estimates *estimates, struct npl_err *err);
/* Prints the estimated points, and the errors of the figures. Returns 0 or NPL_ENOMEM. */
int sweep_estimates_table(FILE *out, const struct sweep_to_estimate *wanted, const struct sweep_estimates *estimates,
			  struct npl_err *err);
void sweep_estimates_free(struct sweep_estimates *estimates);

#endif
