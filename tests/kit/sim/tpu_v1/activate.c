/* SPDX-License-Identifier: MIT
 *
 * Random activate instructions: see actions.h. */
#include <math.h>

#include "actions.h"

/* One activate being drawn. A tensor's rows are those of its vectors from the first on, in every plane. */
struct draw {
	bool from_buffer, raw, switches;
	enum tpu_operand operand;
	enum tpu_function function;
	enum tpu_pooling pooling;
	enum tpu_type source_type, operand_type, result_type;
	int32_t source_zero, operand_zero, result_zero;
	int64_t sources, results, acc;
	int64_t pixel_lanes, row_pixels, lane, columns, first_source, first_result;
};

struct axis {
	int64_t size, out, kernel, stride, pad;
};

static int64_t planes_of(enum tpu_type type)
{
	return type == TPU_I32 ? 4 : type == TPU_I16 ? 2 : 1;
}

static enum tpu_type draw_type(struct builder *b)
{
	return (enum tpu_type)builder_range(b, TPU_I8, TPU_I16);
}

static int32_t low_of(enum tpu_type type)
{
	return type == TPU_U8 ? 0 : type == TPU_I8 ? -128 : -32768;
}

static int32_t high_of(enum tpu_type type)
{
	return type == TPU_U8 ? 255 : type == TPU_I8 ? 127 : 32767;
}

static int32_t draw_zero(struct builder *b, enum tpu_type type)
{
	if (type == TPU_I16 || !builder_chance(b, b->mood.zero_point_percent))
		return 0;
	return (int32_t)builder_range(b, low_of(type), high_of(type));
}

/* Powers of two make ties for the rounding; others are as layers have them. */
static float draw_scale(struct builder *b, int least_exponent, int most_exponent)
{
	float scale = ldexpf(1, (int)builder_range(b, least_exponent, most_exponent));
	if (builder_chance(b, 60))
		scale *= 1 + (float)builder_range(b, 0, 0x7fffff) / (float)0x800000;
	if (builder_chance(b, 20))
		scale = -scale;
	if (b->mood.extreme_scales && builder_chance(b, 20)) {
		static const float extreme[] = {0, -0.0f, 0x1p96f, -0x1p96f, 1e-40f, 65536, 0x1.fffffep-2f, 0.5f};
		scale = extreme[builder_range(b, 0, 7)];
	}
	return scale;
}

static void draw_modes(struct builder *b, struct draw *d)
{
	d->from_buffer = builder_chance(b, b->mood.from_buffer_percent);
	d->raw = !d->from_buffer && builder_chance(b, b->mood.raw_percent);
	/* Scales come with a first table; raw results need none. */
	bool needs = !d->from_buffer && !d->raw && !b->tables_used;
	d->switches = needs || builder_chance(b, d->from_buffer ? 5 : 60);
	d->result_type = d->raw ? TPU_I32 : draw_type(b);
	if (d->raw)
		return;
	d->operand = builder_chance(b, 50) ? TPU_NO_OPERAND : (enum tpu_operand)builder_range(b, 1, 3);
	d->function = (enum tpu_function)builder_range(b, TPU_IDENTITY, TPU_TANH);
	d->pooling = builder_chance(b, b->mood.pooling_percent) ? (enum tpu_pooling)builder_range(b, 1, 3)
								: TPU_NO_POOLING;
	bool curve = d->function == TPU_SIGMOID || d->function == TPU_TANH;
	d->result_zero = draw_zero(b, d->result_type);
	d->source_type = d->operand ? draw_type(b) : curve ? TPU_I16 : d->result_type;
	d->source_zero = d->operand ? draw_zero(b, d->source_type) : curve ? 0 : d->result_zero;
	d->operand_type = draw_type(b);
	d->operand_zero = draw_zero(b, d->operand_type);
}

static void draw_layout(struct builder *b, struct draw *d)
{
	d->pixel_lanes = b->row_bytes;
	d->row_pixels = 1;
	if (builder_chance(b, b->mood.packed_percent)) {
		d->pixel_lanes = builder_size(b, b->row_bytes);
		d->row_pixels = b->row_bytes / d->pixel_lanes;
		if (builder_chance(b, 30))
			d->row_pixels = builder_range(b, 1, d->row_pixels);
	}
	d->lane = builder_chance(b, 70) ? 0 : builder_range(b, 0, d->pixel_lanes - 1);
	int64_t maximum = d->pixel_lanes - d->lane;
	if (maximum > b->config.columns)
		maximum = b->config.columns;
	d->columns = builder_chance(b, 50) ? maximum : builder_range(b, 1, maximum);
	d->first_source = builder_chance(b, 60) ? 0 : builder_range(b, 0, 9);
	d->first_result = builder_chance(b, 60) ? d->first_source : builder_range(b, 0, 9);
}

