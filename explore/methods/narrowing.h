/* SPDX-License-Identifier: MIT
 *
 * A search that narrows a space by estimates: a quarter of the points fill the space evenly. From what the engine made
 * of them, every other point is estimated (kriging.h), the most promising ones run on the engine, and are estimated
 * from in the next round. So only the engine's figures are results, and a cheap model decides which are worth having.
 *
 * Of grids of more than 100,000 points only so many are estimated in a round: points drawn anew, and the neighbours of
 * the front of those that ran. One point in eight of a round is drawn at random, so that a part of the space of which
 * the estimate is wrong is not left out for good. */
#ifndef NPULAB_EXPLORE_METHODS_NARROWING_H
#define NPULAB_EXPLORE_METHODS_NARROWING_H

#include "ranks.h"

/* Returns how many points a round chooses of so many in all: whole chunks. */
int64_t sweep_narrowing_points(int64_t points, int64_t round);

/* Chooses `count` points that are not in the history, as sweep_evolve (evolution.h) does. */
int64_t sweep_narrow(const struct sweep_history *history, int *level, int64_t count, int64_t round, uint64_t seed,
		     struct npl_err *err);

#endif
