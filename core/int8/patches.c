/* SPDX-License-Identifier: MIT
 *
 * Convolution as products of weights (filters x K) and pixels (K x pixels), for any kernel of npl_int8_gemm: a 1x1
 * kernel of stride 1 multiplies the image as it is stored, others gather the pixels of a block first. Wrapping addition
 * is associative, so the order of K only matters if additions that wrap are counted: then it is the machine's (taps,
 * then channels), else the model's. */
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "layer_impl.h"

#include "core/base/arith.h"

#define GATHERED_BYTES 524288 /* bytes of a block, a part of the second-level cache */
#define ACC_ELEMENTS   262144 /* sums of a block: 1 MiB */
#define MIN_PIXELS     192    /* enough that packing the weights again takes a small part of the time */
#define ROUND_PIXELS   96     /* whole panels of every kernel */

/* The part of a row that one column of the kernel reads: output columns from low to before high read input column ow *
 * stride + shift, the others are outside the image. */
struct tap_columns {
	int64_t low, high, shift;
};

struct patches {
	bool direct;      /* the pixels are the input as it is stored */
	bool same_rows;   /* stride 1, and rows of outputs are as long as those of the input */
	bool taps_first;  /* K runs over taps, then channels; else over channels, then taps as in the model */
	size_t reordered; /* taps_first: offset in memory of the weights in that order */
	struct tap_columns *columns; /* one for each column of the kernel; none if direct */
};

bool npl_int8_is_direct(const struct npl_int8_job *job)
{
	const struct npl_window *w = &job->layer->attrs->conv.window;
	bool direct = job->taps == 1;
	for (int d = 0; d < NPL_SPATIAL; d++)
		direct = direct && w->stride[d] == 1 && w->pad_begin[d] == 0 &&
			 job->in_image.size[d] == job->out_image.size[d];
	return direct;
}

/* Reorders the weights of every filter from (channels, taps) to (taps, channels). */
static void order_weights(struct npl_int8_job *job)
{
	const struct patches *patches = job->method_state;
	const uint8_t *from = job->layer->in[1]->data;
	int64_t filters = patches->taps_first ? job->filters * job->groups : 0;
	uint8_t *to = job->base + patches->reordered;
	for (int64_t m = 0; m < filters; m++, from += job->k)
		for (int64_t t = 0; t < job->taps; t++)
			for (int64_t c = 0; c < job->channels; c++)
				*to++ = from[c * job->taps + t];
}

/* Cuts the layer into blocks of pixels, and of filters too if there are fewer blocks of pixels than workers. */
static void choose_blocks(struct npl_int8_job *job, const struct patches *patches)
{
	int64_t pixels = ACC_ELEMENTS / job->filters;
	if (!patches->direct)
		pixels = npl_clamp_i64(GATHERED_BYTES / job->k, 0, pixels);
	pixels = npl_max_i64(npl_round_up_i64(pixels, ROUND_PIXELS), MIN_PIXELS);
	int64_t products = job->images * job->groups, least_tasks = job->n_workers > 1 ? 2 * job->n_workers : 1;
	int64_t filters = job->filters, blocks = npl_div_up_i64(job->pixels, pixels);
	while (products * blocks * npl_div_up_i64(job->filters, filters) < least_tasks && filters > 16)
		filters = (filters + 15) / 16 * 8;
	job->pixels_at_once = npl_min_i64(npl_max_i64(pixels, 1), job->pixels);
	job->filters_at_once = filters;
	job->acc_elements = job->scale ? job->pixels_at_once * filters : 0;
	job->gathered_bytes = patches->direct ? 0 : job->pixels_at_once * job->k;
	job->product_bytes = npl_int8_workspace(filters, job->pixels_at_once, job->k, job->order.k_block);
}

static int find_columns(const struct npl_int8_job *job, struct patches *patches, struct npl_err *err)
{
	const struct npl_window *w = &job->layer->attrs->conv.window;
	patches->columns = calloc((size_t)w->kernel[1] + 1, sizeof *patches->columns);
	if (!patches->columns)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld columns", (long long)w->kernel[1]);
	patches->same_rows = w->stride[0] == 1 && w->stride[1] == 1 && job->in_image.size[1] == job->out_image.size[1];
	for (int64_t kw = 0; kw < w->kernel[1]; kw++) {
		struct tap_columns *c = &patches->columns[kw];
		npl_window_range(w, 1, kw, job->in_image.size[1], job->out_image.size[1], &c->low, &c->high);
		c->shift = kw * w->dilation[1] - w->pad_begin[1];
	}
	return 0;
}

