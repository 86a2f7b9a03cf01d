/* SPDX-License-Identifier: MIT
 *
 * Seeded random values, the same on every machine: splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
#ifndef NPULAB_RANDOM_H
#define NPULAB_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct npl_random {
	uint64_t state;
};

static inline uint64_t npl_random_u64(struct npl_random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Returns a value in [-1, 1), a multiple of 2^-23, which is exact in a float. */
static inline float npl_random_unit(struct npl_random *random)
{
	return (float)(npl_random_u64(random) >> 40) * 0x1p-23f - 1.0f;
}

/* The law of random values that are described and not yet made: normally distributed or, if `uniform`, evenly
 * distributed over [low, high). A normal element i is mean + deviation * npl_normal_quantile(p) in double, rounded
 * once, with p = (u + 1/2) * 2^-52 and u the upper 52 bits of output i of the splitmix64 whose state is the first
 * output of a splitmix64 started from the seed. A uniform element is low + (high - low) * p, kept below high in its
 * type. */
struct npl_random_law {
	float mean, deviation;
	uint64_t seed;
	bool seeded; /* false: the caller that makes the values chooses the seed */
	bool uniform;
	float low, high;
};

/* Returns the x below which a standard normal value is with probability p, for p in (0, 1). */
double npl_normal_quantile(double p);
/* Make elements first..first + count - 1 of the sequence, in float and in double. */
void npl_random_floats(const struct npl_random_law *law, int64_t first, int64_t count, float *values);
void npl_random_doubles(const struct npl_random_law *law, int64_t first, int64_t count, double *values);

#ifdef __cplusplus
}
#endif

#endif
