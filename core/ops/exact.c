/* SPDX-License-Identifier: MIT
 *
 * exp, log and what comes of them by IEEE double operations alone. libm's own differ in the last bit between versions and between
 * CPUs with and without fused multiply-add; results here are the same everywhere. Argument reductions as in fdlibm
 * (Sun Microsystems); plain Taylor series, long enough for double. */
#include <math.h>

#include "ops.h"

/* ln 2 in two parts: n * LN2_HIGH is exact for |n| < 2^20. */
#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW  1.90821492927058770002e-10

double op_exp(double x)
{
	if (x != x)
		return x;
	if (x > 709.8)
		return INFINITY;
	if (x < -745.2)
		return 0.0;
	double n = floor(x * 1.44269504088896338700 + 0.5);
	double r = (x - n * LN2_HIGH) - n * LN2_LOW; /* |r| <= 0.347 */
	double sum = 1.0;
	for (int i = 14; i > 0; i--) /* r^15 / 15! < 1e-19 */
		sum = 1.0 + sum * r / i;
	return ldexp(sum, (int)n);
}

double op_log(double x)
{
	if (!(x > 0.0))
		return x == 0.0 ? -INFINITY : NAN;
	if (x == INFINITY)
		return x;
	int exponent;
	double m = frexp(x, &exponent);
	if (m < 0.70710678118654752440) {
		m *= 2.0;
		exponent--;
	}
	double s = (m - 1.0) / (m + 1.0); /* log m = 2 atanh s, |s| <= 0.172 */
	double z = s * s, sum = 0.0;
	for (int i = 21; i > 0; i -= 2) /* s^23 / 23 < 1e-18 */
		sum = sum * z + 1.0 / i;
	return exponent * LN2_HIGH + (2.0 * s * sum + exponent * LN2_LOW);
}

double op_logistic(double x)
{
	return 1.0 / (1.0 + op_exp(-x));
}

double op_tanh(double x)
{
	double size = fabs(x), e = op_exp(-2.0 * size), cube = size * size * size;
	/* the quotient loses the digits of a small x; there the series is within 2^-57 of x */
	double y = size < 0x1p-12 ? size - cube / 3.0 : (1.0 - e) / (1.0 + e);
	return copysign(y, x);
}

double op_pow(double base, double exponent)
{
	if (exponent == 0.0)
		return 1.0;
	if (base == 0.0)
		return exponent > 0.0 ? 0.0 : INFINITY;
	return op_exp(exponent * op_log(base));
}
