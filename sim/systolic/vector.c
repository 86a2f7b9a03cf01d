/* SPDX-License-Identifier: MIT
 *
 * The activation unit on its own: Relu and pooling of quantised tensors in the unified buffer. The unit is
 * `columns` lanes wide: it takes one pixel's block of channels per cycle, reads every input pixel that a window
 * covers once (its registers hold the windows that are under way, as in the pooling circuits of US Patent
 * 10,192,162) and writes one row per result; reading and writing overlap, so the longer of the two is the time.
 *
 * Values are exact integers. An average is round_half_even(sum(q - zero_point) / count) + zero_point.
 *
 * Not modelled: pooling fused into the Activate of a convolution, normalisation, sigmoid and tanh. */
#include <stdio.h>

#include "npulab/int8.h"
#include "tpu.h"

static bool is_pooling(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_MAXPOOL || layer->op == NPL_OP_AVERAGEPOOL || layer->op == NPL_OP_GLOBALAVERAGEPOOL;
}

static bool no(char *why, size_t n, const char *reason)
{
	snprintf(why, n, "%s", reason);
	return false;
}

static bool shapes_fit(const struct npl_layer *layer)
{
	const struct npl_shape *x = &layer->in[0]->shape, *y = &layer->out->shape;
	if (npl_shape_count(x) <= 0 || npl_shape_count(y) <= 0)
		return false;
	return is_pooling(layer) ? tpu_windows_ok(layer) && x->dim[0] == y->dim[0] && x->dim[1] == y->dim[1]
				 : npl_shape_equal(x, y);
}

bool tpu_vector_supports(const struct tpu_config *config, const struct npl_layer *layer, char *why, size_t n)
{
	if (layer->n_in < 1 || !layer->in[0] || !shapes_fit(layer))
		return no(why, n,
			  "the activation unit takes Relu, and pooling over one or two dimensions, none of them empty");
	const struct npl_tensor *x = layer->in[0], *y = layer->out;
	if ((x->dtype != NPL_U8 && x->dtype != NPL_I8) || y->dtype != x->dtype)
		return no(why, n, "the activation unit keeps activations as 8-bit integers of one type");
	if (x->quant.scale < y->quant.scale || x->quant.scale > y->quant.scale ||
	    x->quant.zero_point != y->quant.zero_point || x->quant.zero_point < npl_int8_min(x->dtype) ||
	    x->quant.zero_point > npl_int8_max(x->dtype))
		return no(why, n,
			  "the activation unit does not change scale and zero point here: input and output differ");
	if (tpu_images_at_once(config, layer) == 0) {
		tpu_say_too_large(config, layer, why, n);
		return false;
	}
	return true;
}

/* Rows of one block of channels per pixel; `pixels` of each image are used. */
static uint64_t lane_rows(const struct tpu_config *config, const struct npl_shape *shape, int64_t pixels)
{
	int64_t images = shape->rank > 1 ? shape->dim[0] : 1,
		channels = shape->rank > 1 ? shape->dim[1] : npl_shape_count(shape);
	return (uint64_t)(images * pixels * ((channels + config->columns - 1) / config->columns));
}

static int64_t pixels_of(const struct npl_shape *shape)
{
	int64_t pixels = 1;
	for (int i = 2; i < shape->rank; i++)
		pixels *= shape->dim[i];
	return pixels;
}

uint64_t tpu_vector_cycles(const struct tpu_config *config, const struct npl_layer *layer, struct tpu_stats *stats)
{
	const struct npl_shape *x = &layer->in[0]->shape, *y = &layer->out->shape;
	int64_t read_pixels = pixels_of(x);
	if (is_pooling(layer)) {
		struct tpu_windows windows = tpu_windows_of(layer);
		read_pixels = tpu_touched_pixels(&windows);
	}
	uint64_t read = lane_rows(config, x, read_pixels), written = lane_rows(config, y, pixels_of(y));
	uint64_t busy = (read > written ? read : written) * (uint64_t)config->activate_cycles_per_row;
	uint64_t cycles = busy + (uint64_t)config->activate_registers;
	stats->ub_rows_read += read;
	stats->ub_rows_written += written;
	stats->activate_cycles += busy;
	stats->non_matrix += cycles;
	return cycles;
}

int tpu_vector_values(const struct npl_layer *layer, struct npl_err *err)
{
	return npl_int8_run_unary(layer, layer->out, err);
}
