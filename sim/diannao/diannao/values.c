/* SPDX-License-Identifier: MIT
 *
 * The values of a layer. Sums do not depend on the order of additions (nfu.c), so they are computed as a matrix
 * product over gathered windows rather than row by row of NBin. Threads share outputs and positions; what they count is added up. */
#include <stdlib.h>

#include "core/base/parallel.h"
#include "core/q16/q16.h"
#include "dn.h"

#define MOST_OUTPUTS    256    /* per packing of weights, by all threads together */
#define LEAST_OUTPUTS   32     /* by one: of fewer gathering the windows would be a large part */
#define MOST_POSITIONS  128    /* per matrix product */
#define GATHERED_VALUES 131072 /* about this many, so that they stay in the second-level cache */

/* So few multiply-accumulates, or values of pooled windows, are done before another thread has woken up. */
#define ALONE 262144

/* One thread's matrix products. */
struct sums {
	const struct dn_config *config;
	const struct dn_work *work;
	int64_t k, stride; /* values of a window; of its place in `gathered`, even */
	int64_t *offset;   /* of each value of a window from its first, inside the input */
	int16_t *gathered; /* (positions, stride) */
	int64_t *sum;      /* (positions, outputs) */
	struct npl_q16_weights weights;
	int64_t block;                 /* positions per product */
	int64_t place[MOST_POSITIONS]; /* of each position in an output map, in elements */
	struct dn_counters counters;
	struct npl_err err; /* of the first task that failed */
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
	const struct dn_work *work = s->work;
	s->k = work->ni * dn_taps(work);
	s->stride = (s->k + 1) / 2 * 2;
	s->block = s->k ? GATHERED_VALUES / s->k : MOST_POSITIONS;
	s->block = s->block < 4 ? 4 : s->block > MOST_POSITIONS ? MOST_POSITIONS : s->block;
	s->offset = calloc((size_t)s->k + 1, sizeof *s->offset);
	s->gathered = calloc((size_t)s->block * (size_t)(s->stride + 1), sizeof *s->gathered);
	s->sum = calloc((size_t)s->block * MOST_OUTPUTS, sizeof *s->sum);
	if (!s->offset || !s->gathered || !s->sum)
		return npl_fail(err, NPL_ENOMEM, "out of memory for windows of %lld values", (long long)s->k);
	int64_t *offset = s->offset;
	for (int64_t c = 0; c < work->ni; c++)
		for (int64_t ky = 0; ky < work->window.kernel[0]; ky++)
			for (int64_t kx = 0; kx < work->window.kernel[1]; kx++)
				*offset++ = c * work->from.map + ky * work->window.dilation[0] * work->from.y +
					    kx * work->window.dilation[1] * work->from.x;
	return 0;
}

/* A window that reaches into the padding, which is zero. x is the group's first map. */
static void gather_at_border(const struct dn_work *work, const int16_t *x, int64_t y0, int64_t x0, int16_t *to)
{
	for (int64_t c = 0; c < work->ni; c++)
		for (int64_t ky = 0; ky < work->window.kernel[0]; ky++)
			for (int64_t kx = 0; kx < work->window.kernel[1]; kx++) {
				int64_t iy = y0 + ky * work->window.dilation[0],
					ix = x0 + kx * work->window.dilation[1];
				bool inside = iy >= 0 && iy < work->in[0] && ix >= 0 && ix < work->in[1];
				*to++ = inside ? x[c * work->from.map + iy * work->from.y + ix * work->from.x] : 0;
			}
}

static void gather(struct sums *s, const int16_t *x, int64_t first, int64_t count)
{
	const struct dn_work *work = s->work;
	const struct npl_window *window = &work->window;
	int64_t last_y = (window->kernel[0] - 1) * window->dilation[0],
		last_x = (window->kernel[1] - 1) * window->dilation[1];
	for (int64_t p = 0; p < count; p++) {
		int64_t oy = (first + p) / work->out[1], ox = (first + p) % work->out[1];
		int64_t y0 = oy * window->stride[0] - window->pad_begin[0],
			x0 = ox * window->stride[1] - window->pad_begin[1];
		int16_t *to = s->gathered + p * s->stride;
		s->place[p] = oy * work->to.y + ox * work->to.x;
		if (y0 < 0 || x0 < 0 || y0 + last_y >= work->in[0] || x0 + last_x >= work->in[1]) {
			gather_at_border(work, x, y0, x0, to);
			continue;
		}
		const int16_t *from = x + y0 * work->from.y + x0 * work->from.x;
		for (int64_t i = 0; i < s->k; i++)
			to[i] = from[s->offset[i]];
	}
}

/* The sums of the positions just gathered, of the weights' outputs, become output values. `to` is the place of the
 * first output map in out; bias is the first output's. */
