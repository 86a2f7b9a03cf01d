/* SPDX-License-Identifier: MIT
 *
 * MaxPool and GlobalMaxPool of floats with channels last. They follow the operator where oneDNN's kernels do not: NaN
 * is passed on, and minus infinity stays. A block of channels of one result is kept in registers over all taps. */
#include <math.h>

#include "core/base/arith.h"
#include "core/ops/window.h"
#include "cpu.h"

#define BLOCK 64 /* channels: four vectors of AVX-512 */

struct pooling {
	const struct npl_window *window;
	struct npl_image in, out;
	const float *x;
	float *y;
	int64_t blocks; /* blocks of channels */
	void (*work)(const struct pooling *p, const float *x, int64_t z, int64_t line, int64_t n, float *y);
};

/* The taps first <= k < end of the window of one output position are within the image. */
struct taps {
	int64_t origin, first, end; /* origin: input position of tap 0 */
};

static struct taps taps_of(const struct pooling *p, int d, int64_t index)
{
	const struct npl_window *w = p->window;
	struct taps t = {.origin = index * w->stride[d] - w->pad_begin[d], .end = w->kernel[d]};
	while (t.first < t.end && t.origin + t.first * w->dilation[d] < 0)
		t.first++;
	while (t.first < t.end && t.origin + (t.end - 1) * w->dilation[d] >= p->in.size[d])
		t.end--;
	return t;
}

/* Returns x if it is larger than `maximum` or NaN, else `maximum`. */
static inline __attribute__((always_inline)) float maximum_or_nan(float x, float maximum)
{
	const float larger = x > maximum ? x : maximum;
	return isnan(x) ? x : larger;
}

/* Computes n channels of one result. */
static inline __attribute__((always_inline)) void maxima(const struct pooling *p, const float *x, const struct taps *z,
							 const struct taps *line, const struct taps *column, int64_t n,
							 float *y)
{
	const struct npl_window *w = p->window;
	const int64_t channels = p->in.channels, step = w->dilation[1] * channels;
	float maximum[BLOCK];
	for (int c = 0; c < BLOCK; c++)
		maximum[c] = -INFINITY;
	for (int64_t kz = z->first; kz < z->end; kz++)
		for (int64_t ky = line->first; ky < line->end; ky++) {
			const int64_t row = (z->origin + kz * w->dilation[NPL_DEPTH]) * p->in.size[0] + line->origin +
					    ky * w->dilation[0];
			const float *tap = x + (row * p->in.size[1] + column->origin) * channels + column->first * step;
			for (int64_t kx = column->first; kx < column->end; kx++, tap += step)
				if (n == BLOCK)
					for (int c = 0; c < BLOCK; c++)
						maximum[c] = maximum_or_nan(tap[c], maximum[c]);
				else
					for (int64_t c = 0; c < n; c++)
						maximum[c] = maximum_or_nan(tap[c], maximum[c]);
		}
	for (int64_t c = 0; c < n; c++)
		y[c] = maximum[c];
}

/* Computes n channels of a line of results. */
static inline __attribute__((always_inline)) void maxima_of_line(const struct pooling *p, const float *x, int64_t z,
								 int64_t line, int64_t n, float *y)
{
	const struct taps depth_taps = taps_of(p, NPL_DEPTH, z), line_taps = taps_of(p, 0, line);
	for (int64_t column = 0; column < p->out.size[1]; column++, y += p->out.channels) {
		const struct taps column_taps = taps_of(p, 1, column);
		maxima(p, x, &depth_taps, &line_taps, &column_taps, n, y);
	}
}

static void maxima_sse(const struct pooling *p, const float *x, int64_t z, int64_t line, int64_t n, float *y)
{
	maxima_of_line(p, x, z, line, n, y);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void maxima_avx2(const struct pooling *p, const float *x, int64_t z,
							int64_t line, int64_t n, float *y)
{
	maxima_of_line(p, x, z, line, n, y);
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) static void
maxima_avx512(const struct pooling *p, const float *x, int64_t z, int64_t line, int64_t n, float *y)
{
	maxima_of_line(p, x, z, line, n, y);
}
#endif

/* Computes a line of results in one block of channels. */
static void run_line(void *context, int64_t task, int worker)
{
	const struct pooling *p = context;
	const int64_t first = task % p->blocks * BLOCK, channels_left = p->in.channels - first, line = task / p->blocks;
	const int64_t height = p->out.size[0], depth = p->out.size[NPL_DEPTH], image = line / height / depth;
	const int64_t volume = p->in.size[0] * p->in.size[1] * p->in.size[NPL_DEPTH];
	(void)worker;
	p->work(p, p->x + image * volume * p->in.channels + first, line / height % depth, line % height,
		channels_left < BLOCK ? channels_left : BLOCK, p->y + line * p->out.size[1] * p->out.channels + first);
}

bool cpu_maxpool_knows(const struct npl_layer *layer)
{
	const struct npl_tensor *x = layer->n_in > 0 ? layer->in[0] : NULL;
	return (layer->op == NPL_OP_MAXPOOL || layer->op == NPL_OP_GLOBALMAXPOOL) && x && x->dtype == NPL_F32 &&
	       layer->out->dtype == NPL_F32 && !layer->n_further && !layer->activation && x->shape.rank >= 3 &&
	       x->shape.rank <= 2 + NPL_VOLUME && npl_tensor_count(x) > 0 && npl_tensor_count(layer->out) > 0;
}

void cpu_maxpool_last(struct cpu_state *cpu, const struct npl_layer *layer)
{
	struct pooling p = {.window = &layer->attrs->pool.window,
			    .in = npl_image_of(&layer->in[0]->shape),
			    .out = npl_image_of(&layer->out->shape),
			    .x = layer->in[0]->data,
			    .y = layer->out->data,
			    .work = maxima_sse};
#if defined(__x86_64__)
	const enum cpu_level level = cpu_vectors_detect().level;
	if (level >= CPU_AVX512)
		p.work = maxima_avx512;
	else if (level >= CPU_AVX2)
		p.work = maxima_avx2;
#endif
	p.blocks = npl_div_up_i64(p.in.channels, BLOCK);
	npl_pool_run(cpu->pool, p.out.images * p.out.size[NPL_DEPTH] * p.out.size[0] * p.blocks, run_line, &p);
}
