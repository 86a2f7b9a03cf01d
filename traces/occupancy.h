/* SPDX-License-Identifier: MIT
 *
 * When an instruction of a trace is in its unit. Its cycles begin where issue comes to it and end where its last result
 * is written, so that those of neighbours overlap. Its unit has it in a part of them only. */
#ifndef NPULAB_TRACES_OCCUPANCY_H
#define NPULAB_TRACES_OCCUPANCY_H

#include "events.h"

/* What a class of cycles says of the unit (classes.def). */
enum trace_phase { TRACE_IN_ISSUE, TRACE_IN_QUEUE, TRACE_IN_ARRAY, TRACE_IN_UNIT, TRACE_AFTER, TRACE_PHASES };
enum trace_phase trace_phase_of(const char *cycle_class);

/* The times of an instruction, in cycles of its program. */
struct trace_occupancy {
	uint64_t begin, end;    /* of all its cycles */
	uint64_t issued;        /* it goes to the queue of its unit */
	uint64_t taken, leaves; /* the instruction is in the unit from the one to the other; the same: at no time */
	uint64_t array;         /* of these cycles, those in which the array or the NFU takes a step */
};
/* Reads an instruction whose words are cut. previous: the begin of the one before it. Returns false where it begins
 * before its program, or after 10^18 cycles. */
bool trace_occupancy_of(const struct trace_words *words, uint64_t previous, struct trace_occupancy *occupancy);

#endif
