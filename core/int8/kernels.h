/* SPDX-License-Identifier: MIT
 *
 * The inner kernels of npl_int8_gemm and the form of their operands, private to this folder. A kernel multiplies a panel of
 * `rows` vectors of a by a panel of `columns` vectors of b. Every multiply-add instruction used here takes
 * neighbours along k together, in groups of four bytes: two values of 16 bits or four of 8. So panels are
 *
 *     panel[group][vector], four bytes each        a k that is no multiple of the group is padded with zeros
 *
 * 16-bit values have their zero point subtracted (-255..255). 8-bit values are as the instructions want them, a
 * signed and b unsigned; what the zero points add to the sums is known per row and per column, and the sums start
 * from it.
 */
#ifndef NPULAB_CORE_INT8_KERNELS_H
#define NPULAB_CORE_INT8_KERNELS_H

#include "int8.h"

/* One tile of results. All sums wrap. */
struct npl_int8_tile {
	int64_t groups;
	const void *a, *b; /* panels; but where b_at is set, group g of b's vector j is the four bytes at
	                      b + 4 * (b_at[g] + j), whole tiles of which may be read: 8-bit kernels only */
	const int32_t *b_at;
	const int32_t *row_start,
		*column_start; /* 8-bit kernels: sum (i,j) starts from row_start[i] + column_start[j] */
	int rows, columns;     /* those wanted; the kernel may compute and write the whole tile */
	bool add;              /* adds to c, which then holds a whole tile */
	int32_t *c;
	int64_t c_stride;
};

/* A few rows of a times four vectors of b where they lie, contiguous along k. */
#define NPL_INT8_DOT_ROWS 5
struct npl_int8_dots {
	int64_t k;
	int rows;
	const uint8_t
		*a; /* rows of values in the form of dot_bytes, 64-byte aligned and filled up with zeros to a_pitch */
	int64_t a_pitch; /* bytes from row to row, a multiple of 64 */
	const uint8_t *b[4];
	uint8_t b_flip; /* turns the bytes of b into unsigned ones */
	int32_t sum[NPL_INT8_DOT_ROWS][4];
};

struct npl_int8_kernel {
	const char *name;
	int rows, columns; /* width of the panels; multiples of 4 and 8 */
	int value_bytes;   /* 2 or 1 */
	bool (*usable)(void);
	void (*run)(const struct npl_int8_tile *tile);
	void (*dots)(struct npl_int8_dots *dots); /* NULL: has none */
	int dot_bytes;                            /* value_bytes of its a */
	bool narrow;                              /* writes two thirds of a tile where no more columns are wanted */
};
#define NPL_INT8_MAX_TILE  512 /* rows * columns of any kernel */
#define NPL_INT8_MAX_WIDTH 64

extern const struct npl_int8_kernel npl_int8_kernel_list[]; /* fastest first; the last runs everywhere */

bool npl_int8_has_amx(void); /* whether the processor multiplies bytes in matrix registers */

#if defined(__x86_64__)
/* vnni.c: bytes in one instruction, on 512-bit and on 256-bit vectors. */
enum {
	NPL_INT8_AVX512VNNI_ROWS = 8,
	NPL_INT8_AVX512VNNI_COLUMNS = 48,
	NPL_INT8_AVXVNNI_ROWS = 4,
	NPL_INT8_AVXVNNI_COLUMNS = 24
};
bool npl_int8_has_avx512vnni(void);
void npl_int8_run_avx512vnni(const struct npl_int8_tile *tile);
bool npl_int8_has_avxvnni(void);
void npl_int8_run_avxvnni(const struct npl_int8_tile *tile);
/* dots.c */
void npl_int8_dots_avx512vnni(struct npl_int8_dots *dots);
void npl_int8_dots_avx2(struct npl_int8_dots *dots);
#endif

/* few_rows.c: a product of few rows by a kernel's dots; counts nothing. NPL_ENOMEM. */
int64_t npl_int8_few_rows_bytes(int64_t k); /* of workspace */
bool npl_int8_is_few_rows(const struct npl_int8_product *product, const struct npl_int8_kernel *kernel);
int npl_int8_few_rows(const struct npl_int8_product *product, const struct npl_int8_kernel *kernel,
		      struct npl_err *err);

const struct npl_int8_kernel *npl_int8_fastest(void); /* of this processor */
void npl_int8_prefer(int kernel); /* for tests: the kernel that passes for the fastest from now on */

/* Packs `count` vectors of x, values k0 to k0 + length - 1, into panels `width` vectors wide, one after the other;
 * vectors that are missing in the last are zero. */
void npl_int8_pack_16(const struct npl_int8_matrix *x, int64_t first, int64_t count, int width, int64_t k0,
		      int64_t length, int16_t *out);

/* The same in bytes: read as i8 or as u8, by adding or subtracting 128 where x is the other. sum, unless NULL,
 * receives each vector's sum of the values as they are packed. */
void npl_int8_pack_8(const struct npl_int8_matrix *x, enum npl_dtype as, int64_t first, int64_t count, int width,
		     int64_t k0, int64_t length, uint8_t *out, int32_t *sum);

#endif
