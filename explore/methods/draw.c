/* SPDX-License-Identifier: MIT
 *
 * Drawing points (draw.h). */
#include "draw.h"

#include <stdlib.h>

#include "core/base/refuse.h"
#include "permutation.h"

/* How often a point is drawn that is known already, before the rest of the grid is walked through. */
#define DRAWS 200

int sweep_drawer_open(struct sweep_drawer *drawer, const struct sweep_space *space, int64_t points, uint64_t seed,
		      int64_t round, struct npl_err *err)
{
	uint64_t slots = 64;
	while (slots < 2 * (uint64_t)points)
		slots *= 2;
	*drawer = (struct sweep_drawer){.space = space,
					.random = {.state = sweep_mix(seed, (uint64_t)round)},
					.strata = sweep_mix(seed + 1, (uint64_t)round),
					.table = calloc(slots, sizeof *drawer->table),
					.table_mask = slots - 1};
	return drawer->table ? 0 : npl_no_memory(err);
}

void sweep_drawer_close(struct sweep_drawer *drawer)
{
	free(drawer->table);
}

static uint64_t hash_of(const int *level, int n)
{
	uint64_t hash = 0x9e3779b97f4a7c15u;
	for (int a = 0; a < n; a++)
		hash = sweep_mix(hash, (uint64_t)level[a]);
	return hash ? hash : 1;
}

/* Returns the place of a hash in the table, or the free one where it belongs. */
static uint64_t *slot_of(const struct sweep_drawer *drawer, uint64_t hash)
{
	uint64_t slot = hash & drawer->table_mask;
	while (drawer->table[slot] && drawer->table[slot] != hash)
		slot = (slot + 1) & drawer->table_mask;
	return &drawer->table[slot];
}

bool sweep_is_known(const struct sweep_drawer *drawer, const int *level)
{
	return *slot_of(drawer, hash_of(level, drawer->space->n_axes)) != 0;
}

bool sweep_add_known(struct sweep_drawer *drawer, const int *level)
{
	const uint64_t hash = hash_of(level, drawer->space->n_axes);
	uint64_t *slot = slot_of(drawer, hash);
	const bool is_new = !*slot;
	*slot = hash;
	return is_new;
}

int64_t sweep_draw(struct sweep_drawer *drawer, int64_t n)
{
	return (int64_t)(npl_random_u64(&drawer->random) % (uint64_t)n);
}

void sweep_draw_point(struct sweep_drawer *drawer, int *level)
{
	const struct sweep_space *space = drawer->space;
	for (int a = 0; a < space->n_axes; a++)
		level[a] = (int)sweep_draw(drawer, space->axis[a].n_levels);
	sweep_space_reduce(space, level);
}

void sweep_draw_stratum(struct sweep_drawer *drawer, int64_t i, int64_t count, int *level)
{
	const struct sweep_space *space = drawer->space;
	for (int a = 0; a < space->n_axes; a++) {
		const uint64_t stratum = sweep_permute((uint64_t)i, (uint64_t)count, drawer->strata + (uint64_t)a);
		const double within = (double)sweep_draw(drawer, 1 << 20) * 0x1p-20;
		level[a] = (int)(((double)stratum + within) / (double)count * space->axis[a].n_levels);
	}
	sweep_space_reduce(space, level);
}

/* Walks through the grid from a random point on until it meets one that is not known. */
static bool find_new(struct sweep_drawer *drawer, int *level)
{
	const double points = sweep_space_points(drawer->space);
	const uint64_t n = points < 0x1p62 ? (uint64_t)points : UINT64_C(1) << 62;
	const uint64_t first = npl_random_u64(&drawer->random) % n;
	for (uint64_t i = 0; i < n; i++) {
		sweep_space_point(drawer->space, (first + i) % n, level);
		if (sweep_add_known(drawer, level))
			return true;
	}
	return false;
}

bool sweep_draw_new(struct sweep_drawer *drawer, int *level)
{
	for (int tries = 0; tries < DRAWS; tries++) {
		sweep_draw_point(drawer, level);
		if (sweep_add_known(drawer, level))
			return true;
	}
	return find_new(drawer, level);
}
