/* SPDX-License-Identifier: MIT
 *
 * What differs in two events that belong together, in words, and whether the tolerance covers it. */
#ifndef NPULAB_TRACES_CHANGE_H
#define NPULAB_TRACES_CHANGE_H

#include "events.h"
#include "judge.h"

/* Two traces that are compared, at the events that were read last. */
struct trace_sides {
	struct trace_judge judge;
	struct trace_names names;    /* of the machines of the second trace */
	unsigned comparable;         /* NPL_TRACE_MOVED_... of what both traces have */
	struct trace_words words[2]; /* of the events */
	const char *layer[2];        /* the layers whose instructions come; NULL: none is known */
	uint64_t cycle[2];           /* of the signals that were read last, in their program */
	bool wants_words;            /* what differs is said in words, which takes longer than finding it */
	const double *sqnr_db;       /* of the row that is compared; NULL: it is none of a layer, or has no result */
};
bool trace_same_layer(const struct trace_sides *sides);

/* What differs in a pair. */
struct trace_change { /* zero-initialise before use */
	unsigned moved;
	bool other_sum; /* the result of an instruction differs */
	bool waits;     /* classes of cycles differ */
	bool is_beyond;
	char what[400];
	char beyond[200]; /* the first difference that the tolerance does not cover */
};
/* Compares two events with the same identity, or two programs, whose words are cut. */
void trace_compare_pair(struct trace_sides *sides, const struct trace_event *a, const struct trace_event *b,
			struct trace_change *change);
/* Compares signals of one cycle, of which each trace has an event of its own. */
void trace_compare_signals(const struct trace_sides *sides, struct trace_change *change);

#endif
