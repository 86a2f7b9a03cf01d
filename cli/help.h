/* SPDX-License-Identifier: MIT
 *
 * Texts of --help. They have 80 columns everywhere, so that they can be read on any terminal. */
#ifndef NPULAB_CLI_HELP_H
#define NPULAB_CLI_HELP_H

#include <stdio.h>

/* Prints a text in lines of 80 columns; a newline within it begins a line. Further lines are indented. */
void cli_put_help_text(FILE *out, const char *text, int indent);
/* Prints a name, which is indented by two blanks, and beside it in a column of its own the first line of what it
 * means. `width`: columns of the name; a longer name has a line of its own. */
void cli_put_help_row(FILE *out, const char *name, int width, const char *meaning);

#endif
