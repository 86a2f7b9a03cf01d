/* SPDX-License-Identifier: MIT
 *
 * A line on standard error that says what is being done, for who waits longer than two seconds: on a terminal it is
 * written anew each second and goes at the end; elsewhere there is one at two seconds, and another each time that twice
 * as long has passed. */
#ifndef NPULAB_CLI_WAITING_H
#define NPULAB_CLI_WAITING_H

#include <stdbool.h>
#include <stddef.h>

/* From here on, until cli_waiting_end. It takes a thread of its own, since the library may be within one long step;
 * where none can be had there is no line. A second start without an end between is none. */
void cli_waiting_start(void);
/* The same for a document that is written after the figures are known, which may wait for a reader; nothing where
 * nobody asked for the first start. */
void cli_waiting_resume(void);
/* Before anything is printed. The line is gone when it returns; without a start it does nothing. */
void cli_waiting_end(void);

/* What the thread goes by, apart from it for the tests. */
struct cli_waiting {
	bool on_terminal;
	int columns; /* of the terminal; 0: not known */
	double due;  /* seconds after the start when it is to look again */
	bool shown;  /* a line stands on the terminal */
};
struct cli_waiting cli_waiting_open(bool on_terminal, int columns);
/* What is to be written `seconds` after the start about `progress` (NULL: none is known) into text, and when to look
 * again; returns its bytes, 0: nothing. */
size_t cli_waiting_line(struct cli_waiting *w, double seconds, const char *progress, char *text, size_t bytes);

#endif
