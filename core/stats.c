/* SPDX-License-Identifier: MIT
 *
 * Counters: see stats.h. */
#include "npulab/stats.h"

#include <string.h>

void npl_stats_read(const struct npl_stat *table, size_t n, const void *unit, uint64_t *values)
{
	for (size_t i = 0; i < n; i++)
		memcpy(&values[i], (const char *)unit + table[i].offset, sizeof values[i]);
}
