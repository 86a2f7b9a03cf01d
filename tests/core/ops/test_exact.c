/* SPDX-License-Identifier: MIT
 *
 * Promises of exact.h: exp is within 2 units of the last place of double, log, expm1 and log1p within 3, all other
 * functions within 4, measured against libm in long double over their whole domains, where results are small and around
 * the places where a formula changes; powers with whole exponents are rounded once; limits, signs of zero and NaN are
 * libm's. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops/exact.h"
#include "core/ops/exact_many.h"
#include "npulab/cpu_features.h"
#include "tests/kit/support.h"

#define SEED 0x5eed3001u

static long double logistic(long double x)
{
	return 1.0L / (1.0L + expl(-x));
}

static long double softplus(long double x)
{
	return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static const struct function {
	const char *name;
	double (*ours)(double);
	long double (*theirs)(long double);
	double places;       /* the error allowed */
	double least, limit; /* binary exponents of the arguments */
	bool positive;
} functions[] = {
	{"exp", op_exp, expl, 2, -60, 9.46, false},
	{"log", op_log, logl, 3, -1073, 1023, true},
	{"expm1", op_expm1, expm1l, 3, -1060, 9.46, false},
	{"log1p", op_log1p, log1pl, 3, -1060, 1023, true},
	{"tanh", op_tanh, tanhl, 4, -1060, 6, false},
	{"sinh", op_sinh, sinhl, 4, -1060, 9.46, false},
	{"cosh", op_cosh, coshl, 4, -60, 9.46, false},
	{"asinh", op_asinh, asinhl, 4, -1060, 1023, false},
	{"acosh", op_acosh, acoshl, 4, 0, 1023, true},
	{"atanh", op_atanh, atanhl, 4, -1060, 0, false},
	{"sin", op_sin, sinl, 4, -1060, 62, false},
	{"cos", op_cos, cosl, 4, -60, 62, false},
	{"tan", op_tan, tanl, 4, -1060, 62, false},
	{"asin", op_asin, asinl, 4, -1060, 0, false},
	{"acos", op_acos, acosl, 4, -60, 0, false},
	{"atan", op_atan, atanl, 4, -1060, 1023, false},
	{"erf", op_erf, erfl, 4, -1000, 3, false},
	{"logistic", op_logistic, logistic, 4, -1060, 9.4, false},
	{"softplus", op_softplus, softplus, 4, -1060, 9.4, false},
};
#define N_FUNCTIONS (sizeof functions / sizeof functions[0])

/* The distance in units of the last place of what is right. */
static double places_off(double actual, long double expected)
{
	double nearest = (double)expected;
	if (actual == nearest || (isnan(actual) && isnan(nearest)))
		return 0;
	if (!isfinite(nearest) || !isfinite(actual))
		return INFINITY;
	double size = fabs(nearest), place = nextafter(size, INFINITY) - size;
	return (double)(fabsl((long double)actual - expected) / (long double)place);
}

static double unit(uint64_t *seed)
{
	return (double)(test_rng(seed) >> 11) / 9007199254740992.0;
}

static void check(const struct function *f, double x)
{
	double y = f->ours(x), off = places_off(y, f->theirs((long double)x));
	cr_assert(off <= f->places, "%s(%a) is %a, %g places from %La, seed %u", f->name, x, y, off,
		  f->theirs((long double)x), SEED);
}

Test(exact, functions_of_one_argument)
{
	uint64_t seed = SEED;
	for (size_t k = 0; k < N_FUNCTIONS; k++) {
		const struct function *f = &functions[k];
		for (int i = 0; i < 60000; i++) {
			double exponent = f->least + (f->limit - f->least) * unit(&seed);
			if (i % 2) /* most of what happens is around 1 */
				exponent = fmin(fmax(8 * unit(&seed) - 4, f->least), f->limit);
			double x = exp2(exponent);
			check(f, !f->positive && test_rng(&seed) & 256 ? -x : x);
		}
	}
}

/* Around the places where a formula changes, and the multiples of a quarter of pi, which cancel. */
Test(exact, functions_are_exact_around_their_seams)
{
	static const double at[] = {0x1p-54, 0x1p-28, 0.125, 0.29,   0.375, 0.4375, 0.5,   0.6875, 0.75,
				    1.0,     1.1875,  1.41,  1.4375, 2.0,   2.4375, 5.875, 0x1p28, 709.0};
	for (size_t k = 0; k < N_FUNCTIONS; k++) {
		const struct function *f = &functions[k];
		for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
			double x = nextafter(nextafter(at[i], 0), 0);
			for (int step = 0; step < 5; step++, x = nextafter(x, INFINITY)) {
				if (log2(x) <= f->limit && log2(x) >= f->least)
					check(f, x);
				if (log2(x) <= f->limit && log2(x) >= f->least && !f->positive)
					check(f, -x);
			}
		}
		for (int n = 1; n < 20000 && f->limit == 62; n++)
			check(f, n * 0.78539816339744830962);
	}
}

/* Large arguments: what libm's double functions give, whose reduction is exact too. */
Test(exact, sine_of_large_arguments)
{
	uint64_t seed = SEED + 1;
	for (int i = 0; i < 50000; i++) {
		double x = exp2(62 + 961.9 * unit(&seed));
		cr_assert(places_off(op_sin(x), (long double)sin(x)) <= 4.5, "sin(%a) is %a", x, op_sin(x));
		cr_assert(places_off(op_cos(x), (long double)cos(x)) <= 4.5, "cos(%a) is %a", x, op_cos(x));
		cr_assert(places_off(op_tan(x), (long double)tan(x)) <= 4.5, "tan(%a) is %a", x, op_tan(x));
	}
	/* the double nearest to a multiple of pi/2 in all its range (W. Kahan) */
	cr_assert(fabs(op_cos(6381956970095103.0 * 0x1p797) / -4.68716592425462761112e-19 - 1) < 1e-15);
}

