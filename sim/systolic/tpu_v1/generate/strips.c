/* SPDX-License-Identifier: MIT
 *
 * Does a group whose tensors pass through allocations of the buffer strip by strip. A strip is some images, or rows of
 * one image with the halo that its windows read, or columns of one row; at worst it has one block of channels. While
 * one strip is worked on, the next comes into a second set of allocations, where there is one. */
#include "impl.h"

#include "core/base/arith.h"

const struct npl_image *tpu_gen_tiled_image(const struct tpu_gen *gen, const struct tpu_gen_group *group)
{
	return &gen->value[group->matrix >= 0 ? gen->node[group->matrix].out : group->out].image;
}

void tpu_gen_input_range(const struct tpu_gen *gen, const struct tpu_gen_group *group, enum tpu_gen_role role, int d,
			 int64_t first, int64_t count, int64_t *low, int64_t *end)
{
	bool slides = group->matrix >= 0 ? role == TPU_GEN_SOURCE : group->pool >= 0 && role != TPU_GEN_OUT;
	*low = first;
	*end = first + count;
	if (!slides)
		return;
	const struct npl_window *w = &gen->node[group->matrix >= 0 ? group->matrix : group->pool].window;
	int64_t size = gen->value[group->source].image.size[d];
	/* With whole lines the allocation has the whole dimension. */
	if (count == tpu_gen_tiled_image(gen, group)->size[d]) {
		*low = 0;
		*end = size;
		return;
	}
	*low = first * w->stride[d] - w->pad_begin[d];
	*end = npl_min_i64(*low + (count - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1, size);
	*low = *low > 0 ? npl_min_i64(*low, size - 1) : 0;
	*end = *end > *low ? *end : *low + 1; /* all of it is padding: take a position that no window reads */
}

void tpu_gen_stage_block(struct tpu_gen *gen, struct tpu_gen_group *group, struct tpu_gen_stage *stage, int64_t block)
{
	tpu_gen_transfer(gen, stage->store, &gen->allocation[stage->allocation[group->set]], block, 1, true);
}

static int64_t blocks_of(const struct tpu_gen *gen, int store)
{
	return gen->store[store].image.channels / gen->width + 1;
}

/* Sets the allocations of the set in use to the positions that the tile needs. */
static void set_allocations(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile)
{
	int64_t first[2] = {out_tile->row, out_tile->column}, count[2] = {out_tile->rows, out_tile->columns};
	for (int i = 0; i < group->n_stages; i++) {
		struct tpu_gen_stage *stage = &group->stage[i];
		struct tpu_gen_allocation *allocation = &gen->allocation[stage->allocation[group->set]];
		int64_t low[2], end[2];
		for (int d = 0; d < NPL_SPATIAL; d++)
			tpu_gen_input_range(gen, group, stage->role, d, first[d], count[d], &low[d], &end[d]);
		allocation->first_image = out_tile->image;
		allocation->images = out_tile->images;
		allocation->first_row = low[0];
		allocation->height = end[0] - low[0];
		allocation->first_column = low[1];
		allocation->width = end[1] - low[1];
		stage->first_block = -1;
	}
}

static void load(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile)
{
	set_allocations(gen, group, out_tile);
	for (int i = 0; i < group->n_stages && !group->block_at_once; i++) {
		const struct tpu_gen_stage *stage = &group->stage[i];
		if (stage->role != TPU_GEN_OUT)
			tpu_gen_transfer(gen, stage->store, &gen->allocation[stage->allocation[group->set]], 0,
					 blocks_of(gen, stage->store), true);
	}
}

static void unload(struct tpu_gen *gen, struct tpu_gen_group *group)
{
	for (int i = 0; i < group->n_stages; i++) {
		const struct tpu_gen_stage *stage = &group->stage[i];
		if (stage->role == TPU_GEN_OUT)
			tpu_gen_transfer(gen, stage->store, &gen->allocation[stage->allocation[group->set]],
					 group->block_at_once ? stage->first_block : 0,
					 group->block_at_once ? 1 : blocks_of(gen, stage->store), false);
	}
}

/* Goes on to the next strip: blocks of N are innermost, then columns, rows and images. Returns false after the last
 * strip. */
static bool next(const struct tpu_gen *gen, const struct tpu_gen_group *group, struct tpu_gen_out_tile *out_tile)
{
	const struct npl_image *image = tpu_gen_tiled_image(gen, group);
	out_tile->block += out_tile->blocks;
	if (out_tile->block >= group->n_blocks) {
		out_tile->block = 0;
		out_tile->column += group->at_once[2];
	}
	if (out_tile->column >= image->size[1]) {
		out_tile->column = 0;
		out_tile->row += group->at_once[1];
	}
	if (out_tile->row >= image->size[0]) {
		out_tile->row = 0;
		out_tile->image += group->at_once[0];
	}
	if (out_tile->image >= image->images)
		return false;
	out_tile->images = npl_min_i64(group->at_once[0], image->images - out_tile->image);
	out_tile->rows = npl_min_i64(group->at_once[1], image->size[0] - out_tile->row);
	out_tile->columns = npl_min_i64(group->at_once[2], image->size[1] - out_tile->column);
	return true;
}

void tpu_gen_strips(struct tpu_gen *gen, struct tpu_gen_group *group)
{
	struct tpu_gen_out_tile out_tile = {.images = group->at_once[0],
					    .rows = group->at_once[1],
					    .columns = group->at_once[2],
					    .blocks = group->block_at_once ? 1 : group->n_blocks};
	group->set = 0;
	load(gen, group, &out_tile);
	for (bool has_next = true; has_next;) {
		struct tpu_gen_out_tile next_tile = out_tile;
		int set = group->set;
		has_next = next(gen, group, &next_tile);
		if (has_next && group->n_sets == 2) {
			group->set = !set;
			load(gen, group, &next_tile);
			group->set = set;
		}
		if (group->matrix >= 0)
			tpu_gen_matrix(gen, group, &out_tile);
		else
			tpu_gen_vector(gen, group, &out_tile);
		unload(gen, group);
		out_tile = next_tile;
		if (group->n_sets == 2)
			group->set = !set;
		else if (has_next)
			load(gen, group, &out_tile);
	}
}
