/* SPDX-License-Identifier: MIT
 *
 * How long the work that is going on still takes, by the share of it that is done and the time that this took. */
#ifndef NPULAB_CLI_TIME_LEFT_H
#define NPULAB_CLI_TIME_LEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npulab/progress.h"

/* The estimate so far: {0} at the beginning. */
struct cli_time_left {
	bool is_known;
	uint64_t work;      /* which work it is of */
	double end_seconds; /* when the work is expected to end, and when that was last looked at */
	double seen_seconds;
};

/* Returns the seconds that the work still takes, `now` seconds after some fixed moment. NAN: too little is done to
 * tell, the share is not known, or the expected end is past. The expected end moves slowly, so that what is shown does
 * not jump. */
double cli_time_left(struct cli_time_left *left, const struct npl_progress *progress, double now);

/* Writes "about 12 s left", with fewer digits for longer times; "" for NAN. */
void cli_time_left_text(double seconds, char *text, size_t bytes);

#endif
