/* SPDX-License-Identifier: MIT
 *
 * The float matrix product under Conv, Gemm and MatMul: y += a * b, in the shape of Goto and van de Geijn ("Anatomy of
 * High-Performance Matrix Multiplication", ACM TOMS 2008): a block of b is packed into panels of a few columns that
 * stay in the L2 cache, and a tile of 4 rows by one panel is accumulated in registers. Products are not fused and each
 * element's sum runs over k in order, so every blocking and vector width, and any number of threads, gives the same
 * bits. With one or few rows and b in row order, packing would cost as much as the product: rows of b are then added to
 * y directly. */
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include "core/base/arith.h"
#include "core/base/parallel.h"
#include "npulab/cpu_features.h"
#include "ops.h"

#define TILE_ROWS    4
#define DEPTH_BLOCK  256 /* a panel is then at most 16 KiB: in L1 with the 4 KiB of a that meet it */
#define COLUMN_BLOCK 128 /* a block of b is then 128 KiB: in L2 */

typedef float vector4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float vector8 __attribute__((vector_size(32), aligned(4), may_alias));

/* Defines NAME_rows, which computes y(rows,2 vectors) += a(rows,depth) * panel(depth,2 vectors). rows is a constant, so
 * that all sums stay in registers. */
#define DEFINE_TILE(name, vector, attribute)                                                                           \
	static inline __attribute__((always_inline))                                                                   \
	attribute void name##_rows(int rows, int64_t depth, const float *a, int64_t a_stride, const float *panel,      \
				   float *y, int64_t y_stride)                                                         \
	{                                                                                                              \
		enum { lanes = sizeof(vector) / sizeof(float) };                                                       \
		vector sum[TILE_ROWS][2];                                                                              \
		_Pragma("GCC unroll 4") for (int i = 0; i < rows; i++)                                                 \
		{                                                                                                      \
			sum[i][0] = *(const vector *)(y + i * y_stride);                                               \
			sum[i][1] = *(const vector *)(y + i * y_stride + lanes);                                       \
		}                                                                                                      \
		for (int64_t k = 0; k < depth; k++) {                                                                  \
			vector left = *(const vector *)(panel + k * 2 * lanes);                                        \
			vector right = *(const vector *)(panel + k * 2 * lanes + lanes);                               \
			_Pragma("GCC unroll 4") for (int i = 0; i < rows; i++)                                         \
			{                                                                                              \
				sum[i][0] += a[i * a_stride + k] * left;                                               \
				sum[i][1] += a[i * a_stride + k] * right;                                              \
			}                                                                                              \
		}                                                                                                      \
		_Pragma("GCC unroll 4") for (int i = 0; i < rows; i++)                                                 \
		{                                                                                                      \
			*(vector *)(y + i * y_stride) = sum[i][0];                                                     \
			*(vector *)(y + i * y_stride + lanes) = sum[i][1];                                             \
		}                                                                                                      \
	}                                                                                                              \
	attribute static void name(int rows, int64_t depth, const float *a, int64_t a_stride, const float *panel,      \
				   float *y, int64_t y_stride)                                                         \
	{                                                                                                              \
		switch (rows) {                                                                                        \
		case 1:                                                                                                \
			name##_rows(1, depth, a, a_stride, panel, y, y_stride);                                        \
			break;                                                                                         \
		case 2:                                                                                                \
			name##_rows(2, depth, a, a_stride, panel, y, y_stride);                                        \
			break;                                                                                         \
		case 3:                                                                                                \
			name##_rows(3, depth, a, a_stride, panel, y, y_stride);                                        \
			break;                                                                                         \
		default:                                                                                               \
			name##_rows(4, depth, a, a_stride, panel, y, y_stride);                                        \
			break;                                                                                         \
		}                                                                                                      \
	}
DEFINE_TILE(tile_sse2, vector4, )
DEFINE_TILE(tile_avx2, vector8, __attribute__((target("avx2"))))

