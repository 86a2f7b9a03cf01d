/* SPDX-License-Identifier: MIT
 *
 * Random matrix_multiply and convolve instructions: see actions.h. */
#include "actions.h"

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Tiles for a pass that switches: asked for before it, or left to whoever comes later. */
static unsigned switch_flag(struct builder *b)
{
	/* There are no weights to use again before the first. */
	if (b->tiles_used && !builder_chance(b, b->mood.switch_percent))
		return 0;
	if (b->tiles_asked <= b->tiles_used && !builder_chance(b, b->mood.late_percent))
		action_read_weights(b, false);
	b->tiles_used++;
	return TPU_MATRIX_SWITCH;
}

static uint32_t zero_point(struct builder *b, bool is_unsigned)
{
	if (!builder_chance(b, b->mood.zero_point_percent))
		return 0;
	int64_t low = is_unsigned ? 0 : -128;
	int64_t drawn = builder_chance(b, 30) ? low + 255 * builder_range(b, 0, 1) : low + builder_range(b, 0, 255);
	return (uint32_t)(int32_t)drawn;
}

static void operand_registers(struct builder *b, unsigned flags)
{
	builder_set(b, TPU_REG_INPUT_ZERO_POINT,
		    flags & TPU_MATRIX_INPUTS16 ? 0 : zero_point(b, flags & TPU_MATRIX_UNSIGNED_INPUTS));
	builder_set(b, TPU_REG_WEIGHT_ZERO_POINT, zero_point(b, flags & TPU_MATRIX_UNSIGNED_WEIGHTS));
	if (builder_chance(b, 40))
		builder_set(b, TPU_REG_USEFUL_CELLS, (uint32_t)builder_range(b, 0, b->config.rows * b->config.columns));
}

/* The distance between the planes of an input of `rows` rows, so that a base is left for them; 0: they are the same. */
static int64_t plane_distance(struct builder *b, int64_t rows)
{
	int64_t maximum = b->buffer_rows - rows;
	if (builder_chance(b, 10) || maximum < 1)
		return 0;
	return builder_chance(b, 60) && rows <= maximum ? rows : builder_range(b, 1, maximum);
}

/* Emits a matrix instruction that reads rows low .. high (none: high < low) of the tensor of `rows` rows at its base.
 * `plane`: rows to the high plane, negative: to be drawn. */
static void emit_matrix(struct builder *b, struct tpu_instruction in, int64_t rows, int64_t low, int64_t high,
			int64_t plane)
{
	struct builder_footprint f = {0};
	if (!(in.flags & TPU_MATRIX_INPUTS16))
		plane = 0;
	if (plane < 0) {
		plane = plane_distance(b, rows);
		builder_set(b, TPU_REG_INPUT_PLANE_ROWS, (uint32_t)plane);
	}
	int64_t base = action_rows(b, TPU_MATRIX, rows + plane, false);
	if (base + rows + plane > b->buffer_rows)
		base = b->buffer_rows - rows - plane;
	builder_touches(&f, base + low, high - low + 1, false, false);
	if (plane)
		builder_touches(&f, base + plane + low, high - low + 1, false, false);
	builder_order(b, TPU_MATRIX, &f);
	in.ub = (uint32_t)base;
	builder_emit(b, in, &f);
	b->read_first = base + low + (builder_chance(b, 50) ? plane : 0);
	b->read_end = b->read_first + high - low + 1;
	if (b->stuck)
		return; /* registers have not been set */
	b->matrix_again = (struct builder_again){
		.in = in, .registers = b->registers, .rows = rows, .low = low, .high = high, .plane_rows = plane};
}

struct window {
	int64_t size, out, kernel, stride, dilation, pad;
};

/* One axis of a convolution's window: as layers have it or, now and then, sliding where there is no image. */
static struct window draw_window(struct builder *b)
{
	struct window w = {.size = builder_range(b, 1, 9),
			   .kernel = builder_range(b, 1, builder_chance(b, 15) ? 6 : 3),
			   .stride = builder_chance(b, 60) ? 1 : builder_range(b, 2, 4),
			   .dilation = builder_chance(b, 75) ? 1 : builder_range(b, 2, 3)};
	w.pad = builder_range(b, -1, w.kernel);
	int64_t room = w.size + 2 * w.pad - (w.kernel - 1) * w.dilation - 1;
	w.out = room < 0 || builder_chance(b, 15) ? builder_range(b, 1, 10) : room / w.stride + 1;
	return w;
}

