/* SPDX-License-Identifier: MIT
 *
 * Fronts of points (ranks.h). */
#include "ranks.h"

#include <math.h>
#include <stdlib.h>

struct ranking {
	const struct sweep_history *history;
	struct sweep_member *member;
	int64_t n_members, n_front;
};

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

/* Says whether a point is a member: it has figures, or it is known how far it is from the constraints. */
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
	const struct sweep_member *x = a, *y = b;
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
static int64_t take_front(struct ranking *s, int64_t first, int rank)
{
	int64_t end = first;
	qsort(s->member + first, (size_t)(s->n_members - first), sizeof *s->member, compare_told);
	for (int64_t i = first; i < s->n_members; i++) {
		bool beaten = false;
		for (int64_t k = end - 1; k >= first && !beaten; k--)
			beaten = beats(s->history, s->member[k].point, s->member[i].point);
		if (beaten)
			continue;
		const struct sweep_member swapped = s->member[end];
		s->member[end] = s->member[i];
		s->member[i] = swapped;
		s->member[end++].rank = rank;
	}
	return end;
}

/* Gives members the rank of their front, by taking front after front away, until there are `enough` of them. */
static void rank_members(struct ranking *s, int64_t enough, int64_t since)
{
	int64_t ranked = s->n_front = take_front(s, 0, 0), kept = ranked;
	for (int64_t i = ranked; i < s->n_members; i++)
		if (s->member[i].point >= since)
			s->member[kept++] = s->member[i];
	s->n_members = kept;
	for (int rank = 1; ranked < s->n_members && ranked < enough; rank++)
		ranked = take_front(s, ranked, rank);
	s->n_members = ranked;
}

static int compare_objective(const void *a, const void *b)
{
	const struct sweep_member *x = a, *y = b;
	const double v = sorted_told[x->point].objective[sorted_objective];
	const double w = sorted_told[y->point].objective[sorted_objective];
	return v < w ? -1 : v > w ? 1 : x->point < y->point ? -1 : x->point > y->point;
}

static int compare_members(const void *a, const void *b)
{
	const struct sweep_member *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->crowding < y->crowding || x->crowding > y->crowding)
		return x->crowding > y->crowding ? -1 : 1;
	return x->point < y->point ? -1 : x->point > y->point;
}

/* Gives the members of the first front, which stand first, their distance from their neighbours. Objectives above 0
 * count by their ratios: times and energies of machines differ by factors. */
static void crowd(struct ranking *s)
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

int64_t sweep_rank(const struct sweep_history *history, int64_t enough, int64_t since, struct sweep_member *member,
		   int64_t *n_front)
{
	struct ranking ranking = {.history = history, .member = member}, *s = &ranking;
	for (int64_t i = 0; i < history->n; i++)
		if (is_member(&history->told[i], history->n_objectives))
			member[s->n_members++] = (struct sweep_member){.point = i};
	sorted_told = history->told;
	sorted_objectives = history->n_objectives;
	rank_members(s, enough, since);
	if (s->n_front > 1)
		crowd(s);
	qsort(member, (size_t)s->n_members, sizeof *member, compare_members);
	*n_front = s->n_front;
	return s->n_members;
}
