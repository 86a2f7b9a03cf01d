/* SPDX-License-Identifier: MIT
 *
 * The products of the kernels of kernels.h, written once for vectors of any width. Each file of an instruction set,
 * such as avx2.c, defines
 *     VEC, V(name), TARGET         the vector type, its intrinsics' prefix, the target attribute
 *     ROWS, VECTORS                of a tile of panels, in registers: VECTORS vectors of columns
 *     PART_ROWS, PART_VECTORS      of a tile of run_rows
 *     MULTIPLY_BYTES(sum, u, s)    adds the products of four unsigned by four signed bytes to each 32-bit lane; where
 *                                  it is not defined, values have 16 bits and are multiplied by pmaddwd
 * and includes this file.
 *
 * vpdpbusd is one step that wraps and never saturates (vpdpbusds, and vpmaddubsw of AVX2, do saturate). A product of
 * two values in -255..255 and the sum of two of them fit in 32 bits with room (130,050), so pmaddwd never wraps, and
 * the additions wrap as unsigned do. */
#ifndef NPULAB_CORE_INT8_TILE_H
#define NPULAB_CORE_INT8_TILE_H

#include "kernels.h"
#include "rows.h"

#define LANES  ((int)(sizeof(VEC) / 4))
#define INLINE static inline __attribute__((always_inline)) TARGET

/* The most rows and vectors of any kernel's tile. */
enum { MAX_ROWS = 12, MAX_VECTORS = 4 };

/* Where operands are stored, and the signs of the bytes of run_rows. */
enum form { PANELS, SCATTERED, UNSIGNED_ROWS, SIGNED_ROWS };

INLINE VEC load(const void *from)
{
	VEC v;
	memcpy(&v, from, sizeof v);
	return v;
}

/* Returns the sum of all lanes, which wraps. */
INLINE int32_t sum_of_lanes(VEC v)
{
	__m128i part[LANES / 4];
	memcpy(part, &v, sizeof v);
	for (int i = LANES / 8; i > 0; i /= 2)
		for (int j = 0; j < i; j++)
			part[j] = _mm_add_epi32(part[j], part[i + j]);
	const __m128i pair_sums = _mm_add_epi32(part[0], _mm_srli_si128(part[0], 8));
	return _mm_cvtsi128_si32(_mm_add_epi32(pair_sums, _mm_srli_si128(pair_sums, 4)));
}

#ifdef MULTIPLY_BYTES
enum { VALUE_BYTES = 1 };
typedef VEC operand;

INLINE operand operand_of(VEC v)
{
	return v;
}

INLINE operand row_of(const uint8_t *from, const enum form form)
{
	(void)form;
	return V(set1_epi32)(npl_int8_four_bytes(from));
}

INLINE operand column_of(const uint8_t *from, const enum form form)
{
	(void)form;
	return load(from);
}

INLINE VEC plus_product(VEC sum, operand row, operand column, const enum form form)
{
	return form == UNSIGNED_ROWS ? MULTIPLY_BYTES(sum, row, column) : MULTIPLY_BYTES(sum, column, row);
}
#else
enum { VALUE_BYTES = 2 };
/* Four bytes as 16-bit values: `even` has bytes 0 and 2, `odd` has bytes 1 and 3. Panels of 16-bit values have only
 * `even`. */
typedef struct {
	VEC even, odd;
} operand;

INLINE operand operand_of(VEC v)
{
	return (operand){.even = v};
}

INLINE operand row_of(const uint8_t *from, const enum form form)
{
	operand row = operand_of(V(set1_epi32)(npl_int8_four_bytes(from)));
	if (form >= UNSIGNED_ROWS)
		row.odd = V(set1_epi32)(npl_int8_four_bytes(from + 4));
	return row;
}

INLINE operand column_of(const uint8_t *from, const enum form form)
{
	const VEC v = load(from);
	if (form == UNSIGNED_ROWS)
		return (operand){V(srai_epi16)(V(slli_epi16)(v, 8), 8), V(srai_epi16)(v, 8)};
	if (form == SIGNED_ROWS)
		return (operand){v & V(set1_epi16)(0xff), V(srli_epi16)(v, 8)};
	return operand_of(v);
}

INLINE VEC plus_product(VEC sum, operand row, operand column, const enum form form)
{
	VEC product = V(madd_epi16)(row.even, column.even);
	if (form >= UNSIGNED_ROWS)
		product = V(add_epi32)(product, V(madd_epi16)(row.odd, column.odd));
	return V(add_epi32)(sum, product);
}
#endif

/* Computes rows x vectors of the tile's sums. Parameters that are const are constants at each call, which keeps the
 * sums in registers; for the same reason t->add is read anew for each vector. */
