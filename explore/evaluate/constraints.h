/* SPDX-License-Identifier: MIT
 *
 * Whether a point meets the constraints of its plan, and the figures that it has. Constraints that need no results are
 * looked at before the run, so that a machine that is too large costs no simulation. */
#ifndef NPULAB_EXPLORE_EVALUATE_CONSTRAINTS_H
#define NPULAB_EXPLORE_EVALUATE_CONSTRAINTS_H

#include "npulab/compare.h"
#include "settings.h"

/* What is known of a point. */
struct sweep_known {
	const struct sweep_point_settings *settings;
	const struct npl_device *device, *host;
	const struct sweep_metrics *metrics;
	bool has_run; /* all metrics are known, and not only those of the machine itself */
};

/* Returns the first constraint that is not met, or that an unknown figure leaves open; NULL: there is none. *violation
 * gets the sum of how far all of them are from being met (sweep_expression_violation). Constraints that need results
 * are left out before the run. */
const struct sweep_formula *sweep_broken_constraint(const struct sweep_formulas *constraints,
						    const struct sweep_known *known, double *violation);

/* Puts the figures of a machine that has not run into metrics; all others become unknown. */
void sweep_take_machine(const struct npl_device_info *info, struct sweep_metrics *metrics);
/* Adds the figures of a report: those of one batch where a figure is a sum. */
void sweep_take_figures(const struct npl_device_report *report, struct sweep_metrics *metrics);

#endif
