/* SPDX-License-Identifier: MIT
 *
 * The fast engine's activation arithmetic (steps.h): plain loops, which the compiler turns into vector instructions for
 * each instruction set below. This changes no result: elements do not depend on each other, and each step is rounded
 * once. */
#include "steps.h"
#include "npulab/cpu_features.h"

#include <string.h>

#define EACH __attribute__((always_inline)) static inline

struct tpu_fast_target tpu_fast_target_of(enum tpu_type type, int32_t zero_point, enum tpu_function taken_by)
{
	static const int32_t low[TPU_TYPES] = {-128, 0, -32768, 0}, high[TPU_TYPES] = {127, 255, 32767, 0};
	return (struct tpu_fast_target){
		.zero_point = zero_point,
		.low = low[type] - zero_point,
		.high = high[type] - zero_point,
		.counted_low = taken_by == TPU_RELU || taken_by == TPU_RELU6 ? INT32_MIN : low[type] - zero_point,
		.counted_high = taken_by == TPU_RELU6 ? INT32_MAX : high[type] - zero_point};
}

/* Rounds to the nearest integer, ties to even. Before that it clamps to one beyond low..high, which still shows that
 * the value was outside. Adding 1.5 * 2^23 leaves a float of less than 2^22 no fraction bits. */
EACH int32_t rounded(float value, int32_t low, int32_t high)
{
	const float lower = (float)(low - 1), upper = (float)(high + 1), big = 12582912.0f;
	value = value > lower ? value : lower;
	value = value < upper ? value : upper;
	float shifted = value + big;
	return (int32_t)(shifted - big);
}

/* Returns the value, rounded and saturated to the target; *changed counts the saturations that count. */
EACH int32_t to_target(float value, struct tpu_fast_target to, uint32_t *changed)
{
	const int32_t q = rounded(value, to.low, to.high);
	int32_t inside = q < to.low ? to.low : q;
	inside = inside > to.high ? to.high : inside;
	*changed += (uint32_t)(q > to.counted_high) + (uint32_t)(q < to.counted_low);
	return inside + to.zero_point;
}

EACH uint32_t wraps(uint32_t a, uint32_t b)
{
	uint32_t sum = a + b;
	return ((a ^ sum) & (b ^ sum)) >> 31;
}

EACH uint64_t each_add_bias(int32_t *restrict sum, const int32_t *restrict bias, int64_t n)
{
	uint32_t wrapped = 0;
	for (int64_t j = 0; j < n; j++) {
		wrapped += wraps((uint32_t)sum[j], (uint32_t)bias[j]);
		sum[j] = (int32_t)((uint32_t)sum[j] + (uint32_t)bias[j]);
	}
	return wrapped;
}

EACH uint64_t each_requantise(const int32_t *restrict sum, const int32_t *restrict bias, const float *restrict scale,
			      const struct tpu_fast_target *target, int64_t n, int16_t *restrict q, uint64_t *overflows)
{
	const struct tpu_fast_target to = *target;
	uint32_t changed = 0, wrapped = 0;
	for (int64_t j = 0; j < n; j++) {
		int32_t v = (int32_t)((uint32_t)sum[j] + (uint32_t)bias[j]);
		wrapped += wraps((uint32_t)sum[j], (uint32_t)bias[j]);
		q[j] = (int16_t)to_target((float)v * scale[j], to, &changed);
	}
	*overflows += wrapped;
	return changed;
}

EACH uint64_t each_requantise_bytes(const int32_t *restrict sum, const int32_t *restrict bias,
				    const float *restrict scale, const struct tpu_fast_target *target, int32_t floor,
				    int32_t ceiling, int64_t n, uint8_t *restrict q, uint64_t *overflows)
{
	const struct tpu_fast_target to = *target;
	uint32_t changed = 0, wrapped = 0;
	for (int64_t j = 0; j < n; j++) {
		int32_t v = (int32_t)((uint32_t)sum[j] + (uint32_t)bias[j]);
		wrapped += wraps((uint32_t)sum[j], (uint32_t)bias[j]);
		v = to_target((float)v * scale[j], to, &changed);
		v = v < floor ? floor : v;
		q[j] = (uint8_t)(v > ceiling ? ceiling : v);
	}
	*overflows += wrapped;
	return changed;
}

