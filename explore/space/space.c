/* SPDX-License-Identifier: MIT
 *
 * The points of a grid (space.h). */
#include "space.h"

#include "core/files/words.h"

bool sweep_axis_is_ordered(const struct sweep_axis *axis)
{
	double ignored;
	for (int i = 0; i < axis->n_levels; i++)
		if (!npl_parse_number(sweep_axis_value(axis, i, 0), &ignored))
			return false;
	return true;
}

bool sweep_axis_has_effect(const struct sweep_space *space, int axis, const int *level)
{
	const int device = space->axis[axis].device;
	return device < 0 || level[space->device_axis] == device;
}

void sweep_space_reduce(const struct sweep_space *space, int *level)
{
	for (int a = 0; a < space->n_axes; a++)
		if (!sweep_axis_has_effect(space, a, level))
			level[a] = 0;
}

/* Returns the number of points of one device. */
static double points_of_device(const struct sweep_space *space, int device)
{
	double points = 1;
	for (int a = 0; a < space->n_axes; a++)
		if (a != space->device_axis && (space->axis[a].device < 0 || space->axis[a].device == device))
			points *= space->axis[a].n_levels;
	return points;
}

static int devices_of(const struct sweep_space *space)
{
	return space->device_axis < 0 ? 1 : space->axis[space->device_axis].n_levels;
}

double sweep_space_points(const struct sweep_space *space)
{
	double points = 0;
	for (int d = 0; d < devices_of(space); d++)
		points += points_of_device(space, d);
	return points;
}

void sweep_space_point(const struct sweep_space *space, uint64_t number, int *level)
{
	int device = 0;
	for (uint64_t points; device < devices_of(space) - 1; device++, number -= points)
		if (number < (points = (uint64_t)points_of_device(space, device)))
			break;
	for (int a = space->n_axes - 1; a >= 0; a--) {
		const struct sweep_axis *axis = &space->axis[a];
		const bool moves = a != space->device_axis && (axis->device < 0 || axis->device == device);
		level[a] = a == space->device_axis ? device : moves ? (int)(number % (uint64_t)axis->n_levels) : 0;
		if (moves)
			number /= (uint64_t)axis->n_levels;
	}
}
