/* SPDX-License-Identifier: MIT
 *
 * Between float32 and 8 bits (int8.h), by the rule of ONNX QuantizeLinear and DequantizeLinear. */
#include <math.h>

#include "npulab/int8.h"

bool npl_int8_quantise(const float *x, int64_t count, const struct npl_quant *quant, enum npl_dtype dtype, void *out,
		       uint64_t *saturations)
{
	float low = (float)npl_int8_min(dtype), high = (float)npl_int8_max(dtype), zero = (float)quant->zero_point;
	uint8_t *bytes = out;
	bool numbers = true;
	for (int64_t i = 0; i < count; i++) {
		float q = rintf(x[i] / quant->scale) + zero;
		numbers = numbers && q == q;
		*saturations += q < low || q > high;
		q = q > low ? q : low; /* NaN lands on the low end */
		bytes[i] = (uint8_t)(int32_t)(q < high ? q : high);
	}
	return numbers;
}

void npl_int8_dequantise(const void *in, int64_t count, const struct npl_quant *quant, enum npl_dtype dtype, float *out)
{
	const uint8_t *bytes = in;
	float table[256]; /* all there are */
	for (int i = 0; i < 256; i++)
		table[i] = (float)((dtype == NPL_I8 ? (int8_t)(uint8_t)i : i) - quant->zero_point) * quant->scale;
	for (int64_t i = 0; i < count; i++)
		out[i] = table[bytes[i]];
}