static int patches_open(struct npl_int8_job *job, struct npl_err *err)
{
	struct patches *patches = job->method_state = calloc(1, sizeof *patches);
	if (!patches)
		return npl_no_memory(err);
	patches->direct = npl_int8_is_direct(job);
	patches->taps_first = job->taps > 1 && job->order.k_block;
	choose_blocks(job, patches);
	if (patches->taps_first)
		patches->reordered = npl_int8_claim(job, job->filters * job->groups * job->k);
	return patches->direct ? 0 : find_columns(job, patches, err);
}

static void patches_close(struct npl_int8_job *job)
{
	struct patches *patches = job->method_state;
	if (patches)
		free(patches->columns);
	free(patches);
}

static int patches_steps(const struct npl_int8_job *job)
{
	(void)job;
	return 1;
}

static int64_t patches_tasks(const struct npl_int8_job *job, int step)
{
	(void)step;
	return job->images * job->groups * job->filter_blocks * job->pixel_blocks;
}

/* What the functions that gather pixels share. */
struct gathering {
	const struct npl_int8_job *job;
	const struct npl_window *window;
	int64_t first, count; /* pixels to gather */
	uint8_t zero;
};

/* Rows of small images have a few bytes: calling memcpy for each would take longer than copying. */
#define SHORT_BYTES 16

static inline void copy_bytes(uint8_t *to, const uint8_t *from, int64_t n)
{
	if (n > SHORT_BYTES) {
		memcpy(to, from, (size_t)n);
	} else if (n >= 8) { /* the second eight overlap the first */
		memcpy(to, from, 8);
		memcpy(to + n - 8, from + n - 8, 8);
	} else if (n >= 4) {
		memcpy(to, from, 4);
		memcpy(to + n - 4, from + n - 4, 4);
	} else if (n > 0) {
		to[0] = from[0];
		to[n / 2] = from[n / 2];
		to[n - 1] = from[n - 1];
	}
}

static inline void fill_bytes(uint8_t *to, uint8_t value, int64_t n)
{
	const uint64_t pattern = value * UINT64_C(0x0101010101010101);
	if (n > SHORT_BYTES) {
		memset(to, value, (size_t)n);
	} else if (n >= 8) {
		memcpy(to, &pattern, 8);
		memcpy(to + n - 8, &pattern, 8);
	} else if (n >= 4) {
		memcpy(to, &pattern, 4);
		memcpy(to + n - 4, &pattern, 4);
	} else if (n > 0) {
		to[0] = to[n / 2] = to[n - 1] = value;
	}
}

/* Gathers output columns ow0 <= ow < ow1 of one row for one tap; input columns outside the image become the zero
 * point. */
static inline void gather_span(const struct gathering *g, const uint8_t *line, const struct tap_columns *columns,
			       int64_t ow0, int64_t ow1, uint8_t *out)
{
	const int64_t stride = g->window->stride[1], low = npl_clamp_i64(columns->low, ow0, ow1),
		      high = npl_clamp_i64(columns->high, low, ow1);
	fill_bytes(out, g->zero, low - ow0);
	if (stride == 1 && high > low)
		copy_bytes(out + low - ow0, line + low + columns->shift, high - low);
	else
		for (int64_t ow = low; ow < high; ow++)
			out[ow - ow0] = line[ow * stride + columns->shift];
	fill_bytes(out + high - ow0, g->zero, ow1 - high);
}

static void clear_columns(uint8_t *rows, int64_t width, int64_t n, int64_t from, int64_t to, uint8_t zero)
{
	for (int64_t column = from; column < to; column++)
		for (int64_t r = 0; r < n; r++)
			rows[r * width + column] = zero;
}

/* Gathers whole rows of outputs of an image whose width a window of stride 1 keeps: for one tap they are the plane from
 * some byte on, except the pixels outside the image. */
static void gather_rows(const struct gathering *g, const uint8_t *plane, int64_t ih, int64_t rows,
			const struct tap_columns *columns, uint8_t *out)
{
	const int64_t width = g->job->out_image.size[1];
	int64_t first = npl_clamp_i64(-ih, 0, rows), end = npl_clamp_i64(g->job->in_image.size[0] - ih, first, rows);
	if (columns->low >= columns->high)
		end = first;
	fill_bytes(out, g->zero, first * width);
	fill_bytes(out + end * width, g->zero, (rows - end) * width);
	if (first == end)
		return;
	memcpy(out + first * width + columns->low, plane + (ih + first) * width + columns->low + columns->shift,
	       (size_t)((end - first - 1) * width + columns->high - columns->low));
	clear_columns(out + first * width, width, end - first, 0, columns->low, g->zero);
	clear_columns(out + first * width, width, end - first, columns->high, width, g->zero);
}