/* One axis of a pooling window, every position of which holds a tap inside. */
static struct axis draw_axis(struct builder *b)
{
	struct axis a = {.size = builder_range(b, 1, 7),
			 .kernel = builder_range(b, 1, builder_chance(b, 20) ? 7 : 3),
			 .stride = builder_range(b, 1, 3)};
	a.pad = builder_range(b, builder_chance(b, 15) ? 1 - a.size : 0, a.kernel - 1);
	int64_t maximum = (a.size - 1 + a.pad) / a.stride + 1;
	a.out = builder_chance(b, 60) ? maximum : builder_range(b, 1, maximum);
	return a;
}

/* How many vectors there are, and the window over them. False: more than the machine holds. */
static bool draw_vectors(struct builder *b, struct draw *d, bool block)
{
	int64_t maximum = b->mood.most_vectors, room = b->config.accumulator_rows;
	if (!d->pooling) {
		if (d->from_buffer)
			room = b->buffer_rows * d->row_pixels;
		d->sources = block && !d->from_buffer ? builder_range(b, 1, b->block_rows)
						      : builder_size(b, maximum < room ? maximum : room);
		d->results = d->sources;
		return true;
	}
	struct axis y = draw_axis(b), x = draw_axis(b);
	int64_t images = builder_range(b, 1, 3);
	d->sources = images * y.size * x.size;
	d->results = images * y.out * x.out;
	if (!d->from_buffer && d->sources > room)
		return false;
	builder_set(b, TPU_REG_IN_HEIGHT, (uint32_t)y.size);
	builder_set(b, TPU_REG_IN_WIDTH, (uint32_t)x.size);
	builder_set(b, TPU_REG_OUT_HEIGHT, (uint32_t)y.out);
	builder_set(b, TPU_REG_OUT_WIDTH, (uint32_t)x.out);
	builder_set(b, TPU_REG_KERNEL_HEIGHT, (uint32_t)y.kernel);
	builder_set(b, TPU_REG_KERNEL_WIDTH, (uint32_t)x.kernel);
	builder_set(b, TPU_REG_STRIDE_Y, (uint32_t)y.stride);
	builder_set(b, TPU_REG_STRIDE_X, (uint32_t)x.stride);
	builder_set(b, TPU_REG_DILATION_Y, 1);
	builder_set(b, TPU_REG_DILATION_X, 1);
	builder_set(b, TPU_REG_PAD_TOP, (uint32_t)(int32_t)y.pad);
	builder_set(b, TPU_REG_PAD_LEFT, (uint32_t)(int32_t)x.pad);
	return true;
}

/* A tensor's place: base row and rows from plane to plane. */
struct place {
	int64_t base, plane_rows;
};

/* Somewhere for vectors first .. first + count - 1 in so many planes, and its footprint. False: no room. */
static bool draw_place(struct builder *b, const struct draw *d, int64_t first, int64_t count, int64_t planes,
		       bool writes, struct place *place, struct builder_footprint *f)
{
	int64_t low = first / d->row_pixels, high = (first + count - 1) / d->row_pixels, rows = high + 1;
	if (planes * rows > b->buffer_rows)
		return false;
	int64_t slack = planes > 1 ? (b->buffer_rows - rows) / (planes - 1) - rows : 0;
	place->plane_rows = rows + (slack > 0 && builder_chance(b, 30) ? builder_range(b, 0, slack) : 0);
	place->base = action_rows(b, TPU_ACTIVATION, (planes - 1) * place->plane_rows + rows, writes);
	if (place->base + (planes - 1) * place->plane_rows + rows > b->buffer_rows)
		place->base = b->buffer_rows - (planes - 1) * place->plane_rows - rows;
	for (int64_t p = 0; p < planes; p++)
		builder_touches(f, place->base + p * place->plane_rows + low, high - low + 1, writes, false);
	return true;
}

/* Whether one of these tensors would be written where the other is read. */
static bool clash(const struct builder_footprint *read, const struct builder_footprint *written)
{
	for (int i = 0; i < read->touches; i++)
		for (int j = 0; j < written->touches; j++) {
			const struct builder_touch *r = read->touch + i, *w = written->touch + j;
			if (r->first < w->first + w->count && w->first < r->first + r->count)
				return true;
		}
	return false;
}