struct kernel {
	int width;
	void (*tile)(int rows, int64_t depth, const float *a, int64_t a_stride, const float *panel, float *y,
		     int64_t y_stride);
};

static struct kernel choose_kernel(bool baseline)
{
	if (!baseline && npl_cpu_has(NPL_CPU_AVX2))
		return (struct kernel){16, tile_avx2};
	return (struct kernel){8, tile_sse2};
}

/* Multiplies all rows by one panel; a last panel with fewer columns goes through a whole tile beside y. */
static void multiply_panel(const struct kernel *kernel, const struct op_product *p, int rows, int64_t i0, int64_t k0,
			   int64_t depth, int64_t n0, int cols, const float *panel)
{
	const float *a = p->a + i0 * p->a_stride + k0;
	float *y = p->y + i0 * p->y_stride + n0;
	if (cols == kernel->width) {
		kernel->tile(rows, depth, a, p->a_stride, panel, y, p->y_stride);
		return;
	}
	float padded_column[TILE_ROWS * OP_MAX_WIDTH] = {0};
	for (int i = 0; i < rows; i++)
		memcpy(padded_column + i * kernel->width, y + i * p->y_stride, (size_t)cols * sizeof *y);
	kernel->tile(rows, depth, a, p->a_stride, panel, padded_column, kernel->width);
	for (int i = 0; i < rows; i++)
		memcpy(y + i * p->y_stride, padded_column + i * kernel->width, (size_t)cols * sizeof *y);
}

static void multiply_block(const struct kernel *kernel, const struct op_product *p, int64_t k0, int64_t n0,
			   int64_t cols, float *block)
{
	int64_t depth = npl_min_i64(DEPTH_BLOCK, p->depth - k0);
	int width = kernel->width;
	for (int64_t n = 0; n < cols; n += width) {
		float *panel = block + n * depth;
		if (cols - n < width)
			memset(panel, 0, (size_t)(depth * width) * sizeof *panel);
		p->pack(p->b, k0, depth, n0 + n, (int)npl_min_i64(width, cols - n), panel, width);
	}
	for (int64_t i = 0; i < p->rows; i += TILE_ROWS)
		for (int64_t n = 0; n < cols; n += width)
			multiply_panel(kernel, p, (int)npl_min_i64(TILE_ROWS, p->rows - i), i, k0, depth, n0 + n,
				       (int)npl_min_i64(width, cols - n), block + n * depth);
}

/* The product in independent parts: blocks of columns times ranges of rows. Each part packs b for itself. */
struct parts {
	const struct op_product *product;
	struct kernel kernel;
	int64_t column_block, column_parts, row_parts;
	float *block; /* a block of b for each worker */
};

static void multiply_part(void *context, int64_t i, int worker)
{
	const struct parts *parts = context;
	struct op_product p = *parts->product;
	const int64_t tiles = npl_div_up_i64(p.rows, TILE_ROWS), row_part = i % parts->row_parts;
	const int64_t n0 = i / parts->row_parts * parts->column_block,
		      columns = npl_min_i64(parts->column_block, p.cols - n0);
	const int64_t first = tiles * row_part / parts->row_parts * TILE_ROWS;
	p.rows = npl_min_i64(p.rows, tiles * (row_part + 1) / parts->row_parts * TILE_ROWS) - first;
	p.a += first * p.a_stride;
	p.y += first * p.y_stride;
	for (int64_t k0 = 0; k0 < p.depth; k0 += DEPTH_BLOCK)
		multiply_block(&parts->kernel, &p, k0, n0, columns,
			       parts->block + worker * (int64_t)(DEPTH_BLOCK * COLUMN_BLOCK));
}

