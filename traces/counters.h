/* SPDX-License-Identifier: MIT
 *
 * Counters of a picture of a trace: values that hold from one cycle of a program to another. Each takes constant
 * memory, but that of a queue, which grows with the queue. */
#ifndef NPULAB_TRACES_COUNTERS_H
#define NPULAB_TRACES_COUNTERS_H

#include "npulab/error.h"
#include "reports/format/trace_events.h"

/* Where and when the cycles of a program are in the picture. */
struct trace_clock {
	struct npl_picture *picture;
	double begin; /* of the program, in seconds */
	double hz;    /* of the machine */
};
/* Returns the nanosecond, rounded, in which a time or a cycle of the program is. */
int64_t trace_nanoseconds(double seconds);
int64_t trace_clock_ns(const struct trace_clock *clock, uint64_t cycle);

/* A counter. Its value is written when the next one is known to come later. */
struct trace_counter {
	const char *name, *series; /* borrowed */
	int pid;
	bool has_value; /* one that is not written */
	uint64_t cycle;
	double value, written;
};
/* Cycles must not go back; a cycle before the last one counts as that. */
void trace_counter_set(struct trace_counter *counter, const struct trace_clock *clock, uint64_t cycle, double value);
/* Sets it to 0 at the end of a program, and is ready for the next. */
void trace_counter_end(struct trace_counter *counter, const struct trace_clock *clock, uint64_t cycle);

/* The instructions that wait for a unit. */
struct trace_queue {
	struct trace_counter counter;
	uint64_t *taken; /* a ring: the cycles in which those that wait will have their unit, in order */
	size_t first, n, capacity;
};
/* Adds an instruction that waits in the cycles issued <= t < taken. */
int trace_queue_add(struct trace_queue *queue, const struct trace_clock *clock, uint64_t issued, uint64_t taken,
		    struct npl_err *err);
void trace_queue_end(struct trace_queue *queue, const struct trace_clock *clock, uint64_t cycle);

/* An amount by bins of some cycles: its value in a bin is the amount there, by cycle, times a factor. */
struct trace_bins {
	struct trace_counter counter;
	uint64_t cycles; /* of a bin */
	double factor;
	uint64_t bin;    /* that is open */
	double amount;   /* in it */
	uint64_t end;    /* of the amount that was added last */
	bool has_amount; /* one has been added to the program */
};
/* Spreads an amount evenly over cycles. Amounts come one after the other: where one would begin before the end of the
 * last, it begins there, and takes a cycle at least. */
void trace_bins_add(struct trace_bins *bins, const struct trace_clock *clock, double amount, uint64_t from,
		    uint64_t until);
void trace_bins_end(struct trace_bins *bins, const struct trace_clock *clock, uint64_t cycle);

#endif
