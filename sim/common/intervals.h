/* SPDX-License-Identifier: MIT
 *
 * A set of whole numbers as intervals first <= i < end, of which no two overlap or touch: rows of a buffer or bytes of
 * a memory that instructions have touched. Each call takes logarithmic time. A zeroed set is empty. */
#ifndef NPULAB_SIM_COMMON_INTERVALS_H
#define NPULAB_SIM_COMMON_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_intervals {
	void *tree;
};

bool sim_intervals_add(struct sim_intervals *set, int64_t first, int64_t end); /* returns false when memory is short */
/* Says whether the interval has a number in common with the set. */
bool sim_intervals_meet(const struct sim_intervals *set, int64_t first, int64_t end);
void sim_intervals_clear(struct sim_intervals *set);

#endif
