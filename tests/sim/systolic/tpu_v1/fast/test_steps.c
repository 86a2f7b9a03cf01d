/* SPDX-License-Identifier: MIT
 *
 * The fast engine's activation arithmetic (sim/systolic/tpu_v1/fast/steps.h). What the program promises: whatever
 * instructions the processor has, each step gives what the formula in docs/tpu-isa.md says, one float32 operation after
 * the other, counts the values that a saturation changes and the additions that wrap, and writes nothing beyond its
 * vector, however long that is. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "sim/systolic/tpu_v1/fast/steps.h"
#include "tests/kit/support.h"

enum { N = 203 };

static const int64_t minimum[] = {-128, 0, -32768}, maximum[] = {127, 255, 32767};

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

/* The function that takes a value next. */
static enum tpu_function function_of(uint64_t seed)
{
	return (const enum tpu_function[]){TPU_IDENTITY, TPU_RELU, TPU_RELU6}[seed % 3];
}

static int64_t saturated(float value, int type, int64_t zero, enum tpu_function taken_by, uint64_t *changed)
{
	double shifted = (double)nearbyintf(value) + (double)zero;
	double kept = fmin(fmax(shifted, (double)minimum[type]), (double)maximum[type]);
	*changed += (kept < shifted && taken_by != TPU_RELU6) || (kept > shifted && taken_by == TPU_IDENTITY);
	return (int64_t)kept;
}

static int64_t zero_of(int type, uint64_t *rng)
{
	return type == TPU_I16 ? 0 : test_range(rng, minimum[type], maximum[type]);
}

/* A vector's length: whole registers' worth and what is left over, of any instruction set. */
static int length_of(uint64_t *rng)
{
	return (int)test_range(rng, 0, 2) ? (int)test_range(rng, 1, N - 1) : N;
}

/* What lies beyond the first n elements is as it was when all were GUARD bytes. */
enum { GUARD = 0x5a };
static bool untouched(const void *vector, size_t size, int n)
{
	const uint8_t *bytes = vector;
	for (size_t i = (size_t)n * size; i < N * size; i++)
		if (bytes[i] != GUARD)
			return false;
	return true;
}
#define EXPECT(vector, expected, n)                                                                                    \
	cr_assert(!memcmp(vector, expected, (size_t)(n) * sizeof *(vector)) && untouched(vector, sizeof *(vector), n), \
		  "seed %llu, %s: " #vector " of %d", (unsigned long long)seed, steps->name, n)

#define EACH(steps) for (int s_ = 1; (steps = tpu_fast_steps(s_)); s_++)

Test(tpu_fast_steps, requantising_follows_the_rule)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		const struct tpu_fast_steps *steps;
		struct vectors v;
		uint64_t rng = seed, changed = 0, wrapped = 0;
		int type = (int)test_range(&rng, 0, 2);
		int32_t zero = (int32_t)zero_of(type, &rng),
			floor_ = (int32_t)test_range(&rng, minimum[type], maximum[type]);
		int32_t ceiling = (int32_t)test_range(&rng, minimum[type], maximum[type]);
		const struct tpu_fast_target target = tpu_fast_target_of((enum tpu_type)type, zero, function_of(seed));
		int16_t expected[N] = {0}, actual[N];
		int n = length_of(&rng);
		draw(&v, &rng);
		for (int j = 0; j < n; j++) {
			int64_t exact = (int64_t)v.sum[j] + v.bias[j];
			volatile float value = (float)(int32_t)(uint32_t)exact, scaled = value * v.scale[j];
			wrapped += exact != (int32_t)exact;
			expected[j] = (int16_t)saturated(scaled, type, zero, function_of(seed), &changed);
		}
		EACH(steps)
		{
			uint64_t overflows = 7;
			uint8_t bytes[N], want_bytes[N] = {0};
			int32_t sum[N], want_sum[N] = {0};
			memset(actual, GUARD, sizeof actual);
			cr_assert_eq(steps->requantise(v.sum, v.bias, v.scale, &target, n, actual, &overflows),
				     changed);
			cr_assert_eq(overflows, wrapped + 7);
			EXPECT(actual, expected, n);
			memset(sum, GUARD, sizeof sum);
			memcpy(sum, v.sum, (size_t)n * sizeof *sum);
			cr_assert_eq(steps->add_bias(sum, v.bias, n), wrapped);
			for (int j = 0; j < n; j++)
				want_sum[j] = (int32_t)((uint32_t)v.sum[j] + (uint32_t)v.bias[j]);
			EXPECT(sum, want_sum, n);
			if (type == TPU_I16)
				continue;
			memset(bytes, GUARD, sizeof bytes);
			cr_assert_eq(steps->requantise_bytes(v.sum, v.bias, v.scale, &target, floor_, ceiling, n, bytes,
							     &overflows),
				     changed);
			cr_assert_eq(overflows, 2 * wrapped + 7);
			for (int j = 0; j < n; j++) {
				int32_t q = expected[j] < floor_ ? floor_ : expected[j];
				want_bytes[j] = (uint8_t)(q > ceiling ? ceiling : q);
			}
			EXPECT(bytes, want_bytes, n);
		}
	}
}

