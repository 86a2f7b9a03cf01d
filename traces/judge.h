/* SPDX-License-Identifier: MIT
 *
 * What a difference of two events means, and whether the tolerance covers it (docs/traces.md, What counts as a
 * difference). */
#ifndef NPULAB_TRACES_JUDGE_H
#define NPULAB_TRACES_JUDGE_H

#include "events.h"
#include "npulab/run_trace.h"

/* Returns NPL_TRACE_MOVED_... of a difference in a key that is no class of cycles. A key that is not listed is a
 * counter of a machine, whose name the machine chose: NPL_TRACE_MOVED_COUNTS. */
unsigned trace_moved_by(const char *key);
/* Says whether a key is listed. */
bool trace_key_is_listed(const char *key);

/* How two traces are judged. */
struct trace_judge {
	struct npl_trace_tolerance tolerance;
	bool have_ratios; /* the layers of both have signal-to-noise ratios */
	double joules[2]; /* of the rows that are judged: energy is judged by their totals */
};
/* Finds the tolerance for two traces: that of the user and, where real devices ran in other environments, the one for
 * values. */
struct trace_judge trace_judge_of(const struct npl_trace_tolerance *tolerance, const struct npl_trace_header *a,
				  const struct npl_trace_header *b);
/* Says whether anything has a tolerance. */
bool trace_is_given(const struct trace_judge *judge);
/* Says whether the tolerance covers a difference in a key of an event, whose values are a and b (NULL: it has none).
 * sqnr_db: those of the layer, NAN where they are not known; NULL: the event is no row of a layer, or one
 * without a result. */
bool trace_is_tolerated(const struct trace_judge *judge, enum trace_kind kind, unsigned moved, const char *key,
			const char *a, const char *b, const double sqnr_db[2]);

#endif
