/* SPDX-License-Identifier: MIT
 *
 * The evolutionary search (evolution.h). */
#include "evolution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "npulab/random.h"
#include "permutation.h"

/* Shares of the children, in percent: one step from a point of the front; a mix of two parents; the rest is random. */
#define NEIGHBOURS 45
#define MIXES      45
/* How often a child that is known already is moved on, before a random point takes its place. */
#define MOVES 20
/* How often a random point is drawn that is known already, before the rest of the grid is walked through. */
#define DRAWS 200
/* Of how many generations points may be parents that are on no front of all. */
#define LATEST 4

/* A point that was run, as parents are chosen by. */
struct member {
	int64_t point;
	int rank;        /* of its front, from 0 */
	double crowding; /* distance of its neighbours on its front: greater is lonelier */
};

struct state {
	const struct sweep_history *history;
	int n_axes;
	int *level; /* of all points, chosen ones behind the history */
	int64_t n;  /* all points until now */
	struct npl_random random;
	uint64_t strata;       /* the seed of the strata */
	struct member *member; /* those that can be parents, best first */
	int64_t n_members, n_front;
	bool *is_ordered; /* per axis: its values are numbers, so that neighbours are alike */
	uint64_t *table;  /* hashes of known points; 0: free */
	uint64_t table_mask;
};

/* ---- Known points, found by a hash of 64 bits of their levels. */

static uint64_t hash_of(const int *level, int n)
{
	uint64_t hash = 0x9e3779b97f4a7c15u;
	for (int a = 0; a < n; a++)
		hash = sweep_mix(hash, (uint64_t)level[a]);
	return hash ? hash : 1;
}

/* Adds a point; returns false where it is known already. */
static bool add_known(struct state *s, const int *level)
{
	const uint64_t hash = hash_of(level, s->n_axes);
	uint64_t slot = hash & s->table_mask;
	while (s->table[slot] && s->table[slot] != hash)
		slot = (slot + 1) & s->table_mask;
	if (s->table[slot])
		return false;
	s->table[slot] = hash;
	return true;
}

/* ---- Fronts. */

/* Says whether point i beats point k of the history: it meets constraints better, or as well and is at least as good in
 * all objectives and better in one. Points of different networks are no alternatives. */
static bool beats(const struct sweep_history *history, int64_t i, int64_t k)
{
	const struct sweep_told *a = &history->told[i], *b = &history->told[k];
	const int n_axes = history->space->n_axes, n_objectives = history->n_objectives;
	bool better = false;
	if (history->level[i * n_axes + SWEEP_MODEL_AXIS] != history->level[k * n_axes + SWEEP_MODEL_AXIS])
		return false;
	if (a->violation < b->violation || a->violation > b->violation)
		return a->violation < b->violation;
	for (int o = 0; o < n_objectives; o++) {
		if (a->objective[o] > b->objective[o])
			return false;
		better = better || a->objective[o] < b->objective[o];
	}
	return better;
}

/* Says whether a point can be a parent: it has figures, or it is known how far it is from the constraints. */
static bool is_member(const struct sweep_told *told, int n_objectives)
{
	for (int i = 0; i < n_objectives; i++)
		if (!isfinite(told->objective[i]))
			return false;
	return told->ran || told->violation > 0;
}

/* The order in which a point can only be beaten by one before it. */
static _Thread_local const struct sweep_told *sorted_told;
static _Thread_local int sorted_objective, sorted_objectives;

static int compare_told(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	const struct sweep_told *v = &sorted_told[x->point], *w = &sorted_told[y->point];
	if (v->violation < w->violation || v->violation > w->violation)
		return v->violation < w->violation ? -1 : 1;
	for (int i = 0; i < sorted_objectives; i++)
		if (v->objective[i] < w->objective[i] || v->objective[i] > w->objective[i])
			return v->objective[i] < w->objective[i] ? -1 : 1;
	return x->point < y->point ? -1 : x->point > y->point;
}

/* Moves the members of rank `rank`, the front of those from `first` on, to the beginning of these; returns where the
 * others begin. */
static int64_t take_front(struct state *s, int64_t first, int rank)
{
	int64_t end = first;
	qsort(s->member + first, (size_t)(s->n_members - first), sizeof *s->member, compare_told);
	for (int64_t i = first; i < s->n_members; i++) {
		bool beaten = false;
		for (int64_t k = end - 1; k >= first && !beaten; k--)
			beaten = beats(s->history, s->member[k].point, s->member[i].point);
		if (beaten)
			continue;
		const struct member swapped = s->member[end];
		s->member[end] = s->member[i];
		s->member[i] = swapped;
		s->member[end++].rank = rank;
	}
	return end;
}

