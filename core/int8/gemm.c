/* SPDX-License-Identifier: MIT
 *
 * Exact 8-bit products (int8.h): blocks of both operands are packed into panels (pack.h) and given to a kernel
 * (kernels.h), in the loop order of Goto and van de Geijn (ACM TOMS 34(3), 2008): n in blocks that stay in the
 * second-level cache, k in blocks, m in blocks, then panels.
 *
 * 16-bit kernels get values without their zero points. 8-bit kernels get a as signed bytes s and b as unsigned bytes u,
 * with zero points za and zb to match, and the sums start from the parts that these add:
 *
 *     sum (s - za)(u - zb) = sum s u  - zb sum s + k za zb  - za sum u */
#include "int8.h"

#include "core/base/arith.h"
#include "core/base/dtype.h"

#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "onednn.h"

#define LIBRARY_ROWS 48 /* least rows of a and least products for which oneDNN is faster */
#define LIBRARY_MACS 2097152
#define M_BLOCK      96 /* vectors of a packed at once: at most 96 * 1 KiB when not counting */
/* The bytes of a vector's block of k. With these, one panel of b (at most 48 KiB) stays in the first-level cache. */
#define K_BYTES 1024
#define B_BYTES 524288 /* bytes of b packed at once, a part of the second-level cache */

const char *npl_int8_library(const char **reason)
{
	return npl_int8_onednn(reason) ? npl_int8_onednn_text() : NULL;
}

static int64_t max_magnitude(const struct npl_int8_matrix *x)
{
	int64_t low = x->zero_point - npl_dtype_min(x->dtype), high = npl_dtype_max(x->dtype) - x->zero_point;
	return low > high ? low : high;
}

bool npl_int8_may_wrap(const struct npl_int8_product *product)
{
	int64_t greatest_product = max_magnitude(&product->a) * max_magnitude(&product->b);
	return greatest_product && product->k > INT32_MAX / greatest_product;
}

/* A product in progress. */
struct job {
	const struct npl_int8_product *p;
	const struct npl_int8_kernel *kernel;
	uint64_t *wrapped; /* count of additions that wrapped; NULL: not counted */
	int32_t za, zb;    /* zero points as an 8-bit kernel sees them; 0 for a 16-bit one */
	uint8_t *a_pack, *b_pack;
	int32_t *row_start, *column_start; /* the values from which sums start, for each packed vector */
	int64_t m_block, n_block;          /* vectors packed at once, whole panels */
};

/* Returns the groups of four bytes in `length` values. */
static int64_t groups_of(const struct job *w, int64_t length)
{
	return (length * w->kernel->value_bytes + 3) / 4;
}

static void pack_a(const struct job *w, int64_t i0, int64_t count, int64_t k0, int64_t length)
{
	const struct npl_int8_block block = {&w->p->a, NPL_I8, i0, count, k0, length, w->kernel->rows};
	npl_int8_pack(w->kernel, &block, w->a_pack, w->zb ? w->row_start : NULL);
	uint32_t zero_points = (uint32_t)length * (uint32_t)w->za * (uint32_t)w->zb;
	for (int64_t i = 0; w->zb && i < count; i++)
		w->row_start[i] = (int32_t)(zero_points - (uint32_t)w->zb * (uint32_t)w->row_start[i]);
}

static void pack_b(const struct job *w, int64_t j0, int64_t count, int64_t k0, int64_t length)
{
	const struct npl_int8_block block = {&w->p->b, NPL_U8, j0, count, k0, length, w->kernel->columns};
	npl_int8_pack(w->kernel, &block, w->b_pack, w->za ? w->column_start : NULL);
	for (int64_t j = 0; w->za && j < count; j++)
		w->column_start[j] = (int32_t) - ((uint32_t)w->za * (uint32_t)w->column_start[j]);
}

/* Adds a tile to c; the first block of k stores it. When counting, each addition is one of the machine's. */
static void add_tile(const struct npl_int8_tile *tile, int32_t *c, int64_t c_stride, bool first, uint64_t *wrapped)
{
	const int32_t *from = tile->c;
	for (int i = 0; i < tile->rows; i++, from += tile->c_stride, c += c_stride) {
		if (first) {
			memcpy(c, from, (size_t)tile->columns * sizeof *c);
		} else if (wrapped) {
			for (int j = 0; j < tile->columns; j++)
				*wrapped += __builtin_add_overflow(c[j], from[j], &c[j]);
		} else {
			for (int j = 0; j < tile->columns; j++)
				c[j] = (int32_t)((uint32_t)c[j] + (uint32_t)from[j]);
		}
	}
}

