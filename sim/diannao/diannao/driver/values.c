/* SPDX-License-Identifier: MIT
 *
 * Computes the values of a layer. Sums do not depend on the order of additions (nfu.c), so they are computed as a
 * matrix product over gathered windows and not row by row of NBin. Threads share outputs and positions; their counters
 * are added up. */
#include <stdlib.h>

#include "core/base/arith.h"
#include "core/base/parallel.h"
#include "core/q16/q16.h"
#include "driver_impl.h"
#include "sim/diannao/diannao/nfu.h"

/* Limits of the work on values: the outputs whose weights are packed at a time, by all threads together and at least by
 * one thread (with fewer, gathering the windows would be a large part of the time); the positions of a matrix product;
 * and the values that are gathered at a time, about as many as stay in the second-level cache. */
#define MAX_OUTPUTS     256
#define MIN_OUTPUTS     32
#define MAX_POSITIONS   128
#define GATHERED_VALUES 131072

/* With so few multiply-accumulates, or values of pooled windows, one thread is done before another has woken up. */
#define ALONE 262144

static int16_t nfu3_result(const struct dn_layer *layer, int64_t value, struct dn_counters *counters)
{
	return dn_nfu3_result(layer->activates ? &layer->function : NULL, layer->result_shift, value, counters);
}

/* One thread's matrix products. */
struct sums {
	const struct dn_config *config;
	const struct dn_layer *layer;
	int64_t k, stride; /* k: values of a window; stride: from one window to the next in `gathered`, even */
	int64_t *offset;   /* the distance of each value of a window from the window's first value, inside the input */
	int16_t *gathered; /* (positions, stride) */
	int64_t *sum;      /* (positions, outputs) */
	struct npl_q16_weights weights;
	int64_t block;                     /* positions per product */
	int64_t offset_out[MAX_POSITIONS]; /* the offset of each position in an output map, in elements */
	struct dn_counters counters;
	struct npl_err err; /* the error of the first task that failed */
};

static void sums_free(struct sums *s)
{
	free(s->offset);
	free(s->gathered);
	free(s->sum);
	npl_q16_weights_free(&s->weights);
}

static int sums_alloc(struct sums *s, struct npl_err *err)
{
	const struct dn_layer *layer = s->layer;
	s->k = layer->ni * dn_taps(layer);
	s->stride = (s->k + 1) / 2 * 2;
	s->block = s->k ? GATHERED_VALUES / s->k : MAX_POSITIONS;
	s->block = s->block < 4 ? 4 : s->block > MAX_POSITIONS ? MAX_POSITIONS : s->block;
	s->offset = calloc((size_t)s->k + 1, sizeof *s->offset);
	s->gathered = calloc((size_t)s->block * (size_t)(s->stride + 1), sizeof *s->gathered);
	s->sum = calloc((size_t)s->block * MAX_OUTPUTS, sizeof *s->sum);
	if (!s->offset || !s->gathered || !s->sum)
		return npl_fail(err, NPL_ENOMEM, "out of memory for windows of %lld values", (long long)s->k);
	int64_t *offset = s->offset;
	for (int64_t c = 0; c < layer->ni; c++)
		for (int64_t ky = 0; ky < layer->window.kernel[0]; ky++)
			for (int64_t kx = 0; kx < layer->window.kernel[1]; kx++)
				*offset++ = c * layer->input_layout.map +
					    ky * layer->window.dilation[0] * layer->input_layout.y +
					    kx * layer->window.dilation[1] * layer->input_layout.x;
	return 0;
}

/* Gathers a window that reaches into the padding, which is zero. x is the group's first map. */
static void gather_at_border(const struct dn_layer *layer, const int16_t *x, int64_t y0, int64_t x0, int16_t *to)
{
	for (int64_t c = 0; c < layer->ni; c++)
		for (int64_t ky = 0; ky < layer->window.kernel[0]; ky++)
			for (int64_t kx = 0; kx < layer->window.kernel[1]; kx++) {
				int64_t iy = y0 + ky * layer->window.dilation[0],
					ix = x0 + kx * layer->window.dilation[1];
				bool inside = iy >= 0 && iy < layer->in[0] && ix >= 0 && ix < layer->in[1];
				*to++ = inside ? x[c * layer->input_layout.map + iy * layer->input_layout.y +
						   ix * layer->input_layout.x]
					       : 0;
			}
}

