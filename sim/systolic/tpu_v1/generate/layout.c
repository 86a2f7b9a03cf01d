/* SPDX-License-Identifier: MIT
 *
 * Decides in which lanes of which rows channels are kept (impl.h). A store has an allocation of its own, except those
 * that a Concat joins: they share one, side by side, where that costs no more passes. The activation unit reads its
 * operands in the lanes of its result; where an operand is in other lanes, the array copies it by multiplying with a
 * unit matrix. */
#include <stdlib.h>
#include <string.h>

#include "core/base/arena_scratch.h"
#include "core/base/arith.h"
#include "impl.h"

int tpu_gen_new_allocation(struct tpu_gen *gen, const struct npl_image *image, enum tpu_type type, int64_t lanes)
{
	if (gen->n_allocations == gen->allocations_capacity) {
		int capacity = 2 * gen->allocations_capacity + 64;
		struct tpu_gen_allocation *grown = npl_arena_raw_array(&gen->arena, (size_t)capacity, sizeof *grown);
		if (!grown)
			return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
		for (int r = 0; r < gen->n_allocations; r++)
			grown[r] = gen->allocation[r];
		gen->allocation = grown;
		gen->allocations_capacity = capacity;
	}
	struct tpu_gen_allocation *allocation = &gen->allocation[gen->n_allocations];
	*allocation = (struct tpu_gen_allocation){.planes = tpu_planes(type),
						  .images = image->images,
						  .height = image->size[0],
						  .width = image->size[1],
						  .lanes = lanes,
						  .base = -1};
	allocation->pixel_lanes = 2 * lanes > gen->width ? gen->width : lanes;
	return gen->n_allocations++;
}

/* Returns the most vectors per row, up to `row_pixels`, that divide the pixels of all allocations with so many lanes to
 * a pixel. Parts of a batch must begin with a row, and source and result of pooling must have as many vectors per row.
 * */
static int64_t most_row_pixels(const struct tpu_gen *gen, int64_t pixel_lanes, int64_t row_pixels)
{
	int64_t common = gen->common_pixels[pixel_lanes];
	while (common && common % row_pixels != 0)
		row_pixels--;
	return row_pixels;
}

void tpu_gen_common_pixels(struct tpu_gen *gen)
{
	memset(gen->common_pixels, 0, ((size_t)gen->width + 1) * sizeof *gen->common_pixels);
	for (int r = 0; r < gen->n_allocations; r++) {
		const struct tpu_gen_allocation *allocation = &gen->allocation[r];
		int64_t *common = &gen->common_pixels[allocation->pixel_lanes];
		*common = npl_gcd(*common, allocation->height * allocation->width);
	}
}

void tpu_gen_size_allocation(const struct tpu_gen *gen, struct tpu_gen_allocation *allocation, int64_t images)
{
	allocation->images = images;
	allocation->row_pixels = gen->width / allocation->pixel_lanes;
	if (gen->split && allocation->row_pixels > 1)
		allocation->row_pixels = most_row_pixels(gen, allocation->pixel_lanes, allocation->row_pixels);
	allocation->plane_rows = npl_div_up_i64(images * allocation->height * allocation->width,
						allocation->row_pixels);
	allocation->rows = npl_div_up_i64(allocation->lanes, gen->width) * allocation->planes * allocation->plane_rows;
}

/* Gives every other store an allocation of its own. Returns false when memory runs out. */
static bool own_allocations(struct tpu_gen *gen)
{
	for (int s = 0; s < gen->n_stores; s++) {
		struct tpu_gen_store *store = &gen->store[s];
		if (store->absent || store->allocation >= 0)
			continue;
		store->allocation = tpu_gen_new_allocation(gen, &store->image, store->type, store->image.channels);
		if (store->allocation < 0)
			return false;
	}
	return true;
}

/* Notes through which value the activation unit reads each store from the buffer. */
static void note_activated(struct tpu_gen *gen)
{
	for (int s = 0; s < gen->n_stores; s++)
		gen->store[s].activation_operand = -1;
	for (int g = 0; g < gen->n_groups; g++) {
		const struct tpu_gen_group *group = &gen->group[g];
		int read[2] = {group->matrix < 0 ? group->source : -1, group->second};
		for (int i = 0; i < 2; i++)
			for (int p = 0; read[i] >= 0 && p < gen->value[read[i]].n_pieces; p++) {
				int *operand = &gen->store[gen->value[read[i]].piece[p].store].activation_operand;
				*operand = *operand == -1 || *operand == read[i] ? read[i] : -2;
			}
	}
}

