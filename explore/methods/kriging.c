/* SPDX-License-Identifier: MIT
 *
 * Kriging (kriging.h). Plain loops in double, without contraction, so that every processor chooses the same points. */
#include "kriging.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/files/words.h"

/* Points on which the likelihood of weights and ranges is computed: 400 times with eight axes, of 0.4 ms each. */
#define LIKELY_POINTS 128
#define ROUNDS        2 /* over all axes, in which each is given its likeliest weight and range */

/* Candidates of the axes. A range is a share of the distance of the axis' ends. */
static const double axis_weights[] = {0.01, 0.1, 1, 10, 100}, axis_ranges[] = {0.1, 0.3, 1, 3};
/* Candidates of the share of the variance that is not a function of the axes: figures that jump from value to value. */
static const double nuggets[] = {1e-8, 1e-5, 1e-3, 1e-2};
/* Numbers that are kept of rows of covariances. */
#define KEPT        (INT64_C(1) << 22)
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

struct axis {
	int axis; /* its index in the space */
	int n_levels;
	bool is_ordered;
	double weight, range;
	double *position; /* per level, from 0 to 1; of an axis that is ordered */
	/* Levels that known points have. An axis may have many more. */
	int n_met;
	int *met;
	double *covariance; /* of each pair of these: n_met x n_met */
	/* Per level its covariances with those that are met; NULL: not computed yet. */
	double **row;
};

enum scale { LINEAR, LOGARITHM, MINUS_LOGARITHM };

struct sweep_kriging {
	const struct sweep_space *space;
	struct npl_arena arena;
	int n_axes; /* that have several levels */
	struct axis *axis;
	double nugget;
	enum scale scale;
	int n;
	int *level;     /* of point i and axis a of these, as a place in `met`: level[i * n_axes + a] */
	double *value;  /* scaled */
	double *factor; /* Cholesky's factor of the covariances, n x n, the lower half */
	double mean;
	double *weight; /* of each point in an estimate */
	/* partial[a * n + i] is the covariance with point i over the axes before a, of the point asked for last. */
	double *partial;
	int *last;       /* its levels; -1: none was asked for */
	int64_t n_kept;  /* numbers in rows that are kept */
	double *scratch; /* a row that is not */
};

/* ---- Linear algebra: a matrix of n x n is a row after the other. */

/* Replaces the lower half of a symmetric matrix by its Cholesky factor. Returns false where it is not positive
 * definite. */
static bool factorise(double *a, int n)
{
	for (int i = 0; i < n; i++) {
		double *row = a + (size_t)i * (size_t)n;
		for (int k = 0; k <= i; k++) {
			const double *other = a + (size_t)k * (size_t)n;
			/* Four sums, which a compiler may compute side by side without changing their order. */
			double sum[4] = {0};
			int j = 0;
			for (; j + 4 <= k; j += 4)
				for (int s = 0; s < 4; s++)
					sum[s] += row[j + s] * other[j + s];
			for (; j < k; j++)
				sum[0] += row[j] * other[j];
			const double rest = row[k] - ((sum[0] + sum[1]) + (sum[2] + sum[3]));
			if (k < i)
				row[k] = rest / other[k];
			else if (!(rest > 0))
				return false;
			else
				row[k] = sqrt(rest);
		}
	}
	return true;
}

/* Solves L x = b in place. */
static void solve_lower(const double *l, int n, double *b)
{
	for (int i = 0; i < n; i++) {
		const double *row = l + (size_t)i * (size_t)n;
		for (int k = 0; k < i; k++)
			b[i] -= row[k] * b[k];
		b[i] /= row[i];
	}
}

/* Solves L' x = b in place. */
static void solve_upper(const double *l, int n, double *b)
{
	for (int i = n - 1; i >= 0; i--) {
		const double *row = l + (size_t)i * (size_t)n;
		b[i] /= row[i];
		for (int k = 0; k < i; k++)
			b[k] -= row[k] * b[i];
	}
}

