/* SPDX-License-Identifier: MIT
 *
 * The heads of two traces side by side: which machines belong together, and what differs. */
#ifndef NPULAB_TRACES_HEADS_H
#define NPULAB_TRACES_HEADS_H

#include "names.h"
#include "npulab/run_trace.h"

/* Pairs the machines of two heads: those with the same name and, where as many others are left in both, these in their
 * order. The modelled host belongs to the modelled host alone. `names` gets those of b's machines that have another
 * name in a; it lives in the arena. Returns 0 or NPL_ENOMEM. */
int trace_pair_machines(const struct npl_trace_header *a, const struct npl_trace_header *b, struct npl_arena *arena,
			struct trace_names *names, struct npl_err *err);
/* Adds what the heads differ in to diff->head. Returns 0 or NPL_ENOMEM. */
int trace_compare_heads(const struct npl_trace_header *a, const struct npl_trace_header *b,
			const struct trace_names *names, struct npl_trace_diff *diff, struct npl_err *err);

#endif
