/* SPDX-License-Identifier: MIT
 *
 * Drawing points of a space that are not known yet. Points are known by a hash of 64 bits of their levels. */
#ifndef NPULAB_EXPLORE_METHODS_DRAW_H
#define NPULAB_EXPLORE_METHODS_DRAW_H

#include "explore/space/space.h"
#include "npulab/random.h"

struct sweep_drawer { /* zero-initialise before use */
	const struct sweep_space *space;
	struct npl_random random;
	uint64_t strata; /* the seed of the strata */
	uint64_t *table; /* hashes of known points; 0: free */
	uint64_t table_mask;
};

/* Opens a drawer with room for so many known points, whose draws follow from the seed and the round. */
int sweep_drawer_open(struct sweep_drawer *drawer, const struct sweep_space *space, int64_t points, uint64_t seed,
		      int64_t round, struct npl_err *err);
void sweep_drawer_close(struct sweep_drawer *drawer);

/* Adds a point to those that are known; returns false where it is one of them. */
bool sweep_add_known(struct sweep_drawer *drawer, const int *level);
bool sweep_is_known(const struct sweep_drawer *drawer, const int *level);

/* Returns a random number from 0 to n - 1. */
int64_t sweep_draw(struct sweep_drawer *drawer, int64_t n);
/* Draws any point. */
void sweep_draw_point(struct sweep_drawer *drawer, int *level);
/* Draws point i of `count`: each axis is cut into so many strata, and each is met once. */
void sweep_draw_stratum(struct sweep_drawer *drawer, int64_t i, int64_t count, int *level);
/* Draws a point that was not known, and adds it. Returns false where the grid has none. */
bool sweep_draw_new(struct sweep_drawer *drawer, int *level);

#endif
