/* SPDX-License-Identifier: MIT
 *
 * Sets of intervals (intervals.h) as binary trees. */
#include "intervals.h"

#include <search.h>
#include <stdlib.h>

struct interval {
	int64_t first, end;
};

/* These order intervals that do not touch. For compare_common intervals with a number in common are equal, for
 * compare_touching intervals that a single one could replace. */
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
	struct interval *interval = malloc(sizeof *interval), **link;
	if (!interval)
		return false;
	*interval = (struct interval){first, end};
	while ((link = tfind(interval, &set->tree, compare_touching))) {
		struct interval *touching = *link;
		interval->first = touching->first < interval->first ? touching->first : interval->first;
		interval->end = touching->end > interval->end ? touching->end : interval->end;
		tdelete(touching, &set->tree, compare_touching);
		free(touching);
	}
	if (tsearch(interval, &set->tree, compare_touching))
		return true;
	free(interval);
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
