/* SPDX-License-Identifier: MIT
 *
 * Counters. A unit increments plain uint64_t fields of its own struct, and one table describes them. Counters hold only
 * counts and cycles: reports derive fractions.
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

/* a value of `partition`: the counter counts values, so it is not known in timing_only */
#define NPL_COUNTER_OF_VALUES (-1)

/* What a counter tells of a machine's use. */
enum npl_counter_kind {
	NPL_COUNTER_OTHER,
	NPL_COUNTER_WORK,    /* cycles in which the machine computes */
	NPL_COUNTER_MEMORY,  /* cycles in which it waits for its memory */
	NPL_COUNTER_WAITING, /* cycles in which it waits for something else */
	NPL_COUNTER_USED,    /* MACs of the layer that were done while it computed */
	NPL_COUNTER_IDLE,    /* further MACs that were possible while it computed */
};

/* Picoseconds: the unit of the counters of a machine that is modelled without cycles. All of its counters are 0 for a
 * layer that takes NPL_COUNTER_TIME_SECONDS or more. */
#define NPL_COUNTER_TIME         "ps"
#define NPL_COUNTER_TIME_SECONDS 1e6

/* A driver declares only here where its cycles go: the counters of partition 1 with their kind and bound, and the
 * counters that are a part of one of these (npulab/causes.h). */
struct npl_counter_def {
	const char *name; /* JSON key, snake_case */
	const char *unit; /* "cycles", "macs", "rows", "bytes", NPL_COUNTER_TIME */
	/* What is counted, in words that continue the unit: "read from memory" for bytes, "the array waits for weights"
	 * for cycles. */
	const char *help;
	size_t offset; /* of a uint64_t field in the unit's struct */
	/* > 0: counters with the same number are the parts of a total. Their sum is the layer's cycles, or the layer's
	 * time where their unit is NPL_COUNTER_TIME. */
	int partition;
	const char *part_of;        /* the counter of partition 1 whose cycles include these; NULL: none */
	enum npl_counter_kind kind; /* WORK, MEMORY or WAITING for a counter of partition 1 or a part of one */
	/* What limits a layer that spends most of its cycles on this counter, in at most NPL_BOUND_LETTERS letters. A
	 * bound of kind WORK is reported only where less than half of the possible MACs were done. NULL without a
	 * kind. */
	const char *bound;
};

/* Says whether reports can read a table, and puts the reason into `reason` if they cannot. Names must be unique, and
 * counters of one partition must have one unit. Counters of partition 1, and parts of them, must have a kind and a
 * bound of at most NPL_BOUND_LETTERS letters. */
#define NPL_BOUND_LETTERS 12
bool npl_counters_ok(const struct npl_counter_def *table, size_t n, char *reason, size_t reason_bytes);
/* Copies the counters out of a unit's struct, in table order. */
void npl_counters_read(const struct npl_counter_def *table, size_t n, const void *unit, uint64_t *values);

#ifdef __cplusplus
}
#endif

#endif