EACH uint64_t each_combine(const struct tpu_fast_operand *operand, int64_t n, int16_t *restrict q,
			   const int16_t *restrict o)
{
	const struct tpu_fast_target to = operand->target;
	const int32_t source_zero = operand->source_zero, operand_zero = operand->operand_zero;
	const float source_scale = operand->source_scale, operand_scale = operand->operand_scale;
	uint32_t changed = 0;
	if (operand->kind == TPU_ADD)
		for (int64_t j = 0; j < n; j++) {
			float a = (float)(q[j] - source_zero) * source_scale,
			      b = (float)(o[j] - operand_zero) * operand_scale;
			q[j] = (int16_t)to_target(a + b, to, &changed);
		}
	else if (operand->kind == TPU_MULTIPLY)
		for (int64_t j = 0; j < n; j++) {
			float product = (float)((q[j] - source_zero) * (o[j] - operand_zero)) * source_scale;
			q[j] = (int16_t)to_target(product, to, &changed);
		}
	else
		for (int64_t j = 0; j < n; j++) {
			float product = (float)(q[j] - source_zero) * source_scale;
			q[j] = (int16_t)to_target(product, to, &changed);
		}
	return changed;
}

EACH uint64_t each_scale(float scale, const struct tpu_fast_target *target, int64_t n, int16_t *q)
{
	const struct tpu_fast_target to = *target;
	uint32_t changed = 0;
	for (int64_t j = 0; j < n; j++)
		q[j] = (int16_t)to_target((float)q[j] * scale, to, &changed);
	return changed;
}

EACH void each_clamp(int32_t low, int32_t high, int64_t n, int16_t *q)
{
	const int16_t lower = (int16_t)low, upper = (int16_t)high;
	for (int64_t j = 0; j < n; j++) {
		int16_t v = q[j] < lower ? lower : q[j];
		q[j] = v > upper ? upper : v;
	}
}

EACH void each_load(enum tpu_type type, const uint8_t *restrict low, const uint8_t *restrict high, int64_t n,
		    int16_t *restrict q)
{
	if (type == TPU_I8)
		for (int64_t j = 0; j < n; j++)
			q[j] = (int16_t)((low[j] ^ 0x80) - 0x80);
	else if (type == TPU_U8)
		for (int64_t j = 0; j < n; j++)
			q[j] = low[j];
	else
		for (int64_t j = 0; j < n; j++)
			q[j] = (int16_t)(uint16_t)(low[j] | high[j] << 8);
}

EACH void each_store(const int16_t *restrict q, int64_t n, uint8_t *restrict low, uint8_t *restrict high)
{
	for (int64_t j = 0; j < n; j++)
		low[j] = (uint8_t)q[j];
	for (int64_t j = 0; high && j < n; j++)
		high[j] = (uint8_t)((uint16_t)q[j] >> 8);
}

EACH void each_store_sums(const int32_t *restrict sum, int64_t n, uint8_t *const plane[4])
{
	for (int p = 0; p < 4; p++) {
		uint8_t *restrict to = plane[p];
		for (int64_t j = 0; j < n; j++)
			to[j] = (uint8_t)((uint32_t)sum[j] >> 8 * p);
	}
}

EACH void each_greatest(const int16_t *restrict q, int64_t n, int16_t *restrict greatest)
{
	for (int64_t j = 0; j < n; j++)
		greatest[j] = q[j] > greatest[j] ? q[j] : greatest[j];
}

EACH void each_add(const int16_t *restrict q, int32_t zero_point, int64_t n, int32_t *restrict sum)
{
	for (int64_t j = 0; j < n; j++)
		sum[j] += q[j] - zero_point;
}

/* Divides sums by a count and rounds. A float64 quotient of two such integers that is no tie cannot become one by
 * rounding. */
EACH void each_average(const int32_t *restrict sum, int32_t count, int32_t zero_point, int64_t n, int16_t *restrict q)
{
	const double big = 6755399441055744.0;
	for (int64_t j = 0; j < n; j++) {
		double shifted = (double)sum[j] / (double)count + big;
		q[j] = (int16_t)((int32_t)(shifted - big) + zero_point);
	}
}

