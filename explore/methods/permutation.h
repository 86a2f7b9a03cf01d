/* SPDX-License-Identifier: MIT
 *
 * Random permutations of the numbers below n, of which one image is found without the others: a Feistel network of four
 * rounds over the next power of four, walked until the image is below n. */
#ifndef NPULAB_EXPLORE_METHODS_PERMUTATION_H
#define NPULAB_EXPLORE_METHODS_PERMUTATION_H

#include <stdint.h>

/* Returns the image of `number`, which is below n; n is at most 2^62. */
uint64_t sweep_permute(uint64_t number, uint64_t n, uint64_t seed);
/* Returns 64 random bits that follow from a and b. */
uint64_t sweep_mix(uint64_t a, uint64_t b);

#endif
