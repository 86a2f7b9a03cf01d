/* SPDX-License-Identifier: MIT
 *
 * Pictures in time: the Trace Event Format of Chrome, which Perfetto reads too. Processes have threads, which are
 * tracks; a complete event ("X") is a slice of a track, and "C" is a counter of a process. An event is a line.
 *
 * Times are whole nanoseconds: viewers count in them. Both ends of a slice are rounded, and not its length, so that
 * slices that touch do not overlap. */
#ifndef NPULAB_REPORTS_FORMAT_TRACE_EVENTS_H
#define NPULAB_REPORTS_FORMAT_TRACE_EVENTS_H

#include "json.h"

struct npl_picture {
	struct npl_json json;
	uint64_t events; /* that have been begun */
};

/* Begins the document. Keys of the document may follow; npl_picture_events begins the list of events. */
void npl_picture_begin(struct npl_picture *picture, FILE *out);
void npl_picture_events(struct npl_picture *picture);
void npl_picture_end(struct npl_picture *picture);

/* Name a process and a thread, and say at which place each stands among the others. order -1: where the viewer puts
 * it. */
void npl_picture_process(struct npl_picture *picture, int pid, const char *name, int order);
void npl_picture_thread(struct npl_picture *picture, int pid, int tid, const char *name, int order);

/* Begins a slice. Its arguments follow, as keys of picture->json. */
void npl_picture_slice(struct npl_picture *picture, int pid, int tid, const char *name, const char *category,
		       int64_t begin_ns, int64_t end_ns);
void npl_picture_slice_end(struct npl_picture *picture);

/* Writes a counter's value from this time on. */
void npl_picture_counter(struct npl_picture *picture, int pid, const char *name, const char *series, int64_t ns,
			 double value);

#endif
