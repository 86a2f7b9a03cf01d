/* SPDX-License-Identifier: MIT
 *
 * Vectors in the unified buffer: finds the place of a vector, and moves its elements from and to planes of bytes. */
#include "rtl.h"

uint8_t *tpu_rtl_vector_at(const struct tpu_rtl_context *context, const struct tpu_rtl_tensor *tensor, int64_t vector)
{
	int64_t row = tensor->base + vector / tensor->row_pixels;
	int64_t lane = vector % tensor->row_pixels * tensor->pixel_lanes + tensor->lane;
	return context->memory->buffer + row * tpu_row_bytes(context->config) + lane;
}

static int32_t as_signed(uint8_t byte)
{
	return byte < 128 ? byte : byte - 256;
}

void tpu_rtl_read_vector(const struct tpu_rtl_context *context, const struct tpu_rtl_tensor *tensor, int64_t vector,
			 int64_t count, int32_t *element)
{
	const uint8_t *low = tpu_rtl_vector_at(context, tensor, vector);
	const uint8_t *high = low + tensor->plane_rows * tpu_row_bytes(context->config);
	for (int64_t j = 0; j < count; j++)
		switch (tensor->type) {
		case TPU_I8:
			element[j] = as_signed(low[j]);
			break;
		case TPU_U8:
			element[j] = low[j];
			break;
		default:
			element[j] = as_signed(high[j]) * 256 + low[j];
			break;
		}
}

void tpu_rtl_write_vector(const struct tpu_rtl_context *context, const struct tpu_rtl_tensor *tensor, int64_t vector,
			  int64_t count, const int32_t *element)
{
	uint8_t *plane = tpu_rtl_vector_at(context, tensor, vector);
	for (int p = 0; p < tpu_planes(tensor->type); p++) {
		for (int64_t j = 0; j < count; j++)
			plane[j] = (uint8_t)((uint32_t)element[j] >> (8 * p));
		plane += tensor->plane_rows * tpu_row_bytes(context->config);
	}
}

uint64_t tpu_rtl_vector_toggles(struct tpu_rtl_context *context, enum tpu_rtl_port port,
				const struct tpu_rtl_tensor *tensor, int64_t vector, int64_t count)
{
	const uint8_t *plane = tpu_rtl_vector_at(context, tensor, vector);
	uint64_t toggles = 0;
	for (int p = 0; p < tpu_planes(tensor->type); p++, plane += tensor->plane_rows * tpu_row_bytes(context->config))
		toggles += tpu_rtl_toggles(context, port, p, plane, count);
	return toggles;
}
