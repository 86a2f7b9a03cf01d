/* SPDX-License-Identifier: MIT
 *
 * Convolution (layer.h): by cuDNN if it is installed and takes the case, else as a product of patches and kernels,
 *
 * 	y (channel m, pixel p) = sum over k of patch (p, k) * w (m, k)
 *
 * for each image and group. Patches are rows of K elements, so the result is in ONNX's order, pixel after pixel and
 * channel after channel, without a transposition. With a 1x1 kernel the image itself is the matrix of patches. Sums of
 * integers are converted to the result after the product. Integer images have channels last where that is possible
 * (conv_rows.c), and else are computed in this way. Integer convolutions in groups with short patches, such as
 * depthwise ones, have a kernel of their own: a product for each of hundreds of groups would be hundreds of launches
 * of little work. */
#include <stdio.h>

#include "backends/cuda/load/alignment.h"
#include "channels_last.h"
#include "core/base/arith.h"
#include "core/base/dtype.h"
#include "core/integer.h"
#include "core/ops/window.h"

#define MAX_GROUP_TAPS 128 /* elements of a group's patch: 3 x 3 of up to 14 channels */

bool cu_conv_supports(const struct cu_device *device, const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const char *refusal = NULL;
	if (layer->attrs->conv.private_kernels)
		refusal = "every output position has kernels of its own";
	else if (cu_layer_precision(device, layer) != CU_INT8)
		return true;
	else if (!npl_integer_layer_ok(layer, reason, reason_bytes))
		return false;
	else if (!npl_is_byte(layer->in[0]->dtype) || !npl_is_byte(layer->in[1]->dtype))
		refusal = "the GPU multiplies integers of 8 bits";
	else if (!npl_is_byte(layer->out->dtype) && layer->out->dtype != NPL_I32)
		refusal = "its result is neither of 8 nor of 32 bits";
	if (refusal)
		snprintf(reason, reason_bytes, "%s", refusal);
	return !refusal;
}

static int64_t product_of(const struct npl_shape *shape, int from)
{
	int64_t product = 1;
	for (int d = from; d < shape->rank; d++)
		product *= shape->dim[d];
	return product;
}

static void plan_shape(struct cu_layer *layer)
{
	const struct npl_layer *request = layer->layer;
	const struct npl_shape *x = &request->in[0]->shape, *y = &request->out->shape;
	struct cu_conv *c = &layer->conv;
	*c = (struct cu_conv){.images = x->dim[0],
			      .channels = x->dim[1],
			      .filters = y->dim[1],
			      .groups = request->attrs->conv.groups,
			      .plane = product_of(x, 2),
			      .pixels = product_of(y, 2),
			      .columns = product_of(&request->in[1]->shape, 1)};
	c->direct = layer->precision != CU_INT8 && cu_conv_is_pointwise(layer);
	c->sums_stride = layer->precision == CU_INT8 ? npl_round_up_i64(c->pixels, 4) : c->pixels;
	c->flip = request->in[0]->dtype == NPL_U8 ? 0x80 : 0;
}

/* Plans how many images or pixels are done at a time, and the scratch memory for them. */
static void plan_chunks(struct cu_layer *layer, int64_t unit)
{
	struct cu_conv *c = &layer->conv;
	const bool integers = layer->precision == CU_INT8;
	const int64_t ld = layer->weights.ld, room = (int64_t)layer->device->patch_bytes;
	const int64_t sums = integers ? c->filters * c->sums_stride * (int64_t)sizeof(int32_t) : 0;
	const int64_t image = c->pixels * ld * unit;
	c->chunk_images = c->images;
	c->chunk_pixels = c->pixels;
	if (c->direct)
		return;
	c->chunk_images = npl_min_i64(npl_max_i64(room / (image + sums), 1), c->images);
	if (image > room) /* one image is too large */
		c->chunk_pixels = npl_min_i64(npl_max_i64(room / (ld * unit) / 64 * 64, 64), c->pixels);
	/* A product whose rows are rounded up to 4 reads up to three rows after the last patch. */
	const size_t patches = (size_t)((c->chunk_images * c->chunk_pixels + 3) * ld * unit);
	c->sums_offset = cu_aligned(patches);
	layer->scratch_bytes = c->sums_offset + (size_t)(c->chunk_images * sums);
}

