/* SPDX-License-Identifier: MIT
 *
 * A line on standard error that says what the program is doing, and how long that still takes where the share that is
 * done is known. It is for a user who waits longer than two seconds. On a terminal it is rewritten each second and
 * removed at the end. Elsewhere there is one line after two seconds, and another each time that the waiting time has
 * doubled. */
#ifndef NPULAB_CLI_WAITING_H
#define NPULAB_CLI_WAITING_H

#include <stdbool.h>
#include <stddef.h>

#include "npulab/progress.h"
#include "time_left.h"

/* Starts the line, until cli_waiting_end. It uses a thread of its own, because the library may be within one long step;
 * without a thread there is no line. A second start before the end does nothing. */
void cli_waiting_start(void);
/* Starts the line again while a document is written, which may wait for a reader. Without an earlier start it does
 * nothing. */
void cli_waiting_resume(void);
/* Ends the line, to be called before anything is printed; the line is gone when it returns. Without a start it does
 * nothing. */
void cli_waiting_end(void);
/* Takes the line and its thread away for a moment, and starts them again: the time goes on. Between the two something
 * may be printed, and a process be forked. */
void cli_waiting_pause(void);
void cli_waiting_continue(void);

/* The state of the thread, separate for the tests. */
struct cli_waiting {
	bool on_terminal;
	int columns;        /* columns of the terminal; 0: not known */
	double due_seconds; /* seconds after the start when the next call is due */
	bool line_shown;    /* a line is on the terminal */
	struct cli_time_left left;
};
struct cli_waiting cli_waiting_open(bool on_terminal, int columns);
/* Puts into text the line to write `seconds` after the start, about `progress` (NULL: not known), and sets when the
 * next call is due. The time that is left stands behind the part if it is the part's, else behind the details. Returns
 * the bytes of the text; 0: nothing is to be written. */
size_t cli_waiting_line(struct cli_waiting *w, double seconds, const struct npl_progress *progress, char *text,
			size_t bytes);

#endif
