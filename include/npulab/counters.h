/* SPDX-License-Identifier: MIT
 *
 * Counters. A unit bumps plain uint64_t fields of its own struct; one table describes them. Counters are
 * counts and cycles only: fractions are derived in the reports.
 */
#ifndef NPULAB_COUNTERS_H
#define NPULAB_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_MAX_COUNTERS 32 /* of a device */

#define NPL_COUNTER_OF_VALUES (-1) /* as partition: counts what happened to values, so it is not known in timing_only */

/* What a counter tells of a machine's use. */
enum npl_counter_kind {
	NPL_COUNTER_OTHER,
	NPL_COUNTER_WORK,    /* cycles in which it computes, */
	NPL_COUNTER_MEMORY,  /* in which it waits for its memory, */
	NPL_COUNTER_WAITING, /* in which it waits for something else */
	NPL_COUNTER_USED,    /* MACs of the layer that were done while it computed, */
	NPL_COUNTER_IDLE,    /* and those that could have been done besides */
};

/* The unit of counters of a machine that is modelled without cycles: picoseconds. All of them are 0 for a layer that
 * takes NPL_COUNTER_TIME_SECONDS or more. */
#define NPL_COUNTER_TIME         "ps"
#define NPL_COUNTER_TIME_SECONDS 1e6

/* A driver declares here, and nowhere else, where its cycles go: the counters of partition 1 with their kind and bound,
 * and those that count a part of one of them (npulab/causes.h). */
struct npl_counter_def {
	const char *name; /* JSON key, snake_case */
	const char *unit; /* "cycles", "macs", "rows", "bytes", NPL_COUNTER_TIME */
	const char *help;
	size_t offset; /* of a uint64_t in the unit's struct */
	/* > 0: the counters with one number are the parts of a total. Their sum is the layer's cycles, or, of
	 * NPL_COUNTER_TIME, its time. */
	int partition;
	const char *part_of;        /* the counter of partition 1 whose cycles include these; NULL: none */
	enum npl_counter_kind kind; /* WORK, MEMORY or WAITING of a counter of partition 1 or a part of one */
	/* What limits a layer that spends most of its cycles on this counter: NPL_BOUND_LETTERS at most. For kind WORK it is
	 * reported only where less than half of the possible MACs were done meanwhile. NULL without a kind. */
	const char *bound;
};

/* Whether a table is one that reports can read; a reason when not: names are there once; counters of one partition have
 * one unit; those of partition 1, and parts of them, have a kind and a bound of at most NPL_BOUND_LETTERS letters. */
#define NPL_BOUND_LETTERS 12
bool npl_counters_ok(const struct npl_counter_def *table, size_t n, char *why, size_t why_bytes);
/* Copies the counters out of a unit's struct, in table order. */
void npl_counters_read(const struct npl_counter_def *table, size_t n, const void *unit, uint64_t *values);

#ifdef __cplusplus
}
#endif

#endif
