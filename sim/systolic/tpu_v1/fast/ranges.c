/* SPDX-License-Identifier: MIT
 *
 * Finds the last instruction that touched accumulator rows (fast.h). Later instructions have greater numbers, so the
 * latest assignment that has a row in common with a range has the range's greatest value. It is mostly one of the last
 * few. Older assignments go into the tree. There, an assignment never lowers a row's value, and nothing has to be
 * pushed down: a row's value is the greatest `assigned` on the way from the root to it. Both operations take
 * O(log rows). */
#include <stdlib.h>
#include <string.h>

#include "fast.h"

int tpu_fast_ranges_open(struct tpu_fast_ranges *ranges, int64_t rows, struct npl_err *err)
{
	ranges->leaves = 1;
	while (ranges->leaves < rows)
		ranges->leaves *= 2;
	int64_t nodes = 2 * ranges->leaves;
	ranges->maximum = malloc((size_t)nodes * sizeof *ranges->maximum);
	ranges->assigned = malloc((size_t)nodes * sizeof *ranges->assigned);
	if (!ranges->maximum || !ranges->assigned)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld accumulator rows", (long long)rows);
	ranges->n_recent = 0;
	ranges->asked = (struct tpu_fast_range){0};
	ranges->has_tree = false;
	return 0;
}

void tpu_fast_ranges_close(struct tpu_fast_ranges *ranges)
{
	free(ranges->maximum);
	free(ranges->assigned);
}

/* Walks up both edges of the range: nodes inside it are reached as siblings of the edges. */
static void assign_in_tree(struct tpu_fast_ranges *ranges, const struct tpu_fast_range *range)
{
	const int64_t value = range->value;
	int64_t low = range->first + ranges->leaves, high = range->end + ranges->leaves;
	for (int64_t l = low, h = high; l < h; l /= 2, h /= 2) {
		if (l & 1) {
			ranges->maximum[l] = ranges->assigned[l] = value;
			l++;
		}
		if (h & 1) {
			h--;
			ranges->maximum[h] = ranges->assigned[h] = value;
		}
	}
	for (int64_t node = low / 2; node; node /= 2)
		ranges->maximum[node] = value;
	for (int64_t node = (high - 1) / 2; node; node /= 2)
		ranges->maximum[node] = value;
}

/* Says whether a later assignment has changed all rows of number i of the list. */
static bool is_hidden(const struct tpu_fast_ranges *ranges, int i)
{
	const struct tpu_fast_range *range = &ranges->recent[i];
	for (int k = i + 1; k < ranges->n_recent; k++)
		if (ranges->recent[k].first <= range->first && ranges->recent[k].end >= range->end)
			return true;
	return false;
}

/* Takes the assignments out of the list that no row shows any more. */
static void drop_hidden(struct tpu_fast_ranges *ranges)
{
	int kept = 0;
	for (int i = 0; i < ranges->n_recent; i++)
		if (!is_hidden(ranges, i))
			ranges->recent[kept++] = ranges->recent[i];
	ranges->n_recent = kept;
}

/* Moves the older half of the list into the tree. */
static void move_to_tree(struct tpu_fast_ranges *ranges)
{
	const int n = ranges->n_recent / 2;
	const size_t nodes = 2 * (size_t)ranges->leaves;
	if (!ranges->has_tree) {
		memset(ranges->maximum, -1, nodes * sizeof *ranges->maximum);
		memset(ranges->assigned, -1, nodes * sizeof *ranges->assigned);
	}
	ranges->has_tree = true;
	for (int i = 0; i < n; i++)
		assign_in_tree(ranges, &ranges->recent[i]);
	ranges->n_recent -= n;
	memmove(ranges->recent, ranges->recent + n, (size_t)ranges->n_recent * sizeof *ranges->recent);
}

void tpu_fast_ranges_assign(struct tpu_fast_ranges *ranges, int64_t first, int64_t count, int64_t value)
{
	const struct tpu_fast_range range = {first, first + count, value}, *last;
	while (ranges->n_recent && (last = &ranges->recent[ranges->n_recent - 1])->first >= range.first &&
	       last->end <= range.end)
		ranges->n_recent--;
	ranges->asked = (struct tpu_fast_range){0};
	if (ranges->n_recent == TPU_FAST_RECENT) {
		drop_hidden(ranges);
		if (ranges->n_recent > TPU_FAST_RECENT / 2)
			move_to_tree(ranges);
	}
	ranges->recent[ranges->n_recent++] = range;
}

static int64_t most_in_tree(const struct tpu_fast_ranges *ranges, int64_t first, int64_t count)
{
	int64_t low = first + ranges->leaves, high = low + count, maximum = -1;
	for (int64_t l = low, h = high; l < h; l /= 2, h /= 2) {
		if (l & 1) {
			maximum = maximum > ranges->maximum[l] ? maximum : ranges->maximum[l];
			l++;
		}
		if (h & 1) {
			h--;
			maximum = maximum > ranges->maximum[h] ? maximum : ranges->maximum[h];
		}
	}
	for (int64_t node = low / 2; node; node /= 2)
		maximum = maximum > ranges->assigned[node] ? maximum : ranges->assigned[node];
	for (int64_t node = (high - 1) / 2; node; node /= 2)
		maximum = maximum > ranges->assigned[node] ? maximum : ranges->assigned[node];
	return maximum;
}

int64_t tpu_fast_ranges_most(struct tpu_fast_ranges *ranges, int64_t first, int64_t count)
{
	if (ranges->asked.first == first && ranges->asked.end == first + count) /* the next tile of K */
		return ranges->asked.value;
	int i = ranges->n_recent - 1;
	while (i >= 0 && (ranges->recent[i].end <= first || ranges->recent[i].first >= first + count))
		i--;
	const int64_t older = i < 0 && ranges->has_tree ? most_in_tree(ranges, first, count) : -1;
	ranges->asked = (struct tpu_fast_range){first, first + count, i < 0 ? older : ranges->recent[i].value};
	return ranges->asked.value;
}
