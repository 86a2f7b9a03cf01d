/* SPDX-License-Identifier: MIT
 *
 * Finds how long allocations hold something, and how many images. Consecutive groups that do the batch in the same
 * number of parts are a span: all its groups run for the first part, then for the second. An allocation keeps all
 * images while a span in parts uses it if it passes between spans, or is given or wanted in the buffer; other
 * allocations keep the images of a part. A store comes from host memory one group ahead of its first reader, and leaves
 * for host memory one group after its maker. */
#include "impl.h"

#include "core/base/arith.h"

static void find_segments(struct tpu_gen *gen)
{
	gen->split = false;
	for (int g = 0; g < gen->n_groups; g++) {
		struct tpu_gen_group *group = &gen->group[g];
		bool continues = g && group[-1].parts == group->parts;
		group->span_first = continues ? group[-1].span_first : g;
		gen->split |= group->parts > 1;
	}
	for (int g = gen->n_groups - 1; g >= 0; g--) {
		struct tpu_gen_group *group = &gen->group[g];
		bool continues = g + 1 < gen->n_groups && group[1].parts == group->parts;
		group->span_last = continues ? group[1].span_last : g;
	}
}

/* Calls `visit` for every store that a group reads or writes, except streamed ones. */
static void visit_stores(struct tpu_gen *gen, void (*visit)(struct tpu_gen *gen, int store, int group))
{
	for (int g = 0; g < gen->n_groups; g++) {
		int v[3] = {gen->group[g].source, gen->group[g].second, gen->group[g].out};
		for (int i = 0; i < 3; i++)
			for (int p = 0; v[i] >= 0 && p < gen->value[v[i]].n_pieces; p++) {
				int s = gen->value[v[i]].piece[p].store;
				if (!gen->store[s].staged_in_strips)
					visit(gen, s, g);
			}
	}
}

/* Finds allocations that must hold all images although a group does the batch in parts. */
static void see_images(struct tpu_gen *gen, int s, int g)
{
	const struct tpu_gen_store *store = &gen->store[s];
	const struct tpu_gen_group *group = &gen->group[g];
	struct tpu_gen_allocation *allocation = &gen->allocation[store->allocation];
	int span = group->parts > 1 ? group->span_first : -1;
	bool stays = (store->maker < 0 || store->is_output) && !store->staged_in_parts;
	if (allocation->held_to >= 0 && allocation->span != span)
		allocation->all_images = true;
	if (stays && span >= 0)
		allocation->all_images = true;
	allocation->span = span;
	allocation->held_to = g; /* until lifetimes are known this only says that the allocation has been seen */
}

int tpu_gen_load_group(const struct tpu_gen *gen, int s)
{
	const struct tpu_gen_store *store = &gen->store[s];
	const struct tpu_gen_group *group = &gen->group[store->first_reader];
	if (gen->allocation[store->allocation].all_images && group->parts > 1)
		return group->span_first;
	return npl_max_i64(store->first_reader - 1, group->span_first);
}

int tpu_gen_store_group(const struct tpu_gen *gen, int s)
{
	const struct tpu_gen_store *store = &gen->store[s];
	const struct tpu_gen_group *group = &gen->group[store->maker];
	if (gen->allocation[store->allocation].all_images && group->parts > 1)
		return group->span_last;
	return npl_min_i64(store->maker + 1, group->span_last);
}

static void extend(struct tpu_gen_allocation *allocation, int first, int last)
{
	allocation->held_from = npl_min_i64(allocation->held_from, first);
	allocation->held_to = npl_max_i64(allocation->held_to, last);
}

static void extend_life(struct tpu_gen *gen, int s, int g)
{
	const struct tpu_gen_store *store = &gen->store[s];
	const struct tpu_gen_group *group = &gen->group[g];
	struct tpu_gen_allocation *allocation = &gen->allocation[store->allocation];
	bool whole_batch = allocation->all_images && group->parts > 1;
	extend(allocation, whole_batch ? group->span_first : g, whole_batch ? group->span_last : g);
	if (store->maker < 0 && !store->staged_in_parts)
		extend(allocation, 0, 0);
	if (store->maker < 0 && store->staged_in_parts)
		extend(allocation, tpu_gen_load_group(gen, s), g);
	if (store->is_output && !store->staged_in_parts)
		extend(allocation, gen->n_groups, gen->n_groups);
	if (store->is_output && store->staged_in_parts && store->maker >= 0)
		extend(allocation, g, tpu_gen_store_group(gen, s));
}

void tpu_gen_lifetimes(struct tpu_gen *gen)
{
	find_segments(gen);
	for (int r = 0; r < gen->n_allocations; r++) {
		gen->allocation[r].held_to = gen->allocation[r].base = gen->allocation[r].span = -1;
		gen->allocation[r].all_images = false;
	}
	visit_stores(gen, see_images);
	for (int r = 0; r < gen->n_allocations; r++) {
		gen->allocation[r].held_from = gen->n_groups;
		gen->allocation[r].held_to = -1;
	}
	visit_stores(gen, extend_life);
	for (int s = 0; s < gen->n_stores; s++) /* given and wanted, but read by no node */
		if (gen->store[s].maker < 0 && gen->store[s].first_reader < 0 && !gen->store[s].staged_in_parts)
			extend(&gen->allocation[gen->store[s].allocation], 0, gen->n_groups);
	if (gen->split)
		tpu_gen_common_pixels(gen);
	for (int r = 0; r < gen->n_allocations; r++) {
		struct tpu_gen_allocation *allocation = &gen->allocation[r];
		int64_t images = gen->images ? gen->images : allocation->images;
		int64_t parts = !allocation->all_images && allocation->span >= 0 ? gen->group[allocation->span].parts
										 : 1;
		tpu_gen_size_allocation(gen, allocation, npl_div_up_i64(images, parts));
	}
}

bool tpu_gen_crosses_link(const struct tpu_gen *gen, const struct tpu_gen_store *store)
{
	bool over_link = store->maker < 0 ? gen->request->inputs_over_link && !store->resident
					  : store->is_output && gen->request->outputs_over_link;
	return over_link && !store->absent;
}
