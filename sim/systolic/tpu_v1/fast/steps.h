/* SPDX-License-Identifier: MIT
 *
 * The fast engine's activation arithmetic on one vector. Private to sim/systolic. Elements are held in 16 bits,
 * whatever their type is. All floating-point steps are single float32 operations, rounded to nearest even. Saturations
 * that change a value are counted. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_STEPS_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_STEPS_H

#include "sim/systolic/tpu_v1/isa/isa.h"

/* The format that a rounded value gets: value + zero_point, saturated to the type. */
struct tpu_fast_target {
	int32_t zero_point, low, high; /* low, high: limits of the value before the zero point is added */
	/* Changes of values below and above these limits count as saturations. They are low and high, or beyond all
	 * values where the function brings such values to its own limit. */
	int32_t counted_low, counted_high;
};
/* Returns the target of a type. taken_by is the function that takes the value next; TPU_IDENTITY: another step takes
 * it, or none. */
struct tpu_fast_target tpu_fast_target_of(enum tpu_type type, int32_t zero_point, enum tpu_function taken_by);

/* The operand step: its second operand and its scales. */
struct tpu_fast_operand {
	enum tpu_operand kind;
	int32_t source_zero, operand_zero;
	float source_scale, operand_scale;
	struct tpu_fast_target target;
};

struct tpu_fast_steps {
	const char *name;
	unsigned required_features; /* the processor's features (npl_cpu_has) */
	/* Adds bias[j] to sum[j], wrapping. Returns the number of additions that wrapped. */
	uint64_t (*add_bias)(int32_t *sum, const int32_t *bias, int64_t n);
	/* Computes q = saturate(round(float(sum + bias) * scale) + zero point). */
	uint64_t (*requantise)(const int32_t *sum, const int32_t *bias, const float *scale,
			       const struct tpu_fast_target *target, int64_t n, int16_t *q, uint64_t *overflows);
	/* Computes the same as bytes, which are then brought to at least `floor` and at most `ceiling`. */
	uint64_t (*requantise_bytes)(const int32_t *sum, const int32_t *bias, const float *scale,
				     const struct tpu_fast_target *target, int32_t floor, int32_t ceiling, int64_t n,
				     uint8_t *q, uint64_t *overflows);
	/* Combines q with o, or scales q alone. */
	uint64_t (*combine)(const struct tpu_fast_operand *operand, int64_t n, int16_t *q, const int16_t *o);
	/* Computes q = saturate(round(float(q) * scale) + zero point). */
	uint64_t (*scale)(float scale, const struct tpu_fast_target *target, int64_t n, int16_t *q);
	void (*clamp)(int32_t low, int32_t high, int64_t n, int16_t *q);
	void (*load)(enum tpu_type type, const uint8_t *low, const uint8_t *high, int64_t n, int16_t *q);
	void (*store)(const int16_t *q, int64_t n, uint8_t *low, uint8_t *high); /* high NULL: one byte */
	void (*store_sums)(const int32_t *sum, int64_t n, uint8_t *const plane[4]);
	void (*greatest)(const int16_t *q, int64_t n, int16_t *most); /* most = the greater of most and q */
	void (*add)(const int16_t *q, int32_t zero_point, int64_t n, int32_t *sum);
	/* Computes q = round(sum / count) + zero point. */
	void (*average)(const int32_t *sum, int32_t count, int32_t zero_point, int64_t n, int16_t *q);
};
/* Returns the fastest steps that this processor runs. With a number, for tests, it returns the n-th steps from 1; NULL:
 * there are no such steps. */
const struct tpu_fast_steps *tpu_fast_steps(int number);

#endif
