/* SPDX-License-Identifier: MIT
 *
 * From 32-bit accumulators back to 8 bits (int8.h): bias, then the rule of ONNX QLinearConv. The scalar and the
 * vector forms give the same bits: all convert, multiply and round once, in float32, to nearest even. */
#include <string.h>

#include "int8.h"
#include "npulab/cpu_features.h"

float npl_int8_scale(float x_scale, float w_scale, float y_scale)
{
	float product = x_scale * w_scale;
	return product / y_scale;
}

/* Written so that the compiler can use vectors: an addition wraps when the sum's sign differs from both terms'. */
uint64_t npl_int8_add_bias(int32_t *acc, int64_t count, const int32_t *bias, int step)
{
	uint64_t wrapped = 0;
	for (int64_t done = 0; done < count;) {
		int64_t end = count - done < 1 << 20 ? count : done + (1 << 20); /* as many as a 32-bit count holds */
		uint32_t some = 0;
		if (step)
			for (int64_t i = done; i < end; i++) {
				uint32_t a = (uint32_t)acc[i], b = (uint32_t)bias[i], sum = a + b;
				some += ((a ^ sum) & (b ^ sum)) >> 31;
				acc[i] = (int32_t)sum;
			}
		else
			for (int64_t i = done; i < end; i++) {
				uint32_t a = (uint32_t)acc[i], b = (uint32_t)*bias, sum = a + b;
				some += ((a ^ sum) & (b ^ sum)) >> 31;
				acc[i] = (int32_t)sum;
			}
		wrapped += some;
		done = end;
	}
	return wrapped;
}

/* What all results of a call share. Results before the zero point lie in low..high; clamping to one beyond keeps the
 * conversion in range and still shows that the value was outside. */
struct rule {
	int32_t zero, low, high;
	bool is_signed;
};

static struct rule rule_of(int32_t zero_point, enum npl_dtype dtype)
{
	return (struct rule){.zero = zero_point,
			     .low = npl_int8_min(dtype) - zero_point,
			     .high = npl_int8_max(dtype) - zero_point,
			     .is_signed = dtype == NPL_I8};
}

/* Rounds |value| < 2^22 to the nearest integer, ties to even: adding 1.5 * 2^23 leaves no fraction bits. */
static int32_t round_half_even(float value)
{
	const float big = 12582912.0f;
	volatile float shifted = value + big; /* volatile: the addition must not be optimised away */
	return (int32_t)(shifted - big);
}

