/* SPDX-License-Identifier: MIT
 *
 * Narrowing by estimates (narrowing.h). */
#include "narrowing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "draw.h"
#include "kriging.h"

#define CANDIDATES INT64_C(100000) /* points that are estimated in a round, at most */
#define FIRST      4               /* one point in so many is of the first round */
#define ROUNDS     8               /* the others are of so many rounds */
#define AT_RANDOM  8               /* one point in so many of a round is drawn at random */
#define NEIGHBOURS 2               /* one candidate in so many may be a neighbour of the front */

/* A violation of constraints that is estimated below this is none. */
#define LITTLE_VIOLATION 0.01
/* A point fails where the estimate of its failure, 0 or 1 at those that are known, is above this. */
#define LIKELY_FAILURE 0.5
#define BEHIND         1e3

struct state {
	const struct sweep_history *history;
	struct sweep_drawer drawer;
	int n_axes;
	int64_t n, room;             /* candidates */
	int *level;                  /* of the candidates */
	struct sweep_told *told;     /* of the candidates: estimates */
	struct sweep_member *member; /* of the candidates, or of the history */
};

/* Returns at least so many points, in whole chunks. */
static int64_t in_chunks(int64_t points)
{
	return points > 0 ? (points + SWEEP_CHUNK - 1) / SWEEP_CHUNK * SWEEP_CHUNK : SWEEP_CHUNK;
}

int64_t sweep_narrowing_points(int64_t points, int64_t round)
{
	const int64_t first = in_chunks(points / FIRST);
	return round ? in_chunks((points - first) / ROUNDS) : first;
}

/* ---- Candidates. */

/* Adds a candidate unless it is known. */
static void add(struct state *s, const int *level)
{
	if (s->n == s->room || !sweep_add_known(&s->drawer, level))
		return;
	memcpy(s->level + s->n * s->n_axes, level, (size_t)s->n_axes * sizeof *level);
	s->n++;
}

/* Adds the points that differ from one of the front in one axis. */
static void add_neighbours(struct state *s)
{
	const struct sweep_history *history = s->history;
	const int64_t most = s->room / NEIGHBOURS;
	int64_t n_front;
	int level[SWEEP_AXES];
	sweep_rank(history, 0, history->n, s->member, &n_front);
	for (int64_t i = 0; i < n_front; i++)
		for (int a = 0; a < s->n_axes; a++)
			for (int l = 0; l < history->space->axis[a].n_levels && s->n < most; l++) {
				const int64_t point = s->member[i].point;
				memcpy(level, history->level + point * s->n_axes, (size_t)s->n_axes * sizeof *level);
				level[a] = l;
				sweep_space_reduce(history->space, level);
				add(s, level);
			}
}

static void collect(struct state *s)
{
	const double grid = sweep_space_points(s->history->space);
	int level[SWEEP_AXES];
	if (grid <= (double)CANDIDATES) {
		for (uint64_t i = 0; i < (uint64_t)grid; i++) {
			sweep_space_point(s->history->space, i, level);
			add(s, level);
		}
		return;
	}
	add_neighbours(s);
	for (int64_t tries = 2 * s->room; tries > 0 && s->n < s->room; tries--) {
		sweep_draw_point(&s->drawer, level);
		add(s, level);
	}
}

/* ---- Estimates. */

/* The figures of the points of the history of which one is known. */
struct sample {
	int64_t n;
	int *level;
	double *value;
};

/* What is estimated beside objectives. */
enum { VIOLATION = -1, FAILURE = -2 };

static bool has_failed(const struct sweep_told *told)
{
	return !told->ran && !(told->violation > 0);
}

/* Returns figure `objective` of a point, its violation, or whether it failed; NAN: it is not known. */
static double figure_of(const struct sweep_told *told, int objective)
{
	if (objective == FAILURE)
		return has_failed(told);
	if (objective == VIOLATION)
		return told->ran || told->violation > 0 ? told->violation : NAN;
	return told->ran ? told->objective[objective] : NAN;
}

static void take_sample(const struct state *s, int objective, struct sample *sample)
{
	const struct sweep_history *history = s->history;
	sample->n = 0;
	for (int64_t i = 0; i < history->n; i++) {
		const double value = figure_of(&history->told[i], objective);
		if (!isfinite(value))
			continue;
		memcpy(sample->level + sample->n * s->n_axes, history->level + i * s->n_axes,
		       (size_t)s->n_axes * sizeof *sample->level);
		sample->value[sample->n++] = value;
	}
}

/* Rounds a figure to nine digits, so that points whose estimates differ in nothing but rounding are alike: the
 * processors' exp and log may differ in the last digit. */
static double rounded(double value)
{
	const double digit = pow(10, floor(log10(fabs(value) + 1e-300)) - 8);
	return round(value / digit) * digit;
}

/* Estimates a figure of all candidates. Returns 1 where too few points have it. */
static int estimate(struct state *s, int objective, struct sample *sample, struct npl_err *err)
{
	struct sweep_kriging *kriging;
	take_sample(s, objective, sample);
	if (sample->n < SWEEP_KRIGING_LEAST)
		return 1;
	if (sweep_kriging_open(s->history->space, sample->n, sample->level, sample->value, &kriging, err))
		return err->code;
	for (int64_t i = 0; i < s->n; i++) {
		const double value = rounded(sweep_kriging_at(kriging, s->level + i * s->n_axes));
		if (objective >= 0)
			s->told[i].objective[objective] = value;
		else if (objective == VIOLATION)
			s->told[i].violation = value < LITTLE_VIOLATION ? 0 : value;
		else /* worse than one that breaks constraints */
			s->told[i].violation += value > LIKELY_FAILURE ? BEHIND * value : 0;
	}
	sweep_kriging_close(kriging);
	return 0;
}

