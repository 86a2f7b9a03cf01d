/* SPDX-License-Identifier: MIT
 *
 * Functions of exact.h without branches, so that a loop over them is done in vectors: the same operations in the same
 * order whatever the width, and so the same bits (products are never fused with sums: -ffp-contract=off).
 */
#ifndef NPULAB_CORE_OPS_EXACT_LANES_H
#define NPULAB_CORE_OPS_EXACT_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "exact.h"

#define LANE static inline __attribute__((always_inline)) double

/* The two parts of ln 2, of which n * LN2_HIGH is exact for |n| < 2^20. Arguments are reduced as in fdlibm (Sun
 * Microsystems). */
#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW  1.90821492927058770002e-10

#define WHOLE 0x1.8p52 /* added to a double below 2^51 it leaves that rounded to a whole number, in the lowest bits */

/* The coefficients 1 / k! of the series of e^x. For |x| <= 0.347 the first 15 are enough (x^15 / 15! < 1e-19), below 1
 * all of them are (x^21 / 21! < 2e-20). */
static const double lane_series[] = {1.0,
				     1.0,
				     1.0 / 2,
				     1.0 / 6,
				     1.0 / 24,
				     1.0 / 120,
				     1.0 / 720,
				     1.0 / 5040,
				     1.0 / 40320,
				     1.0 / 362880,
				     1.0 / 3628800,
				     1.0 / 39916800,
				     1.0 / 479001600,
				     1.0 / 6227020800,
				     1.0 / 87178291200,
				     1.0 / 1307674368000,
				     1.0 / 20922789888000,
				     1.0 / 355687428096000,
				     1.0 / 6402373705728000,
				     1.0 / 121645100408832000.0,
				     1.0 / 2432902008176640000.0};

static inline uint64_t lane_bits(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits;
}

