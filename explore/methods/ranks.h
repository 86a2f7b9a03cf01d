/* SPDX-License-Identifier: MIT
 *
 * The order in which points are better for several objectives: by the front that they are on, and on a front the
 * loneliest first (Deb, Pratap, Agarwal and Meyarivan, IEEE Transactions on Evolutionary Computation 6(2), 2002,
 * section III). */
#ifndef NPULAB_EXPLORE_METHODS_RANKS_H
#define NPULAB_EXPLORE_METHODS_RANKS_H

#include "search.h"

/* Points and what came of them: levels of point i are level[i * n_axes] and on. */
struct sweep_history {
	const struct sweep_space *space;
	int64_t n;
	const int *level;
	const struct sweep_told *told;
	int n_objectives;
};

/* A point that has figures, or of which it is known how far it is from the constraints. */
struct sweep_member {
	int64_t point;
	int rank;        /* of its front, from 0 */
	double crowding; /* distance of its neighbours on the first front: greater is lonelier */
};

/* Fills the members, the best first; member has room for all points. They are those of the first front and, of the
 * points from number `since` on, those of so many fronts that there are `enough` of them. Returns how many they are;
 * *n_front gets those of the first front. */
int64_t sweep_rank(const struct sweep_history *history, int64_t enough, int64_t since, struct sweep_member *member,
		   int64_t *n_front);

#endif