static uint8_t requantise_one(int32_t acc, float scale, const struct rule *rule, uint64_t *clipped)
{
	float value = (float)acc * scale;
	float least = (float)(rule->low - 1), most = (float)(rule->high + 1);
	value = value < least ? least : value > most ? most : value;
	int32_t q = round_half_even(value);
	*clipped += q < rule->low || q > rule->high;
	return (uint8_t)((q < rule->low ? rule->low : q > rule->high ? rule->high : q) + rule->zero);
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Four results before the zero point, clamped to one beyond low..high. */
static __m128i requantise_four(const int32_t *acc, __m128 scale, __m128 least, __m128 most)
{
	__m128 value = _mm_mul_ps(_mm_cvtepi32_ps(_mm_loadu_si128((const __m128i *)(const void *)acc)), scale);
	return _mm_cvtps_epi32(_mm_min_ps(_mm_max_ps(value, least), most));
}

/* As many groups of 8 as there are; returns how many results it made. */
static int64_t requantise_sse2(const int32_t *acc, int64_t count, const float *scale, int step, const struct rule *rule,
			       uint8_t *out, uint64_t *clipped)
{
	__m128 least = _mm_set1_ps((float)(rule->low - 1)), most = _mm_set1_ps((float)(rule->high + 1)),
	       s0 = _mm_set1_ps(*scale), s1 = s0;
	__m128i lows = _mm_set1_epi16((short)rule->low), highs = _mm_set1_epi16((short)rule->high),
		zeros = _mm_set1_epi16((short)rule->zero);
	int64_t i = 0;
	for (; i + 8 <= count; i += 8) {
		if (step) {
			s0 = _mm_loadu_ps(scale + i);
			s1 = _mm_loadu_ps(scale + i + 4);
		}
		__m128i q = _mm_packs_epi32(requantise_four(acc + i, s0, least, most),
					    requantise_four(acc + i + 4, s1, least, most));
		__m128i inside = _mm_min_epi16(_mm_max_epi16(q, lows), highs);
		int changed = ~_mm_movemask_epi8(_mm_cmpeq_epi16(q, inside)) & 0xffff;
		*clipped += (uint64_t)__builtin_popcount((unsigned)changed) / 2;
		inside = _mm_add_epi16(inside, zeros);
		inside = rule->is_signed ? _mm_packs_epi16(inside, inside) : _mm_packus_epi16(inside, inside);
		_mm_storel_epi64((__m128i *)(void *)(out + i), inside);
	}
	return i;
}

#define AVX2 target("avx2,popcnt")

/* What eight sums at a time share. */
struct lanes {
	__m256 least, most; /* one beyond low..high */
	__m256i floor;      /* 0 for Relu, else the least integer */
	__m256i wrapped;    /* counts the sums that wrapped */
};

/* Eight sums with their bias and Relu, scaled and rounded, before the zero point. */
__attribute__((AVX2)) static inline __m256i finish_eight(const int32_t *acc, __m256i bias, __m256 scale,
							 struct lanes *lanes)
{
	__m256i a = _mm256_loadu_si256((const __m256i *)(const void *)acc), sum = _mm256_add_epi32(a, bias);
	__m256i wrapped = _mm256_and_si256(_mm256_xor_si256(a, sum), _mm256_xor_si256(bias, sum));
	lanes->wrapped = _mm256_add_epi32(lanes->wrapped, _mm256_srli_epi32(wrapped, 31));
	__m256 value = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_max_epi32(sum, lanes->floor)), scale);
	return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(value, lanes->least), lanes->most));
}

/* As many groups of 16 as there are, all in one pass; returns how many results it made. */
__attribute__((AVX2)) static int64_t finish_avx2(const struct npl_int8_finish *f, const struct rule *rule,
						 const int32_t *acc, int64_t count, uint8_t *out,
						 struct npl_int8_counts *counts)
{
	struct lanes lanes = {.least = _mm256_set1_ps((float)(rule->low - 1)),
			      .most = _mm256_set1_ps((float)(rule->high + 1)),
			      .floor = _mm256_set1_epi32(f->relu ? 0 : INT32_MIN),
			      .wrapped = _mm256_setzero_si256()};
	__m256 s0 = _mm256_set1_ps(*f->scale), s1 = s0;
	__m256i b0 = _mm256_set1_epi32(f->bias ? *f->bias : 0), b1 = b0;
	__m256i lows = _mm256_set1_epi16((short)rule->low), highs = _mm256_set1_epi16((short)rule->high),
		zeros = _mm256_set1_epi16((short)rule->zero);
	uint64_t unchanged = 0;
	int64_t i = 0;
	for (; i + 16 <= count; i += 16) {
		if (f->step) {
			s0 = _mm256_loadu_ps(f->scale + i);
			s1 = _mm256_loadu_ps(f->scale + i + 8);
		}
		if (f->step && f->bias) {
			b0 = _mm256_loadu_si256((const __m256i *)(const void *)(f->bias + i));
			b1 = _mm256_loadu_si256((const __m256i *)(const void *)(f->bias + i + 8));
		}
		__m256i q = _mm256_packs_epi32(finish_eight(acc + i, b0, s0, &lanes),
					       finish_eight(acc + i + 8, b1, s1, &lanes));
		__m256i inside = _mm256_min_epi16(_mm256_max_epi16(q, lows), highs);
		unchanged += (uint64_t)__builtin_popcount(
			(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi16(q, inside)));
		inside = _mm256_add_epi16(inside, zeros);
		inside = rule->is_signed ? _mm256_packs_epi16(inside, inside) : _mm256_packus_epi16(inside, inside);
		/* Both packs work within halves: fours 0 and 2 are in the lower, 1 and 3 in the upper half. */
		inside = _mm256_permutevar8x32_epi32(inside, _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5));
		_mm_storeu_si128((__m128i *)(void *)(out + i), _mm256_castsi256_si128(inside));
	}
	int32_t wrapped[8];
	_mm256_storeu_si256((__m256i *)(void *)wrapped, lanes.wrapped);
	for (int lane = 0; lane < 8; lane++)
		counts->overflows += (uint32_t)wrapped[lane];
	counts->saturations += (uint64_t)i - unchanged / 2;
	return i;
}

