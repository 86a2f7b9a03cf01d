/* SPDX-License-Identifier: MIT
 *
 * Time left (time_left.h). */
#include "time_left.h"

#include <math.h>
#include <stdio.h>

/* What must be known before a time is told: the work has gone on for so long, so much of it is done, in so many steps.
 */
#define LEAST_SECONDS 2
#define LEAST_SHARE   0.02
#define LEAST_STEPS   3

/* Within so many seconds the expected end moves most of the way to where the share has it now. */
#define SMOOTHING_SECONDS 4

/* A step that lasts for longer than the rest was expected to shows that nothing is known. */
#define OVERRUN_SECONDS 0.5

double cli_time_left(struct cli_time_left *left, const struct npl_progress *p, double now)
{
	if (!(p->share >= LEAST_SHARE) || p->seconds < LEAST_SECONDS || p->advances < LEAST_STEPS) {
		left->is_known = false;
		return NAN;
	}
	const double end = now + p->seconds * (1 - p->share) / p->share;
	if (!left->is_known || left->work != p->work)
		*left = (struct cli_time_left){.is_known = true, .work = p->work, .end_seconds = end};
	else
		left->end_seconds += (end - left->end_seconds) *
				     (1 - exp((left->seen_seconds - now) / SMOOTHING_SECONDS));
	left->seen_seconds = now;
	return left->end_seconds < now - OVERRUN_SECONDS ? (double)NAN : fmax(left->end_seconds - now, 0);
}

void cli_time_left_text(double seconds, char *text, size_t bytes)
{
	enum { MINUTE = 60, HOUR = 3600, STEP = 5 };
	if (isnan(seconds))
		*text = '\0';
	else if (seconds < 2 * STEP)
		snprintf(text, bytes, "about %.0f s left", fmax(round(seconds), 1));
	else if (seconds < MINUTE - 0.5 * STEP)
		snprintf(text, bytes, "about %.0f s left", STEP * round(seconds / STEP));
	else if (seconds < 2 * HOUR)
		snprintf(text, bytes, "about %.0f min left", fmax(round(seconds / MINUTE), 1));
	else
		snprintf(text, bytes, "about %.0f h left", round(seconds / HOUR));
}
