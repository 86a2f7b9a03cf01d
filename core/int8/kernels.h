/* SPDX-License-Identifier: MIT
 *
 * The inner kernels of this folder and the form of their operands, private to it. There is a kernel for each
 * instruction set. sse2.c, avx2.c, avx512.c, avx_vnni.c and avx512_vnni.c give the width of vectors, the multiply-add
 * and the sizes of tiles to bodies that are written once (tile.h, dots.h, finish.h, pack.h). All kernels are exact and
 * give the same bits.
 *
 * A kernel multiplies a panel of `rows` vectors of a by a panel of `columns` vectors of b. Every multiply-add
 * instruction used here takes neighbours along k together, in groups of four bytes: two values of 16 bits or four of 8.
 * So panels are
 *
 *     panel[group][vector], four bytes each        a k that is no multiple of the group is padded with zeros
 *
 * 16-bit values have their zero point subtracted (-255..255). 8-bit values are as the instructions want them, a
 * signed and b unsigned; what the zero points add to the sums is known per row and per column, and the sums start
 * from it.
 */
#ifndef NPULAB_CORE_INT8_KERNELS_H
#define NPULAB_CORE_INT8_KERNELS_H

#include <string.h>

#include "int8.h"

/* One tile of results. Sum (i,j) is row_start[i] + column_start[j] + the products, and all sums wrap. */
struct npl_int8_tile {
	int64_t groups; /* of four bytes along k */
	/* Panels. Where b_at is set, group g of b's vector j is instead the four bytes at b + 4 * (b_at[g] + j), of
	 * which whole tiles may be read; only kernels of 8 bits have it. */
	const void *a, *b;
	const int32_t *b_at;
	const uint8_t *const *a_row; /* run_rows reads these rows in the place of a */
	bool a_signed;               /* for run_rows: b is unsigned if a is signed, and signed if a is not */
	const int32_t *row_start, *column_start;
	int rows, columns; /* those wanted; the kernel may compute and write the whole tile */
	bool add;          /* adds to c, which then holds a whole tile */
	int32_t *c;
	int64_t c_stride;
};

/* A few rows of a times four vectors of b where they lie, contiguous along k. */
#define NPL_INT8_DOT_ROWS 5
struct npl_int8_dots {
	int64_t k;
	int rows;
	/* Rows of values in the form of dot_bytes, 64-byte aligned and filled up with zeros to a_pitch. */
	const uint8_t *a;
	int64_t a_pitch; /* bytes from row to row, a multiple of 64 */
	const uint8_t *b[4];
	uint8_t b_flip; /* turns the bytes of b into unsigned ones */
	int32_t sum[NPL_INT8_DOT_ROWS][4];
};

typedef void npl_int8_dots_function(struct npl_int8_dots *dots);

/* npl_int8_finish_rows for at most 2^32 results of bytes; acc stays as it is. */
typedef void npl_int8_finish_function(const struct npl_int8_finish *finish, const int32_t *acc, int64_t rows,
				      int64_t count, uint8_t *out, struct npl_int8_counts *counts);

/* A block of an operand and the panels that it is packed into. */
struct npl_int8_packing {
	const uint8_t *data; /* value k of vector i is data[i * stride + k * k_stride] */
	int64_t stride, k_stride, count, length;
	int width;
	uint8_t flip;   /* changes a byte into the type wanted; where values get 16 bits, into an unsigned one */
	uint8_t unsign; /* changes a byte of that type into an unsigned one, 128 greater if the type is signed */
	int16_t zero;   /* subtracted where values get 16 bits */
	uint8_t filler; /* the byte that becomes 0 */
	uint8_t *out;
	int64_t panel_bytes;
	int32_t *sum; /* NULL, or where the sum of each vector is added if vectors are contiguous along k */
};
typedef void npl_int8_pack_function(const struct npl_int8_packing *packing);

#define NPL_INT8_PART_ROWS 6 /* of any kernel, at most */
struct npl_int8_kernel {
	const char *name;
	unsigned needs;                     /* of the processor (npl_cpu_has) */
	int rows, columns;                  /* width of the panels; multiples of 4 and 8 */
	int value_bytes;                    /* 2 or 1 */
	bool narrow;                        /* windows.c may ask for two thirds of a tile's columns at a time */
	npl_int8_pack_function *pack;       /* into panels of this kernel */
	npl_int8_pack_function *pack_bytes; /* into panels of bytes, whatever value_bytes is */
	void (*run)(const struct npl_int8_tile *tile);
	/* At most part_rows rows, which lie anywhere, by at most part_columns columns of a panel of rows.h. A kernel of
	 * 16-bit values reads rows that npl_int8_rows has widened. Columns rounded up to 16 may be written. */
	void (*run_rows)(const struct npl_int8_tile *tile);
	int part_rows, part_columns;
	npl_int8_dots_function *dots; /* NULL: has none */
	int dot_bytes;                /* value_bytes of its a */
	npl_int8_finish_function *finish;
};
#define NPL_INT8_MAX_TILE  512 /* rows * columns of any kernel */
#define NPL_INT8_MAX_WIDTH 64

extern const struct npl_int8_kernel npl_int8_sse2, npl_int8_avx2, npl_int8_avx512, npl_int8_avx_vnni,
	npl_int8_avx512_vnni;
/* What kernels with newer instructions take from those with older ones. */
npl_int8_pack_function npl_int8_pack_words_avx2, npl_int8_pack_bytes_avx2;
npl_int8_dots_function npl_int8_dots_avx2, npl_int8_dots_avx512_vnni;
npl_int8_finish_function npl_int8_finish_sse2, npl_int8_finish_avx2, npl_int8_finish_avx512;

extern const struct npl_int8_kernel *const npl_int8_kernel_list[]; /* fastest first; the last runs everywhere; NULL */
/* Kernel `number` of those that this processor can run, or the fastest for 0; NULL: there is none of that number. */
const struct npl_int8_kernel *npl_int8_kernel(int number);
void npl_int8_prefer(int kernel); /* for tests: the kernel that passes for the fastest from now on */

bool npl_int8_has_amx(void); /* whether the processor multiplies bytes in matrix registers */

static inline int32_t npl_int8_four_bytes(const void *from)
{
	int32_t four;
	memcpy(&four, from, sizeof four);
	return four;
}

/* few_rows.c: a product of few rows by a kernel's dots; counts nothing. NPL_ENOMEM. */
int64_t npl_int8_few_rows_bytes(int64_t k); /* of workspace */
bool npl_int8_is_few_rows(const struct npl_int8_product *product, const struct npl_int8_kernel *kernel);
int npl_int8_few_rows(const struct npl_int8_product *product, const struct npl_int8_kernel *kernel,
		      struct npl_err *err);

/* Vectors first to first + count - 1 of x, values k0 to k0 + length - 1, which a kernel of bytes wants as i8 or as u8:
 * 128 is added or subtracted where x is the other. */
struct npl_int8_block {
	const struct npl_int8_matrix *x;
	enum npl_dtype as;
	int64_t first, count, k0, length;
	int width; /* of the panels */
};
/* Packs a block into panels, one after the other; vectors that are missing in the last are zero. A kernel of bytes puts
 * each vector's sum of the values as they are packed into sum, unless that is NULL. */
void npl_int8_pack(const struct npl_int8_kernel *kernel, const struct npl_int8_block *block, uint8_t *out,
		   int32_t *sum);

#endif
