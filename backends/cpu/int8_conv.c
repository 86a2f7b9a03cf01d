/* SPDX-License-Identifier: MIT
 *
 * Convolutions of a layer group in 8 bits on oneDNN (int8_conv.h). Its kernels compute 32-bit sums with channels last,
 * one strip of the result at a time so that they stay in the second-level cache; our kernels convert them to bytes.
 * oneDNN's own conversion adds the bias in float32, rounds with the zero point included and counts no saturations.
 *
 * The instructions are exact (checked by core/int8/onednn.h), but some of the library's kernels convert 32-bit results
 * through float32, which holds integers up to 2^24. Weights whose sums stay below that are safe with any kernel; for
 * others the kernel must be of the kind that a check has shown to be exact. */
#include "int8_conv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "core/int8/layer.h"

#define STRIP_BYTES (512 * 1024) /* bytes of a strip's sums, per thread */
#define FLOAT_EXACT (1 << 24)
#define BRGEMM      "brgconv" /* start of the names of kernels that do not convert through float32 */

struct cpu_int8_conv {
	struct cpu_dnn_op *op; /* computes the sums of a strip */
	struct npl_tensor x, sums;
	int threads;
	int64_t strips, pixels, filters; /* pixels of a strip */
	size_t x_bytes;                  /* bytes of a strip's input */
	int32_t *bias;                   /* biases with the part that the input's zero point makes */
	float *scale;
};

static int refuse(struct npl_err *err, const char *reason)
{
	return npl_fail(err, NPL_EDEVICE, "%s", reason);
}

static bool has_padding(const struct npl_window *w)
{
	for (int d = 0; d < NPL_SPATIAL; d++)
		if (w->pad_begin[d] || w->pad_end[d])
			return true;
	return false;
}

static bool is_direct(const struct npl_layer *layer)
{
	const struct npl_window *w = &layer->attrs->conv.window;
	return layer->attrs->conv.groups == 1 && w->kernel[0] * w->kernel[1] == 1 && w->stride[0] * w->stride[1] == 1 &&
	       !has_padding(w);
}

/* Returns the greatest magnitude of a sum of unsigned bytes times a filter's weights; *sum gets the sum of the
 * weights. */
static int64_t filter_sum_bound(const int8_t *w, int64_t n, int64_t *sum)
{
	int64_t positive = 0, negative = 0;
	for (int64_t i = 0; i < n; i++) {
		positive += w[i] > 0 ? w[i] : 0;
		negative += w[i] < 0 ? -w[i] : 0;
	}
	*sum = positive - negative;
	return 255 * (positive > negative ? positive : negative);
}

static int64_t largest_filter_sum(const struct npl_layer *layer)
{
	const struct npl_tensor *w = layer->in[1];
	const int64_t filters = w->shape.dim[0], n = npl_tensor_count(w) / filters;
	int64_t largest = 0, sum;
	for (int64_t m = 0; m < filters; m++) {
		int64_t bound = filter_sum_bound((const int8_t *)w->data + m * n, n, &sum);
		largest = bound > largest ? bound : largest;
	}
	return largest;
}

/* Returns the greatest magnitude of a sum with its bias. */
static int64_t largest_sum(const struct npl_layer *layer)
{
	const struct npl_tensor *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	int64_t largest_bias = 0;
	for (int64_t m = 0; bias && m < layer->in[1]->shape.dim[0]; m++) {
		int64_t magnitude = llabs((long long)((const int32_t *)bias->data)[m]);
		largest_bias = magnitude > largest_bias ? magnitude : largest_bias;
	}
	return largest_filter_sum(layer) + largest_bias;
}

/* Returns the largest divisor of n that is at most `limit`. */
static int64_t largest_divisor(int64_t n, int64_t limit)
{
	int64_t d = limit < n ? limit : n;
	while (d > 1 && n % d)
		d--;
	return d < 1 ? 1 : d;
}