/* Says whether the activation unit reads a part of the store from the buffer through another value than v. */
static bool read_by_activation(const struct tpu_gen_store *store, int v)
{
	return store->activation_operand != -1 && store->activation_operand != v;
}

/* Says whether the piece of a Concat can be kept at its lane of the joint allocation: its maker can write there with no
 * more passes, and no reader expects it elsewhere. */
static bool can_share(const struct tpu_gen *gen, int v, const struct tpu_gen_piece *piece, int64_t lane)
{
	const struct tpu_gen_store *store = &gen->store[piece->store];
	int64_t channels = store->image.channels, w = gen->width;
	if (store->maker < 0 || store->allocation >= 0 || store->staged_in_parts || store->staged_in_strips ||
	    piece->channels != channels)
		return false;
	if (lane % w == 0 && 2 * channels > w)
		return true;
	const struct tpu_gen_group *maker = &gen->group[store->maker];
	return maker->matrix >= 0 && maker->second < 0 && !read_by_activation(store, v) &&
	       npl_div_up_i64(lane % w + channels, w) <= npl_div_up_i64(channels, w);
}

/* Puts the pieces that can share an allocation into one. Returns false when memory runs out. */
static bool share_allocation(struct tpu_gen *gen, int v)
{
	const struct tpu_gen_value *value = &gen->value[v];
	int sharing = 0, allocation = -1;
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
		if (allocation < 0)
			allocation = tpu_gen_new_allocation(gen, &value->image, value->type, value->image.channels);
		if (allocation < 0)
			return false;
		store->allocation = allocation;
		store->lane = lane;
	}
	return true;
}

static bool give_allocations(struct tpu_gen *gen)
{
	gen->n_allocations = 0;
	for (int s = 0; s < gen->n_stores; s++) {
		gen->store[s].allocation = -1;
		gen->store[s].lane = 0;
	}
	note_activated(gen);
	for (int v = gen->n_values - 1; v >= 0 && !gen->streaming; v--)
		if (gen->value[v].n_pieces > 1 && !gen->value[v].nested && !share_allocation(gen, v))
			return false;
	return own_allocations(gen);
}

/* Appends the channels of a piece to the list of n extents. They join the last extent where they are next to it.
 * Returns the new number of extents. */
static int add_piece(const struct tpu_gen *gen, const struct tpu_gen_piece *piece, int64_t *channel,
		     struct tpu_gen_extent *extent, int n)
{
	const struct tpu_gen_store *store = &gen->store[piece->store];
	int64_t lane = store->lane + piece->first, channels_left = piece->channels;
	while (channels_left) {
		int64_t block = lane / gen->width, in_row = lane % gen->width,
			take = npl_min_i64(channels_left, gen->width - in_row);
		struct tpu_gen_extent *last = n ? &extent[n - 1] : NULL;
		if (last && last->allocation == store->allocation && last->block == block &&
		    last->lane + last->channels == in_row)
			last->channels += take;
		else
			extent[n++] = (struct tpu_gen_extent){.first = *channel,
							      .channels = take,
							      .store = piece->store,
							      .allocation = store->allocation,
							      .block = block,
							      .lane = in_row};
		*channel += take;
		lane += take;
		channels_left -= take;
	}
	return n;
}

int tpu_gen_extents(struct tpu_gen *gen, int v, struct tpu_gen_extent **extent, int *n)
{
	const struct tpu_gen_value *value = &gen->value[v];
	size_t max_extents = 0;
	int64_t channel = 0;
	for (int p = 0; p < value->n_pieces; p++)
		max_extents += (size_t)(value->piece[p].channels / gen->width) + 2;
	*n = 0;
	*extent = npl_arena_array(&gen->arena, max_extents, sizeof **extent);
	if (!*extent)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
	for (int p = 0; p < value->n_pieces; p++)
		*n = add_piece(gen, &value->piece[p], &channel, *extent, *n);
	return 0;
}

/* Says whether a value is kept as if it were one store with an allocation of its own. */
static bool is_contiguous(const struct tpu_gen *gen, int v, const struct tpu_gen_extent *extent, int n)
{
	int64_t channels = gen->value[v].image.channels, lanes = 2 * channels > gen->width ? gen->width : channels;
	if (n != npl_div_up_i64(channels, gen->width))
		return false;
	for (int i = 0; i < n; i++)
		if (extent[i].lane || extent[i].block - extent[0].block != i ||
		    extent[i].allocation != extent[0].allocation ||
		    gen->allocation[extent[i].allocation].pixel_lanes != lanes)
			return false;
	return true;
}

