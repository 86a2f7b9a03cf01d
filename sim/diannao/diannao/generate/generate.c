/* SPDX-License-Identifier: MIT
 *
 * Keeps the queue of a generator and makes the instructions of a visit (impl.h). */
#include <stdlib.h>

#include "core/base/refuse.h"
#include "impl.h"

#define FIRST_CAPACITY 256

static void next(void *state, struct dn_instruction *instruction)
{
	struct dn_generator *g = state;
	while (g->head == g->tail && !g->ended) {
		g->head = g->tail = 0;
		g->code->visit(g);
		g->ended = !dn_next_visit(g);
		if (g->out_of_memory) {
			g->ended = true;
			g->tail = 0;
		}
	}
	if (g->head < g->tail)
		*instruction = g->queue[g->head++];
	else
		*instruction = (struct dn_instruction){.cp.op = DN_CP_END};
}

static void count_repeats(void *state, int64_t units[DN_REPEAT_LEVELS])
{
	const struct dn_generator *g = state;
	for (int i = 0; i < DN_REPEAT_LEVELS; i++)
		units[i] = 0;
	if (g->head == g->tail && !g->ended)
		dn_loops_alike(g, units);
}

static void skip(void *state, int level, int64_t units)
{
	dn_skip_iterations(state, level, units);
}

struct dn_stream dn_generator_stream(struct dn_generator *generator)
{
	return (struct dn_stream){.state = generator, .next = next, .count_repeats = count_repeats, .skip = skip};
}

static const struct dn_nest_code *code_of(enum dn_nest nest)
{
	static const struct dn_nest_code *const code[] = {[DN_DOWN] = &dn_code_down,
							  [DN_ACROSS] = &dn_code_across,
							  [DN_STREAMED] = &dn_code_streamed,
							  [DN_POOLED] = &dn_code_pooled,
							  [DN_POOLED_ACROSS] = &dn_code_pooled_across};
	return code[nest];
}

int dn_generator_open(const struct dn_config *config, const struct dn_layer *layer, const struct dn_tiles *tiles,
		      struct dn_generator **generator, struct npl_err *err)
{
	struct dn_generator *g = *generator = calloc(1, sizeof *g);
	if (g)
		g->queue = calloc(FIRST_CAPACITY, sizeof *g->queue);
	if (!g || !g->queue)
		return npl_no_memory(err);
	g->capacity = FIRST_CAPACITY;
	g->config = config;
	g->layer = layer;
	g->tiles = tiles;
	g->code = code_of(tiles->nest);
	g->tn = config->tn;
	g->row_bytes = dn_row_bytes(config);
	g->sb_row_bytes = dn_sb_row_bytes(config);
	g->result_groups = dn_result_groups(config, layer);
	dn_lay_out(config, layer, tiles, &g->map);
	for (int d = 0; d < NPL_SPATIAL; d++)
		g->axis[d] = dn_axis_of(layer, d);
	g->ended = !dn_begin_loops(g);
	return 0;
}

void dn_generator_close(struct dn_generator *generator)
{
	if (!generator)
		return;
	free(generator->queue);
	free(generator);
}

const struct dn_layout_map *dn_generator_map(const struct dn_generator *generator)
{
	return &generator->map;
}

int dn_generator_failed(const struct dn_generator *generator, struct npl_err *err)
{
	return generator->out_of_memory ? npl_fail(err, NPL_ENOMEM, "out of memory for a layer's instructions") : 0;
}
