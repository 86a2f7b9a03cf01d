/* SPDX-License-Identifier: MIT
 *
 * Convolution of integers with channels last (layer.h), in one group, as a product for the pixels of all images:
 *
 * 	y (pixel p, channel m) = sum over k of patch (p, k) * w (m, k)
 *
 * where k counts the channels of one tap after the other. Both operands have k as their last dimension, as cuBLASLt's
 * fast products of integers need them, and sums and result have channels last. Patches and sums of some pixels are in
 * memory at a time. */
#include "backends/cuda/load/alignment.h"
#include "core/base/arith.h"
#include "core/base/dtype.h"
#include "layer.h"

#define ROWS_AT_A_TIME 64 /* chunks are whole multiples of it, which keeps all addresses aligned */

static void plan_chunks(struct cu_layer *layer)
{
	struct cu_conv *c = &layer->conv;
	const int64_t patch = c->direct ? 0 : layer->weights.ld, sums = c->sums_stride * (int64_t)sizeof(int32_t);
	const int64_t fitting = (int64_t)layer->device->patch_bytes / (patch + sums);
	const int64_t rows = npl_max_i64(fitting / ROWS_AT_A_TIME, 1) * ROWS_AT_A_TIME;
	c->chunk_rows = npl_min_i64(rows, c->images * c->pixels);
	c->sums_offset = cu_aligned((size_t)(c->chunk_rows * patch));
	layer->scratch_bytes = c->sums_offset + (size_t)(c->chunk_rows * sums);
}

/* Prepares the product of a chunk of `rows` pixels; 0: there is no such chunk. cuBLASLt needs a multiple of 4 filters.
 */
static int open_product(struct cu_layer *layer, int64_t rows, struct cu_product *product, struct npl_err *err)
{
	const int64_t ld = layer->weights.ld, row = layer->conv.sums_stride;
	const struct cu_product_shape shape = {.operands = NPL_I8,
					       .result = NPL_I32,
					       .m = row,
					       .n = rows,
					       .k = ld,
					       .ld_a = ld,
					       .ld_b = ld,
					       .ld_d = row,
					       .transposed_a = true};
	return rows ? cu_product_open(&layer->device->blas, &shape, product, err) : 0;
}

int cu_conv_rows_open(struct cu_layer *layer, const bool *resident, struct npl_err *err)
{
	struct cu_conv *c = &layer->conv;
	const int64_t ld = npl_round_up_i64(c->columns, 16);
	c->sums_stride = npl_round_up_i64(c->filters, 4);
	c->direct = !c->flip && c->channels == ld && cu_conv_is_pointwise(layer);
	if (cu_weights_plan(layer, resident, c->filters, c->columns, ld, c->sums_stride, err))
		return err->code;
	layer->weights.taps = c->columns / c->channels;
	layer->weights.tap_step = c->channels;
	plan_chunks(layer);
	return open_product(layer, c->chunk_rows, &layer->product[0], err) ||
			       open_product(layer, c->images * c->pixels % c->chunk_rows, &layer->product[1], err)
		       ? err->code
		       : 0;
}

/* Returns the address of the patches of a chunk, written to `scratch` unless the image has them itself; 0: failed. */
static uint64_t make_patches(const struct cu_layer *layer, const struct cu_value *x, int64_t first, int64_t rows,
			     uint64_t scratch, struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	const struct cu_conv *c = &layer->conv;
	const struct cu_patches patches = {.window = &layer->layer->attrs->conv.window,
					   .out = &layer->layer->out->shape,
					   .groups = 1,
					   .first = first,
					   .rows = rows,
					   .row_elements = layer->weights.ld,
					   .pad_bits = cu_conv_padding(layer),
					   .flip = (uint32_t)c->flip};
	if (c->direct)
		return x->address + (uint64_t)(first * c->channels);
	return cu_kernel_im2col(d->kernels, x, &patches, scratch, d->stream, err) ? 0 : scratch;
}

/* Computes the results of `rows` pixels from `first` on. */
static int run_chunk(struct cu_layer *layer, const struct cu_value *in, const struct cu_value *out, int64_t first,
		     int64_t rows, uint64_t scratch, struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	const struct cu_conv *c = &layer->conv;
	struct cu_product *product = &layer->product[rows != c->chunk_rows];
	const struct cu_value sums = {
		.address = scratch + c->sums_offset, .dtype = NPL_I32, .shape = npl_shape_of(2, rows, c->filters)};
	const uint64_t patches = make_patches(layer, &in[0], first, rows, scratch, err);
	const uint64_t y = out[0].address + (uint64_t)(first * c->filters) * npl_dtype_size(out[0].dtype);
	if (!patches)
		return err->code;
	for (int p = 0; p < layer->weights.parts; p++)
		if (cu_product_run(&d->blas, product, cu_weights_matrix(layer, in, p), patches, 0, sums.address, p > 0,
				   d->workspace.address, d->stream, err))
			return err->code;
	return cu_kernel_sums(d->kernels, &sums, cu_weights_bias(layer, in),
			      layer->weights.address + layer->weights.scale_at, c->filters, 1, c->filters,
			      c->sums_stride, layer->layer->activation, layer->layer->out, y, d->stream, err);
}

int cu_conv_rows_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		     struct npl_err *err)
{
	const struct cu_conv *c = &layer->conv;
	const int64_t pixels = c->images * c->pixels;
	for (int64_t first = 0; first < pixels; first += c->chunk_rows)
		if (run_chunk(layer, in, out, first, npl_min_i64(c->chunk_rows, pixels - first), scratch, err))
			return err->code;
	return 0;
}
