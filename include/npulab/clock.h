/* SPDX-License-Identifier: MIT
 *
 * The clock of every measured time: monotonic, so that a correction of the wall clock cannot enter a result. */
#ifndef NPULAB_CLOCK_H
#define NPULAB_CLOCK_H

#include <time.h>

static inline double npl_clock_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