/* Gives members the rank of their front, by taking front after front away, until there are `enough` of them. Of those
 * behind the first front only the latest are looked at. */
static void rank_members(struct state *s, int64_t enough)
{
	int64_t ranked = s->n_front = take_front(s, 0, 0), kept = ranked;
	for (int64_t i = ranked; i < s->n_members; i++)
		if (s->member[i].point >= s->history->n - LATEST * enough)
			s->member[kept++] = s->member[i];
	s->n_members = kept;
	for (int rank = 1; ranked < s->n_members && ranked < enough; rank++)
		ranked = take_front(s, ranked, rank);
	s->n_members = ranked;
}

static int compare_objective(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	const double v = sorted_told[x->point].objective[sorted_objective];
	const double w = sorted_told[y->point].objective[sorted_objective];
	return v < w ? -1 : v > w ? 1 : x->point < y->point ? -1 : x->point > y->point;
}

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->crowding < y->crowding || x->crowding > y->crowding)
		return x->crowding > y->crowding ? -1 : 1;
	return x->point < y->point ? -1 : x->point > y->point;
}

/* Gives the members of the first front, which stand first, their distance from their neighbours. Objectives above 0
 * count by their ratios: times and energies of machines differ by factors. */
static void crowd(struct state *s)
{
	for (int i = 0; i < s->history->n_objectives; i++) {
		sorted_objective = i;
		qsort(s->member, (size_t)s->n_front, sizeof *s->member, compare_objective);
		const double low = sorted_told[s->member[0].point].objective[i];
		const double high = sorted_told[s->member[s->n_front - 1].point].objective[i];
		const bool by_ratio = low > 0 || high < 0;
		s->member[0].crowding = s->member[s->n_front - 1].crowding = INFINITY;
		for (int64_t k = 1; k + 1 < s->n_front && high > low; k++) {
			const double before = sorted_told[s->member[k - 1].point].objective[i];
			const double after = sorted_told[s->member[k + 1].point].objective[i];
			s->member[k].crowding += by_ratio ? fabs(log(after / before) / log(high / low))
							  : (after - before) / (high - low);
		}
	}
}

/* Collects the points that can be parents and sorts them, the best first. */
static void sort_members(struct state *s, int64_t enough)
{
	for (int64_t i = 0; i < s->history->n; i++)
		if (is_member(&s->history->told[i], s->history->n_objectives))
			s->member[s->n_members++] = (struct member){.point = i};
	sorted_told = s->history->told;
	sorted_objectives = s->history->n_objectives;
	rank_members(s, enough);
	if (s->n_front > 1)
		crowd(s);
	qsort(s->member, (size_t)s->n_members, sizeof *s->member, compare_members);
}

/* ---- Children. */

static int64_t draw(struct state *s, int64_t n)
{
	return (int64_t)(npl_random_u64(&s->random) % (uint64_t)n);
}

/* Returns the better of two members that are drawn among the first n. */
static const int *draw_parent(struct state *s, int64_t n)
{
	const int64_t a = draw(s, n), b = draw(s, n);
	return s->level + s->member[a < b ? a : b].point * s->n_axes;
}

/* Moves a child on one axis: to a neighbour or, where values have no order or one time in four, anywhere else. */
static void move(struct state *s, int *child)
{
	const struct sweep_space *space = s->history->space;
	int movable[SWEEP_AXES], n = 0;
	for (int a = 0; a < s->n_axes; a++)
		if (space->axis[a].n_levels > 1 && sweep_axis_has_effect(space, a, child))
			movable[n++] = a;
	if (!n)
		return;
	const int a = movable[draw(s, n)], n_levels = space->axis[a].n_levels;
	if (s->is_ordered[a] && draw(s, 4)) {
		const int step = draw(s, 2) ? 1 : -1;
		child[a] += child[a] + step < 0 || child[a] + step >= n_levels ? -step : step;
	} else
		child[a] = (child[a] + 1 + (int)draw(s, n_levels - 1)) % n_levels;
	sweep_space_reduce(space, child);
}

