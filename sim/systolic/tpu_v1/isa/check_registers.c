/* SPDX-License-Identifier: MIT
 *
 * Functions that the checks of instructions share (check_impl.h): the ranges of registers, layouts, windows and
 * rows. */
#include "check_impl.h"

#include <math.h>

int tpu_check_register(struct tpu_check *check, enum tpu_register r, int64_t low, int64_t high)
{
	int64_t value = tpu_register_value(check, r);
	if (value >= low && value <= high)
		return 0;
	return tpu_refuse(check, "the register %s is %lld, expected %lld to %lld", tpu_register_names[r],
			  (long long)value, (long long)low, (long long)high);
}

bool tpu_scale_ok(float scale)
{
	return fabsf(scale) <= TPU_MAX_SCALE; /* false for a NaN */
}

int tpu_check_scale(struct tpu_check *check, enum tpu_register r)
{
	float scale = tpu_float(&check->registers, r);
	if (tpu_scale_ok(scale))
		return 0;
	return tpu_refuse(check, "the register %s is %g, expected a number from -2^96 to 2^96", tpu_register_names[r],
			  (double)scale);
}

int tpu_check_zero_point(struct tpu_check *check, enum tpu_register r, enum tpu_type type)
{
	static const int64_t low[TPU_TYPES] = {[TPU_I8] = -128}, high[TPU_TYPES] = {[TPU_I8] = 127, [TPU_U8] = 255};
	int64_t value = tpu_register_value(check, r);
	if (value >= low[type] && value <= high[type])
		return 0;
	return tpu_refuse(check, "the register %s is %lld, expected %lld to %lld: the type is %s",
			  tpu_register_names[r], (long long)value, (long long)low[type], (long long)high[type],
			  tpu_type_names[type]);
}

int tpu_check_layout(struct tpu_check *check, enum tpu_register pixel_lanes, enum tpu_register row_pixels,
		     enum tpu_register first_lane, int64_t lanes)
{
	int64_t width = tpu_row_bytes(check->config), l = tpu_register_value(check, pixel_lanes);
	if (tpu_check_register(check, pixel_lanes, 1, width) || tpu_check_register(check, row_pixels, 1, width / l))
		return check->err->code;
	int64_t first = tpu_register_value(check, first_lane);
	if (first + lanes > l)
		return tpu_refuse(check,
				  "lanes %lld to %lld of each vector, expected at most %lld: the register %s is %lld",
				  (long long)first, (long long)(first + lanes - 1), (long long)l - 1,
				  tpu_register_names[pixel_lanes], (long long)l);
	return 0;
}

int tpu_check_window(struct tpu_check *check, bool dilated)
{
	enum { LARGEST = 65535 }; /* keeps positions within 32 bits */
	for (enum tpu_register r = TPU_REG_IN_HEIGHT; r <= TPU_REG_STRIDE_X; r++)
		if (tpu_check_register(check, r, 1, LARGEST))
			return check->err->code;
	for (enum tpu_register r = TPU_REG_DILATION_Y; r <= TPU_REG_DILATION_X; r++)
		if (tpu_check_register(check, r, 1, dilated ? LARGEST : 1))
			return check->err->code;
	for (enum tpu_register r = TPU_REG_PAD_TOP; r <= TPU_REG_PAD_LEFT; r++)
		if (tpu_check_register(check, r, -LARGEST, LARGEST))
			return check->err->code;
	return 0;
}

int tpu_check_accumulators(struct tpu_check *check, const char *does)
{
	int64_t first = check->instruction->operand, end = first + check->instruction->length;
	if (end > check->config->accumulator_rows)
		return tpu_refuse(check, "%s accumulator rows %lld to %lld, expected at most %lld", does,
				  (long long)first, (long long)end - 1, (long long)check->config->accumulator_rows - 1);
	return 0;
}

void tpu_check_note(struct tpu_check *check, bool in_host, bool writes, int64_t first, int64_t end)
{
	check->access[check->n_accesses++] = (struct tpu_access){in_host, writes, first, end};
}

int tpu_check_rows(struct tpu_check *check, bool writes, int64_t first, int64_t end, int planes, int64_t plane_rows)
{
	int64_t size = tpu_buffer_size_rows(check->config);
	if (end <= first)
		return 0;
	for (int p = 0; p < planes; p++) {
		int64_t from = tpu_saturating_sum(first, p * plane_rows), to = tpu_saturating_sum(end, p * plane_rows);
		if (to > size)
			return tpu_refuse(check, "%s rows %lld to %lld of the unified buffer, expected at most %lld",
					  writes ? "writes" : "reads", (long long)from, (long long)to - 1,
					  (long long)size - 1);
		tpu_check_note(check, false, writes, from, to);
	}
	return 0;
}
