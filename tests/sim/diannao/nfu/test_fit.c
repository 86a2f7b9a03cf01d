/* SPDX-License-Identifier: MIT
 *
 * Promise of sim/diannao/nfu/fit.h: the lines are the best 16-bit ones, by brute force over slopes on random curves;
 * sigmoid's and tanh's are found again; the error that it says is the error that there is. */
#include "sim/diannao/nfu/fit.h"
#include "tests/kit/sim/diannao/fixture.h"

static double sigmoid(const void *parameters, double x)
{
	(void)parameters;
	return 1 / (1 + exp(-x));
}

static double tangent(const void *parameters, double x)
{
	(void)parameters;
	return tanh(x);
}

static double power(const void *parameters, double t)
{
	return pow(t, -*(const double *)parameters);
}

/* Not convex, with a jump where the third is not 0. */
static double wave(const void *parameters, double x)
{
	const double *p = parameters;
	return p[0] * sin(p[1] * x) + (x > 1 ? p[2] : 0);
}

static int begin_of(int segment)
{
	return segment ? dn_limits[segment - 1] : -32768;
}

static int end_of(int segment)
{
	return segment < DN_SEGMENTS - 1 ? dn_limits[segment] : 32768;
}

/* 1024 f(x) less the rounded product of slope a, over x from low on and below high: its least and most. False: they are
 * more than `spread` apart. */
static bool left_over(const double *f, int low, int high, int a, double spread, double *least, double *limit)
{
	*least = INFINITY;
	*limit = -INFINITY;
	for (int x = low; x < high; x++) {
		double left = f[x + 32768] - floor(((double)a * x + 512) / 1024);
		*least = fmin(*least, left);
		*limit = fmax(*limit, left);
		if (*limit - *least > spread)
			return false;
	}
	return true;
}

/* The least largest error of slopes between the two. */
static double least_error(const double *f, int low, int high, int from, int to)
{
	double best = INFINITY, minimum, maximum;
	for (int a = from; a <= to; a++)
		if (left_over(f, low, high, a, 2 * best, &minimum, &maximum)) {
			double b = floor((minimum + maximum) / 2);
			best = fmin(best, fmin(fmax(maximum - b, b - minimum), fmax(maximum - b - 1, b + 1 - minimum)));
		}
	return best;
}

static double error_in(const double *f, const struct dn_function *function, int low, int high)
{
	double error = 0;
	for (int x = low; x < high; x++)
		error = fmax(error, fabs(f[x + 32768] - dn_interpolate(function, (int16_t)x)));
	return error;
}

static void check_curve(const struct dn_curve *curve, const char *subject)
{
	static double f[65536];
	struct dn_function function;
	double said, maximum = 0;
	for (int x = curve->low; x <= curve->high; x++)
		f[x + 32768] = 1024 * curve->f(curve->parameters, x / 1024.0);
	cr_assert(dn_fit(curve, &function, &said));
	for (int i = 0; i < DN_SEGMENTS; i++) {
		int low = begin_of(i) < curve->low ? curve->low : begin_of(i);
		int end = end_of(i) > curve->high ? curve->high + 1 : end_of(i);
		if (low >= end) {
			double nearest = f[(low > curve->high ? curve->high : curve->low) + 32768];
			cr_assert(function.a[i] == 0 && function.b[i] == lrint(nearest), "%s: segment %d", subject, i);
			continue;
		}
		double error = error_in(f, &function, low, end);
		double best = least_error(f, low, end, -2600, 2600);
		cr_assert(error < best + 1e-6, "%s, segment %d: %d x + %d is %g off, others %g", subject, i,
			  function.a[i], function.b[i], error, best);
		maximum = fmax(maximum, error);
	}
	cr_assert(fabs(said - maximum / 1024) < 1e-9, "%s: says %g, is %g", subject, said, maximum / 1024);
}

Test(diannao_fit, sigmoid_and_tanh_are_found_again)
{
	static const struct {
		double (*f)(const void *, double);
		const struct dn_function *function;
		double limit;
	} of[] = {{sigmoid, &dn_sigmoid, 0.00694}, {tangent, &dn_tanh, 0.00784}};
	for (int i = 0; i < 2; i++) {
		struct dn_function found;
		double error;
		cr_assert(dn_fit(&(struct dn_curve){of[i].f, NULL, -32768, 32767}, &found, &error));
		cr_assert(error <= of[i].limit, "%d: %g", i, error);
		cr_assert_eq(memcmp(&found, of[i].function, sizeof found), 0, "function %d", i);
	}
}

Test(diannao_fit, no_line_does_better)
{
	uint64_t rng = 11;
	char subject[80];
	for (int i = 0; i < (TEST_SANITIZED ? 1 : 4); i++) {
		double beta = (double)test_range(&rng, 0, 2000) / 1000,
		       bias = (double)test_range(&rng, 800, 4096) / 1024;
		const double p[] = {(double)test_range(&rng, 1, 300) / 100, (double)test_range(&rng, 1, 300) / 1000,
				    (double)test_range(&rng, -2, 2) * 0.1};
		snprintf(subject, sizeof subject, "t^-%g from %g", beta, bias);
		check_curve(&(struct dn_curve){power, &beta, (int)(bias * 1024), i % 2 ? 32767 : (int)(bias * 1500)},
			    subject);
		snprintf(subject, sizeof subject, "%g sin %g x, %g", p[0], p[1], p[2]);
		check_curve(
			&(struct dn_curve){wave, p, (int)test_range(&rng, -32768, 0), (int)test_range(&rng, 0, 32767)},
			subject);
	}
}
