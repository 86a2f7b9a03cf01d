/* SPDX-License-Identifier: MIT
 *
 * The best lines for NFU-3's segments (fit.h).
 *
 * With an unrounded product and any b, the largest error that slope a leaves is half the spread of f(x) - a x over the
 * segment, which is convex in a. Rounding changes no value by more than a half, so slopes whose spread says more than
 * the best error found and a half need not be looked at: those that are left lie side by side around the minimum of the
 * spread. */
#include "fit.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/arith.h"
#include "npulab/layer.h"

#define ONE (1 << NPL_Q16_FRACTION_BITS)
#define TIE 1e-7 /* a difference of errors in units of 1 / 1024; libm's last bits are some 1e-13 of these */

/* The inputs of one segment, first..end - 1, and 1024 f(x) of each. */
struct piece {
	int first, end;
	const double *f;
};

struct line {
	int a, b;
	double largest_error, squares; /* errors, in units of 1 / 1024 */
};

/* Returns the largest error of slope a with an unrounded product and the best real b. */
static double half_spread(const struct piece *piece, int a)
{
	double smallest = INFINITY, largest = -INFINITY;
	for (int x = piece->first; x < piece->end; x++) {
		double remainder = piece->f[x - piece->first] - (double)a * x / ONE;
		smallest = remainder < smallest ? remainder : smallest;
		largest = remainder > largest ? remainder : largest;
	}
	return (largest - smallest) / 2;
}

/* Returns the 16-bit slope with the least half_spread. */
static int middle_slope(const struct piece *piece)
{
	int low = INT16_MIN, high = INT16_MAX;
	while (low < high) {
		int middle = low + (high - low) / 2;
		if (half_spread(piece, middle) <= half_spread(piece, middle + 1))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static double remainder_of(const struct piece *piece, int a, int x)
{
	return piece->f[x - piece->first] - ((a * x + ONE / 2) >> NPL_Q16_FRACTION_BITS);
}

static bool is_better(const struct line *line, const struct line *other)
{
	return line->largest_error < other->largest_error - TIE ||
	       (line->largest_error < other->largest_error + TIE && line->squares < other->squares - TIE);
}

/* Tries slope a with the best b, and keeps it if it is better. */
static void try_slope(const struct piece *piece, int a, struct line *best)
{
	double smallest = INFINITY, largest = -INFINITY;
	for (int x = piece->first; x < piece->end; x++) {
		double remainder = remainder_of(piece, a, x);
		smallest = remainder < smallest ? remainder : smallest;
		largest = remainder > largest ? remainder : largest;
	}
	if ((largest - smallest) / 2 > best->largest_error + TIE)
		return;
	double rounded_down = fmin(fmax(floor((smallest + largest) / 2), INT16_MIN), INT16_MAX - 1);
	for (int step = 0; step < 2; step++) {
		struct line line = {.a = a, .b = (int)rounded_down + step};
		line.largest_error = fmax(fabs(largest - line.b), fabs(smallest - line.b));
		for (int x = piece->first; x < piece->end; x++) {
			double error = remainder_of(piece, a, x) - line.b;
			line.squares += error * error;
		}
		if (is_better(&line, best))
			*best = line;
	}
}

static struct line fit_piece(const struct piece *piece)
{
	struct line best = {.largest_error = INFINITY, .squares = INFINITY};
	const int middle = middle_slope(piece);
	for (int step = -1; step <= 1; step += 2)
		for (int a = step < 0 ? middle : middle + 1; a >= INT16_MIN && a <= INT16_MAX; a += step) {
			if (half_spread(piece, a) > best.largest_error + 0.5 + TIE)
				break;
			try_slope(piece, a, &best);
		}
	return best;
}

static struct line level(double f)
{
	struct line line = {.b = (int)fmin(fmax(rint(f), INT16_MIN), INT16_MAX)};
	line.largest_error = fabs(f - line.b);
	return line;
}

bool dn_fit(const struct dn_curve *curve, struct dn_function *function, double *error)
{
	const int low = curve->low, high = curve->high;
	double *f = calloc((size_t)(high - low) + 1, sizeof *f);
	if (!f)
		return false;
	for (int x = low; x <= high; x++)
		f[x - low] = ONE * curve->f(curve->parameters, (double)x / ONE);
	*error = 0;
	for (int i = 0; i < DN_SEGMENTS; i++) {
		const int first = npl_max_i64(low, i ? dn_limits[i - 1] : INT16_MIN);
		const int end = npl_min_i64(high + 1, i < DN_SEGMENTS - 1 ? dn_limits[i] : INT16_MAX + 1);
		const struct piece piece = {first, end, f + (first - low)};
		struct line line = end > first ? fit_piece(&piece) : level(f[first > high ? high - low : 0]);
		function->a[i] = (int16_t)line.a;
		function->b[i] = (int16_t)line.b;
		*error = fmax(*error, line.largest_error / ONE);
	}
	free(f);
	return true;
}
