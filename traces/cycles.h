/* SPDX-License-Identifier: MIT
 *
 * Lines of signals in a trace: what changes in a cycle (docs/traces.md). */
#ifndef NPULAB_TRACES_CYCLES_H
#define NPULAB_TRACES_CYCLES_H

#include "npulab/signal_sink.h"
#include "text.h"

/* Writes what a signal sink is told. `line` and `out` are borrowed. */
struct trace_cycles {
	struct npl_signal_sink sink; /* for the instruction sink of the run */
	struct trace_line *line;
	struct trace_out *out;
	const struct npl_signal *signal; /* of the program that runs */
	uint64_t previous;               /* the cycle of the line before */
};
/* Prepares `cycles` for use as a signal sink. `choice` says which signals are recorded (npl_signal_sink.choice). */
void trace_cycles_open(struct trace_cycles *cycles, const char *choice, struct trace_line *line, struct trace_out *out);

/* Reads the second word of a line of signals, such as "+5": how many cycles it is after the line of signals before it.
 * Returns false where the word has another form. */
bool trace_cycles_after(const char *word, uint64_t *cycles);
/* Says whether a text is the value of a signal. */
bool trace_cycles_value(const char *text);
/* Says whether two lines have changes of the same signals, whatever their values and cycles. */
bool trace_cycles_same_signals(const char *a, const char *b);

#endif
