/* SPDX-License-Identifier: MIT
 *
 * Values by their law (random.h); normally distributed ones by inversion: Wichura, "Algorithm AS 241: The Percentage
 * Points of the Normal Distribution", Applied Statistics 37(3), 1988, its version PPND16 (relative error about 1e-16).
 * One uniform value gives one normal value, so that any element can be made without those before it; only IEEE
 * operations, so that the bits are the same everywhere. Arrays are made in blocks by loops that the compiler turns into
 * vectors: the same operations on each element, and so the same bits. */
#include <math.h>
#include <string.h>

#include "core/base/parallel.h"
#include "exact_many.h"
#include "npulab/cpu_features.h"
#include "npulab/random.h"
#include "ops.h"

#define EACH __attribute__((always_inline)) static inline

/* Half the width of the middle, from which on either end counts as a tail, and where in a tail the second pair of
 * polynomials begins. */
#define MIDDLE 0.425
#define FAR    5.0

/* Returns a polynomial of degree 7, whose coefficient of x^7 is first in c. */
EACH double polynomial(const double c[8], double x)
{
	double sum = c[0];
	for (int i = 1; i < 8; i++)
		sum = sum * x + c[i];
	return sum;
}

/* The numerators and denominators of three quotients of polynomials: for the middle, for a tail up to FAR, and for a
 * tail beyond FAR. */
static const double near_top[8] = {7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
				   1.27045825245236838258e0, 3.64784832476320460504e0,  5.76949722146069140550e0,
				   4.63033784615654529590e0, 1.42343711074968357734e0};
static const double near_bottom[8] = {
	1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
	6.89767334985100004550e-1, 1.67638483018380384940e0,  2.05319162663775882187e0,  1.0};
static const double far_top[8] = {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
				  2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
				  5.46378491116411436990e0,  6.65790464350110377720e0};
static const double far_bottom[8] = {
	2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
	1.48753612908506148525e-2,  1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0};
static const double middle_top[8] = {2.50908092873012267270e3, 3.34305755835881281050e4, 6.72657709270087008530e4,
				     4.59219539315498714570e4, 1.37316937655094611250e4, 1.97159095030655144270e3,
				     1.33141667891784377450e2, 3.38713287279636660800e0};
static const double middle_bottom[8] = {
	5.22649527885285456100e3, 2.87290857357219426740e4, 3.93078958000927106100e4, 2.12137943015865958670e4,
	5.39419602142475110770e3, 6.87187007492057908300e2, 4.23133307016009112520e1, 1.0};

EACH double middle_quantile(double q)
{
	const double r = 0.180625 - q * q;
	return q * polynomial(middle_top, r) / polynomial(middle_bottom, r);
}

EACH double near_quantile(double r)
{
	return polynomial(near_top, r - 1.6) / polynomial(near_bottom, r - 1.6);
}

static double far_quantile(double r)
{
	return polynomial(far_top, r - FAR) / polynomial(far_bottom, r - FAR);
}

double npl_normal_quantile(double p)
{
	const double q = p - 0.5;
	if (fabs(q) <= MIDDLE)
		return middle_quantile(q);
	const double r = sqrt(-op_log(q < 0 ? p : 1.0 - p)), x = r <= FAR ? near_quantile(r) : far_quantile(r);
	return q < 0 ? -x : x;
}

#define BLOCK 256 /* values made together: 8 KiB of doubles */

/* Computes the next n outputs of splitmix64 (npl_random_u64) as numbers inside (0, 1). A whole number below 2^52
 * becomes a double as the lowest bits of 2^52, which are then taken away. */
EACH void each_draw(uint64_t state, int64_t n, double *restrict p)
{
	for (int64_t i = 0; i < n; i++) {
		uint64_t z = state + (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		z = ((z ^ (z >> 31)) >> 12) | UINT64_C(0x4330000000000000);
		double whole;
		memcpy(&whole, &z, sizeof whole);
		p[i] = ((whole - 0x1p52) + 0.5) * 0x1p-52;
	}
}

EACH void each_middle(const double *restrict p, int64_t n, double *restrict x)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = middle_quantile(p[i] - 0.5);
}

/* Replaces each r[i], the logarithm of a tail's probability, by sqrt(-r[i]), and stores the quantile near the tail in
 * x[i]. */
EACH void each_tail(double *restrict r, int64_t n, double *restrict x)
{
	for (int64_t i = 0; i < n; i++) {
		r[i] = sqrt(-r[i]);
		x[i] = near_quantile(r[i]);
	}
}

struct steps {
	void (*draw)(uint64_t state, int64_t n, double *p);
	void (*middle)(const double *p, int64_t n, double *x);
	void (*tail)(double *r, int64_t n, double *x);
};

/* Defines draw_ISA, middle_ISA and tail_ISA, the three loops compiled for one instruction set, and the table `steps` of
 * them. */