static bool same_place(const struct place *a, const struct place *b, int64_t planes)
{
	return a->base == b->base && (planes == 1 || a->plane_rows == b->plane_rows);
}

/* Source, operand and result. The result takes the place of another or lies clear of it. */
static bool draw_places(struct builder *b, struct draw *d, struct place place[3], struct builder_footprint *f)
{
	int64_t planes[3] = {planes_of(d->source_type), planes_of(d->operand_type), planes_of(d->result_type)};
	bool used[3] = {d->from_buffer, d->operand >= TPU_ADD, true};
	bool over = !d->pooling && d->first_source == d->first_result && builder_chance(b, 30);
	for (int tries = 0; tries < 6; tries++) {
		struct builder_footprint part[3] = {0};
		bool ok = true;
		for (int i = 0; i < 3; i++)
			if (used[i] &&
			    !draw_place(b, d, i == 2 ? d->first_result : d->first_source,
					i == 2 ? d->results : d->sources, planes[i], i == 2, place + i, part + i))
				return false;
		for (int i = 0; i < 2 && over; i++)
			if (used[i] && planes[i] == planes[2]) {
				place[2] = place[i];
				for (int t = 0; t < part[2].touches; t++)
					part[2].touch[t].first = part[i].touch[t].first;
			}
		for (int i = 0; i < 2; i++)
			ok = ok && !(used[i] && clash(part + i, part + 2) &&
				     !(over && planes[i] == planes[2] && same_place(place + i, place + 2, planes[2])));
		if (!ok)
			continue;
		*f = (struct builder_footprint){0};
		for (int i = 0; i < 3; i++)
			for (int t = 0; t < part[i].touches; t++)
				f->touch[f->touches++] = part[i].touch[t];
		return true;
	}
	return false;
}

static void set_registers(struct builder *b, const struct draw *d, const struct place place[3])
{
	builder_set(b, TPU_REG_RESULT_TYPE, d->result_type);
	builder_set(b, TPU_REG_RESULT_PIXEL_LANES, (uint32_t)d->pixel_lanes);
	builder_set(b, TPU_REG_RESULT_ROW_PIXELS, (uint32_t)d->row_pixels);
	builder_set(b, TPU_REG_RESULT_LANE, (uint32_t)d->lane);
	builder_set(b, TPU_REG_RESULT_COLUMNS, (uint32_t)d->columns);
	builder_set(b, TPU_REG_FIRST_RESULT, (uint32_t)d->first_result);
	if (planes_of(d->result_type) > 1)
		builder_set(b, TPU_REG_RESULT_PLANE_ROWS, (uint32_t)place[2].plane_rows);
	if (d->raw)
		return;
	builder_set(b, TPU_REG_RESULT_ZERO_POINT, (uint32_t)d->result_zero);
	builder_set(b, TPU_REG_SOURCE_TYPE, d->source_type);
	builder_set(b, TPU_REG_SOURCE_ZERO_POINT, (uint32_t)d->source_zero);
	if (d->from_buffer || d->operand >= TPU_ADD)
		builder_set(b, TPU_REG_FIRST_SOURCE, (uint32_t)d->first_source);
	if (d->from_buffer) {
		builder_set(b, TPU_REG_SOURCE, (uint32_t)place[0].base);
		if (d->source_type == TPU_I16)
			builder_set(b, TPU_REG_SOURCE_PLANE_ROWS, (uint32_t)place[0].plane_rows);
	}
	if (d->operand)
		builder_set_float(b, TPU_REG_SOURCE_SCALE, draw_scale(b, d->operand == TPU_MULTIPLY ? -12 : -4, 3));
	if (d->operand >= TPU_ADD) {
		builder_set(b, TPU_REG_OPERAND, (uint32_t)place[1].base);
		builder_set(b, TPU_REG_OPERAND_TYPE, d->operand_type);
		builder_set(b, TPU_REG_OPERAND_ZERO_POINT, (uint32_t)d->operand_zero);
		if (d->operand_type == TPU_I16)
			builder_set(b, TPU_REG_OPERAND_PLANE_ROWS, (uint32_t)place[1].plane_rows);
	}
	if (d->operand == TPU_ADD)
		builder_set_float(b, TPU_REG_OPERAND_SCALE, draw_scale(b, -4, 3));
	if (d->function == TPU_SIGMOID || d->function == TPU_TANH)
		builder_set_float(b, TPU_REG_FUNCTION_SCALE, draw_scale(b, d->result_type == TPU_I16 ? -3 : -9, 1));
	if (d->function == TPU_RELU6)
		builder_set(b, TPU_REG_RELU6_LIMIT,
			    (uint32_t)(int32_t)builder_range(b, low_of(d->result_type), high_of(d->result_type)));
}