static void window_registers(struct builder *b, const struct window *y, const struct window *x)
{
	builder_set(b, TPU_REG_IN_HEIGHT, (uint32_t)y->size);
	builder_set(b, TPU_REG_IN_WIDTH, (uint32_t)x->size);
	builder_set(b, TPU_REG_OUT_HEIGHT, (uint32_t)y->out);
	builder_set(b, TPU_REG_OUT_WIDTH, (uint32_t)x->out);
	builder_set(b, TPU_REG_KERNEL_HEIGHT, (uint32_t)y->kernel);
	builder_set(b, TPU_REG_KERNEL_WIDTH, (uint32_t)x->kernel);
	builder_set(b, TPU_REG_STRIDE_Y, (uint32_t)y->stride);
	builder_set(b, TPU_REG_STRIDE_X, (uint32_t)x->stride);
	builder_set(b, TPU_REG_DILATION_Y, (uint32_t)y->dilation);
	builder_set(b, TPU_REG_DILATION_X, (uint32_t)x->dilation);
	builder_set(b, TPU_REG_PAD_TOP, (uint32_t)(int32_t)y->pad);
	builder_set(b, TPU_REG_PAD_LEFT, (uint32_t)(int32_t)x->pad);
}

/* A convolve's window, taps and layout. */
struct patch {
	struct window y, x;
	int64_t images, pixel_lanes, row_pixels, first_lane, tap_lanes, first_tap, taps, first_output, length;
};

/* The rows of the tensor that count as read, first and last (none: last < first): the lines under the windows of an
 * image, whole; of several images, everything from the first to the last. */
static void touched_rows(const struct patch *c, int64_t *low, int64_t *high)
{
	int64_t image = c->x.out * c->y.out, last = c->first_output + c->length - 1;
	int64_t from = c->first_output / image * c->y.size, to = last / image * c->y.size + c->y.size - 1;
	if (c->first_output / image == last / image) {
		int64_t y0 = c->first_output % image / c->x.out, y1 = last % image / c->x.out;
		int64_t ky0 = c->first_tap / c->x.kernel, ky1 = (c->first_tap + c->taps - 1) / c->x.kernel;
		int64_t top = y0 * c->y.stride + ky0 * c->y.dilation - c->y.pad;
		int64_t bottom = y1 * c->y.stride + ky1 * c->y.dilation - c->y.pad;
		to = from + least(bottom, c->y.size - 1);
		from += top > 0 ? top : 0;
	}
	*low = from * c->x.size / c->row_pixels;
	*high = from <= to ? ((to + 1) * c->x.size - 1) / c->row_pixels : *low - 1;
}

static void draw_layout(struct builder *b, struct patch *c)
{
	c->pixel_lanes = b->row_bytes;
	c->row_pixels = 1;
	if (builder_chance(b, b->mood.packed_percent)) {
		c->pixel_lanes = builder_size(b, b->row_bytes);
		c->row_pixels = b->row_bytes / c->pixel_lanes;
		if (builder_chance(b, 30))
			c->row_pixels = builder_range(b, 1, c->row_pixels);
	}
	c->first_lane = builder_chance(b, 70) ? 0 : builder_range(b, 0, c->pixel_lanes - 1);
	int64_t lanes = least(c->pixel_lanes - c->first_lane, b->config.rows);
	c->tap_lanes = builder_chance(b, 50) ? lanes : builder_range(b, 1, lanes);
	int64_t taps = c->y.kernel * c->x.kernel, maximum = b->config.rows / c->tap_lanes;
	c->first_tap = builder_chance(b, 50) ? 0 : builder_range(b, 0, taps - 1);
	maximum = least(maximum, taps - c->first_tap);
	c->taps = builder_chance(b, 50) ? maximum : builder_range(b, 1, maximum);
}

/* Returns how many accumulator rows it writes; 0: there is no room for its image. */
static int64_t convolve(struct builder *b, struct tpu_instruction in, int64_t most_vectors)
{
	struct patch c = {.y = draw_window(b), .x = draw_window(b), .images = builder_range(b, 1, 3)};
	draw_layout(b, &c);
	int64_t rows = (c.images * c.y.size * c.x.size + c.row_pixels - 1) / c.row_pixels;
	if (rows > b->buffer_rows)
		return 0;
	int64_t outputs = c.images * c.y.out * c.x.out;
	c.first_output = builder_chance(b, 50) ? 0 : builder_range(b, 0, outputs - 1);
	c.length = least(outputs - c.first_output, builder_size(b, most_vectors));
	window_registers(b, &c.y, &c.x);
	builder_set(b, TPU_REG_PIXEL_LANES, (uint32_t)c.pixel_lanes);
	builder_set(b, TPU_REG_ROW_PIXELS, (uint32_t)c.row_pixels);
	builder_set(b, TPU_REG_FIRST_LANE, (uint32_t)c.first_lane);
	builder_set(b, TPU_REG_TAP_LANES, (uint32_t)c.tap_lanes);
	builder_set(b, TPU_REG_FIRST_TAP, (uint32_t)c.first_tap);
	builder_set(b, TPU_REG_TAPS, (uint32_t)c.taps);
	builder_set(b, TPU_REG_FIRST_OUTPUT, (uint32_t)c.first_output);
	int64_t low, high;
	touched_rows(&c, &low, &high);
	in.opcode = TPU_CONVOLVE;
	in.length = (uint32_t)c.length;
	emit_matrix(b, in, rows, low, high, -1);
	return c.length;
}