/* Computes one tile, directly into c if it is whole and nothing is counted. */
static void run_tile(const struct job *w, struct npl_int8_tile *tile, int32_t *c, bool first)
{
	_Alignas(64) int32_t aside[NPL_INT8_MAX_TILE];
	int64_t c_stride = w->p->c_stride;
	if (tile->rows == w->kernel->rows && tile->columns == w->kernel->columns && !w->wrapped) {
		tile->c = c;
		tile->c_stride = c_stride;
		tile->add = !first;
		w->kernel->run(tile);
		return;
	}
	tile->c = aside;
	tile->c_stride = w->kernel->columns;
	tile->add = false;
	w->kernel->run(tile);
	add_tile(tile, c, c_stride, first, w->wrapped);
}

/* Multiplies one block of k and one block of n by all of m. */
static void multiply_block(const struct job *w, int64_t j0, int64_t nb, int64_t k0, int64_t kb)
{
	const struct npl_int8_product *p = w->p;
	int rows = w->kernel->rows, columns = w->kernel->columns;
	int64_t groups = groups_of(w, kb);
	for (int64_t i0 = 0; i0 < p->m; i0 += w->m_block) {
		int64_t mb = npl_min_i64(p->m - i0, w->m_block);
		pack_a(w, i0, mb, k0, kb);
		for (int64_t j = 0; j < nb; j += columns)
			for (int64_t i = 0; i < mb; i += rows) {
				struct npl_int8_tile tile = {
					.groups = groups,
					.a = w->a_pack + 4 * i * groups,
					.b = w->b_pack + 4 * j * groups,
					.row_start = w->row_start + i,
					.column_start = w->column_start + j,
					.rows = (int)npl_min_i64(mb - i, rows),
					.columns = (int)npl_min_i64(nb - j, columns),
				};
				run_tile(w, &tile, p->c + (i0 + i) * p->c_stride + j0 + j, k0 == 0);
			}
	}
}

/* Returns the length of the block of k that starts at k0. */
static int64_t block_length(const struct job *w, int64_t k0)
{
	const struct npl_int8_product *p = w->p;
	int64_t length = p->k - k0;
	if (!w->wrapped)
		return npl_min_i64(length, K_BYTES / w->kernel->value_bytes);
	int64_t segment_offset = k0 % p->k_segment;
	length = npl_min_i64(length, p->k_segment - segment_offset);
	return npl_min_i64(length, p->k_block - segment_offset % p->k_block);
}

static int check_product(const struct npl_int8_product *p, struct npl_err *err)
{
	const struct npl_int8_matrix *const operand[] = {&p->a, &p->b};
	for (int i = 0; i < 2; i++) {
		const struct npl_int8_matrix *x = operand[i];
		if (!npl_is_byte(x->dtype))
			return npl_fail(err, NPL_EINTERNAL, "8-bit product: operand %d is %s", i,
					npl_dtype_name(x->dtype));
		if (x->zero_point < npl_dtype_min(x->dtype) || x->zero_point > npl_dtype_max(x->dtype))
			return npl_fail(err, NPL_EINTERNAL, "8-bit product: zero point %d of operand %d is outside %s",
					x->zero_point, i, npl_dtype_name(x->dtype));
	}
	if ((p->a.stride != 1 && p->a.k_stride != 1) || (p->b.stride != 1 && p->b.k_stride != 1) || p->m < 0 ||
	    p->n < 0 || p->k < 0 || p->kernel < NPL_INT8_LIBRARY)
		return npl_fail(err, NPL_EINTERNAL, "8-bit product: malformed");
	if (p->k_block && (p->k_block < 0 || p->k_block > NPL_INT8_MAX_BLOCK || p->k_segment < 1))
		return npl_fail(err, NPL_EINTERNAL, "8-bit product: accumulation blocks of %lld values",
				(long long)p->k_block);
	return 0;
}

/* Sizes of blocks, and of the parts packed at once. */
struct blocks {
	int64_t m, n; /* vectors of a and of b in a block, rounded up to whole panels */
	int64_t a_bytes, b_bytes, start_bytes;
};

static struct blocks blocks_of(const struct npl_int8_kernel *kernel, int64_t m, int64_t n, int64_t k, int64_t k_block)
{
	int64_t values = k_block ? k_block : K_BYTES / kernel->value_bytes;
	int64_t bytes = npl_round_up_i64(npl_min_i64(k, values) * kernel->value_bytes,
					 4); /* bytes of one vector's block of k */
	struct blocks b = {.m = npl_round_up_i64(npl_min_i64(m, M_BLOCK), kernel->rows),
			   .n = npl_round_up_i64(npl_min_i64(n, B_BYTES / bytes + 1), kernel->columns)};
	b.a_bytes = npl_round_up_i64(b.m * bytes, 64);
	b.b_bytes = npl_round_up_i64(b.n * bytes, 64);
	b.start_bytes = npl_round_up_i64((b.m + b.n) * (int64_t)sizeof(int32_t), 64);
	return b;
}