#define AVX512 target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")

/* What sixteen sums at a time share. */
struct lanes_16 {
	__m512 least, most;
	__m512i floor, low, high, zero;
	uint64_t wrapped, saturations;
};

__attribute__((AVX512)) static inline struct lanes_16 lanes_16_of(const struct npl_int8_finish *f,
								  const struct rule *rule)
{
	return (struct lanes_16){.least = _mm512_set1_ps((float)(rule->low - 1)),
				 .most = _mm512_set1_ps((float)(rule->high + 1)),
				 .floor = _mm512_set1_epi32(f->relu ? 0 : INT32_MIN),
				 .low = _mm512_set1_epi32(rule->low),
				 .high = _mm512_set1_epi32(rule->high),
				 .zero = _mm512_set1_epi32(rule->zero)};
}

/* The sums of the mask to as many bytes. */
__attribute__((AVX512)) static inline void finish_sixteen(const int32_t *acc, __mmask16 there, __m512i bias,
							  __m512 scale, struct lanes_16 *lanes, uint8_t *out)
{
	__m512i a = _mm512_maskz_loadu_epi32(there, acc), sum = _mm512_add_epi32(a, bias);
	__m512i wrapped = _mm512_and_si512(_mm512_xor_si512(a, sum), _mm512_xor_si512(bias, sum));
	__m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_max_epi32(sum, lanes->floor)), scale);
	__m512i q = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(value, lanes->least), lanes->most)),
		inside = _mm512_min_epi32(_mm512_max_epi32(q, lanes->low), lanes->high);
	lanes->wrapped += (uint64_t)__builtin_popcount(_mm512_movepi32_mask(wrapped) & there);
	lanes->saturations += (uint64_t)__builtin_popcount(_mm512_mask_cmpneq_epi32_mask(there, q, inside));
	_mm512_mask_cvtepi32_storeu_epi8(out, there, _mm512_add_epi32(inside, lanes->zero));
}

/* All of them, whatever their number is. */
__attribute__((AVX512)) static void finish_avx512(const struct npl_int8_finish *f, const struct rule *rule,
						  const int32_t *acc, int64_t rows, int64_t count, uint8_t *out,
						  struct npl_int8_counts *counts)
{
	struct lanes_16 lanes = lanes_16_of(f, rule);
	__m512 scale = _mm512_set1_ps(*f->scale);
	__m512i bias = _mm512_set1_epi32(f->bias ? *f->bias : 0);
	for (int64_t row = 0; row < rows; row++, acc += count, out += count)
		for (int64_t i = 0; i < count; i += 16) {
			const __mmask16 there = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : 0xffff;
			if (f->step)
				scale = _mm512_maskz_loadu_ps(there, f->scale + i);
			if (f->step && f->bias)
				bias = _mm512_maskz_loadu_epi32(there, f->bias + i);
			finish_sixteen(acc + i, there, bias, scale, &lanes, out + i);
		}
	counts->overflows += lanes.wrapped;
	counts->saturations += lanes.saturations;
}

static bool has_avx512(void)
{
	return npl_cpu_has(NPL_CPU_AVX512BW | NPL_CPU_AVX512DQ | NPL_CPU_AVX512VL);
}
#endif