/* The instruction before once more, on other rows; returns how many accumulator rows it writes, 0: not possible. */
static int64_t repeat_matrix(struct builder *b, int64_t acc, int64_t limit, bool accumulate)
{
	struct builder_again again = b->matrix_again;
	if (!builder_steady(b, &again, TPU_REG_INPUT_ZERO_POINT, TPU_REG_INPUT_PLANE_ROWS))
		return 0;
	struct tpu_instruction in = again.in;
	if (in.opcode == TPU_CONVOLVE ? in.length > limit : again.plane_rows > b->buffer_rows - limit)
		return 0;
	if (in.opcode == TPU_MATRIX_MULTIPLY) {
		in.length = (uint32_t)builder_size(b, limit);
		again.rows = in.length;
		again.high = in.length - 1;
	}
	in.operand = (uint16_t)acc;
	in.flags &= (uint16_t) ~(TPU_MATRIX_SWITCH | TPU_MATRIX_ACCUMULATE);
	in.flags |= (uint16_t)((accumulate ? TPU_MATRIX_ACCUMULATE : 0) | switch_flag(b));
	emit_matrix(b, in, again.rows, again.low, again.high, again.plane_rows);
	return in.length;
}

int64_t action_matrix(struct builder *b, int64_t acc, int64_t most_vectors, bool accumulate)
{
	struct tpu_instruction in = {.opcode = TPU_MATRIX_MULTIPLY};
	int64_t maximum = most_vectors;
	unsigned flags = accumulate ? TPU_MATRIX_ACCUMULATE : 0;
	flags |= builder_chance(b, 50) ? TPU_MATRIX_UNSIGNED_INPUTS : 0;
	flags |= builder_chance(b, 50) ? TPU_MATRIX_UNSIGNED_WEIGHTS : 0;
	flags |= builder_chance(b, b->mood.inputs16_percent) ? TPU_MATRIX_INPUTS16 : 0;
	flags |= builder_chance(b, b->mood.high_weights_percent) ? TPU_MATRIX_HIGH_WEIGHTS : 0;
	if (acc < 0)
		acc = builder_range(b, 0, b->config.accumulator_rows - 1);
	maximum = least(least(maximum, b->buffer_rows), b->config.accumulator_rows - acc);
	int64_t repeated = repeat_matrix(b, acc, maximum, accumulate);
	if (repeated)
		return repeated;
	if (flags & TPU_MATRIX_INPUTS16)
		maximum = least(maximum, (b->buffer_rows + 1) / 2);
	in.operand = (uint16_t)acc;
	operand_registers(b, flags);
	in.flags = (uint16_t)(flags | switch_flag(b));
	if (builder_chance(b, b->mood.convolve_percent)) {
		int64_t rows = convolve(b, in, maximum);
		if (rows)
			return rows;
	}
	int64_t rows = builder_size(b, maximum);
	in.length = (uint32_t)rows;
	emit_matrix(b, in, rows, 0, rows - 1, -1);
	return rows;
}

void action_layer_group(struct builder *b)
{
	int64_t acc_rows = b->config.accumulator_rows, half = acc_rows / 2;
	int64_t rows = builder_size(b, least(b->mood.most_vectors, half > 0 ? half : 1));
	int64_t acc = builder_chance(b, 60) && b->block < half ? half : 0;
	if (builder_chance(b, 25))
		acc = builder_range(b, 0, acc_rows - rows);
	bool same = builder_chance(b, 70); /* all passes over the whole block */
	int64_t passes = builder_range(b, 1, 5), written = 0;
	for (int64_t i = 0; i < passes; i++) {
		int64_t from = same || i == 0 ? acc : acc + builder_range(b, 0, rows - 1);
		int64_t n = action_matrix(b, from, rows - (from - acc), i > 0 && !builder_chance(b, 5));
		written = n > written ? n : written;
	}
	b->block = acc;
	b->block_rows = written;
}
