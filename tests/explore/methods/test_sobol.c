/* SPDX-License-Identifier: MIT
 *
 * Promises of Sobol's sequence: its first elements are those of Bratley and Fox (ACM TOMS 14(1), 1988) with the
 * direction numbers of Joe and Kuo; each block of 2^k elements has one in each of 2^k parts of every axis; and every
 * pair of axes has the quality that those numbers are known for. */
#include "explore/methods/sobol.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The file sobol.cc of Joe and Kuo prints these for new-joe-kuo-6.21201, there in the order of the Gray code: the set
 * of the first 8 elements, here sorted by their first component. In eighths. */
Test(sobol, begins_as_published)
{
	static const unsigned eighths[8][3] = {{0, 0, 0}, {1, 5, 3}, {2, 6, 6}, {3, 3, 5},
					       {4, 4, 4}, {5, 1, 7}, {6, 2, 2}, {7, 7, 1}};
	bool met[8] = {false};
	for (uint32_t i = 0; i < 8; i++) {
		const unsigned first = sweep_sobol(0, i) >> 29;
		for (int d = 0; d < 3; d++)
			cr_assert_eq(sweep_sobol(d, i), eighths[first][d] << 29, "element %u, dimension %d: %u/8", i, d,
				     sweep_sobol(d, i) >> 29);
		met[first] = true;
	}
	for (int i = 0; i < 8; i++)
		cr_assert(met[i], "%d/8", i);
}

/* The first dimension is van der Corput's sequence: the bits of the index, mirrored. */
Test(sobol, has_van_der_corput_as_its_first_dimension)
{
	static const uint32_t first[] = {0, 0x80000000, 0x40000000, 0xc0000000, 0x20000000};
	for (uint32_t i = 0; i < 5; i++)
		cr_assert_eq(sweep_sobol(0, i), first[i]);
	for (uint32_t i = 0; i < 4096; i++) {
		const uint32_t index = i * UINT32_C(2654435761);
		uint32_t mirrored = 0;
		for (int b = 0; b < 32; b++)
			mirrored |= (index >> b & 1) << (31 - b);
		cr_assert_eq(sweep_sobol(0, index), mirrored, "%u", index);
	}
}

Test(sobol, meets_each_part_of_every_axis_once_in_each_block)
{
	static bool met[1 << 10];
	for (int d = 0; d < SWEEP_SOBOL_DIMENSIONS; d++)
		for (int k = 1; k <= 10; k++)
			for (uint32_t block = 0; block < 5; block++) {
				memset(met, 0, sizeof met);
				for (uint32_t i = 0; i < UINT32_C(1) << k; i++) {
					const uint32_t part = sweep_sobol(d, (block * block << k) + i) >> (32 - k);
					cr_assert_not(met[part], "dimension %d, block %u of 2^%d", d, block, k);
					met[part] = true;
				}
			}
}

/* Property A of Sobol (1976): of the first 2^d elements in d dimensions each of the 2^d parts in which every axis is
 * halved has one. It holds if the first digits of the direction numbers make a matrix that can be inverted. The numbers
 * of Joe and Kuo have it in all dimensions here; most others do not. */
Test(sobol, has_one_element_in_each_corner)
{
	for (int d = 1; d <= SWEEP_SOBOL_DIMENSIONS; d++) {
		uint32_t row[SWEEP_SOBOL_DIMENSIONS] = {0};
		for (int i = 0; i < d; i++)
			for (int j = 0; j < d; j++)
				row[i] |= (sweep_sobol(i, UINT32_C(1) << j) >> 31) << j;
		for (int j = 0; j < d; j++) {
			int pivot = j;
			while (pivot < d && !(row[pivot] >> j & 1))
				pivot++;
			cr_assert_lt(pivot, d, "%d dimensions", d);
			const uint32_t swapped = row[pivot];
			row[pivot] = row[j];
			row[j] = swapped;
			for (int i = j + 1; i < d; i++)
				row[i] ^= row[i] >> j & 1 ? row[j] : 0;
		}
	}
}

/* Returns the least t for which the first 2^m elements of two dimensions are a (t,m,2)-net: each rectangle of sides
 * 2^-p and 2^-(m-t-p) has 2^t of them. */
static int quality(int a, int b, int m)
{
	for (int t = 0; t <= m; t++) {
		bool is_net = true;
		for (int p = 0; p <= m - t && is_net; p++) {
			const int q = m - t - p;
			int *n = calloc((size_t)1 << (m - t), sizeof *n);
			cr_assert(n);
			for (uint32_t i = 0; i < UINT32_C(1) << m; i++) {
				const uint32_t x = p ? sweep_sobol(a, i) >> (32 - p) : 0;
				const uint32_t y = q ? sweep_sobol(b, i) >> (32 - q) : 0;
				n[x << q | y]++;
			}
			for (uint32_t i = 0; i < UINT32_C(1) << (m - t); i++)
				is_net = is_net && n[i] == 1 << t;
			free(n);
		}
		if (is_net)
			return t;
	}
	return m;
}

/* Dimensions 0 and 1 belong to the polynomials 1 and x + 1, of degrees 0 and 1: a (0,m,2)-net for every m
 * (Niederreiter, 1987). Of two others t is at most the sum of their degrees, less one each. */
Test(sobol, has_nets_in_pairs_of_low_dimensions)
{
	static const int degree[] = {1, 1, 2, 3, 3, 4, 4};
	for (int m = 1; m <= 9; m++) {
		cr_assert_eq(quality(0, 1, m), 0, "2^%d", m);
		for (int a = 0; a < 7; a++)
			for (int b = a + 1; b < 7; b++)
				cr_assert_leq(quality(a, b, m), degree[a] - 1 + degree[b] - 1,
					      "dimensions %d and %d, 2^%d", a, b, m);
	}
}
