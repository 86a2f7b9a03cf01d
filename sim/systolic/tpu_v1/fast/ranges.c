/* SPDX-License-Identifier: MIT
 *
 * Who touched which accumulator rows last (fast.h). Later instructions have greater numbers, so an assignment never
 * lowers a row's value and nothing has to be pushed down the tree: a row's value is the greatest `whole` on the way
 * from the root to it. Both operations take O(log rows). */
#include <stdlib.h>

#include "fast.h"

int tpu_fast_ranges_open(struct tpu_fast_ranges *ranges, int64_t rows, struct npl_err *err)
{
	ranges->leaves = 1;
	while (ranges->leaves < rows)
		ranges->leaves *= 2;
	int64_t nodes = 2 * ranges->leaves;
	ranges->most = malloc((size_t)nodes * sizeof *ranges->most);
	ranges->whole = malloc((size_t)nodes * sizeof *ranges->whole);
	if (!ranges->most || !ranges->whole)
		return npl_fail(err, NPL_ENOMEM, "fast engine: out of memory for %lld accumulator rows",
				(long long)rows);
	for (int64_t i = 0; i < nodes; i++)
		ranges->most[i] = ranges->whole[i] = -1;
	return 0;
}

void tpu_fast_ranges_close(struct tpu_fast_ranges *ranges)
{
	free(ranges->most);
	free(ranges->whole);
}

/* Walks up both edges of [first, first + count): nodes that lie inside it are reached as siblings of the way. */
void tpu_fast_ranges_assign(struct tpu_fast_ranges *ranges, int64_t first, int64_t count, int64_t value)
{
	int64_t low = first + ranges->leaves, high = low + count;
	for (int64_t l = low, h = high; l < h; l /= 2, h /= 2) {
		if (l & 1) {
			ranges->most[l] = ranges->whole[l] = value;
			l++;
		}
		if (h & 1) {
			h--;
			ranges->most[h] = ranges->whole[h] = value;
		}
	}
	for (int64_t node = low / 2; node; node /= 2)
		ranges->most[node] = value;
	for (int64_t node = (high - 1) / 2; node; node /= 2)
		ranges->most[node] = value;
}

int64_t tpu_fast_ranges_most(const struct tpu_fast_ranges *ranges, int64_t first, int64_t count)
{
	int64_t low = first + ranges->leaves, high = low + count, most = -1;
	for (int64_t l = low, h = high; l < h; l /= 2, h /= 2) {
		if (l & 1) {
			most = most > ranges->most[l] ? most : ranges->most[l];
			l++;
		}
		if (h & 1) {
			h--;
			most = most > ranges->most[h] ? most : ranges->most[h];
		}
	}
	for (int64_t node = low / 2; node; node /= 2)
		most = most > ranges->whole[node] ? most : ranges->whole[node];
	for (int64_t node = (high - 1) / 2; node; node /= 2)
		most = most > ranges->whole[node] ? most : ranges->whole[node];
	return most;
}
