/* SPDX-License-Identifier: MIT
 *
 * Rows of a machine's table of counters (npulab/counters.h). `type` is the struct that holds them, `member` the
 * counter. A machine's counters.def names the forms by their last word. */
#ifndef NPULAB_SIM_COMMON_COUNTERS_H
#define NPULAB_SIM_COMMON_COUNTERS_H

#include <stddef.h>

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
/* Makes the row of a counter of multiply-accumulates, used or possible. */
#define SIM_COUNTER_MACS(type, member, help, kind)                                                                     \
	{                                                                                                              \
		.name = #member, "macs", help, offsetof(type, member), 0, NULL, kind                                   \
	}
/* Makes the row of a counter of a class of cycles. These classes cover all cycles. bound is what limits a layer that
 * spends most of its cycles in this class. */
#define SIM_COUNTER_CYCLES(type, member, help, kind, bound)                                                            \
	{                                                                                                              \
		.name = #member, "cycles", help, offsetof(type, member), 1, NULL, kind, bound                          \
	}
/* Makes the row of a counter of a part of such a class. */
#define SIM_COUNTER_PART(type, member, whole, help, kind, bound)                                                       \
	{                                                                                                              \
		.name = #member, "cycles", help, offsetof(type, member), 0, #whole, kind, bound                        \
	}

#endif