int64_t npl_int8_workspace(int64_t m, int64_t n, int64_t k, int64_t k_block)
{
	int64_t greatest_bytes = npl_int8_few_rows_bytes(k);
	for (int i = 0; k && npl_int8_kernel_list[i]; i++)
		for (int counting = 0; counting < (k_block ? 2 : 1); counting++) {
			struct blocks b = blocks_of(npl_int8_kernel_list[i], m, n, k, counting ? k_block : 0);
			int64_t bytes = b.a_bytes + b.b_bytes + b.start_bytes;
			greatest_bytes = bytes > greatest_bytes ? bytes : greatest_bytes;
		}
	return greatest_bytes;
}

/* Takes memory for the blocks: the caller's, or new memory in *own_memory, which the caller frees. */
static int prepare(struct job *w, void **own_memory, struct npl_err *err)
{
	const struct npl_int8_product *p = w->p;
	struct blocks b = blocks_of(w->kernel, p->m, p->n, p->k, w->wrapped ? p->k_block : 0);
	int64_t bytes = b.a_bytes + b.b_bytes + b.start_bytes;
	w->a_pack = p->workspace;
	if (!p->workspace || p->workspace_bytes < bytes)
		w->a_pack = *own_memory = aligned_alloc(64, (size_t)bytes);
	if (!w->a_pack)
		return npl_fail(err, NPL_ENOMEM, "8-bit product: out of memory for %lld bytes", (long long)bytes);
	w->m_block = b.m;
	w->n_block = b.n;
	w->b_pack = w->a_pack + b.a_bytes;
	w->row_start = (int32_t *)(void *)(w->b_pack + b.b_bytes);
	w->column_start = w->row_start + b.m;
	memset(w->row_start, 0, (size_t)b.start_bytes);
	return 0;
}

static int multiply(const struct npl_int8_product *p, const struct npl_int8_kernel *kernel, uint64_t *wrapped,
		    struct npl_err *err)
{
	struct job w = {.p = p, .kernel = kernel, .wrapped = wrapped};
	if (!wrapped && npl_int8_is_few_rows(p, kernel))
		return npl_int8_few_rows(p, kernel, err);
	if (kernel->value_bytes == 1) {
		w.za = p->a.zero_point - (p->a.dtype == NPL_U8 ? 128 : 0);
		w.zb = p->b.zero_point + (p->b.dtype == NPL_I8 ? 128 : 0);
	}
	void *own_memory = NULL;
	int rc = prepare(&w, &own_memory, err);
	for (int64_t j0 = 0; j0 < p->n && !rc; j0 += w.n_block) {
		int64_t nb = npl_min_i64(p->n - j0, w.n_block), kb;
		for (int64_t k0 = 0; k0 < p->k; k0 += kb) {
			kb = block_length(&w, k0);
			pack_b(&w, j0, nb, k0, kb);
			multiply_block(&w, j0, nb, k0, kb);
		}
	}
	free(own_memory);
	return rc;
}

/* Returns oneDNN if it should run this product, else NULL. On processors that multiply bytes with vectors the kernels
 * here reach 0.85 to 0.97 of its rate if a has many rows, and more if it has few: it is used if it is already loaded,
 * because loading it costs more than it gains. Its kernels for matrix registers (AMX) are several times faster than any
 * with vectors, so there the first large product loads it. */
static const struct npl_onednn *library_for(const struct npl_int8_product *p)
{
	bool large = p->m >= LIBRARY_ROWS && (double)p->m * (double)p->n * (double)p->k >= LIBRARY_MACS;
	if (p->kernel > 0 || (p->kernel == 0 && !large) || !npl_int8_onednn_supports(p))
		return NULL;
	if (p->kernel == NPL_INT8_LIBRARY || npl_int8_onednn_is_loaded() || npl_int8_has_amx())
		return npl_int8_onednn(NULL);
	return NULL;
}

int npl_int8_gemm(const struct npl_int8_product *p, uint64_t *overflows, struct npl_err *err)
{
	const struct npl_int8_kernel *kernel = npl_int8_kernel(p->kernel);
	if (check_product(p, err))
		return err ? err->code : NPL_EINTERNAL;
	if (!kernel)
		return npl_fail(err, NPL_EINTERNAL, "8-bit product: there is no kernel %d", p->kernel);
	if (p->k == 0)
		for (int64_t i = 0; i < p->m; i++)
			memset(p->c + i * p->c_stride, 0, (size_t)p->n * sizeof *p->c);
	if (p->m == 0 || p->n == 0 || p->k == 0)
		return 0;
	const struct npl_onednn *library = library_for(p);
	if (library && npl_int8_onednn_run(library, p))
		return 0;
	return multiply(p, kernel, p->k_block && npl_int8_may_wrap(p) ? overflows : NULL, err);
}
