/* SPDX-License-Identifier: MIT
 *
 * Converts 32-bit sums to bytes in one pass: bias, Relu and the rule of ONNX QLinearConv (requantise.c), written once
 * for vectors of any width. A file that has included tile.h defines
 *     FINISH                        the function's name
 *     FLOATS                        the type of a vector of float
 *     load_partial(from, n)         a vector of the first n 32-bit values, 0 or more, and zeros
 *     store_bytes(out, words, n)    the lower bytes of the first n words; V(packs_epi32) has put these into their order
 * and includes this file. All results are converted, multiplied and rounded once, in float32, to nearest even. */
#ifndef NPULAB_CORE_INT8_FINISH_H
#define NPULAB_CORE_INT8_FINISH_H

#include "core/base/dtype.h"
#include "tile.h"

/* Values that all results share. Results before the zero point are in low..high; they are first clamped to one beyond,
 * which keeps the conversion in range and still shows that a value was outside. */
struct lanes {
	FLOATS floor;        /* the least sum: 0 for Relu, else the least integer */
	FLOATS least, most;  /* one beyond low..high */
	VEC low, high, zero; /* 16-bit words */
	FLOATS scale;        /* the scale of all results */
	VEC bias;
	const float *each_scale; /* NULL, or the scale of each result in the place of scale */
	const int32_t *each_bias;
	VEC wrapped, saturated; /* count the sums that wrapped and the results that saturation changed */
};

/* Returns LANES results before the zero point: sums plus bias, Relu, scaled and rounded. */
INLINE VEC finish_lanes(VEC acc, VEC bias, FLOATS scale, struct lanes *lanes)
{
	const VEC sum = V(add_epi32)(acc, bias);
	lanes->wrapped = V(add_epi32)(lanes->wrapped, V(srli_epi32)((acc ^ sum) & (bias ^ sum), 31));
	const FLOATS value = V(mul_ps)(V(max_ps)(V(cvtepi32_ps)(sum), lanes->floor), scale);
	return V(cvtps_epi32)(V(min_ps)(V(max_ps)(value, lanes->least), lanes->most));
}

/* Returns results i to i + n - 1 of a row before the zero point, at most LANES. Lanes beyond n have a scale of zero. */
INLINE VEC finish_vector(const int32_t *acc, int64_t i, int64_t n, struct lanes *lanes)
{
	const FLOATS common_scale = lanes->scale;
	FLOATS scale = common_scale;
	if (n <= 0)
		return V(set1_epi32)(0);
	if (lanes->each_scale)
		scale = (FLOATS)load_partial(lanes->each_scale + i, n);
	else if (n < LANES)
		scale = (FLOATS)load_partial(&common_scale, n);
	return finish_lanes(load_partial(acc + i, n),
			    lanes->each_bias ? load_partial(lanes->each_bias + i, n) : lanes->bias, scale, lanes);
}

/* Writes results i to i + n - 1 of a row, at most 2 * LANES. */
INLINE void finish_pair(const int32_t *acc, int64_t i, int64_t n, uint8_t *out, struct lanes *lanes)
{
	const VEC words = V(packs_epi32)(finish_vector(acc, i, n, lanes),
					 finish_vector(acc, i + LANES, n - LANES, lanes));
	const VEC clamped = V(min_epi16)(V(max_epi16)(words, lanes->low), lanes->high);
	const VEC excess = V(sub_epi16)(words, clamped); /* -1, 0 or 1 */
	lanes->saturated = V(add_epi32)(lanes->saturated, V(madd_epi16)(excess, excess));
	store_bytes(out + i, V(add_epi16)(clamped, lanes->zero), n);
}

TARGET void FINISH(const struct npl_int8_finish *f, const int32_t *acc, int64_t rows, int64_t count, uint8_t *out,
		   struct npl_int8_counts *counts)
{
	const int32_t low = npl_dtype_min(f->dtype) - f->zero_point,
		      high = (f->has_limit ? f->limit : npl_dtype_max(f->dtype)) - f->zero_point;
	const VEC none = V(set1_epi32)(0);
	struct lanes lanes = {.floor = V(set1_ps)(f->relu ? 0.0f : (float)INT32_MIN),
			      .least = V(set1_ps)((float)(low - 1)),
			      .most = V(set1_ps)((float)(high + 1)),
			      .low = V(set1_epi16)((short)low),
			      .high = V(set1_epi16)((short)high),
			      .zero = V(set1_epi16)((short)f->zero_point),
			      .scale = V(set1_ps)(*f->scale),
			      .bias = V(set1_epi32)(f->bias ? *f->bias : 0),
			      .each_scale = f->step ? f->scale : NULL,
			      .each_bias = f->step ? f->bias : NULL,
			      .wrapped = none,
			      .saturated = none};
	for (int64_t row = 0; row < rows; row++, acc += count, out += count) {
		int64_t i = 0;
		for (; i + 2 * LANES <= count; i += 2 * LANES)
			finish_pair(acc, i, 2 * LANES, out, &lanes);
		if (i < count)
			finish_pair(acc, i, count - i, out, &lanes);
	}
	counts->overflows += (uint32_t)sum_of_lanes(lanes.wrapped);
	counts->saturations += (uint32_t)sum_of_lanes(lanes.saturated);
}

#endif