/* Prepares the product of a chunk of `images` images, `pixels` pixels of each. */
static int open_product(struct cu_layer *layer, int64_t images, int64_t pixels, struct cu_product *product,
			struct npl_err *err)
{
	const struct cu_conv *c = &layer->conv;
	const bool integers = layer->precision == CU_INT8;
	const enum npl_dtype type = integers ? NPL_I8 : cu_layer_type(layer);
	const int64_t ld = layer->weights.ld, per_group = c->filters / c->groups;
	struct cu_product_shape shape = {.operands = type,
					 .result = integers ? NPL_I32 : type,
					 .tf32 = layer->precision == CU_TF32,
					 .m = integers ? npl_round_up_i64(pixels, 4) : pixels,
					 .n = per_group,
					 .k = ld,
					 .ld_a = c->direct ? c->plane : ld,
					 .ld_b = ld,
					 .ld_d = c->sums_stride,
					 .transposed_a = !c->direct,
					 .batch = images,
					 .stride_a = c->direct ? c->channels * c->plane : pixels * ld,
					 .stride_d = c->filters * c->sums_stride};
	const uint64_t in = npl_dtype_size(type), out = npl_dtype_size(shape.result);
	const uint64_t offsets[] = {c->direct ? (uint64_t)(c->channels / c->groups * c->plane) * in : 0,
				    (uint64_t)(per_group * ld) * in, (uint64_t)(per_group * c->sums_stride) * out,
				    c->chunk_pixels < c->pixels ? 64 * out : 0};
	shape.alignment = cu_common_alignment(offsets, sizeof offsets / sizeof *offsets);
	return cu_product_open(&layer->device->blas, &shape, product, err);
}

static int open_products(struct cu_layer *layer, struct npl_err *err)
{
	const struct cu_conv *c = &layer->conv;
	const int64_t images = c->images % c->chunk_images, pixels = c->pixels % c->chunk_pixels;
	if (open_product(layer, c->chunk_images, c->chunk_pixels, &layer->product[0], err))
		return err->code;
	if (!images && !pixels)
		return 0;
	return open_product(layer, images ? images : 1, pixels ? pixels : c->chunk_pixels, &layer->product[1], err);
}

/* Prepares a convolution in groups with short patches. With channels last, neighbours in its weights are those of
 * neighbouring filters. */
static int open_groups(struct cu_layer *layer, const bool *resident, struct npl_err *err)
{
	const struct cu_conv *c = &layer->conv;
	struct cu_weights *w = &layer->weights;
	const int64_t per_group = c->channels / c->groups, ld = npl_round_up_i64(npl_max_i64(c->columns, 1), 16);
	layer->method = CU_METHOD_GROUPS;
	layer->workspace_bytes = 0;
	if (!layer->channels_last)
		return cu_weights_plan(layer, resident, c->filters, c->columns, ld, c->filters, err);
	if (cu_weights_plan(layer, resident, c->filters, c->columns, npl_round_up_i64(c->filters, 16), c->columns, err))
		return err->code;
	w->taps = c->columns / per_group;
	w->row_step = 1;
	w->channel_step = w->ld;
	w->tap_step = per_group * w->ld;
	return 0;
}

static int open_integers(struct cu_layer *layer, const bool *resident, struct npl_err *err)
{
	const struct cu_conv *c = &layer->conv;
	const int64_t ld = npl_round_up_i64(npl_max_i64(c->columns, 1), 16);
	const bool in_groups = c->groups > 1 && c->columns <= MAX_GROUP_TAPS;
	layer->channels_last = c->columns && (c->groups == 1 || in_groups) && cu_layout_wanted(layer);
	if (in_groups)
		return open_groups(layer, resident, err);
	if (layer->channels_last)
		return cu_conv_rows_open(layer, resident, err);
	if (cu_weights_plan(layer, resident, c->filters, c->columns, ld, c->filters, err))
		return err->code;
	plan_chunks(layer, 1);
	return open_products(layer, err);
}

int cu_conv_open(struct cu_layer *layer, const bool *resident, struct npl_err *err)
{
	struct cu_conv *c = &layer->conv;
	plan_shape(layer);
	if (layer->precision == CU_INT8)
		return open_integers(layer, resident, err);
	if (c->columns) { /* cuDNN reads weights as the model has them */
		if (cu_weights_plan(layer, resident, c->filters, c->columns, c->columns, c->filters, err))
			return err->code;
		if (cu_layout_wanted(layer) && resident[1] && cu_is_depthwise(layer)) {
			layer->method = CU_METHOD_DEPTHWISE;
			layer->channels_last = true;
			layer->workspace_bytes = 0;
			return 0;
		}
		struct npl_err failure;
		for (int last = cu_layout_wanted(layer); last >= 0 && layer->device->dnn.handle; last--) {
			layer->channels_last = last;
			if (cu_dnn_layer_open(layer, &failure))
				continue;
			layer->method = CU_METHOD_DNN;
			return 0;
		}
	}
	const int64_t unit = (int64_t)npl_dtype_size(cu_layer_type(layer));
	int64_t ld = unit == 2 && resident[1] && !c->direct ? npl_round_up_i64(c->columns, 8) : c->columns;
	if (cu_weights_plan(layer, resident, c->filters, c->columns, ld, c->filters, err))
		return err->code;
	if (!ld)
		return 0;
	plan_chunks(layer, unit);
	return open_products(layer, err);
}

