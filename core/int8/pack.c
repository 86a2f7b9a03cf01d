/* SPDX-License-Identifier: MIT
 *
 * Packs an operand with a kernel (pack.h): how bytes become the values that the kernel needs, and sums of vectors that
 * are stored side by side. */
#include "kernels.h"

static void sum_across_k(const struct npl_int8_packing *p, bool is_signed)
{
	for (int64_t k = 0; k < p->length; k++)
		for (int64_t i = 0; i < p->count; i++) {
			const uint8_t byte = p->data[k * p->k_stride + i] ^ p->flip;
			p->sum[i] = (int32_t)((uint32_t)p->sum[i] + (uint32_t)(is_signed ? (int8_t)byte : byte));
		}
}

void npl_int8_pack(const struct npl_int8_kernel *kernel, const struct npl_int8_block *b, uint8_t *out, int32_t *sum)
{
	const struct npl_int8_matrix *x = b->x;
	const bool words = kernel->value_bytes == 2, is_signed = b->target_dtype == NPL_I8;
	const int64_t groups = words ? (b->length + 1) / 2 : (b->length + 3) / 4;
	struct npl_int8_packing p = {.data = (const uint8_t *)x->data + b->first * x->stride + b->k0 * x->k_stride,
				     .stride = x->stride,
				     .k_stride = x->k_stride,
				     .count = b->count,
				     .length = b->length,
				     .width = b->width,
				     .flip = x->dtype == (words ? NPL_U8 : b->target_dtype) ? 0 : 0x80,
				     .unsign = is_signed ? 0x80 : 0,
				     .zero = words ? (int16_t)(x->zero_point + (x->dtype == NPL_I8 ? 128 : 0)) : 0,
				     .out = out,
				     .panel_bytes = groups * 4 * b->width,
				     .sum = sum};
	p.filler = (uint8_t)p.zero ^ p.flip;
	if (sum)
		memset(sum, 0, (size_t)b->count * sizeof *sum);
	kernel->pack(&p);
	if (sum && x->k_stride != 1)
		sum_across_k(&p, is_signed);
}
