/* SPDX-License-Identifier: MIT
 *
 * Conversions within a layer group (NPL_CONVERTS_IN_GROUP): a whole tensor from float32 to 8 bits and back, by all
 * threads. The loops are written so that the compiler makes vectors of them, and give the bits of npl_quantise_to and
 * npl_dequantise. */
#include <math.h>
#include <stdlib.h>

#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "cpu.h"

#define PIECE 131072 /* least elements of a task; waking threads for fewer costs more time than it saves */

struct counts {
	uint64_t saturations, nans;
};

struct conversion {
	bool to_float;
	const float *floats_in;
	float *floats_out;
	const uint8_t *bytes_in;
	uint8_t *bytes_out;
	float scale, zero; /* zero: the zero point of the bytes as unsigned ones */
	uint8_t flip;      /* bits to invert: 0x80 makes i8 unsigned */
	int64_t count, pieces;
	struct counts *counts; /* per worker */
	void (*work)(const struct conversion *c, int64_t first, int64_t end, struct counts *counts);
};

static inline __attribute__((always_inline)) void to_bytes(const struct conversion *c, int64_t first, int64_t end,
							   struct counts *counts)
{
	const float scale = c->scale, zero = c->zero;
	const uint8_t flip = c->flip;
	while (first < end) {
		const int64_t count = end - first < PIECE ? end - first : PIECE;
		const float *x = c->floats_in + first;
		uint8_t *y = c->bytes_out + first;
		uint32_t saturations = 0, nans = 0;
		for (int64_t i = 0; i < count; i++) {
			const float q = rintf(x[i] / scale) + zero;
			const float non_negative = q > 0 ? q : 0;
			saturations += (uint32_t)(q < 0) + (uint32_t)(q > 255);
			nans += (uint32_t)(isnan(x[i]) != 0);
			y[i] = (uint8_t)((uint8_t)(int32_t)(non_negative < 255 ? non_negative : 255) ^ flip);
		}
		counts->saturations += saturations;
		counts->nans += nans;
		first += count;
	}
}

static inline __attribute__((always_inline)) void to_floats(const struct conversion *c, int64_t first, int64_t end)
{
	const float scale = c->scale, zero = c->zero;
	const uint8_t flip = c->flip, *x = c->bytes_in;
	float *y = c->floats_out;
	for (int64_t i = first; i < end; i++)
		y[i] = ((float)(uint8_t)(x[i] ^ flip) - zero) * scale;
}

static inline __attribute__((always_inline)) void convert(const struct conversion *c, int64_t first, int64_t end,
							  struct counts *counts)
{
	if (c->to_float)
		to_floats(c, first, end);
	else
		to_bytes(c, first, end, counts);
}

static void convert_sse(const struct conversion *c, int64_t first, int64_t end, struct counts *counts)
{
	convert(c, first, end, counts);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void convert_avx2(const struct conversion *c, int64_t first, int64_t end,
							 struct counts *counts)
{
	convert(c, first, end, counts);
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) static void
convert_avx512(const struct conversion *c, int64_t first, int64_t end, struct counts *counts)
{
	convert(c, first, end, counts);
}
#endif

static void run_piece(void *context, int64_t piece, int worker)
{
	const struct conversion *c = context;
	const int64_t piece_count = c->count / c->pieces;
	c->work(c, piece_count * piece, piece + 1 == c->pieces ? c->count : piece_count * (piece + 1),
		&c->counts[worker]);
}

bool cpu_is_conversion(const struct npl_layer *layer)
{
	if (layer->n_in != 1 || layer->n_further)
		return false;
	if (layer->op == NPL_OP_QUANTIZELINEAR)
		return layer->in[0]->dtype == NPL_F32 && npl_is_byte(layer->out->dtype) && layer->out->quant.scale > 0;
	return layer->op == NPL_OP_DEQUANTIZELINEAR && npl_is_byte(layer->in[0]->dtype) &&
	       layer->in[0]->quant.scale > 0 && layer->out->dtype == NPL_F32;
}

int cpu_convert_run(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out,
		    struct npl_result *result, struct npl_err *err)
{
	const struct npl_tensor *x = layer->in[0];
	const bool dequantises = layer->op == NPL_OP_DEQUANTIZELINEAR;
	const struct npl_tensor *bytes = dequantises ? x : layer->out;
	const bool is_signed = bytes->dtype == NPL_I8;
	struct conversion c = {.to_float = dequantises,
			       .floats_in = x->data,
			       .floats_out = out->data,
			       .bytes_in = x->data,
			       .bytes_out = out->data,
			       .scale = bytes->quant.scale,
			       .zero = (float)(bytes->quant.zero_point + (is_signed ? 128 : 0)),
			       .flip = is_signed ? 0x80 : 0,
			       .count = npl_tensor_count(x),
			       .work = convert_sse};
	const int64_t max_pieces = 4 * (int64_t)cpu->threads, full_pieces = c.count / PIECE;
	uint64_t nans = 0;
#if defined(__x86_64__)
	const enum cpu_level level = cpu_vectors_detect().level;
	if (level >= CPU_AVX512)
		c.work = convert_avx512;
	else if (level >= CPU_AVX2)
		c.work = convert_avx2;
#endif
	c.counts = calloc((size_t)cpu->threads, sizeof *c.counts);
	if (!c.counts)
		return npl_no_memory(err);
	const double begin = npl_clock_seconds();
	c.pieces = cpu->threads == 1 || full_pieces < 2 ? 1 : full_pieces > max_pieces ? max_pieces : full_pieces;
	if (c.pieces == 1)
		run_piece(&c, 0, 0);
	else
		npl_pool_run(cpu->pool, c.pieces, run_piece, &c);
	result->seconds = npl_clock_seconds() - begin;
	for (int t = 0; t < cpu->threads; t++) {
		result->saturations += c.counts[t].saturations;
		nans += c.counts[t].nans;
	}
	free(c.counts);
	return nans ? npl_fail(err, NPL_EINPUT, "'%s' holds a NaN, which %s cannot hold", x->name ? x->name : "a value",
			       npl_dtype_name(bytes->dtype))
		    : 0;
}
