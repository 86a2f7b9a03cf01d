/* SPDX-License-Identifier: MIT
 *
 * What comes of a point (point.h). */
#include "point.h"

#include <math.h>
#include <stdio.h>

const char *const sweep_status_name[SWEEP_STATUSES] = {"done", "excluded", "failed"};

struct sweep_outcome sweep_failed(const char *reason)
{
	struct sweep_outcome outcome = {.status = SWEEP_FAILED};
	for (int m = 0; m < SWEEP_METRICS; m++)
		outcome.metrics.value[m] = NAN;
	snprintf(outcome.reason, sizeof outcome.reason, "%s", reason);
	return outcome;
}
