/* SPDX-License-Identifier: MIT
 *
 * Counters: see counters.h. */
#include "npulab/counters.h"

#include <string.h>

void npl_counters_read(const struct npl_counter_def *table, size_t n, const void *unit, uint64_t *values)
{
	for (size_t i = 0; i < n; i++)
		memcpy(&values[i], (const char *)unit + table[i].offset, sizeof values[i]);
}
