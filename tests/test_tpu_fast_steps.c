/* SPDX-License-Identifier: MIT
 *
 * The fast engine's activation arithmetic (fast_steps.h). What the program promises: whatever instructions the processor has,
 * each step gives what the formula in docs/tpu-isa.md says, one float32 operation after the other, and counts the values
 * that a saturation changes and the additions that wrap. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "support.h"
#include "systolic/fast_steps.h"

enum { N = 203 };

static const int64_t least[] = {-128, 0, -32768}, most[] = {127, 255, 32767};

struct vectors {
	int32_t sum[N], bias[N];
	float scale[N];
	int16_t q[N], o[N];
};

static float any_scale(uint64_t *rng)
{
	float value = ldexpf((float)test_range(rng, -1000, 1000), (int)test_range(rng, -40, 5));
	return test_range(rng, 0, 30) ? value : ldexpf(value < 0 ? -1 : 1, 96);
}

/* Ties of rounding are as likely as anything: sums are small, scales powers of two, in half of the cases. */
static void draw(struct vectors *v, uint64_t *rng)
{
	bool ties = test_range(rng, 0, 1);
	for (int j = 0; j < N; j++) {
		v->sum[j] = ties ? (int32_t)test_range(rng, -600, 600) : (int32_t)test_rng(rng);
		v->bias[j] = ties ? (int32_t)test_range(rng, -3, 3) : (int32_t)test_rng(rng);
		v->scale[j] = ties ? ldexpf(1, -(int)test_range(rng, 0, 3)) : any_scale(rng);
		v->q[j] = (int16_t)test_rng(rng);
		v->o[j] = (int16_t)test_rng(rng);
	}
}

static int64_t saturated(float value, int type, int64_t zero, bool rectified, uint64_t *changed)
{
	double shifted = (double)nearbyintf(value) + (double)zero;
	double kept = fmin(fmax(shifted, (double)least[type]), (double)most[type]);
	*changed += rectified ? kept < shifted : kept != shifted;
	return (int64_t)kept;
}

static int64_t zero_of(int type, uint64_t *rng)
{
	return type == TPU_I16 ? 0 : test_range(rng, least[type], most[type]);
}

#define EACH(steps) for (int s_ = 1; (steps = tpu_fast_steps(s_)); s_++)

Test(tpu_fast_steps, requantise)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		const struct tpu_fast_steps *steps;
		struct vectors v;
		uint64_t rng = seed, changed = 0, wrapped = 0;
		int type = (int)test_range(&rng, 0, 2);
		int32_t zero = (int32_t)zero_of(type, &rng),
			floor_ = (int32_t)test_range(&rng, least[type], most[type]);
		int32_t ceiling = (int32_t)test_range(&rng, least[type], most[type]);
		const struct tpu_fast_target target = tpu_fast_target_of((enum tpu_type)type, zero, seed % 2);
		int16_t want[N], got[N];
		draw(&v, &rng);
		for (int j = 0; j < N; j++) {
			int64_t exact = (int64_t)v.sum[j] + v.bias[j];
			volatile float value = (float)(int32_t)(uint32_t)exact, scaled = value * v.scale[j];
			wrapped += exact != (int32_t)exact;
			want[j] = (int16_t)saturated(scaled, type, zero, seed % 2, &changed);
		}
		EACH(steps)
		{
			uint64_t overflows = 7;
			uint8_t bytes[N];
			cr_assert_eq(steps->requantise(v.sum, v.bias, v.scale, &target, N, got, &overflows), changed);
			cr_assert_eq(overflows, wrapped + 7);
			cr_assert_eq(memcmp(got, want, sizeof want), 0, "seed %llu, %s", (unsigned long long)seed,
				     steps->name);
			if (type == TPU_I16)
				continue;
			cr_assert_eq(steps->requantise_bytes(v.sum, v.bias, v.scale, &target, floor_, ceiling, N, bytes,
							     &overflows),
				     changed);
			for (int j = 0; j < N; j++) {
				int32_t q = want[j] < floor_ ? floor_ : want[j];
				q = q > ceiling ? ceiling : q;
				cr_assert_eq(bytes[j], (uint8_t)q, "seed %llu, %s, element %d",
					     (unsigned long long)seed, steps->name, j);
			}
			int32_t sum[N];
			memcpy(sum, v.sum, sizeof sum);
			cr_assert_eq(steps->add_bias(sum, v.bias, N), wrapped);
			for (int j = 0; j < N; j++)
				cr_assert_eq((uint32_t)sum[j], (uint32_t)v.sum[j] + (uint32_t)v.bias[j]);
		}
	}
}

static int64_t combined(const struct tpu_fast_operand *x, int64_t q, int64_t o, int type, bool rectified,
			uint64_t *changed)
{
	volatile float a = (float)(q - x->source_zero), b = (float)(o - x->operand_zero), value = a * x->source_scale;
	if (x->kind == TPU_ADD) {
		volatile float other = b * x->operand_scale;
		value = value + other;
	}
	if (x->kind == TPU_MULTIPLY) {
		volatile float product = (float)((q - x->source_zero) * (o - x->operand_zero));
		value = product * x->source_scale;
	}
	return saturated(value, type, x->target.zero_point, rectified, changed);
}