static void put_sums(struct sums *s, int64_t count, const int32_t *bias, struct npl_tensor *out, int64_t to)
{
	const struct dn_work *work = s->work;
	struct dn_counters *counters = &s->counters;
	for (int64_t j = 0; j < s->weights.n; j++) {
		int64_t start = bias ? bias[j] : 0; /* 20 fraction bits, as full products have */
		if (s->config->product == NPL_Q16_ROUNDED)
			start = dn_rescale(start, NPL_Q16_FRACTION_BITS);
		for (int64_t p = 0; p < count; p++) {
			int64_t exact = s->sum[p * s->weights.n + j] + start;
			int64_t sum = dn_wrap(exact, s->config->sum_bits);
			int64_t at = to + j * work->to.map + s->place[p];
			counters->sum_wraps += sum != exact;
			if (work->raw)
				((int32_t *)out->data)[at] = (int32_t)sum;
			else
				((int16_t *)out->data)[at] = dn_leave(work, dn_rescale(sum, work->shift), counters);
		}
	}
}

/* Outputs m to m + outputs - 1 of a group, at positions first..end-1 of each image. */
struct part {
	int64_t m, outputs, first, end;
	const int16_t *w; /* their kernels */
};

static int sum_part(struct sums *s, const struct npl_layer *layer, const struct part *part)
{
	const struct dn_work *work = s->work;
	const int16_t *x = layer->in[0]->data;
	const int32_t *bias = work->bias ? (const int32_t *)layer->in[2]->data + part->m : NULL;
	const int64_t group = part->m / work->no;
	if (npl_q16_pack(&s->weights, s->config->product, part->outputs, s->k, part->w, &s->err))
		return s->err.code;
	for (int64_t image = 0; image < work->images; image++)
		for (int64_t at = part->first; at < part->end; at += s->block) {
			int64_t count = part->end - at < s->block ? part->end - at : s->block;
			gather(s, x + image * work->from.image + group * work->ni * work->from.map, at, count);
			s->counters.product_saturations += npl_q16_gemm(&s->weights, count, s->gathered, s->stride,
									s->sum, 0);
			put_sums(s, count, bias, layer->out, image * work->to.image + part->m * work->to.map);
		}
	return 0;
}

/* A layer as parts: for each kernel of a position, or the one of all, blocks of a group's outputs times ranges of positions. */
struct parts {
	const struct npl_layer *layer;
	const struct dn_work *work;
	struct sums *sums;                /* of each worker */
	int64_t kernels, outputs, blocks; /* outputs of a block; blocks of a group */
	int64_t ranges;                   /* 1 where each position has its kernel */
};

static void run_part(void *context, int64_t i, int worker)
{
	const struct parts *p = context;
	const struct dn_work *work = p->work;
	struct sums *s = &p->sums[worker];
	const int64_t range = i % p->ranges, block = i / p->ranges % p->blocks, at = i / p->ranges / p->blocks;
	const int64_t group = at % work->groups, kernel = at / work->groups, positions = dn_positions(work);
	const int64_t left = work->no - block * p->outputs;
	struct part part = {.m = group * work->no + block * p->outputs,
			    .outputs = left < p->outputs ? left : p->outputs,
			    .first = work->private_kernels ? kernel : positions * range / p->ranges,
			    .end = work->private_kernels ? kernel + 1 : positions * (range + 1) / p->ranges};
	part.w = (const int16_t *)p->layer->in[1]->data + (kernel * work->groups * work->no + part.m) * s->k;
	if (!s->err.code)
		sum_part(s, p->layer, &part);
}

/* Blocks small enough that all threads' packed weights take no more memory than one thread's, and ranges of positions where there are
 * fewer blocks than would keep the threads busy. */
static void choose_parts(struct parts *p, int workers)
{
	enum { LEAST_POSITIONS = 128 }; /* fewer would not be worth packing the weights once more */
	const int64_t positions = dn_positions(p->work), round = LEAST_OUTPUTS;
	p->kernels = p->work->private_kernels ? positions : 1;
	p->outputs = (MOST_OUTPUTS / workers + round - 1) / round * round;
	p->outputs = p->outputs < LEAST_OUTPUTS ? LEAST_OUTPUTS : p->outputs;
	p->blocks = (p->work->no + p->outputs - 1) / p->outputs;
	const int64_t parts = p->kernels * p->work->groups * p->blocks, wanted = 2 * (int64_t)workers;
	const int64_t most = positions * p->work->images / LEAST_POSITIONS;
	p->ranges = workers == 1 || p->work->private_kernels || !parts ? 1 : wanted / parts;
	p->ranges = p->ranges > most ? most : p->ranges;
	p->ranges = p->ranges > positions ? positions : p->ranges;
	p->ranges = p->ranges < 1 ? 1 : p->ranges;
}

static void add_counters(struct dn_counters *to, const struct dn_counters *from)
{
	to->product_saturations += from->product_saturations;
	to->sum_wraps += from->sum_wraps;
	to->sum_saturations += from->sum_saturations;
	to->output_saturations += from->output_saturations;
}

