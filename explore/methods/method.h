/* SPDX-License-Identifier: MIT
 *
 * Which points of its space a sweep runs. Point `id` of a method follows from the plan and its seed alone, so that any
 * process can name it, in any order, at once or years later.
 *
 *     grid             all of them, in order
 *     random           some of them, each at most once, by a permutation of the whole grid
 *     sobol            a sequence that fills the space evenly from its beginning on (Sobol 1967), with the direction
 *                      numbers of Joe and Kuo, SIAM J. Sci. Comput. 30(5), 2008, and a random shift of its digits
 *     latin-hypercube  each axis cut into as many strata as there are points, and each stratum met once (McKay, Beckman
 *                      and Conover, Technometrics 21(2), 1979)
 *
 * Those of the methods evolution and narrowing follow from results too (search.h).
 *
 * The last two are sequences of a continuous space, so that on a coarse grid two of their points may be the same. */
#ifndef NPULAB_EXPLORE_METHODS_METHOD_H
#define NPULAB_EXPLORE_METHODS_METHOD_H

#include "explore/space/plan.h"

#define SWEEP_MOST_POINTS INT64_C(1000000000) /* of a sweep: more would not fit on a disk */
#define SWEEP_SOBOL_AXES  21                  /* the most that `sobol` moves */

/* Finds how many points the plan runs. Returns NPL_EUSAGE where there are too many, or too many axes. */
int sweep_method_points(const struct sweep_plan *plan, int64_t *points, struct npl_err *err);
/* Gives the levels of the point `id` of so many; those of axes without effect are 0. */
void sweep_method_point(const struct sweep_plan *plan, int64_t points, int64_t id, int *level);

#endif
