/* SPDX-License-Identifier: MIT
 *
 * The segments of NFU-3 and the functions that they hold (segments.h).
 *
 * Limits: 0 for Relu, 6 for Relu6, and 12 and 24 because results of Relu6 are mostly at a scale of 2^-11, or 2^-12
 * where all were below 4 when calibrated: 6 is then the integer that is 12 or 24 at 2^-10. Given these four, no other
 * eleven multiples of 1/8 make the greater error of sigmoid and tanh smaller; 12 and 24 cost 0.0010 of it. Symmetry
 * would cost more.
 *
 * Coefficients: per segment the line with the least maximum error over its integers, product rounding included; of
 * several the one with the least sum of squares. So lines do not meet at limits, tanh(0) is 7 / 1024, sigmoid is from 5
 * to 1028 / 1024, and tanh is from -1026 to 1026 / 1024. */
#include "segments.h"

#include "npulab/layer.h"

#define ONE        (1 << NPL_Q16_FRACTION_BITS)
#define EIGHTHS(n) ((n) * (ONE / 8))

const int16_t dn_limits[DN_SEGMENTS - 1] = {EIGHTHS(-37), EIGHTHS(-22), EIGHTHS(-14), EIGHTHS(-10), EIGHTHS(-7),
					    EIGHTHS(-4),  EIGHTHS(0),   EIGHTHS(4),   EIGHTHS(7),   EIGHTHS(10),
					    EIGHTHS(15),  EIGHTHS(25),  EIGHTHS(48),  EIGHTHS(96),  EIGHTHS(192)};

const struct dn_function dn_sigmoid = {
	.a = {0, 27, 91, 153, 195, 228, 252, 252, 228, 195, 148, 75, 14, 0, 0, 0},
	.b = {5, 130, 307, 418, 471, 500, 512, 512, 524, 553, 613, 753, 944, 1023, 1024, 1024},
};

const struct dn_function dn_tanh = {
	.a = {0, 5, 51, 189, 398, 659, 947, 948, 663, 398, 173, 35, 1, 0, 0, 0},
	.b = {-1024, -1003, -881, -638, -377, -151, -7, 7, 148, 377, 660, 917, 1018, 1024, 1024, 1024},
};

const struct dn_function dn_relu = {.a = {0, 0, 0, 0, 0, 0, 0, ONE, ONE, ONE, ONE, ONE, ONE, ONE, ONE, ONE}};

/* Finds the segment that begins at x. Returns false where there is none. */
static bool segment_at(int32_t x, int *segment)
{
	for (int i = 0; i < DN_SEGMENTS - 1; i++)
		if (dn_limits[i] == x) {
			*segment = i + 1;
			return true;
		}
	return false;
}

bool dn_clip(int32_t low, int32_t high, struct dn_function *function)
{
	int first = 0, end = DN_SEGMENTS; /* the segments between the bounds */
	if (low > INT16_MIN && !segment_at(low, &first))
		return false;
	if (high < INT16_MAX && !segment_at(high, &end))
		return false;
	for (int i = 0; i < DN_SEGMENTS; i++) {
		bool inside = i >= first && i < end;
		function->a[i] = inside ? ONE : 0;
		function->b[i] = inside ? 0 : (int16_t)(i < first ? low : high);
	}
	return true;
}

int dn_segment(int16_t x)
{
	int i = 0;
	for (int half = DN_SEGMENTS / 2; half; half /= 2)
		i += x >= dn_limits[i + half - 1] ? half : 0;
	return i;
}

int16_t dn_interpolate(const struct dn_function *function, int16_t x)
{
	int i = dn_segment(x);
	int32_t product = (function->a[i] * x + ONE / 2) >> NPL_Q16_FRACTION_BITS;
	return dn_saturate((int64_t)product + function->b[i]);
}
