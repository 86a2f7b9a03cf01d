/* SPDX-License-Identifier: MIT
 *
 * The points of the methods (method.h). */
#include "method.h"

#include "core/base/arith.h"
#include "permutation.h"
#include "sobol.h"

_Static_assert(SWEEP_SOBOL_AXES == SWEEP_SOBOL_DIMENSIONS, "the sequence has a dimension for each axis");

/* Grids up to here are permuted as a whole. Larger ones have so many points that drawing each by itself repeats
 * none. */
#define PERMUTED 0x1p62

static int moving_axes(const struct sweep_space *space)
{
	int n = 0;
	for (int a = 0; a < space->n_axes; a++)
		n += space->axis[a].n_levels > 1;
	return n;
}

int sweep_method_points(const struct sweep_plan *plan, int64_t *points, struct npl_err *err)
{
	const double grid = sweep_space_points(&plan->space);
	if (plan->method == SWEEP_GRID && grid > (double)SWEEP_MOST_POINTS)
		return npl_fail(err, NPL_EUSAGE,
				"the grid has %.3g points, expected at most %.0e: give fewer values, or let another "
				"method choose points (method: sobol, points: 1000)",
				grid, (double)SWEEP_MOST_POINTS);
	if (plan->points > SWEEP_MOST_POINTS)
		return npl_fail(err, NPL_EUSAGE, "%lld points, expected at most %.0e", (long long)plan->points,
				(double)SWEEP_MOST_POINTS);
	if (plan->method == SWEEP_SOBOL && moving_axes(&plan->space) > SWEEP_SOBOL_AXES)
		return npl_fail(err, NPL_EUSAGE, "method sobol: %d axes, expected at most %d, or another method",
				moving_axes(&plan->space), SWEEP_SOBOL_AXES);
	const bool is_whole = plan->method == SWEEP_GRID ||
			      ((plan->method == SWEEP_RANDOM || plan->method == SWEEP_EVOLUTION ||
				plan->method == SWEEP_NARROWING) &&
			       (double)plan->points > grid);
	if (plan->method == SWEEP_ASKED) {
		*points = 0; /* whoever asks knows */
		return 0;
	}
	*points = is_whole ? (int64_t)grid : plan->points;
	return 0;
}

/* Returns the level at a share of an axis, given in 2^-64. */
static int level_at(uint64_t share, int n_levels)
{
	return (int)((npl_u128)share * (unsigned)n_levels >> 64);
}

static uint64_t share_of(const struct sweep_plan *plan, int64_t points, int64_t id, int dimension)
{
	const uint64_t seed = sweep_mix(plan->seed, (uint64_t)dimension);
	if (plan->method == SWEEP_SOBOL)
		return ((uint64_t)sweep_sobol(dimension, (uint32_t)id) << 32) ^ seed;
	if (plan->method == SWEEP_RANDOM)
		return sweep_mix(seed, (uint64_t)id);
	/* Stratum `permuted` of so many, and a random place within it. */
	const uint64_t permuted = sweep_permute((uint64_t)id, (uint64_t)points, seed);
	const uint64_t place = sweep_mix(seed + 1, (uint64_t)id);
	return (uint64_t)((((npl_u128)permuted << 64) + place) / (uint64_t)points);
}

void sweep_method_point(const struct sweep_plan *plan, int64_t points, int64_t id, int *level)
{
	const struct sweep_space *space = &plan->space;
	const double grid = sweep_space_points(space);
	if (plan->method == SWEEP_GRID)
		sweep_space_point(space, (uint64_t)id, level);
	else if (plan->method == SWEEP_RANDOM && grid <= PERMUTED)
		sweep_space_point(space, sweep_permute((uint64_t)id, (uint64_t)grid, plan->seed), level);
	else {
		for (int a = 0, dimension = 0; a < space->n_axes; a++) {
			const int n_levels = space->axis[a].n_levels;
			level[a] = n_levels > 1 ? level_at(share_of(plan, points, id, dimension++), n_levels) : 0;
		}
		sweep_space_reduce(space, level);
	}
}
