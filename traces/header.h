/* SPDX-License-Identifier: MIT
 *
 * The head of a trace (npulab/run_trace.h): its lines, up to `events`. */
#ifndef NPULAB_TRACES_HEADER_H
#define NPULAB_TRACES_HEADER_H

#include "npulab/run_trace.h"
#include "text.h"

void trace_header_write(const struct npl_trace_header *header, struct trace_line *line, struct trace_out *out);
/* Reads the head of an input at its first line; the line after it is the first event. */
int trace_header_read(struct trace_in *in, struct npl_trace_header *header, struct npl_err *err);
/* Makes room for one more element of an array in the arena, which is copied as it grows. NULL: out of memory. */
void *trace_grown(struct npl_arena *arena, void *array, int n, int *capacity, size_t size);
/* Appends a machine without parameters; NULL: out of memory. */
struct npl_trace_machine *trace_header_machine(struct npl_trace_header *header, const char *name, const char *driver,
					       const char *sha256, const char *format);

#endif
