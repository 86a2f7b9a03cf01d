/* SPDX-License-Identifier: MIT
 *
 * --dump-program FILE: the programs that the command's one device makes, each as text with the memories that it needs
 * in files beside it: F.s, F.host.npy, F.weights.npy, F.buffer.npy; for the second program F.2.s and so on. */
#ifndef NPULAB_CLI_DUMP_PROGRAM_H
#define NPULAB_CLI_DUMP_PROGRAM_H

#include "common.h"
#include "npulab/program_dump.h"

struct cli_dump {
	const char *path; /* NULL: not wanted */
	struct npl_program_dump *program;
	int64_t n, capacity;
	struct npl_program_sink sink; /* for npl_compare_options */
};

#define CLI_DUMP_OPTION(target)                                                                                        \
	{                                                                                                              \
		"dump-program", CLI_OUTPUT, (target), 0, 0, "FILE.s",                                                  \
			"the program that the one device makes, for asm and exec, its memories beside it"              \
	}

/* Starts a dump, before anything is read. Returns NPL_EUSAGE unless the file's name is that of a text and `devices`,
 * "a,b,c", names one device; NPL_EOUTPUT where a file beside it cannot be written. */
int cli_dump_open(struct cli_dump *dump, const char *path, const char *devices, struct npl_err *err);
/* Writes all programs received. device: the device as the user asked for it, whose name is `name`. */
int cli_dump_write(const struct cli_dump *dump, const char *device, const char *name, const struct cli_common *common,
		   struct npl_err *err);
void cli_dump_close(struct cli_dump *dump); /* accepts a zeroed one */

#endif
