/* SPDX-License-Identifier: MIT
 *
 * Sobol's sequence (sobol.h), in the order of the index's own bits and not of its Gray code: the first 2^k elements are
 * the same ones. */
#include "sobol.h"

#define BITS 32

/* Joe and Kuo, "Constructing Sobol sequences with better two-dimensional projections", 2008, their table new-joe-kuo-6:
 * for each dimension after the first the degree of a primitive polynomial, its inner coefficients, and the first
 * direction numbers. */
static const struct {
	int degree;
	unsigned coefficients;
	unsigned first[7];
} table[SWEEP_SOBOL_DIMENSIONS - 1] = {
	{1, 0, {1}},
	{2, 1, {1, 3}},
	{3, 1, {1, 3, 1}},
	{3, 2, {1, 1, 1}},
	{4, 1, {1, 1, 3, 3}},
	{4, 4, {1, 3, 5, 13}},
	{5, 2, {1, 1, 5, 5, 17}},
	{5, 4, {1, 1, 5, 5, 5}},
	{5, 7, {1, 1, 7, 11, 19}},
	{5, 11, {1, 1, 5, 1, 1}},
	{5, 13, {1, 1, 1, 3, 11}},
	{5, 14, {1, 3, 5, 5, 31}},
	{6, 1, {1, 3, 3, 9, 7, 49}},
	{6, 13, {1, 1, 1, 15, 21, 21}},
	{6, 16, {1, 3, 1, 13, 27, 49}},
	{6, 19, {1, 1, 1, 15, 7, 5}},
	{6, 22, {1, 3, 1, 15, 13, 25}},
	{6, 25, {1, 1, 5, 5, 19, 61}},
	{7, 1, {1, 3, 7, 11, 23, 15, 103}},
	{7, 4, {1, 3, 7, 13, 13, 15, 69}},
};

/* Fills the direction numbers of a dimension, the first bit's first. */
static void find_directions(int dimension, uint32_t direction[BITS])
{
	for (int i = 0; i < BITS; i++)
		direction[i] = UINT32_C(1) << (BITS - 1 - i);
	if (!dimension)
		return;
	const int degree = table[dimension - 1].degree;
	const unsigned coefficients = table[dimension - 1].coefficients;
	for (int i = 0; i < degree; i++)
		direction[i] = table[dimension - 1].first[i] << (BITS - 1 - i);
	for (int i = degree; i < BITS; i++) {
		direction[i] = direction[i - degree] ^ (direction[i - degree] >> degree);
		for (int k = 1; k < degree; k++)
			if (coefficients >> (degree - 1 - k) & 1)
				direction[i] ^= direction[i - k];
	}
}

uint32_t sweep_sobol(int dimension, uint32_t index)
{
	uint32_t direction[BITS], value = 0;
	find_directions(dimension, direction);
	for (int i = 0; index; i++, index >>= 1)
		if (index & 1)
			value ^= direction[i];
	return value;
}
