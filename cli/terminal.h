/* SPDX-License-Identifier: MIT
 *
 * What the program knows of the terminals that it prints on, and how texts are laid out for them. Lines on a
 * terminal have its width, or that of COLUMNS, limited to 80 to 200 columns. NPULAB_COLUMNS sets the width on
 * terminals, in files and in pipes. Without it, lines in files and pipes have 100 columns, so that logs stay the
 * same. Text on a terminal has colours unless NO_COLOR is set and not empty, or TERM is `dumb` or not set. */
#ifndef NPULAB_CLI_TERMINAL_H
#define NPULAB_CLI_TERMINAL_H

#include <stdio.h>

#include "npulab/error.h"

/* Lays out the texts that follow for standard output. The variable NPULAB_COLUMNS asks for a width also where no
 * terminal is. Returns NPL_EUSAGE if its value is none. */
int cli_terminal_open(struct npl_err *err);
/* Lays out the texts that follow for another stream: standard output or standard error. */
void cli_terminal_lay_out_for(FILE *stream);
/* Prints the line of an error on standard error. The message is printable. */
void cli_put_error(const char *message);
/* Returns how many columns the terminal has; 0: there is no terminal, or its size is not known. */
int cli_terminal_columns(int descriptor);

#endif