static int64_t combined(const struct tpu_fast_operand *x, int64_t q, int64_t o, int type, enum tpu_function taken_by,
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
	return saturated(value, type, x->target.zero_point, taken_by, changed);
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
		int16_t expected[N] = {0}, scaled[N] = {0}, actual[N];
		int n = length_of(&rng);
		draw(&v, &rng);
		x.target = tpu_fast_target_of((enum tpu_type)type, (int32_t)zero_of(type, &rng), function_of(seed));
		for (int j = 0; j < n; j++) {
			if (x.kind == TPU_MULTIPLY) { /* products of 16-bit values have zero points of 0 */
				v.q[j] = (int16_t)(v.q[j] / 2);
				v.o[j] = (int16_t)(v.o[j] / 2);
			}
			expected[j] = (int16_t)combined(&x, v.q[j], v.o[j], type, function_of(seed), &changed);
			volatile float value = (float)v.q[j] * x.source_scale;
			scaled[j] = (int16_t)saturated(value, type, x.target.zero_point, function_of(seed),
						       &scale_changed);
		}
		EACH(steps)
		{
			memset(actual, GUARD, sizeof actual);
			memcpy(actual, v.q, (size_t)n * sizeof *actual);
			cr_assert_eq(steps->combine(&x, n, actual, v.o), changed, "seed %llu, %s",
				     (unsigned long long)seed, steps->name);
			EXPECT(actual, expected, n);
			memset(actual, GUARD, sizeof actual);
			memcpy(actual, v.q, (size_t)n * sizeof *actual);
			cr_assert_eq(steps->scale(x.source_scale, &x.target, n, actual), scale_changed);
			EXPECT(actual, scaled, n);
		}
	}
}

static void check_bytes(const struct tpu_fast_steps *steps, const struct vectors *v, int n, uint64_t seed)
{
	uint8_t plane[4][N], low[N], high[N], want_low[N] = {0}, want_high[N] = {0};
	for (int j = 0; j < n; j++) {
		want_low[j] = (uint8_t)v->q[j];
		want_high[j] = (uint8_t)((uint16_t)v->q[j] >> 8);
	}
	memset(plane, GUARD, sizeof plane);
	memset(low, GUARD, sizeof low);
	memset(high, GUARD, sizeof high);
	steps->store_sums(v->sum, n, (uint8_t *const[]){plane[0], plane[1], plane[2], plane[3]});
	for (int p = 0; p < 4; p++) {
		for (int j = 0; j < n; j++)
			cr_assert_eq(plane[p][j], (uint8_t)((uint32_t)v->sum[j] >> 8 * p));
		cr_assert(untouched(plane[p], 1, n));
	}
	steps->store(v->q, n, low, high);
	EXPECT(low, want_low, n);
	EXPECT(high, want_high, n);
	memset(low, GUARD, sizeof low);
	steps->store(v->q, n, low, NULL);
	EXPECT(low, want_low, n);
}

