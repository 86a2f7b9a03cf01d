/* SPDX-License-Identifier: MIT
 *
 * The inside of the comparison of two traces (npulab/run_trace.h): the alignment of their events (align.c), and what is
 * found (diff.c). */
#ifndef NPULAB_TRACES_DIFF_H
#define NPULAB_TRACES_DIFF_H

#include "events.h"
#include "npulab/run_trace.h"

/* What aligned events are given to. a or b NULL: the other trace has no such event. */
struct trace_pair_sink {
	int (*on_pair)(void *context, const struct trace_event *a, const struct trace_event *b, struct npl_err *err);
	void *context;
};

/* Reads both traces to their ends and gives each event of either once, in order. Events that are the same but for their
 * times and values come together. Where they do not, the traces are brought together again where the same few events
 * follow in both within TRACE_LOOK_AHEAD events of either, or within TRACE_WINDOW events that one of them alone has, in
 * the same program or batch; and if there is no such place, at its end. */
#define TRACE_LOOK_AHEAD 512
#define TRACE_WINDOW     8192
int trace_align(struct trace_events *a, struct trace_events *b, const struct trace_pair_sink *pairs,
		struct npl_err *err);

/* Does what npl_trace_diff_events does, with two inputs that are open at their beginnings. */
int trace_compare(struct trace_in *const in[2], const struct npl_trace_tolerance *tolerance,
		  const struct npl_trace_wanted *wanted, struct npl_trace_diff *diff, struct npl_err *err);

#endif
