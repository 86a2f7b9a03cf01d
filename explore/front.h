/* SPDX-License-Identifier: MIT
 *
 * The Pareto front of results: the points that no other beats, for which one objective can get better only if another
 * gets worse. */
#ifndef NPULAB_EXPLORE_FRONT_H
#define NPULAB_EXPLORE_FRONT_H

#include "explore/methods/search.h"
#include "results.h"

struct sweep_front { /* zero-initialise before use */
	int n_objectives;
	struct sweep_measure objective[SWEEP_OBJECTIVES];
	int64_t n; /* points on the front */
	/* Of these in the results; owned. Those of one network follow each other, the best in the first objective
	 * first. */
	int64_t *index;
	/* Says of each of them whether it is the knee of its front: the point that is nearest to the best of every
	 * objective. Each objective runs from 0, its best on the front, to 1, its worst there, on a logarithmic scale
	 * where all its values are above 0. A front of one or two points has none. Owned. */
	bool *is_knee;
	int64_t considered; /* points that are feasible and have all objectives */
	int64_t unknown;    /* points that are feasible, and of which an objective is not known */
};

/* Finds the front of the feasible points that have all objectives. Of points with the same objectives the first is on
 * it. Points of different networks are no alternatives: where the sweep varies the model, each has a front of its
 * own. */
int sweep_front_find(const struct sweep_results *results, struct sweep_front *front, struct npl_err *err);
void sweep_front_free(struct sweep_front *front);

#endif
