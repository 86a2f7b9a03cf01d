/* SPDX-License-Identifier: MIT
 *
 * The figures of a point (metrics.def), and their names. */
#ifndef NPULAB_EXPLORE_SPACE_METRICS_H
#define NPULAB_EXPLORE_SPACE_METRICS_H

#include <stdbool.h>

enum sweep_metric {
#define SWEEP_METRIC(name, unit, better, is_count, meaning) SWEEP_METRIC_##name,
#include "metrics.def"
#undef SWEEP_METRIC
	SWEEP_METRICS
};

struct sweep_metric_info {
	const char *name, *unit, *meaning;
	int better;    /* -1: less is better; 1: more is; 0: neither */
	bool is_count; /* a whole number */
};
extern const struct sweep_metric_info sweep_metric_info[SWEEP_METRICS];

struct sweep_metrics {
	double value[SWEEP_METRICS]; /* NAN: not known */
};

/* Returns the metric of a name, or of a short name ("time" is seconds, "energy" energy_j, "edp" edp_js, "power"
 * power_w, "area" area_mm2, "accuracy" top1_accuracy); -1: there is none. */
int sweep_metric_of(const char *name);
/* Returns the name that a short name stands for, or the name itself. */
const char *sweep_metric_full_name(const char *name);
/* Returns the short name of a metric; "": it has none. */
const char *sweep_metric_short_name(enum sweep_metric metric);

#endif