/* Defines all steps for one instruction set. */
#define STEPS(isa, features, target_isa)                                                                               \
	target_isa static uint64_t add_bias_##isa(int32_t *sum, const int32_t *bias, int64_t n)                        \
	{                                                                                                              \
		return each_add_bias(sum, bias, n);                                                                    \
	}                                                                                                              \
	target_isa static uint64_t requantise_##isa(const int32_t *sum, const int32_t *bias, const float *scale,       \
						    const struct tpu_fast_target *target, int64_t n, int16_t *q,       \
						    uint64_t *overflows)                                               \
	{                                                                                                              \
		return each_requantise(sum, bias, scale, target, n, q, overflows);                                     \
	}                                                                                                              \
	target_isa static uint64_t bytes_##isa(const int32_t *sum, const int32_t *bias, const float *scale,            \
					       const struct tpu_fast_target *target, int32_t floor, int32_t ceiling,   \
					       int64_t n, uint8_t *q, uint64_t *overflows)                             \
	{                                                                                                              \
		return each_requantise_bytes(sum, bias, scale, target, floor, ceiling, n, q, overflows);               \
	}                                                                                                              \
	target_isa static uint64_t combine_##isa(const struct tpu_fast_operand *operand, int64_t n, int16_t *q,        \
						 const int16_t *o)                                                     \
	{                                                                                                              \
		return each_combine(operand, n, q, o);                                                                 \
	}                                                                                                              \
	target_isa static uint64_t scale_##isa(float scale, const struct tpu_fast_target *target, int64_t n,           \
					       int16_t *q)                                                             \
	{                                                                                                              \
		return each_scale(scale, target, n, q);                                                                \
	}                                                                                                              \
	target_isa static void clamp_##isa(int32_t low, int32_t high, int64_t n, int16_t *q)                           \
	{                                                                                                              \
		each_clamp(low, high, n, q);                                                                           \
	}                                                                                                              \
	target_isa static void load_##isa(enum tpu_type type, const uint8_t *low, const uint8_t *high, int64_t n,      \
					  int16_t *q)                                                                  \
	{                                                                                                              \
		each_load(type, low, high, n, q);                                                                      \
	}                                                                                                              \
	target_isa static void store_##isa(const int16_t *q, int64_t n, uint8_t *low, uint8_t *high)                   \
	{                                                                                                              \
		each_store(q, n, low, high);                                                                           \
	}                                                                                                              \
	target_isa static void store_sums_##isa(const int32_t *sum, int64_t n, uint8_t *const plane[4])                \
	{                                                                                                              \
		each_store_sums(sum, n, plane);                                                                        \
	}                                                                                                              \
	target_isa static void greatest_##isa(const int16_t *q, int64_t n, int16_t *most)                              \
	{                                                                                                              \
		each_greatest(q, n, most);                                                                             \
	}                                                                                                              \
	target_isa static void add_##isa(const int16_t *q, int32_t zero_point, int64_t n, int32_t *sum)                \
	{                                                                                                              \
		each_add(q, zero_point, n, sum);                                                                       \
	}                                                                                                              \
	target_isa static void average_##isa(const int32_t *sum, int32_t count, int32_t zero_point, int64_t n,         \
					     int16_t *q)                                                               \
	{                                                                                                              \
		each_average(sum, count, zero_point, n, q);                                                            \
	}                                                                                                              \
	static const struct tpu_fast_steps steps_##isa = {                                                             \
		.name = #isa,                                                                                          \
		.required_features = features,                                                                         \
		.add_bias = add_bias_##isa,                                                                            \
		.requantise = requantise_##isa,                                                                        \
		.requantise_bytes = bytes_##isa,                                                                       \
		.combine = combine_##isa,                                                                              \
		.scale = scale_##isa,                                                                                  \
		.clamp = clamp_##isa,                                                                                  \
		.load = load_##isa,                                                                                    \
		.store = store_##isa,                                                                                  \
		.store_sums = store_sums_##isa,                                                                        \
		.greatest = greatest_##isa,                                                                            \
		.add = add_##isa,                                                                                      \
		.average = average_##isa,                                                                              \
	};

STEPS(plain, 0, )
#if defined(__x86_64__)
STEPS(avx2, NPL_CPU_AVX2, __attribute__((target("avx2"))))
STEPS(avx512, NPL_CPU_AVX512F | NPL_CPU_AVX512BW | NPL_CPU_AVX512DQ | NPL_CPU_AVX512VL,
      __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))))
#endif

const struct tpu_fast_steps *tpu_fast_steps(int number)
{
	static const struct tpu_fast_steps *const list[] = {
#if defined(__x86_64__)
		&steps_avx512,
		&steps_avx2,
#endif
		&steps_plain,
	};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (npl_cpu_has(list[i]->required_features) && --number <= 0)
			return list[i];
	return NULL;
}