static void gather(struct sums *s, const int16_t *x, int64_t first, int64_t count)
{
	const struct dn_layer *layer = s->layer;
	const struct npl_window *window = &layer->window;
	int64_t last_y = (window->kernel[0] - 1) * window->dilation[0],
		last_x = (window->kernel[1] - 1) * window->dilation[1];
	for (int64_t p = 0; p < count; p++) {
		int64_t oy = (first + p) / layer->out[1], ox = (first + p) % layer->out[1];
		int64_t y0 = oy * window->stride[0] - window->pad_begin[0],
			x0 = ox * window->stride[1] - window->pad_begin[1];
		int16_t *to = s->gathered + p * s->stride;
		s->offset_out[p] = oy * layer->output_layout.y + ox * layer->output_layout.x;
		if (y0 < 0 || x0 < 0 || y0 + last_y >= layer->in[0] || x0 + last_x >= layer->in[1]) {
			gather_at_border(layer, x, y0, x0, to);
			continue;
		}
		const int16_t *from = x + y0 * layer->input_layout.y + x0 * layer->input_layout.x;
		for (int64_t i = 0; i < s->k; i++)
			to[i] = from[s->offset[i]];
	}
}

/* Turns the sums of the positions just gathered, for the weights' outputs, into output values. `to` is the place of the
 * first output map in out; bias is the first output's. */
static void put_sums(struct sums *s, int64_t count, const int32_t *bias, struct npl_tensor *out, int64_t to)
{
	const struct dn_layer *layer = s->layer;
	struct dn_counters *counters = &s->counters;
	for (int64_t j = 0; j < s->weights.n; j++) {
		int64_t start = bias ? bias[j] : 0; /* 20 fraction bits, as full products have */
		if (s->config->product == NPL_Q16_ROUNDED)
			start = dn_rescale(start, NPL_Q16_FRACTION_BITS);
		for (int64_t p = 0; p < count; p++) {
			int64_t exact = s->sum[p * s->weights.n + j] + start;
			int64_t sum = dn_wrap(exact, s->config->sum_bits);
			int64_t index = to + j * layer->output_layout.map + s->offset_out[p];
			counters->sum_wraps += sum != exact;
			if (layer->raw)
				((int32_t *)out->data)[index] = (int32_t)sum;
			else
				((int16_t *)out->data)[index] = nfu3_result(layer, dn_rescale(sum, layer->shift),
									    counters);
		}
	}
}

/* Outputs m to m + outputs - 1 of a group, at positions first..end-1 of each image. */
struct part {
	int64_t m, outputs, first, end;
	const int16_t *w; /* their kernels */
};

static int sum_part(struct sums *s, const struct npl_layer *model_layer, const struct part *part)
{
	const struct dn_layer *layer = s->layer;
	const int16_t *x = model_layer->in[0]->data;
	const int32_t *bias = layer->bias ? (const int32_t *)model_layer->in[2]->data + part->m : NULL;
	const int64_t group = part->m / layer->no;
	if (npl_q16_pack(&s->weights, s->config->product, part->outputs, s->k, part->w, &s->err))
		return s->err.code;
	for (int64_t image = 0; image < layer->images; image++)
		for (int64_t index = part->first; index < part->end; index += s->block) {
			int64_t count = part->end - index < s->block ? part->end - index : s->block;
			gather(s, x + image * layer->input_layout.image + group * layer->ni * layer->input_layout.map,
			       index, count);
			s->counters.product_saturations += npl_q16_gemm(&s->weights, count, s->gathered, s->stride,
									s->sum, 0);
			put_sums(s, count, bias, model_layer->out,
				 image * layer->output_layout.image + part->m * layer->output_layout.map);
		}
	return 0;
}

