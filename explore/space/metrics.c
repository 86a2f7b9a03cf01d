/* SPDX-License-Identifier: MIT
 *
 * The list of figures (metrics.h). */
#include "metrics.h"

#include <string.h>

const struct sweep_metric_info sweep_metric_info[SWEEP_METRICS] = {
#define SWEEP_METRIC(name, unit, better, is_count, meaning) {#name, unit, meaning, better, is_count},
#include "metrics.def"
#undef SWEEP_METRIC
};

static const struct {
	const char *name, *stands_for;
} short_names[] = {{"time", "seconds"},  {"energy", "energy_j"}, {"edp", "edp_js"},
		   {"power", "power_w"}, {"area", "area_mm2"},   {"accuracy", "top1_accuracy"}};

const char *sweep_metric_full_name(const char *name)
{
	for (size_t i = 0; i < sizeof short_names / sizeof *short_names; i++)
		if (!strcmp(name, short_names[i].name))
			return short_names[i].stands_for;
	return name;
}

const char *sweep_metric_short_name(enum sweep_metric metric)
{
	for (size_t i = 0; i < sizeof short_names / sizeof *short_names; i++)
		if (!strcmp(sweep_metric_info[metric].name, short_names[i].stands_for))
			return short_names[i].name;
	return "";
}

int sweep_metric_of(const char *name)
{
	for (int m = 0; m < SWEEP_METRICS; m++)
		if (!strcmp(sweep_metric_info[m].name, sweep_metric_full_name(name)))
			return m;
	return -1;
}
