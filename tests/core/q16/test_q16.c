/* SPDX-License-Identifier: MIT
 *
 * Promise of core/q16/q16.h: every kernel this processor has gives exactly the sums and the number of saturated
 * products that the definition gives, for any shape and any operands. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "core/q16/q16.h"
#include "tests/kit/support.h"

/* The definition, by division: floor((x w + 512) / 1024), saturated. */
static int64_t defined_product(enum npl_q16_product product, int16_t x, int16_t w, uint64_t *saturated)
{
	int64_t exact = (int64_t)x * w;
	if (product == NPL_Q16_FULL)
		return exact;
	int64_t raised = exact + 512;
	int64_t p = raised >= 0 ? raised / 1024 : -((-raised + 1023) / 1024);
	*saturated += p > 32767 || p < -32768;
	return p > 32767 ? 32767 : p < -32768 ? -32768 : p;
}

struct problem {
	int64_t rows, n, k, stride;
	int16_t *x, *w;
	int64_t *sums; /* with a guard after */
};

#define GUARD 0x5a5a5a5a5a5a5a5a

static void make(struct problem *p, int64_t rows, int64_t n, int64_t k, uint64_t *rng, int bits)
{
	static const int16_t ends[] = {-32768, 32767, -32767, 0, 1, -1};
	*p = (struct problem){.rows = rows, .n = n, .k = k, .stride = (k + 1) / 2 * 2 + 2};
	p->x = malloc((size_t)(rows * p->stride) * sizeof *p->x);
	p->w = malloc((size_t)(n * k) * sizeof *p->w);
	p->sums = malloc((size_t)(rows * n + 1) * sizeof *p->sums);
	cr_assert(p->x && p->w && p->sums);
	for (int64_t i = 0; i < rows * p->stride; i++) /* what lies between the rows must not count */
		p->x[i] = bits ? (int16_t)test_range(rng, -(1 << bits), (1 << bits) - 1) : ends[test_range(rng, 0, 5)];
	for (int64_t i = 0; i < n * k; i++)
		p->w[i] = bits ? (int16_t)test_range(rng, -(1 << bits), (1 << bits) - 1) : ends[test_range(rng, 0, 5)];
}

static void drop(struct problem *p)
{
	free(p->x);
	free(p->w);
	free(p->sums);
}

static void check(struct problem *p, enum npl_q16_product product, uint64_t seed)
{
	struct npl_q16_weights weights = {0};
	uint64_t expected = 0;
	cr_assert_eq(npl_q16_pack(&weights, product, p->n, p->k, p->w, NULL), 0);
	int64_t *truth = calloc((size_t)(p->rows * p->n) + 1, sizeof *truth);
	for (int64_t r = 0; r < p->rows; r++)
		for (int64_t j = 0; j < p->n; j++)
			for (int64_t i = 0; i < p->k; i++)
				truth[r * p->n + j] += defined_product(product, p->x[r * p->stride + i],
								       p->w[j * p->k + i], &expected);
	for (int kernel = 0; kernel <= npl_q16_kernels(); kernel++) {
		for (int64_t i = 0; i <= p->rows * p->n; i++)
			p->sums[i] = GUARD;
		uint64_t saturated = npl_q16_gemm(&weights, p->rows, p->x, p->stride, p->sums, kernel);
		cr_assert_eq(saturated, expected, "%s: %llu saturated, not %llu (seed %llu)",
			     npl_q16_kernel_name(kernel), (unsigned long long)saturated, (unsigned long long)expected,
			     (unsigned long long)seed);
		for (int64_t i = 0; i < p->rows * p->n; i++)
			cr_assert_eq(p->sums[i], truth[i], "%s: sum %lld of %lldx%lldx%lld (seed %llu)",
				     npl_q16_kernel_name(kernel), (long long)i, (long long)p->rows, (long long)p->n,
				     (long long)p->k, (unsigned long long)seed);
		cr_assert_eq(p->sums[p->rows * p->n], GUARD);
	}
	free(truth);
	npl_q16_weights_free(&weights);
}

Test(q16, random_shapes_and_operands)
{
	for (uint64_t seed = 1; seed <= 150; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		struct problem p;
		make(&p, test_range(&rng, 1, 11), test_range(&rng, 1, 40), test_range(&rng, 1, 60), &rng,
		     (int)test_range(&rng, 0, 15));
		check(&p, NPL_Q16_ROUNDED, seed);
		check(&p, NPL_Q16_FULL, seed);
		drop(&p);
	}
}

