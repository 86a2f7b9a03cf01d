/* SPDX-License-Identifier: MIT
 *
 * What a point of a sweep would cost if one thing were changed: its neighbours, which differ in one axis. */
#ifndef NPULAB_EXPLORE_NEIGHBOURS_H
#define NPULAB_EXPLORE_NEIGHBOURS_H

#include "explore/evaluate/evaluator.h"
#include "explore/evaluate/measure.h"

#define SWEEP_MAX_NEIGHBOURS 200

struct sweep_neighbour {
	int axis, level; /* which axis has which other level */
	struct sweep_outcome outcome;
};

/* Finds the levels of a point by its parameters. Returns NPL_EINPUT where a value is none of the plan's. */
int sweep_levels_of(const struct sweep_plan *plan, const struct sweep_parameter *parameter, int n, int *level,
		    struct npl_err *err);
/* Runs the neighbours of a point: on each axis that has an effect the values before and after its own, and where the
 * values of an axis have no order all of them. neighbour has room for SWEEP_MAX_NEIGHBOURS; returns how many there
 * are. */
int sweep_neighbours(const struct sweep_plan *plan, struct sweep_evaluator *evaluator, const int *level,
		     struct sweep_neighbour *neighbour);

#endif
