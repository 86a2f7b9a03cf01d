/* SPDX-License-Identifier: MIT
 *
 * Accesses to a memory that have been seen, for the check of programs: whether one of them overlaps a range, which
 * takes logarithmic time, and which, which is looked up only when there is a conflict to report. Zeroed, there are
 * none. */
#ifndef NPULAB_SIM_COMMON_ACCESSES_H
#define NPULAB_SIM_COMMON_ACCESSES_H

#include "intervals.h"
#include "program.h"

/* Rows or bytes first <= i < end, and the instruction that reads or writes them. */
struct sim_access {
	int64_t first, end;
	struct sim_source_location at;
};

struct sim_accesses {
	struct sim_intervals touched;
	struct sim_access *access; /* in the order in which they came */
	int64_t count, capacity;
};

bool sim_accesses_add(struct sim_accesses *accesses, const struct sim_access *access); /* false: out of memory */
/* The latest one that has something in common with first <= i < end; NULL: none has. */
const struct sim_access *sim_accesses_find(const struct sim_accesses *accesses, int64_t first, int64_t end);
void sim_accesses_forget(struct sim_accesses *accesses); /* there are none then */
void sim_accesses_close(struct sim_accesses *accesses);

#endif
