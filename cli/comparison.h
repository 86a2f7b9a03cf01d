/* SPDX-License-Identifier: MIT
 *
 * The steps of compare and run, from a model's file to the reports. Their options are in comparison_options.def. */
#ifndef NPULAB_CLI_COMPARISON_H
#define NPULAB_CLI_COMPARISON_H

#include "common.h"
#include "dump_program.h"

/* A comparison in progress. The command sets `common`, zeroes the rest, and closes it after the steps. */
struct cli_comparison {
	struct cli_common *common;
	struct npl_network inputs;
	struct npl_compare_options options; /* set by cli_comparison_open; the command may change them */
	struct npl_comparison result;
	struct npl_layer_choice_options choose;
	struct cli_dump dump;
	const char *dump_path; /* --dump-program; NULL: not wanted */
};

/* Reads the model, its samples and the options. `devices` is the text that names the devices. */
int cli_comparison_open(struct cli_comparison *comparison, const char *model, const char *dump_path,
			const char *devices, struct npl_err *err);
int cli_comparison_run(struct cli_comparison *comparison, struct npl_err *err);
/* Writes the reports and the programs, then the warnings of the model. outputs: the model's outputs for --output, or
 * NULL. */
int cli_comparison_report(struct cli_comparison *comparison, const struct npl_tensor *outputs, struct npl_err *err);
void cli_comparison_close(struct cli_comparison *comparison); /* also after a step that failed */

#endif