INLINE void make_sums(const struct npl_int8_tile *t, const int rows, const int vectors, const enum form form)
{
	const bool panels = form <= SCATTERED;
	/* Such sums would be ready before c is there, so c is fetched beforehand. */
	const bool fetch = panels && VALUE_BYTES == 1 && LANES == 16;
	const int64_t groups = t->groups, a_step = panels ? 4 * ROWS : 4 * VALUE_BYTES,
		      b_step = panels ? 4 * LANES * VECTORS : 4 * NPL_INT8_PANEL, c_stride = t->c_stride;
	const uint8_t *a[MAX_ROWS], *b = t->b;
	int32_t *c = t->c;
	VEC sum[MAX_ROWS][MAX_VECTORS];
#pragma GCC unroll 12
	for (int i = 0; i < rows; i++) {
		a[i] = panels ? (const uint8_t *)t->a + 4 * i : t->a_row[i];
#pragma GCC unroll 4
		for (int j = 0; j < vectors; j++) {
			if (fetch)
				__builtin_prefetch(c + i * c_stride + LANES * j);
			sum[i][j] = V(set1_epi32)(0);
			if (!panels || VALUE_BYTES == 1) /* else no zero point is left in the values */
				sum[i][j] = V(add_epi32)(V(set1_epi32)(t->row_start[i]),
							 load(t->column_start + LANES * j));
		}
	}
	for (int64_t g = 0; g < groups; g++) {
		const uint8_t *from = form == SCATTERED ? b + (int64_t)4 * t->b_at[g] : b + g * b_step;
		operand column[MAX_VECTORS];
#pragma GCC unroll 4
		for (int j = 0; j < vectors; j++)
			column[j] = column_of(from + 4 * LANES * j, form);
#pragma GCC unroll 12
		for (int i = 0; i < rows; i++) {
			const operand row = row_of(a[i] + g * a_step, form);
#pragma GCC unroll 4
			for (int j = 0; j < vectors; j++)
				sum[i][j] = plus_product(sum[i][j], row, column[j], form);
		}
	}
#pragma GCC unroll 12
	for (int i = 0; i < rows; i++, c += c_stride)
#pragma GCC unroll 4
		for (int j = 0; j < vectors; j++) {
			if (t->add)
				sum[i][j] = V(add_epi32)(sum[i][j], load(c + LANES * j));
			memcpy(c + LANES * j, &sum[i][j], sizeof(VEC));
		}
}

INLINE void some_panels(const struct npl_int8_tile *t, const int rows, const int vectors)
{
#ifdef MULTIPLY_BYTES
	if (t->b_at) {
		make_sums(t, rows, vectors, SCATTERED);
		return;
	}
#endif
	make_sums(t, rows, vectors, PANELS);
}

/* Each branch below is compiled for numbers of its own; with some instruction sets two of the numbers are equal. */
/* NOLINTBEGIN(bugprone-branch-clone) */
INLINE void panels_of_rows(const struct npl_int8_tile *t, const int rows)
{
	if (t->columns <= LANES)
		some_panels(t, rows, 1);
	else if (t->columns <= 2 * LANES)
		some_panels(t, rows, 2);
	else
		some_panels(t, rows, VECTORS);
}

static TARGET void run(const struct npl_int8_tile *t)
{
	if (t->rows == 1)
		panels_of_rows(t, 1);
	else if (t->rows <= ROWS / 2)
		panels_of_rows(t, ROWS / 2);
	else
		panels_of_rows(t, ROWS);
}

INLINE void some_rows(const struct npl_int8_tile *t, const int rows, const int vectors)
{
	if (t->a_signed)
		make_sums(t, rows, vectors, SIGNED_ROWS);
	else
		make_sums(t, rows, vectors, UNSIGNED_ROWS);
}

INLINE void some_columns(const struct npl_int8_tile *t, const int rows)
{
	if (t->columns > (PART_VECTORS - 1) * LANES)
		some_rows(t, rows, PART_VECTORS);
	else if (t->columns <= LANES)
		some_rows(t, rows, 1);
	else if (t->columns <= 2 * LANES)
		some_rows(t, rows, 2);
	else
		some_rows(t, rows, 3);
}

static TARGET void run_rows(const struct npl_int8_tile *t)
{
	if (t->rows >= PART_ROWS)
		some_columns(t, PART_ROWS);
	else if (t->rows == 1)
		some_columns(t, 1);
	else if (t->rows == 2)
		some_columns(t, 2);
	else if (t->rows == 3)
		some_columns(t, 3);
	else if (t->rows == 4)
		some_columns(t, 4);
	else
		some_columns(t, 5);
}
/* NOLINTEND(bugprone-branch-clone) */

/* The members of a kernel that follow from these definitions. */
#define TILES                                                                                                          \
	.rows = ROWS, .columns = VECTORS * LANES, .value_bytes = VALUE_BYTES, .run = run, .run_rows = run_rows,        \
	.part_rows = PART_ROWS, .part_columns = PART_VECTORS * LANES

#endif
