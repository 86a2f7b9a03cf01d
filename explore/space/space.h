/* SPDX-License-Identifier: MIT
 *
 * The space of a sweep: its axes, and the points on their grid. An axis moves one parameter, or several together (rows
 * = columns of an array). Each of its values is a level. A point is a level of each axis.
 *
 * An axis may belong to one device only, such as the axis of a parameter that other devices do not have. In points of
 * other devices it has no effect: there its level is 0, so that no machine is listed twice. */
#ifndef NPULAB_EXPLORE_SPACE_SPACE_H
#define NPULAB_EXPLORE_SPACE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npulab/arena.h"
#include "npulab/error.h"

#define SWEEP_AXES      64 /* the most axes of a sweep */
#define SWEEP_AXIS_KEYS 8  /* the most parameters that move together */

/* The axes that are no parameters of a machine have these keys. */
#define SWEEP_MODEL  "model"
#define SWEEP_BATCH  "batch"
#define SWEEP_DEVICE "device"
/* A text that sets nothing: it names a value of an axis on which several parameters move together. */
#define SWEEP_LABEL "label"

struct sweep_axis {
	int n_keys;
	const char *key[SWEEP_AXIS_KEYS]; /* "array.rows", "host.clock_hz", SWEEP_MODEL */
	int device;                       /* the level of the device axis for which it has an effect; -1: for each */
	int n_levels;
	const char *const *value; /* value[level * n_keys + k] is that of key k */
	const char *where;        /* where the user wrote it, for messages: "plan.yaml:12" or "--vary" */
};

struct sweep_space {
	int n_axes;
	struct sweep_axis *axis;
	int device_axis; /* its index; -1: there is one device */
};

/* Returns the value of key k at a level. */
static inline const char *sweep_axis_value(const struct sweep_axis *axis, int level, int k)
{
	return axis->value[(size_t)level * (size_t)axis->n_keys + (size_t)k];
}
/* Says whether the values of the first key are all numbers, so that neighbouring levels are alike. */
bool sweep_axis_is_ordered(const struct sweep_axis *axis);

/* Returns the number of points on the grid; INFINITY where there are more than a double can count. */
double sweep_space_points(const struct sweep_space *space);
/* Says whether an axis has an effect in a point. */
bool sweep_axis_has_effect(const struct sweep_space *space, int axis, const int *level);
/* Puts level 0 in for the axes that have no effect. */
void sweep_space_reduce(const struct sweep_space *space, int *level);
/* Gives the levels of a point of the grid by its number. Points of one device follow each other, and the last axis
 * moves fastest. There are at most 2^63 points. */
void sweep_space_point(const struct sweep_space *space, uint64_t number, int *level);

#endif
