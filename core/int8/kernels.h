/* SPDX-License-Identifier: MIT
 *
 * The inner kernels of this folder and the form of their operands, private to it. There is a kernel for each
 * instruction set. sse2.c, avx2.c, avx512.c, avx_vnni.c and avx512_vnni.c give the width of vectors, the multiply-add
 * and the sizes of tiles to bodies that are written once (tile.h, dots.h, finish.h, pack.h). All kernels are exact and
 * give the same bits.
 *
 * A kernel multiplies a panel of `rows` vectors of a by a panel of `columns` vectors of b. Every multiply-add
 * instruction used here takes neighbours along k together, in groups of four bytes: two values of 16 bits or four of 8.
 * Panels are therefore
 *
 *     panel[group][vector], four bytes each        a k that is no multiple of the group is padded with zeros
 *
 * 16-bit values have their zero point subtracted (-255..255). 8-bit values are as the instructions want them, a signed
 * and b unsigned; the parts of the sums that the zero points make are known per row and per column, and the sums start
 * from them.
 */
#ifndef NPULAB_CORE_INT8_KERNELS_H
#define NPULAB_CORE_INT8_KERNELS_H

#include <string.h>

#include "int8.h"

/* One tile of results. Sum (i,j) is row_start[i] + column_start[j] + the products, and all sums wrap. */
struct npl_int8_tile {
	int64_t groups; /* groups of four bytes along k */
	/* Panels. If b_at is set, group g of vector j of b is instead the four bytes at b + 4 * (b_at[g] + j), from
	 * which whole tiles may be read; only kernels of 8 bits support it. */
	const void *a, *b;
	const int32_t *b_at;
	const uint8_t *const *a_row; /* run_rows reads these rows instead of a */
	bool a_signed;               /* for run_rows: b is unsigned if a is signed, and signed if a is not */
	const int32_t *row_start, *column_start;
	int rows, columns; /* wanted; the kernel may compute and write the whole tile */
	bool add;          /* the sums are added to c, which then holds a whole tile */
	int32_t *c;
	int64_t c_stride;
};

/* A few rows of a times four vectors of b, which are read where they are stored, contiguous along k. */
#define NPL_INT8_DOT_ROWS 5
struct npl_int8_dots {
	int64_t k;
	int rows;
	/* Rows of values of dot_bytes bytes, 64-byte aligned and padded with zeros to a_pitch. */
	const uint8_t *a;
	int64_t a_pitch; /* bytes from row to row, a multiple of 64 */
	const uint8_t *b[4];
	uint8_t b_flip; /* bits to invert, which makes the bytes of b unsigned */
	int32_t sum[NPL_INT8_DOT_ROWS][4];
};

typedef void npl_int8_dots_function(struct npl_int8_dots *dots);

/* Does what npl_int8_finish_rows does, for at most 2^32 results of bytes. acc is not changed. */
typedef void npl_int8_finish_function(const struct npl_int8_finish *finish, const int32_t *acc, int64_t rows,
				      int64_t count, uint8_t *out, struct npl_int8_counts *counts);

/* A block of an operand and the panels that it is packed into. */
struct npl_int8_packing {
	const uint8_t *data; /* value k of vector i is data[i * stride + k * k_stride] */
	int64_t stride, k_stride, count, length;
	int width;
	uint8_t flip;   /* bits to invert, for the type wanted; unsigned if values get 16 bits */
	uint8_t unsign; /* bits that make a byte of that type unsigned, 128 greater if it is signed */
	int16_t zero;   /* subtracted where values get 16 bits */
	uint8_t filler; /* the byte that becomes 0 */
	uint8_t *out;
	int64_t panel_bytes;
	int32_t *sum; /* each vector's sum is added here, if vectors are contiguous along k; NULL: not wanted */
};
typedef void npl_int8_pack_function(const struct npl_int8_packing *packing);

#define NPL_INT8_PART_ROWS 6 /* the greatest part_rows of any kernel */
struct npl_int8_kernel {
	const char *name;
	unsigned required_features;         /* the processor's features (npl_cpu_has) */
	int rows, columns;                  /* width of the panels; multiples of 4 and 8 */
	int value_bytes;                    /* 2 or 1 */
	bool narrow;                        /* windows.c may ask for two thirds of a tile's columns at a time */
	npl_int8_pack_function *pack;       /* into panels of this kernel */
	npl_int8_pack_function *pack_bytes; /* into panels of bytes, whatever value_bytes is */
	void (*run)(const struct npl_int8_tile *tile);
	/* Multiplies at most part_rows rows, which may be anywhere in memory, by at most part_columns columns of a
	 * panel of rows.h. A kernel of 16-bit values reads rows that npl_int8_rows has widened. It may write columns
	 * rounded up to 16. */
	void (*run_rows)(const struct npl_int8_tile *tile);
	int part_rows, part_columns;
	npl_int8_dots_function *dots; /* NULL: the kernel has none */
	int dot_bytes;                /* value_bytes of its a */
	npl_int8_finish_function *finish;
};
#define NPL_INT8_MAX_TILE  512 /* rows * columns of any kernel */
#define NPL_INT8_MAX_WIDTH 64

extern const struct npl_int8_kernel npl_int8_sse2, npl_int8_avx2, npl_int8_avx512, npl_int8_avx_vnni,
	npl_int8_avx512_vnni;
/* Functions that kernels with newer instructions share with those with older ones. */
npl_int8_pack_function npl_int8_pack_words_avx2, npl_int8_pack_bytes_avx2;
npl_int8_dots_function npl_int8_dots_avx2, npl_int8_dots_avx512_vnni;
npl_int8_finish_function npl_int8_finish_sse2, npl_int8_finish_avx2, npl_int8_finish_avx512;

/* All kernels, the fastest first. The last one runs on every processor, and NULL ends the list. */
extern const struct npl_int8_kernel *const npl_int8_kernel_list[];
/* Returns kernel `number` of those that this processor can run, or the fastest for 0; NULL: there is no such number. */
const struct npl_int8_kernel *npl_int8_kernel(int number);
void npl_int8_prefer(int kernel); /* for tests: sets the kernel that 0 stands for */

bool npl_int8_has_amx(void); /* says whether the processor multiplies bytes in matrix registers */

static inline int32_t npl_int8_four_bytes(const void *from)
{
	int32_t bytes;
	memcpy(&bytes, from, sizeof bytes);
	return bytes;
}

/* few_rows.c: computes a product of few rows by a kernel's dots; wrapping is not counted. Returns 0 or NPL_ENOMEM. */
int64_t npl_int8_few_rows_bytes(int64_t k); /* returns the bytes of workspace */
bool npl_int8_is_few_rows(const struct npl_int8_product *product, const struct npl_int8_kernel *kernel);
int npl_int8_few_rows(const struct npl_int8_product *product, const struct npl_int8_kernel *kernel,
		      struct npl_err *err);

/* Vectors first to first + count - 1 of x, values k0 to k0 + length - 1, as i8 or u8 for a kernel of bytes: 128 is
 * added or subtracted if x has the other type. */
struct npl_int8_block {
	const struct npl_int8_matrix *x;
	enum npl_dtype target_dtype;
	int64_t first, count, k0, length;
	int width; /* the width of the panels */
};
/* Packs a block into panels that follow each other; vectors that the last one lacks are zero. For a kernel of bytes
 * `sum` gets the sum of each vector's packed values, unless it is NULL. */
void npl_int8_pack(const struct npl_int8_kernel *kernel, const struct npl_int8_block *block, uint8_t *out,
		   int32_t *sum);

#endif
