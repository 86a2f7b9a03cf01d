/* SPDX-License-Identifier: MIT
 *
 * Rows of a machine's table of counters (npulab/counters.h). `type` is the struct that holds them, `member` the
 * counter. A machine's counters.def names a form by what follows SIM_COUNTER_. */
#ifndef NPULAB_SIM_COMMON_COUNTERS_H
#define NPULAB_SIM_COMMON_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "npulab/counters.h"

/* Makes the row of a counter that is part of no sum, of events, rows or bytes. SIM_COUNTER_OF_VALUES is for counters of
 * what happens to values, such as saturations. */
#define SIM_COUNTER_EVENTS(type, member, unit, help)                                                                   \
	{                                                                                                              \
		.name = #member, unit, help, offsetof(type, member)                                                    \
	}
#define SIM_COUNTER_OF_VALUES(type, member, unit, help)                                                                \
	{                                                                                                              \
		.name = #member, unit, help, offsetof(type, member), NPL_COUNTER_OF_VALUES                             \
	}
/* Makes the row of a counter of the activity of operands, which is counted on request. It counts values too. */
#define SIM_COUNTER_OF_ACTIVITY SIM_COUNTER_OF_VALUES
/* Makes the row of a counter of a whole run, whose events belong to no single layer. A layer's share is in proportion
 * to its `weight`, which the machine's attribution has. */
#define SIM_COUNTER_OF_RUN(type, member, unit, help, weight)                                                           \
	{                                                                                                              \
		.name = #member, unit, help, offsetof(type, member)                                                    \
	}
/* Makes the row of a counter of multiply-accumulates, used or possible. */
#define SIM_COUNTER_MACS(type, member, help, kind)                                                                     \
	{                                                                                                              \
		.name = #member, "macs", help, offsetof(type, member), 0, NULL, kind                                   \
	}
/* Makes the row of a counter of a class of cycles, `constant` of the machine's classes. These classes cover all cycles.
 * bound is what limits a layer that spends most of its cycles in this class. */
#define SIM_COUNTER_CYCLES(type, member, constant, help, kind, bound)                                                  \
	{                                                                                                              \
		.name = #member, "cycles", help, offsetof(type, member), 1, NULL, kind, bound                          \
	}
/* Makes the row of a counter of a part of such a class. A part is a class too. */
#define SIM_COUNTER_PART(type, member, constant, whole, help, kind, bound)                                             \
	{                                                                                                              \
		.name = #member, "cycles", help, offsetof(type, member), 0, #whole, kind, bound                        \
	}

/* These make, from each row that counts a class of cycles, the constant of the class and its entry in an array of the
 * offsets of counters. Other rows make nothing. Constants of whole classes, whose cycles sum to all cycles, come before
 * those of parts. */
#define SIM_WHOLE_CYCLES(prefix, member, constant, ...) prefix##constant,
#define SIM_WHOLE_PART(...)
#define SIM_WHOLE_MACS(...)
#define SIM_WHOLE_EVENTS(...)
#define SIM_WHOLE_OF_VALUES(...)
#define SIM_WHOLE_OF_ACTIVITY(...)
#define SIM_WHOLE_OF_RUN(...)
#define SIM_PART_CYCLES(...)
#define SIM_PART_PART(prefix, member, constant, ...) prefix##constant,
#define SIM_PART_MACS(...)
#define SIM_PART_EVENTS(...)
#define SIM_PART_OF_VALUES(...)
#define SIM_PART_OF_ACTIVITY(...)
#define SIM_PART_OF_RUN(...)
#define SIM_OFFSET_CYCLES(prefix, type, member, constant, ...) [prefix##constant] = offsetof(type, member),
#define SIM_OFFSET_PART(prefix, type, member, constant, ...)   [prefix##constant] = offsetof(type, member),
#define SIM_OFFSET_MACS(...)
#define SIM_OFFSET_EVENTS(...)
#define SIM_OFFSET_OF_VALUES(...)
#define SIM_OFFSET_OF_ACTIVITY(...)
#define SIM_OFFSET_OF_RUN(...)

/* These make an entry from each row OF_RUN: where the counter and the weight are. */
#define SIM_SHARE_CYCLES(...)
#define SIM_SHARE_PART(...)
#define SIM_SHARE_MACS(...)
#define SIM_SHARE_EVENTS(...)
#define SIM_SHARE_OF_VALUES(...)
#define SIM_SHARE_OF_ACTIVITY(...)
#define SIM_SHARE_OF_RUN(type, weights, member, unit, help, weight) {offsetof(type, member), offsetof(weights, weight)},

/* Returns the counter at an offset in a machine's struct of counters. */
static inline uint64_t *sim_counter_at(void *counters, size_t offset)
{
	return (uint64_t *)((char *)counters + offset);
}

/* Finds the counters at these offsets in the table `def`, whose order they have. */
static inline void sim_find_counters(const struct npl_counter_def *def, const size_t *offset, int n, int *index)
{
	for (int i = 0, k = 0; i < n; i++) {
		while (def[k].offset != offset[i])
			k++;
		index[i] = k;
	}
}

#endif