static double dot(const double *a, const double *b, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* ---- Covariances. */

/* Returns the covariance of two levels: 1 where they are equal. */
static double covariance_of(const struct axis *axis, int a, int b)
{
	const double distance = axis->is_ordered ? fabs(axis->position[a] - axis->position[b]) : a != b;
	const double r = sqrt(3) * distance / axis->range; /* Matern's correlation of order 3/2 */
	return (1 + axis->weight * (1 + r) * exp(-r)) / (1 + axis->weight);
}

/* Gives an axis a weight and a range, and fills its covariances. */
static void set_axis(struct axis *axis, double weight, double range)
{
	axis->weight = weight;
	axis->range = range;
	for (int i = 0; i < axis->n_met; i++)
		for (int k = 0; k <= i; k++)
			axis->covariance[i * axis->n_met + k] = axis->covariance[k * axis->n_met + i] = covariance_of(
				axis, axis->met[i], axis->met[k]);
}

/* Returns the covariances of a level with those that are met: kept ones, or computed anew where memory is short. */
static const double *row_of(struct sweep_kriging *s, struct axis *axis, int level)
{
	double *row = axis->row[level];
	if (!row) {
		row = s->n_kept < KEPT ? npl_arena_array(&s->arena, (size_t)axis->n_met, sizeof *row) : NULL;
		axis->row[level] = row;
		s->n_kept += row ? axis->n_met : 0;
		row = row ? row : s->scratch;
		for (int k = 0; k < axis->n_met; k++)
			row[k] = covariance_of(axis, level, axis->met[k]);
	}
	return row;
}

/* Fills the lower half of the covariances of every `step`-th point, n of them. */
static void fill(const struct sweep_kriging *s, int n, double step, double *matrix)
{
	for (int i = 0; i < n; i++) {
		const int *x = s->level + (int)(i * step) * s->n_axes;
		for (int k = 0; k <= i; k++) {
			const int *y = s->level + (int)(k * step) * s->n_axes;
			double product = i == k ? 1 + s->nugget : 1;
			for (int a = 0; a < s->n_axes; a++)
				product *= s->axis[a].covariance[x[a] * s->axis[a].n_met + y[a]];
			matrix[(size_t)i * (size_t)n + (size_t)k] = product;
		}
	}
}

/* Room for the computation of a likelihood. */
struct room {
	int n;
	double step;
	double *matrix, *ones, *values;
};

/* Returns the logarithm of the likelihood, without its constant. Mean and variance are the likeliest (Sacks et al.,
 * section 4.2). */
static double likelihood(const struct sweep_kriging *s, struct room *room)
{
	const int n = room->n;
	double determinant = 0;
	fill(s, n, room->step, room->matrix);
	if (!factorise(room->matrix, n))
		return -INFINITY;
	for (int i = 0; i < n; i++) {
		room->ones[i] = 1;
		room->values[i] = s->value[(int)(i * room->step)];
		determinant += 2 * log(room->matrix[(size_t)i * (size_t)n + (size_t)i]);
	}
	solve_lower(room->matrix, n, room->ones);
	solve_lower(room->matrix, n, room->values);
	const double mean = dot(room->ones, room->values, n) / dot(room->ones, room->ones, n);
	double squares = 0;
	for (int i = 0; i < n; i++) {
		const double rest = room->values[i] - mean * room->ones[i];
		squares += rest * rest;
	}
	return -n * log(squares / n + 1e-300) - determinant;
}

/* Gives each axis its likeliest weight and range, one axis after the other, and then the nugget. */
static void fit(struct sweep_kriging *s, struct room *room)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (int a = 0; a < s->n_axes; a++) {
			const int n_ranges = s->axis[a].is_ordered ? COUNT(axis_ranges) : 1;
			double best = -INFINITY, weight = 1, range = 1;
			for (int w = 0; w < COUNT(axis_weights); w++)
				for (int r = 0; r < n_ranges; r++) {
					const double tried = n_ranges > 1 ? axis_ranges[r] : 0.3;
					set_axis(&s->axis[a], axis_weights[w], tried);
					const double likely = likelihood(s, room);
					if (likely > best) {
						best = likely;
						weight = axis_weights[w];
						range = tried;
					}
				}
			set_axis(&s->axis[a], weight, range);
		}
		double best = -INFINITY, nugget = nuggets[0];
		for (int i = 0; i < COUNT(nuggets); i++) {
			s->nugget = nuggets[i];
			const double likely = likelihood(s, room);
			if (likely > best) {
				best = likely;
				nugget = nuggets[i];
			}
		}
		s->nugget = nugget;
	}
}