Test(tpu_fast_steps, operands_and_scales)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		const struct tpu_fast_steps *steps;
		struct vectors v;
		uint64_t rng = seed, changed = 0, scale_changed = 0;
		int type = (int)test_range(&rng, 0, 2);
		struct tpu_fast_operand x = {.kind = (enum tpu_operand)test_range(&rng, 1, 3),
					     .source_zero = (int32_t)test_range(&rng, -128, 255),
					     .operand_zero = (int32_t)test_range(&rng, -128, 255),
					     .source_scale = test_range(&rng, 0, 1) ? 0.5f : any_scale(&rng),
					     .operand_scale = test_range(&rng, 0, 1) ? 0.25f : any_scale(&rng)};
		int16_t want[N], scaled[N], got[N];
		draw(&v, &rng);
		x.target = tpu_fast_target_of((enum tpu_type)type, (int32_t)zero_of(type, &rng), seed % 2);
		for (int j = 0; j < N; j++) {
			if (x.kind == TPU_MULTIPLY) { /* products of 16-bit values have zero points of 0 */
				v.q[j] = (int16_t)(v.q[j] / 2);
				v.o[j] = (int16_t)(v.o[j] / 2);
			}
			want[j] = (int16_t)combined(&x, v.q[j], v.o[j], type, seed % 2, &changed);
			volatile float value = (float)v.q[j] * x.source_scale;
			scaled[j] = (int16_t)saturated(value, type, x.target.zero_point, seed % 2, &scale_changed);
		}
		EACH(steps)
		{
			memcpy(got, v.q, sizeof got);
			cr_assert_eq(steps->combine(&x, N, got, v.o), changed, "seed %llu, %s",
				     (unsigned long long)seed, steps->name);
			cr_assert_eq(memcmp(got, want, sizeof want), 0, "seed %llu, %s", (unsigned long long)seed,
				     steps->name);
			memcpy(got, v.q, sizeof got);
			cr_assert_eq(steps->scale(x.source_scale, &x.target, N, got), scale_changed);
			cr_assert_eq(memcmp(got, scaled, sizeof scaled), 0, "seed %llu, %s, scale",
				     (unsigned long long)seed, steps->name);
		}
	}
}

Test(tpu_fast_steps, bytes_and_planes)
{
	const struct tpu_fast_steps *steps;
	struct vectors v;
	uint64_t rng = 3;
	uint8_t plane[4][N], low[N], high[N];
	int16_t got[N];
	draw(&v, &rng);
	EACH(steps)
	{
		steps->store_sums(v.sum, N, (uint8_t *const[]){plane[0], plane[1], plane[2], plane[3]});
		steps->store(v.q, N, low, high);
		for (int j = 0; j < N; j++) {
			for (int p = 0; p < 4; p++)
				cr_assert_eq(plane[p][j], (uint8_t)((uint32_t)v.sum[j] >> 8 * p));
			cr_assert_eq((int16_t)(low[j] | high[j] << 8), v.q[j]);
		}
		memset(high, 1, sizeof high);
		steps->store(v.q, N, low, NULL);
		for (int type = 0; type < 3; type++) {
			steps->load((enum tpu_type)type, low, high, N, got);
			for (int j = 0; j < N; j++)
				cr_assert_eq(got[j], type == TPU_I8   ? (int8_t)low[j]
						     : type == TPU_U8 ? low[j]
								      : (int16_t)(low[j] | high[j] << 8));
		}
		memcpy(got, v.q, sizeof got);
		steps->clamp(-5, 1000, N, got);
		for (int j = 0; j < N; j++)
			cr_assert_eq(got[j], v.q[j] < -5 ? -5 : v.q[j] > 1000 ? 1000 : v.q[j]);
	}
}

/* Averages of up to 65,536 taps against integers. */
static int64_t rounded_quotient(int64_t sum, int64_t count)
{
	int64_t down = sum / count - (sum % count < 0), twice = 2 * (sum - down * count);
	return twice > count || (twice == count && (down & 1)) ? down + 1 : down;
}

Test(tpu_fast_steps, pooling)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		const struct tpu_fast_steps *steps;
		struct vectors v;
		uint64_t rng = seed;
		int16_t got[N];
		int32_t count = (int32_t)test_range(&rng, 1, seed % 2 ? 50 : 65536), zero = (int32_t)seed % 9, sum[N];
		draw(&v, &rng);
		for (int j = 0; j < N; j++)
			sum[j] = (int32_t)(test_range(&rng, -65536, 65535) * count / 2);
		EACH(steps)
		{
			steps->average(sum, count, zero, N, got);
			for (int j = 0; j < N; j++)
				cr_assert_eq(got[j], (int16_t)(rounded_quotient(sum[j], count) + zero),
					     "seed %llu, %s: %d / %d is %d", (unsigned long long)seed, steps->name,
					     sum[j], count, got[j]);
			memcpy(got, v.q, sizeof got);
			steps->greatest(v.o, N, got);
			for (int j = 0; j < N; j++)
				cr_assert_eq(got[j], v.o[j] > v.q[j] ? v.o[j] : v.q[j]);
			int32_t total[N];
			memcpy(total, v.bias, sizeof total);
			for (int j = 0; j < N; j++)
				total[j] /= 2;
			steps->add(v.q, zero, N, total);
			for (int j = 0; j < N; j++)
				cr_assert_eq(total[j], v.bias[j] / 2 + v.q[j] - zero);
		}
	}
}
