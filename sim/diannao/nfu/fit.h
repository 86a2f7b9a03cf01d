/* SPDX-License-Identifier: MIT
 *
 * Finds coefficients of NFU-3 (segments.h) for a function of one variable. For each segment it finds the line with the
 * least maximum error over the segment's integers, including the rounding of the product; of several such lines, the
 * one with the least sum of squares. No 16-bit line does better. */
#ifndef NPULAB_SIM_DIANNAO_NFU_FIT_H
#define NPULAB_SIM_DIANNAO_NFU_FIT_H

#include "segments.h"

/* The function to be fitted, and its inputs: x and f(x) as real numbers, from low / 1024 to high / 1024. */
struct dn_curve {
	/* The values of f are from -31 to 31, so that lines do not saturate. */
	double (*f)(const void *parameters, double x);
	const void *parameters;
	int low, high; /* the range of the integers, -32768 to 32767, low <= high */
};

/* Fills `function` and the largest error over low..high, as a real number. Segments below low are level, at f(low), and
 * those above high at f(high). Returns false when memory runs out. */
bool dn_fit(const struct dn_curve *curve, struct dn_function *function, double *error);

#endif
