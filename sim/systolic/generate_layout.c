/* SPDX-License-Identifier: MIT
 *
 * Which lanes of which rows channels lie in (generate_impl.h). A store has a room of its own, but for those that a
 * Concat joins: they share one, side by side, as far as nothing is lost by it. What the activation unit reads must lie
 * in the lanes that its result lies in; where it does not, the array copies it, multiplying by a unit matrix. */
#include <string.h>

#include "generate_impl.h"
#include "npulab/ratio.h"

int tpu_gen_new_room(struct tpu_gen *gen, const struct npl_image *image, enum tpu_type type, int64_t lanes)
{
	if (gen->n_rooms == gen->rooms_capacity) {
		int capacity = 2 * gen->rooms_capacity + 64;
		struct tpu_gen_room *more = npl_arena_array(&gen->arena, (size_t)capacity, sizeof *more);
		if (!more)
			return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
		for (int r = 0; r < gen->n_rooms; r++)
			more[r] = gen->room[r];
		gen->room = more;
		gen->rooms_capacity = capacity;
	}
	struct tpu_gen_room *room = &gen->room[gen->n_rooms];
	*room = (struct tpu_gen_room){.planes = tpu_gen_planes(type),
				      .images = image->images,
				      .height = image->size[0],
				      .width = image->size[1],
				      .lanes = lanes,
				      .base = -1};
	room->pixel_lanes = 2 * lanes > gen->width ? gen->width : lanes;
	return gen->n_rooms++;
}

/* Parts of a batch must begin with a row, and source and result of pooling have as many vectors per row: the most that divide the pixels
 * of all rooms with so many lanes each, up to `most`. */
static int64_t most_row_pixels(const struct tpu_gen *gen, int64_t pixel_lanes, int64_t most)
{
	int64_t common = gen->common_pixels[pixel_lanes];
	while (common && common % most != 0)
		most--;
	return most;
}

void tpu_gen_common_pixels(struct tpu_gen *gen)
{
	memset(gen->common_pixels, 0, ((size_t)gen->width + 1) * sizeof *gen->common_pixels);
	for (int r = 0; r < gen->n_rooms; r++) {
		const struct tpu_gen_room *room = &gen->room[r];
		int64_t *common = &gen->common_pixels[room->pixel_lanes];
		*common = npl_gcd(*common, room->height * room->width);
	}
}

void tpu_gen_size_room(const struct tpu_gen *gen, struct tpu_gen_room *room, int64_t images)
{
	room->images = images;
	room->row_pixels = gen->width / room->pixel_lanes;
	if (gen->split && room->row_pixels > 1)
		room->row_pixels = most_row_pixels(gen, room->pixel_lanes, room->row_pixels);
	room->plane_rows = tpu_gen_div_up(images * room->height * room->width, room->row_pixels);
	room->rows = tpu_gen_div_up(room->lanes, gen->width) * room->planes * room->plane_rows;
}

/* False: out of memory. */
static bool own_rooms(struct tpu_gen *gen)
{
	for (int s = 0; s < gen->n_stores; s++) {
		struct tpu_gen_store *store = &gen->store[s];
		if (store->absent || store->room >= 0)
			continue;
		store->room = tpu_gen_new_room(gen, &store->image, store->type, store->image.channels);
		if (store->room < 0)
			return false;
	}
	return true;
}

/* Groups in which the activation unit reads a part of the store from the buffer, through another value than v. */
static bool read_by_activation(const struct tpu_gen *gen, int s, int v)
{
	for (int g = 0; g < gen->n_groups; g++) {
		const struct tpu_gen_group *group = &gen->group[g];
		int read[2] = {group->matrix < 0 ? group->source : -1, group->second};
		for (int i = 0; i < 2; i++)
			for (int p = 0; read[i] >= 0 && read[i] != v && p < gen->value[read[i]].n_pieces; p++)
				if (gen->value[read[i]].piece[p].store == s)
					return true;
	}
	return false;
}

