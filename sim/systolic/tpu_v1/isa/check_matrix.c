/* SPDX-License-Identifier: MIT
 *
 * Rules of matrix_multiply and convolve (docs/tpu-isa.md), and which rows of the unified buffer they read. */
#include "check_impl.h"

#include "core/base/arith.h"

static int check_operands(struct tpu_check *check)
{
	unsigned flags = check->instruction->flags;
	bool wide = flags & TPU_MATRIX_INPUTS16;
	if (wide && tpu_register_value(check, TPU_REG_INPUT_ZERO_POINT))
		return tpu_refuse(check, "the register input_zero_point is %lld, expected 0 with inputs16",
				  (long long)tpu_register_value(check, TPU_REG_INPUT_ZERO_POINT));
	if (tpu_check_zero_point(check, TPU_REG_INPUT_ZERO_POINT,
				 flags & TPU_MATRIX_UNSIGNED_INPUTS ? TPU_U8 : TPU_I8) ||
	    tpu_check_zero_point(check, TPU_REG_WEIGHT_ZERO_POINT,
				 flags & TPU_MATRIX_UNSIGNED_WEIGHTS ? TPU_U8 : TPU_I8) ||
	    tpu_check_register(check, TPU_REG_USEFUL_CELLS, 0, check->config->rows * check->config->columns) ||
	    tpu_check_accumulators(check, "writes"))
		return check->err->code;
	if (flags & TPU_MATRIX_SWITCH) {
		if (check->tile_switches == check->tiles)
			return tpu_refuse(check,
					  "switches to tile %lld, but the program reads %lld: expected a read_weights "
					  "for each switch",
					  (long long)check->tile_switches + 1, (long long)check->tiles);
		check->tile_switches++;
	} else if (!check->tile_switches) {
		return tpu_refuse(check, "no weights in the array yet, expected the flag `switch`");
	}
	return 0;
}

/* Along one axis: input positions low <= i <= high that output positions first to last read with taps first to last;
 * low > high: all are outside. Positions in between count as touched. */
struct range {
	int64_t low, high;
};
static struct range touched(struct range out, struct range tap, int64_t stride, int64_t dilation, int64_t pad,
			    int64_t size)
{
	return (struct range){npl_max_i64(0, out.low * stride + tap.low * dilation - pad),
			      npl_min_i64(size - 1, out.high * stride + tap.high * dilation - pad)};
}

/* Returns the vectors of one image that its output positions first to last read. */
static struct range touched_of_image(const struct tpu_check *check, int64_t first, int64_t last)
{
	int64_t width = tpu_register_value(check, TPU_REG_OUT_WIDTH),
		kernel_width = tpu_register_value(check, TPU_REG_KERNEL_WIDTH);
	int64_t first_tap = tpu_register_value(check, TPU_REG_FIRST_TAP),
		last_tap = first_tap + tpu_register_value(check, TPU_REG_TAPS) - 1;
	struct range y = {first / width, last / width}, x = {first % width, last % width};
	struct range ky = {first_tap / kernel_width, last_tap / kernel_width};
	struct range kx = {first_tap % kernel_width, last_tap % kernel_width};
	if (y.low != y.high)
		x = (struct range){0, width - 1};
	if (ky.low != ky.high)
		kx = (struct range){0, kernel_width - 1};
	struct range iy = touched(
		y, ky, tpu_register_value(check, TPU_REG_STRIDE_Y), tpu_register_value(check, TPU_REG_DILATION_Y),
		tpu_register_value(check, TPU_REG_PAD_TOP), tpu_register_value(check, TPU_REG_IN_HEIGHT));
	struct range ix = touched(
		x, kx, tpu_register_value(check, TPU_REG_STRIDE_X), tpu_register_value(check, TPU_REG_DILATION_X),
		tpu_register_value(check, TPU_REG_PAD_LEFT), tpu_register_value(check, TPU_REG_IN_WIDTH));
	int64_t in_width = tpu_register_value(check, TPU_REG_IN_WIDTH);
	if (iy.low > iy.high || ix.low > ix.high)
		return (struct range){0, -1};
	return (struct range){iy.low * in_width + ix.low, iy.high * in_width + ix.high};
}

