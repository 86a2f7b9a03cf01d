/* SPDX-License-Identifier: MIT
 *
 * The bytes of a trace file: plain text, or text compressed by zstd. The memory needed does not depend on the file. */
#ifndef NPULAB_TRACES_STREAM_H
#define NPULAB_TRACES_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "npulab/error.h"

/* An output that becomes a file when it is finished, whole or not at all. Until then its bytes are in a file without a
 * name. path NULL: they stay there, for trace_in_of. */
struct trace_out;
int trace_out_open(const char *path, struct trace_out **opened, struct npl_err *err);
/* Writes text. A failure is kept until trace_out_finish. */
void trace_out_put(struct trace_out *out, const char *text, size_t bytes);
/* Returns a stream whose text goes to the output; NULL: out of memory. The caller closes it before trace_out_finish. */
FILE *trace_out_stream(struct trace_out *out);
/* Notes that a line did not fit into TRACE_LINE bytes: trace_out_finish then fails. */
void trace_out_too_long(struct trace_out *out);
int trace_out_finish(struct trace_out *out, struct npl_err *err);
void trace_out_close(struct trace_out *out); /* accepts NULL */
/* Compresses the file by gzip, whatever its name; to be called before anything is put. Returns 0 or NPL_ENOMEM. */
int trace_out_gzip(struct trace_out *out, struct npl_err *err);
uint64_t trace_out_lines(const struct trace_out *out); /* that have been put */
uint64_t trace_out_bytes(const struct trace_out *out); /* of the file, once it is finished */
/* Writes the text of an output that was opened without a path, and has been finished, as the file `path`. */
int trace_out_save(const struct trace_out *out, const char *path, struct npl_err *err);

/* An input, compressed or not, as its first bytes show. */
struct trace_in;
/* Opens a file that is read once, from its begin to its end; "-": standard input, which messages call so. */
int trace_in_open_once(const char *path, struct trace_in **opened, struct npl_err *err);
int trace_in_open(const char *path, struct trace_in **opened, struct npl_err *err);
void trace_in_close(struct trace_in *in); /* accepts NULL */
/* Opens what was written to an output that was opened without a path, and has been finished. Messages call it
 * `name`. */
int trace_in_of(const struct trace_out *out, const char *name, struct trace_in **opened, struct npl_err *err);
/* Gets the next line without its end; it is valid until the next call, and ends in a NUL that is no part of it. *line
 * NULL: the file ends. Returns NPL_EINPUT where the file cannot be read, is cut within a line, or has a line of
 * TRACE_LINE bytes or more or with a NUL. */
#define TRACE_LINE 65536
int trace_in_line(struct trace_in *in, char **line, size_t *bytes, struct npl_err *err);
uint64_t trace_in_number(const struct trace_in *in); /* of the line that was read last, from 1 on */
const char *trace_in_path(const struct trace_in *in);

#endif
