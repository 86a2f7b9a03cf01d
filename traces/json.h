/* SPDX-License-Identifier: MIT
 *
 * Trace events as JSON: the Trace Event Format of Chrome, which Perfetto reads too. One process for each device, a
 * thread for each track, complete events ("X") for slices and "C" for counters. An event is a line.
 *
 * Times are whole nanoseconds: viewers count in them. Both ends of a slice are rounded, and not its length, so that
 * slices that touch do not overlap. */
#ifndef NPULAB_TRACES_JSON_H
#define NPULAB_TRACES_JSON_H

#include "header.h"
#include "stream.h"

struct trace_json {
	struct trace_out *out;
	bool need_comma;
	uint64_t events; /* that have been begun */
};

/* Begins the document: its head names the run. */
void trace_json_begin(struct trace_json *json, struct trace_out *out, const struct npl_trace_header *header);
void trace_json_end(struct trace_json *json);

/* Name a process and a thread. Processes stand in the order of their numbers, threads in that of `order`. */
void trace_json_process(struct trace_json *json, int pid, const char *name);
void trace_json_thread(struct trace_json *json, int pid, int tid, const char *name, int order);

/* Begins a slice. Arguments follow, then trace_json_close. */
void trace_json_slice(struct trace_json *json, int pid, int tid, const char *name, const char *category,
		      int64_t begin_ns, int64_t end_ns);
/* Arguments: a number, a text, and an object with arguments of its own, which trace_json_close_object ends. */
void trace_json_number(struct trace_json *json, const char *key, uint64_t number);
void trace_json_text(struct trace_json *json, const char *key, const char *text);
void trace_json_object(struct trace_json *json, const char *key);
void trace_json_close_object(struct trace_json *json);
void trace_json_close(struct trace_json *json);

/* Writes a counter's value from this time on. */
void trace_json_counter(struct trace_json *json, int pid, const char *name, const char *series, int64_t ns,
			double value);

#endif