/* Returns the pixels of a strip, a whole number of units: as many as fit in `max_pixels`, or `pixels_of_all` if strips
 * would be so short that they cost more than they save. */
static int64_t strip_pixels(int64_t pixels_of_all, int64_t unit, int64_t max_pixels)
{
	int64_t units = unit > 0 ? pixels_of_all / unit : 1,
		part = largest_divisor(units, unit > 0 ? max_pixels / unit : 1);
	int64_t pixels = unit > 1 || part * 4 >= max_pixels || part >= units ? part * unit : pixels_of_all;
	return pixels > 0 ? pixels : 1;
}

/* Cuts the result into strips of whole images, or of pixels for 1x1 kernels. */
static void cut_into_strips(struct cpu_int8_conv *conv, const struct npl_layer *layer, int threads)
{
	const struct npl_shape *x = &layer->in[0]->shape, *y = &layer->out->shape;
	const int64_t images = x->dim[0], filters = y->dim[1], pixels = npl_shape_count(y) / filters,
		      max_pixels = STRIP_BYTES * (int64_t)threads / (filters * (int64_t)sizeof(int32_t));
	const bool direct = is_direct(layer);
	conv->filters = filters;
	conv->x = *layer->in[0];
	conv->sums = (struct npl_tensor){.dtype = NPL_I32, .shape = *y};
	conv->x.owned = conv->sums.owned = false;
	conv->pixels = strip_pixels(pixels, direct ? 1 : pixels / images, max_pixels);
	conv->strips = pixels / conv->pixels;
	conv->x_bytes = (size_t)(npl_shape_count(x) / conv->strips);
	if (direct) {
		const int flat = x->rank == 3;
		conv->x.shape = flat ? npl_shape_of(3, 1, x->dim[1], conv->pixels)
				     : npl_shape_of(4, 1, x->dim[1], 1, conv->pixels);
		conv->sums.shape = flat ? npl_shape_of(3, 1, filters, conv->pixels)
					: npl_shape_of(4, 1, filters, 1, conv->pixels);
	} else {
		conv->x.shape.dim[0] = conv->sums.shape.dim[0] = images / conv->strips;
	}
}

/* Copies the bias, less the part of the input's zero point, and the scales. NPL_EDEVICE: scales that the integer
 * kernels refuse. */
static int take_constants(struct cpu_int8_conv *conv, const struct npl_layer *layer, struct npl_err *err)
{
	const struct npl_tensor *x = layer->in[0], *w = layer->in[1], *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	const int64_t n = npl_tensor_count(w) / conv->filters;
	conv->bias = calloc((size_t)conv->filters, sizeof *conv->bias);
	conv->scale = calloc((size_t)conv->filters, sizeof *conv->scale);
	if (!conv->bias || !conv->scale)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld scales", (long long)conv->filters);
	for (int64_t m = 0; m < conv->filters; m++) {
		const float w_scale = w->quant.channel_scale ? w->quant.channel_scale[m] : w->quant.scale;
		int64_t sum;
		filter_sum_bound((const int8_t *)w->data + m * n, n, &sum);
		conv->bias[m] = (int32_t)((bias ? ((const uint32_t *)bias->data)[m] : 0) -
					  (uint32_t)x->quant.zero_point * (uint32_t)sum);
		conv->scale[m] = npl_int8_scale(x->quant.scale, w_scale, layer->out->quant.scale);
		if (!isfinite(conv->scale[m]) || conv->scale[m] < 0 || w_scale < 0)
			return refuse(err, "its scales are no finite numbers");
	}
	return 0;
}

/* Says whether oneDNN computes sums of 75 million exactly, some of them odd: a convolution of the greatest bytes by the
 * greatest weights, with one byte less by 1. */
