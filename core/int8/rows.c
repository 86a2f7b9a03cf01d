/* SPDX-License-Identifier: MIT
 *
 * Exact 8-bit products of rows anywhere with packed weights (rows.h): packing, what zero points need, and the
 * choice of a kernel. The loop over panels is the caller's, who knows how much of k stays in a cache. */
#include "rows.h"

#include <string.h>

#include "kernels.h"
#include "npulab/cpu_features.h"
#include "rows_kernels.h"

enum { PANEL = NPL_INT8_PANEL, ROWS = NPL_INT8_TILE_ROWS };

static bool always(void)
{
	return true;
}

static int byte_of(uint8_t byte, bool is_signed)
{
	return is_signed ? (int8_t)byte : byte;
}

static void run_plain(const struct npl_int8_rows_tile *t)
{
	for (int i = 0; i < t->rows; i++)
		for (int j = 0; j < t->columns; j++) {
			int32_t *c = t->c + i * t->c_stride + j;
			uint32_t sum = (uint32_t)t->column_start[j] + (t->row_start ? (uint32_t)t->row_start[i] : 0);
			for (int64_t k = 0; k < t->k; k++)
				sum += (uint32_t)(byte_of(t->a[i][k], t->a_signed) *
						  byte_of(t->panel[k / 4 * 4 * PANEL + 4 * j + k % 4], !t->a_signed));
			*c = (int32_t)(sum + (t->add ? (uint32_t)*c : 0));
		}
}

#if defined(__x86_64__)
#include <immintrin.h>

static bool has_avx512bw(void)
{
	return npl_cpu_has(NPL_CPU_AVX512F | NPL_CPU_AVX512BW);
}

static bool has_avx2(void)
{
	return npl_cpu_has(NPL_CPU_AVX2);
}

/* Four rows of 64 bytes side by side. */
static void interleave(const uint8_t *const row[4], uint8_t flip, uint8_t *out)
{
	const __m128i flips = _mm_set1_epi8((char)flip);
	__m128i *to = (__m128i *)(void *)out;
	for (int j = 0; j < PANEL; j += 16, to += 4) {
		__m128i r[4];
		for (int i = 0; i < 4; i++)
			r[i] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(row[i] + j)), flips);
		__m128i low = _mm_unpacklo_epi8(r[0], r[1]), low2 = _mm_unpacklo_epi8(r[2], r[3]);
		__m128i high = _mm_unpackhi_epi8(r[0], r[1]), high2 = _mm_unpackhi_epi8(r[2], r[3]);
		_mm_store_si128(to, _mm_unpacklo_epi16(low, low2));
		_mm_store_si128(to + 1, _mm_unpackhi_epi16(low, low2));
		_mm_store_si128(to + 2, _mm_unpacklo_epi16(high, high2));
		_mm_store_si128(to + 3, _mm_unpackhi_epi16(high, high2));
	}
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
#else
static void interleave(const uint8_t *const row[4], uint8_t flip, uint8_t *out)
{
	for (int j = 0; j < 4 * PANEL; j++)
		out[j] = row[j % 4][j / 4] ^ flip;
}

static int32_t sum_of_bytes(const uint8_t *a, int64_t k, uint8_t flip)
{
	int32_t sum = 0;
	for (int64_t i = 0; i < k; i++)
		sum += a[i] ^ flip;
	return sum;
}
#endif

const struct npl_int8_rows_kernel npl_int8_rows_kernel_list[] = {
#if defined(__x86_64__)
	{"avx512-vnni", npl_int8_has_avx512vnni, npl_int8_rows_avx512vnni},
	{"avx-vnni", npl_int8_has_avxvnni, npl_int8_rows_avxvnni},
	{"avx512bw", has_avx512bw, npl_int8_rows_avx512bw},
	{"avx2", has_avx2, npl_int8_rows_avx2},
	{"sse2", always, npl_int8_rows_sse2},
#endif
	{"plain", always, run_plain},
	{0},
};

/* Asked once per process and kept: CPUID is slow in a virtual machine. Threads that ask at the same time find the same. */
static const struct npl_int8_rows_kernel *find_kernel(int number)
{
	static const struct npl_int8_rows_kernel *_Atomic fastest;
	const struct npl_int8_rows_kernel *kernel = number > 0 ? NULL : fastest;
	if (kernel)
		return kernel;
	int left = number > 0 ? number : 1;
	for (kernel = npl_int8_rows_kernel_list; kernel->name; kernel++)
		if (kernel->usable() && --left == 0)
			break;
	if (number <= 0)
		fastest = kernel;
	return kernel->name ? kernel : NULL;
}

int npl_int8_rows_kernels(void)
{
	int n = 0;
	for (const struct npl_int8_rows_kernel *k = npl_int8_rows_kernel_list; k->name; k++)
		n += k->usable();
	return n;
}

const char *npl_int8_rows_kernel_name(int kernel)
{
	const struct npl_int8_rows_kernel *found = find_kernel(kernel);
	return found ? found->name : NULL;
}

void npl_int8_pack_panel(const uint8_t *w, int64_t k, int64_t columns, int64_t stride, uint8_t flip, uint8_t *out)
{
	uint8_t padded[4][PANEL];
	for (int64_t i = 0; i < k; i += 4, out += 4 * PANEL) {
		const uint8_t *row[4];
		for (int r = 0; r < 4; r++) {
			row[r] = i + r < k ? w + (i + r) * stride : padded[r];
			if (i + r < k && columns == PANEL)
				continue;
			memset(padded[r], flip, PANEL);
			if (i + r < k)
				memcpy(padded[r], row[r], (size_t)columns);
			row[r] = padded[r];
		}
		interleave(row, flip, out);
	}
}

void npl_int8_row_sums(const uint8_t *const *a, int64_t m, int64_t k, bool is_signed, int32_t *sum)
{
	for (int64_t i = 0; i < m; i++)
		sum[i] = is_signed ? sum_of_bytes(a[i], k, 0x80) - (int32_t)(128 * k) : sum_of_bytes(a[i], k, 0);
}

void npl_int8_rows(const struct npl_int8_rows_product *p)
{
	static const int32_t zeros[PANEL];
	const struct npl_int8_rows_kernel *kernel = find_kernel(p->kernel);
	struct npl_int8_rows_tile tile = {.k = (p->k + 3) / 4 * 4,
					  .a_signed = p->a_signed,
					  .panel = p->panel,
					  .column_start = p->column_start ? p->column_start : zeros,
					  .columns = (int)p->columns,
					  .add = p->add,
					  .c_stride = p->c_stride};
	for (int64_t i = 0; i < p->m; i += ROWS) {
		tile.a = p->a + i;
		tile.row_start = p->row_start ? p->row_start + i : NULL;
		tile.rows = (int)(p->m - i < ROWS ? p->m - i : ROWS);
		tile.c = p->c + i * p->c_stride;
		kernel->run(&tile);
	}
}

/* The product with a row of ones. */
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
