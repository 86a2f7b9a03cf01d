/* SPDX-License-Identifier: MIT
 *
 * The machines of a run that is made again: they get the parameters that the head of the trace has for them. */
#ifndef NPULAB_CLI_TRACE_MACHINES_H
#define NPULAB_CLI_TRACE_MACHINES_H

#include "common.h"
#include "npulab/run_trace.h"

/* The machines of the trace, as the run shall have them. */
struct cli_trace_machines {
	const struct npl_trace_header *header; /* NULL: those that there are now */
	const char *trace;                     /* the name of its file, for messages */
	bool quiet;
};

/* Gives the devices of the options, and the host where there is one, the parameters of the trace. */
int cli_trace_restore(const struct cli_trace_machines *machines, struct npl_compare_options *options,
		      struct npl_arena *arena, struct npl_err *err);
/* Returns NPL_EUSAGE where none of the devices of the options has signals. */
int cli_trace_need_signals(const struct npl_compare_options *options, struct npl_arena *arena, struct npl_err *err);
/* Opens one machine, with the parameters of the trace where there is one. The caller closes it, after an error too. */
int cli_trace_open_machine(const struct cli_trace_machines *machines, const char *name, const struct cli_common *common,
			   struct npl_arena *arena, struct npl_device **device, struct npl_err *err);

#endif
