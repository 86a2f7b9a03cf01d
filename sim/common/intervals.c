/* SPDX-License-Identifier: MIT
 *
 * Sets of intervals (intervals.h) as binary trees. */
#include "intervals.h"

#include <search.h>
#include <stdlib.h>

struct interval {
	int64_t first, end;
};

/* Two orders on intervals that do not touch. In the first, intervals with a number in common are equal; in the second,
 * intervals that a single one could replace. */
static int compare_common(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	return x->end <= y->first ? -1 : x->first >= y->end;
}

static int compare_touching(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	return x->end < y->first ? -1 : x->first > y->end;
}

bool sim_intervals_add(struct sim_intervals *set, int64_t first, int64_t end)
{
	struct interval *new = malloc(sizeof *new), **found;
	if (!new)
		return false;
	*new = (struct interval){first, end};
	while ((found = tfind(new, &set->tree, compare_touching))) {
		struct interval *old = *found;
		new->first = old->first < new->first ? old->first : new->first;
		new->end = old->end > new->end ? old->end : new->end;
		tdelete(old, &set->tree, compare_touching);
		free(old);
	}
	if (tsearch(new, &set->tree, compare_touching))
		return true;
	free(new);
	return false;
}

bool sim_intervals_meet(const struct sim_intervals *set, int64_t first, int64_t end)
{
	return tfind(&(struct interval){first, end}, &set->tree, compare_common);
}

void sim_intervals_clear(struct sim_intervals *set)
{
	tdestroy(set->tree, free);
	set->tree = NULL;
}
