/* SPDX-License-Identifier: MIT
 *
 * Values by their law (random.h); normally distributed ones by inversion: Wichura, "Algorithm AS 241: The Percentage Points of the Normal
 * Distribution", Applied Statistics 37(3), 1988, its version PPND16 (relative error about 1e-16). One uniform value gives
 * one normal value, so that any element can be made without those before it; only IEEE operations, so that the bits
 * are the same everywhere. */
#include <math.h>

#include "npulab/random.h"
#include "ops.h"

/* Degree 7, the coefficient of x^7 first. */
static double polynomial(const double c[8], double x)
{
	double sum = c[0];
	for (int i = 1; i < 8; i++)
		sum = sum * x + c[i];
	return sum;
}

/* Far from the middle; tail = min(p, 1 - p). */
static double tail_quantile(double tail)
{
	static const double near_top[8] = {7.7454501427834140764e-4,  2.27238449892691845833e-2,
					   2.41780725177450611770e-1, 1.27045825245236838258e0,
					   3.64784832476320460504e0,  5.76949722146069140550e0,
					   4.63033784615654529590e0,  1.42343711074968357734e0};
	static const double near_bottom[8] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
					      1.51986665636164571966e-2, 1.48103976427480074590e-1,
					      6.89767334985100004550e-1, 1.67638483018380384940e0,
					      2.05319162663775882187e0,  1.0};
	static const double far_top[8] = {2.01033439929228813265e-7, 2.71155556874348757815e-5,
					  1.24266094738807843860e-3, 2.65321895265761230930e-2,
					  2.96560571828504891230e-1, 1.78482653991729133580e0,
					  5.46378491116411436990e0,  6.65790464350110377720e0};
	static const double far_bottom[8] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
					     1.84631831751005468180e-5,  7.86869131145613259100e-4,
					     1.48753612908506148525e-2,  1.36929880922735805310e-1,
					     5.99832206555887937690e-1,  1.0};
	double r = sqrt(-op_log(tail));
	if (r <= 5.0)
		return polynomial(near_top, r - 1.6) / polynomial(near_bottom, r - 1.6);
	return polynomial(far_top, r - 5.0) / polynomial(far_bottom, r - 5.0);
}

double npl_normal_quantile(double p)
{
	static const double top[8] = {2.50908092873012267270e3, 3.34305755835881281050e4, 6.72657709270087008530e4,
				      4.59219539315498714570e4, 1.37316937655094611250e4, 1.97159095030655144270e3,
				      1.33141667891784377450e2, 3.38713287279636660800e0};
	static const double bottom[8] = {
		5.22649527885285456100e3, 2.87290857357219426740e4, 3.93078958000927106100e4, 2.12137943015865958670e4,
		5.39419602142475110770e3, 6.87187007492057908300e2, 4.23133307016009112520e1, 1.0};
	double q = p - 0.5;
	if (fabs(q) <= 0.425) {
		double r = 0.180625 - q * q;
		return q * polynomial(top, r) / polynomial(bottom, r);
	}
	double x = tail_quantile(q < 0 ? p : 1.0 - p);
	return q < 0 ? -x : x;
}

static struct npl_random start(const struct npl_random_law *law, int64_t first)
{
	struct npl_random random = {.state = law->seed};
	random.state = npl_random_u64(&random);
	random.state += (uint64_t)first * 0x9e3779b97f4a7c15u; /* splitmix64 advances by this constant */
	return random;
}

static double next(const struct npl_random_law *law, struct npl_random *random)
{
	double p = ((double)(npl_random_u64(random) >> 12) + 0.5) * 0x1p-52;
	if (law->uniform)
		return (double)law->low + ((double)law->high - (double)law->low) * p;
	return (double)law->mean + (double)law->deviation * npl_normal_quantile(p);
}

void npl_random_floats(const struct npl_random_law *law, int64_t first, int64_t count, float *values)
{
	struct npl_random random = start(law, first);
	for (int64_t i = 0; i < count; i++)
		values[i] = (float)next(law, &random);
	for (int64_t i = 0; i < count && law->uniform; i++) /* a p next to 1 may round to high */
		if (values[i] >= law->high)
			values[i] = nextafterf(law->high, law->low);
}

void npl_random_doubles(const struct npl_random_law *law, int64_t first, int64_t count, double *values)
{
	struct npl_random random = start(law, first);
	for (int64_t i = 0; i < count; i++)
		values[i] = next(law, &random);
	for (int64_t i = 0; i < count && law->uniform; i++)
		if (values[i] >= (double)law->high)
			values[i] = nextafter((double)law->high, (double)law->low);
}
