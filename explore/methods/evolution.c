/* SPDX-License-Identifier: MIT
 *
 * The evolutionary search (evolution.h). */
#include "evolution.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "draw.h"
#include "ranks.h"

/* Shares of the children, in percent: one step from a point of the front; a mix of two parents; the rest is random. */
#define NEIGHBOURS 45
#define MIXES      45
/* How often a child that is known already is moved on, before a random point takes its place. */
#define MOVES 20
/* A point that is on no front of all may be a parent if it is of the last so many generations. */
#define LATEST 4

struct state {
	struct sweep_drawer drawer;
	int n_axes;
	int *level;                  /* of all points, chosen ones behind the history */
	int64_t n;                   /* all points until now */
	struct sweep_member *member; /* those that can be parents, best first */
	int64_t n_members, n_front;
	bool *is_ordered; /* per axis: its values are numbers, so that neighbours are alike */
};

/* Returns the better of two members that are drawn among the first n. */
static const int *draw_parent(struct state *s, int64_t n)
{
	const int64_t a = sweep_draw(&s->drawer, n), b = sweep_draw(&s->drawer, n);
	return s->level + s->member[a < b ? a : b].point * s->n_axes;
}

/* Moves a child on one axis: to a neighbour or, where values have no order or one time in four, anywhere else. */
static void move(struct state *s, int *child)
{
	const struct sweep_space *space = s->drawer.space;
	int movable[SWEEP_AXES], n = 0;
	for (int a = 0; a < s->n_axes; a++)
		if (space->axis[a].n_levels > 1 && sweep_axis_has_effect(space, a, child))
			movable[n++] = a;
	if (!n)
		return;
	const int a = movable[sweep_draw(&s->drawer, n)], n_levels = space->axis[a].n_levels;
	if (s->is_ordered[a] && sweep_draw(&s->drawer, 4)) {
		const int step = sweep_draw(&s->drawer, 2) ? 1 : -1;
		child[a] += child[a] + step < 0 || child[a] + step >= n_levels ? -step : step;
	} else
		child[a] = (child[a] + 1 + (int)sweep_draw(&s->drawer, n_levels - 1)) % n_levels;
	sweep_space_reduce(space, child);
}

/* Mixes two parents axis by axis, and moves the child sometimes. */
static void mix(struct state *s, int64_t parents, int *child)
{
	const int *a = draw_parent(s, parents), *b = draw_parent(s, parents);
	for (int i = 0; i < s->n_axes; i++)
		child[i] = sweep_draw(&s->drawer, 2) ? a[i] : b[i];
	sweep_space_reduce(s->drawer.space, child);
	if (sweep_draw(&s->drawer, 2))
		move(s, child);
}

/* Makes child i of `count`, one that is not known yet; returns false where the grid has none. */
static bool make_child(struct state *s, int64_t parents, int64_t i, int64_t count, int *child)
{
	const int64_t kind = parents ? sweep_draw(&s->drawer, 100) : 100;
	if (!parents)
		sweep_draw_stratum(&s->drawer, i, count, child);
	else if (kind < NEIGHBOURS) {
		memcpy(child, draw_parent(s, s->n_front), (size_t)s->n_axes * sizeof *child);
		move(s, child);
	} else if (kind < NEIGHBOURS + MIXES)
		mix(s, parents, child);
	else
		sweep_draw_point(&s->drawer, child);
	for (int tries = 0; tries < MOVES; tries++) {
		if (sweep_add_known(&s->drawer, child))
			return true;
		move(s, child);
	}
	return sweep_draw_new(&s->drawer, child);
}

int64_t sweep_evolve(const struct sweep_history *history, int *level, int64_t count, int64_t generation, uint64_t seed,
		     struct npl_err *err)
{
	const int n_axes = history->space->n_axes;
	struct state s = {.n_axes = n_axes, .level = level, .n = history->n};
	int64_t chosen = sweep_drawer_open(&s.drawer, history->space, history->n + count, seed, generation, err);
	s.member = calloc((size_t)history->n + 1, sizeof *s.member);
	s.is_ordered = calloc((size_t)n_axes, sizeof *s.is_ordered);
	if (!chosen && (!s.member || !s.is_ordered))
		chosen = npl_no_memory(err);
	if (!chosen) {
		for (int a = 0; a < n_axes; a++)
			s.is_ordered[a] = sweep_axis_is_ordered(&history->space->axis[a]);
		for (int64_t i = 0; i < history->n; i++)
			sweep_add_known(&s.drawer, level + i * n_axes);
		s.n_members = sweep_rank(history, count, history->n - LATEST * count, s.member, &s.n_front);
		const int64_t parents = s.n_members < count ? s.n_members : s.n_front > count ? s.n_front : count;
		while (chosen < count && make_child(&s, parents, chosen, count, level + s.n * n_axes)) {
			s.n++;
			chosen++;
		}
	}
	sweep_drawer_close(&s.drawer);
	free(s.member);
	free(s.is_ordered);
	return chosen;
}
