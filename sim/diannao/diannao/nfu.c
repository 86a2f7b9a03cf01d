/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of the NFU on single values (Chen et al., ASPLOS 2014): what leaves NFU-2 and what
 * NFU-3 makes of it. NFU-1 and the adder trees are npl_q16_gemm, the functions of NFU-3 segments.c.
 *
 * The paper gives Q6.10 operands, truncated multipliers with a correction constant and 16-bit outputs of each
 * operator. It leaves open how wide sums are and what happens when they overflow. Here:
 *   - partial sums have sum_bits bits and wrap, so that their value does not depend on the order of additions,
 *     on Tn or on the tiling; wraps are counted;
 *   - leaving NFU-2, a shift brings them to the output's scale, ties rounded up (an added half, then a shift),
 *     and they saturate to 16 bits; before sigmoid and tanh it is plain Q6.10, and the results are shifted likewise;
 *   - averages are multiplied by a reciprocal in NFU-3: at most 1.5 units in the last place from the exact quotient. */
#include "nfu.h"

int64_t dn_wrap(int64_t sum, int64_t bits)
{
	return (int64_t)((uint64_t)sum << (64 - bits)) >> (64 - bits);
}

int64_t dn_rescale(int64_t value, int shift)
{
	const int64_t bound = (int64_t)1 << 32;
	if (shift > 61)
		return 0; /* |value| < 2^60 */
	if (shift > 0)
		return (value + ((int64_t)1 << (shift - 1))) >> shift;
	if (value > -bound && value < bound && shift >= -17)
		return value * ((int64_t)1 << -shift);
	return value > 0 ? bound : value < 0 ? -bound : 0; /* |value| * 2^17 is far outside too */
}

/* Divides by a multiplication: reciprocal / 2^bits is 1 / count, with 2^14 <= reciprocal < 2^15. So the reciprocal is a
 * positive 16-bit operand, exact for powers of two. */
int64_t dn_average(int64_t sum, int64_t count, int shift)
{
	int bits = 14;
	while ((int64_t)1 << (bits - 14) < count)
		bits++;
	int64_t reciprocal = (((int64_t)1 << bits) + count / 2) / count;
	return dn_rescale(sum * reciprocal, bits + shift);
}

/* Applies NFU-3 to a sum and counts saturations. Where the function is level beyond 16 bits, a saturation of the sum
 * does not matter. */
int16_t dn_nfu3_result(const struct dn_function *function, int result_shift, int64_t value,
		       struct dn_counters *counters)
{
	int16_t x = dn_saturate(value);
	bool saturates = x != value;
	counters->sum_saturations += saturates;
	if (!function) { /* the identity is exact in any segment */
		counters->output_saturations += saturates;
		return x;
	}
	int64_t scaled = dn_rescale(dn_interpolate(function, x), result_shift);
	int16_t y = dn_saturate(scaled);
	bool let_through = saturates && function->a[dn_segment(x)] != 0;
	counters->output_saturations += let_through || y != scaled;
	return y;
}
