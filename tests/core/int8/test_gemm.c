/* SPDX-License-Identifier: MIT
 *
 * Exact 8-bit products and requantisation. What the program promises: every kernel gives the bits of a triple loop,
 * for any type, zero point, shape and layout; additions that wrap are counted as the machine would make them; results
 * follow the ONNX QLinearConv rule. */
#include <criterion/criterion.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/int8/kernels.h"
#include "tests/kit/support.h"

static int32_t value_of(const struct npl_int8_matrix *x, int64_t i, int64_t k)
{
	uint8_t byte = ((const uint8_t *)x->data)[i * x->stride + k * x->k_stride];
	return (x->dtype == NPL_I8 ? (int8_t)byte : byte) - x->zero_point;
}

/* The definition, in 64 bits, block by block; counts the additions to the 32-bit accumulator that wrap. */
static uint64_t naive(const struct npl_int8_product *p, int32_t *c)
{
	uint64_t wrapped = 0;
	for (int64_t i = 0; i < p->m; i++)
		for (int64_t j = 0; j < p->n; j++) {
			int64_t acc = 0, part = 0, in_segment = 0, in_block = 0;
			for (int64_t k = 0; k < p->k; k++) {
				part += (int64_t)value_of(&p->a, i, k) * value_of(&p->b, j, k);
				in_segment++;
				in_block++;
				bool end = k + 1 == p->k ||
					   (p->k_block && (in_block == p->k_block || in_segment == p->k_segment));
				if (!end)
					continue;
				in_segment = p->k_block && in_segment == p->k_segment ? 0 : in_segment;
				in_block = 0;
				int64_t sum = acc + part;
				acc = (int32_t)(uint32_t)(uint64_t)sum;
				wrapped += acc != sum && p->k_block;
				part = 0;
			}
			c[i * p->n + j] = (int32_t)acc;
		}
	return wrapped;
}

static void *random_bytes(uint64_t *rng, size_t n)
{
	uint8_t *bytes = malloc(n ? n : 1);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(test_rng(rng) >> 32);
	return bytes;
}

/* A random operand of `vectors` times k; `across` lays vectors side by side. */
static struct npl_int8_matrix random_matrix(uint64_t *rng, int64_t vectors, int64_t k, bool across)
{
	enum npl_dtype dtype = test_rng(rng) >> 63 ? NPL_I8 : NPL_U8;
	int64_t gap = test_range(rng, 0, 3);
	struct npl_int8_matrix x = {.dtype = dtype};
	x.zero_point = (int32_t)test_range(rng, npl_dtype_min(dtype), npl_dtype_max(dtype));
	x.stride = across ? 1 : k + gap;
	x.k_stride = across ? vectors + gap : 1;
	/* The exact size, so that the address sanitizer sees a read beyond it. */
	x.data = random_bytes(rng, (size_t)((vectors - 1) * x.stride + (k - 1) * x.k_stride + 1));
	return x;
}

/* All bytes alike, or random. */
static void fill_extreme(struct npl_int8_matrix *x, size_t n, uint64_t *rng)
{
	static const uint8_t value[] = {0x00, 0x7f, 0x80, 0xff};
	int choice = (int)test_range(rng, 0, 5);
	uint8_t *bytes = (uint8_t *)(uintptr_t)x->data;
	if (choice < 4)
		memset(bytes, value[choice], n);
	if (test_range(rng, 0, 2))
		x->zero_point = test_range(rng, 0, 1) ? npl_dtype_min(x->dtype) : npl_dtype_max(x->dtype);
}