/* Gathers one value of K for all pixels. */
static void gather_tap(const struct gathering *g, const uint8_t *plane, int64_t kh, int64_t kw, uint8_t *out)
{
	const struct npl_window *w = g->window;
	const struct patches *patches = g->job->method_state;
	int64_t width = g->job->out_image.size[1], end = g->first + g->count, oh = g->first / width,
		ow = g->first % width;
	if (patches->same_rows && !ow && g->count % width == 0) {
		gather_rows(g, plane, oh + kh * w->dilation[0] - w->pad_begin[0], g->count / width,
			    &patches->columns[kw], out);
		return;
	}
	for (int64_t pixel = g->first; pixel < end; oh++, ow = 0) {
		int64_t span = npl_clamp_i64(width - ow, 0, end - pixel);
		int64_t ih = oh * w->stride[0] + kh * w->dilation[0] - w->pad_begin[0];
		if (ih < 0 || ih >= g->job->in_image.size[0])
			fill_bytes(out, g->zero, span);
		else
			gather_span(g, plane + ih * g->job->in_image.size[1], &patches->columns[kw], ow, ow + span,
				    out);
		pixel += span;
		out += span;
	}
}

static void gather(const struct npl_int8_job *job, const uint8_t *planes, int64_t first, int64_t count, uint8_t *out)
{
	const struct patches *patches = job->method_state;
	const struct gathering g = {.job = job,
				    .window = &job->layer->attrs->conv.window,
				    .first = first,
				    .count = count,
				    .zero = (uint8_t)job->layer->in[0]->quant.zero_point};
	int64_t kernel_width = g.window->kernel[1], plane = job->in_image.size[0] * job->in_image.size[1];
	for (int64_t k = 0; k < job->k; k++, out += count) {
		int64_t channel = patches->taps_first ? k % job->channels : k / job->taps,
			tap = patches->taps_first ? k / job->channels : k % job->taps;
		gather_tap(&g, planes + channel * plane, tap / kernel_width, tap % kernel_width, out);
	}
}

static int patches_run(struct npl_int8_job *job, int step, int64_t task, struct npl_int8_worker *worker,
		       struct npl_err *err)
{
	(void)step;
	const struct patches *patches = job->method_state;
	const struct npl_tensor *x = job->layer->in[0], *w = job->layer->in[1];
	int64_t first = task % job->pixel_blocks * job->pixels_at_once,
		filter = task / job->pixel_blocks % job->filter_blocks * job->filters_at_once,
		unit = task / job->pixel_blocks / job->filter_blocks; /* number of the image and group */
	int64_t count = npl_clamp_i64(job->pixels - first, 0, job->pixels_at_once);
	int64_t plane = job->in_image.size[0] * job->in_image.size[1];
	const uint8_t *planes = (const uint8_t *)x->data + unit * job->channels * plane;
	const uint8_t *weights = patches->taps_first ? job->base + patches->reordered : w->data;
	int64_t channel = unit % job->groups * job->filters + filter;
	int64_t index = (unit * job->filters + filter) * job->pixels + first;
	if (!patches->direct)
		gather(job, planes, first, count, worker->gathered);
	struct npl_int8_product product = {
		.m = npl_clamp_i64(job->filters - filter, 0, job->filters_at_once),
		.n = count,
		.k = job->k,
		.a = npl_int8_matrix_of(w, weights + channel * job->k, job->k, 1),
		.b = patches->direct ? npl_int8_matrix_of(x, planes + first, 1, plane)
				     : npl_int8_matrix_of(x, worker->gathered, 1, count),
		.c = job->scale ? worker->acc : (int32_t *)job->out.data + index,
		.c_stride = job->scale ? count : job->pixels,
		.k_segment = job->order.k_segment,
		.k_block = job->order.k_block,
		.workspace = worker->product,
		.workspace_bytes = job->product_bytes,
	};
	int rc = npl_int8_gemm(&product, &worker->counts.overflows, err);
	for (int64_t i = 0; !rc && i < product.m; i++)
		npl_int8_finish_row(job, product.c + i * product.c_stride, count, channel + i, 0,
				    index + i * job->pixels, &worker->counts);
	return rc;
}

const struct npl_int8_method npl_int8_patches_method = {
	.open = patches_open,
	.place = order_weights,
	.close = patches_close,
	.steps = patches_steps,
	.tasks = patches_tasks,
	.run = patches_run,
};