Test(tpu_fast_steps, bytes_and_planes)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		const struct tpu_fast_steps *steps;
		struct vectors v;
		uint64_t rng = seed;
		int n = length_of(&rng);
		int32_t least_ = (int32_t)test_range(&rng, -32768, 32767);
		int32_t most_ = (int32_t)test_range(&rng, least_, 32767);
		int16_t actual[N], expected[N] = {0};
		uint8_t low[N], high[N];
		draw(&v, &rng);
		for (int j = 0; j < N; j++) {
			low[j] = (uint8_t)v.q[j];
			high[j] = (uint8_t)(v.o[j] & 0xff);
		}
		EACH(steps)
		{
			check_bytes(steps, &v, n, seed);
			for (int type = 0; type < 3; type++) {
				for (int j = 0; j < n; j++)
					expected[j] = type == TPU_I8   ? (int8_t)low[j]
						      : type == TPU_U8 ? low[j]
								       : (int16_t)(low[j] | high[j] << 8);
				memset(actual, GUARD, sizeof actual);
				steps->load((enum tpu_type)type, low, type == TPU_I16 ? high : NULL, n, actual);
				EXPECT(actual, expected, n);
			}
			for (int j = 0; j < n; j++)
				expected[j] = (int16_t)(v.q[j] < least_ ? least_ : v.q[j] > most_ ? most_ : v.q[j]);
			memset(actual, GUARD, sizeof actual);
			memcpy(actual, v.q, (size_t)n * sizeof *actual);
			steps->clamp(least_, most_, n, actual);
			EXPECT(actual, expected, n);
		}
	}
}

/* Averages of up to 65,536 taps equal those computed in integers. */
static int64_t rounded_quotient(int64_t sum, int64_t count)
{
	int64_t down = sum / count - (sum % count < 0), twice = 2 * (sum - down * count);
	return twice > count || (twice == count && (down & 1)) ? down + 1 : down;
}

Test(tpu_fast_steps, pooling_follows_the_rule)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		const struct tpu_fast_steps *steps;
		struct vectors v;
		uint64_t rng = seed;
		int16_t actual[N], expected[N] = {0}, most_[N] = {0};
		int n = length_of(&rng);
		int32_t count = (int32_t)test_range(&rng, 1, seed % 2 ? 50 : 65536), zero = (int32_t)seed % 9;
		int32_t sum[N] = {0}, total[N], want_total[N] = {0};
		draw(&v, &rng);
		for (int j = 0; j < n; j++) {
			sum[j] = (int32_t)(test_range(&rng, -65536, 65535) * count / 2);
			expected[j] = (int16_t)(rounded_quotient(sum[j], count) + zero);
			most_[j] = v.o[j] > v.q[j] ? v.o[j] : v.q[j];
			want_total[j] = v.bias[j] / 2 + v.q[j] - zero;
		}
		EACH(steps)
		{
			memset(actual, GUARD, sizeof actual);
			steps->average(sum, count, zero, n, actual);
			EXPECT(actual, expected, n);
			memset(actual, GUARD, sizeof actual);
			memcpy(actual, v.q, (size_t)n * sizeof *actual);
			steps->greatest(v.o, n, actual);
			EXPECT(actual, most_, n);
			memset(total, GUARD, sizeof total);
			for (int j = 0; j < n; j++)
				total[j] = v.bias[j] / 2;
			steps->add(v.q, zero, n, total);
			EXPECT(total, want_total, n);
		}
	}
}

/* Every implementation that this processor can run is among those above: the one that is chosen, and the plain
 * loops. */
Test(tpu_fast_steps, every_processor_has_kernels)
{
	int n = 0;
	while (tpu_fast_steps(n + 1))
		n++;
	cr_assert_geq(n, 1);
	cr_assert_eq(tpu_fast_steps(0), tpu_fast_steps(1));
	cr_assert_str_eq(tpu_fast_steps(n)->name, "plain");
	for (int i = 2; i <= n; i++)
		cr_assert_str_neq(tpu_fast_steps(i)->name, tpu_fast_steps(i - 1)->name);
}
