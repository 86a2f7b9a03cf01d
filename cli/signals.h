/* SPDX-License-Identifier: MIT
 *
 * Signals of the program. The library installs no handler; a program that uses it can do this. */
#ifndef NPULAB_CLI_SIGNALS_H
#define NPULAB_CLI_SIGNALS_H

/* Handles signals from now on. A signal that ends the program removes the temporaries of its outputs first, and a file
 * that another program shortens while it is read ends the program with one line and the exit status of bad input.
 * Signals that are ignored stay ignored. */
void cli_handle_signals(void);

#endif
