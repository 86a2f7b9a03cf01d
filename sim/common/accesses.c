/* SPDX-License-Identifier: MIT
 *
 * Accesses to a memory as intervals (accesses.h). */
#include "accesses.h"

#include <stdlib.h>

#include "core/base/grow.h"

bool sim_accesses_add(struct sim_accesses *accesses, const struct sim_access *access)
{
	struct sim_access *grown = npl_grow(accesses->access, accesses->count, &accesses->capacity, sizeof *grown);
	if (!grown)
		return false;
	accesses->access = grown;
	grown[accesses->count++] = *access;
	return sim_intervals_add(&accesses->intervals, access->first, access->end);
}

const struct sim_access *sim_accesses_find(const struct sim_accesses *accesses, int64_t first, int64_t end)
{
	if (sim_intervals_meet(&accesses->intervals, first, end))
		for (int64_t i = accesses->count; i-- > 0;)
			if (accesses->access[i].end > first && accesses->access[i].first < end)
				return &accesses->access[i];
	return NULL;
}

void sim_accesses_forget(struct sim_accesses *accesses)
{
	sim_intervals_clear(&accesses->intervals);
	accesses->count = 0;
}

void sim_accesses_close(struct sim_accesses *accesses)
{
	sim_accesses_forget(accesses);
	free(accesses->access);
	*accesses = (struct sim_accesses){0};
}