/* Whether the piece of a Concat can lie at its lane of the joint room: whatever makes it can write there, with no more
 * passes, and nobody expects it elsewhere. */
static bool can_share(const struct tpu_gen *gen, int v, const struct tpu_gen_piece *piece, int64_t lane)
{
	const struct tpu_gen_store *store = &gen->store[piece->store];
	int64_t channels = store->image.channels, w = gen->width;
	if (store->maker < 0 || store->room >= 0 || store->staged || store->streamed || piece->channels != channels)
		return false;
	if (lane % w == 0 && 2 * channels > w)
		return true;
	const struct tpu_gen_group *maker = &gen->group[store->maker];
	return maker->matrix >= 0 && maker->second < 0 && !read_by_activation(gen, piece->store, v) &&
	       tpu_gen_div_up(lane % w + channels, w) <= tpu_gen_div_up(channels, w);
}

/* Puts what can share a room into one. False: out of memory. */
static bool share_room(struct tpu_gen *gen, int v)
{
	const struct tpu_gen_value *value = &gen->value[v];
	int sharing = 0, room = -1;
	int64_t lane = 0;
	for (int p = 0; p < value->n_pieces; lane += value->piece[p++].channels)
		sharing += can_share(gen, v, &value->piece[p], lane);
	if (sharing < 2)
		return true;
	lane = 0;
	for (int p = 0; p < value->n_pieces; lane += value->piece[p++].channels) {
		struct tpu_gen_store *store = &gen->store[value->piece[p].store];
		if (!can_share(gen, v, &value->piece[p], lane))
			continue;
		if (room < 0)
			room = tpu_gen_new_room(gen, &value->image, value->type, value->image.channels);
		if (room < 0)
			return false;
		store->room = room;
		store->lane = lane;
	}
	return true;
}

static bool give_rooms(struct tpu_gen *gen)
{
	gen->n_rooms = 0;
	for (int s = 0; s < gen->n_stores; s++) {
		gen->store[s].room = -1;
		gen->store[s].lane = 0;
	}
	for (int v = gen->n_values - 1; v >= 0 && !gen->streaming; v--)
		if (gen->value[v].n_pieces > 1 && !share_room(gen, v))
			return false;
	return own_rooms(gen);
}

/* Appends to run[n] the channels of a piece, joining it to the run before where they lie side by side. */
static int add_piece(const struct tpu_gen *gen, const struct tpu_gen_piece *piece, int64_t *channel,
		     struct tpu_gen_run *run, int n)
{
	const struct tpu_gen_store *store = &gen->store[piece->store];
	int64_t lane = store->lane + piece->first, left = piece->channels;
	while (left) {
		int64_t block = lane / gen->width, in_row = lane % gen->width,
			take = tpu_gen_least(left, gen->width - in_row);
		struct tpu_gen_run *last = n ? &run[n - 1] : NULL;
		if (last && last->room == store->room && last->block == block && last->lane + last->channels == in_row)
			last->channels += take;
		else
			run[n++] = (struct tpu_gen_run){.first = *channel,
							.channels = take,
							.store = piece->store,
							.room = store->room,
							.block = block,
							.lane = in_row};
		*channel += take;
		lane += take;
		left -= take;
	}
	return n;
}

int tpu_gen_runs(struct tpu_gen *gen, int v, struct tpu_gen_run **run, int *n)
{
	const struct tpu_gen_value *value = &gen->value[v];
	size_t most = 0;
	int64_t channel = 0;
	for (int p = 0; p < value->n_pieces; p++)
		most += (size_t)(value->piece[p].channels / gen->width) + 2;
	*n = 0;
	*run = npl_arena_array(&gen->arena, most, sizeof **run);
	if (!*run)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
	for (int p = 0; p < value->n_pieces; p++)
		*n = add_piece(gen, &value->piece[p], &channel, *run, *n);
	return 0;
}

