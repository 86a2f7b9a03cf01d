/* SPDX-License-Identifier: MIT
 *
 * exp, log and functions of them, by IEEE double operations alone (exact.h). libm's own differ in the last bit between
 * versions and between CPUs with and without fused multiply-add; results here are the same everywhere. Argument
 * reductions as in fdlibm (Sun Microsystems); plain Taylor series, long enough for double. */
#include <math.h>

#include "exact.h"
#include "exact_lanes.h"

double op_exp(double x)
{
	return lane_exp(x);
}

double op_log(double x)
{
	return lane_log(x);
}

double op_expm1(double x)
{
	return lane_expm1(x);
}

double op_log1p(double x)
{
	return lane_log1p(x);
}

double op_softplus(double x)
{
	return lane_softplus(x);
}

double op_logistic(double x)
{
	return lane_logistic(x);
}

double op_tanh(double x)
{
	return lane_tanh(x);
}

double op_pow(double base, double exponent)
{
	if (exponent == 0.0)
		return 1.0;
	if (base == 0.0)
		return exponent > 0.0 ? 0.0 : INFINITY;
	return op_exp(exponent * op_log(base));
}

double op_sinh(double x)
{
	static const double c[] = {1.0 / 6,
				   1.0 / 120,
				   1.0 / 5040,
				   1.0 / 362880,
				   1.0 / 39916800,
				   1.0 / 6227020800,
				   1.0 / 1307674368000,
				   1.0 / 355687428096000,
				   1.0 / 121645100408832000.0}; /* x^21 / 21! < 2e-20 */
	double size = fabs(x), z = x * x;
	if (size < 1.0)
		return x + x * (z * op_polynomial(c, OP_TERMS(c), z));
	if (!(size < 720.0))
		return x * INFINITY;
	return copysign(lane_exp_times(size, -1) - lane_exp_times(-size, -1), x);
}

double op_cosh(double x)
{
	double size = fabs(x);
	if (!(size < 720.0))
		return size * INFINITY;
	return lane_exp_times(size, -1) + lane_exp_times(-size, -1);
}

#define LN2 6.93147180559945309417e-01

double op_asinh(double x)
{
	double a = fabs(x), z = a * a, y;
	if (!(a < 0x1p28))
		y = op_log(a) + LN2;
	else if (a > 2.0)
		y = op_log(2.0 * a + 1.0 / (sqrt(z + 1.0) + a));
	else
		y = op_log1p(a + z / (1.0 + sqrt(1.0 + z)));
	return copysign(y, x);
}

double op_acosh(double x)
{
	double t = x - 1.0;
	if (x > 0x1p28)
		return op_log(x) + LN2;
	if (x > 2.0)
		return op_log(2.0 * x - 1.0 / (x + sqrt(x * x - 1.0)));
	return x < 1.0 ? NAN : op_log1p(t + sqrt(2.0 * t + t * t));
}

double op_atanh(double x)
{
	double a = fabs(x), double_a = 2.0 * a;
	if (a >= 1.0)
		return a == 1.0 ? x * INFINITY : NAN;
	return copysign(0.5 * op_log1p(a < 0.5 ? double_a + double_a * a / (1.0 - a) : double_a / (1.0 - a)), x);
}
