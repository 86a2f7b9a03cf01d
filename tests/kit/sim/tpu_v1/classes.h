/* SPDX-License-Identifier: MIT
 *
 * Sums of the counters that are classes of cycles: the whole ones, which share out all cycles, and the parts of
 * non_matrix. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_CLASSES_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_CLASSES_H

#include "sim/systolic/tpu_v1/counters.h"

static inline uint64_t test_sum_of_classes(struct tpu_counters counters, int first, int end)
{
	uint64_t sum = 0;
	for (int i = first; i < end; i++)
		sum += *tpu_class_counter(&counters, (enum tpu_cycle_class)i);
	return sum;
}

static inline uint64_t test_whole_classes(const struct tpu_counters *counters)
{
	return test_sum_of_classes(*counters, 0, TPU_WHOLE_CLASSES);
}

static inline uint64_t test_parts_of_non_matrix(const struct tpu_counters *counters)
{
	return test_sum_of_classes(*counters, TPU_WHOLE_CLASSES, TPU_CYCLE_CLASSES);
}

#endif
