/* SPDX-License-Identifier: MIT
 *
 * Stores results of the activation unit and counts overflows and saturations of an instruction, for all parts of the
 * fast engine. */
#include "activate.h"
#include "fast.h"
#include <stdlib.h>

void tpu_fast_store(const struct tpu_fast_activation *a, int64_t k, const int16_t *element)
{
	a->steps->store(element, a->columns, tpu_fast_vector(a, &a->result, k, 0),
			a->result.type == TPU_I16 ? tpu_fast_vector(a, &a->result, k, 1) : NULL);
}

void tpu_fast_count_values(struct tpu_fast_machine *m, int64_t instruction, struct sim_value_counts value_counts)
{
	m->outcome->overflows += value_counts.overflows;
	m->outcome->saturations += value_counts.saturations;
	if (!m->value_counts)
		return;
	m->value_counts[instruction].overflows += value_counts.overflows;
	m->value_counts[instruction].saturations += value_counts.saturations;
}
