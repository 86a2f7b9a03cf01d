/* SPDX-License-Identifier: MIT
 *
 * Counters. A unit bumps plain uint64_t fields of its own struct; one table describes them. Counters are
 * counts and cycles only: fractions are derived in the reports.
 */
#ifndef NPULAB_STATS_H
#define NPULAB_STATS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_STAT_OF_VALUES (-1) /* as partition: counts what happened to values, so it is not known in timing_only */

struct npl_stat {
	const char *name; /* JSON key, snake_case */
	const char *unit; /* "cycles", "macs", "rows", "bytes" */
	const char *help;
	size_t offset; /* of a uint64_t in the unit's struct */
	int partition; /* > 0: the counters of one number are the parts of the total: they sum to the layer's cycles */
};

/* Copies the counters out of a unit's struct, in table order. */
void npl_stats_read(const struct npl_stat *table, size_t n, const void *unit, uint64_t *values);

#ifdef __cplusplus
}
#endif

#endif