/* Longer than the stretches after which 32-bit and 16-bit registers are emptied, and everything at the ends. */
Test(q16, long_sums_of_extremes)
{
	uint64_t rng = 7;
	for (int sign = 0; sign < 4; sign++) {
		struct problem p;
		make(&p, 5, 3, 9001, &rng, 15);
		for (int64_t i = 0; i < p.rows * p.stride; i++)
			p.x[i] = sign & 1 ? -32768 : 32767;
		for (int64_t i = 0; i < p.n * p.k; i++)
			p.w[i] = sign & 2 ? -32768 : 32767;
		check(&p, NPL_Q16_ROUNDED, 7);
		check(&p, NPL_Q16_FULL, 7);
		drop(&p);
	}
}

/* Every product of one operand with a sweep of the other, where rounding and saturation begin. */
Test(q16, rounding_and_saturation_boundaries)
{
	static const int16_t ws[] = {1, -1, 2, 511, 512, 513, -512, 1024, -1024, 1025, 32767, -32767, -32768};
	struct problem p;
	uint64_t rng = 3;
	make(&p, 1, (int64_t)(sizeof ws / sizeof *ws), 1, &rng, 15);
	memcpy(p.w, ws, sizeof ws);
	for (int32_t x = INT16_MIN; x <= INT16_MAX; x += 3) {
		p.x[0] = (int16_t)x;
		check(&p, NPL_Q16_ROUNDED, 3);
	}
	drop(&p);
}

/* Every weight against the magnitudes about its limits: where products of either sign begin to saturate. */
Test(q16, every_weight_where_it_saturates)
{
	enum { WEIGHTS = 64, ROWS = 32 };
	struct problem p;
	uint64_t rng = 11;
	make(&p, ROWS, WEIGHTS, 1, &rng, 15);
	for (int first = INT16_MIN; first <= INT16_MAX; first += WEIGHTS) {
		for (int j = 0; j < WEIGHTS; j++)
			p.w[j] = (int16_t)(first + j);
		for (int r = 0; r < ROWS; r++) {
			const int w = abs(first + (r & 1 ? WEIGHTS - 1 : 0)),
				  minimum = (1 << 25) - (r & 2 ? 512 : -513);
			const int64_t x = w ? (minimum + w - 1) / w + (r >> 3 & 3) - 2 : INT16_MAX;
			const int64_t held = x > INT16_MAX ? INT16_MAX : x;
			p.x[r * p.stride] = (int16_t)(r & 4 ? -held - (x > INT16_MAX) : held);
		}
		check(&p, NPL_Q16_ROUNDED, (uint64_t)(first - INT16_MIN));
	}
	drop(&p);
}

/* More rows, k and outputs than the kernels take at a time. */
Test(q16, larger_than_every_block)
{
	static const int64_t shapes[][3] = {{37, 19, 700}, {3, 4200, 3}, {19, 33, 513}, {16, 16, 256}};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct problem p;
		uint64_t rng = 13 + i;
		make(&p, shapes[i][0], shapes[i][1], shapes[i][2], &rng, 15);
		check(&p, NPL_Q16_ROUNDED, i);
		check(&p, NPL_Q16_FULL, i);
		drop(&p);
	}
}

/* Just inside the bound no product saturates, just outside some do: products must be counted there. The
 * first to saturate is 2^25 - 512 = 21845 * 1536; 2^25 - 1 = 18631 * 1801 would be 32768. */
Test(q16, the_choice_of_counting)
{
	static const int16_t pairs[][2] = {{8192, 4095},    {8192, 4096},    {-8192, 4096}, {-8192, -4096},
					   {5793, 5793},    {32767, 1024},   {32767, 1023}, {32765, 1024},
					   {-32768, 1024},  {-32768, -1024}, {21845, 1536}, {18631, 1801},
					   {-21845, -1536}, {18631, -1801}};
	struct problem p;
	uint64_t rng = 5;
	make(&p, 6, 17, 5, &rng, 9);
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		p.x[5 * p.stride + 3] = pairs[i][0];
		p.w[16 * p.k + 3] = pairs[i][1];
		check(&p, NPL_Q16_ROUNDED, 5);
	}
	drop(&p);
}

Test(q16, kernels_have_names)
{
	cr_assert_geq(npl_q16_kernels(), 1);
	cr_assert_str_eq(npl_q16_kernel_name(1), "sse2");
	cr_assert_str_eq(npl_q16_kernel_name(0), npl_q16_kernel_name(npl_q16_kernels()));
}
