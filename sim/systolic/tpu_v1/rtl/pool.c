/* SPDX-License-Identifier: MIT
 *
 * Pooling in the activation unit. Source vectors come in the order of their pixels and are kept in a line buffer. A
 * result can leave in the beat in which the last pixel of its window inside the image is read. Results leave in order,
 * at most one per beat. So where the pixels of one line complete more windows than there are beats (more outputs than
 * inputs, or a last line with padding below), results still follow after the last source vector. */
#include "rtl.h"

#include "core/base/arith.h"

#include <stdlib.h>

struct tpu_rtl_windows tpu_rtl_windows_of(const struct tpu_rtl_issued *activate)
{
	struct tpu_rtl_windows w = {.in_height = tpu_rtl_register(activate, TPU_REG_IN_HEIGHT),
				    .in_width = tpu_rtl_register(activate, TPU_REG_IN_WIDTH),
				    .out_height = tpu_rtl_register(activate, TPU_REG_OUT_HEIGHT),
				    .out_width = tpu_rtl_register(activate, TPU_REG_OUT_WIDTH),
				    .kernel_height = tpu_rtl_register(activate, TPU_REG_KERNEL_HEIGHT),
				    .kernel_width = tpu_rtl_register(activate, TPU_REG_KERNEL_WIDTH),
				    .stride_y = tpu_rtl_register(activate, TPU_REG_STRIDE_Y),
				    .stride_x = tpu_rtl_register(activate, TPU_REG_STRIDE_X),
				    .pad_top = tpu_signed(&activate->registers, TPU_REG_PAD_TOP),
				    .pad_left = tpu_signed(&activate->registers, TPU_REG_PAD_LEFT),
				    .sources = activate->instruction.length};
	w.results_left = w.sources / (w.in_height * w.in_width) * w.out_height * w.out_width;
	return w;
}

struct tpu_rtl_inside tpu_rtl_inside_of(const struct tpu_rtl_windows *w)
{
	int64_t top = w->y * w->stride_y - w->pad_top, left = w->x * w->stride_x - w->pad_left;
	return (struct tpu_rtl_inside){npl_max_i64(top, 0), npl_min_i64(top + w->kernel_height, w->in_height),
				       npl_max_i64(left, 0), npl_min_i64(left + w->kernel_width, w->in_width)};
}

static int64_t vector_of(const struct tpu_rtl_windows *w, int64_t row, int64_t column)
{
	return (w->image * w->in_height + row) * w->in_width + column;
}

bool tpu_rtl_windows_complete(const struct tpu_rtl_windows *w)
{
	struct tpu_rtl_inside in = tpu_rtl_inside_of(w);
	return w->results_left > 0 && vector_of(w, in.end_row - 1, in.end_column - 1) < w->sources_read;
}

void tpu_rtl_windows_leave(struct tpu_rtl_windows *w)
{
	w->results_left--;
	if (++w->x < w->out_width)
		return;
	w->x = 0;
	if (++w->y < w->out_height)
		return;
	w->y = 0;
	w->image++;
}

struct tpu_rtl_walk tpu_rtl_windows_walk(const struct tpu_rtl_issued *activate)
{
	struct tpu_rtl_windows w = tpu_rtl_windows_of(activate);
	struct tpu_rtl_walk walk = {.vectors_kept = 1};
	for (; w.sources_read < w.sources || w.results_left > 0; walk.beats++) {
		/* The windows of a line begin again at its left end, so whole lines are kept. */
		int64_t oldest = vector_of(&w, tpu_rtl_inside_of(&w).first_row, 0);
		w.sources_read += w.sources_read < w.sources;
		if (w.results_left > 0)
			walk.vectors_kept = npl_max_i64(walk.vectors_kept, w.sources_read - oldest);
		if (tpu_rtl_windows_complete(&w))
			tpu_rtl_windows_leave(&w);
	}
	return walk;
}

bool tpu_rtl_lines_reserve(struct tpu_rtl_lines *lines, int64_t vectors)
{
	if (vectors <= lines->slots)
		return true;
	free(lines->vector);
	lines->vector = calloc((size_t)vectors, (size_t)lines->columns * sizeof *lines->vector);
	lines->slots = lines->vector ? vectors : 0;
	return lines->vector;
}

void tpu_rtl_lines_put(struct tpu_rtl_lines *lines, int64_t vector, int64_t count, const int32_t *value)
{
	int16_t *line = lines->vector + vector % lines->slots * lines->columns;
	for (int64_t j = 0; j < count; j++)
		line[j] = (int16_t)value[j];
}

static int64_t divide_half_even(int64_t sum, int64_t divisor)
{
	int64_t quotient = sum / divisor, remainder = sum % divisor;
	if (remainder < 0) { /* round down first */
		quotient--;
		remainder += divisor;
	}
	if (2 * remainder > divisor || (2 * remainder == divisor && quotient % 2 != 0))
		quotient++;
	return quotient;
}

/* Lanes first to first + count - 1 of a result; count is at most POOL_LANES. */
enum { POOL_LANES = 64 };
struct pool_part {
	const struct tpu_rtl_lines *lines;
	const struct tpu_rtl_windows *windows;
	int64_t first, count;
};

/* Returns pixel (y, x) of the image in the line buffer. */
static const int16_t *lane_at(const struct pool_part *part, int64_t y, int64_t x)
{
	int64_t slot = vector_of(part->windows, y, x) % part->lines->slots;
	return part->lines->vector + slot * part->lines->columns + part->first;
}

static void greatest(const struct pool_part *part, int32_t *value)
{
	struct tpu_rtl_inside in = tpu_rtl_inside_of(part->windows);
	for (int64_t j = 0; j < part->count; j++)
		value[j] = INT16_MIN;
	for (int64_t y = in.first_row; y < in.end_row; y++)
		for (int64_t x = in.first_column; x < in.end_column; x++) {
			const int16_t *line = lane_at(part, y, x);
			for (int64_t j = 0; j < part->count; j++)
				value[j] = line[j] > value[j] ? line[j] : value[j];
		}
}

static void average(const struct pool_part *part, int64_t divisor, int32_t zero_point, int32_t *value)
{
	struct tpu_rtl_inside in = tpu_rtl_inside_of(part->windows);
	int64_t sum[POOL_LANES] = {0};
	for (int64_t y = in.first_row; y < in.end_row; y++)
		for (int64_t x = in.first_column; x < in.end_column; x++) {
			const int16_t *line = lane_at(part, y, x);
			for (int64_t j = 0; j < part->count; j++)
				sum[j] += line[j] - zero_point;
		}
	for (int64_t j = 0; j < part->count; j++)
		value[j] = (int32_t)divide_half_even(sum[j], divisor) + zero_point;
}

void tpu_rtl_lines_pool(const struct tpu_rtl_lines *lines, const struct tpu_rtl_windows *windows,
			enum tpu_pooling pooling, int32_t zero_point, int64_t count, int32_t *value)
{
	struct tpu_rtl_inside in = tpu_rtl_inside_of(windows);
	int64_t taps = pooling == TPU_POOL_AVERAGE ? (in.end_row - in.first_row) * (in.end_column - in.first_column)
						   : windows->kernel_height * windows->kernel_width;
	for (int64_t first = 0; first < count; first += POOL_LANES) {
		struct pool_part part = {lines, windows, first, npl_min_i64(count - first, POOL_LANES)};
		if (pooling == TPU_POOL_MAX)
			greatest(&part, value + first);
		else
			average(&part, taps, zero_point, value + first);
	}
}
