/* SPDX-License-Identifier: MIT
 *
 * Sets of intervals (intervals.h): a short array, or a binary tree. */
#include "intervals.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* These order intervals that do not touch. For compare_common intervals with a number in common are equal, for
 * compare_touching intervals that a single one could replace. */
static int compare_common(const void *a, const void *b)
{
	const struct sim_interval *x = a, *y = b;
	return x->end <= y->first ? -1 : x->first >= y->end;
}

static int compare_touching(const void *a, const void *b)
{
	const struct sim_interval *x = a, *y = b;
	return x->end < y->first ? -1 : x->first > y->end;
}

static void extend(struct sim_interval *interval, const struct sim_interval *other)
{
	interval->first = other->first < interval->first ? other->first : interval->first;
	interval->end = other->end > interval->end ? other->end : interval->end;
}

static bool add_to_tree(struct sim_intervals *set, struct sim_interval added)
{
	struct sim_interval *interval = malloc(sizeof *interval), **link;
	if (!interval)
		return false;
	*interval = added;
	while ((link = tfind(interval, &set->tree, compare_touching))) {
		struct sim_interval *touching = *link;
		extend(interval, touching);
		tdelete(touching, &set->tree, compare_touching);
		free(touching);
	}
	if (tsearch(interval, &set->tree, compare_touching))
		return true;
	free(interval);
	return false;
}

/* Adds the interval to the few ones. Returns false where there is no room. */
static bool add_to_few(struct sim_intervals *set, struct sim_interval added)
{
	int low = 0, high; /* the intervals low to high - 1 touch the new one */
	while (low < set->n_few && set->few[low].end < added.first)
		low++;
	for (high = low; high < set->n_few && set->few[high].first <= added.end; high++)
		extend(&added, &set->few[high]);
	if (low == high && set->n_few == SIM_FEW_INTERVALS)
		return false;
	if (high - low != 1)
		memmove(&set->few[low + 1], &set->few[high], (size_t)(set->n_few - high) * sizeof *set->few);
	set->few[low] = added;
	set->n_few += 1 - (high - low);
	return true;
}

bool sim_intervals_add(struct sim_intervals *set, int64_t first, int64_t end)
{
	const struct sim_interval added = {first, end};
	if (!set->tree && add_to_few(set, added))
		return true;
	for (; set->n_few; set->n_few--)
		if (!add_to_tree(set, set->few[set->n_few - 1]))
			return false;
	return add_to_tree(set, added);
}

bool sim_intervals_meet(const struct sim_intervals *set, int64_t first, int64_t end)
{
	if (set->tree)
		return tfind(&(struct sim_interval){first, end}, &set->tree, compare_common);
	for (int i = 0; i < set->n_few; i++)
		if (set->few[i].end > first && set->few[i].first < end)
			return true;
	return false;
}

void sim_intervals_clear(struct sim_intervals *set)
{
	set->n_few = 0;
	if (set->tree)
		tdestroy(set->tree, free);
	set->tree = NULL;
}
