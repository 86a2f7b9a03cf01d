/* SPDX-License-Identifier: MIT
 *
 * Finds the fast engine's input vectors. A vector that is contiguous is read in the buffer itself: all of
 * matrix_multiply's, and convolve's with one tap. With several taps a block of vectors is put together, tap after tap,
 * by runs of taps that are side by side in the buffer. */
#include "values.h"

#include "core/base/arith.h"

#include <string.h>

static uint8_t *staged_row(const struct tpu_fast_machine *m, const struct tpu_fast_worker *worker, int64_t i)
{
	return worker->staged + i * m->staged_pitch;
}

/* Returns the end of what the pass may read: bytes after it may be results that another thread writes. */
static const uint8_t *end_of(const struct tpu_fast_machine *m, const struct tpu_fast_pass *pass)
{
	return m->memory->buffer + npl_min_i64(pass->end_row * m->width, (int64_t)m->buffer_bytes);
}

/* Returns where a vector of k bytes at `from` can be read in groups of four. It is copied where that would go beyond
 * what the pass may read. */
static const uint8_t *in_place(const struct tpu_fast_machine *m, struct tpu_fast_worker *worker,
			       const struct tpu_fast_pass *pass, int64_t i, const uint8_t *from, int64_t k)
{
	if (end_of(m, pass) - from >= (k + 3) / 4 * 4)
		return from;
	return memcpy(staged_row(m, worker, i), from, (size_t)k);
}

/* A position of the output. */
struct position {
	int64_t image, y, x;
};

static struct position position_of(const struct tpu_fast_window *w, int64_t output)
{
	int64_t line = output / w->out_width;
	return (struct position){line / w->out_height, line % w->out_height, output % w->out_width};
}

static void next_position(const struct tpu_fast_window *w, struct position *p)
{
	if (++p->x < w->out_width)
		return;
	p->x = 0;
	if (++p->y == w->out_height) {
		p->y = 0;
		p->image++;
	}
}

static const uint8_t *vector_at(const struct tpu_fast_machine *m, const struct tpu_fast_pass *pass, int64_t i)
{
	const struct tpu_fast_window *w = &pass->window;
	if (w->row_pixels == 1)
		return m->memory->buffer + (pass->ub + i) * m->width + w->first_lane;
	return m->memory->buffer + (pass->ub + i / w->row_pixels) * m->width + i % w->row_pixels * w->pixel_lanes +
	       w->first_lane;
}

static void one_tap(const struct tpu_fast_machine *m, struct tpu_fast_worker *worker, const struct tpu_fast_pass *pass,
		    int64_t row, int64_t rows, int64_t k)
{
	const struct tpu_fast_window *w = &pass->window;
	const int64_t ky = w->first_tap / w->kernel_width, kx = w->first_tap % w->kernel_width;
	struct position p = position_of(w, row + pass->first);
	for (int64_t i = 0; i < rows; i++, next_position(w, &p)) {
		int64_t iy = p.y * w->stride_y + ky * w->dilation_y - w->pad_top;
		int64_t ix = p.x * w->stride_x + kx * w->dilation_x - w->pad_left;
		if (iy < 0 || iy >= w->in_height || ix < 0 || ix >= w->in_width)
			worker->input[i] = worker->padding_vector;
		else
			worker->input[i] = in_place(
				m, worker, pass, i,
				vector_at(m, pass, (p.image * w->in_height + iy) * w->in_width + ix), k);
	}
}

/* Copies n bytes. It may write up to 15 more where those may be read, since runs are short. */
static inline void copy_run(uint8_t *to, const uint8_t *from, int64_t n, const uint8_t *end)
{
	if (n > 64 || end - from < 64) {
		memcpy(to, from, (size_t)n);
		return;
	}
	for (int64_t i = 0; i < n; i += 16)
		memcpy(to + i, from + i, 16);
}

/* Taps side by side in one line of the kernel. */
struct line {
	int64_t ky, kx, taps;
	int64_t byte; /* byte of the vector at which the taps begin */
};

/* Copies `count` vectors i, i + dilation_x, and so on of the tensor, all inside the image. */
static inline void copy_taps(const struct tpu_fast_machine *m, const struct tpu_fast_pass *pass, int64_t i,
			     int64_t count, uint8_t *to)
{
	const struct tpu_fast_window *w = &pass->window;
	const uint8_t *end = end_of(m, pass);
	const bool touch = w->dilation_x == 1 && w->pixel_lanes == w->tap_lanes;
	while (count > 0) {
		int64_t run = touch ? npl_min_i64(count, w->row_pixels - i % w->row_pixels) : 1;
		copy_run(to, vector_at(m, pass, i), run * w->tap_lanes, end);
		to += run * w->tap_lanes;
		i += run * w->dilation_x;
		count -= run;
	}
}

/* Stages a line whose first tap is at column x0 of the image and some of whose taps may be outside. first: vector at
 * column 0. */
