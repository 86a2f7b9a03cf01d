/* SPDX-License-Identifier: MIT
 *
 * Generates a program from layers (generate.h): the passes in order. */
#include "generate.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena_scratch.h"
#include "impl.h"

/* Makes space for all nodes and values that the layers can become: one node for each input, one for a fused activation,
 * one before a table function, and copies of the nodes' inputs. */
static int make_space(struct tpu_gen *gen)
{
	int64_t nodes = 0;
	for (int i = 0; i < gen->n_layers; i++)
		nodes += gen->layer[i]->n_in + 2;
	nodes *= 3;
	size_t n = (size_t)nodes, values = 3 * n;
	gen->value = npl_arena_raw_array(&gen->arena, values, sizeof *gen->value);
	gen->store = npl_arena_raw_array(&gen->arena, values, sizeof *gen->store);
	gen->node = npl_arena_raw_array(&gen->arena, n, sizeof *gen->node);
	gen->group = npl_arena_raw_array(&gen->arena, n, sizeof *gen->group);
	gen->value_of_slots = 2 * values + 1;
	gen->value_of = npl_arena_raw_array(&gen->arena, gen->value_of_slots, sizeof *gen->value_of);
	gen->generated->layer = calloc((size_t)gen->n_layers, sizeof *gen->generated->layer);
	gen->common_pixels = npl_arena_raw_array(&gen->arena, (size_t)gen->width + 1, sizeof *gen->common_pixels);
	if (!gen->common_pixels || !gen->value_of || !gen->value || !gen->store || !gen->node || !gen->group ||
	    !gen->generated->layer)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for %d layers", gen->n_layers);
	for (int i = 0; i < gen->n_layers; i++)
		gen->generated->layer[i] = (struct tpu_generated_layer){.last = -1, .pass = -1, .first_pass = -1};
	memset(gen->value_of, -1, gen->value_of_slots * sizeof *gen->value_of);
	return 0;
}

static int layer_of(const struct tpu_gen *gen, const struct tpu_gen_group *group)
{
	int nodes[] = {group->matrix, group->operand, group->function, group->pool}, first = gen->n_nodes;
	for (int i = 0; i < 4; i++)
		first = nodes[i] >= 0 && nodes[i] < first ? nodes[i] : first;
	return gen->node[first].layer;
}

/* A part of the batch. */
struct part {
	int64_t images;
	bool first, last;
};

/* Transfers a store whose home is host memory: the images of the part, or all images with the first or last part. */
static void stage(struct tpu_gen *gen, int s, const struct part *part, bool in)
{
	struct tpu_gen_allocation allocation = gen->allocation[gen->store[s].allocation];
	bool all = allocation.span < 0 || allocation.all_images;
	allocation.first_image = all ? 0 : gen->part_image;
	allocation.images = all ? gen->store[s].image.images : part->images;
	if (!all || (in ? part->first : part->last))
		tpu_gen_transfer(gen, s, &allocation, 0, gen->store[s].image.channels / gen->width + 1, in);
}

/* Lists the stores whose home is host memory by the group at which they come or leave. Each list is in the order of
 * stores. */
static int list_staged(struct tpu_gen *gen)
{
	for (int in = 0; in < 2; in++) {
		gen->stage_first[in] = npl_arena_array(&gen->arena, (size_t)gen->n_groups + 1, sizeof(int));
		gen->stage_next[in] = npl_arena_array(&gen->arena, (size_t)gen->n_stores + 1, sizeof(int));
		if (!gen->stage_first[in] || !gen->stage_next[in])
			return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
		memset(gen->stage_first[in], -1, ((size_t)gen->n_groups + 1) * sizeof(int));
	}
	for (int s = gen->n_stores - 1; s >= 0; s--) {
		const struct tpu_gen_store *store = &gen->store[s];
		const bool in = store->maker < 0;
		if (!store->staged_in_parts || (in && store->first_reader < 0))
			continue;
		int *first = &gen->stage_first[in][in ? tpu_gen_load_group(gen, s) : tpu_gen_store_group(gen, s)];
		gen->stage_next[in][s] = *first;
		*first = s;
	}
	return 0;
}

static void stage_at(struct tpu_gen *gen, int g, const struct part *part, bool in)
{
	for (int s = gen->stage_first[in][g]; s >= 0; s = gen->stage_next[in][s])
		stage(gen, s, part, in);
}

static void emit_group(struct tpu_gen *gen, struct tpu_gen_group *group, int64_t images)
{
	const struct npl_image *image = tpu_gen_tiled_image(gen, group);
	struct tpu_gen_out_tile out_tile = {
		.images = images, .rows = image->size[0], .columns = image->size[1], .blocks = group->n_blocks};
	if (group->n_stages)
		tpu_gen_strips(gen, group);
	else if (group->matrix >= 0)
		tpu_gen_matrix(gen, group, &out_tile);
	else
		tpu_gen_vector(gen, group, &out_tile);
}

