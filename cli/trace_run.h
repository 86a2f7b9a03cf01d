/* SPDX-License-Identifier: MIT
 *
 * The runs that `npulab trace` records: a network, one layer or a program, as its options describe them. The head of a
 * trace keeps these options, so that the run can be made again. */
#ifndef NPULAB_CLI_TRACE_RUN_H
#define NPULAB_CLI_TRACE_RUN_H

#include "common.h"
#include "layer_spec.h"
#include "npulab/run_trace.h"
#include "trace_machines.h"

enum cli_traced_kind { CLI_TRACED_NETWORK, CLI_TRACED_LAYER, CLI_TRACED_PROGRAM };

/* A run. cli_trace_read fills it from the command line or from the head of a trace. */
struct cli_traced_run {
	const char *word[2]; /* the model, the program, or "layer" and the kind of layer */
	int n_words;
	struct cli_common common;
	struct cli_layer_options layer;
	const char *device, *rules, *rules_file;    /* where a network runs */
	const char *host_memory, *weights, *buffer; /* of a program */
	const char *detail, *signals, *reason, *output;
	bool accuracy; /* of simulated machines too */
};
enum cli_traced_kind cli_trace_kind(const struct cli_traced_run *run); /* as its first word says */

/* Reads a command line: argv[0] is the name of the command. Its words and its options are added to the header. With
 * `again` they are those of a trace: no outputs are declared, and no progress is shown. Returns NPL_EUSAGE for options
 * that do not go together, or with what is run. */
int cli_trace_read(int argc, char **argv, bool again, struct cli_traced_run *run, struct npl_trace_header *header,
		   bool *help_printed, struct npl_err *err);
/* Says whether traces keep an option: the others decide nothing of what a run does. */
bool cli_trace_option_is_kept(const char *option);

/* Who gets what a run does. */
struct cli_trace_listener {
	struct npl_trace_recorder *recorder; /* writes the trace; NULL: none is written */
	struct npl_run_watcher watcher;      /* the recorder's, or of a sink alone */
};
struct cli_trace_listener cli_trace_listener_of(struct npl_trace_recorder *recorder);
/* Makes the run on the machines, and tells the listener what it does. The files that the run read are added to the
 * header. */
int cli_trace_make_run(struct cli_traced_run *run, const struct cli_trace_machines *machines,
		       struct npl_trace_header *header, const struct cli_trace_listener *to, struct npl_err *err);

/* Gives the head of a trace that is recorded again what its recorder must know when it is opened: the detail and the
 * choice of signals, which stays the other head's. */
void cli_trace_keep_choice(const struct npl_trace_header *header, struct npl_trace_header *again);
/* Makes the run of a trace again, with the machines of the trace or, with `current`, as they are now. `header` is that
 * of the trace. The recorder was opened on `again` after cli_trace_keep_choice, and `again` becomes the head of the new
 * trace; the recorder is finished. */
int cli_trace_run_again(const char *trace, const struct npl_trace_header *header, bool current,
			struct npl_trace_recorder *recorder, struct npl_trace_header *again, struct npl_err *err);

/* Makes the run of a trace again, without recording it, and tells the sink its instructions. Where the sink wants
 * signals the engine rtl runs. Without signals it is a run before that one, and leaves the warnings to it. */
int cli_trace_listen_again(const char *trace, const struct npl_trace_header *header, bool current,
			   const struct npl_instruction_sink *sink, struct npl_err *err);
/* Opens the devices of a trace's run, the host aside, and calls `each` for each of them. Nothing runs. */
int cli_trace_each_machine(const char *trace, const struct npl_trace_header *header, bool current,
			   int (*each)(void *context, const struct npl_device *device, struct npl_err *err),
			   void *context, struct npl_err *err);

#define TRACE_COMMAND(word) extern const struct cli_command cli_trace_##word;
#include "trace_commands.def"
#undef TRACE_COMMAND

#endif