Test(int8_gemm, every_kernel_equals_the_definition)
{
	const uint64_t seed = 0x5eed0001;
	uint64_t rng = seed;
	cr_assert_geq(npl_int8_kernels(), 1);
	for (int round = 0; round < 220; round++) {
		struct npl_int8_product p = {
			.m = test_range(&rng, 1, 70), .n = test_range(&rng, 1, 90), .k = test_range(&rng, 1, 140)};
		if (round % 20 == 0)
			p.k = test_range(&rng, 500, 2300); /* more than one block of k */
		p.a = random_matrix(&rng, p.m, p.k, test_rng(&rng) >> 63);
		p.b = random_matrix(&rng, p.n, p.k, test_rng(&rng) >> 63);
		if (round % 3 == 0) { /* pairs and fours of the greatest products leave 16 bits */
			fill_extreme(&p.a, (size_t)((p.m - 1) * p.a.stride + (p.k - 1) * p.a.k_stride + 1), &rng);
			fill_extreme(&p.b, (size_t)((p.n - 1) * p.b.stride + (p.k - 1) * p.b.k_stride + 1), &rng);
		}
		p.c_stride = p.n + test_range(&rng, 0, 2);
		int32_t *expected = malloc((size_t)(p.m * p.n) * sizeof *expected);
		naive(&p, expected);
		for (p.kernel = NPL_INT8_LIBRARY; p.kernel <= npl_int8_kernels(); p.kernel++) {
			int32_t *c = malloc((size_t)(p.m * p.c_stride) * sizeof *c);
			memset(c, 0x5a, (size_t)(p.m * p.c_stride) * sizeof *c);
			p.c = c;
			uint64_t overflows = 0;
			struct npl_err err = {0};
			cr_assert_eq(npl_int8_gemm(&p, &overflows, &err), 0, "%s", err.msg);
			cr_assert_eq(overflows, 0);
			for (int64_t i = 0; i < p.m; i++) {
				cr_assert(!memcmp(c + i * p.c_stride, expected + i * p.n, (size_t)p.n * sizeof *c),
					  "seed %llx round %d kernel %s: row %lld of %lldx%lldx%lld",
					  (unsigned long long)seed, round, npl_int8_kernel_name(p.kernel), (long long)i,
					  (long long)p.m, (long long)p.n, (long long)p.k);
				for (int64_t j = p.n; j < p.c_stride; j++)
					cr_assert_eq(c[i * p.c_stride + j], 0x5a5a5a5a, "wrote beyond a row");
			}
			free(c);
		}
		free(expected);
		free((void *)(uintptr_t)p.a.data);
		free((void *)(uintptr_t)p.b.data);
	}
}

Test(int8_gemm, few_rows_and_operands_at_the_ends_of_their_types)
{
	/* Few rows are a path of their own. */
	const uint64_t seed = 0x5eed0005;
	uint64_t rng = seed;
	for (int round = 0; round < 250; round++) {
		struct npl_int8_product p = {
			.m = test_range(&rng, 1, 6), .n = test_range(&rng, 1, 60), .k = test_range(&rng, 1, 900)};
		p.a = random_matrix(&rng, p.m, p.k, test_range(&rng, 0, 3) == 0);
		p.b = random_matrix(&rng, p.n, p.k, test_range(&rng, 0, 3) == 0);
		fill_extreme(&p.a, (size_t)((p.m - 1) * p.a.stride + (p.k - 1) * p.a.k_stride + 1), &rng);
		fill_extreme(&p.b, (size_t)((p.n - 1) * p.b.stride + (p.k - 1) * p.b.k_stride + 1), &rng);
		p.c_stride = p.n;
		int32_t expected[360], c[360];
		naive(&p, expected);
		p.c = c;
		for (p.kernel = NPL_INT8_LIBRARY; p.kernel <= npl_int8_kernels(); p.kernel++) {
			uint64_t overflows = 0;
			struct npl_err err = {0};
			memset(c, 0x5a, sizeof c);
			cr_assert_eq(npl_int8_gemm(&p, &overflows, &err), 0, "%s", err.msg);
			cr_assert(!memcmp(c, expected, (size_t)(p.m * p.n) * sizeof *c),
				  "seed %llx round %d kernel %d: %lldx%lldx%lld", (unsigned long long)seed, round,
				  p.kernel, (long long)p.m, (long long)p.n, (long long)p.k);
		}
		free((void *)(uintptr_t)p.a.data);
		free((void *)(uintptr_t)p.b.data);
	}
}