/* Counts the bytes that cross the link only because inputs_over_link or outputs_over_link asks for it. */
static void count_asked_for(struct tpu_gen *gen)
{
	for (int s = 0; s < gen->n_stores; s++) {
		const struct tpu_gen_store *store = &gen->store[s];
		const struct npl_image *image = &store->image;
		if (tpu_gen_crosses_link(gen, store))
			gen->link_bytes_requested += (uint64_t)(image->images * image->channels * image->size[0] *
								image->size[1] * tpu_planes(store->type));
	}
}

/* Emits the groups of a span, part by part. */
static void emit_span(struct tpu_gen *gen, int first, int last)
{
	int64_t parts = gen->group[first].parts;
	gen->part_image = 0;
	for (int64_t p = 0; p < parts; p++) {
		struct part part = {.first = p == 0, .last = p == parts - 1};
		part.images = gen->images / parts + (p < gen->images % parts);
		for (int g = first; g <= last; g++) {
			struct tpu_gen_group *group = &gen->group[g];
			tpu_gen_layer(gen, layer_of(gen, group));
			stage_at(gen, g, &part, true);
			emit_group(gen, group, parts > 1 ? part.images : gen->value[group->out].image.images);
			group->last_instruction = tpu_gen_n_instructions(gen) - 1;
			stage_at(gen, g, &part, false);
		}
		gen->part_image += part.images;
	}
	gen->part_image = 0;
}

/* Notes which layers' instructions do each layer, once the program is complete. */
static void note_passes(struct tpu_gen *gen)
{
	for (int g = 0; g < gen->n_groups; g++) {
		const struct tpu_gen_group *group = &gen->group[g];
		int nodes[] = {group->matrix, group->operand, group->function, group->pool};
		for (int i = 0; i < 4; i++) {
			int layer = nodes[i] < 0 ? -1 : gen->node[nodes[i]].layer;
			struct tpu_generated_layer *noted = layer < 0 ? NULL : &gen->generated->layer[layer];
			if (!noted)
				continue;
			noted->first_pass = noted->first_pass < 0 ? layer_of(gen, group) : noted->first_pass;
			noted->pass = noted->first <= noted->last ? layer : layer_of(gen, group);
		}
	}
}

static int emit(struct tpu_gen *gen)
{
	if (list_staged(gen) || tpu_gen_emit_open(gen))
		return NPL_ENOMEM;
	for (int g = 0; g < gen->n_groups; g = gen->group[g].span_last + 1)
		emit_span(gen, g, gen->group[g].span_last);
	int rc = tpu_gen_emit_finish(gen);
	if (!rc)
		note_passes(gen);
	return rc;
}

/* Does all that can find that the machine does not run the layers. What follows fails only for want of memory, or for
 * scales, which an execution with timing_only does not have. */
static int fit(struct tpu_gen *gen)
{
	int rc = make_space(gen);
	if (!rc)
		rc = tpu_gen_nodes(gen);
	if (!rc)
		rc = tpu_gen_allocate(gen);
	return rc ? rc : tpu_gen_weights(gen);
}

static int generate(struct tpu_gen *gen)
{
	int rc = fit(gen);
	if (!rc)
		rc = emit(gen);
	count_asked_for(gen);
	return rc ? rc : tpu_gen_locations(gen);
}

static struct tpu_gen open_gen(const struct tpu_config *config, const struct npl_layer_group *group,
			       struct tpu_generated *generated, struct npl_err *err)
{
	enum { MAX_ROWS = 1 << 24 }; /* the number of rows that instructions can name */
	int64_t buffer = tpu_buffer_size_rows(config);
	*generated = (struct tpu_generated){.n_layers = group->n, .program.set = &tpu_instruction_set};
	return (struct tpu_gen){
		.config = config,
		.layer = group->layer,
		.n_layers = group->n,
		.request = group,
		.generated = generated,
		.err = err,
		.rows = config->rows,
		.columns = config->columns,
		.width = tpu_row_bytes(config),
		.accumulators = config->accumulator_rows,
		.buffer_rows = buffer < MAX_ROWS ? buffer : MAX_ROWS,
	};
}

int tpu_generate_fits(const struct tpu_config *config, const struct npl_layer_group *group, struct npl_err *err)
{
	struct tpu_generated generated;
	struct tpu_gen gen = open_gen(config, group, &generated, err);
	const int rc = fit(&gen);
	npl_arena_free(&gen.arena);
	tpu_generated_free(&generated);
	return rc;
}

int tpu_generate(const struct tpu_config *config, const struct npl_layer_group *group, struct tpu_generated *generated,
		 struct npl_err *err)
{
	struct tpu_gen gen = open_gen(config, group, generated, err);
	int rc = group->n > 0 ? generate(&gen) : npl_fail(err, NPL_EINTERNAL, "a program of %d layers", group->n);
	generated->host_bytes = (size_t)gen.host_bytes;
	generated->host_bytes_for_size = gen.transferred - gen.link_bytes_requested;
	tpu_gen_emit_close(&gen);
	npl_arena_free(&gen.arena);
	if (rc)
		tpu_generated_free(generated);
	return rc;
}

void tpu_generated_free(struct tpu_generated *generated)
{
	sim_program_free(&generated->program);
	free(generated->of_layer);
	free(generated->layer);
	free(generated->weights);
	free(generated->location);
	free(generated->by_tensor);
	free(generated->extents);
	*generated = (struct tpu_generated){0};
}
