/* SPDX-License-Identifier: MIT
 *
 * Streaming, the last resort (generate.h): the largest tensors live in host memory, one more at a time until the others
 * fit. Every group that reads or writes such a tensor does its work in strips. Strips are as large as the free rows
 * allow, with two sets of allocations where possible, so that transfers overlap with work. */
#include <string.h>

#include "impl.h"

#include "core/base/arith.h"

/* Puts the streamed stores of a value on the group's list. Returns the number of the value's other stores. */
static int list_stages(const struct tpu_gen *gen, struct tpu_gen_group *group, enum tpu_gen_role role, int v,
		       struct tpu_gen_stage *stage)
{
	int n_unstreamed = 0;
	for (int p = 0; v >= 0 && p < gen->value[v].n_pieces; p++) {
		int s = gen->value[v].piece[p].store;
		bool listed = false;
		for (int i = 0; i < group->n_stages; i++)
			listed |= stage[i].role == role && stage[i].store == s;
		if (!gen->store[s].staged_in_strips)
			n_unstreamed++;
		else if (!listed)
			stage[group->n_stages++] = (struct tpu_gen_stage){
				.role = role, .store = s, .allocation = {-1, -1}, .first_block = -1};
	}
	return n_unstreamed;
}

static void stream_store(struct tpu_gen_store *store)
{
	store->staged_in_strips = true;
	store->staged_in_parts = false;
}

static void stream_all(struct tpu_gen *gen, int v)
{
	for (int p = 0; v >= 0 && p < gen->value[v].n_pieces; p++)
		stream_store(&gen->store[gen->value[v].piece[p].store]);
}

/* Makes the allocations of one streamed store, one in every set. Returns false where they do not fit or memory ran out
 * (err is set). */
static bool fit_stage(struct tpu_gen *gen, struct tpu_gen_group *group, struct tpu_gen_stage *stage)
{
	const struct tpu_gen_store *store = &gen->store[stage->store];
	int g = (int)(group - gen->group);
	struct npl_image strip = {.images = npl_min_i64(group->at_once[0], store->image.images)};
	for (int d = 0; d < NPL_SPATIAL; d++) {
		int64_t low, end, positions = tpu_gen_tiled_image(gen, group)->size[d];
		strip.size[d] = 0;
		for (int64_t index = 0; index < positions; index += group->at_once[d + 1]) {
			tpu_gen_input_range(gen, group, stage->role, d, index,
					    npl_min_i64(group->at_once[d + 1], positions - index), &low, &end);
			strip.size[d] = end - low > strip.size[d] ? end - low : strip.size[d];
		}
	}
	for (int set = 0; set < group->n_sets; set++) {
		int r = tpu_gen_new_allocation(gen, &strip, store->type, store->image.channels);
		if (r < 0)
			return false;
		struct tpu_gen_allocation *allocation = &gen->allocation[r];
		if (group->block_at_once)
			allocation->lanes = npl_min_i64(allocation->lanes, gen->width);
		tpu_gen_size_allocation(gen, allocation, strip.images);
		/* A row of a strip of columns is a transfer of its own and begins a row of the buffer. */
		if (group->at_once[2] < tpu_gen_tiled_image(gen, group)->size[1] &&
		    ((stage->role == TPU_GEN_SOURCE && group->matrix >= 0) || group->pool >= 0)) {
			allocation->row_pixels = 1;
			allocation->plane_rows = strip.images * strip.size[0] * strip.size[1];
			allocation->rows = npl_div_up_i64(allocation->lanes, gen->width) * allocation->planes *
					   allocation->plane_rows;
		}
		allocation->held_from = allocation->held_to = g;
		allocation->base = tpu_gen_first_fit(gen, allocation);
		if (allocation->base < 0)
			return false;
		stage->allocation[set] = r;
	}
	return true;
}

static bool fit(struct tpu_gen *gen, struct tpu_gen_group *group, int sets, int64_t images, int64_t rows,
		int64_t columns, bool block)
{
	int allocations = gen->n_allocations;
	group->n_sets = sets;
	group->at_once[0] = images;
	group->at_once[1] = rows;
	group->at_once[2] = columns;
	group->block_at_once = block;
	for (int i = 0; i < group->n_stages; i++)
		if (!fit_stage(gen, group, &group->stage[i])) {
			gen->n_allocations = allocations;
			return false;
		}
	return true;
}

static int64_t half(int64_t n)
{
	return (n + 1) / 2;
}

/* Tries strips of images, then strips of rows. */
static bool fit_rows(struct tpu_gen *gen, struct tpu_gen_group *group, int sets)
{
	const struct npl_image *image = tpu_gen_tiled_image(gen, group);
	for (int64_t images = half(image->images); image->images > 1; images = half(images)) {
		if (fit(gen, group, sets, images, image->size[0], image->size[1], false))
			return true;
		if (images == 1)
			break;
	}
	for (int64_t rows = half(image->size[0]); image->size[0] > 1; rows = half(rows)) {
		if (fit(gen, group, sets, 1, rows, image->size[1], false))
			return true;
		if (rows == 1)
			break;
	}
	return false;
}