/* Says whether a violation or a failure happens at any point. */
static bool happens(const struct sweep_history *history, int what)
{
	for (int64_t i = 0; i < history->n; i++)
		if (what == FAILURE ? has_failed(&history->told[i]) : history->told[i].violation > 0)
			return true;
	return false;
}

/* Estimates all figures of all candidates. One that too few points have is taken to be the same for all. Returns 1
 * where no figure can be estimated. */
static int estimate_all(struct state *s, struct npl_err *err)
{
	struct sample sample = {0};
	sample.level = calloc((size_t)s->history->n * (size_t)s->n_axes + 1, sizeof *sample.level);
	sample.value = calloc((size_t)s->history->n + 1, sizeof *sample.value);
	int rc = sample.level && sample.value ? 0 : npl_no_memory(err);
	for (int64_t i = 0; i < s->n; i++)
		s->told[i] = (struct sweep_told){.ran = true};
	int n_estimated = 0;
	for (int what = VIOLATION; what >= FAILURE && rc >= 0; what--)
		if (happens(s->history, what)) {
			rc = estimate(s, what, &sample, err);
			n_estimated += rc == 0;
		}
	for (int o = 0; o < s->history->n_objectives && rc >= 0; o++) {
		rc = estimate(s, o, &sample, err);
		n_estimated += rc == 0;
	}
	rc = rc < 0 ? rc : !n_estimated;
	free(sample.level);
	free(sample.value);
	return rc;
}

/* Chooses the most promising candidates. */
static int64_t choose_best(struct state *s, int *level, int64_t count)
{
	const struct sweep_history estimated = {.space = s->history->space,
						.n = s->n,
						.level = s->level,
						.told = s->told,
						.n_objectives = s->history->n_objectives};
	int64_t n_front;
	const int64_t n = sweep_rank(&estimated, count, 0, s->member, &n_front);
	const int64_t chosen = n < count ? n : count;
	for (int64_t i = 0; i < chosen; i++)
		memcpy(level + i * s->n_axes, s->level + s->member[i].point * s->n_axes,
		       (size_t)s->n_axes * sizeof *level);
	return chosen;
}

/* ---- Rounds. */

/* Chooses points without estimates: in the first round evenly, else at random. Returns how many of them the grid
 * has. */
static int64_t choose_new(struct state *s, int *level, int64_t count, bool evenly)
{
	int64_t chosen = 0;
	for (; chosen < count; chosen++) {
		int *point = level + chosen * s->n_axes;
		if (evenly)
			sweep_draw_stratum(&s->drawer, chosen, count, point);
		if (!(evenly && sweep_add_known(&s->drawer, point)) && !sweep_draw_new(&s->drawer, point))
			break;
	}
	return chosen;
}

/* Opens the state anew: the points that are known are those of the history, and so many that have been chosen. */
static int know(struct state *s, const int *level, int64_t n, int64_t room, uint64_t seed, int64_t round,
		struct npl_err *err)
{
	sweep_drawer_close(&s->drawer);
	if (sweep_drawer_open(&s->drawer, s->history->space, n + room, seed, round, err))
		return err->code;
	for (int64_t i = 0; i < n; i++)
		sweep_add_known(&s->drawer, level + i * s->n_axes);
	return 0;
}

/* Estimates, and chooses the best. Returns how many are chosen, none where too little is known, or NPL_E... . */
static int64_t choose_promising(struct state *s, int *level, int64_t count, struct npl_err *err)
{
	const int64_t members = s->room > s->history->n ? s->room : s->history->n;
	s->level = calloc((size_t)s->room * (size_t)s->n_axes, sizeof *s->level);
	s->told = calloc((size_t)s->room, sizeof *s->told);
	s->member = calloc((size_t)members, sizeof *s->member);
	int64_t chosen = s->level && s->told && s->member ? 0 : npl_no_memory(err);
	if (!chosen) {
		collect(s);
		const int rc = s->n ? estimate_all(s, err) : 1;
		chosen = rc < 0 ? rc : rc ? 0 : choose_best(s, level, count);
	}
	free(s->level);
	free(s->told);
	free(s->member);
	return chosen;
}

int64_t sweep_narrow(const struct sweep_history *history, int *level, int64_t count, int64_t round, uint64_t seed,
		     struct npl_err *err)
{
	const double grid = sweep_space_points(history->space);
	struct state s = {.history = history, .n_axes = history->space->n_axes};
	int *chosen_level = level + history->n * s.n_axes;
	int64_t chosen = 0;
	s.room = grid < (double)CANDIDATES ? (int64_t)grid : CANDIDATES;
	int rc = know(&s, level, history->n, s.room, seed, 2 * round, err);
	if (!rc && round) {
		chosen = choose_promising(&s, chosen_level, count - count / AT_RANDOM, err);
		rc = chosen < 0 ? (int)chosen : know(&s, level, history->n + chosen, count, seed, 2 * round + 1, err);
	}
	if (!rc)
		chosen += choose_new(&s, chosen_level + chosen * s.n_axes, count - chosen, !round);
	sweep_drawer_close(&s.drawer);
	return rc ? rc : chosen;
}
