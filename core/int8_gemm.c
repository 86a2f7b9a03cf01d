/* SPDX-License-Identifier: MIT
 *
 * Exact 8-bit products (int8.h): blocks of both operands are widened to 16 bits, packed into panels and given to
 * a kernel of int8_kernels.c, in the loop order of Goto and van de Geijn (ACM TOMS 34(3), 2008): n in blocks that
 * fill the second-level cache, k in blocks, m in blocks, then panels.
 *
 * Widening instead of the 8-bit dot products of VNNI keeps u8 x u8 and i8 x i8 with any zero points exact in one
 * kernel; it costs half of the peak, and leaves more than the modelled machines need. */
#include "npulab/int8.h"

#include <stdlib.h>
#include <string.h>

#include "int8_kernels.h"

#define M_BLOCK   96     /* vectors of a packed at once: at most 96 * 512 * 2 B = 96 KiB when not counting */
#define K_BLOCK   512    /* one panel of b (32 * 512 * 2 B = 32 KiB) stays in the first-level cache */
#define MAX_WIDTH 64     /* of a panel */
#define B_VALUES  524288 /* values of b packed at once: 1 MiB */

int32_t npl_int8_min(enum npl_dtype dtype)
{
	return dtype == NPL_I8 ? -128 : 0;
}

int32_t npl_int8_max(enum npl_dtype dtype)
{
	return dtype == NPL_I8 ? 127 : 255;
}

int npl_int8_kernels(void)
{
	int n = 0;
	for (const struct npl_int8_kernel *k = npl_int8_kernel_list; k->name; k++)
		n += k->usable();
	return n;
}

static const struct npl_int8_kernel *find_kernel(int number)
{
	for (const struct npl_int8_kernel *k = npl_int8_kernel_list; k->name; k++)
		if (k->usable() && --number <= 0)
			return k;
	return NULL;
}

