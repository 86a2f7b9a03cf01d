/* SPDX-License-Identifier: MIT
 *
 * Converts 32-bit accumulators to 8 bits (int8.h): bias, then the rule of ONNX QLinearConv, which the kernels do in one
 * pass (finish.h). */
#include <string.h>

#include "kernels.h"

float npl_int8_scale(float x_scale, float w_scale, float y_scale)
{
	float product = x_scale * w_scale;
	return product / y_scale;
}

/* An addition wraps if the sum's sign differs from those of both terms. This test is written so that the compiler
 * vectorises it. */
uint64_t npl_int8_add_bias(int32_t *acc, int64_t count, const int32_t *bias, int step)
{
	uint64_t wrapped = 0;
	for (int64_t begin = 0; begin < count;) {
		/* These are as many values as a 32-bit count holds. */
		int64_t end = count - begin < 1 << 20 ? count : begin + (1 << 20);
		uint32_t chunk_wrapped = 0;
		if (step)
			for (int64_t i = begin; i < end; i++) {
				uint32_t a = (uint32_t)acc[i], b = (uint32_t)bias[i], sum = a + b;
				chunk_wrapped += ((a ^ sum) & (b ^ sum)) >> 31;
				acc[i] = (int32_t)sum;
			}
		else
			for (int64_t i = begin; i < end; i++) {
				uint32_t a = (uint32_t)acc[i], b = (uint32_t)*bias, sum = a + b;
				chunk_wrapped += ((a ^ sum) & (b ^ sum)) >> 31;
				acc[i] = (int32_t)sum;
			}
		wrapped += chunk_wrapped;
		begin = end;
	}
	return wrapped;
}

uint64_t npl_int8_requantise(const int32_t *acc, int64_t count, const float *scale, int step, int32_t zero_point,
			     enum npl_dtype dtype, void *out)
{
	const struct npl_int8_finish f = {.scale = scale, .step = step, .zero_point = zero_point, .dtype = dtype};
	struct npl_int8_counts counts = {0};
	npl_int8_kernel(0)->finish(&f, acc, 1, count, out, &counts);
	return counts.saturations;
}

/* Adds the bias and applies Relu, without requantisation. */
static void finish_sums(const struct npl_int8_finish *f, int32_t *acc, int64_t count, int32_t *out,
			struct npl_int8_counts *counts)
{
	if (f->bias)
		counts->overflows += npl_int8_add_bias(acc, count, f->bias, f->step);
	for (int64_t i = 0; f->relu && i < count; i++)
		acc[i] = acc[i] > 0 ? acc[i] : 0;
	if (out != acc)
		memcpy(out, acc, (size_t)count * sizeof *acc);
}

void npl_int8_finish_rows(const struct npl_int8_finish *f, int32_t *acc, int64_t rows, int64_t count, void *out,
			  struct npl_int8_counts *counts)
{
	struct npl_int8_counts row_counts = {0};
	if (f->dtype != NPL_I32)
		npl_int8_kernel(0)->finish(f, acc, rows, count, out, &row_counts);
	for (int64_t row = 0; f->dtype == NPL_I32 && row < rows; row++)
		finish_sums(f, acc + row * count, count, (int32_t *)out + row * count, &row_counts);
	counts->overflows += row_counts.overflows;
	counts->saturations += f->has_limit ? 0 : row_counts.saturations;
}

void npl_int8_finish(const struct npl_int8_finish *f, int32_t *acc, int64_t count, void *out,
		     struct npl_int8_counts *counts)
{
	npl_int8_finish_rows(f, acc, 1, count, out, counts);
}