/* Whether a value lies as a store of its own would. */
static bool lies_plainly(const struct tpu_gen *gen, int v, const struct tpu_gen_run *run, int n)
{
	int64_t channels = gen->value[v].image.channels, lanes = 2 * channels > gen->width ? gen->width : channels;
	if (n != tpu_gen_div_up(channels, gen->width))
		return false;
	for (int i = 0; i < n; i++)
		if (run[i].lane || run[i].block - run[0].block != i || run[i].room != run[0].room ||
		    gen->room[run[i].room].pixel_lanes != lanes)
			return false;
	return true;
}

static int runs_of_group(struct tpu_gen *gen, struct tpu_gen_group *group)
{
	if (tpu_gen_runs(gen, group->source, &group->in_run, &group->n_in_runs) ||
	    tpu_gen_runs(gen, group->out, &group->out_run, &group->n_out_runs))
		return NPL_ENOMEM;
	return group->second < 0 ? 0 : tpu_gen_runs(gen, group->second, &group->second_run, &group->n_second_runs);
}

/* Puts a copy of the node's input k before it. */
static int insert_copy(struct tpu_gen *gen, int n, int k)
{
	for (int i = gen->n_nodes; i > n; i--)
		gen->node[i] = gen->node[i - 1];
	gen->n_nodes++;
	int in = gen->node[n].in[k], v = gen->n_values++;
	struct tpu_gen_value *value = &gen->value[v];
	*value = gen->value[in];
	value->tensor = NULL;
	value->wanted = value->read = false;
	value->n_pieces = 1;
	value->piece = npl_arena_alloc(&gen->arena, sizeof *value->piece);
	if (!value->piece)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
	*value->piece = (struct tpu_gen_piece){.store = gen->n_stores, .channels = value->image.channels};
	gen->store[gen->n_stores++] = (struct tpu_gen_store){
		.type = value->type, .image = value->image, .maker = -1, .first = -1, .room = -1};
	gen->node[n] = (struct tpu_gen_node){.kind = TPU_GEN_MATRIX,
					     .layer = gen->node[n + 1].layer,
					     .in = {in, -1},
					     .out = v,
					     .copy = true,
					     .groups = 1,
					     .window = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}}};
	gen->node[n + 1].in[k] = v;
	return 0;
}

/* The node of a group that reads the value, and by which input. */
static void reader(const struct tpu_gen *gen, const struct tpu_gen_group *group, int v, int *node, int *k)
{
	int candidate[3] = {group->operand, group->function, group->pool};
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 2; j++)
			if (candidate[i] >= 0 && gen->node[candidate[i]].in[j] == v) {
				*node = candidate[i];
				*k = j;
				return;
			}
}

/* Inserts a copy that some group needs. */
static int mend(struct tpu_gen *gen, bool *mended)
{
	*mended = false;
	for (int g = 0; g < gen->n_groups && !*mended; g++) {
		const struct tpu_gen_group *group = &gen->group[g];
		int n = -1, k = 0;
		if (group->matrix < 0 && !lies_plainly(gen, group->source, group->in_run, group->n_in_runs))
			reader(gen, group, group->source, &n, &k);
		else if (group->second >= 0 &&
			 !lies_plainly(gen, group->second, group->second_run, group->n_second_runs))
			reader(gen, group, group->second, &n, &k);
		if (n < 0)
			continue;
		*mended = true;
		if (insert_copy(gen, n, k))
			return NPL_ENOMEM;
	}
	return 0;
}

int tpu_gen_layout(struct tpu_gen *gen)
{
	for (bool again = true; again;) {
		tpu_gen_groups(gen);
		if (!give_rooms(gen))
			return NPL_ENOMEM;
		for (int g = 0; g < gen->n_groups; g++)
			if (runs_of_group(gen, &gen->group[g]))
				return NPL_ENOMEM;
		if (mend(gen, &again))
			return NPL_ENOMEM;
	}
	for (int g = 0; g < gen->n_groups; g++)
		if (tpu_gen_tiles(gen, &gen->group[g]))
			return NPL_ENOMEM;
	return 0;
}
