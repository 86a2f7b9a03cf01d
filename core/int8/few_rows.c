/* SPDX-License-Identifier: MIT
 *
 * Exact 8-bit products of few rows (int8.h), such as a fully connected layer on one image: each weight is used a few
 * times only, so packing the weights would cost more than the arithmetic. b is read where it is stored; only a is
 * brought into another form. Zero points are handled as in gemm.c; if the sums of b's vectors are needed, they are
 * products with one more row, of ones. */
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

/* Limits beyond which packing is faster, measured: more rows, or vectors so short that adding up the lanes matters. */
enum { MAX_ROWS = NPL_INT8_DOT_ROWS - 1, MIN_K_PER_ROW = 64 };

/* The rows of a in the form that the dots need, and the value from which each sum starts. */
struct rows {
	struct npl_int8_dots dots;
	uint8_t *memory, *own_memory; /* own_memory: to free */
	int32_t start[MAX_ROWS];
	int32_t za; /* the factor of the sum of b's vector, which is row m of the dots */
};

bool npl_int8_is_few_rows(const struct npl_int8_product *p, const struct npl_int8_kernel *kernel)
{
	return kernel->dots && p->m <= MAX_ROWS && p->k >= MIN_K_PER_ROW * p->m && p->b.k_stride == 1;
}

/* Returns the bytes that the packed rows of a need at most: NPL_INT8_DOT_ROWS rows of k values, each of 16 bits (no
 * kernel has wider ones), rounded up to 64 bytes. */
int64_t npl_int8_few_rows_bytes(int64_t k)
{
	return (k * 2 + 63) / 64 * 64 * NPL_INT8_DOT_ROWS;
}

static int32_t value_of(const struct npl_int8_matrix *x, int64_t i, int64_t k)
{
	uint8_t byte = ((const uint8_t *)x->data)[i * x->stride + k * x->k_stride];
	return x->dtype == NPL_I8 ? (int8_t)byte : byte;
}

/* Brings one row of a into form; returns the value from which its sums start, without the part of both zero points. */
static uint32_t convert_row(const struct npl_int8_matrix *a, int64_t i, int64_t length, int bytes, int32_t offset,
			    uint8_t *to)
{
	uint32_t sum = 0;
	int16_t *wide = (int16_t *)(void *)to;
	for (int64_t k = 0; k < length; k++) {
		int32_t value = value_of(a, i, k) - offset;
		sum += (uint32_t)value;
		if (bytes == 1)
			to[k] = (uint8_t)value;
		else
			wide[k] = (int16_t)value;
	}
	return sum;
}

static int convert_rows(struct rows *r, const struct npl_int8_product *p, int bytes, struct npl_err *err)
{
	int32_t offset = p->a.zero_point, zb = p->b.zero_point + (p->b.dtype == NPL_I8 ? 128 : 0);
	if (bytes == 1) { /* signed bytes; the zero point is handled apart */
		offset = p->a.dtype == NPL_U8 ? 128 : 0;
		r->za = p->a.zero_point - offset;
	}
	r->dots = (struct npl_int8_dots){.k = p->k, .rows = (int)p->m, .b_flip = p->b.dtype == NPL_I8 ? 0x80 : 0};
	r->dots.a_pitch = (p->k * bytes + 63) / 64 * 64;
	size_t size = (size_t)npl_int8_few_rows_bytes(p->k);
	r->memory = p->workspace;
	if (!p->workspace || p->workspace_bytes < (int64_t)size)
		r->memory = r->own_memory = aligned_alloc(64, size);
	if (!r->memory)
		return npl_fail(err, NPL_ENOMEM, "8-bit product: out of memory for %zu bytes", size);
	memset(r->memory, 0, (size_t)(r->dots.a_pitch * NPL_INT8_DOT_ROWS));
	r->dots.a = r->memory;
	for (int i = 0; i < p->m; i++) {
		uint32_t sum = convert_row(&p->a, i, p->k, bytes, offset, r->memory + i * r->dots.a_pitch);
		r->start[i] = (int32_t)((uint32_t)zb * ((uint32_t)p->k * (uint32_t)r->za - sum));
	}
	if (r->za)
		memset(r->memory + r->dots.rows++ * r->dots.a_pitch, 1, (size_t)p->k);
	return 0;
}

int npl_int8_few_rows(const struct npl_int8_product *p, const struct npl_int8_kernel *kernel, struct npl_err *err)
{
	struct rows r = {.own_memory = NULL};
	if (convert_rows(&r, p, kernel->dot_bytes, err))
		return NPL_ENOMEM;
	const uint8_t *b = p->b.data;
	for (int64_t j = 0; j < p->n; j += 4) {
		int64_t n_columns = p->n - j < 4 ? p->n - j : 4;
		for (int64_t v = 0; v < 4; v++)
			r.dots.b[v] = b + (j + (v < n_columns ? v : 0)) * p->b.stride;
		kernel->dots(&r.dots);
		for (int64_t i = 0; i < p->m; i++)
			for (int64_t v = 0; v < n_columns; v++) {
				uint32_t columns = r.za ? (uint32_t)r.za * (uint32_t)r.dots.sum[p->m][v] : 0;
				p->c[i * p->c_stride + j + v] = (int32_t)((uint32_t)r.dots.sum[i][v] +
									  (uint32_t)r.start[i] - columns);
			}
	}
	free(r.own_memory);
	return 0;
}
