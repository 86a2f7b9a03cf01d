/* SPDX-License-Identifier: MIT
 *
 * Stores results of the activation unit and notes faults of an instruction, for all parts of the fast engine. */
#include "activate.h"
#include "fast.h"
#include <stdlib.h>

void tpu_fast_store(const struct tpu_fast_activation *a, int64_t k, const int16_t *element)
{
	a->steps->store(element, a->columns, tpu_fast_vector(a, &a->result, k, 0),
			a->result.type == TPU_I16 ? tpu_fast_vector(a, &a->result, k, 1) : NULL);
}

void tpu_fast_fault(struct tpu_fast_machine *m, int64_t instruction, struct sim_faults faults)
{
	m->outcome->overflows += faults.overflows;
	m->outcome->saturations += faults.saturations;
	if (!m->faults)
		return;
	m->faults[instruction].overflows += faults.overflows;
	m->faults[instruction].saturations += faults.saturations;
}