LANE lane_of(uint64_t bits)
{
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

/* Returns condition ? a : b by bits, since the compiler would make a branch of a choice between computed doubles. */
LANE lane_choose(int condition, double a, double b)
{
	uint64_t mask = condition ? ~UINT64_C(0) : 0;
	return lane_of((lane_bits(a) & mask) | (lane_bits(b) & ~mask));
}

/* Returns 2^n, where n is the exponent of a normal double. */
LANE lane_two_to(uint64_t n)
{
	return lane_of((n + 1023) << 52);
}

/* Returns e^x * 2^power. The power of two is applied as two factors. Beyond the ends their product overflows or
 * vanishes by itself; the first factor never does, so that a subnormal result is rounded once. A NaN stays a NaN. */
LANE lane_exp_times(double x, int power)
{
	x = x > 720.0 ? 720.0 : x;
	x = x < -760.0 ? -760.0 : x;
	double shifted = x * 1.44269504088896338700 + WHOLE, n = shifted - WHOLE;
	double r = (x - n * LN2_HIGH) - n * LN2_LOW; /* |r| <= 0.347 */
	uint64_t whole = lane_bits(shifted) - lane_bits(WHOLE) + (uint64_t)power, half = ((whole + 4096) >> 1) - 2048;
	return op_polynomial(lane_series, 15, r) * lane_two_to(half) * lane_two_to(whole - half);
}

LANE lane_exp(double x)
{
	return lane_exp_times(x, 0);
}

/* Returns e^x - 1. */
LANE lane_expm1(double x)
{
	double x2 = x * x, x5 = x2 * x2 * x;
	/* The series has 19 terms and is evaluated in two parts, since the compiler unrolls a loop of 16 terms at
	 * most. */
	double series = op_polynomial(lane_series + 2, 10, x) + x5 * x5 * op_polynomial(lane_series + 12, 9, x);
	double small = x + x2 * series, large = lane_exp(x) - 1.0;
	/* For x = -0 the sum is +0, and the result must be -0. */
	return copysign(lane_choose(fabs(x) < 1.0, small, large), x);
}

/* Splits a positive finite x into m * 2^exponent, with m from sqrt(1/2) to sqrt(2). Returns m. */
LANE lane_split(double x, double *exponent)
{
	const int small = x < 0x1p-1022; /* subnormal */
	const uint64_t bits = lane_bits(lane_choose(small, x * 0x1p54, x)), fraction = UINT64_C(0xfffffffffffff);
	const double half = lane_of((bits & fraction) | lane_bits(0.5)); /* 1/2 <= half < 1 */
	const int low = half < 0.70710678118654752440;
	/* The exponent's bits, as the lowest bits of 2^52, make the double 2^52 + exponent. */
	const double n = lane_of((bits >> 52) | lane_bits(0x1p52)) - 0x1p52;
	*exponent = n - (lane_choose(small, 1076.0, 1022.0) + lane_choose(low, 1.0, 0.0));
	return lane_choose(low, 2.0 * half, half);
}

/* Returns 2 atanh s for |s| <= 0.172, which is log((1 + s) / (1 - s)). What its series leaves out, s^23 / 23 and on, is
 * below 1e-18. */
LANE lane_log_series(double s)
{
	static const double c[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
				   1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
	return 2.0 * s * op_polynomial(c, 11, s * s);
}

/* Returns log x where x is no positive finite number, else `logarithm`. */
LANE lane_log_limits(double x, double logarithm)
{
	logarithm = lane_choose(x < INFINITY, logarithm, x); /* the logarithm of infinity or of a NaN is x itself */
	logarithm = lane_choose(x < 0.0, (double)NAN, logarithm);
	return lane_choose(x == 0.0, -INFINITY, logarithm);
}

LANE lane_log(double x)
{
	double exponent, m = lane_split(x, &exponent);
	return lane_log_limits(x, exponent * LN2_HIGH + (lane_log_series((m - 1.0) / (m + 1.0)) + exponent * LN2_LOW));
}

/* Returns log(1 + x). */
LANE lane_log1p(double x)
{
	const int inner = (x > -0.29) & (x < 0.41);
	double u = 1.0 + x, remainder = x - (u - 1.0), exponent, m = lane_split(u, &exponent);
	double series = lane_log_series(lane_choose(inner, x, m - 1.0) / lane_choose(inner, 2.0 + x, m + 1.0));
	double large = lane_log_limits(u, exponent * LN2_HIGH + (series + exponent * LN2_LOW));
	large = lane_choose(u - 1.0 == x, large, large + remainder / u);
	return lane_choose(fabs(x) < 0x1p-54, x, lane_choose(inner, series, large));
}

/* Returns log(1 + e^x). */
LANE lane_softplus(double x)
{
	return lane_choose(x > 0.0, x, 0.0) + lane_log1p(lane_exp(-fabs(x)));
}

/* Returns the logistic function: 1 / (1 + e^-x) for x >= 0, and e^x / (1 + e^x) for x < 0, so that the exponential
 * never overflows. */
LANE lane_logistic(double x)
{
	double e = lane_exp(-fabs(x));
	return lane_choose(x < 0.0, e, 1.0) / (1.0 + e);
}

LANE lane_tanh(double x)
{
	double t = lane_expm1(-2.0 * fabs(x));
	return copysign(t / (2.0 + t), x);
}

/* erf is its Taylor series about the nearest quarter c. The derivative of erf, g(x) = 2/sqrt(pi) e^(-x^2), satisfies g'
 * = -2 x g, which gives each coefficient b of g(c + h) from the two before. */
/* erf(c) and g(c) at c = 0, 1/4 ... 6 are entries 0 to 24. The entries after them are 0: only a NaN can index them. */
extern const double op_erf_at[32], op_erf_slope_at[32];

/* One term of the series. The terms are written out, since a loop here would keep the loop around it from being
 * vectorised. */
#define ERF_TERM(n)                                                                                                    \
	next = (c * b + before) * (-2.0 / n);                                                                          \
	before = b;                                                                                                    \
	b = next;                                                                                                      \
	power *= h;                                                                                                    \
	sum += b * power * (1.0 / (n + 1));

LANE lane_erf(double x)
{
	double a = fabs(x) > 6.0 ? 6.0 : fabs(x); /* 1 - erf(6) < 2^-54; NaN stays */
	double shifted = 4.0 * a + WHOLE, c = 0.25 * (shifted - WHOLE), h = a - c;
	uint64_t k = lane_bits(shifted) & 31;
	double before = 0.0, b = op_erf_slope_at[k], power = 1.0, sum = b, next;
	ERF_TERM(1)
	ERF_TERM(2)
	ERF_TERM(3)
	ERF_TERM(4)
	ERF_TERM(5)
	ERF_TERM(6)
	ERF_TERM(7)
	ERF_TERM(8)
	ERF_TERM(9)
	ERF_TERM(10)
	ERF_TERM(11)
	ERF_TERM(12)
	ERF_TERM(13) /* h <= 1/8: what is left out is below 1e-18 */
	return copysign(op_erf_at[k] + h * sum, x);
}

#endif