#define STEPS(isa, target_isa)                                                                                         \
	target_isa static void draw_##isa(uint64_t state, int64_t n, double *p)                                        \
	{                                                                                                              \
		each_draw(state, n, p);                                                                                \
	}                                                                                                              \
	target_isa static void middle_##isa(const double *p, int64_t n, double *x)                                     \
	{                                                                                                              \
		each_middle(p, n, x);                                                                                  \
	}                                                                                                              \
	target_isa static void tail_##isa(double *r, int64_t n, double *x)                                             \
	{                                                                                                              \
		each_tail(r, n, x);                                                                                    \
	}                                                                                                              \
	static const struct steps steps_##isa = {draw_##isa, middle_##isa, tail_##isa};

STEPS(plain, )
#if defined(__x86_64__)
STEPS(avx2, __attribute__((target("avx2"))))
STEPS(avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#endif

static const struct steps *fastest(void)
{
#if defined(__x86_64__)
	if (npl_cpu_has(NPL_CPU_AVX512F | NPL_CPU_AVX512DQ | NPL_CPU_AVX512VL))
		return &steps_avx512;
	if (npl_cpu_has(NPL_CPU_AVX2))
		return &steps_avx2;
#endif
	return &steps_plain;
}

/* Computes x[i] = npl_normal_quantile(p[i]) for a block: all as if they were in the middle, then those that are not. */
static void quantiles(const struct steps *steps, const double *p, int64_t n, double *x)
{
	int index[BLOCK] = {0};
	double r[BLOCK], tail_value[BLOCK];
	int64_t tails = 0;
	steps->middle(p, n, x);
	for (int64_t i = 0; i < n; i++) {
		const double complement = 1.0 - p[i]; /* without branches, which nothing could foretell */
		index[tails] = (int)i;
		r[tails] = p[i] < complement ? p[i] : complement;
		tails += fabs(p[i] - 0.5) > MIDDLE;
	}
	op_exact_many(OP_MANY_LOG, r, r, tails);
	steps->tail(r, tails, tail_value);
	for (int64_t j = 0; j < tails; j++) {
		const double value = r[j] <= FAR ? tail_value[j] : far_quantile(r[j]);
		x[index[j]] = copysign(value, p[index[j]] - 0.5);
	}
}

/* Computes elements first to first + n - 1 of the sequence, before they are rounded. n is at most BLOCK. */
static void make_block(const struct npl_random_law *law, int64_t first, int64_t n, double *values)
{
	const struct steps *steps = fastest();
	struct npl_random random = {.state = law->seed};
	double p[BLOCK];
	/* splitmix64 advances by this constant. */
	steps->draw(npl_random_u64(&random) + (uint64_t)first * 0x9e3779b97f4a7c15u, n, p);
	const double low = (double)law->low, width = (double)law->high - (double)law->low;
	if (law->uniform) {
		for (int64_t i = 0; i < n; i++)
			values[i] = low + width * p[i];
		return;
	}
	quantiles(steps, p, n, values);
	for (int64_t i = 0; i < n; i++)
		values[i] = (double)law->mean + (double)law->deviation * values[i];
}

#define PIECE 16384 /* elements, of a few nanoseconds each: fewer are made before another thread has woken up */

struct request {
	const struct npl_random_law *law;
	int64_t first;
	float *floats;
	double *doubles;
};

static void make_floats(void *context, int64_t begin, int64_t end)
{
	const struct request *m = context;
	double block[BLOCK];
	for (int64_t index = begin; index < end; index += BLOCK) {
		const int64_t n = end - index < BLOCK ? end - index : BLOCK;
		make_block(m->law, m->first + index, n, block);
		for (int64_t i = 0; i < n; i++)
			m->floats[index + i] = (float)block[i];
	}
	for (int64_t i = begin; i < end && m->law->uniform; i++) /* a p next to 1 may round to high */
		if (m->floats[i] >= m->law->high)
			m->floats[i] = nextafterf(m->law->high, m->law->low);
}

static void make_doubles(void *context, int64_t begin, int64_t end)
{
	const struct request *m = context;
	const double high = (double)m->law->high;
	for (int64_t index = begin; index < end; index += BLOCK)
		make_block(m->law, m->first + index, end - index < BLOCK ? end - index : BLOCK, m->doubles + index);
	for (int64_t i = begin; i < end && m->law->uniform; i++)
		if (m->doubles[i] >= high)
			m->doubles[i] = nextafter(high, (double)m->law->low);
}

void npl_random_floats(const struct npl_random_law *law, int64_t first, int64_t count, float *values)
{
	struct request request = {.law = law, .first = first, .floats = values};
	npl_parallel_pieces(count, PIECE, make_floats, &request);
}

void npl_random_doubles(const struct npl_random_law *law, int64_t first, int64_t count, double *values)
{
	struct request request = {.law = law, .first = first, .doubles = values};
	npl_parallel_pieces(count, PIECE, make_doubles, &request);
}
