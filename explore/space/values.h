/* SPDX-License-Identifier: MIT
 *
 * The values that an axis of a sweep takes, as a user writes them: a list of texts and ranges.
 *
 *     64, 128, 256      these three
 *     1..16             whole numbers, one after the other
 *     100..200+25       100, 125, 150, 175, 200
 *     64..512*2         64, 128, 256, 512
 *     4..32*2 MiB       each with the unit behind it
 *     fixed, hbm2       texts
 *
 * A list is divided by commas or by line breaks. */
#ifndef NPULAB_EXPLORE_SPACE_VALUES_H
#define NPULAB_EXPLORE_SPACE_VALUES_H

#include <stdint.h>

#include "npulab/arena.h"
#include "npulab/error.h"

#define SWEEP_MAX_LEVELS (1 << 20) /* the most values of an axis */

struct sweep_values {
	int n;
	const char **text; /* n of them, in the arena */
};

/* Reads a list from a text. Returns NPL_EUSAGE, without a place, when it is empty, when it has a value twice, or for a
 * range that is none. */
int sweep_values_read(const char *text, struct npl_arena *arena, struct sweep_values *values, struct npl_err *err);

#endif