const char *npl_int8_kernel_name(int kernel)
{
	const struct npl_int8_kernel *found = find_kernel(kernel);
	return found ? found->name : NULL;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t round_up(int64_t value, int64_t step)
{
	return (value + step - 1) / step * step;
}

static int64_t max_magnitude(const struct npl_int8_matrix *x)
{
	int64_t low = x->zero_point - npl_int8_min(x->dtype), high = npl_int8_max(x->dtype) - x->zero_point;
	return low > high ? low : high;
}

bool npl_int8_may_wrap(const struct npl_int8_product *product)
{
	int64_t each = max_magnitude(&product->a) * max_magnitude(&product->b);
	return each && product->k > INT32_MAX / each;
}

/* Reads i8 as u8 by flipping the sign bit, which adds 128 to the value and to the zero point. */
struct widening {
	uint8_t flip;
	int16_t zero;
};

static struct widening widening_of(const struct npl_int8_matrix *x)
{
	if (x->dtype == NPL_I8)
		return (struct widening){0x80, (int16_t)(x->zero_point + 128)};
	return (struct widening){0, (int16_t)x->zero_point};
}

static int16_t widen(uint8_t value, struct widening w)
{
	return (int16_t)((value ^ w.flip) - w.zero);
}

/* Packs vectors first .. first+valid-1, values k0 .. k0+length-1 into a panel of the given width; the vectors that
 * are missing and the second half of an odd pair are zero. */
static void pack_plain(const struct npl_int8_matrix *x, int64_t first, int valid, int width, int64_t k0, int64_t length,
		       int16_t *panel)
{
	const uint8_t *data = x->data;
	struct widening w = widening_of(x);
	for (int64_t k = 0; k < length; k++)
		for (int i = 0; i < width; i++)
			panel[(k / 2 * width + i) * 2 + (k & 1)] =
				i < valid ? widen(data[(first + i) * x->stride + (k0 + k) * x->k_stride], w) : 0;
	if (length & 1)
		for (int i = 0; i < width; i++)
			panel[(length / 2 * width + i) * 2 + 1] = 0;
}

#if defined(__x86_64__)
#include <emmintrin.h>

static __m128i load_16(const uint8_t *bytes)
{
	return _mm_loadu_si128((const __m128i *)(const void *)bytes);
}

static __m128i load_8(const uint8_t *bytes)
{
	return _mm_loadl_epi64((const __m128i *)(const void *)bytes);
}

static __m128i widen_low(__m128i bytes, __m128i zero)
{
	return _mm_sub_epi16(_mm_unpacklo_epi8(bytes, _mm_setzero_si128()), zero);
}

static __m128i widen_high(__m128i bytes, __m128i zero)
{
	return _mm_sub_epi16(_mm_unpackhi_epi8(bytes, _mm_setzero_si128()), zero);
}

/* Four vectors of 4 pairs each become 4 groups of the 4 vectors' pairs, `step` values apart. */
static void store_transposed(__m128i r0, __m128i r1, __m128i r2, __m128i r3, int step, int16_t *out)
{
	__m128i low01 = _mm_unpacklo_epi32(r0, r1), low23 = _mm_unpacklo_epi32(r2, r3);
	__m128i high01 = _mm_unpackhi_epi32(r0, r1), high23 = _mm_unpackhi_epi32(r2, r3);
	_mm_store_si128((__m128i *)(void *)out, _mm_unpacklo_epi64(low01, low23));
	_mm_store_si128((__m128i *)(void *)(out + step), _mm_unpackhi_epi64(low01, low23));
	_mm_store_si128((__m128i *)(void *)(out + 2 * step), _mm_unpacklo_epi64(high01, high23));
	_mm_store_si128((__m128i *)(void *)(out + 3 * step), _mm_unpackhi_epi64(high01, high23));
}

/* Vectors contiguous along k, 16 values at a time; returns how many of `length` it did. A vector that is missing is
 * the zero point throughout. */
static int64_t pack_along_k(const struct npl_int8_matrix *x, int64_t first, int valid, int width, int64_t k0,
			    int64_t length, int16_t *panel)
{
	struct widening w = widening_of(x);
	__m128i flip = _mm_set1_epi8((char)w.flip), zero = _mm_set1_epi16(w.zero),
		missing = _mm_set1_epi8((char)w.zero);
	int64_t done = length / 16 * 16;
	for (int i = 0; i < width; i += 4) {
		const uint8_t *row = (const uint8_t *)x->data + (first + i) * x->stride + k0;
		for (int64_t k = 0; k < done; k += 16) {
			__m128i r[4];
			for (int j = 0; j < 4; j++)
				r[j] = i + j < valid ? _mm_xor_si128(load_16(row + j * x->stride + k), flip) : missing;
			int16_t *out = panel + (k / 2 * width + i) * 2;
			store_transposed(widen_low(r[0], zero), widen_low(r[1], zero), widen_low(r[2], zero),
					 widen_low(r[3], zero), 2 * width, out);
			store_transposed(widen_high(r[0], zero), widen_high(r[1], zero), widen_high(r[2], zero),
					 widen_high(r[3], zero), 2 * width, out + 8 * width);
		}
	}
	return done;
}

/* Vectors that lie side by side (k_stride apart along k), two values of 8 vectors at a time; width is a multiple of
 * 8. */
static int64_t pack_across_k(const struct npl_int8_matrix *x, int64_t first, int valid, int width, int64_t k0,
			     int64_t length, int16_t *panel)
{
	struct widening w = widening_of(x);
	__m128i flip = _mm_set1_epi8((char)w.flip), zero = _mm_set1_epi16(w.zero);
	uint8_t padded[2][MAX_WIDTH]; /* a panel that is not full, filled up with the zero point */
	memset(padded, (uint8_t)w.zero ^ w.flip, sizeof padded);
	int64_t done = length / 2 * 2;
	for (int64_t k = 0; k < done; k += 2) {
		const uint8_t *even = (const uint8_t *)x->data + first + (k0 + k) * x->k_stride,
			      *odd = even + x->k_stride;
		if (valid < width) {
			memcpy(padded[0], even, (size_t)valid);
			memcpy(padded[1], odd, (size_t)valid);
			even = padded[0];
			odd = padded[1];
		}
		for (int i = 0; i < width; i += 8, panel += 16) {
			__m128i pairs = _mm_xor_si128(_mm_unpacklo_epi8(load_8(even + i), load_8(odd + i)), flip);
			_mm_store_si128((__m128i *)(void *)panel, widen_low(pairs, zero));
			_mm_store_si128((__m128i *)(void *)(panel + 8), widen_high(pairs, zero));
		}
	}
	return done;
}
#endif

static void pack_panel(const struct npl_int8_matrix *x, int64_t first, int valid, int width, int64_t k0, int64_t length,
		       int16_t *panel)
{
	int64_t done = 0;
#if defined(__x86_64__)
	if (x->k_stride == 1)
		done = pack_along_k(x, first, valid, width, k0, length, panel);
	else if (width % 8 == 0)
		done = pack_across_k(x, first, valid, width, k0, length, panel);
#endif
	if (done < length)
		pack_plain(x, first, valid, width, k0 + done, length - done, panel + done * width);
}

/* All panels of `count` vectors, one after the other, `pairs` pairs long. */
static void pack(const struct npl_int8_matrix *x, int64_t first, int64_t count, int width, int64_t k0, int64_t length,
		 int16_t *out)
{
	int64_t panel = (length + 1) / 2 * 2 * width;
	for (int64_t i = 0; i < count; i += width, out += panel)
		pack_panel(x, first + i, count - i < width ? (int)(count - i) : width, width, k0, length, out);
}

/* Adds a tile to c, the first block stores it. Counting, each addition is one of the machine's. */
static void add_tile(const int32_t *tile, int tile_stride, int rows, int columns, int32_t *c, int64_t c_stride,
		     bool first, uint64_t *wrapped)
{
	for (int i = 0; i < rows; i++, tile += tile_stride, c += c_stride) {
		if (first) {
			memcpy(c, tile, (size_t)columns * sizeof *c);
		} else if (wrapped) {
			for (int j = 0; j < columns; j++)
				*wrapped += __builtin_add_overflow(c[j], tile[j], &c[j]);
		} else {
			for (int j = 0; j < columns; j++)
				c[j] = (int32_t)((uint32_t)c[j] + (uint32_t)tile[j]);
		}
	}
}

/* One block of k, one block of n: all of m. */
static void multiply_block(const struct npl_int8_product *p, const struct npl_int8_kernel *kernel, int64_t j0,
			   int64_t nb, int64_t k0, int64_t kb, int16_t *a_pack, const int16_t *b_pack,
			   uint64_t *wrapped)
{
	_Alignas(64) int32_t tile[NPL_INT8_MAX_TILE];
	int64_t pairs = (kb + 1) / 2;
	for (int64_t i0 = 0; i0 < p->m; i0 += M_BLOCK) {
		int64_t mb = p->m - i0 < M_BLOCK ? p->m - i0 : M_BLOCK;
		pack(&p->a, i0, mb, kernel->rows, k0, kb, a_pack);
		for (int64_t j = 0; j < nb; j += kernel->columns)
			for (int64_t i = 0; i < mb; i += kernel->rows) {
				int rows = mb - i < kernel->rows ? (int)(mb - i) : kernel->rows;
				int columns = nb - j < kernel->columns ? (int)(nb - j) : kernel->columns;
				kernel->run(pairs, a_pack + i * pairs * 2, b_pack + j * pairs * 2, tile);
				add_tile(tile, kernel->columns, rows, columns, p->c + (i0 + i) * p->c_stride + j0 + j,
					 p->c_stride, k0 == 0, wrapped);
			}
	}
}

/* Length of the block of k that starts at k0. */
static int64_t block_length(const struct npl_int8_product *p, int64_t k0, bool count)
{
	int64_t length = p->k - k0;
	if (!count)
		return length < K_BLOCK ? length : K_BLOCK;
	int64_t left_in_segment = p->k_segment - k0 % p->k_segment;
	int64_t into = k0 % p->k_segment % p->k_block, left_in_block = p->k_block - into;
	length = length < left_in_segment ? length : left_in_segment;
	return length < left_in_block ? length : left_in_block;
}

static int check_product(const struct npl_int8_product *p, struct npl_err *err)
{
	const struct npl_int8_matrix *const operand[] = {&p->a, &p->b};
	for (int i = 0; i < 2; i++) {
		const struct npl_int8_matrix *x = operand[i];
		if (x->dtype != NPL_U8 && x->dtype != NPL_I8)
			return npl_fail(err, NPL_EINTERNAL, "8-bit product: operand %d is %s", i,
					npl_dtype_name(x->dtype));
		if (x->zero_point < npl_int8_min(x->dtype) || x->zero_point > npl_int8_max(x->dtype))
			return npl_fail(err, NPL_EINTERNAL, "8-bit product: zero point %d of operand %d is outside %s",
					x->zero_point, i, npl_dtype_name(x->dtype));
	}
	if ((p->a.stride != 1 && p->a.k_stride != 1) || (p->b.stride != 1 && p->b.k_stride != 1) || p->m < 0 ||
	    p->n < 0 || p->k < 0 || p->kernel < 0 || p->kernel > npl_int8_kernels())
		return npl_fail(err, NPL_EINTERNAL, "8-bit product: malformed");
	if (p->k_block && (p->k_block < 0 || p->k_block > NPL_INT8_MAX_BLOCK || p->k_segment < 1))
		return npl_fail(err, NPL_EINTERNAL, "8-bit product: accumulation blocks of %lld values",
				(long long)p->k_block);
	return 0;
}

int npl_int8_gemm(const struct npl_int8_product *p, uint64_t *overflows, struct npl_err *err)
{
	if (check_product(p, err))
		return err ? err->code : NPL_EINTERNAL;
	if (p->k == 0)
		for (int64_t i = 0; i < p->m; i++)
			memset(p->c + i * p->c_stride, 0, (size_t)p->n * sizeof *p->c);
	if (p->m == 0 || p->n == 0 || p->k == 0)
		return 0;

	const struct npl_int8_kernel *kernel = find_kernel(p->kernel);
	bool count = p->k_block && npl_int8_may_wrap(p);
	int64_t longest = count ? p->k_block : K_BLOCK;
	longest = round_up(least(p->k, longest), 2);
	int64_t n_block = round_up(least(p->n, B_VALUES / longest + 1), kernel->columns);
	int64_t m_block = round_up(least(p->m, M_BLOCK), kernel->rows);
	size_t a_values = (size_t)(m_block * longest), b_values = (size_t)(n_block * longest);
	size_t bytes = (size_t)round_up((int64_t)((a_values + b_values) * sizeof(int16_t)), 64);
	int16_t *b_pack = aligned_alloc(64, bytes), *a_pack;
	if (!b_pack)
		return npl_fail(err, NPL_ENOMEM, "8-bit product: out of memory for %zu bytes", bytes);
	a_pack = b_pack + b_values;

	for (int64_t j0 = 0; j0 < p->n; j0 += n_block) {
		int64_t nb = p->n - j0 < n_block ? p->n - j0 : n_block, kb;
		for (int64_t k0 = 0; k0 < p->k; k0 += kb) {
			kb = block_length(p, k0, count);
			pack(&p->b, j0, nb, kernel->columns, k0, kb, b_pack);
			multiply_block(p, kernel, j0, nb, k0, kb, a_pack, b_pack, count ? overflows : NULL);
		}
	}
	free(b_pack);
	return 0;
}
