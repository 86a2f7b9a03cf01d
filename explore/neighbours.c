/* SPDX-License-Identifier: MIT
 *
 * Neighbours of a point (neighbours.h). */
#include "neighbours.h"

#include <string.h>

#include "core/files/words.h"
#include "sweep.h"

/* Says whether two values are the same text or the same number, such as 4e8 and 400000000. */
static bool is_same(const char *a, const char *b)
{
	double x, y;
	return !strcmp(a, b) || (npl_parse_number(a, &x) && npl_parse_number(b, &y) && !(x < y) && !(x > y));
}

/* Finds the level of an axis at which all its keys have the values of the point; -1: none is. */
static int level_of(const struct sweep_axis *axis, const struct sweep_parameter *parameter, int n)
{
	for (int level = 0; level < axis->n_levels; level++) {
		int same = 0;
		for (int k = 0; k < axis->n_keys; k++)
			for (int i = 0; i < n; i++)
				same += !strcmp(parameter[i].key, axis->key[k]) &&
					is_same(parameter[i].value, sweep_axis_value(axis, level, k));
		if (same == axis->n_keys)
			return level;
	}
	return -1;
}

int sweep_levels_of(const struct sweep_plan *plan, const struct sweep_parameter *parameter, int n, int *level,
		    struct npl_err *err)
{
	const struct sweep_space *space = &plan->space;
	/* The device first: it decides which other axes have an effect. */
	for (int pass = 0; pass < 2; pass++)
		for (int a = 0; a < space->n_axes; a++) {
			if ((a == space->device_axis) != (pass == 0))
				continue;
			level[a] = 0;
			if (space->axis[a].n_levels < 2 || !sweep_axis_has_effect(space, a, level))
				continue;
			level[a] = level_of(&space->axis[a], parameter, n);
			if (level[a] < 0)
				return npl_fail(err, NPL_EINPUT, "the point has no value of the plan for %s",
						space->axis[a].key[0]);
		}
	return 0;
}

int sweep_neighbours(const struct sweep_plan *plan, struct sweep_evaluator *evaluator, const int *level,
		     struct sweep_neighbour *neighbour)
{
	const struct sweep_space *space = &plan->space;
	int n = 0;
	for (int a = 0; a < space->n_axes; a++) {
		const struct sweep_axis *axis = &space->axis[a];
		const bool ordered = sweep_axis_is_ordered(axis);
		if (axis->n_levels < 2 || !sweep_axis_has_effect(space, a, level))
			continue;
		for (int other = 0; other < axis->n_levels && n < SWEEP_MAX_NEIGHBOURS; other++) {
			int moved[SWEEP_AXES];
			struct sweep_parameter parameter[SWEEP_AXES * SWEEP_AXIS_KEYS];
			if (other == level[a] || (ordered && other != level[a] - 1 && other != level[a] + 1))
				continue;
			memcpy(moved, level, (size_t)space->n_axes * sizeof *moved);
			moved[a] = other;
			sweep_space_reduce(space, moved);
			const struct sweep_request request = {.n = sweep_parameters_of(plan, moved, parameter),
							      .parameter = parameter};
			neighbour[n].axis = a;
			neighbour[n].level = other;
			sweep_evaluate(evaluator, &request, &neighbour[n].outcome);
			n++;
		}
	}
	return n;
}