static void draw_random(struct state *s, int *child)
{
	const struct sweep_space *space = s->history->space;
	for (int a = 0; a < s->n_axes; a++)
		child[a] = (int)draw(s, space->axis[a].n_levels);
	sweep_space_reduce(space, child);
}

/* Mixes two parents axis by axis, and moves the child sometimes. */
static void mix(struct state *s, int64_t parents, int *child)
{
	const int *a = draw_parent(s, parents), *b = draw_parent(s, parents);
	for (int i = 0; i < s->n_axes; i++)
		child[i] = draw(s, 2) ? a[i] : b[i];
	sweep_space_reduce(s->history->space, child);
	if (draw(s, 2))
		move(s, child);
}

/* Walks through the grid from a random point on until it meets one that is not known. */
static bool find_unknown(struct state *s, int *child)
{
	const double points = sweep_space_points(s->history->space);
	const uint64_t n = points < 0x1p62 ? (uint64_t)points : UINT64_C(1) << 62;
	const uint64_t first = npl_random_u64(&s->random) % n;
	for (uint64_t i = 0; i < n; i++) {
		sweep_space_point(s->history->space, (first + i) % n, child);
		if (add_known(s, child))
			return true;
	}
	return false;
}

/* Draws point i of `count` of the first generation: each axis is cut into so many strata, and each is met once. */
static void draw_stratum(struct state *s, int64_t i, int64_t count, int *child)
{
	const struct sweep_space *space = s->history->space;
	for (int a = 0; a < s->n_axes; a++) {
		const uint64_t stratum = sweep_permute((uint64_t)i, (uint64_t)count, s->strata + (uint64_t)a);
		const double share = ((double)stratum + (double)draw(s, 1 << 20) * 0x1p-20) / (double)count;
		child[a] = (int)(share * space->axis[a].n_levels);
	}
	sweep_space_reduce(space, child);
}

/* Makes child i of `count`, one that is not known yet; returns false where the grid has none. */
static bool make_child(struct state *s, int64_t parents, int64_t i, int64_t count, int *child)
{
	const int64_t kind = parents ? draw(s, 100) : 100;
	if (!parents)
		draw_stratum(s, i, count, child);
	else if (kind < NEIGHBOURS) {
		memcpy(child, draw_parent(s, s->n_front), (size_t)s->n_axes * sizeof *child);
		move(s, child);
	} else if (kind < NEIGHBOURS + MIXES)
		mix(s, parents, child);
	else
		draw_random(s, child);
	for (int tries = 0; tries < MOVES; tries++) {
		if (add_known(s, child))
			return true;
		move(s, child);
	}
	for (int tries = 0; tries < DRAWS; tries++) {
		draw_random(s, child);
		if (add_known(s, child))
			return true;
	}
	return find_unknown(s, child);
}

static void find_order(struct state *s)
{
	for (int a = 0; a < s->n_axes; a++)
		s->is_ordered[a] = sweep_axis_is_ordered(&s->history->space->axis[a]);
}

int64_t sweep_evolve(const struct sweep_history *history, int *level, int64_t count, int64_t generation, uint64_t seed,
		     struct npl_err *err)
{
	struct state s = {.history = history,
			  .n_axes = history->space->n_axes,
			  .level = level,
			  .n = history->n,
			  .random = {.state = sweep_mix(seed, (uint64_t)generation)},
			  .strata = sweep_mix(seed + 1, (uint64_t)generation)};
	uint64_t slots = 64;
	while (slots < 2 * (uint64_t)(history->n + count))
		slots *= 2;
	s.table_mask = slots - 1;
	s.table = calloc(slots, sizeof *s.table);
	s.member = calloc((size_t)history->n + 1, sizeof *s.member);
	s.is_ordered = calloc((size_t)s.n_axes, sizeof *s.is_ordered);
	int64_t chosen = s.table && s.member && s.is_ordered ? 0 : npl_no_memory(err);
	if (!chosen) {
		find_order(&s);
		for (int64_t i = 0; i < history->n; i++)
			add_known(&s, level + i * s.n_axes);
		sort_members(&s, count);
		const int64_t parents = s.n_members < count ? s.n_members : s.n_front > count ? s.n_front : count;
		while (chosen < count && make_child(&s, parents, chosen, count, level + s.n * s.n_axes)) {
			s.n++;
			chosen++;
		}
	}
	free(s.table);
	free(s.member);
	free(s.is_ordered);
	return chosen;
}
