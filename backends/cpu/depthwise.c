/* SPDX-License-Identifier: MIT
 *
 * Depthwise convolution: each filter reads one channel, so a matrix product would have one row and im2col would
 * cost more than the arithmetic. Each plane is copied once with its padding; then every row of outputs is computed as
 * if its stride were 1, 16 sums at a time over all weights, and every stride-th one is kept. One copy of the loop is
 * compiled per instruction set. */
#include <string.h>

#include "cpu.h"

enum { LANES = 16 };
typedef float vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* A plane with padding: rows of `pitch` floats, of which the last LANES are only there for reads that pass a row's
 * end. */
struct padded {
	int64_t rows, cols, pitch;
	int64_t dense; /* outputs of a row at stride 1 */
};

struct job {
	const struct cpu_conv *conv;
	struct padded shape;
	size_t elements; /* floats of one thread's workspace: the plane, then a row of outputs */
	float *workspace;
	void (*rows)(const struct cpu_conv *conv, const struct padded *shape, const float *plane, const float *w,
		     float bias, float *row, float *y);
};

static struct padded padded_shape(const struct cpu_conv *conv)
{
	struct padded shape = {.dense = (conv->out_w - 1) * conv->stride_w + 1};
	shape.rows = (conv->out_h - 1) * conv->stride_h + (conv->kernel_h - 1) * conv->dilation_h + 1;
	shape.cols = shape.dense + (conv->kernel_w - 1) * conv->dilation_w;
	shape.pitch = shape.cols + LANES;
	return shape;
}

static size_t workspace_elements(const struct padded *shape)
{
	return (size_t)(shape->rows * shape->pitch + shape->dense + 2 * LANES) / LANES * LANES;
}

static void pad_plane(const struct cpu_conv *conv, const struct padded *shape, const float *x, float *plane)
{
	int64_t n_copied = shape->cols - conv->pad_left;
	n_copied = n_copied < 0 ? 0 : n_copied > conv->width ? conv->width : n_copied;
	memset(plane, 0, (size_t)(shape->rows * shape->pitch) * sizeof *plane);
	for (int64_t row = 0; row < shape->rows; row++) {
		int64_t iy = row - conv->pad_top;
		if (n_copied && iy >= 0 && iy < conv->height)
			memcpy(plane + row * shape->pitch + conv->pad_left, x + iy * conv->width,
			       (size_t)n_copied * sizeof *x);
	}
}

static inline __attribute__((always_inline)) void run_rows(const struct cpu_conv *conv, const struct padded *shape,
							   const float *plane, const float *w, float bias, float *row,
							   float *y)
{
	int64_t step_y = conv->dilation_h * shape->pitch, step_x = conv->dilation_w;
	for (int64_t oy = 0; oy < conv->out_h; oy++, y += conv->out_w) {
		const float *top = plane + oy * conv->stride_h * shape->pitch;
		for (int64_t i = 0; i < shape->dense; i += LANES) {
			vec sum = (vec){0} + bias;
			for (int64_t ky = 0; ky < conv->kernel_h; ky++)
				for (int64_t kx = 0; kx < conv->kernel_w; kx++)
					sum += *(const vec *)(top + ky * step_y + kx * step_x + i) *
					       w[ky * conv->kernel_w + kx];
			*(vec *)(row + i) = sum;
		}
		for (int64_t i = 0; i < conv->out_w; i++) {
			float value = row[i * conv->stride_w];
			y[i] = conv->relu && value < 0 ? 0 : value;
		}
	}
}

static void rows_sse(const struct cpu_conv *conv, const struct padded *shape, const float *plane, const float *w,
		     float bias, float *row, float *y)
{
	run_rows(conv, shape, plane, w, bias, row, y);
}

__attribute__((target("avx2"))) static void rows_avx2(const struct cpu_conv *conv, const struct padded *shape,
						      const float *plane, const float *w, float bias, float *row,
						      float *y)
{
	run_rows(conv, shape, plane, w, bias, row, y);
}

__attribute__((target("avx512f"))) static void rows_avx512(const struct cpu_conv *conv, const struct padded *shape,
							   const float *plane, const float *w, float bias, float *row,
							   float *y)
{
	run_rows(conv, shape, plane, w, bias, row, y);
}

static void run_task(void *context, int64_t task, int worker)
{
	const struct job *job = context;
	const struct cpu_conv *conv = job->conv;
	int64_t image = task / conv->filters, filter = task % conv->filters;
	int64_t channel = filter / (conv->filters / conv->groups);
	float *plane = job->workspace + (size_t)worker * job->elements;
	pad_plane(conv, &job->shape, conv->x + (image * conv->channels + channel) * conv->height * conv->width, plane);
	job->rows(conv, &job->shape, plane, conv->w + filter * conv->kernel_h * conv->kernel_w,
		  conv->bias ? conv->bias[filter] : 0, plane + job->shape.rows * job->shape.pitch,
		  conv->y + task * conv->out_h * conv->out_w);
}

size_t cpu_depthwise_workspace(const struct cpu_state *cpu, const struct cpu_conv *conv)
{
	struct padded shape = padded_shape(conv);
	return workspace_elements(&shape) * sizeof(float) * (size_t)cpu->threads;
}

void cpu_depthwise_run(struct cpu_state *cpu, const struct cpu_conv *conv)
{
	struct job job = {.conv = conv, .shape = padded_shape(conv), .workspace = cpu->workspace, .rows = rows_sse};
	if (!conv->out_h || !conv->out_w)
		return;
	job.elements = workspace_elements(&job.shape);
	if (cpu->blas.isa.level >= CPU_AVX512)
		job.rows = rows_avx512;
	else if (cpu->blas.isa.level >= CPU_AVX2)
		job.rows = rows_avx2;
	npl_pool_run(cpu->pool, conv->images * conv->filters, run_task, &job);
}
