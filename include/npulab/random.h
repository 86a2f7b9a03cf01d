/* SPDX-License-Identifier: MIT
 *
 * Seeded random values, the same on every machine: splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
#ifndef NPULAB_RANDOM_H
#define NPULAB_RANDOM_H

#include <stdint.h>

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

/* In [-1, 1), a multiple of 2^-23: exact in a float. */
static inline float npl_random_unit(struct npl_random *random)
{
	return (float)(npl_random_u64(random) >> 40) * 0x1p-23f - 1.0f;
}

#endif
