/* SPDX-License-Identifier: MIT
 *
 * Finds where given, wanted and other tensors are kept, and moves elements between a tensor's own order (image,
 * channel, row, column) and the order of the memories. */
#include <stdlib.h>
#include <string.h>

#include "impl.h"
#include "transpose.h"

/* Fills in the extents of a value in the buffer, and of its pieces in host memory. Returns their number; -1: out of
 * memory. */
static int extents_of(struct tpu_gen *gen, int v, struct tpu_extent *out)
{
	const struct tpu_gen_value *value = &gen->value[v];
	struct tpu_gen_extent *extent;
	int n = 0, count = 0;
	int64_t channel = 0;
	for (int p = 0; p < value->n_pieces; p++) {
		const struct tpu_gen_piece *piece = &value->piece[p];
		const struct tpu_gen_store *store = &gen->store[piece->store];
		int64_t vectors = store->image.images * store->image.size[0] * store->image.size[1];
		if (store->staged_in_parts || store->staged_in_strips)
			out[count++] = (struct tpu_extent){.first = channel,
							   .channels = piece->channels,
							   .in_host = true,
							   .host_address = store->host_address + piece->first,
							   .pixel_bytes = store->image.channels,
							   .plane_bytes = vectors * store->image.channels};
		channel += piece->channels;
	}
	if (tpu_gen_extents(gen, v, &extent, &n))
		return -1;
	for (int i = 0; i < n; i++) {
		const struct tpu_gen_store *store = &gen->store[extent[i].store];
		if (store->staged_in_parts || store->staged_in_strips)
			continue;
		const struct tpu_gen_allocation *allocation = &gen->allocation[extent[i].allocation];
		out[count++] = (struct tpu_extent){.first = extent[i].first,
						   .channels = extent[i].channels,
						   .row = allocation->base +
							  extent[i].block * allocation->planes * allocation->plane_rows,
						   .plane_rows = allocation->plane_rows,
						   .pixel_lanes = allocation->pixel_lanes,
						   .row_pixels = allocation->row_pixels,
						   .lane = extent[i].lane};
	}
	return count;
}

static bool is_location(const struct tpu_gen *gen, int v)
{
	const struct tpu_gen_value *value = &gen->value[v];
	bool absent = value->nested;
	for (int p = 0; p < value->n_pieces && !absent; p++)
		absent |= gen->store[value->piece[p].store].absent;
	return value->tensor && !absent;
}

/* Says whether all that a group wrote to the store stays until group `last` is done. Parts of a batch that take the
 * same rows one after the other are never there together. */
static bool remains_until(const struct tpu_gen *gen, const struct tpu_gen_store *store, int last)
{
	if (store->staged_in_strips)
		return true;
	const struct tpu_gen_allocation *allocation = &gen->allocation[store->allocation];
	return !store->staged_in_parts && (allocation->span < 0 || allocation->all_images) &&
	       allocation->held_to >= last;
}

/* Returns the instruction after which the whole value is there; -1: it is given, or some pieces may be overwritten
 * before the last one is made. */
static int64_t instruction_completing(const struct tpu_gen *gen, const struct tpu_gen_value *value)
{
	int64_t complete_after = -1;
	int last = -1;
	for (int p = 0; p < value->n_pieces; p++) {
		int maker = gen->store[value->piece[p].store].maker;
		last = maker > last ? maker : last;
	}
	for (int p = 0; p < value->n_pieces; p++) {
		const struct tpu_gen_store *store = &gen->store[value->piece[p].store];
		if (store->maker < 0 || !remains_until(gen, store, last))
			return -1;
		complete_after = gen->group[store->maker].last_instruction > complete_after
					 ? gen->group[store->maker].last_instruction
					 : complete_after;
	}
	return complete_after;
}

static int by_tensor(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t)(*(const struct tpu_location *const *)a)->tensor;
	const uintptr_t y = (uintptr_t)(*(const struct tpu_location *const *)b)->tensor;
	return (x > y) - (x < y);
}

