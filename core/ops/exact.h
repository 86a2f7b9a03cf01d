/* SPDX-License-Identifier: MIT
 *
 * Functions of libm whose last bit would depend on its version and the CPU, computed in plain double arithmetic: the
 * same results everywhere. In units of the last place of double, where the result is normal: within 2 for exp, within 3
 * for log, expm1 and log1p, within 4 for the others (tests/core/ops/test_exact.c compares them with libm in long
 * double); the limits, signs of zero and NaN are libm's. Rounded to float, results are the nearest float, or its
 * neighbour where the exact result is almost half way between both.
 */
#ifndef NPULAB_CORE_OPS_EXACT_H
#define NPULAB_CORE_OPS_EXACT_H

/* Functions of exact.c. */
double op_exp(double x);
double op_log(double x);
double op_expm1(double x);    /* e^x - 1 */
double op_log1p(double x);    /* log(1 + x) */
double op_softplus(double x); /* log(1 + e^x) */
double op_logistic(double x); /* 1 / (1 + e^-x) */
double op_tanh(double x);
double op_pow(double base, double exponent); /* for numbers of ordinary size; NAN for a negative base */
double op_sinh(double x);
double op_cosh(double x);
double op_asinh(double x);
double op_acosh(double x);
double op_atanh(double x);

/* Functions of exact_trigonometry.c. Any x, however large, is taken exactly as it is. */
double op_sin(double x);
double op_cos(double x);
double op_tan(double x);
double op_asin(double x);
double op_acos(double x);
double op_atan(double x);

/* The function of exact_erf.c. */
double op_erf(double x);

/* exact_power.c: returns pow as C defines it, for every pair. Powers with a whole exponent up to 512 are rounded once,
 * so that they are exact where they can be. */
double op_power(double base, double exponent);

/* Returns c[0] + c[1] z + ... + c[n - 1] z^(n - 1). The loop is unrolled where n is a constant. Inlining lets loops
 * over exact_lanes.h become vectors. */
static inline __attribute__((always_inline)) double op_polynomial(const double *c, int n, double z)
{
	double sum = c[n - 1];
	for (int i = n - 2; i >= 0; i--)
		sum = sum * z + c[i];
	return sum;
}

#define OP_TERMS(coefficients) (int)(sizeof(coefficients) / sizeof *(coefficients))

#endif
