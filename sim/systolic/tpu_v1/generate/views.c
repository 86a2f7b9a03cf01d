/* SPDX-License-Identifier: MIT
 *
 * Values that see other values' stores in another way (impl.h). A value that sees one of many pieces has a single piece
 * of that value, so that a chain of Concats, each of which joins one more tensor, takes memory in proportion to its
 * length. A value that a node reads or that is wanted is resolved to pieces of stores, as many as the program then
 * reads or moves. */
#include <stdlib.h>

#include "impl.h"

#include "core/base/arith.h"
#include "core/base/grow.h"

#define COPIED_PIECES 32 /* the most pieces of a value that a view copies; of a value with more it has one piece */

/* Returns the piece of a value that has this channel. */
static int piece_at(const struct tpu_gen_value *value, int64_t channel)
{
	int low = 0, high = value->n_pieces - 1;
	while (low < high) {
		int middle = (low + high + 1) / 2;
		if (value->piece[middle].first_channel <= channel)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Returns the part of the value's piece p within channels first .. end - 1 of the value. */
static struct tpu_gen_piece cut_piece(const struct tpu_gen_value *value, int p, int64_t first, int64_t end)
{
	struct tpu_gen_piece piece = value->piece[p];
	const int64_t skip = first > piece.first_channel ? first - piece.first_channel : 0;
	const int64_t channels_left = npl_min_i64(piece.first_channel + piece.channels, end) - piece.first_channel -
				      skip;
	piece.first += skip;
	piece.channels = channels_left > 0 ? channels_left : 0;
	return piece;
}

static void append(struct tpu_gen_value *value, struct tpu_gen_piece piece, int64_t *channel)
{
	if (!piece.channels)
		return;
	piece.first_channel = *channel;
	*channel += piece.channels;
	value->nested |= piece.store < 0;
	value->piece[value->n_pieces++] = piece;
}

int tpu_gen_view(struct tpu_gen *gen, const struct npl_tensor *format, const int *in, int n, int64_t first,
		 int64_t channels, int *out)
{
	size_t pieces = 0;
	struct npl_image image = gen->value[in[0]].image;
	image.channels = 0;
	for (int i = 0; i < n; i++) {
		const struct tpu_gen_value *from = &gen->value[in[i]];
		pieces += from->n_pieces > COPIED_PIECES ? 1 : (size_t)from->n_pieces;
		image.channels += n > 1 ? from->image.channels : channels;
	}
	*out = tpu_gen_new_value(gen, format, &image);
	struct tpu_gen_value *value = &gen->value[*out];
	value->piece = npl_arena_array(&gen->arena, pieces, sizeof *value->piece);
	if (!value->piece)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
	int64_t channel = 0;
	for (int i = 0; i < n; i++) {
		const struct tpu_gen_value *from = &gen->value[in[i]];
		const int64_t low = n > 1 ? 0 : first, end = n > 1 ? from->image.channels : first + channels;
		const struct tpu_gen_piece source_piece = {
			.store = -1, .value = in[i], .first = low, .channels = end - low};
		if (from->n_pieces > COPIED_PIECES)
			append(value, source_piece, &channel);
		for (int p = 0; p < from->n_pieces && from->n_pieces <= COPIED_PIECES; p++)
			append(value, cut_piece(from, p, low, end), &channel);
	}
	return 0;
}

/* A growing list of pieces. */
struct list {
	struct tpu_gen_piece *piece;
	int64_t n, capacity;
};

/* Appends a piece to the list. Returns false when memory runs out. */
static bool push(struct list *list, const struct tpu_gen_piece *piece)
{
	struct tpu_gen_piece *grown = npl_grow(list->piece, list->n, &list->capacity, sizeof *grown);
	if (!grown)
		return false;
	list->piece = grown;
	grown[list->n++] = *piece;
	return true;
}

/* Pushes the pieces of the other value that an outer piece sees, the last one first. Returns false when memory runs
 * out. */
static bool open_piece(const struct tpu_gen *gen, struct list *open_list, const struct tpu_gen_piece *outer)
{
	const struct tpu_gen_value *from = &gen->value[outer->value];
	const int64_t end = outer->first + outer->channels;
	for (int p = piece_at(from, end - 1);
	     p >= 0 && from->piece[p].first_channel + from->piece[p].channels > outer->first; p--) {
		const struct tpu_gen_piece piece = cut_piece(from, p, outer->first, end);
		if (!push(open_list, &piece))
			return false;
	}
	return true;
}

/* Turns the pieces on open_list into pieces of stores, in the order of channels. open_list is empty afterwards. */
static bool open_all(const struct tpu_gen *gen, struct list *open_list, struct list *stores)
{
	while (open_list->n) {
		const struct tpu_gen_piece piece = open_list->piece[--open_list->n];
		if (!(piece.store < 0 ? open_piece(gen, open_list, &piece) : push(stores, &piece)))
			return false;
	}
	return true;
}

int tpu_gen_resolve(struct tpu_gen *gen, int v)
{
	struct tpu_gen_value *value = &gen->value[v];
	struct list open_list = {0}, stores = {0};
	if (!value->nested)
		return 0;
	const struct tpu_gen_piece whole_value = {.store = -1, .value = v, .channels = value->image.channels};
	bool opened = push(&open_list, &whole_value) && open_all(gen, &open_list, &stores);
	struct tpu_gen_piece *piece = opened ? npl_arena_array(&gen->arena, (size_t)stores.n, sizeof *piece) : NULL;
	if (piece) {
		int64_t channel = 0;
		value->piece = piece;
		value->n_pieces = 0;
		value->nested = false;
		for (int64_t p = 0; p < stores.n; p++)
			append(value, stores.piece[p], &channel);
	}
	free(open_list.piece);
	free(stores.piece);
	return piece ? 0 : npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
}

int tpu_gen_new_value(struct tpu_gen *gen, const struct npl_tensor *format, const struct npl_image *image)
{
	struct tpu_gen_value *value = &gen->value[gen->n_values];
	*value = (struct tpu_gen_value){
		.scale = format->quant.scale, .zero_point = format->quant.zero_point, .image = *image};
	tpu_gen_type(format->dtype, &value->type);
	return gen->n_values++;
}
