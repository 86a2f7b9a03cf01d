/* SPDX-License-Identifier: MIT
 *
 * How a layer becomes passes of the array. A convolution is a matrix product that is never stored whole (im2col in
 * name only): K = kernel taps x input channels, in that order, so that a tile holds one tap of up to `rows`
 * channels, or, when channels are few, as many whole taps as fit (Jouppi et al., section 2: "techniques" for small
 * C; US Patent 9,697,463, claims 3-4). Groups are apart: each has its own tiles. Order of passes, outermost first:
 * group, block of N, block of result rows, tile of K; a block's sums stay in the accumulators until its last tile.
 *
 * Not here: copies for unused columns, depthwise groups side by side, blocks larger than half the accumulators. */
#include <stdio.h>

#include "npulab/int8.h"
#include "tpu.h"

static int64_t div_up(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t tpu_row_bytes(const struct tpu_config *config)
{
	return config->rows > config->columns ? config->rows : config->columns;
}

/* A pixel's channels take whole rows of the unified buffer, or, when several pixels' channels fit in one row, share
 * one. A result that stays 32 bits wide takes four rows in place of one. */
int64_t tpu_buffer_rows(const struct tpu_config *config, const struct npl_shape *shape, int64_t images,
			int64_t element_bytes)
{
	int64_t width = tpu_row_bytes(config), channels = shape->rank > 1 ? shape->dim[1] : npl_shape_count(shape),
		pixels = images;
	for (int i = 2; i < shape->rank; i++)
		pixels *= shape->dim[i];
	if (channels >= width)
		return pixels * div_up(channels, width) * element_bytes;
	return channels ? div_up(pixels, width / channels) * element_bytes : 0;
}

int64_t tpu_images_at_once(const struct tpu_config *config, const struct npl_layer *layer)
{
	const struct npl_tensor *in = layer->in[0], *out = layer->out;
	int64_t rows = config->buffer_bytes / tpu_row_bytes(config);
	int64_t fits = 0, too_many = (in->shape.rank > 1 ? in->shape.dim[0] : 1) + 1;
	while (fits + 1 < too_many) {
		int64_t images = fits + (too_many - fits) / 2;
		bool fit = tpu_buffer_rows(config, &in->shape, images, 1) +
				   tpu_buffer_rows(config, &out->shape, images, (int64_t)npl_dtype_size(out->dtype)) <=
			   rows;
		*(fit ? &fits : &too_many) = images;
	}
	return fits;
}

void tpu_say_too_large(const struct tpu_config *config, const struct npl_layer *layer, char *why, size_t n)
{
	int64_t width = tpu_row_bytes(config);
	int64_t in = tpu_buffer_rows(config, &layer->in[0]->shape, 1, 1) * width;
	int64_t out = tpu_buffer_rows(config, &layer->out->shape, 1, (int64_t)npl_dtype_size(layer->out->dtype)) *
		      width;
	snprintf(why, n,
		 "one image's input and output take %.1f + %.1f KiB of unified buffer in whole rows, it has %.1f KiB",
		 (double)in / 1024, (double)out / 1024, (double)config->buffer_bytes / 1024);
}

static bool no(char *why, size_t n, const char *reason)
{
	snprintf(why, n, "%s", reason);
	return false;
}

static bool is_byte(const struct npl_tensor *t)
{
	return t->dtype == NPL_U8 || t->dtype == NPL_I8;
}

static bool zero_in_range(const struct npl_tensor *t)
{
	return t->quant.zero_point >= npl_int8_min(t->dtype) && t->quant.zero_point <= npl_int8_max(t->dtype);
}

/* Types and zero points that the array and its activation unit can work with. Scales come with the values (values.c). */
static bool quantised(const struct npl_layer *layer, char *why, size_t n)
{
	const struct npl_tensor *x = layer->in[0], *w = layer->in[1], *y = layer->out;
	const struct npl_tensor *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	if (!is_byte(x) || !is_byte(w) || (!is_byte(y) && y->dtype != NPL_I32))
		return no(why, n, "the array multiplies 8-bit integers; results are 8 or 32 bits");
	if (!zero_in_range(x) || !zero_in_range(w) || (is_byte(y) && !zero_in_range(y)))
		return no(why, n, "a zero point lies outside its 8-bit type");
	if (bias && (bias->dtype != NPL_I32 || npl_tensor_count(bias) != w->shape.dim[0]))
		return no(why, n, "the bias is not one 32-bit integer per output channel");
	return true;
}

static bool shapes_fit(const struct npl_layer *layer)
{
	const struct npl_shape *x = &layer->in[0]->shape, *w = &layer->in[1]->shape, *y = &layer->out->shape;
	if (npl_shape_count(x) <= 0 || npl_shape_count(w) <= 0 || npl_shape_count(y) <= 0)
		return false;
	if (layer->op == NPL_OP_GEMM)
		return x->rank == 2 && w->rank == 2 && y->rank == 2 && x->dim[1] == w->dim[1] &&
		       y->dim[0] == x->dim[0] && y->dim[1] == w->dim[0];
	int64_t groups = layer->attrs->groups;
	if (!tpu_windows_ok(layer) || w->rank != x->rank || groups < 1)
		return false;
	struct npl_image kernel = npl_image_of(w);
	const struct npl_window *window = &layer->attrs->window;
	return kernel.size[0] == window->kernel[0] && kernel.size[1] == window->kernel[1] && w->dim[0] % groups == 0 &&
	       x->dim[1] == w->dim[1] * groups && y->dim[0] == x->dim[0] && y->dim[1] == w->dim[0];
}

static void plan_product(const struct tpu_config *config, const struct npl_layer *layer, struct tpu_plan *plan)
{
	const struct npl_shape *w = &layer->in[1]->shape;
	*plan = (struct tpu_plan){.is_conv = layer->op == NPL_OP_CONV,
				  .images = layer->in[0]->shape.dim[0],
				  .rows_per_image = 1,
				  .groups = 1,
				  .channels = w->dim[1],
				  .taps = 1,
				  .n = w->dim[0],
				  .raw = layer->out->dtype == NPL_I32};
	if (plan->is_conv) {
		struct tpu_windows windows = tpu_windows_of(layer);
		plan->rows_per_image = windows.out.size[0] * windows.out.size[1];
		plan->groups = layer->attrs->groups;
		plan->taps = windows.window->kernel[0] * windows.window->kernel[1];
		plan->n /= plan->groups;
	}
	int64_t taps_per_pass = least(plan->taps, config->rows / plan->channels);
	plan->k = plan->channels * plan->taps;
	plan->segment = plan->channels * (taps_per_pass ? taps_per_pass : 1);
	plan->k_tiles = plan->k / plan->segment * div_up(plan->segment, config->rows) +
			div_up(plan->k % plan->segment, config->rows);
	plan->n_blocks = div_up(plan->n, config->columns);
}

bool tpu_plan_layer(const struct tpu_config *config, const struct npl_layer *layer, struct tpu_plan *plan, char *why,
		    size_t n)
{
	if (layer->n_in < 2 || !layer->in[0] || !layer->in[1])
		return no(why, n, "the layer has no weights");
	if (!shapes_fit(layer))
		return no(why, n,
			  "the array takes Conv of one or two dimensions and Gemm of rank 2, none of them empty");
	if (!quantised(layer, why, n))
		return false;
	plan_product(config, layer, plan);
	plan->images_at_once = tpu_images_at_once(config, layer);
	if (plan->images_at_once == 0) {
		tpu_say_too_large(config, layer, why, n);
		return false;
	}
	int64_t tiles_held = config->weight_bytes / (config->rows * config->columns);
	if (plan->n_blocks * plan->groups > tiles_held / plan->k_tiles)
		return no(why, n, "the weights in whole tiles do not fit in weight memory");
	return true;
}

/* Values of K in tile number k_tile: each segment is cut on its own. */
static int64_t k_in_tile(const struct tpu_config *config, const struct tpu_plan *plan, int64_t k_tile)
{
	int64_t per_segment = div_up(plan->segment, config->rows), segment = k_tile / per_segment;
	int64_t length = least(plan->segment, plan->k - segment * plan->segment);
	return least(config->rows, length - k_tile % per_segment * config->rows);
}

/* Counts up; true, and back at 0, after the last. */
static bool wraps(int64_t *index, int64_t count)
{
	if (++*index < count)
		return false;
	*index = 0;
	return true;
}

bool tpu_next_tile(const struct tpu_config *config, const struct tpu_plan *plan, int64_t images, struct tpu_tile *tile)
{
	int64_t rows = images * plan->rows_per_image, row_blocks = div_up(rows, config->accumulator_rows / 2);
	if (rows == 0)
		return false;
	if (tile->group < 0)
		*tile = (struct tpu_tile){.group = 0};
	else if (wraps(&tile->k_tile, plan->k_tiles) && wraps(&tile->row_block, row_blocks) &&
		 wraps(&tile->n_block, plan->n_blocks))
		tile->group++;
	if (tile->group >= plan->groups)
		return false;
	/* Row blocks as equal as can be: two of 1,100 rows hide the weights of two tiles better than 2,048 and 152. */
	tile->rows = rows / row_blocks + (tile->row_block < rows % row_blocks);
	tile->k_used = k_in_tile(config, plan, tile->k_tile);
	tile->n_used = least(config->columns, plan->n - tile->n_block * config->columns);
	tile->fetch = plan->k_tiles > 1 || tile->row_block == 0;
	tile->first = tile->k_tile == 0;
	tile->last = tile->k_tile == plan->k_tiles - 1;
	return true;
}