int cu_groups_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	const struct npl_layer *request = layer->layer;
	const struct cu_groups groups = {.window = &request->attrs->conv.window,
					 .groups = layer->conv.groups,
					 .ld = layer->weights.ld,
					 .weights = cu_weights_matrix(layer, in, 0),
					 .part_bytes = layer->weights.part_bytes,
					 .bias = cu_weights_bias(layer, in),
					 .scale = layer->weights.address + layer->weights.scale_at,
					 .parts = layer->weights.parts,
					 .pad = (int8_t)cu_conv_padding(layer),
					 .flip = (uint32_t)layer->conv.flip};
	return cu_kernel_integer_conv(d->kernels, &in[0], &groups, request->activation, request->out, out[0].address,
				      d->stream, err);
}

/* Computes a group's part of a chunk: from `image` and its `pixel` on. `sums` is the address of the sums of that
 * image. */
static int run_group(struct cu_layer *layer, const struct cu_value *in, int64_t group, int64_t image, int64_t pixel,
		     struct cu_product *product, uint64_t sums, uint64_t scratch, struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	const struct cu_conv *c = &layer->conv;
	const struct cu_product_shape *shape = &product->shape;
	const int64_t per_group = c->filters / c->groups, first = image * c->pixels + pixel;
	const int64_t rows = c->chunk_pixels == c->pixels ? shape->batch * c->pixels
							  : npl_min_i64(c->chunk_pixels, c->pixels - pixel);
	const uint64_t in_unit = npl_dtype_size(shape->operands), out_unit = npl_dtype_size(shape->result);
	uint64_t a = scratch;
	if (c->direct) {
		a = in[0].address +
		    (uint64_t)((image * c->channels + group * (c->channels / c->groups)) * c->plane) * in_unit;
	} else {
		const struct cu_patches patches = {.window = &layer->layer->attrs->conv.window,
						   .out = &layer->layer->out->shape,
						   .group = group,
						   .groups = c->groups,
						   .first = first,
						   .rows = rows,
						   .row_elements = layer->weights.ld,
						   .pad_bits = layer->precision == CU_INT8 ? cu_conv_padding(layer) : 0,
						   .flip = layer->precision == CU_INT8 ? (uint32_t)c->flip : 0};
		if (cu_kernel_im2col(d->kernels, &in[0], &patches, scratch, d->stream, err))
			return err->code;
	}
	for (int p = 0; p < layer->weights.parts; p++) {
		uint64_t w = cu_weights_matrix(layer, in, p) +
			     (uint64_t)(group * per_group * layer->weights.ld) * in_unit;
		if (cu_product_run(&d->blas, product, a, w, 0,
				   sums + (uint64_t)(group * per_group * c->sums_stride + pixel) * out_unit, p > 0,
				   d->workspace.address, d->stream, err))
			return err->code;
	}
	return 0;
}

/* Computes the chunk of images from `image` on: their sums, and for integers the results. */
static int run_chunk(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, int64_t image,
		     uint64_t scratch, struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	const struct cu_conv *c = &layer->conv;
	const bool integers = layer->precision == CU_INT8;
	const int64_t images = npl_min_i64(c->chunk_images, c->images - image);
	const uint64_t y = out[0].address + (uint64_t)(image * c->filters * c->pixels) * npl_dtype_size(out[0].dtype);
	const uint64_t sums = integers ? scratch + c->sums_offset : y;
	for (int64_t pixel = 0; pixel < c->pixels; pixel += c->chunk_pixels)
		for (int64_t group = 0; group < c->groups; group++) {
			bool full_chunk = images == c->chunk_images && c->pixels - pixel >= c->chunk_pixels;
			if (run_group(layer, in, group, image, pixel, &layer->product[!full_chunk], sums, scratch, err))
				return err->code;
		}
	if (!integers)
		return 0;
	const struct cu_value x = {
		.address = sums, .dtype = NPL_I32, .shape = npl_shape_of(3, images, c->filters, c->pixels)};
	return cu_kernel_sums(d->kernels, &x, cu_weights_bias(layer, in),
			      layer->weights.address + layer->weights.scale_at, c->filters, c->pixels, c->pixels,
			      c->sums_stride, layer->layer->activation, layer->layer->out, y, d->stream, err);
}

int cu_conv_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	const struct cu_conv *c = &layer->conv;
	if (layer->channels_last)
		return cu_conv_rows_run(layer, in, out, scratch, err);
	if (!layer->product[0].product) { /* sums over no elements */
		const size_t bytes = (size_t)npl_shape_count(&out[0].shape) * npl_dtype_size(out[0].dtype);
		if (cu_try(&d->driver, err, cuMemsetD8Async, set, (out[0].address, 0, bytes, d->stream)))
			return err->code;
	}
	for (int64_t i = 0; i < c->images && layer->product[0].product; i += c->chunk_images)
		if (run_chunk(layer, in, out, i, scratch, err))
			return err->code;
	return layer->precision == CU_INT8 ? 0 : cu_layer_finish(layer, in, out, c->filters, c->pixels, err);
}
