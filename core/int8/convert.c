/* SPDX-License-Identifier: MIT
 *
 * Converts between float32 and 8 bits (int8.h), by the rule of ONNX QuantizeLinear and DequantizeLinear. */
#include "int8.h"

#include "core/base/dtype.h"

bool npl_int8_quantise(const float *x, int64_t count, const struct npl_quant *quant, enum npl_dtype dtype, void *out,
		       uint64_t *saturations)
{
	const float zero = (float)quant->zero_point, low = (float)npl_dtype_min(dtype) - zero,
		    high = (float)npl_dtype_max(dtype) - zero, scale = quant->scale;
	const float rounder = 12582912.0f; /* 1.5 * 2^23: a sum with it has no fraction bits, and is rounded to even */
	uint8_t *bytes = out;
	uint32_t not_numbers = 0;
	while (count > 0) {
		const int64_t chunk = count < 1 << 20 ? count : 1 << 20; /* as many values as a 32-bit count holds */
		uint32_t clipped = 0;
		for (int64_t i = 0; i < chunk; i++) {
			float q = x[i] / scale;
			not_numbers |= q != q;
			q = q > low - 1 ? q : low - 1; /* one beyond the range, so that it is counted; a NaN also */
			q = q < high + 1 ? q : high + 1;
			q = (q + rounder) - rounder;
			clipped += (uint32_t)(q < low) + (uint32_t)(q > high);
			q = q > low ? q : low;
			bytes[i] = (uint8_t)(int32_t)((q < high ? q : high) + zero);
		}
		*saturations += clipped;
		x += chunk;
		bytes += chunk;
		count -= chunk;
	}
	return !not_numbers;
}

void npl_int8_dequantise(const void *in, int64_t count, const struct npl_quant *quant, enum npl_dtype dtype, float *out)
{
	const uint8_t *bytes = in;
	float table[256]; /* one for each byte */
	for (int i = 0; i < 256; i++)
		table[i] = (float)((dtype == NPL_I8 ? (int8_t)(uint8_t)i : i) - quant->zero_point) * quant->scale;
	for (int64_t i = 0; i < count; i++)
		out[i] = table[bytes[i]];
}
