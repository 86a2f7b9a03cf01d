/* SPDX-License-Identifier: MIT
 *
 * Systolic data setup: makes the row of bytes that enters the array from the unified buffer. For convolve it gathers
 * the taps of an output position, side by side, so that no patch is ever stored (US Patent 9,697,463 packs the taps of
 * a layer with few channels in this way). The skew that follows, r cycles for lane r, is in the matrix unit. */
#include "rtl.h"

#include <string.h>

static int64_t setting(const struct tpu_rtl_issued *issued, enum tpu_register r)
{
	return tpu_rtl_register(issued, r);
}

static int64_t signed_setting(const struct tpu_rtl_issued *issued, enum tpu_register r)
{
	return tpu_signed(&issued->registers, r);
}

/* An output position, and the input position of its first tap. */
struct position {
	int64_t image, y, x;
};

static struct position position_of(const struct tpu_rtl_issued *issued, int64_t output)
{
	int64_t height = setting(issued, TPU_REG_OUT_HEIGHT), width = setting(issued, TPU_REG_OUT_WIDTH);
	int64_t y = output / width % height, x = output % width;
	return (struct position){.image = output / (width * height),
				 .y = y * setting(issued, TPU_REG_STRIDE_Y) - signed_setting(issued, TPU_REG_PAD_TOP),
				 .x = x * setting(issued, TPU_REG_STRIDE_X) - signed_setting(issued, TPU_REG_PAD_LEFT)};
}

/* Returns the channels of one tap; NULL: it is outside the image. */
static const uint8_t *tap_at(const struct tpu_rtl_context *context, const struct tpu_rtl_issued *issued,
			     const struct tpu_rtl_tensor *tensor, struct position at, int64_t tap)
{
	int64_t kernel_width = setting(issued, TPU_REG_KERNEL_WIDTH);
	int64_t height = setting(issued, TPU_REG_IN_HEIGHT), width = setting(issued, TPU_REG_IN_WIDTH);
	int64_t y = at.y + tap / kernel_width * setting(issued, TPU_REG_DILATION_Y);
	int64_t x = at.x + tap % kernel_width * setting(issued, TPU_REG_DILATION_X);
	if (y < 0 || y >= height || x < 0 || x >= width)
		return NULL;
	return tpu_rtl_vector_at(context, tensor, (at.image * height + y) * width + x);
}

static void gather(const struct tpu_rtl_context *context, const struct tpu_rtl_issued *issued, int64_t vector,
		   int64_t plane_row, uint8_t *row)
{
	int64_t lanes = setting(issued, TPU_REG_TAP_LANES), taps = setting(issued, TPU_REG_TAPS);
	struct tpu_rtl_tensor tensor = {.base = issued->instruction.ub + plane_row,
					.pixel_lanes = setting(issued, TPU_REG_PIXEL_LANES),
					.row_pixels = setting(issued, TPU_REG_ROW_PIXELS),
					.lane = setting(issued, TPU_REG_FIRST_LANE)};
	struct position at = position_of(issued, setting(issued, TPU_REG_FIRST_OUTPUT) + vector);
	memset(row, (uint8_t)signed_setting(issued, TPU_REG_INPUT_ZERO_POINT), (size_t)context->config->rows);
	for (int64_t t = 0; t < taps; t++) {
		const uint8_t *from = tap_at(context, issued, &tensor, at, setting(issued, TPU_REG_FIRST_TAP) + t);
		if (from)
			memcpy(row + t * lanes, from, (size_t)lanes);
	}
}

void tpu_rtl_setup(const struct tpu_rtl_context *context, const struct tpu_rtl_issued *issued, int64_t k, uint8_t *row)
{
	int64_t per_vector = tpu_rtl_rows_per_vector(issued), vector = k / per_vector;
	int64_t plane_row = k % per_vector * setting(issued, TPU_REG_INPUT_PLANE_ROWS);
	size_t lanes = (size_t)context->config->rows;
	if (context->memory->timing_only)
		memset(row, 0, lanes);
	else if (issued->instruction.opcode == TPU_CONVOLVE)
		gather(context, issued, vector, plane_row, row);
	else
		memcpy(row,
		       context->memory->buffer +
			       (issued->instruction.ub + vector + plane_row) * tpu_row_bytes(context->config),
		       lanes);
}
