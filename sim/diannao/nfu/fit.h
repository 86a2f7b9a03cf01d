/* SPDX-License-Identifier: MIT
 *
 * Coefficients of NFU-3 (segments.h) for a function of one variable: per segment the line with the least maximum error
 * over its integers, the rounding of the product included; of several the one with the least sum of squares. No 16-bit
 * line does better. */
#ifndef NPULAB_SIM_DIANNAO_NFU_FIT_H
#define NPULAB_SIM_DIANNAO_NFU_FIT_H

#include "segments.h"

/* What is to be held, and for which inputs: x and f(x) as real numbers, from low / 1024 to high / 1024. */
struct dn_curve {
	double (*f)(const void *parameters, double x); /* from -31 to 31: lines do not saturate */
	const void *parameters;
	int low, high; /* of the integers, -32768 to 32767, low <= high */
};

/* Fills `function` and the largest error over low..high, as a real number. Segments below low are level, at f(low), and
 * those above high at f(high). False: out of memory. */
bool dn_fit(const struct dn_curve *curve, struct dn_function *function, double *error);

#endif
