/* SPDX-License-Identifier: MIT
 *
 * Values of measures as text (measure_text.h). */
#include "measure_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "npulab/report.h"

const char *sweep_measure_text(const struct sweep_measure *measure, double value, char *text, size_t bytes)
{
	const int metric = sweep_metric_of(measure->expression.text);
	const char *unit = metric >= 0 ? sweep_metric_info[metric].unit : "";
	const bool has_prefix = *unit && strcmp(unit, "mm2") != 0 && strcmp(unit, "dB") != 0;
	if (isnan(value))
		snprintf(text, bytes, "-");
	else if (has_prefix)
		npl_si_text(value, !strcmp(unit, "1/s") ? "/s" : !strcmp(unit, "bytes") ? "B" : unit, text, bytes);
	else
		snprintf(text, bytes, "%.*g%s%s", fabs(value) >= 1e6 || fabs(value) < 1e-4 ? 4 : 6, value,
			 *unit ? " " : "", unit);
	return text;
}
