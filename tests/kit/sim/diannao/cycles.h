/* SPDX-License-Identifier: MIT
 *
 * The cycles that the counters of DianNao account for. */
#ifndef NPULAB_TESTS_KIT_SIM_DIANNAO_CYCLES_H
#define NPULAB_TESTS_KIT_SIM_DIANNAO_CYCLES_H

#include "sim/diannao/diannao/counters.h"

/* Returns the sum over the classes that cover all cycles. */
static inline uint64_t diannao_cycles_of(struct dn_counters counters)
{
	uint64_t cycles = 0;
	for (int i = 0; i < DN_WHOLE_CLASSES; i++)
		cycles += *dn_class_counter(&counters, i);
	return cycles;
}

#endif
