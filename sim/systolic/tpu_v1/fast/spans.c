/* SPDX-License-Identifier: MIT
 *
 * Who touched which accumulator rows last (fast.h). Later instructions have greater numbers, so an assignment never
 * lowers a row's value and nothing has to be pushed down the tree: a row's value is the greatest `whole` on the way from
 * the root to it. Both operations take O(log rows). */
#include <stdlib.h>

#include "fast.h"

int tpu_fast_spans_open(struct tpu_fast_spans *spans, int64_t rows, struct npl_err *err)
{
	spans->leaves = 1;
	while (spans->leaves < rows)
		spans->leaves *= 2;
	int64_t nodes = 2 * spans->leaves;
	spans->most = malloc((size_t)nodes * sizeof *spans->most);
	spans->whole = malloc((size_t)nodes * sizeof *spans->whole);
	if (!spans->most || !spans->whole)
		return npl_fail(err, NPL_ENOMEM, "fast engine: out of memory for %lld accumulator rows",
				(long long)rows);
	for (int64_t i = 0; i < nodes; i++)
		spans->most[i] = spans->whole[i] = -1;
	return 0;
}

void tpu_fast_spans_close(struct tpu_fast_spans *spans)
{
	free(spans->most);
	free(spans->whole);
}

/* Walks up both edges of [first, first + count): nodes that lie inside it are reached as siblings of the way. */
void tpu_fast_spans_assign(struct tpu_fast_spans *spans, int64_t first, int64_t count, int64_t value)
{
	int64_t low = first + spans->leaves, high = low + count;
	for (int64_t l = low, h = high; l < h; l /= 2, h /= 2) {
		if (l & 1) {
			spans->most[l] = spans->whole[l] = value;
			l++;
		}
		if (h & 1) {
			h--;
			spans->most[h] = spans->whole[h] = value;
		}
	}
	for (int64_t node = low / 2; node; node /= 2)
		spans->most[node] = value;
	for (int64_t node = (high - 1) / 2; node; node /= 2)
		spans->most[node] = value;
}

int64_t tpu_fast_spans_most(const struct tpu_fast_spans *spans, int64_t first, int64_t count)
{
	int64_t low = first + spans->leaves, high = low + count, most = -1;
	for (int64_t l = low, h = high; l < h; l /= 2, h /= 2) {
		if (l & 1) {
			most = most > spans->most[l] ? most : spans->most[l];
			l++;
		}
		if (h & 1) {
			h--;
			most = most > spans->most[h] ? most : spans->most[h];
		}
	}
	for (int64_t node = low / 2; node; node /= 2)
		most = most > spans->whole[node] ? most : spans->whole[node];
	for (int64_t node = (high - 1) / 2; node; node /= 2)
		most = most > spans->whole[node] ? most : spans->whole[node];
	return most;
}
