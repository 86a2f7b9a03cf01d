/* SPDX-License-Identifier: MIT
 *
 * Sentences about verdicts of traces, which the reports for other programs share. */
#ifndef NPULAB_REPORTS_TRACE_VERDICT_H
#define NPULAB_REPORTS_TRACE_VERDICT_H

#include "npulab/run_trace.h"

enum npl_trace_state { NPL_TRACE_SAME, NPL_TRACE_WITHIN, NPL_TRACE_MOVED, NPL_TRACE_NOT_COMPARED };
enum npl_trace_state npl_trace_state_of(const struct npl_trace_verdict *verdict);
/* Counts the verdicts of a state. */
int npl_trace_count(const struct npl_trace_verdict *verdict, int n, enum npl_trace_state state);

/* Writes "times and energy moved; first line 111, conv2: fifo_full 0 -> 214", or why it could not be compared; returns
 * buf. */
const char *npl_trace_sentence(const struct npl_trace_verdict *verdict, char *buf, size_t n);

/* Of a table of layers: says whether a layer moved, and whether it and its instructions only begin at other times. */
bool npl_trace_layer_moved(const struct npl_trace_layer *layer);
bool npl_trace_only_begins_elsewhere(const struct npl_trace_layer *layer);
int npl_trace_count_elsewhere(const struct npl_trace_diff *diff); /* counts these */
/* Writes "times and energy", or "only in the first"; returns buf. */
const char *npl_trace_layer_moved_text(const struct npl_trace_layer *layer, char *buf, size_t n);
/* Figures of a layer, or of all, for a table: cycles "a -> b", or one where they are the same; changes "+1.5 %", empty
 * where there is none; "-" where a trace has no times. */
struct npl_trace_figures {
	char cycles[60], time[40], energy[40];
};
struct npl_trace_figures npl_trace_figures_of(const struct npl_trace_diff *diff, const uint64_t cycles[2],
					      const double seconds[2], const double joules[2]);
/* Writes "1.2 ms -> 1.3 ms (+8.3 %)", or one figure where both look the same; returns buf. */
const char *npl_trace_total_text(char *buf, size_t n, const double value[2], const char *unit);
/* Writes "tpu_v1", also for a variant of it, or "tpu_v1 -> diannao" where the traces differ; returns buf. */
const char *npl_trace_place_text(char *buf, size_t n, const struct npl_trace_layer *layer);
/* Writes the line of an event for a reader. Where it does not fit, what the line beside it (NULL: there is none) has
 * too is replaced by "...", so that what differs is seen. Returns buf. */
const char *npl_trace_line_text(char *buf, size_t n, const char *line, const char *other);

/* A class of cycles whose share of a layer differs. */
struct npl_trace_shift {
	const char *layer, *cycle_class;
	uint64_t cycles[2];
};
/* Lists those of all layers, the greatest first. *list is allocated. Returns how many there are; -1: out of memory. */
int npl_trace_shifts(const struct npl_trace_diff *diff, struct npl_trace_shift **list);
/* Lists the causes that differ in the same way. */
int npl_trace_causes(const struct npl_trace_diff *diff, struct npl_trace_cause **list);
bool npl_trace_has_ratios(const struct npl_trace_diff *diff); /* signal-to-noise ratios of a layer are known */
/* Writes "41.20 dB -> 38.92 dB", or "exact", "" where none is known. */
const char *npl_trace_ratio_text(char *buf, size_t n, const double sqnr_db[2]);

#endif
