/* SPDX-License-Identifier: MIT
 *
 * Addresses of vectors while a group is done (impl.h). They are in an allocation that holds a part of the batch, or in
 * one through which strips pass. */
#include "impl.h"

static struct tpu_gen_stage *stage_of(struct tpu_gen_group *group, enum tpu_gen_role role, int store)
{
	for (int i = 0; i < group->n_stages; i++)
		if (group->stage[i].role == role && group->stage[i].store == store)
			return &group->stage[i];
	return NULL;
}

struct tpu_gen_address tpu_gen_address_of(struct tpu_gen *gen, struct tpu_gen_group *group, enum tpu_gen_role role,
					  int extent)
{
	const struct tpu_gen_extent *extents[] = {group->in_extent, group->second_extent, group->out_extent},
				    *r = &extents[role][extent];
	struct tpu_gen_stage *stage = stage_of(group, role, r->store);
	const struct tpu_gen_allocation *allocation =
		&gen->allocation[stage ? stage->allocation[group->set] : r->allocation];
	int64_t row = allocation->base, block = r->block;
	if (stage && group->block_at_once) {
		if (stage->first_block != block && role != TPU_GEN_OUT)
			tpu_gen_stage_block(gen, group, stage, block);
		stage->first_block = block;
		block = 0;
	}
	row += block * allocation->planes * allocation->plane_rows;
	if (allocation->all_images)
		row += gen->part_image * allocation->height * allocation->width / allocation->row_pixels;
	return (struct tpu_gen_address){allocation, row, r->lane};
}

int64_t tpu_gen_vector_at(const struct tpu_gen_allocation *allocation, int64_t image, int64_t row, int64_t column)
{
	return ((image - allocation->first_image) * allocation->height + row - allocation->first_row) *
		       allocation->width +
	       column - allocation->first_column;
}

void tpu_gen_touch_vectors(struct tpu_gen *gen, bool writes, const struct tpu_gen_address *address, int64_t first,
			   int64_t count)
{
	const struct tpu_gen_allocation *allocation = address->allocation;
	int64_t first_row = first, last_row = first + count - 1;
	if (allocation->row_pixels > 1) {
		first_row /= allocation->row_pixels;
		last_row /= allocation->row_pixels;
	}
	for (int p = 0; p < allocation->planes; p++) {
		int64_t row = address->row + p * allocation->plane_rows;
		tpu_gen_touch(gen, false, writes, row + first_row, row + last_row + 1);
	}
}