static bool check_large_sums(const struct cpu_dnn *dnn)
{
	enum { CHANNELS = 256, SIDE = 4, FILTERS = 16, K = CHANNELS * 9, PIXELS = SIDE * SIDE };
	struct operands {
		int8_t weights[FILTERS * K];
		uint8_t image[CHANNELS * PIXELS];
		int32_t sums[FILTERS * PIXELS];
	} *v = malloc(sizeof *v); /* too large for a small stack */
	if (!v)
		return false;
	const struct npl_attrs attrs = {.op = NPL_OP_CONV,
					.conv = {.groups = 1,
						 .window = {.rank = 2,
							    .kernel = {3, 3},
							    .stride = {1, 1},
							    .dilation = {1, 1},
							    .pad_begin = {1, 1},
							    .pad_end = {1, 1}}}};
	struct npl_tensor x = {.dtype = NPL_U8, .shape = npl_shape_of(4, 1, CHANNELS, SIDE, SIDE)},
			  w = {.dtype = NPL_I8, .shape = npl_shape_of(4, FILTERS, CHANNELS, 3, 3), .data = v->weights},
			  y = {.dtype = NPL_I32, .shape = npl_shape_of(4, 1, FILTERS, SIDE, SIDE)};
	const struct npl_layer layer = {.op = NPL_OP_CONV, .attrs = &attrs, .n_in = 2, .in = {&x, &w}, .out = &y};
	struct cpu_dnn_op *op;
	struct npl_err err = {0};
	memset(v->weights, 127, sizeof v->weights);
	memset(v->image, 255, sizeof v->image);
	/* One channel of pixel (1, 1), number 5 of the 4 x 4 image, is less by 1, so that exact sums over that pixel
	 * are less by 127. */
	v->image[5 * CHANNELS] = 254;
	bool exact = !cpu_dnn_prepare(dnn, &layer, CPU_LAST, CPU_LAST, NULL, &op, &err) &&
		     !cpu_dnn_run(op, v->image, NULL, v->sums, &err) &&
		     !strncmp(cpu_dnn_kernel(op), BRGEMM, strlen(BRGEMM));
	const int32_t full_sum = K * 255 * 127;
	for (int m = 0; m < FILTERS && exact; m++)
		exact = v->sums[5 * FILTERS + m] == full_sum - 127 && v->sums[6 * FILTERS + m] == full_sum - 127 &&
			v->sums[10 * FILTERS + m] == full_sum - 127;
	cpu_dnn_release(op);
	free(v);
	return exact;
}

bool cpu_int8_conv_knows(const struct npl_layer *layer)
{
	const struct npl_tensor *x = layer->in[0], *w = layer->n_in > 1 ? layer->in[1] : NULL,
				*bias = layer->n_in > 2 ? layer->in[2] : NULL, *y = layer->out;
	if (npl_tensor_count(y) < 1 || !x || npl_tensor_count(x) < 1)
		return false;
	return layer->op == NPL_OP_CONV && !layer->attrs->conv.private_kernels && w && x->dtype == NPL_U8 &&
	       w->dtype == NPL_I8 && !w->quant.zero_point && w->data && (!bias || bias->data) &&
	       npl_is_byte(y->dtype) && layer->activation <= NPL_ACT_RELU6 &&
	       layer->attrs->conv.window.rank <= NPL_SPATIAL &&
	       (!x->quant.zero_point || !has_padding(&layer->attrs->conv.window));
}