Test(int8_gemm, blocks_larger_than_the_caches)
{
	/* Several blocks in each of the three dimensions; one sampled entry in 97 is checked against the definition. */
	enum { M = 211, N = 1500, K = 1037 };
	uint64_t rng = 0x5eed0002;
	struct npl_int8_product p = {.m = M, .n = N, .k = K, .c_stride = N};
	p.a = random_matrix(&rng, M, K, false);
	p.b = random_matrix(&rng, N, K, true);
	for (p.kernel = NPL_INT8_LIBRARY; p.kernel <= npl_int8_kernels(); p.kernel++) {
		uint64_t overflows = 0;
		struct npl_err err = {0};
		p.c = malloc(sizeof(int32_t) * M * N);
		cr_assert_eq(npl_int8_gemm(&p, &overflows, &err), 0, "%s", err.msg);
		for (int64_t at = 0; at < (int64_t)M * N; at += 97) {
			int64_t sum = 0;
			for (int64_t k = 0; k < K; k++)
				sum += (int64_t)value_of(&p.a, at / N, k) * value_of(&p.b, at % N, k);
			cr_assert_eq(p.c[at], sum, "kernel %s, entry %lld", npl_int8_kernel_name(p.kernel),
				     (long long)at);
		}
		free(p.c);
	}
	free((void *)(uintptr_t)p.a.data);
	free((void *)(uintptr_t)p.b.data);
}

Test(int8_gemm, nothing_to_add_gives_zeros)
{
	int32_t c[6] = {1, 2, 3, 4, 5, 6};
	uint8_t byte = 9;
	uint64_t overflows = 0;
	struct npl_err err = {0};
	struct npl_int8_product p = {.m = 2,
				     .n = 3,
				     .k = 0,
				     .a = {&byte, NPL_U8, 0, 1, 1},
				     .b = {&byte, NPL_U8, 0, 1, 1},
				     .c = c,
				     .c_stride = 3};
	cr_assert_eq(npl_int8_gemm(&p, &overflows, &err), 0);
	for (int i = 0; i < 6; i++)
		cr_assert_eq(c[i], 0);
}

Test(int8_gemm, wrapping_additions_are_counted_block_by_block)
{
	/* All values 255: each block of L adds 65,025 * L; the accumulator wraps where the running sum passes 2^31. */
	const uint64_t seed = 0x5eed0003;
	uint64_t rng = seed, total = 0;
	for (int round = 0; round < 24; round++) {
		struct npl_int8_product p = {.m = 2, .n = 3, .k = test_range(&rng, 30000, 120000), .c_stride = 3};
		p.k_segment = test_range(&rng, 1, 3) == 1 ? p.k : test_range(&rng, 500, 4000);
		p.k_block = test_range(&rng, 100, 3000);
		bool extreme = round % 2 == 0;
		p.a = random_matrix(&rng, p.m, p.k, false);
		p.b = random_matrix(&rng, p.n, p.k, false);
		if (extreme) {
			memset((void *)(uintptr_t)p.a.data, 255, (size_t)(p.m * p.a.stride - (p.a.stride - p.k)));
			memset((void *)(uintptr_t)p.b.data, 255, (size_t)(p.n * p.b.stride - (p.b.stride - p.k)));
			p.a.dtype = p.b.dtype = NPL_U8;
			p.a.zero_point = 0;
			p.b.zero_point = round % 4 == 0 ? 0 : 255; /* the second never wraps: all products are 0 */
		}
		int32_t c[6], expected[6];
		uint64_t counted = naive(&p, expected);
		total += counted;
		for (p.kernel = NPL_INT8_LIBRARY; p.kernel <= npl_int8_kernels(); p.kernel++) {
			uint64_t overflows = 0;
			struct npl_err err = {0};
			p.c = c;
			cr_assert_eq(npl_int8_gemm(&p, &overflows, &err), 0, "%s", err.msg);
			cr_assert(!memcmp(c, expected, sizeof c), "seed %llx round %d", (unsigned long long)seed,
				  round);
			cr_assert_eq(overflows, counted, "seed %llx round %d: %llu wrapped, expected %llu",
				     (unsigned long long)seed, round, (unsigned long long)overflows,
				     (unsigned long long)counted);
		}
		free((void *)(uintptr_t)p.a.data);
		free((void *)(uintptr_t)p.b.data);
	}
	cr_assert_gt(total, 0, "the test never forced an overflow");
}

