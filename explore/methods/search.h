/* SPDX-License-Identifier: MIT
 *
 * Chooses the points of a sweep one after the other. Some methods know all points from the beginning (method.h);
 * evolution and narrowing choose each generation by what came of those before. The points still follow from the plan,
 * its seed and the results alone, whichever process runs them and in whatever order they end. So a sweep that goes on
 * chooses again what it chose before.
 *
 *     while (sweep_search_known(search) < sweep_search_points(search)) {
 *             run the points that are known and have not been told
 *             sweep_search_tell(search, id, &told, &err) for each
 *     }
 */
#ifndef NPULAB_EXPLORE_METHODS_SEARCH_H
#define NPULAB_EXPLORE_METHODS_SEARCH_H

#include "explore/space/plan.h"

/* What came of a point. */
struct sweep_told {
	bool ran;                           /* false: it failed, or a constraint excluded it before its run */
	double violation;                   /* of constraints: 0 where all are met, or where it failed */
	double objective[SWEEP_OBJECTIVES]; /* less is better; NAN: not known */
};

struct sweep_search; /* opaque */

/* Opens the search of a plan, which must outlive it. Returns NPL_EUSAGE where the plan has too many points or axes for
 * its method, or no objectives for one that needs them. */
int sweep_search_open(const struct sweep_plan *plan, struct sweep_search **search, struct npl_err *err);
void sweep_search_close(struct sweep_search *search); /* accepts NULL */

/* Returns how many points the plan runs. */
int64_t sweep_search_points(const struct sweep_search *search);
/* Returns how many of them, from 0 on, are chosen. It grows when all of these have been told. */
int64_t sweep_search_known(const struct sweep_search *search);
/* Gives the levels of a point that is chosen. */
void sweep_search_point(const struct sweep_search *search, int64_t id, int *level);
/* Says whether the method needs to be told what came of the points. */
bool sweep_search_listens(const struct sweep_search *search);
/* Tells what came of a point that is chosen; a second time has no effect. */
int sweep_search_tell(struct sweep_search *search, int64_t id, const struct sweep_told *told, struct npl_err *err);
bool sweep_search_was_told(const struct sweep_search *search, int64_t id);

#endif
