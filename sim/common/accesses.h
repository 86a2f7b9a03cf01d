/* SPDX-License-Identifier: MIT
 *
 * The accesses to a memory that the check of programs has seen. Whether one of them overlaps a range takes logarithmic
 * time; which one it is is looked up only when there is a conflict to report. A zeroed struct has no accesses. */
#ifndef NPULAB_SIM_COMMON_ACCESSES_H
#define NPULAB_SIM_COMMON_ACCESSES_H

#include "intervals.h"
#include "program.h"

/* Rows or bytes first <= i < end, and the instruction that reads or writes them. */
struct sim_access {
	int64_t first, end;
	struct sim_source_location location;
};

struct sim_accesses {
	struct sim_intervals intervals;
	struct sim_access *access; /* the accesses in the order in which they came */
	int64_t count, capacity;
};

/* Returns false when memory is short. */
bool sim_accesses_add(struct sim_accesses *accesses, const struct sim_access *access);
/* Returns the latest access that has a number in common with first <= i < end; NULL: there is none. */
const struct sim_access *sim_accesses_find(const struct sim_accesses *accesses, int64_t first, int64_t end);
void sim_accesses_forget(struct sim_accesses *accesses); /* removes all accesses */
void sim_accesses_close(struct sim_accesses *accesses);

#endif
