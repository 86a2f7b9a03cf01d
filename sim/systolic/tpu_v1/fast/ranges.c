/* SPDX-License-Identifier: MIT
 *
 * Finds the last instruction that touched accumulator rows (fast.h). Later instructions have greater numbers, so an
 * assignment never lowers a row's value, and nothing has to be pushed down the tree: a row's value is the greatest
 * `assigned` on the way from the root to it. Both operations take O(log rows). */
#include <stdlib.h>

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
	for (int64_t i = 0; i < nodes; i++)
		ranges->maximum[i] = ranges->assigned[i] = -1;
	return 0;
}

void tpu_fast_ranges_close(struct tpu_fast_ranges *ranges)
{
	free(ranges->maximum);
	free(ranges->assigned);
}

/* Walks up both edges of [first, first + count): nodes inside the range are reached as siblings of the edges. */
void tpu_fast_ranges_assign(struct tpu_fast_ranges *ranges, int64_t first, int64_t count, int64_t value)
{
	int64_t low = first + ranges->leaves, high = low + count;
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

int64_t tpu_fast_ranges_most(const struct tpu_fast_ranges *ranges, int64_t first, int64_t count)
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
