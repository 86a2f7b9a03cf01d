/* SPDX-License-Identifier: MIT
 *
 * NFU-3 (Chen et al., ASPLOS 2014): f(x) = a x + b by 16 segments. Their limits are hard-wired, one set for all
 * functions. a and b are in a small RAM; the segment of x chooses them for each value, and one multiplier and one adder
 * follow. All are 16-bit with 10 fraction bits; the product is rounded, ties up, and the sum saturates. The paper does
 * not give the limits.
 *
 * Over all 65536 inputs, with x and f(x) taken as plain Q6.10, the identity, Relu and Clips between limits, such as
 * Relu6, are exact. No error of sigmoid is greater than 0.00694, and none of tanh is greater than 0.00784.
 *
 * Functions that a user defines are not supported: no operator stands for them, and no instruction can call them.
 */
#ifndef NPULAB_SIM_DIANNAO_NFU_SEGMENTS_H
#define NPULAB_SIM_DIANNAO_NFU_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#define DN_SEGMENTS 16

/* Segment i holds x from limit i - 1 on and below limit i; the first and the last segment are open. */
extern const int16_t dn_limits[DN_SEGMENTS - 1];

/* The content of the RAM. */
struct dn_function {
	int16_t a[DN_SEGMENTS], b[DN_SEGMENTS];
};
extern const struct dn_function dn_sigmoid, dn_tanh, dn_relu;

/* Makes the function that clips x to low..high (low <= high), exactly, whatever x's scale. The least and greatest
 * 16-bit value are no bounds. Returns false where a bound is none of the limits. */
bool dn_clip(int32_t low, int32_t high, struct dn_function *function);

int dn_segment(int16_t x);
int16_t dn_interpolate(const struct dn_function *function, int16_t x);

static inline int16_t dn_saturate(int64_t v)
{
	return v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : (int16_t)v;
}

#endif
