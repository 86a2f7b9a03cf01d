/* SPDX-License-Identifier: MIT
 *
 * What a database of results says of its sweep (explore/store/store.h): everything that decides the points and their
 * figures. A sweep that goes on must have the same. */
#ifndef NPULAB_EXPLORE_FACTS_H
#define NPULAB_EXPLORE_FACTS_H

#include "explore/space/plan.h"
#include "explore/store/store.h"

#define SWEEP_FACTS 24

/* Fills the facts of a plan that has been checked; texts live in the plan's arena. shard: "2/8", or "" for a sweep that
 * is whole. Returns NPL_EINPUT for a model that cannot be read. */
int sweep_facts(struct sweep_plan *plan, const char *shard, struct sweep_fact fact[SWEEP_FACTS], int *n,
		struct npl_err *err);

#endif
