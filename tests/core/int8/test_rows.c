/* SPDX-License-Identifier: MIT
 *
 * Products of rows that lie anywhere with packed weights (core/int8/rows.h). What the program promises: every kernel
 * that this processor has gives the sums modulo 2^32, whatever the signs, sizes and starts; packing changes nothing but
 * the place; and nothing is read beyond k rounded up to 4 or written beyond columns rounded up to 16. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "core/int8/kernels.h"
#include "core/int8/rows.h"
#include "tests/kit/support.h"

enum { MAX_K = 300, MAX_M = 20, GUARD = 0x5a5a5a5a };

struct product {
	uint8_t *row[MAX_M]; /* each ends where it may be read */
	uint8_t weight[MAX_K * NPL_INT8_PANEL];
	uint8_t *panel;
	int32_t row_start[MAX_M], column_start[NPL_INT8_PANEL], was[MAX_M * NPL_INT8_PANEL];
};

static int number(uint8_t byte, bool is_signed)
{
	return is_signed ? (int8_t)byte : byte;
}

static int64_t round_up(int64_t value, int64_t step)
{
	return (value + step - 1) / step * step;
}

static void draw(uint8_t *bytes, int64_t n, uint64_t *rng)
{
	static const uint8_t extremes[] = {0, 0x7f, 0x80, 0xff};
	bool extreme = test_range(rng, 0, 3) == 0;
	for (int64_t i = 0; i < n; i++)
		bytes[i] = extreme ? extremes[test_range(rng, 0, 3)] : (uint8_t)test_range(rng, 0, 255);
}

static void check_product(const struct npl_int8_rows_product *p, const struct product *from, uint64_t seed)
{
	for (int64_t i = 0; i < p->m; i++)
		for (int64_t j = 0; j < p->c_stride; j++) {
			uint32_t sum = p->add ? (uint32_t)from->was[i * NPL_INT8_PANEL + j] : 0;
			if (j >= round_up(p->columns, 16)) {
				cr_assert_eq(p->c[i * p->c_stride + j], GUARD, "seed %llu: wrote column %lld",
					     (unsigned long long)seed, (long long)j);
				continue;
			}
			if (j >= p->columns)
				continue;
			sum += p->row_start ? (uint32_t)p->row_start[i] : 0;
			sum += p->column_start ? (uint32_t)p->column_start[j] : 0;
			for (int64_t k = 0; k < p->k; k++)
				sum += (uint32_t)(number(p->a[i][k], p->a_signed) *
						  number(from->weight[k * NPL_INT8_PANEL + j], !p->a_signed));
			cr_assert_eq((uint32_t)p->c[i * p->c_stride + j], sum,
				     "seed %llu, kernel %d (%s): sum %lld, %lld is %d, expected %d",
				     (unsigned long long)seed, p->kernel, npl_int8_kernel_name(p->kernel), (long long)i,
				     (long long)j, p->c[i * p->c_stride + j], (int32_t)sum);
		}
}

static void one_product(uint64_t seed)
{
	static struct product f;
	uint64_t rng = seed;
	struct npl_int8_rows_product p = {.m = test_range(&rng, 1, MAX_M),
					  .k = test_range(&rng, 0, test_range(&rng, 0, 3) ? 40 : MAX_K),
					  .columns = test_range(&rng, 1, NPL_INT8_PANEL),
					  .a_signed = test_range(&rng, 0, 1),
					  .add = test_range(&rng, 0, 1)};
	p.c_stride = p.add ? NPL_INT8_PANEL : round_up(p.columns, 16) + test_range(&rng, 0, 5);
	for (int64_t i = 0; i < p.m; i++) { /* exact allocations, so that the sanitizers see what is read */
		f.row[i] = malloc((size_t)round_up(p.k, 4) + 1);
		cr_assert(f.row[i]);
		draw(f.row[i], round_up(p.k, 4), &rng);
		f.row_start[i] = (int32_t)test_rng(&rng);
	}
	draw(f.weight, p.k * NPL_INT8_PANEL, &rng);
	for (int j = 0; j < NPL_INT8_PANEL; j++)
		f.column_start[j] = (int32_t)test_rng(&rng);
	f.panel = aligned_alloc(64, (size_t)npl_int8_panel_bytes(p.k) + 64);
	p.c = malloc(sizeof(int32_t) * (size_t)(p.m * p.c_stride));
	cr_assert(f.panel && p.c);
	npl_int8_pack_panel(f.weight, p.k, p.columns, NPL_INT8_PANEL, 0, f.panel);
	p.a = (const uint8_t *const *)f.row;
	p.panel = f.panel;
	p.row_start = test_range(&rng, 0, 1) ? f.row_start : NULL;
	p.column_start = test_range(&rng, 0, 1) ? f.column_start : NULL;
	for (p.kernel = 0; p.kernel <= npl_int8_kernels(); p.kernel++) {
		for (int64_t i = 0; i < p.m; i++)
			for (int64_t j = 0; j < p.c_stride; j++) {
				bool guarded = j >= round_up(p.columns, 16);
				int32_t was = guarded ? GUARD : (int32_t)(uint32_t)(i * 1000003 + j * 77777777);
				p.c[i * p.c_stride + j] = was;
				if (j < NPL_INT8_PANEL)
					f.was[i * NPL_INT8_PANEL + j] = was;
			}
		npl_int8_rows(&p);
		check_product(&p, &f, seed);
	}
	for (int64_t i = 0; i < p.m; i++)
		free(f.row[i]);
	free(f.panel);
	free(p.c);
}

