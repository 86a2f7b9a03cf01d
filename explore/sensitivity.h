/* SPDX-License-Identifier: MIT
 *
 * Which parameter moves which result: over the points of a sweep, how much of a result's variance follows from one
 * parameter alone (its first-order Sobol index, Sobol 1993, estimated by the means of each value's points), and by
 * which factor the result changes between the values of the parameter.
 *
 * Where a result is above 0 at all points, it counts by its logarithm, because costs of machines multiply. Where
 * each value of a parameter meets the same values of the others, as on a whole grid, the share is exact. Otherwise (a
 * sequence of few points, a search, points that a constraint took away) it is an estimate: the variance that chance
 * alone would give, (values - 1) / (points - 1), is taken away. */
#ifndef NPULAB_EXPLORE_SENSITIVITY_H
#define NPULAB_EXPLORE_SENSITIVITY_H

#include "results.h"

struct sweep_effect {
	const char *key; /* of the parameter */
	int n_values;    /* that points have */
	double share;    /* of the variance; 0 to 1; NAN: the result does not vary, or is not known */
	bool is_exact;   /* the share is; otherwise it is an estimate */
	const char
		*least_value; /* the value of the parameter with the least mean of the result, and with the greatest */
	const char *most_value;
	double least, most; /* these means; geometric ones where the result counts by its logarithm */
};

/* Finds the effect of each parameter with several values on a measure, the greatest share first. Only points that ran
 * and meet the constraints count. effect has room for SWEEP_KEYS; returns how many there are, or NPL_ENOMEM. */
int sweep_effects(const struct sweep_results *results, const struct sweep_measure *measure, struct sweep_effect *effect,
		  struct npl_err *err);

#endif