static int sum_values(const struct dn_config *config, const struct dn_work *work, const struct npl_layer *layer,
		      struct dn_counters *counters, struct npl_err *err)
{
	const double macs = (double)npl_tensor_count(layer->out) * (double)(work->ni * dn_taps(work));
	const int workers = macs < ALONE ? 1 : npl_parallel_workers();
	struct parts parts = {.layer = layer, .work = work, .sums = calloc((size_t)workers, sizeof *parts.sums)};
	int rc = parts.sums ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for %d threads", workers);
	for (int i = 0; i < workers && !rc; i++) {
		parts.sums[i] = (struct sums){.config = config, .work = work};
		rc = sums_alloc(&parts.sums[i], err);
	}
	if (!rc) {
		choose_parts(&parts, workers);
		npl_parallel(workers, parts.kernels * work->groups * parts.blocks * parts.ranges, run_part, &parts);
	}
	for (int i = 0; i < workers && parts.sums; i++) {
		struct sums *s = &parts.sums[i];
		add_counters(counters, &s->counters);
		if (s->err.code && !rc)
			rc = npl_fail(err, s->err.code, "%s", s->err.msg);
		sums_free(s);
	}
	free(parts.sums);
	return rc;
}

/* Positions of the window along d that lie within the input and its padding: what an average that counts the padding
 * divides by. With ceil_mode the last window may reach further. */
static int64_t taps_in_padding(const struct dn_work *work, int d, int64_t start)
{
	int64_t count = 0;
	for (int64_t k = 0; k < work->window.kernel[d]; k++)
		count += start + k * work->window.dilation[d] < work->in[d] + work->window.pad_end[d];
	return count;
}

/* One pooled value at the output's scale. y0, x0: where the window starts, perhaps in the padding. */
static int64_t pool_window(const struct dn_config *config, const struct dn_work *work, const int16_t *x, int64_t y0,
			   int64_t x0, struct dn_counters *counters)
{
	const struct npl_window *window = &work->window;
	int64_t sum = 0, count = 0;
	int16_t most = INT16_MIN;
	for (int64_t ky = 0; ky < window->kernel[0]; ky++) {
		int64_t iy = y0 + ky * window->dilation[0];
		for (int64_t kx = 0; kx < window->kernel[1] && iy >= 0 && iy < work->in[0]; kx++) {
			int64_t ix = x0 + kx * window->dilation[1];
			if (ix < 0 || ix >= work->in[1])
				continue;
			int16_t v = x[iy * work->from.y + ix * work->from.x];
			most = v > most ? v : most;
			sum += v;
			count++;
		}
	}
	if (work->kind == DN_MAX)
		return dn_rescale(most, work->shift);
	if (window->count_include_pad)
		count = taps_in_padding(work, 0, y0) * taps_in_padding(work, 1, x0);
	int64_t held = dn_wrap(sum, config->sum_bits);
	counters->sum_wraps += held != sum;
	return count ? dn_average(held, count, work->shift) : 0;
}

struct planes {
	const struct dn_config *config;
	const struct dn_work *work;
	const struct npl_layer *layer;
	struct dn_counters *counters; /* of each worker */
};

static void pool_plane(void *context, int64_t plane, int worker)
{
	const struct planes *planes = context;
	const struct dn_work *work = planes->work;
	struct dn_counters *counters = &planes->counters[worker];
	const int64_t image = plane / work->ni, map = plane % work->ni;
	const int16_t *x = (const int16_t *)planes->layer->in[0]->data + image * work->from.image +
			   map * work->from.map;
	int16_t *to = (int16_t *)planes->layer->out->data + image * work->to.image + map * work->to.map;
	for (int64_t p = 0; p < dn_positions(work); p++) {
		const int64_t oy = p / work->out[1], ox = p % work->out[1];
		const int64_t value = pool_window(planes->config, work, x,
						  oy * work->window.stride[0] - work->window.pad_begin[0],
						  ox * work->window.stride[1] - work->window.pad_begin[1], counters);
		to[oy * work->to.y + ox * work->to.x] = dn_leave(work, value, counters);
	}
}

static int pool_values(const struct dn_config *config, const struct dn_work *work, const struct npl_layer *layer,
		       struct dn_counters *counters, struct npl_err *err)
{
	const int64_t all = work->images * work->ni * dn_positions(work) * dn_taps(work);
	const int workers = all < ALONE ? 1 : npl_parallel_workers();
	struct planes planes = {config, work, layer, calloc((size_t)workers, sizeof *counters)};
	if (!planes.counters)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d threads", workers);
	npl_parallel(workers, work->images * work->ni, pool_plane, &planes);
	for (int i = 0; i < workers; i++)
		add_counters(counters, &planes.counters[i]);
	free(planes.counters);
	return 0;
}

int dn_values(const struct dn_config *config, const struct dn_work *work, const struct npl_layer *layer,
	      struct dn_counters *counters, struct npl_err *err)
{
	return work->kind == DN_SUM ? sum_values(config, work, layer, counters, err)
				    : pool_values(config, work, layer, counters, err);
}