int tpu_gen_locations(struct tpu_gen *gen)
{
	struct tpu_generated *g = gen->generated;
	size_t extents = 0, locations = 0;
	for (int v = 0; v < gen->n_values; v++) {
		locations += is_location(gen, v);
		for (int p = 0; p < gen->value[v].n_pieces && is_location(gen, v); p++)
			extents += 3 + (size_t)(gen->value[v].piece[p].channels / gen->width);
	}
	g->location = calloc(locations + 1, sizeof *g->location);
	g->extents = calloc(extents + 1, sizeof *g->extents);
	g->by_tensor = calloc(locations + 1, sizeof *g->by_tensor);
	if (!g->location || !g->extents || !g->by_tensor)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the places of %zu tensors", locations);
	struct tpu_extent *next = g->extents;
	for (int v = 0; v < gen->n_values; v++) {
		const struct tpu_gen_value *value = &gen->value[v];
		if (!is_location(gen, v))
			continue;
		int n = extents_of(gen, v, next);
		if (n < 0)
			return NPL_ENOMEM;
		g->location[g->n_locations++] = (struct tpu_location){
			.tensor = value->tensor,
			.is_input = !value->computed,
			.is_output = value->is_output,
			.complete_after = instruction_completing(gen, value),
			.images = value->image.images,
			.channels = value->image.channels,
			.height = value->image.size[0],
			.width = value->image.size[1],
			.planes = tpu_planes(value->type),
			.n_extents = n,
			.extent = next};
		next += n;
	}
	for (int i = 0; i < g->n_locations; i++)
		g->by_tensor[i] = &g->location[i];
	if (g->n_locations)
		qsort(g->by_tensor, (size_t)g->n_locations, sizeof *g->by_tensor, by_tensor);
	return 0;
}

const struct tpu_location *tpu_location_of(const struct tpu_generated *generated, const struct npl_tensor *tensor)
{
	const struct tpu_location key_location = {.tensor = tensor}, *key = &key_location;
	if (!generated->n_locations)
		return NULL;
	const struct tpu_location *const *match = bsearch(&key, generated->by_tensor, (size_t)generated->n_locations,
							  sizeof key, by_tensor);
	return match ? *match : NULL;
}

/* The move of one plane of one extent, to the memory or from it. */
struct move {
	uint8_t *data;   /* the tensor's byte of this plane, image 0, first channel of the extent, pixel 0 */
	uint8_t *memory; /* row 0 of the extent and plane, or its first byte in host memory */
	int64_t step;    /* bytes from element to element of the tensor */
	int64_t row_bytes;
	bool load;
};

static uint8_t *vector_of(const struct move *m, const struct tpu_extent *extent, int64_t v)
{
	if (extent->in_host)
		return m->memory + v * extent->pixel_bytes;
	return m->memory + v / extent->row_pixels * m->row_bytes + v % extent->row_pixels * extent->pixel_lanes;
}

/* Moves channels c to end - 1 of one vector. */
static void move_vector(const struct move *m, uint8_t *vector, uint8_t *data, int64_t channel_step, int64_t c,
			int64_t end)
{
	if (channel_step == 1 && m->load)
		memcpy(vector + c, data + c, (size_t)(end - c));
	else if (channel_step == 1)
		memcpy(data + c, vector + c, (size_t)(end - c));
	else if (m->load)
		for (; c < end; c++)
			vector[c] = data[c * channel_step];
	else
		for (; c < end; c++)
			data[c * channel_step] = vector[c];
}

/* Moves channels of 16 vectors, whose pixels are side by side in each channel of the tensor, in squares of 16 x 16.
 * Returns the number of channels moved. */
static int64_t move_squares(const struct move *m, const struct tpu_extent *extent, int64_t v, uint8_t *data,
			    int64_t channel_step)
{
	int64_t c = 0;
	uint8_t *vector[TPU_SQUARE];
	for (int i = 0; i < TPU_SQUARE; i++)
		vector[i] = vector_of(m, extent, v + i);
	for (; c + TPU_SQUARE <= extent->channels; c += TPU_SQUARE) {
		__m128i row[TPU_SQUARE];
		uint8_t square[TPU_SQUARE][TPU_SQUARE];
		if (m->load) {
			tpu_transpose(data + c * channel_step, channel_step, row);
			for (int i = 0; i < TPU_SQUARE; i++)
				tpu_store(vector[i] + c, row[i]);
			continue;
		}
		for (int i = 0; i < TPU_SQUARE; i++)
			memcpy(square[i], vector[i] + c, TPU_SQUARE);
		tpu_transpose(square[0], TPU_SQUARE, row);
		for (int i = 0; i < TPU_SQUARE; i++)
			tpu_store(data + (c + i) * channel_step, row[i]);
	}
	return c;
}

