/* SPDX-License-Identifier: MIT
 *
 * The monotonic clock (clock.h). */
#include "clock.h"

#include <time.h>

double npl_clock_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