Test(int8_gemm, the_bound_on_wrapping_is_sharp)
{
	/* 255 * 255 * 33025 = 2,147,450,625 < 2^31 - 1; one more product passes it. */
	struct npl_int8_product p = {.k = 33025, .a = {NULL, NPL_U8, 0, 1, 1}, .b = {NULL, NPL_U8, 0, 1, 1}};
	cr_assert(!npl_int8_may_wrap(&p));
	p.k++;
	cr_assert(npl_int8_may_wrap(&p));
	p.a.dtype = NPL_I8; /* at most 128 * 255 now */
	p.k = 65793;
	cr_assert(!npl_int8_may_wrap(&p));
	p.k++;
	cr_assert(npl_int8_may_wrap(&p));
}

Test(int8_gemm, malformed_products_are_refused)
{
	uint8_t byte = 0;
	int32_t c = 0;
	const struct npl_int8_product good = {.m = 1,
					      .n = 1,
					      .k = 1,
					      .a = {&byte, NPL_U8, 0, 1, 1},
					      .b = {&byte, NPL_I8, 0, 1, 1},
					      .c = &c,
					      .c_stride = 1};
	struct npl_int8_product bad[8];
	for (int i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].a.dtype = NPL_F32;
	bad[1].b.zero_point = 128; /* of an i8 */
	bad[2].a.zero_point = -1;  /* of a u8 */
	bad[3].kernel = npl_int8_kernels() + 1;
	bad[4].k_block = NPL_INT8_MAX_BLOCK + 1;
	bad[5].k_block = 4; /* without a segment */
	bad[6].a.stride = bad[6].a.k_stride = 2;
	bad[7].kernel = NPL_INT8_LIBRARY - 1;
	uint64_t overflows = 0;
	struct npl_err err = {0};
	cr_assert_eq(npl_int8_gemm(&good, &overflows, &err), 0);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(npl_int8_gemm(&bad[i], &overflows, &err), NPL_EINTERNAL, "case %d", i);
}

/* The rule again, another way: in double, with the fraction looked at by hand. float(acc) * scale in float32 is exact
 * in double, so rounding it here is rounding once. */
static int32_t stated_rule(int32_t acc, float scale, int32_t zero, int32_t low, int32_t high, bool *clipped)
{
	float product = (float)acc * scale;
	double below = floor((double)product), fraction = (double)product - below;
	double rounded = fraction > 0.5 || (fraction >= 0.5 && fmod(below, 2) != 0) ? below + 1 : below;
	double q = rounded + zero;
	*clipped = q < low || q > high;
	return q < low ? low : q > high ? high : (int32_t)q;
}

