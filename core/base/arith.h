/* SPDX-License-Identifier: MIT
 *
 * Arithmetic of whole numbers that every folder needs: the smaller and the greater of two, bounds, division that rounds
 * up, and the greatest common divisor.
 */
#ifndef NPULAB_CORE_BASE_ARITH_H
#define NPULAB_CORE_BASE_ARITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Holds products of two 64-bit numbers, and the dividends of such products. */
__extension__ typedef unsigned __int128 npl_u128;

/* Stores the product of two sizes. Returns false where it overflows: *product is then the product modulo 2^64. */
static inline bool npl_mul_size(size_t a, size_t b, size_t *product)
{
	return !__builtin_mul_overflow(a, b, product);
}

static inline int64_t npl_min_i64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t npl_max_i64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t npl_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t npl_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns the value, limited to low..high; low where low exceeds high. */
static inline int64_t npl_clamp_i64(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Returns a / b rounded towards plus infinity, for any a and a positive b, without an intermediate sum that could
 * overflow. */
static inline int64_t npl_div_up_i64(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

static inline uint64_t npl_div_up_u64(uint64_t a, uint64_t b)
{
	return a / b + (a % b > 0);
}

/* Returns the least multiple of a positive unit that is not below the value. */
static inline int64_t npl_round_up_i64(int64_t value, int64_t unit)
{
	return npl_div_up_i64(value, unit) * unit;
}

static inline uint64_t npl_round_up_u64(uint64_t value, uint64_t unit)
{
	return npl_div_up_u64(value, unit) * unit;
}

/* Returns the greatest common divisor of two numbers, both at least 0. */
static inline int64_t npl_gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

#endif
