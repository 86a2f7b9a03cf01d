/* SPDX-License-Identifier: MIT
 *
 * Where the cycles of a layer went, and what holds it up, from the counters that its machine declares (counters.h).
 */
#ifndef NPULAB_CAUSES_H
#define NPULAB_CAUSES_H

#include "npulab/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What went to one cause: the amount of a counter, less that of the counters which are parts of it. */
struct npl_cause {
	const struct npl_counter_def *counter_def;
	const char *name; /* the counter's; "other": what is left of one whose parts are causes themselves */
	uint64_t amount;  /* cycles, or what the counter's unit is */
};
#define NPL_MAX_CAUSES NPL_MAX_COUNTERS

/* The causes of a result with these counters, in the order of the table, "other" last. They sum to the result's cycles,
 * or to its time where they are parts of that (NPL_COUNTER_TIME). Returns how many; 0: the table has no partition. */
int npl_causes_of(const struct npl_counter_def *def, size_t n_counters, const struct npl_result *result,
		  struct npl_cause cause[NPL_MAX_CAUSES]);

/* What holds up a layer, or the sum of several, on a machine with such counters: that to which most of its cycles or
 * time went, that of causes with the same bound together.
 *
 *   it computes                "peak", where half of the MACs that were possible meanwhile were done, else the
 *                              counter's bound
 *   it waits for its memory    "memory", where what it moved takes three quarters of the time at the memory's greatest
 *                              rate, else the counter's bound
 *   it waits otherwise         "link", where what crossed the link within the cycles takes half of the time, else the
 *                              bound
 *
 * NULL: nothing was counted, or the machine declares no causes. */
const char *npl_bound_of(const struct npl_device_info *info, const struct npl_result *result);

#ifdef __cplusplus
}
#endif

#endif