/* A layer cut into parts: for the kernel of each position, or the one kernel of all, blocks of a group's outputs times
 * ranges of positions. */
struct parts {
	const struct npl_layer *model_layer;
	const struct dn_layer *layer;
	struct sums *sums;                /* one for each worker */
	int64_t kernels, outputs, blocks; /* outputs of a block; blocks of a group */
	int64_t ranges;                   /* 1 where each position has a kernel of its own */
};

static void run_part(void *context, int64_t i, int worker)
{
	const struct parts *p = context;
	const struct dn_layer *layer = p->layer;
	struct sums *s = &p->sums[worker];
	const int64_t range = i % p->ranges, block = i / p->ranges % p->blocks, index = i / p->ranges / p->blocks;
	const int64_t group = index % layer->groups, kernel = index / layer->groups, positions = dn_positions(layer);
	const int64_t outputs_left = layer->no - block * p->outputs;
	struct part part = {.m = group * layer->no + block * p->outputs,
			    .outputs = outputs_left < p->outputs ? outputs_left : p->outputs,
			    .first = layer->private_kernels ? kernel : positions * range / p->ranges,
			    .end = layer->private_kernels ? kernel + 1 : positions * (range + 1) / p->ranges};
	part.w = (const int16_t *)p->model_layer->in[1]->data + (kernel * layer->groups * layer->no + part.m) * s->k;
	if (!s->err.code)
		sum_part(s, p->model_layer, &part);
}

/* Chooses blocks small enough that all threads' packed weights take no more memory than one thread's, and ranges of
 * positions where there would be too few blocks to keep the threads busy. */
static void choose_parts(struct parts *p, int workers)
{
	enum { MIN_POSITIONS = 128 }; /* fewer would not be worth packing the weights once more */
	const int64_t positions = dn_positions(p->layer), round = MIN_OUTPUTS;
	p->kernels = p->layer->private_kernels ? positions : 1;
	p->outputs = (MAX_OUTPUTS / workers + round - 1) / round * round;
	p->outputs = p->outputs < MIN_OUTPUTS ? MIN_OUTPUTS : p->outputs;
	p->blocks = npl_div_up_i64(p->layer->no, p->outputs);
	const int64_t parts = p->kernels * p->layer->groups * p->blocks, wanted_parts = 2 * (int64_t)workers;
	const int64_t max_ranges = positions * p->layer->images / MIN_POSITIONS;
	p->ranges = workers == 1 || p->layer->private_kernels || !parts ? 1 : wanted_parts / parts;
	p->ranges = p->ranges > max_ranges ? max_ranges : p->ranges;
	p->ranges = p->ranges > positions ? positions : p->ranges;
	p->ranges = p->ranges < 1 ? 1 : p->ranges;
}

static int sum_values(const struct dn_config *config, const struct dn_layer *layer, const struct npl_layer *model_layer,
		      struct dn_counters *counters, struct npl_err *err)
{
	const double macs = (double)npl_tensor_count(model_layer->out) * (double)(layer->ni * dn_taps(layer));
	const int workers = macs < ALONE ? 1 : npl_parallel_workers();
	struct parts parts = {
		.model_layer = model_layer, .layer = layer, .sums = calloc((size_t)workers, sizeof *parts.sums)};
	int rc = parts.sums ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for %d threads", workers);
	for (int i = 0; i < workers && !rc; i++) {
		parts.sums[i] = (struct sums){.config = config, .layer = layer};
		rc = sums_alloc(&parts.sums[i], err);
	}
	if (!rc) {
		choose_parts(&parts, workers);
		npl_parallel(workers, parts.kernels * layer->groups * parts.blocks * parts.ranges, run_part, &parts);
	}
	for (int i = 0; i < workers && parts.sums; i++) {
		struct sums *s = &parts.sums[i];
		dn_add_value_counters(&s->counters, counters);
		if (s->err.code && !rc)
			rc = npl_fail_as(err, &s->err);
		sums_free(s);
	}
	free(parts.sums);
	return rc;
}

/* Returns how many positions of the window along d are within the input and its padding: an average that counts the
 * padding divides by these. With ceil_mode the last window may reach further. */