/* Returns the vectors of the input tensor from the first to the last one that is read. Images between two others count
 * as a whole. */
static struct range touched_vectors(const struct tpu_check *check, int64_t image_outputs, int64_t image_inputs)
{
	int64_t first = tpu_register_value(check, TPU_REG_FIRST_OUTPUT), last = first + check->instruction->length - 1;
	int64_t first_image = first / image_outputs, last_image = last / image_outputs;
	first %= image_outputs;
	last %= image_outputs;
	struct range in_first = touched_of_image(check, first, first_image == last_image ? last : image_outputs - 1);
	struct range in_last = first_image == last_image ? in_first : touched_of_image(check, 0, last);
	if (in_first.low > in_first.high) /* at the earliest in the next image, at the latest in the one before */
		in_first.low = image_inputs;
	return (struct range){first_image * image_inputs + in_first.low, last_image * image_inputs + in_last.high};
}

static int check_taps(struct tpu_check *check)
{
	int64_t rows = check->config->rows, kernel;
	kernel = tpu_register_value(check, TPU_REG_KERNEL_HEIGHT) * tpu_register_value(check, TPU_REG_KERNEL_WIDTH);
	if (tpu_check_register(check, TPU_REG_TAP_LANES, 1, rows) ||
	    tpu_check_register(check, TPU_REG_TAPS, 1, rows / tpu_register_value(check, TPU_REG_TAP_LANES)) ||
	    tpu_check_register(check, TPU_REG_FIRST_TAP, 0, kernel - 1))
		return check->err->code;
	int64_t last = tpu_register_value(check, TPU_REG_FIRST_TAP) + tpu_register_value(check, TPU_REG_TAPS) - 1;
	if (last >= kernel)
		return tpu_refuse(check, "taps %lld to %lld, expected at most %lld: the kernel has %lld",
				  (long long)tpu_register_value(check, TPU_REG_FIRST_TAP), (long long)last,
				  (long long)kernel - 1, (long long)kernel);
	return 0;
}

static int check_convolve(struct tpu_check *check, int planes, int64_t plane_rows)
{
	enum { LOG_MAX = 32 }; /* keeps the number of any vector far below 64 bits */
	if (tpu_check_window(check, true) || check_taps(check) ||
	    tpu_check_layout(check, TPU_REG_PIXEL_LANES, TPU_REG_ROW_PIXELS, TPU_REG_FIRST_LANE,
			     tpu_register_value(check, TPU_REG_TAP_LANES)))
		return check->err->code;
	int64_t image_outputs = tpu_register_value(check, TPU_REG_OUT_HEIGHT) *
				tpu_register_value(check, TPU_REG_OUT_WIDTH);
	int64_t image_inputs = tpu_register_value(check, TPU_REG_IN_HEIGHT) *
			       tpu_register_value(check, TPU_REG_IN_WIDTH);
	int64_t images = (tpu_register_value(check, TPU_REG_FIRST_OUTPUT) + check->instruction->length - 1) /
				 image_outputs +
			 1;
	if (images > ((int64_t)1 << LOG_MAX) / image_inputs)
		return tpu_refuse(check, "reaches image %lld of %lld vectors each, expected at most 2^%d vectors",
				  (long long)images - 1, (long long)image_inputs, LOG_MAX);
	struct range vectors = touched_vectors(check, image_outputs, image_inputs);
	int64_t per_row = tpu_register_value(check, TPU_REG_ROW_PIXELS), base = check->instruction->ub;
	if (vectors.low > vectors.high)
		return 0;
	return tpu_check_rows(check, false, base + vectors.low / per_row, base + vectors.high / per_row + 1, planes,
			      plane_rows);
}

int tpu_check_matrix(struct tpu_check *check)
{
	bool wide = check->instruction->flags & TPU_MATRIX_INPUTS16;
	int64_t plane_rows = tpu_register_value(check, TPU_REG_INPUT_PLANE_ROWS), first = check->instruction->ub;
	int planes = wide ? 2 : 1;
	if (check_operands(check))
		return check->err->code;
	if (check->instruction->opcode == TPU_CONVOLVE)
		return check_convolve(check, planes, plane_rows);
	return tpu_check_rows(check, false, first, first + check->instruction->length, planes, plane_rows);
}