Test(int8_rows, products_equal_the_definition)
{
	for (uint64_t seed = 1; seed <= 600; seed++)
		one_product(seed);
}

Test(int8_rows, packed_weights_are_where_the_kernel_reads_them)
{
	static uint8_t w[70 * 100];
	uint8_t *out = aligned_alloc(64, (size_t)npl_int8_panel_bytes(70));
	uint64_t rng = 5;
	cr_assert(out);
	for (int64_t k = 0; k <= 70; k += 7)
		for (int64_t columns = 1; columns <= NPL_INT8_PANEL; columns += 9)
			for (int flip = 0; flip < 256; flip += 0x80) {
				draw(w, sizeof w, &rng);
				npl_int8_prefer((int)test_range(&rng, 0, npl_int8_kernels()));
				npl_int8_pack_panel(w, k, columns, 100, (uint8_t)flip, out);
				for (int64_t i = 0; i < npl_int8_panel_bytes(k); i++) {
					int64_t row = i / (4 * NPL_INT8_PANEL) * 4 + i % 4, j = i / 4 % NPL_INT8_PANEL;
					uint8_t expected = row < k && j < columns ? w[row * 100 + j] ^ (uint8_t)flip
										  : 0;
					cr_assert_eq(out[i], expected, "%lld rows, %lld columns: byte %lld",
						     (long long)k, (long long)columns, (long long)i);
				}
			}
	npl_int8_prefer(0);
	free(out);
}

Test(int8_rows, sums_of_rows_and_columns)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		static uint8_t w[MAX_K * NPL_INT8_PANEL];
		uint64_t rng = seed;
		int64_t k = test_range(&rng, 0, MAX_K);
		bool is_signed = test_range(&rng, 0, 1);
		int32_t sum[NPL_INT8_PANEL], row_sum[NPL_INT8_PANEL];
		const uint8_t *row[NPL_INT8_PANEL];
		uint8_t *panel = aligned_alloc(64, (size_t)npl_int8_panel_bytes(k) + 64);
		cr_assert(panel);
		draw(w, sizeof w, &rng);
		npl_int8_pack_panel(w, k, NPL_INT8_PANEL, NPL_INT8_PANEL, 0, panel);
		for (int j = 0; j < NPL_INT8_PANEL; j++) {
			sum[j] = j;
			row[j] = w + j * MAX_K;
		}
		npl_int8_panel_sums(panel, k, is_signed, sum);
		npl_int8_row_sums(row, NPL_INT8_PANEL, k, is_signed, row_sum);
		for (int j = 0; j < NPL_INT8_PANEL; j++) {
			int32_t column = j, line = 0;
			for (int64_t i = 0; i < k; i++) {
				column += number(w[i * NPL_INT8_PANEL + j], is_signed);
				line += number(row[j][i], is_signed);
			}
			cr_assert_eq(sum[j], column, "seed %llu, column %d", (unsigned long long)seed, j);
			cr_assert_eq(row_sum[j], line, "seed %llu, row %d", (unsigned long long)seed, j);
		}
		free(panel);
	}
}
