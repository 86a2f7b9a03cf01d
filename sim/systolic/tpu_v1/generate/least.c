/* SPDX-License-Identifier: MIT
 *
 * The least that layers must move to and from the unified buffer, whatever the tiling: each element that a group reads or
 * writes, once. What a driver reports is held against it. */
#include "impl.h"

/* Bytes of all channels at so many positions of each image. */
static uint64_t bytes_at(const struct tpu_gen_value *value, int64_t positions)
{
	return (uint64_t)(value->image.images * value->image.channels * positions * tpu_gen_planes(value->type));
}

static uint64_t all_bytes(const struct tpu_gen_value *value)
{
	return bytes_at(value, value->image.size[0] * value->image.size[1]);
}

/* Of what the group reads first: the positions that windows cover, where its first step slides any. */
static uint64_t source_bytes(const struct tpu_gen *gen, const struct tpu_gen_group *group)
{
	const struct tpu_gen_value *source = &gen->value[group->source];
	int first = group->matrix >= 0 ? group->matrix : group->operand >= 0 ? -1 : group->pool;
	if (first < 0 || (group->matrix < 0 && group->function >= 0))
		return all_bytes(source);
	const struct tpu_gen_node *node = &gen->node[first];
	const struct tpu_windows windows = {source->image, gen->value[node->out].image, &node->window};
	return bytes_at(source, tpu_touched_pixels(&windows));
}

uint64_t tpu_gen_least_bytes(const struct tpu_gen *gen, const struct tpu_gen_group *group)
{
	uint64_t second = group->second >= 0 ? all_bytes(&gen->value[group->second]) : 0;
	return source_bytes(gen, group) + second + all_bytes(&gen->value[group->out]);
}
