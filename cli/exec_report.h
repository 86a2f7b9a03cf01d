/* SPDX-License-Identifier: MIT
 *
 * The reports of `exec` on a run: counters, instructions, events; as tables, JSON and CSV. */
#ifndef NPULAB_CLI_EXEC_REPORT_H
#define NPULAB_CLI_EXEC_REPORT_H

#include <stdio.h>

#include "npulab/program.h"

struct exec_events {
	struct npl_program_event *event;
	int64_t count, capacity;
	bool lost; /* some events were lost: out of memory */
};
/* Keeps an event, as npl_execution_request.on_event. The context is a struct exec_events. */
void exec_keep_event(void *context, const struct npl_program_event *event);

struct exec_outcome {
	const struct npl_device *device;
	const struct npl_program *program;
	const struct npl_execution *execution;
	struct exec_events events; /* borrowed */
};
/* Writers (struct cli_report) of a struct exec_outcome. */
void exec_put_events(FILE *out, const void *data);
void exec_put_json(FILE *out, const void *data);
/* Prints the tables. */
int exec_print(const struct exec_outcome *o);

#endif
