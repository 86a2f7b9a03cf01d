/* SPDX-License-Identifier: MIT
 *
 * Exact 8-bit products of scattered rows with packed weights (rows.h): packing, the parts of zero points, and rows for
 * kernels that multiply 16-bit values. The caller loops over panels, because it knows how much of k stays in a
 * cache. */
#include "rows.h"

#include <emmintrin.h>

#include "core/base/arith.h"
#include "kernels.h"

enum { PANEL = NPL_INT8_PANEL, DEPTH = 512 /* values of k that are widened at once */ };

static const int32_t zeros[PANEL];

void npl_int8_pack_panel(const uint8_t *w, int64_t k, int64_t columns, int64_t stride, uint8_t flip, uint8_t *out)
{
	npl_int8_kernel(0)->pack_bytes(&(struct npl_int8_packing){.data = w,
								  .stride = 1,
								  .k_stride = stride,
								  .count = columns,
								  .length = k,
								  .width = PANEL,
								  .flip = flip,
								  .filler = flip,
								  .out = out});
}

static int32_t sum_of_bytes(const uint8_t *a, int64_t k, uint8_t flip)
{
	const __m128i flips = _mm_set1_epi8((char)flip);
	__m128i sums = _mm_setzero_si128();
	int64_t i = 0;
	for (; i + 16 <= k; i += 16) {
		__m128i bytes = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(a + i)), flips);
		sums = _mm_add_epi64(sums, _mm_sad_epu8(bytes, _mm_setzero_si128()));
	}
	int32_t sum = _mm_cvtsi128_si32(sums) + _mm_cvtsi128_si32(_mm_unpackhi_epi64(sums, sums));
	for (; i < k; i++)
		sum += a[i] ^ flip;
	return sum;
}

void npl_int8_row_sums(const uint8_t *const *a, int64_t m, int64_t k, bool is_signed, int32_t *sum)
{
	for (int64_t i = 0; i < m; i++)
		sum[i] = is_signed ? sum_of_bytes(a[i], k, 0x80) - (int32_t)(128 * k) : sum_of_bytes(a[i], k, 0);
}

/* Writes a row of k bytes, a multiple of 4, as 16-bit values: of each four bytes first numbers 0 and 2, then 1 and
 * 3. */
static inline void widen_row(const uint8_t *from, int64_t k, bool is_signed, uint8_t *to)
{
	const __m128i low_bytes = _mm_set1_epi16(0xff);
	for (int64_t i = 0; i < k; i += 16) {
		__m128i bytes = _mm_setzero_si128();
		if (k - i >= 16)
			bytes = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
		else
			for (int64_t j = k - 4; j >= i; j -= 4)
				bytes = _mm_or_si128(_mm_slli_si128(bytes, 4),
						     _mm_cvtsi32_si128(npl_int8_four_bytes(from + j)));
		const __m128i even = is_signed ? _mm_srai_epi16(_mm_slli_epi16(bytes, 8), 8)
					       : _mm_and_si128(bytes, low_bytes);
		const __m128i odd = is_signed ? _mm_srai_epi16(bytes, 8) : _mm_srli_epi16(bytes, 8);
		__m128i *pairs = (__m128i *)(void *)(to + 2 * i);
		_mm_store_si128(pairs, _mm_unpacklo_epi32(even, odd));
		_mm_store_si128(pairs + 1, _mm_unpackhi_epi32(even, odd));
	}
}

/* Multiplies a tile's rows by all columns of the panel. */
static void run_columns(const struct npl_int8_kernel *kernel, struct npl_int8_tile *tile, int64_t columns)
{
	for (; columns > 0; columns -= kernel->part_columns) {
		tile->columns = (int)columns;
		kernel->run_rows(tile);
		tile->b = (const uint8_t *)tile->b + 4 * kernel->part_columns;
		tile->column_start += kernel->part_columns;
		tile->c += kernel->part_columns;
	}
}

/* Multiplies a tile's rows by all columns of the panel with a kernel of 16-bit values, DEPTH values of k at a time: the
 * first stores the sums, the others add to them. Rows are widened once for all columns. */
static void run_widened(const struct npl_int8_kernel *kernel, const struct npl_int8_tile *tile, int64_t columns)
{
	_Alignas(16) uint8_t wide[NPL_INT8_PART_ROWS][2 * DEPTH];
	const uint8_t *row[NPL_INT8_PART_ROWS];
	for (int64_t k = 0; k < 4 * tile->groups || !k; k += DEPTH) {
		struct npl_int8_tile part = *tile;
		part.groups = npl_min_i64(tile->groups - k / 4, DEPTH / 4);
		part.a_row = row;
		part.b = (const uint8_t *)tile->b + k * PANEL;
		if (k) {
			part.row_start = part.column_start = zeros;
			part.add = true;
		}
		for (int i = 0; i < part.rows; i++) {
			row[i] = wide[i];
			if (part.a_signed)
				widen_row(tile->a_row[i] + k, 4 * part.groups, true, wide[i]);
			else
				widen_row(tile->a_row[i] + k, 4 * part.groups, false, wide[i]);
		}
		run_columns(kernel, &part, columns);
	}
}

void npl_int8_rows(const struct npl_int8_rows_product *p)
{
	const struct npl_int8_kernel *kernel = npl_int8_kernel(p->kernel);
	struct npl_int8_tile tile = {
		.groups = (p->k + 3) / 4, .a_signed = p->a_signed, .add = p->add, .c_stride = p->c_stride};
	for (int64_t i = 0; i < p->m; i += kernel->part_rows) {
		tile.a_row = p->a + i;
		tile.b = p->panel;
		tile.row_start = p->row_start ? p->row_start + i : zeros;
		tile.column_start = p->column_start ? p->column_start : zeros;
		tile.rows = (int)npl_min_i64(p->m - i, kernel->part_rows);
		tile.c = p->c + i * p->c_stride;
		if (kernel->value_bytes == 1)
			run_columns(kernel, &tile, p->columns);
		else
			run_widened(kernel, &tile, p->columns);
	}
}

/* Adds up each column of a panel's k rows into sum[], by multiplying a row of ones by the panel. */
void npl_int8_panel_sums(const uint8_t *panel, int64_t k, bool is_signed, int32_t sum[NPL_INT8_PANEL])
{
	enum { ONES = 256 };
	uint8_t ones[ONES];
	const uint8_t *row = ones;
	memset(ones, 1, sizeof ones);
	for (int64_t k0 = 0; k0 < k; k0 += ONES, panel += npl_int8_panel_bytes(ONES)) {
		struct npl_int8_rows_product p = {.m = 1,
						  .k = k - k0 < ONES ? k - k0 : ONES,
						  .columns = PANEL,
						  .a = &row,
						  .a_signed = !is_signed,
						  .panel = panel,
						  .add = true,
						  .c = sum,
						  .c_stride = PANEL};
		npl_int8_rows(&p);
	}
}