static int extents_of_group(struct tpu_gen *gen, struct tpu_gen_group *group)
{
	if (tpu_gen_extents(gen, group->source, &group->in_extent, &group->n_in_extents) ||
	    tpu_gen_extents(gen, group->out, &group->out_extent, &group->n_out_extents))
		return NPL_ENOMEM;
	return group->second < 0 ? 0
				 : tpu_gen_extents(gen, group->second, &group->second_extent, &group->n_second_extents);
}

/* The copy of a node's input k that is inserted before the node. */
struct copy {
	int k, value; /* value -1: no copy */
};

/* Makes the value and the store for a copy of the node's input k. Returns 0 or NPL_ENOMEM. */
static int add_copy(struct tpu_gen *gen, int n, int k, struct copy *copy)
{
	int in = gen->node[n].in[k], v = gen->n_values++;
	struct tpu_gen_value *value = &gen->value[v];
	*value = gen->value[in];
	value->tensor = NULL;
	value->is_output = value->read = false;
	value->n_pieces = 1;
	value->piece = npl_arena_alloc(&gen->arena, sizeof *value->piece);
	if (!value->piece)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
	*value->piece = (struct tpu_gen_piece){.store = gen->n_stores, .channels = value->image.channels};
	gen->store[gen->n_stores++] = (struct tpu_gen_store){
		.type = value->type, .image = value->image, .maker = -1, .first_reader = -1, .allocation = -1};
	*copy = (struct copy){k, v};
	return 0;
}

/* Inserts the copies before the nodes that read them, at most one for each node. */
static void insert_copies(struct tpu_gen *gen, const struct copy *copy, int n_copies)
{
	for (int n = gen->n_nodes - 1, copies_left = n_copies; copies_left; n--) {
		struct tpu_gen_node *node = &gen->node[n + copies_left];
		*node = gen->node[n];
		if (copy[n].value < 0)
			continue;
		node[-1] = (struct tpu_gen_node){.kind = TPU_GEN_MATRIX,
						 .layer = node->layer,
						 .in = {node->in[copy[n].k], -1},
						 .out = copy[n].value,
						 .copy = true,
						 .groups = 1,
						 .window = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}}};
		node->in[copy[n].k] = copy[n].value;
		copies_left--;
	}
	gen->n_nodes += n_copies;
}

/* Finds the group's node that reads the value, and its input. */
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

/* Returns the group's node that needs a copy of its input *k; -1: none. */
static int lacks_copy(const struct tpu_gen *gen, const struct tpu_gen_group *group, int *k)
{
	int n = -1;
	if (group->matrix < 0 && !is_contiguous(gen, group->source, group->in_extent, group->n_in_extents))
		reader(gen, group, group->source, &n, k);
	else if (group->second >= 0 &&
		 !is_contiguous(gen, group->second, group->second_extent, group->n_second_extents))
		reader(gen, group, group->second, &n, k);
	return n;
}

/* Inserts the first copies that groups need, at most `max_copies` of them. A copy may make others unnecessary, since
 * its source can then be kept elsewhere. Returns the number of copies; less than 0: memory ran out. */
static int insert_needed_copies(struct tpu_gen *gen, int max_copies)
{
	struct copy *copy = malloc(((size_t)gen->n_nodes + 1) * sizeof *copy);
	int found = 0;
	if (!copy)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
	for (int n = 0; n < gen->n_nodes; n++)
		copy[n].value = -1;
	for (int g = 0; g < gen->n_groups && found >= 0 && found < max_copies; g++) {
		int k = 0;
		const int n = lacks_copy(gen, &gen->group[g], &k);
		if (n >= 0)
			found = add_copy(gen, n, k, &copy[n]) ? NPL_ENOMEM : found + 1;
	}
	if (found > 0)
		insert_copies(gen, copy, found);
	free(copy);
	return found;
}

/* Inserts copies one after the other and lays out everything anew each time; where there are many copies it inserts
 * some at a time. */
int tpu_gen_layout(struct tpu_gen *gen)
{
	for (int copies = 0, found = 1; found > 0; copies += found) {
		tpu_gen_groups(gen);
		if (!give_allocations(gen))
			return NPL_ENOMEM;
		for (int g = 0; g < gen->n_groups; g++)
			if (extents_of_group(gen, &gen->group[g]))
				return NPL_ENOMEM;
		found = insert_needed_copies(gen, 1 + copies / 8);
		if (found < 0)
			return NPL_ENOMEM;
	}
	for (int g = 0; g < gen->n_groups; g++)
		if (tpu_gen_tiles(gen, &gen->group[g]))
			return NPL_ENOMEM;
	return 0;
}
