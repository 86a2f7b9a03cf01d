/* SPDX-License-Identifier: MIT
 *
 * A set of whole numbers as intervals first <= i < end, of which no two overlap or touch: rows of a buffer or bytes of
 * a memory that instructions have touched. Each call takes logarithmic time. While the intervals are few they are in
 * the struct itself, and no memory is allocated. A zeroed set is empty. */
#ifndef NPULAB_SIM_COMMON_INTERVALS_H
#define NPULAB_SIM_COMMON_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_FEW_INTERVALS = 8 };

struct sim_interval {
	int64_t first, end;
};

struct sim_intervals {
	int n_few;                                  /* intervals in `few`, as long as there is no tree */
	struct sim_interval few[SIM_FEW_INTERVALS]; /* in the order of their numbers */
	void *tree;                                 /* all intervals, once they have been more; NULL: there is none */
};

bool sim_intervals_add(struct sim_intervals *set, int64_t first, int64_t end); /* returns false when memory is short */
/* Says whether the interval has a number in common with the set. */
bool sim_intervals_meet(const struct sim_intervals *set, int64_t first, int64_t end);
void sim_intervals_clear(struct sim_intervals *set);

#endif
