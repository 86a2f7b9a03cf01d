/* SPDX-License-Identifier: MIT
 *
 * Powers of any pair of numbers (exact.h), by sums of two doubles, high + low, with the products of T. J. Dekker
 * (Numerische Mathematik 18, 1971): a whole exponent by repeated squaring, any other by e^(exponent * log base). */
#include <math.h>
#include <stdbool.h>

#include "exact.h"

#define MAX_WHOLE 512 /* 2^-512 squares without underflow */

struct pair {
	double high, low;
};

/* Returns high + low = a + b exactly, where |a| >= |b| or a is 0. */
static struct pair sum_of(double a, double b)
{
	double high = a + b;
	return (struct pair){high, b - (high - a)};
}

static struct pair halves(double a)
{
	double c = 134217729.0 * a, high = c - (c - a); /* 2^27 + 1: 26 digits each */
	return (struct pair){high, a - high};
}

/* Returns high + low = a * b exactly. */
static struct pair product_of(double a, double b)
{
	struct pair x = halves(a), y = halves(b);
	double high = a * b;
	return (struct pair){high, ((x.high * y.high - high) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

static struct pair times(struct pair a, struct pair b)
{
	struct pair y = product_of(a.high, b.high);
	return sum_of(y.high, y.low + (a.high * b.low + a.low * b.high));
}

/* Returns size^n for a finite size > 0 and 0 < |n| <= MAX_WHOLE. */
static double whole_power(double size, int n)
{
	int exponent, n_left = n < 0 ? -n : n;
	struct pair square = {frexp(size, &exponent), 0.0}, y = {1.0, 0.0};
	for (;;) {
		if (n_left & 1)
			y = times(y, square);
		n_left >>= 1;
		if (!n_left)
			break;
		square = times(square, square);
	}
	if (n > 0)
		return ldexp(y.high + y.low, exponent * n);
	double inverse = 1.0 / y.high;
	struct pair unit = product_of(inverse, y.high);
	return ldexp(inverse + inverse * (((1.0 - unit.high) - unit.low) - inverse * y.low), exponent * n);
}

/* Returns log size for a finite size > 0, within 2^-64 of it. */
static struct pair log_of(double size)
{
	static const double c[] = {1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13, 1.0 / 15,
				   1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25}; /* s^26 / 27 < 1e-21 */
	static const struct pair third = {1.0 / 3, 1.850371707708594e-17};
	int exponent;
	double m = frexp(size, &exponent);
	if (m < 0.70710678118654752440) {
		m *= 2.0;
		exponent--;
	}
	/* log m = 2 atanh s = 2 s (1 + z (1/3 + z/5 + ...)), z = s^2 <= 0.03 */
	struct pair denominator = sum_of(m > 1.0 ? m : 1.0, m > 1.0 ? 1.0 : m);
	double ratio = (m - 1.0) / denominator.high;
	struct pair product = product_of(ratio, denominator.high);
	struct pair s = sum_of(ratio,
			       (((m - 1.0) - product.high) - product.low - ratio * denominator.low) / denominator.high);
	struct pair z = times(s, s), series = sum_of(third.high, z.high * op_polynomial(c, OP_TERMS(c), z.high));
	series.low += third.low;
	struct pair correction = times(s, times(z, series));
	struct pair log_m = sum_of(2.0 * s.high, 2.0 * correction.high);
	log_m.low += 2.0 * (s.low + correction.low);
	if (!exponent)
		return sum_of(log_m.high, log_m.low);
	/* ln 2 is in two parts. The first has 32 digits, so that its product with the exponent is exact; it is the
	 * larger term. */
	struct pair low = product_of(exponent, 1.9082149292723212e-10);
	struct pair y = sum_of(exponent * 6.93147180369123816490e-01, log_m.high);
	return sum_of(y.high, y.low + (low.high + (low.low + log_m.low)));
}

static double positive_power(double size, double exponent)
{
	if (size == 1.0)
		return 1.0;
	if (exponent == 0.5)
		return sqrt(size);
	if (fabs(exponent) <= MAX_WHOLE && exponent == rint(exponent))
		return whole_power(size, (int)exponent);
	struct pair log = log_of(size);
	if (!(fabs(exponent * log.high) < 800.0))
		return exponent * log.high > 0.0 ? INFINITY : 0.0;
	struct pair y = times((struct pair){exponent, 0.0}, log);
	double power = op_exp(y.high);
	return power < INFINITY ? power + power * y.low : power;
}

double op_power(double base, double exponent)
{
	double size = fabs(base), y;
	bool is_whole = exponent == rint(exponent), is_odd = is_whole && fmod(exponent, 2.0) != 0.0;
	if (exponent == 0.0 || base == 1.0)
		return 1.0;
	if (base != base || exponent != exponent)
		return base + exponent;
	if (isinf(exponent))
		return size == 1.0 ? 1.0 : (size > 1.0) == (exponent > 0.0) ? INFINITY : 0.0;
	if (size == 0.0 || size == INFINITY)
		y = (size == 0.0) == (exponent > 0.0) ? 0.0 : INFINITY;
	else if (base < 0.0 && !is_whole)
		return NAN;
	else
		y = positive_power(size, exponent);
	return is_odd ? copysign(y, base) : y;
}