static int choose_covariances(struct sweep_kriging *s, struct npl_err *err)
{
	struct room room = {.n = s->n < LIKELY_POINTS ? s->n : LIKELY_POINTS};
	const size_t n = (size_t)room.n;
	room.step = (double)s->n / room.n;
	room.matrix = malloc(n * n * sizeof *room.matrix);
	room.ones = malloc(2 * n * sizeof *room.ones);
	room.values = room.ones + n;
	const int rc = room.matrix && room.ones ? 0 : npl_no_memory(err);
	if (!rc)
		fit(s, &room);
	free(room.matrix);
	free(room.ones);
	return rc;
}

/* Finds the mean, and the weight of each point. */
static int solve(struct sweep_kriging *s, struct npl_err *err)
{
	const size_t n = (size_t)s->n;
	double *ones = malloc(n * sizeof *ones);
	int rc = ones ? 0 : npl_no_memory(err);
	if (!rc) {
		fill(s, s->n, 1, s->factor);
		/* Points that differ in nothing that counts need a nugget that keeps them apart. */
		for (; !factorise(s->factor, s->n); s->nugget *= 10)
			fill(s, s->n, 1, s->factor);
		memcpy(s->weight, s->value, n * sizeof *s->value);
		for (size_t i = 0; i < n; i++)
			ones[i] = 1;
		solve_lower(s->factor, s->n, s->weight);
		solve_lower(s->factor, s->n, ones);
		s->mean = dot(ones, s->weight, s->n) / dot(ones, ones, s->n);
		for (size_t i = 0; i < n; i++)
			s->weight[i] -= s->mean * ones[i];
		solve_upper(s->factor, s->n, s->weight);
	}
	free(ones);
	return rc;
}

/* ---- Points and figures. */

/* Places the levels of an ordered axis between 0 and 1. */
static void place(const struct sweep_axis *from, struct axis *axis)
{
	double low = INFINITY, high = -INFINITY;
	for (int i = 0; i < axis->n_levels; i++) {
		npl_parse_number(sweep_axis_value(from, i, 0), &axis->position[i]);
		low = fmin(low, axis->position[i]);
		high = fmax(high, axis->position[i]);
	}
	for (int i = 0; i < axis->n_levels && high > low; i++) {
		double *p = &axis->position[i];
		*p = low > 0 ? log(*p / low) / log(high / low) : (*p - low) / (high - low);
	}
}

static int take_axes(struct sweep_kriging *s, struct npl_err *err)
{
	const struct sweep_space *space = s->space;
	s->axis = npl_arena_array(&s->arena, (size_t)space->n_axes + 1, sizeof *s->axis);
	if (!s->axis)
		return npl_no_memory(err);
	for (int a = 0; a < space->n_axes; a++) {
		const size_t n = (size_t)space->axis[a].n_levels;
		struct axis *axis = &s->axis[s->n_axes];
		if (n < 2)
			continue;
		*axis = (struct axis){
			.axis = a, .n_levels = (int)n, .is_ordered = sweep_axis_is_ordered(&space->axis[a])};
		axis->position = npl_arena_array(&s->arena, n, sizeof *axis->position);
		axis->row = npl_arena_array(&s->arena, n, sizeof *axis->row);
		axis->met = npl_arena_array(&s->arena, (size_t)s->n, sizeof *axis->met);
		if (!axis->position || !axis->row || !axis->met)
			return npl_no_memory(err);
		if (axis->is_ordered)
			place(&space->axis[a], axis);
		s->n_axes++;
	}
	return 0;
}