static void move_extent(const struct move *m, const struct tpu_location *location, const struct tpu_extent *extent)
{
	int64_t pixels = location->height * location->width, channel_step = pixels * m->step, n;
	for (int64_t v = 0; v < location->images * pixels; v += n) {
		uint8_t *data = m->data + (v / pixels * location->channels * pixels + v % pixels) * m->step;
		bool squares = m->step == 1 && pixels - v % pixels >= TPU_SQUARE;
		int64_t c = squares ? move_squares(m, extent, v, data, channel_step) : 0;
		n = squares ? TPU_SQUARE : 1;
		for (int64_t i = 0; i < n && c < extent->channels; i++)
			move_vector(m, vector_of(m, extent, v + i), data + i * m->step, channel_step, c,
				    extent->channels);
	}
}

/* Reads 32-bit results of one vector per image, as a Gemm has them: the bytes of the four planes become one element. */
static void read_words(const struct move *m, const struct tpu_location *location, const struct tpu_extent *extent,
		       int64_t plane_bytes)
{
	for (int64_t v = 0; v < location->images; v++) {
		const uint8_t *from = vector_of(m, extent, v);
		uint8_t *to = m->data + v * location->channels * 4;
		int64_t c = 0;
		for (; c + TPU_SQUARE <= extent->channels; c += TPU_SQUARE) {
			__m128i p[4], low[2], high[2];
			for (int i = 0; i < 4; i++)
				p[i] = _mm_loadu_si128((const __m128i *)(const void *)(from + i * plane_bytes + c));
			for (int i = 0; i < 2; i++) {
				low[i] = _mm_unpacklo_epi8(p[2 * i], p[2 * i + 1]);
				high[i] = _mm_unpackhi_epi8(p[2 * i], p[2 * i + 1]);
			}
			tpu_store(to + 4 * c, _mm_unpacklo_epi16(low[0], low[1]));
			tpu_store(to + 4 * c + 16, _mm_unpackhi_epi16(low[0], low[1]));
			tpu_store(to + 4 * c + 32, _mm_unpacklo_epi16(high[0], high[1]));
			tpu_store(to + 4 * c + 48, _mm_unpackhi_epi16(high[0], high[1]));
		}
		for (; c < extent->channels; c++)
			for (int i = 0; i < 4; i++)
				to[4 * c + i] = from[i * plane_bytes + c];
	}
}

static int move(const struct tpu_generated *generated, const struct tpu_config *config, const struct npl_tensor *tensor,
		uint8_t *data, const struct tpu_memory *memory, bool load, struct npl_err *err)
{
	const struct tpu_location *location = tpu_location_of(generated, tensor);
	if (!location)
		return npl_fail(err, NPL_EINTERNAL, "tensor %s has no place in the program",
				tensor->name ? tensor->name : "");
	int64_t row_bytes = tpu_row_bytes(config), pixels = location->height * location->width;
	bool words = !load && location->planes == 4 && pixels == 1;
	for (int r = 0; r < location->n_extents; r++)
		for (int p = 0; p < (words ? 1 : location->planes); p++) {
			const struct tpu_extent *extent = &location->extent[r];
			struct move m = {.data = data + extent->first * pixels * location->planes + p,
					 .step = location->planes,
					 .row_bytes = row_bytes,
					 .load = load};
			m.memory = extent->in_host
					   ? memory->host + extent->host_address + p * extent->plane_bytes
					   : memory->buffer + (extent->row + p * extent->plane_rows) * row_bytes +
						     extent->lane;
			if (words)
				read_words(&m, location, extent,
					   extent->in_host ? extent->plane_bytes : extent->plane_rows * row_bytes);
			else
				move_extent(&m, location, extent);
		}
	return 0;
}

int tpu_load_tensor(const struct tpu_generated *generated, const struct tpu_config *config,
		    const struct npl_tensor *tensor, const struct npl_tensor *data, const struct tpu_memory *memory,
		    struct npl_err *err)
{
	return move(generated, config, tensor, data->data, memory, true, err);
}

int tpu_read_tensor(const struct tpu_generated *generated, const struct tpu_config *config,
		    const struct npl_tensor *tensor, struct npl_tensor *data, const struct tpu_memory *memory,
		    struct npl_err *err)
{
	return move(generated, config, tensor, data->data, memory, false, err);
}