/* The results from `first` on, whatever vectors there are. */
static void requantise(const struct npl_int8_finish *f, const struct rule *rule, const int32_t *acc, int64_t first,
		       int64_t count, uint8_t *out, struct npl_int8_counts *counts)
{
	int64_t i = first;
#if defined(__x86_64__)
	if (count - i >= 8)
		i += requantise_sse2(acc + i, count - i, f->scale + i * f->step, f->step, rule, out + i,
				     &counts->saturations);
#endif
	for (; i < count; i++)
		out[i] = requantise_one(acc[i], f->scale[i * f->step], rule, &counts->saturations);
}

/* What vectors do of it in one pass: as many results as it returns. */
static int64_t finish_first(const struct npl_int8_finish *f, const struct rule *rule, const int32_t *acc, int64_t count,
			    void *out, struct npl_int8_counts *counts)
{
#if defined(__x86_64__)
	if (f->dtype != NPL_I32 && has_avx512()) {
		finish_avx512(f, rule, acc, 1, count, out, counts);
		return count;
	}
	if (f->dtype != NPL_I32 && count >= 16 && npl_cpu_has(NPL_CPU_AVX2))
		return finish_avx2(f, rule, acc, count, out, counts);
#endif
	(void)f, (void)rule, (void)acc, (void)count, (void)out, (void)counts;
	return 0;
}

uint64_t npl_int8_requantise(const int32_t *acc, int64_t count, const float *scale, int step, int32_t zero_point,
			     enum npl_dtype dtype, void *out)
{
	const struct npl_int8_finish f = {.scale = scale, .step = step, .zero_point = zero_point, .dtype = dtype};
	const struct rule rule = rule_of(zero_point, dtype);
	struct npl_int8_counts counts = {0};
	int64_t done = finish_first(&f, &rule, acc, count, out, &counts);
	requantise(&f, &rule, acc, done, count, out, &counts);
	return counts.saturations;
}

/* The rule with the limit in the place of the type's, beyond which nothing is counted. */
static struct rule rule_with_limit(const struct npl_int8_finish *f)
{
	struct rule rule = rule_of(f->zero_point, f->dtype);
	if (f->limited)
		rule.high = f->most - f->zero_point;
	return rule;
}

static void finish(const struct npl_int8_finish *f, int32_t *acc, int64_t count, void *out,
		   struct npl_int8_counts *counts)
{
	const struct rule rule = rule_with_limit(f);
	int64_t done = finish_first(f, &rule, acc, count, out, counts);
	if (f->bias)
		counts->overflows += npl_int8_add_bias(acc + done, count - done, f->bias + done * f->step, f->step);
	for (int64_t i = done; f->relu && i < count; i++)
		acc[i] = acc[i] > 0 ? acc[i] : 0;
	if (f->dtype != NPL_I32)
		requantise(f, &rule, acc, done, count, out, counts);
	else if (out != acc)
		memcpy(out, acc, (size_t)count * sizeof *acc);
}

static void finish_rows(const struct npl_int8_finish *f, int32_t *acc, int64_t rows, int64_t count, void *out,
			struct npl_int8_counts *counts)
{
#if defined(__x86_64__)
	if (f->dtype != NPL_I32 && has_avx512()) {
		const struct rule rule = rule_with_limit(f);
		finish_avx512(f, &rule, acc, rows, count, out, counts);
		return;
	}
#endif
	for (int64_t row = 0; row < rows; row++)
		finish(f, acc + row * count, count, (uint8_t *)out + (size_t)(row * count) * npl_dtype_size(f->dtype),
		       counts);
}

void npl_int8_finish_rows(const struct npl_int8_finish *f, int32_t *acc, int64_t rows, int64_t count, void *out,
			  struct npl_int8_counts *counts)
{
	struct npl_int8_counts own = {0};
	finish_rows(f, acc, rows, count, out, &own);
	counts->overflows += own.overflows;
	counts->saturations += f->limited ? 0 : own.saturations;
}

void npl_int8_finish(const struct npl_int8_finish *f, int32_t *acc, int64_t count, void *out,
		     struct npl_int8_counts *counts)
{
	npl_int8_finish_rows(f, acc, 1, count, out, counts);
}
