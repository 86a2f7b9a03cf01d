/* SPDX-License-Identifier: MIT
 *
 * Transfers of tensors between the unified buffer and host memory. In host memory a tensor is dense, channels last,
 * with the low bytes of all elements before the high ones. A row of the buffer holds some whole vectors or a part of
 * one; the stride of a transfer in host memory is the distance from row to row there. */
#include "impl.h"

/* A transfer of consecutive vectors, with the channels of one block. */
struct transfer {
	const struct tpu_gen_allocation *allocation;
	int64_t row;     /* the block's first row in the buffer */
	int64_t address; /* host address of the first vector's first channel in the block */
	int64_t vectors, channels;
	int64_t pixel_bytes, plane_bytes; /* bytes from pixel to pixel and from plane to plane in host memory */
	bool in;
};

static void transfer_rows(struct tpu_gen *gen, const struct transfer *t, int64_t row, int64_t address, int64_t count,
			  int64_t bytes, int64_t stride)
{
	if (!count)
		return;
	tpu_gen_set(gen, TPU_REG_HOST_ADDRESS, address);
	tpu_gen_set(gen, TPU_REG_HOST_ROW_BYTES, bytes);
	tpu_gen_set(gen, TPU_REG_HOST_STRIDE, stride);
	tpu_gen_touch(gen, true, !t->in, address, address + (count - 1) * stride + bytes);
	tpu_gen_touch(gen, false, t->in, row, row + count);
	tpu_gen_add(gen, t->in ? TPU_READ_HOST_MEMORY : TPU_WRITE_HOST_MEMORY, 0, row, 0, count);
	gen->transferred += (uint64_t)(count * bytes);
}

/* Transfers rows that hold several vectors as they are, and the last row with the vectors that are left. */
static void transfer_planes(struct tpu_gen *gen, const struct transfer *t)
{
	int64_t per_row = t->allocation->row_pixels;
	for (int p = 0; p < t->allocation->planes; p++) {
		int64_t row = t->row + p * t->allocation->plane_rows, address = t->address + p * t->plane_bytes;
		int64_t full = t->vectors / per_row, last_vectors = t->vectors % per_row;
		transfer_rows(gen, t, row, address, full, per_row * t->channels, per_row * t->pixel_bytes);
		transfer_rows(gen, t, row + full, address + full * per_row * t->pixel_bytes, last_vectors > 0,
			      last_vectors * t->channels, t->pixel_bytes);
	}
}

void tpu_gen_transfer(struct tpu_gen *gen, int s, const struct tpu_gen_allocation *allocation, int64_t first_block,
		      int64_t blocks, bool in)
{
	const struct tpu_gen_store *store = &gen->store[s];
	const struct npl_image *image = &store->image;
	int64_t channels = image->channels, pixels = image->size[0] * image->size[1];
	bool wide = allocation->width == image->size[1], tall = wide && allocation->height == image->size[0];
	int64_t lines = tall ? 1 : wide ? allocation->images : allocation->images * allocation->height;
	int64_t vectors = allocation->images * allocation->height * allocation->width / lines;
	for (int64_t b = first_block; b < first_block + blocks && b * gen->width < channels; b++)
		for (int64_t i = 0; i < lines; i++) {
			int64_t n = allocation->first_image + (wide ? i : i / allocation->height),
				y = allocation->first_row + (wide ? 0 : i % allocation->height);
			int64_t first = (n * image->size[0] + y) * image->size[1] + allocation->first_column;
			int64_t channels_left = channels - b * gen->width;
			struct transfer t = {
				.allocation = allocation,
				.row = allocation->base +
				       (b - first_block) * allocation->planes * allocation->plane_rows +
				       i * vectors / allocation->row_pixels,
				.address = store->host_address + first * channels + b * gen->width,
				.vectors = vectors,
				.channels = channels_left < gen->width ? channels_left : gen->width,
				.pixel_bytes = channels,
				.plane_bytes = image->images * pixels * channels,
				.in = in,
			};
			transfer_planes(gen, &t);
		}
}
