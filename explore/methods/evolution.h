/* SPDX-License-Identifier: MIT
 *
 * An evolutionary search for several objectives: NSGA-II (Deb, Pratap, Agarwal and Meyarivan, IEEE Transactions on
 * Evolutionary Computation 6(2), 2002) on the grid of a space. Three things differ from the paper, because running a
 * point costs far more than choosing one:
 *
 *   * no point is run twice: a child that is known already is moved on;
 *   * parents come from all points that were run, and not only from the last generation, so that a front that is larger
 *     than a generation is kept whole;
 *   * a part of the children are neighbours of points of the front, one step away on one axis, because on a grid the
 *     front is connected more often than not. */
#ifndef NPULAB_EXPLORE_METHODS_EVOLUTION_H
#define NPULAB_EXPLORE_METHODS_EVOLUTION_H

#include "ranks.h"

/* Chooses `count` points that are not in the history, and puts their levels behind those of the history; level has room
 * for them. generation: the number of those chosen before. Fewer are chosen where the grid has no more: returns how
 * many, or a negative NPL_E... . */
int64_t sweep_evolve(const struct sweep_history *history, int *level, int64_t count, int64_t generation, uint64_t seed,
		     struct npl_err *err);

#endif