int cpu_int8_conv_prepare(struct cpu_state *cpu, const struct npl_layer *layer, int threads,
			  struct cpu_int8_conv **new_conv, struct npl_err *err)
{
	*new_conv = NULL;
	if (!npl_int8_library(NULL))
		return refuse(err, "oneDNN's products of bytes are not to be used");
	struct cpu_int8_conv *conv = calloc(1, sizeof *conv);
	if (!conv)
		return npl_no_memory(err);
	cut_into_strips(conv, layer, threads);
	conv->threads = threads;
	struct npl_layer sums = {.name = layer->name,
				 .op = NPL_OP_CONV,
				 .attrs = layer->attrs,
				 .n_in = 2,
				 .in = {&conv->x, layer->in[1]},
				 .out = &conv->sums};
	int rc = take_constants(conv, layer, err);
	if (!rc)
		rc = cpu_dnn_prepare(&cpu->dnn, &sums, CPU_LAST, CPU_LAST, NULL, &conv->op, err);
	/* Sums that may wrap are refused; the integer kernels count them. */
	if (!rc && largest_sum(layer) > INT32_MAX)
		rc = refuse(err, "sums may be more than 32 bits hold");
	if (!rc && largest_filter_sum(layer) >= FLOAT_EXACT) {
		if (!cpu->large_sums_known)
			cpu->large_sums_exact = check_large_sums(&cpu->dnn);
		cpu->large_sums_known = true;
		if (!cpu->large_sums_exact || strncmp(cpu_dnn_kernel(conv->op), BRGEMM, strlen(BRGEMM)))
			rc = refuse(err, "oneDNN's kernel does not keep large sums exact");
	}
	if (rc) {
		cpu_int8_conv_release(conv);
		return rc;
	}
	*new_conv = conv;
	return 0;
}

void cpu_int8_conv_release(struct cpu_int8_conv *conv)
{
	if (!conv)
		return;
	cpu_dnn_release(conv->op);
	free(conv->bias);
	free(conv->scale);
	free(conv);
}

/* What the threads share while they finish a strip. */
struct finishing {
	const struct cpu_int8_conv *conv;
	const struct npl_int8_finish *finish;
	int32_t *sums;
	uint8_t *y;
	int64_t tasks;
	struct npl_int8_counts *counts; /* per worker */
};

static void finish_part(void *context, int64_t task, int worker)
{
	const struct finishing *f = context;
	const int64_t pixels = f->conv->pixels, filters = f->conv->filters, first = pixels / f->tasks * task,
		      end = task + 1 == f->tasks ? pixels : pixels / f->tasks * (task + 1);
	npl_int8_finish_rows(f->finish, f->sums + first * filters, end - first, filters, f->y + first * filters,
			     &f->counts[worker]);
}

static int run_strips(struct cpu_state *cpu, struct cpu_int8_conv *conv, struct finishing *f, const uint8_t *x,
		      struct npl_err *err)
{
	for (int64_t strip = 0; strip < conv->strips; strip++) {
		if (cpu_dnn_run(conv->op, x, NULL, f->sums, err))
			return err->code;
		if (f->tasks == 1)
			finish_part(f, 0, 0);
		else
			npl_pool_run(cpu->pool, f->tasks, finish_part, f);
		x += conv->x_bytes;
		f->y += conv->pixels * conv->filters;
	}
	return 0;
}

int cpu_int8_conv_run(struct cpu_state *cpu, struct cpu_int8_conv *conv, const struct npl_layer *layer, const void *x,
		      void *y, struct npl_result *result, struct npl_err *err)
{
	struct npl_int8_finish finish = {.bias = conv->bias, .scale = conv->scale, .step = 1};
	struct finishing f = {.conv = conv, .finish = &finish, .y = y};
	if (cpu_reserve(cpu, (size_t)(conv->pixels * conv->filters) * sizeof *f.sums, err))
		return err->code;
	f.sums = (int32_t *)(void *)cpu->workspace;
	f.tasks = conv->pixels < conv->threads ? 1 : conv->threads;
	f.counts = calloc((size_t)cpu->threads, sizeof *f.counts);
	if (!f.counts)
		return npl_no_memory(err);
	npl_int8_finish_by(&finish, layer->activation, layer->out);
	double begin = npl_clock_seconds();
	int rc = run_strips(cpu, conv, &f, x, err);
	result->seconds += npl_clock_seconds() - begin;
	for (int t = 0; t < cpu->threads; t++)
		result->saturations += f.counts[t].saturations;
	free(f.counts);
	return rc;
}