static enum scale scale_of(const double *value, int64_t n)
{
	bool positive = true, negative = true;
	for (int64_t i = 0; i < n; i++) {
		positive = positive && value[i] > 0;
		negative = negative && value[i] < 0;
	}
	return positive ? LOGARITHM : negative ? MINUS_LOGARITHM : LINEAR;
}

/* Returns the place of a level among those that are met, to which it is added. */
static int meet(struct axis *axis, int level)
{
	for (int i = 0; i < axis->n_met; i++)
		if (axis->met[i] == level)
			return i;
	axis->met[axis->n_met] = level;
	return axis->n_met++;
}

static int take_points(struct sweep_kriging *s, int64_t n, const int *level, const double *value, struct npl_err *err)
{
	const size_t points = (size_t)s->n, axes = (size_t)s->n_axes;
	s->scale = scale_of(value, n);
	s->level = npl_arena_array(&s->arena, points * axes + 1, sizeof *s->level);
	s->value = npl_arena_array(&s->arena, points, sizeof *s->value);
	s->weight = npl_arena_array(&s->arena, points, sizeof *s->weight);
	s->factor = npl_arena_array(&s->arena, points * points, sizeof *s->factor);
	s->partial = npl_arena_array(&s->arena, points * (axes + 1), sizeof *s->partial);
	s->last = npl_arena_array(&s->arena, axes + 1, sizeof *s->last);
	s->scratch = npl_arena_array(&s->arena, points, sizeof *s->scratch);
	if (!s->scratch || !s->level || !s->value || !s->weight || !s->factor || !s->partial || !s->last)
		return npl_no_memory(err);
	for (int i = 0; i < s->n; i++) {
		const int64_t from = (int64_t)((double)i * (double)n / s->n);
		const double v = value[from];
		s->value[i] = s->scale == LOGARITHM ? log(v) : s->scale == MINUS_LOGARITHM ? -log(-v) : v;
		for (int a = 0; a < s->n_axes; a++)
			s->level[i * s->n_axes + a] = meet(&s->axis[a],
							   level[from * s->space->n_axes + s->axis[a].axis]);
		s->partial[i] = 1;
	}
	for (int a = 0; a < s->n_axes; a++) {
		struct axis *axis = &s->axis[a];
		const size_t met = (size_t)axis->n_met;
		axis->covariance = npl_arena_array(&s->arena, met * met, sizeof *axis->covariance);
		if (!axis->covariance)
			return npl_no_memory(err);
		set_axis(axis, 1, 1);
	}
	for (int a = 0; a <= s->n_axes; a++)
		s->last[a] = -1;
	return 0;
}

int sweep_kriging_open(const struct sweep_space *space, int64_t n, const int *level, const double *value,
		       struct sweep_kriging **surface, struct npl_err *err)
{
	*surface = NULL;
	if (n < SWEEP_KRIGING_LEAST)
		return npl_fail(err, NPL_EUSAGE, "%lld points, expected at least %d to estimate others from",
				(long long)n, SWEEP_KRIGING_LEAST);
	struct sweep_kriging *s = *surface = calloc(1, sizeof *s);
	if (!s)
		return npl_no_memory(err);
	s->space = space;
	s->n = n < SWEEP_KRIGING_POINTS ? (int)n : SWEEP_KRIGING_POINTS;
	s->nugget = nuggets[0];
	if (take_axes(s, err) || take_points(s, n, level, value, err) || choose_covariances(s, err) || solve(s, err)) {
		sweep_kriging_close(s);
		*surface = NULL;
		return err->code;
	}
	return 0;
}

