/* SPDX-License-Identifier: MIT
 *
 * Expressions over the parameters and the figures of a point that ran, such as objectives. */
#ifndef NPULAB_EXPLORE_EVALUATE_MEASURE_H
#define NPULAB_EXPLORE_EVALUATE_MEASURE_H

#include "explore/space/expression.h"
#include "point.h"

struct sweep_measure {
	struct sweep_expression expression;
	int metric[SWEEP_EXPRESSION_NAMES]; /* of each name; -1: it is a parameter */
	bool is_maximised;
};

/* Makes a measure of an expression; it is maximised where it is a figure alone of which more is better. */
struct sweep_measure sweep_measure_of(const struct sweep_expression *expression);
/* Returns its value. A parameter that the point does not have is unknown. */
double sweep_measure_value(const struct sweep_measure *measure, const struct sweep_parameter *parameter, int n,
			   const struct sweep_metrics *metrics);

#endif