static int64_t taps_in_padding(const struct dn_layer *layer, int d, int64_t start)
{
	int64_t count = 0;
	for (int64_t k = 0; k < layer->window.kernel[d]; k++)
		count += start + k * layer->window.dilation[d] < layer->in[d] + layer->window.pad_end[d];
	return count;
}

/* Returns one pooled value at the output's scale. y0, x0: where the window starts, which may be in the padding. */
static int64_t pool_window(const struct dn_config *config, const struct dn_layer *layer, const int16_t *x, int64_t y0,
			   int64_t x0, struct dn_counters *counters)
{
	const struct npl_window *window = &layer->window;
	int64_t sum = 0, count = 0;
	int16_t maximum = INT16_MIN;
	for (int64_t ky = 0; ky < window->kernel[0]; ky++) {
		int64_t iy = y0 + ky * window->dilation[0];
		for (int64_t kx = 0; kx < window->kernel[1] && iy >= 0 && iy < layer->in[0]; kx++) {
			int64_t ix = x0 + kx * window->dilation[1];
			if (ix < 0 || ix >= layer->in[1])
				continue;
			int16_t v = x[iy * layer->input_layout.y + ix * layer->input_layout.x];
			maximum = v > maximum ? v : maximum;
			sum += v;
			count++;
		}
	}
	if (layer->kind == DN_MAX)
		return dn_rescale(maximum, layer->shift);
	if (window->count_include_pad)
		count = taps_in_padding(layer, 0, y0) * taps_in_padding(layer, 1, x0);
	int64_t wrapped = dn_wrap(sum, config->sum_bits);
	counters->sum_wraps += wrapped != sum;
	return count ? dn_average(wrapped, count, layer->shift) : 0;
}

struct planes {
	const struct dn_config *config;
	const struct dn_layer *layer;
	const struct npl_layer *model_layer;
	struct dn_counters *counters; /* one for each worker */
};

static void pool_plane(void *context, int64_t plane, int worker)
{
	const struct planes *planes = context;
	const struct dn_layer *layer = planes->layer;
	struct dn_counters *counters = &planes->counters[worker];
	const int64_t image = plane / layer->ni, map = plane % layer->ni;
	const int16_t *x = (const int16_t *)planes->model_layer->in[0]->data + image * layer->input_layout.image +
			   map * layer->input_layout.map;
	int16_t *to = (int16_t *)planes->model_layer->out->data + image * layer->output_layout.image +
		      map * layer->output_layout.map;
	for (int64_t p = 0; p < dn_positions(layer); p++) {
		const int64_t oy = p / layer->out[1], ox = p % layer->out[1];
		const int64_t value = pool_window(planes->config, layer, x,
						  oy * layer->window.stride[0] - layer->window.pad_begin[0],
						  ox * layer->window.stride[1] - layer->window.pad_begin[1], counters);
		to[oy * layer->output_layout.y + ox * layer->output_layout.x] = nfu3_result(layer, value, counters);
	}
}

static int pool_values(const struct dn_config *config, const struct dn_layer *layer,
		       const struct npl_layer *model_layer, struct dn_counters *counters, struct npl_err *err)
{
	const int64_t taps = layer->images * layer->ni * dn_positions(layer) * dn_taps(layer);
	const int workers = taps < ALONE ? 1 : npl_parallel_workers();
	struct planes planes = {config, layer, model_layer, calloc((size_t)workers, sizeof *counters)};
	if (!planes.counters)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d threads", workers);
	npl_parallel(workers, layer->images * layer->ni, pool_plane, &planes);
	for (int i = 0; i < workers; i++)
		dn_add_value_counters(&planes.counters[i], counters);
	free(planes.counters);
	return 0;
}

int dn_layer_values(const struct dn_config *config, const struct dn_layer *layer, const struct npl_layer *model_layer,
		    struct dn_counters *counters, struct npl_err *err)
{
	return layer->kind == DN_SUM ? sum_values(config, layer, model_layer, counters, err)
				     : pool_values(config, layer, model_layer, counters, err);
}