void sweep_kriging_close(struct sweep_kriging *s)
{
	if (!s)
		return;
	npl_arena_free(&s->arena);
	free(s);
}

static double unscaled(const struct sweep_kriging *s, double value)
{
	return s->scale == LOGARITHM ? exp(value) : s->scale == MINUS_LOGARITHM ? -exp(-value) : value;
}

double sweep_kriging_at(struct sweep_kriging *s, const int *level)
{
	int same = 0;
	while (same < s->n_axes && s->last[same] == level[s->axis[same].axis])
		same++;
	for (int a = same; a < s->n_axes; a++) {
		struct axis *axis = &s->axis[a];
		const double *covariance = row_of(s, axis, level[axis->axis]);
		const double *before = s->partial + (size_t)a * (size_t)s->n;
		double *after = s->partial + ((size_t)a + 1) * (size_t)s->n;
		for (int i = 0; i < s->n; i++)
			after[i] = before[i] * covariance[s->level[i * s->n_axes + a]];
		s->last[a] = level[axis->axis];
	}
	return unscaled(s, s->mean + dot(s->weight, s->partial + (size_t)s->n_axes * (size_t)s->n, s->n));
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Fills how far each known point is off when it is estimated from the others, relative to its figure. This follows from
 * the inverse of the covariances (Dubrule, "Cross Validation of Kriging in a Unique Neighborhood", Mathematical Geology
 * 15(6), 1983). `ones` and `column` are room for n numbers each. */
static void fill_errors(const struct sweep_kriging *s, double *ones, double *column, double *off)
{
	const size_t n = (size_t)s->n;
	double sum = 0, typical = 0;
	for (size_t i = 0; i < n; i++)
		ones[i] = 1;
	solve_lower(s->factor, s->n, ones);
	solve_upper(s->factor, s->n, ones);
	for (size_t i = 0; i < n; i++) {
		sum += ones[i];
		typical += fabs(unscaled(s, s->value[i])) / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		memset(column, 0, n * sizeof *column);
		column[i] = 1;
		solve_lower(s->factor, s->n, column);
		const double diagonal = dot(column, column, s->n) - ones[i] * ones[i] / sum;
		const double without = unscaled(s, s->value[i] - s->weight[i] / diagonal);
		const double known = unscaled(s, s->value[i]);
		/* Where the figure is 0, relative to its mean. */
		off[i] = fabs(without - known) / (fabs(known) > 0 ? fabs(known) : typical + 1e-300);
	}
}

/* Says whether a known point has a level on an axis of the space. */
static bool has_level(const struct sweep_kriging *s, int point, int axis, int level)
{
	for (int a = 0; a < s->n_axes; a++)
		if (s->axis[a].axis == axis)
			return s->axis[a].met[s->level[point * s->n_axes + a]] == level;
	return true; /* the axis has one level */
}

int sweep_kriging_error(const struct sweep_kriging *s, int axis, int n_levels, struct sweep_kriging_error *error,
			struct npl_err *err)
{
	const size_t n = (size_t)s->n;
	double *room = malloc(4 * n * sizeof *room);
	if (!room)
		return npl_no_memory(err);
	double *off = room + 2 * n, *chosen = room + 3 * n;
	fill_errors(s, room, room + n, off);
	for (int level = 0; level < n_levels; level++) {
		int64_t m = 0;
		for (int i = 0; i < s->n; i++)
			if (has_level(s, i, axis, level))
				chosen[m++] = off[i];
		qsort(chosen, (size_t)m, sizeof *chosen, by_size);
		error[level] = m ? (struct sweep_kriging_error){m, chosen[m / 2], chosen[m * 9 / 10], chosen[m - 1]}
				 : (struct sweep_kriging_error){0, NAN, NAN, NAN};
	}
	free(room);
	return 0;
}