int op_product(const struct op_product *product, struct npl_err *err)
{
	enum {
		ALONE_MACS = 1 << 19,
		MIN_ROWS = 64
	}; /* with so few multiply-accumulates the product is done before another thread has woken up */
	const bool is_small = (double)product->rows * (double)product->cols * (double)product->depth < ALONE_MACS;
	const int workers = is_small ? 1 : npl_parallel_workers();
	struct parts parts = {.product = product, .kernel = choose_kernel(product->baseline), .row_parts = 1};
	/* One row uses a panel once: it must only reach L1. */
	parts.column_block = product->rows <= TILE_ROWS ? parts.kernel.width : COLUMN_BLOCK;
	parts.column_parts = npl_div_up_i64(product->cols, parts.column_block);
	if (workers > 1 && parts.column_parts < 2 * workers && parts.column_parts)
		parts.row_parts = npl_min_i64(2 * workers / parts.column_parts, product->rows / MIN_ROWS);
	parts.row_parts = parts.row_parts > 1 ? parts.row_parts : 1;
	parts.block = aligned_alloc(64, (size_t)workers * DEPTH_BLOCK * COLUMN_BLOCK * sizeof *parts.block);
	if (!parts.block)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a block of a matrix product");
	npl_parallel(workers, parts.column_parts * parts.row_parts, multiply_part, &parts);
	free(parts.block);
	return 0;
}

static void pack_rows(const void *b, int64_t k0, int64_t depth, int64_t n0, int cols, float *panel, int width)
{
	const struct op_matrix *m = b;
	const float *from = m->data + k0 * m->stride + n0;
	for (int64_t k = 0; k < depth; k++)
		memcpy(panel + k * width, from + k * m->stride, (size_t)cols * sizeof *panel);
}

static void pack_transposed(const void *b, int64_t k0, int64_t depth, int64_t n0, int cols, float *panel, int width)
{
	const struct op_matrix *m = b;
	const float *from = m->data + n0 * m->stride + k0;
	int64_t k = 0;
	for (; cols == width && k + 4 <= depth; k += 4)
		for (int n = 0; n < width; n += 4) { /* squares of 4 x 4 through registers */
			__m128 r0 = _mm_loadu_ps(from + (n + 0) * m->stride + k),
			       r1 = _mm_loadu_ps(from + (n + 1) * m->stride + k);
			__m128 r2 = _mm_loadu_ps(from + (n + 2) * m->stride + k),
			       r3 = _mm_loadu_ps(from + (n + 3) * m->stride + k);
			_MM_TRANSPOSE4_PS(r0, r1, r2, r3);
			_mm_storeu_ps(panel + (k + 0) * width + n, r0);
			_mm_storeu_ps(panel + (k + 1) * width + n, r1);
			_mm_storeu_ps(panel + (k + 2) * width + n, r2);
			_mm_storeu_ps(panel + (k + 3) * width + n, r3);
		}
	for (; k < depth; k++)
		for (int n = 0; n < cols; n++)
			panel[k * width + n] = from[n * m->stride + k];
}

/* Adds one row of a times b, which is in row order, to y. It takes 4 rows of b at a time, so that y is read and written
 * a quarter as often. */
static void add_rows(const float *a, int64_t depth, int64_t cols, const float *b, int64_t stride, float *restrict y)
{
	int64_t k = 0;
	for (; k + 4 <= depth; k += 4) {
		const float *b0 = b + k * stride, *b1 = b0 + stride, *b2 = b1 + stride, *b3 = b2 + stride;
		float a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
		for (int64_t n = 0; n < cols; n++)
			y[n] = (((y[n] + a0 * b0[n]) + a1 * b1[n]) + a2 * b2[n]) + a3 * b3[n];
	}
	for (; k < depth; k++)
		for (int64_t n = 0; n < cols; n++)
			y[n] += a[k] * b[k * stride + n];
}

int op_product_matrix(struct op_product *product, const struct op_matrix *b, struct npl_err *err)
{
	if (!b->transposed && product->rows < TILE_ROWS) {
		for (int64_t i = 0; i < product->rows; i++)
			add_rows(product->a + i * product->a_stride, product->depth, product->cols, b->data, b->stride,
				 product->y + i * product->y_stride);
		return 0;
	}
	product->b = b;
	product->pack = b->transposed ? pack_transposed : pack_rows;
	return op_product(product, err);
}