Test(int8_requantise, follows_the_onnx_rule)
{
	const uint64_t seed = 0x5eed0004;
	uint64_t rng = seed;
	for (int round = 0; round < 200; round++) {
		npl_int8_prefer(round / 4 % (npl_int8_kernels() + 1));
		enum npl_dtype dtype = round % 2 ? NPL_I8 : NPL_U8;
		int32_t low = npl_dtype_min(dtype), high = npl_dtype_max(dtype),
			zero = (int32_t)test_range(&rng, low, high);
		int64_t count = test_range(&rng, 1, 60);
		int step = (int)test_range(&rng, 0, 1);
		int32_t acc[60];
		float scale[60];
		uint8_t out[61];
		memset(out, 0x77, sizeof out);
		for (int64_t i = 0; i < count; i++) {
			/* Powers of two make ties; the ends of int32 make saturation. */
			scale[i] = round % 4 < 2 ? ldexpf(1.0f, -(int)test_range(&rng, 0, 5))
						 : (float)test_range(&rng, 1, 1000) * 1e-5f;
			acc[i] = (int32_t)(test_rng(&rng) >> 32) >> test_range(&rng, 0, 31);
			if (test_range(&rng, 0, 20) == 0)
				acc[i] = i % 2 ? INT_MIN : INT_MAX;
		}
		uint64_t expected_clipped = 0, clipped = npl_int8_requantise(acc, count, scale, step, zero, dtype, out);
		for (int64_t i = 0; i < count; i++) {
			bool clip;
			int32_t q = stated_rule(acc[i], scale[i * step], zero, low, high, &clip);
			int32_t actual = dtype == NPL_I8 ? (int8_t)out[i] : out[i];
			expected_clipped += clip;
			cr_assert_eq(actual, q, "seed %llx round %d: %d * %g + %d gave %d, expected %d",
				     (unsigned long long)seed, round, acc[i], (double)scale[i * step], zero, actual, q);
		}
		cr_assert_eq(clipped, expected_clipped, "seed %llx round %d", (unsigned long long)seed, round);
		cr_assert_eq(out[count], 0x77, "wrote beyond the end");
	}
	npl_int8_prefer(0);
}

/* Bias, Relu and scale of rows in plain steps, the rounding by stated_rule. */
static struct npl_int8_counts finish_plainly(const struct npl_int8_finish *f, const int32_t *acc, int64_t rows,
					     int64_t count, uint8_t *out)
{
	struct npl_int8_counts counts = {0};
	for (int64_t i = 0; i < rows * count; i++) {
		const int64_t at = f->step ? i % count : 0, sum = (int64_t)acc[i] + (f->bias ? f->bias[at] : 0);
		int32_t wrapped = (int32_t)(uint32_t)(uint64_t)sum;
		bool clipped;
		counts.overflows += wrapped != sum;
		wrapped = f->relu && wrapped < 0 ? 0 : wrapped;
		out[i] = (uint8_t)stated_rule(wrapped, f->scale[at], f->zero_point, npl_dtype_min(f->dtype),
					      f->has_limit ? f->limit : npl_dtype_max(f->dtype), &clipped);
		counts.saturations += clipped && !f->has_limit;
	}
	return counts;
}

