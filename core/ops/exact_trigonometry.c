/* SPDX-License-Identifier: MIT
 *
 * Sine, cosine, tangent and their inverses (exact.h). Arguments are reduced by 2/pi to as many digits as the largest
 * double needs (M. Payne and R. Hanek, SIGNUM Newsletter 18, 1983), then Taylor series; the steps of the arc tangent
 * are fdlibm's (Sun Microsystems). */
#include <math.h>
#include <stdint.h>

#include "core/base/arith.h"
#include "exact.h"

#define HALF_PI 1.57079632679489661923

/* 64 zeros, then the binary digits of 2/pi: digit d stands for 2^-d, the first word holds -63..0. */
static const uint64_t two_over_pi[] = {0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
				       0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
				       0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
				       0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
				       0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

/* Returns 64 binary digits of the table, beginning with its n-th. */
static uint64_t digits(int n)
{
	int word = n / 64, shift = n % 64;
	return shift ? two_over_pi[word] << shift | two_over_pi[word + 1] >> (64 - shift) : two_over_pi[word];
}

/* Reduces a finite x >= 1/2 to x = quadrant * pi/2 + *r modulo 2 pi, with |*r| <= pi/4. Returns the quadrant, 0 to
 * 3. */
static int reduce(double x, double *r)
{
	int exponent;
	uint64_t mantissa = (uint64_t)ldexp(frexp(x, &exponent), 53);
	/* The first digit that matters: earlier ones make whole turns, which are 4 quadrants. */
	int from = exponent - 53 - 1 + 63;
	npl_u128 low = (npl_u128)mantissa * digits(from + 128);
	npl_u128 middle = (npl_u128)mantissa * digits(from + 64) + (uint64_t)(low >> 64);
	/* The high word of the product, in units of 2^-62 quadrants. */
	uint64_t high = mantissa * digits(from) + (uint64_t)(middle >> 64);
	int quadrant = (int)(high >> 62);
	npl_u128 fraction = ((npl_u128)high << 64 | (uint64_t)middle) << 2 | (uint64_t)low >> 62;
	if (fraction >> 127) {
		quadrant++;
		*r = -(ldexp((double)(-fraction), -128) * HALF_PI);
	} else {
		*r = ldexp((double)fraction, -128) * HALF_PI;
	}
	return quadrant & 3;
}

static double sine(double r)
{
	static const double c[] = {-1.0 / 6,
				   1.0 / 120,
				   -1.0 / 5040,
				   1.0 / 362880,
				   -1.0 / 39916800,
				   1.0 / 6227020800,
				   -1.0 / 1307674368000,
				   1.0 / 355687428096000}; /* r^19 / 19! < 1e-19 */
	double z = r * r;
	return r + r * (z * op_polynomial(c, OP_TERMS(c), z));
}

static double cosine(double r)
{
	static const double c[] = {-1.0 / 2,
				   1.0 / 24,
				   -1.0 / 720,
				   1.0 / 40320,
				   -1.0 / 3628800,
				   1.0 / 479001600,
				   -1.0 / 87178291200,
				   1.0 / 20922789888000,
				   -1.0 / 6402373705728000}; /* r^20 / 20! < 4e-21 */
	double z = r * r;
	return 1.0 + z * op_polynomial(c, OP_TERMS(c), z);
}

/* Returns the sine of r + turns * pi/2 for r >= 0. */
static double turned_sine(double r, int quarters)
{
	if (!(r < INFINITY))
		return NAN;
	int quadrant = (r > 0.75 ? reduce(r, &r) : 0) + quarters;
	double y = quadrant & 1 ? cosine(r) : sine(r);
	return quadrant & 2 ? -y : y;
}

double op_sin(double x)
{
	double y = turned_sine(fabs(x), 0);
	return signbit(x) ? -y : y;
}

double op_cos(double x)
{
	return turned_sine(fabs(x), 1);
}

double op_tan(double x)
{
	double r = fabs(x);
	if (!(r < INFINITY))
		return NAN;
	int quadrant = r > 0.75 ? reduce(r, &r) : 0;
	double y = quadrant & 1 ? -cosine(r) / sine(r) : sine(r) / cosine(r);
	return signbit(x) ? -y : y;
}

double op_atan(double x)
{
	static const double c[] = {
		-1.0 / 3,  1.0 / 5,  -1.0 / 7,  1.0 / 9,  -1.0 / 11, 1.0 / 13, -1.0 / 15, 1.0 / 17,
		-1.0 / 19, 1.0 / 21, -1.0 / 23, 1.0 / 25, -1.0 / 27, 1.0 / 29, -1.0 / 31, 1.0 / 33,
		-1.0 / 35, 1.0 / 37, -1.0 / 39, 1.0 / 41, -1.0 / 43, 1.0 / 45}; /* t^47 / 47 < 3e-19 */
	double a = fabs(x), step = 0.0, t = a;
	if (a >= 2.4375) {
		step = HALF_PI;
		t = -1.0 / a;
	} else if (a >= 1.1875) {
		step = 9.82793723247329067985e-01; /* atan 1.5 */
		t = (a - 1.5) / (1.0 + 1.5 * a);
	} else if (a >= 0.6875) {
		step = HALF_PI / 2;
		t = (a - 1.0) / (a + 1.0);
	} else if (a >= 0.4375) {
		step = 4.63647609000806116214e-01; /* atan 0.5 */
		t = (2.0 * a - 1.0) / (2.0 + a);
	}
	double z = t * t;
	return copysign(step + (t + t * (z * op_polynomial(c, OP_TERMS(c), z))), x);
}

double op_asin(double x)
{
	return op_atan(x / sqrt((1.0 - x) * (1.0 + x)));
}

double op_acos(double x)
{
	return 2.0 * op_atan(sqrt((1.0 - x) / (1.0 + x)));
}
