/* SPDX-License-Identifier: MIT
 *
 * The program npulab, without what its two forms do before and after: that for one computer (npulab.c) and that for a
 * cluster (cluster/npulab_mpi.c). */
#ifndef NPULAB_CLI_MAIN_H
#define NPULAB_CLI_MAIN_H

/* Runs the command of the arguments; returns the exit status. */
int cli_main(int argc, char **argv);

#endif