Test(exact, functions_are_exact_at_their_limits)
{
	static const double at[] = {0.0,  -0.0, INFINITY, -INFINITY, NAN,    1.0,
				    -1.0, 2.0,  -2.0,     1e300,     -1e300, DBL_TRUE_MIN};
	for (size_t k = 0; k < N_FUNCTIONS; k++)
		for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
			const struct function *f = &functions[k];
			double y = f->ours(at[i]);
			long double expected = f->theirs((long double)at[i]);
			if (f->limit == 62 && fabs(at[i]) == 1e300)
				continue;
			cr_assert(places_off(y, expected) <= f->places, "%s(%g) is %g, expected %Lg", f->name, at[i], y,
				  expected);
			if (!isnan(y))
				cr_assert_eq(!signbit(y), !signbit(expected), "%s(%g)", f->name, at[i]);
		}
}

/* Over arrays, by every set of instructions that this computer has: the same bits, at any length. */
Test(exact, arrays_have_the_same_bits)
{
	enum { MAX_VALUES = 4003 };
	static const struct {
		enum op_many function;
		double (*one)(double);
	} functions_of_many[] = {{OP_MANY_EXP, op_exp},
				 {OP_MANY_EXPM1, op_expm1},
				 {OP_MANY_LOG, op_log},
				 {OP_MANY_SOFTPLUS, op_softplus},
				 {OP_MANY_LOGISTIC, op_logistic},
				 {OP_MANY_TANH, op_tanh},
				 {OP_MANY_ERF, op_erf}};
	static const double special[] = {0.0,   -0.0,   INFINITY, -INFINITY, NAN, 709.7,
					 709.9, -708.5, -745.0,   -745.3,    6.0, -6.0};
	static double x[MAX_VALUES], y[MAX_VALUES];
	uint64_t seed = SEED + 9;
	for (int i = 0; i < MAX_VALUES; i++)
		x[i] = i % 50 == 0 ? special[i / 50 % 12]
				   : (unit(&seed) - 0.5) * exp2(20 * unit(&seed) - (i % 3 ? 8.0 : 30.0));
	for (int kernels = 0, n = MAX_VALUES; kernels < OP_EXACT_KERNELS; kernels++)
		for (size_t f = 0; f < sizeof functions_of_many / sizeof *functions_of_many;
		     f++, n = 1 + (int)(test_rng(&seed) % MAX_VALUES)) {
			if (!npl_cpu_has(op_exact_all[kernels]->required_features))
				continue;
			op_exact_all[kernels]->run[functions_of_many[f].function](x, y, n);
			for (int i = 0; i < n; i++) {
				double expected = functions_of_many[f].one(x[i]);
				cr_assert(!memcmp(&y[i], &expected, sizeof expected) ||
						  (isnan(y[i]) && isnan(expected)),
					  "%s, function %zu of %a: %a, alone %a", op_exact_all[kernels]->name, f, x[i],
					  y[i], expected);
			}
		}
}

Test(exact, powers_are_exact)
{
	uint64_t seed = SEED + 2;
	for (int i = 0; i < 200000; i++) {
		double base = exp2(i % 2 ? 2 * unit(&seed) - 1 : 2000 * unit(&seed) - 1000);
		double exponent = (2 * unit(&seed) - 1) * exp2(i % 3 ? 6 : 12);
		if (i % 5 == 0)
			exponent = rint(exponent);
		if (i % 7 == 0 && exponent == rint(exponent))
			base = -base;
		long double expected = powl((long double)base, (long double)exponent);
		if (fabsl(expected) > (long double)DBL_MIN) {
			double off = places_off(op_power(base, exponent), expected);
			cr_assert(off <= 4, "%a ^ %a is %a, expected %La", base, exponent, op_power(base, exponent),
				  expected);
			if (exponent == rint(exponent) && fabs(exponent) <= 512)
				cr_assert(off <= 0.51, "%a ^ %g is off by %g places", base, exponent, off);
		} else {
			cr_assert(fabsl((long double)op_power(base, exponent) - expected) <=
				  2 * (long double)DBL_TRUE_MIN);
		}
	}
	for (int n = 0; n <= 22; n++) { /* the powers of ten that a double holds */
		char text[32];
		snprintf(text, sizeof text, "1e%d", n);
		cr_assert(op_power(10, n) == strtod(text, NULL) &&
			  op_power(-10, n) == (n % 2 ? -1 : 1) * op_power(10, n));
	}
}

Test(exact, powers_of_special_values)
{
	static const double at[] = {0.0,         -0.0,   1.0,   -1.0,     0.5,          -0.5,     2.0,
				    -2.0,        3.0,    -3.0,  INFINITY, -INFINITY,    NAN,      0x1p52 + 1,
				    -0x1p52 - 1, 0x1p60, 1e300, -1e300,   DBL_TRUE_MIN, -DBL_MAX, 1.5};
	const size_t n = sizeof at / sizeof at[0];
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			double expected = pow(at[i], at[k]), actual = op_power(at[i], at[k]);
			cr_assert(places_off(actual, (long double)expected) <= 4.5, "%g ^ %g is %g, expected %g", at[i],
				  at[k], actual, expected);
			if (!isnan(expected))
				cr_assert_eq(!signbit(actual), !signbit(expected), "%g ^ %g", at[i], at[k]);
		}
}