Test(int8_finish, every_kernel_equals_plain_steps)
{
	enum { MAX_SUMS = 4 * 70 };
	uint64_t rng = 0x5eed0006, overflows = 0, saturations = 0;
	for (int round = 0; round < 400; round++) {
		const int64_t rows = test_range(&rng, 1, 4), count = test_range(&rng, 1, 70);
		int32_t acc[MAX_SUMS], used[MAX_SUMS], bias[70];
		float scale[70];
		uint8_t expected[MAX_SUMS], out[MAX_SUMS + 1];
		struct npl_int8_finish f = {.bias = test_range(&rng, 0, 2) ? bias : NULL,
					    .scale = scale,
					    .step = (int)test_range(&rng, 0, 1),
					    .relu = test_range(&rng, 0, 1),
					    .dtype = round % 2 ? NPL_I8 : NPL_U8};
		f.zero_point = (int32_t)test_range(&rng, npl_dtype_min(f.dtype), npl_dtype_max(f.dtype));
		f.has_limit = f.relu && test_range(&rng, 0, 1);
		f.limit = (int32_t)test_range(&rng, f.zero_point, npl_dtype_max(f.dtype));
		for (int64_t i = 0; i < count; i++) {
			bias[i] = (int32_t)(test_rng(&rng) >> 32) >> test_range(&rng, 0, round % 3 ? 31 : 2);
			scale[i] = ldexpf((float)test_range(&rng, 1, 1000), -(int)test_range(&rng, 0, 30));
		}
		for (int64_t i = 0; i < rows * count; i++)
			acc[i] = (int32_t)(test_rng(&rng) >> 32) >> test_range(&rng, 0, round % 3 ? 31 : 2);
		const struct npl_int8_counts expected_counts = finish_plainly(&f, acc, rows, count, expected);
		for (int kernel = 1; kernel <= npl_int8_kernels(); kernel++) {
			struct npl_int8_counts counts = {0};
			memcpy(used, acc, sizeof acc);
			memset(out, 0x77, sizeof out);
			npl_int8_prefer(kernel);
			npl_int8_finish_rows(&f, used, rows, count, out, &counts);
			cr_assert(!memcmp(out, expected, (size_t)(rows * count)), "round %d, %s", round,
				  npl_int8_kernel_name(kernel));
			cr_assert_eq(out[rows * count], 0x77, "round %d, %s: wrote beyond the end", round,
				     npl_int8_kernel_name(kernel));
			cr_assert(counts.overflows == expected_counts.overflows &&
					  counts.saturations == expected_counts.saturations,
				  "round %d, %s: %llu wrapped, %llu saturated, expected %llu and %llu", round,
				  npl_int8_kernel_name(kernel), (unsigned long long)counts.overflows,
				  (unsigned long long)counts.saturations, (unsigned long long)expected_counts.overflows,
				  (unsigned long long)expected_counts.saturations);
		}
		overflows += expected_counts.overflows;
		saturations += expected_counts.saturations;
	}
	npl_int8_prefer(0);
	cr_assert(overflows > 100 && saturations > 100);
}

Test(int8_requantise, ties_go_to_even_and_both_paths_agree)
{
	const float half = 0.5f;
	int32_t acc[9] = {-5, -3, -1, 1, 3, 5, 7, 509, 511}; /* eight in the vector path, one in the scalar */
	const int expected[9] = {-2, -2, 0, 0, 2, 2, 4, 127, 127};
	int8_t out[9];
	cr_assert_eq(npl_int8_requantise(acc, 9, &half, 0, 0, NPL_I8, out), 2);
	for (int i = 0; i < 9; i++)
		cr_assert_eq(out[i], expected[i], "%d / 2 gave %d", acc[i], out[i]);
	int32_t ends[2] = {255, 253}; /* 127.5 -> 128 clips, 126.5 -> 126 does not */
	cr_assert_eq(npl_int8_requantise(ends, 2, &half, 0, 0, NPL_I8, out), 1);
	cr_assert_eq(out[0], 127);
	cr_assert_eq(out[1], 126);
}

Test(int8_requantise, scale_is_rounded_step_by_step)
{
	volatile float x = 0.1f, w = 0.3f, y = 0.7f;
	volatile float product = x * w;
	cr_assert_eq(npl_int8_scale(x, w, y), product / y);
}

Test(int8_bias, wraps_and_counts)
{
	int32_t acc[4] = {INT_MAX, INT_MIN, 5, -5};
	const int32_t bias[4] = {1, -1, 7, 7};
	cr_assert_eq(npl_int8_add_bias(acc, 4, bias, 1), 2);
	cr_assert(acc[0] == INT_MIN && acc[1] == INT_MAX && acc[2] == 12 && acc[3] == 2);
	cr_assert_eq(npl_int8_add_bias(acc, 4, bias, 0), 1);
	cr_assert(acc[0] == INT_MIN + 1 && acc[1] == INT_MIN && acc[2] == 13 && acc[3] == 3);
}
