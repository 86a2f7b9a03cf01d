/* SPDX-License-Identifier: MIT
 *
 * Where the cycles of a layer went and what limits the layer, derived from the counters that its machine declares
 * (counters.h).
 */
#ifndef NPULAB_CAUSES_H
#define NPULAB_CAUSES_H

#include "npulab/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The share of one cause: the amount of a counter, less the amounts of the counters that are parts of it. */
struct npl_cause {
	const struct npl_counter_def *counter_def;
	const char *name; /* the counter's name; "other" for the rest of a counter whose parts are causes themselves */
	uint64_t amount;  /* in the counter's unit, such as cycles */
};
#define NPL_MAX_CAUSES NPL_MAX_COUNTERS

/* Fills the causes of a result with these counters in the order of the table, the rests named "other" last. The causes
 * sum to the result's cycles, or to its time in counters of NPL_COUNTER_TIME. Returns how many there are; 0: the table
 * has no partition. */
int npl_causes_of(const struct npl_counter_def *def, size_t n_counters, const struct npl_result *result,
		  struct npl_cause cause[NPL_MAX_CAUSES]);

/* Returns what limits a layer, or the sum of several, on a machine with such counters. Causes of one kind with the same
 * bound count together; the largest of these sums, in cycles or time, decides:
 *
 *   it computes                "peak", where half of the MACs that were possible meanwhile were done, else the
 *                              counter's bound
 *   it waits for its memory    "memory", where what it moved takes three quarters of the time at the memory's greatest
 *                              rate, else the counter's bound
 *   it waits otherwise         "link", where what crossed the link within the cycles takes half of the time, else the
 *                              bound
 *
 * Whatever is the largest sum, the bound of cycles is also "memory" where what was moved takes three quarters of the
 * time at that rate, and the waiting for memory takes more than the rest of the time, in which the memory is idle: then
 * it sets the pace, whatever the cycles are called.
 *
 * NULL: nothing was counted, or the machine declares no causes. */
const char *npl_bound_of(const struct npl_device_info *info, const struct npl_result *result);

#ifdef __cplusplus
}
#endif

#endif
