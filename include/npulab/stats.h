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

/* What a counter tells of a machine's use. */
enum npl_stat_kind {
	NPL_STAT_OTHER,
	NPL_STAT_WORK,    /* cycles in which it computes, */
	NPL_STAT_MEMORY,  /* in which it waits for its memory, */
	NPL_STAT_WAITING, /* in which it waits for something else */
	NPL_STAT_USED,    /* MACs of the layer that were done while it computed, */
	NPL_STAT_IDLE,    /* and those that could have been done besides */
};

/* As unit: parts of the time of a machine that is modelled without cycles; a layer's that takes more seconds are 0. */
#define NPL_STAT_TIME         "ps"
#define NPL_STAT_TIME_SECONDS 1e6

/* A driver declares here, and nowhere else, where its cycles go: the counters of partition 1 with their kind and bound, and
 * those that count a part of one of them (npulab/causes.h). */
struct npl_stat {
	const char *name; /* JSON key, snake_case */
	const char *unit; /* "cycles", "macs", "rows", "bytes", NPL_STAT_TIME */
	const char *help;
	size_t offset; /* of a uint64_t in the unit's struct */
	int partition; /* > 0: the counters of one number are the parts of the total: they sum to the layer's cycles, of
			  NPL_STAT_TIME to its time */
	const char *part_of;     /* the counter of partition 1 of whose cycles these are some; NULL: of none */
	enum npl_stat_kind kind; /* WORK, MEMORY or WAITING of a counter of partition 1 or a part of one */
	/* What a layer is said to be bound by that spends most of its cycles on this counter: 12 letters at most. For kind WORK it is said
	 * only where less than half of the possible MACs were done meanwhile. NULL without a kind. */
	const char *bound;
};

/* Copies the counters out of a unit's struct, in table order. */
void npl_stats_read(const struct npl_stat *table, size_t n, const void *unit, uint64_t *values);

#ifdef __cplusplus
}
#endif

#endif
