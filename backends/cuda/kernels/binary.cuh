/* SPDX-License-Identifier: MIT
 *
 * The functions of two operands; X is their type, Z the result's. Integers are computed modulo 2^64 and cut to their
 * width; a division by 0 gives 0. The macro FLOATS or SIGNED says which kind of number X is; without both it is
 * unsigned. */
#include "common.cuh"

typedef VALUE(X) value;
typedef unsigned long long wrapping;
#define FUNCTION_OF(name, expression)                                                                                  \
	DEVICE VALUE(Z) name(value x, value y)                                                                         \
	{                                                                                                              \
		return (VALUE(Z))(expression);                                                                         \
	}

#if defined(COMPARES)
FUNCTION_OF(equal, x == y)
FUNCTION_OF(less, x < y)
FUNCTION_OF(less_or_equal, x <= y)
FUNCTION_OF(greater, x > y)
FUNCTION_OF(greater_or_equal, x >= y)
FUNCTION_OF(both, (x != 0) & (y != 0))
FUNCTION_OF(either, (x != 0) | (y != 0))
FUNCTION_OF(one_of, (x != 0) != (y != 0))
#elif defined(FLOATS)
FUNCTION_OF(add, x + y)
FUNCTION_OF(subtract, x - y)
FUNCTION_OF(multiply, x *y)
FUNCTION_OF(quotient, x / y)
FUNCTION_OF(least, x < y || x != x ? x : y)
FUNCTION_OF(greatest, x > y || x != x ? x : y)
FUNCTION_OF(remainder_fmod, fmodf(x, y))
FUNCTION_OF(rectify, x < 0 ? x * y : x)
/* Squares and cubes are computed as products, because the error of powf grows with the result's exponent. */
FUNCTION_OF(power, y == 2 ? x * x : y == 3 ? x * x * x : powf(x, y))
#else
FUNCTION_OF(add, (wrapping)x + (wrapping)y)
FUNCTION_OF(subtract, (wrapping)x - (wrapping)y)
FUNCTION_OF(multiply, (wrapping)x *(wrapping)y)
FUNCTION_OF(least, x < y ? x : y)
FUNCTION_OF(greatest, x > y ? x : y)
#ifdef SIGNED
/* Division by -1 is a negation, because the division of the least number would overflow. */
FUNCTION_OF(quotient, y == 0 ? 0 : y == -1 ? (long long)(0 - (wrapping)x) : x / y)
FUNCTION_OF(remainder_fmod, y == 0 || y == -1 ? 0 : x % y)
FUNCTION_OF(remainder_mod, y == 0 || y == -1 ? 0 : x % y == 0 || (x ^ y) >= 0 ? x % y : x % y + y)
FUNCTION_OF(rectify, x < 0 ? (wrapping)x * (wrapping)y : (wrapping)x)
#else
FUNCTION_OF(quotient, y == 0 ? 0 : x / y)
FUNCTION_OF(remainder_fmod, y == 0 ? 0 : x % y)
FUNCTION_OF(remainder_mod, y == 0 ? 0 : x % y)
FUNCTION_OF(rectify, x)
FUNCTION_OF(shift_left, y < 8 * sizeof(value) ? (wrapping)x << y : 0)
FUNCTION_OF(shift_right, y < 8 * sizeof(value) ? (wrapping)x >> y : 0)
#endif
#endif

#ifdef FACTOR
#define OF(x, y) KEEP(Z, FUSED(FUNCTION(LOAD(X, x), LOAD(X, y)) / a.factor))
#else
#define OF(x, y) KEEP(Z, FUSED(FUNCTION(LOAD(X, x), LOAD(X, y))))
#endif
