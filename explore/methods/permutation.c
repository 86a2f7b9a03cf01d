/* SPDX-License-Identifier: MIT
 *
 * Permutations (permutation.h). */
#include "permutation.h"

#include "npulab/random.h"

#define ROUNDS 4

uint64_t sweep_mix(uint64_t a, uint64_t b)
{
	struct npl_random random = {.state = a};
	random.state = npl_random_u64(&random) ^ b;
	return npl_random_u64(&random);
}

uint64_t sweep_permute(uint64_t number, uint64_t n, uint64_t seed)
{
	int half_bits = 1;
	while (half_bits < 31 && (UINT64_C(1) << (2 * half_bits)) < n)
		half_bits++;
	const uint64_t mask = (UINT64_C(1) << half_bits) - 1;
	/* At least a quarter of the power of four is below n: the walk is short. */
	do {
		uint64_t left = number >> half_bits, right = number & mask;
		for (int round = 0; round < ROUNDS; round++) {
			const uint64_t mixed = left ^ (sweep_mix(seed + (uint64_t)round, right) & mask);
			left = right;
			right = mixed;
		}
		number = left << half_bits | right;
	} while (number >= n);
	return number;
}