static void stage_edge(const struct tpu_fast_machine *m, const struct tpu_fast_pass *pass, int64_t first, int64_t x0,
		       int64_t taps, uint8_t *to)
{
	const struct tpu_fast_window *w = &pass->window;
	const int zero_point = (uint8_t)pass->inputs.zero_point;
	const int64_t taps_before = x0 < 0 ? npl_min_i64(taps, npl_div_up_i64(-x0, w->dilation_x)) : 0;
	const int64_t end_tap = x0 < w->in_width ? npl_min_i64(taps, npl_div_up_i64(w->in_width - x0, w->dilation_x))
						 : 0;
	memset(to, zero_point, (size_t)(taps * w->tap_lanes));
	if (end_tap > taps_before)
		copy_taps(m, pass, first + x0 + taps_before * w->dilation_x, end_tap - taps_before,
			  to + taps_before * w->tap_lanes);
	if (end_tap < taps) /* the copies may have written too much */
		memset(to + end_tap * w->tap_lanes, zero_point, (size_t)((taps - end_tap) * w->tap_lanes));
}

/* Stages one line of `count` vectors of the same output line, from number i of the block on. */
static void stage_line(const struct tpu_fast_machine *m, struct tpu_fast_worker *worker,
		       const struct tpu_fast_pass *pass, const struct position *p, const struct line *line, int64_t i,
		       int64_t count)
{
	const struct tpu_fast_window *w = &pass->window;
	const int64_t iy = p->y * w->stride_y + line->ky * w->dilation_y - w->pad_top;
	const int64_t first = (p->image * w->in_height + iy) * w->in_width, reach = (line->taps - 1) * w->dilation_x;
	int64_t x0 = p->x * w->stride_x + line->kx * w->dilation_x - w->pad_left;
	uint8_t *to = staged_row(m, worker, i) + line->byte;
	for (int64_t v = 0; v < count; v++, x0 += w->stride_x, to += m->staged_pitch)
		if (iy < 0 || iy >= w->in_height)
			memset(to, (uint8_t)pass->inputs.zero_point, (size_t)(line->taps * w->tap_lanes));
		else if (x0 >= 0 && x0 + reach < w->in_width)
			copy_taps(m, pass, first + x0, line->taps, to);
		else
			stage_edge(m, pass, first, x0, line->taps, to);
}

/* Puts vectors of several taps together in `staged`: by output lines, then by lines of the kernel, as neighbours copy
 * the same runs from different places. Lines come in the order of their bytes, so that the next line overwrites what
 * one wrote too much. */
static void several_taps(const struct tpu_fast_machine *m, struct tpu_fast_worker *worker,
			 const struct tpu_fast_pass *pass, int64_t row, int64_t rows, int64_t k)
{
	const struct tpu_fast_window *w = &pass->window;
	const int64_t filled = w->taps * w->tap_lanes, last = w->first_tap + w->taps;
	for (int64_t i = 0, count; i < rows; i += count) {
		const struct position p = position_of(w, row + i + pass->first);
		struct line line = {.byte = 0};
		count = npl_min_i64(rows - i, w->out_width - p.x);
		for (int64_t t = w->first_tap; t < last; t += line.taps, line.byte += line.taps * w->tap_lanes) {
			line.ky = t / w->kernel_width;
			line.kx = t % w->kernel_width;
			line.taps = npl_min_i64(last - t, w->kernel_width - line.kx);
			stage_line(m, worker, pass, &p, &line, i, count);
		}
		for (int64_t v = i; v < i + count; v++) {
			worker->input[v] = staged_row(m, worker, v);
			if (filled < k)
				memset(staged_row(m, worker, v) + filled, (uint8_t)pass->inputs.zero_point,
				       (size_t)(k - filled));
		}
	}
}

/* Puts together vectors of one tap that are shorter than what the kernel reads. */
static void short_tap(const struct tpu_fast_machine *m, struct tpu_fast_worker *worker,
		      const struct tpu_fast_pass *pass, int64_t row, int64_t rows, int64_t k)
{
	const int64_t lanes = pass->window.tap_lanes;
	one_tap(m, worker, pass, row, rows, lanes);
	for (int64_t i = 0; i < rows; i++) {
		uint8_t *to = staged_row(m, worker, i);
		memmove(to, worker->input[i], (size_t)lanes);
		memset(to + lanes, (uint8_t)pass->inputs.zero_point, (size_t)(k - lanes));
		worker->input[i] = to;
	}
}

void tpu_fast_inputs(const struct tpu_fast_machine *m, struct tpu_fast_worker *worker, const struct tpu_fast_pass *pass,
		     int64_t row, int64_t rows, int64_t k)
{
	if (!pass->convolves) {
		const uint8_t *from = m->memory->buffer + (pass->ub + pass->first + row) * m->width;
		for (int64_t i = 0; i < rows; i++, from += m->width)
			worker->input[i] = in_place(m, worker, pass, i, from, k);
		return;
	}
	memset(worker->padding_vector, (uint8_t)pass->inputs.zero_point, (size_t)m->staged_pitch);
	if (pass->window.taps > 1)
		several_taps(m, worker, pass, row, rows, k);
	else if (k > pass->window.tap_lanes)
		short_tap(m, worker, pass, row, rows, k);
	else
		one_tap(m, worker, pass, row, rows, k);
}