static void ask_table(struct builder *b, const struct draw *d)
{
	if (!d->switches)
		return;
	if (b->tables_asked <= b->tables_used && !builder_chance(b, b->mood.late_percent))
		action_read_weights(b, true);
	b->tables_used++;
}

/* The activate before once more, on other accumulators and to other rows. False: not possible. */
static bool repeat_activate(struct builder *b, bool block)
{
	const struct builder_again *again = &b->activate_again;
	struct tpu_instruction in = again->in;
	bool window = tpu_pooling_of(in.flags) != TPU_NO_POOLING;
	if (!builder_steady(b, again, TPU_REG_SOURCE, TPU_REG_RELU6_LIMIT) ||
	    (window && !builder_steady(b, again, TPU_REG_IN_HEIGHT, TPU_REG_PAD_LEFT)))
		return false;
	struct builder_footprint f = {0};
	int64_t first = b->registers.value[TPU_REG_FIRST_RESULT] / again->row_pixels;
	int64_t high = (b->registers.value[TPU_REG_FIRST_RESULT] + again->results - 1) / again->row_pixels;
	int64_t rows = (again->planes - 1) * again->plane_rows + high + 1;
	if (rows > b->buffer_rows)
		return false;
	int64_t base = action_rows(b, TPU_ACTIVATION, rows, true);
	for (int64_t p = 0; p < again->planes; p++)
		builder_touches(&f, base + p * again->plane_rows + first, high - first + 1, true, false);
	int64_t last = b->config.accumulator_rows - in.length;
	in.operand = (uint16_t)(block && b->block <= last ? b->block : builder_range(b, 0, last));
	in.ub = (uint32_t)base;
	struct draw d = {.switches = !b->tables_used || builder_chance(b, 50)};
	in.flags &= (uint16_t)~TPU_ACTIVATE_SWITCH;
	in.flags |= d.switches ? TPU_ACTIVATE_SWITCH : 0;
	ask_table(b, &d);
	builder_order(b, TPU_ACTIVATION, &f);
	builder_emit(b, in, &f);
	return true;
}

void action_activate(struct builder *b, bool block)
{
	struct draw d = {0};
	struct place place[3] = {0};
	struct builder_footprint f;
	block = block && b->block_rows;
	if (repeat_activate(b, block))
		return;
	draw_modes(b, &d);
	draw_layout(b, &d);
	if (!draw_vectors(b, &d, block) || !draw_places(b, &d, place, &f)) {
		b->stuck = true;
		return;
	}
	int64_t last = b->config.accumulator_rows - d.sources;
	if (!d.from_buffer)
		d.acc = block && b->block <= last ? b->block : builder_range(b, 0, last);
	ask_table(b, &d);
	set_registers(b, &d, place);
	builder_order(b, TPU_ACTIVATION, &f);
	unsigned flags = (d.from_buffer ? TPU_ACTIVATE_FROM_BUFFER : 0u) | (d.switches ? TPU_ACTIVATE_SWITCH : 0u) |
			 TPU_WITH_OPERAND(d.operand) | TPU_WITH_FUNCTION(d.function) | TPU_WITH_POOLING(d.pooling);
	struct tpu_instruction in = {.opcode = TPU_ACTIVATE,
				     .flags = (uint16_t)flags,
				     .ub = (uint32_t)place[2].base,
				     .operand = (uint16_t)d.acc,
				     .length = (uint32_t)d.sources};
	builder_emit(b, in, &f);
	b->activate_again = (struct builder_again){0};
	if (!b->stuck && !d.from_buffer && d.operand < TPU_ADD)
		b->activate_again = (struct builder_again){.in = in,
							   .registers = b->registers,
							   .plane_rows = place[2].plane_rows,
							   .results = d.results,
							   .row_pixels = d.row_pixels,
							   .planes = planes_of(d.result_type)};
	b->result = place[2].base + d.first_result / d.row_pixels;
	b->result_rows = (d.first_result + d.results - 1) / d.row_pixels - d.first_result / d.row_pixels + 1;
}
