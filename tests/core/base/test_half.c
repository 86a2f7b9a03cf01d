/* SPDX-License-Identifier: MIT
 *
 * Promises: float16 and bfloat16 to float32 and back give the same bits, for every finite pattern; between two
 * neighbours the nearer one is taken and of two equally near ones the even one; what is too large becomes infinity. */
#include <criterion/criterion.h>
#include <math.h>

#include "core/base/half.h"

static const struct format {
	float (*widen)(uint16_t);
	uint16_t (*narrow)(float);
	uint16_t infinity;
} formats[] = {{npl_f16_to_float, npl_f16_of_float, 0x7c00}, {npl_bf16_to_float, npl_bf16_of_float, 0x7f80}};

Test(half, every_pattern_survives_conversion_to_float_and_back)
{
	for (size_t f = 0; f < 2; f++)
		for (uint32_t bits = 0; bits < 0x10000; bits++) {
			float x = formats[f].widen((uint16_t)bits);
			if ((bits & 0x7fff) > formats[f].infinity)
				cr_assert(isnan(x) && isnan(formats[f].widen(formats[f].narrow(x))));
			else
				cr_assert_eq(formats[f].narrow(x), bits, "%zu: %04x", f, bits);
		}
}

Test(half, rounds_to_the_nearest_and_of_two_to_the_even)
{
	for (size_t f = 0; f < 2; f++)
		for (uint32_t bits = 0; bits + 1 < formats[f].infinity; bits++) {
			const float low = formats[f].widen((uint16_t)bits),
				    high = formats[f].widen((uint16_t)(bits + 1));
			const float middle = low + (high - low) / 2;
			const uint16_t even = (uint16_t)(bits + (bits & 1));
			cr_assert_eq(formats[f].narrow(middle), even, "%zu: %04x", f, bits);
			cr_assert_eq(formats[f].narrow(-middle), even | 0x8000);
			cr_assert_eq(formats[f].narrow(nextafterf(middle, 0)), bits);
			cr_assert_eq(formats[f].narrow(nextafterf(middle, INFINITY)), bits + 1);
		}
	cr_assert_eq(npl_f16_of_float(65519.99f), 0x7bff);
	cr_assert_eq(npl_f16_of_float(65520.0f), 0x7c00);
	cr_assert_eq(npl_f16_of_float(-1e30f), 0xfc00);
	cr_assert_eq(npl_bf16_of_float(3.4e38f), 0x7f80);
}

/* A double is rounded once. Through float32 this one would become a tie and be rounded the other way. */
Test(half, conversion_from_double_rounds_once)
{
	const double x = 1.0 + 0x1p-11 + 0x1p-40;
	cr_assert_eq(npl_f16_of_double(x), 0x3c01);
	cr_assert_eq(npl_f16_of_float((float)x), 0x3c00);
}
