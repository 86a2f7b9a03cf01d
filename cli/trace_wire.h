/* SPDX-License-Identifier: MIT
 *
 * The verdict of a trace as bytes, from a process that checked it to the one that reports it. Both are the same
 * program, so that numbers keep their form in memory. */
#ifndef NPULAB_CLI_TRACE_WIRE_H
#define NPULAB_CLI_TRACE_WIRE_H

#include <stdio.h>

#include "npulab/run_trace.h"

/* Writes code, message and difference of a verdict. A failure stays in the stream. */
void cli_trace_verdict_send(FILE *to, const struct npl_trace_verdict *verdict);
/* Reads them; texts live in the arena of the difference. Returns NPL_ENOMEM, or NPL_EINTERNAL where bytes are
 * missing. */
int cli_trace_verdict_receive(const char *data, size_t bytes, struct npl_trace_verdict *verdict, struct npl_err *err);

#endif
