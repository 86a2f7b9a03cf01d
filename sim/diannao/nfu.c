/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of the NFU on single values (Chen et al., ASPLOS 2014): what leaves NFU-2 and what
 * NFU-3 makes of it. NFU-1 and the adder trees are npl_q16_gemm.
 *
 * The paper gives Q6.10 operands, truncated multipliers with a correction constant and 16-bit outputs of each
 * operator. It leaves open how wide sums are and what happens when they overflow. Here:
 *   - partial sums have sum_bits bits and wrap, so that their value does not depend on the order of additions,
 *     on Tn or on the tiling; wraps are counted;
 *   - leaving NFU-2, a shift brings them to the output's scale, ties rounded up (an added half, then a shift),
 *     and they saturate to 16 bits;
 *   - averages are multiplied by a reciprocal in NFU-3: at most 1.5 units in the last place from the exact quotient. */
#include "dn.h"

/* Slope 0 below zero, 1 above: exact. */
#define ONE (1 << NPL_Q16_FRACTION_BITS)
const struct dn_segments dn_relu = {
	.a = {0, 0, 0, 0, 0, 0, 0, 0, ONE, ONE, ONE, ONE, ONE, ONE, ONE, ONE},
};

static int16_t saturate16(int64_t v)
{
	return v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : (int16_t)v;
}

int64_t dn_wrap(int64_t sum, int64_t bits)
{
	return (int64_t)((uint64_t)sum << (64 - bits)) >> (64 - bits);
}

int64_t dn_rescale(int64_t value, int shift)
{
	const int64_t far = (int64_t)1 << 32;
	if (shift > 61)
		return 0; /* |value| < 2^60 */
	if (shift > 0)
		return (value + ((int64_t)1 << (shift - 1))) >> shift;
	if (value > -far && value < far && shift >= -17)
		return value * ((int64_t)1 << -shift);
	return value > 0 ? far : value < 0 ? -far : 0; /* |value| * 2^17 is far outside too */
}

/* reciprocal / 2^bits is 1 / count, 2^14 <= reciprocal < 2^15: a positive 16-bit operand, exact for powers of two. */
int64_t dn_average(int64_t sum, int64_t count, int shift)
{
	int bits = 14;
	while ((int64_t)1 << (bits - 14) < count)
		bits++;
	int64_t reciprocal = (((int64_t)1 << bits) + count / 2) / count;
	return dn_rescale(sum * reciprocal, bits + shift);
}

/* The paper hard-wires the segments' limits without saying which: here 16 equal parts of the range, chosen by
 * the upper four bits. */
int16_t dn_interpolate(const struct dn_segments *segments, int16_t x)
{
	int i = (x + 32768) >> 12;
	int32_t product = (segments->a[i] * x + ONE / 2) >> NPL_Q16_FRACTION_BITS;
	return saturate16((int64_t)product + segments->b[i]);
}

int16_t dn_leave(const struct dn_work *work, int64_t value, struct dn_counters *counters)
{
	int16_t x = saturate16(value), y = work->relu ? dn_interpolate(&dn_relu, x) : x;
	counters->sum_saturations += x != value;
	counters->output_saturations += x != value && y == x;
	return y;
}
