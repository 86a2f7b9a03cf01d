/* SPDX-License-Identifier: MIT
 *
 * What of a trace fits a choice of events, and the refusal where nothing does: names that were seen are kept, so that
 * it can say which is the nearest. */
#ifndef NPULAB_TRACES_CHOSEN_H
#define NPULAB_TRACES_CHOSEN_H

#include "npulab/run_trace.h"

struct trace_seen_names {
	const char **name; /* each once */
	int n, capacity;
	bool has_fitting; /* one of all names fits the choice; no further ones are kept then */
};

struct trace_chosen {
	const struct npl_trace_choice *choice;
	struct npl_arena arena;
	struct trace_seen_names layer, unit;
	bool has_instructions; /* or signals */
	uint64_t events;       /* that were chosen: instructions and signals, with `layer` alone rows of layers too */
	uint64_t longest;      /* cycles of the longest program */
};

/* Says whether the choice has one of instructions or signals. */
bool trace_chosen_within_programs(const struct npl_trace_choice *choice);
/* Note the name of a layer, and the unit of an instruction or the name of a signal. Return whether it fits the choice;
 * a name for which there is no memory is not kept. NULL: an event of no layer. */
bool trace_chosen_layer(struct trace_chosen *chosen, const char *name);
bool trace_chosen_unit(struct trace_chosen *chosen, const char *name);
bool trace_chosen_signal(struct trace_chosen *chosen, const char *name);
/* Says whether the cycles begin <= t < end of a program are in the window of the choice. */
bool trace_chosen_cycles(const struct trace_chosen *chosen, uint64_t begin, uint64_t end);
/* Returns NPL_EUSAGE where the choice leaves nothing of the trace `path`, with why. To be called when all of it has
 * been read. */
int trace_chosen_check(const struct trace_chosen *chosen, const char *path, struct npl_err *err);
void trace_chosen_free(struct trace_chosen *chosen);

#endif