/* Says whether columns of a row can be done alone: the rows that a pooling reads must be next to each other. */
static bool columns_ok(const struct tpu_gen *gen, const struct tpu_gen_group *group)
{
	int all = gen->value[group->source].n_pieces + gen->value[group->out].n_pieces;
	all += group->second >= 0 ? gen->value[group->second].n_pieces : 0;
	return group->matrix >= 0 || group->pool < 0 || group->n_stages == all;
}

/* Tries strips of columns, then one block of channels of one position. */
static bool fit_columns(struct tpu_gen *gen, struct tpu_gen_group *group)
{
	const struct npl_image *image = tpu_gen_tiled_image(gen, group);
	for (int64_t columns = half(image->size[1]); columns_ok(gen, group); columns = half(columns)) {
		if (fit(gen, group, 1, 1, 1, columns, false))
			return true;
		if (columns == 1)
			break;
	}
	return fit(gen, group, 1, 1, 1, columns_ok(gen, group) ? 1 : image->size[1], true);
}

/* Chooses the sizes of the group's strips. *changed: more stores must be streamed first. Returns false where nothing
 * fits. */
static bool stage(struct tpu_gen *gen, struct tpu_gen_group *group, bool *changed)
{
	const struct npl_image *image = tpu_gen_tiled_image(gen, group);
	int v[3] = {group->source, group->second, group->out}, max_stages = 0, n_unstreamed;
	for (int i = 0; i < 3; i++)
		max_stages += v[i] >= 0 ? gen->value[v[i]].n_pieces : 0;
	group->n_stages = 0;
	group->stage = npl_arena_array(&gen->arena, (size_t)max_stages, sizeof *group->stage);
	if (!group->stage) {
		npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
		return false;
	}
	n_unstreamed = list_stages(gen, group, TPU_GEN_SOURCE, group->source, group->stage);
	n_unstreamed += list_stages(gen, group, TPU_GEN_SECOND, group->second, group->stage);
	/* The activation unit counts the vectors of both operands from the same number on. */
	if (group->matrix < 0 && group->second >= 0 && group->n_stages && n_unstreamed) {
		stream_all(gen, group->source);
		stream_all(gen, group->second);
		*changed = true;
		return true;
	}
	list_stages(gen, group, TPU_GEN_OUT, group->out, group->stage);
	if (!group->n_stages)
		return true;
	return fit(gen, group, 1, image->images, image->size[0], image->size[1], false) || fit_rows(gen, group, 2) ||
	       fit_rows(gen, group, 1) || fit_columns(gen, group);
}

/* Streams the largest store of those that live in the buffer at the group. Returns false where there is none. */
static bool evict(struct tpu_gen *gen, int g)
{
	struct tpu_gen_store *largest = NULL;
	for (int s = 0; s < gen->n_stores; s++) {
		struct tpu_gen_store *store = &gen->store[s];
		if (store->absent || store->staged_in_strips)
			continue;
		const struct tpu_gen_allocation *allocation = &gen->allocation[store->allocation];
		if (allocation->held_from <= g && g <= allocation->held_to &&
		    (!largest || allocation->rows > gen->allocation[largest->allocation].rows))
			largest = store;
	}
	if (largest)
		stream_store(largest);
	return largest != NULL;
}

static int too_small(struct tpu_gen *gen, int g)
{
	const struct tpu_gen_group *group = &gen->group[g];
	int nodes[] = {group->matrix, group->operand, group->function, group->pool}, layer = gen->n_layers;
	if (gen->err->code)
		return gen->err->code;
	for (int i = 0; i < 4; i++)
		if (nodes[i] >= 0 && gen->node[nodes[i]].layer < layer)
			layer = gen->node[nodes[i]].layer;
	const char *name = gen->layer[layer]->name;
	return npl_fail(gen->err, NPL_EDEVICE,
			"%s: what a single position of its output takes does not fit in the %lld rows of the unified "
			"buffer",
			name ? name : "layer", (long long)gen->buffer_rows);
}

/* Makes one attempt to place everything. *retry: another attempt is needed, with more stores streamed. */
static int attempt(struct tpu_gen *gen, int store_allocations, bool *retry)
{
	*retry = true;
	gen->n_allocations = store_allocations;
	tpu_gen_lifetimes(gen);
	int g = tpu_gen_place_all(gen, false);
	for (int i = 0; i < gen->n_groups && g < 0; i++) {
		bool changed = false;
		if (!stage(gen, &gen->group[i], &changed))
			g = i;
		if (changed)
			return 0;
	}
	*retry = g >= 0;
	if (g < 0 || (!gen->err->code && evict(gen, g)))
		return 0;
	return too_small(gen, g);
}

int tpu_gen_stream(struct tpu_gen *gen)
{
	gen->streaming = true;
	gen->weight_rows = 0;
	for (int s = 0; s < gen->n_stores; s++)
		gen->store[s].staged_in_parts = tpu_gen_crosses_link(gen, &gen->store[s]);
	if (tpu_gen_layout(gen))
		return NPL_ENOMEM;
	int store_allocations = gen->n_allocations, rc = 0;
	gen->err->code = 0;
	for (bool retry = true; retry && !rc;)
		rc = attempt(gen, store_allocations, &retry);
	return rc;
}
