/* SPDX-License-Identifier: MIT
 *
 * Emits instructions (impl.h): set_config where a register changes, sync where another unit has touched the same rows
 * or bytes since the last sync on it, and read_weights ahead of their use. Because of read_weights a program is put
 * together in two steps: all other instructions first, each with the weights that it needs, then the whole program.
 *
 * How far ahead: while the read_weights that the next instruction needs is being served, others can wait in the unit's
 * queue. So read_weights can run ahead by as many as the queue holds, and issue never waits for one that it has not
 * issued. Running ahead by more than the FIFO takes, with a table between any two tiles, is of no use. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "impl.h"
#include "sim/common/intervals.h"

#define MAX_TOUCHES 8

struct item {
	struct tpu_instruction instruction;
	int32_t layer;
	int64_t needed_reads; /* number of read_weights that must have been issued before it; -1: none */
	int64_t index;        /* the instruction's index in the program */
};

struct request {
	bool table;
	int64_t row, count;
	int32_t layer;
};

struct tpu_gen_emit {
	struct item *item;
	int64_t n_items, items_capacity;
	struct request *request;
	int64_t n_requests, requests_capacity;
	struct tpu_gen_touch touch[MAX_TOUCHES];
	int n_touches;
	struct sim_intervals touched_intervals[TPU_UNITS][2]
					      [2]; /* by unit since the last sync on it, in_host, writes */
	unsigned touched_units[2][2]; /* by in_host, writes: the units that have such intervals, a bit for each */
	int64_t tile, table;          /* weight rows of the tile and the table in use; -1: none */
	int64_t needed_reads;         /* `needed_reads` of the next instruction */
	int32_t layer;
	int rc;
};

static void out_of_memory(struct tpu_gen *gen)
{
	if (!gen->emit->rc)
		gen->emit->rc = npl_fail(gen->err, NPL_ENOMEM, "out of memory for the program");
}

int tpu_gen_emit_open(struct tpu_gen *gen)
{
	gen->emit = calloc(1, sizeof *gen->emit);
	if (!gen->emit)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the program");
	gen->registers = tpu_reset_registers(gen->rows, gen->columns);
	gen->emit->tile = gen->emit->table = gen->emit->needed_reads = gen->emit->layer = -1;
	return 0;
}

void tpu_gen_emit_close(struct tpu_gen *gen)
{
	struct tpu_gen_emit *emit = gen->emit;
	if (!emit)
		return;
	for (int u = 0; u < TPU_UNITS; u++)
		for (int i = 0; i < 4; i++)
			sim_intervals_clear(&emit->touched_intervals[u][i / 2][i % 2]);
	free(emit->item);
	free(emit->request);
	free(emit);
	gen->emit = NULL;
}

void tpu_gen_layer(struct tpu_gen *gen, int layer)
{
	gen->emit->layer = layer;
	gen->format_registers = 0;
}

static void append_item(struct tpu_gen *gen, struct tpu_instruction instruction, int64_t needed_reads)
{
	struct tpu_gen_emit *emit = gen->emit;
	struct item *item = emit->item;
	if (emit->n_items == emit->items_capacity) {
		item = npl_grow(emit->item, emit->n_items, &emit->items_capacity, sizeof *item);
		if (!item) {
			out_of_memory(gen);
			return;
		}
		emit->item = item;
	}
	item[emit->n_items++] = (struct item){
		.instruction = instruction, .layer = emit->layer, .needed_reads = needed_reads};
}

void tpu_gen_change(struct tpu_gen *gen, enum tpu_register r, uint32_t bits)
{
	gen->registers.value[r] = bits;
	append_item(gen, (struct tpu_instruction){.opcode = TPU_SET_CONFIG, .operand = (uint16_t)r, .length = bits},
		    -1);
}

void tpu_gen_set_scale(struct tpu_gen *gen, enum tpu_register r, float scale)
{
	struct tpu_gen_emit *emit = gen->emit;
	uint32_t bits;
	if (!(fabsf(scale) <= TPU_MAX_SCALE)) {
		const char *name = emit->layer >= 0 ? gen->layer[emit->layer]->name : NULL;
		if (!gen->request->timing_only && !emit->rc)
			emit->rc = npl_fail(
				gen->err, NPL_EINPUT,
				"%s: the scales of its tensors give a ratio of %g, expected a number up to 2^96",
				name ? name : "layer", (double)scale);
		scale = 0;
	}
	memcpy(&bits, &scale, sizeof bits);
	tpu_gen_set_format(gen, r, bits);
}

void tpu_gen_touch(struct tpu_gen *gen, bool in_host, bool writes, int64_t first, int64_t end)
{
	struct tpu_gen_emit *emit = gen->emit;
	if (first < end)
		emit->touch[emit->n_touches++] = (struct tpu_gen_touch){in_host, writes, first, end};
}

bool tpu_gen_need(struct tpu_gen *gen, bool table, int64_t row, int64_t count)
{
	struct tpu_gen_emit *emit = gen->emit;
	int64_t rows = tpu_weight_rows_of(table, gen->rows);
	int64_t *in_use = table ? &emit->table : &emit->tile;
	if (count == 1 && *in_use == row)
		return false;
	*in_use = row + (count - 1) * rows;
	struct request *last = emit->n_requests ? &emit->request[emit->n_requests - 1] : NULL;
	if (last && last->table == table && last->layer == emit->layer && last->row + last->count * rows == row &&
	    last->count + count <= TPU_GEN_MAX_TILES) {
		last->count += count;
		emit->needed_reads = emit->n_requests - 1;
		return true;
	}
	struct request *request = npl_grow(emit->request, emit->n_requests, &emit->requests_capacity, sizeof *request);
	if (!request) {
		out_of_memory(gen);
		return true;
	}
	emit->request = request;
	request[emit->n_requests] = (struct request){table, row, count, emit->layer};
	emit->needed_reads = emit->n_requests++;
	return true;
}

static bool overlaps(const struct sim_intervals *touched, const struct tpu_gen_touch *touch)
{
	return sim_intervals_meet(touched, touch->first, touch->end);
}

/* Returns the units that conflict with what an instruction of this unit touches. */
static unsigned conflicts(const struct tpu_gen_emit *emit, enum tpu_unit unit)
{
	unsigned units = 0;
	for (int i = 0; i < emit->n_touches; i++) {
		const struct tpu_gen_touch *touch = &emit->touch[i];
		const unsigned *touched = emit->touched_units[touch->in_host];
		const unsigned others = (touched[1] | (touch->writes ? touched[0] : 0)) & ~(1u << unit);
		for (unsigned u = 0; others >> u; u++) {
			if (!(others >> u & 1))
				continue;
			if (overlaps(&emit->touched_intervals[u][touch->in_host][1], touch) ||
			    (touch->writes && overlaps(&emit->touched_intervals[u][touch->in_host][0], touch)))
				units |= 1u << u;
		}
	}
	/* The passes that those activates read have ended before them. Waiting for the array too therefore costs
	 * nothing, and later activates may then write where the array read. */
	if (units >> TPU_ACTIVATION & 1)
		units |= 1u << TPU_MATRIX;
	return units;
}

static void add_sync(struct tpu_gen *gen, unsigned units)
{
	struct tpu_gen_emit *emit = gen->emit;
	append_item(gen, (struct tpu_instruction){.opcode = TPU_SYNC, .flags = (uint16_t)units}, -1);
	for (unsigned u = 0; u < TPU_UNITS; u++)
		for (int i = 0; i < 4 && units >> u & 1; i++)
			sim_intervals_clear(&emit->touched_intervals[u][i / 2][i % 2]);
	for (int i = 0; i < 4; i++)
		emit->touched_units[i / 2][i % 2] &= ~units;
}

void tpu_gen_add(struct tpu_gen *gen, enum tpu_opcode opcode, unsigned flags, int64_t ub, int64_t operand,
		 int64_t length)
{
	struct tpu_gen_emit *emit = gen->emit;
	enum tpu_unit unit = tpu_unit_of(opcode);
	unsigned units = conflicts(emit, unit);
	if (units)
		add_sync(gen, units);
	for (int i = 0; i < emit->n_touches; i++) {
		const struct tpu_gen_touch *t = &emit->touch[i];
		if (!sim_intervals_add(&emit->touched_intervals[unit][t->in_host][t->writes], t->first, t->end))
			out_of_memory(gen);
		emit->touched_units[t->in_host][t->writes] |= 1u << unit;
	}
	append_item(gen,
		    (struct tpu_instruction){.opcode = (uint8_t)opcode,
					     .flags = (uint16_t)flags,
					     .ub = (uint32_t)ub,
					     .operand = (uint16_t)operand,
					     .length = (uint32_t)length},
		    emit->needed_reads);
	emit->n_touches = 0;
	emit->needed_reads = -1;
}

/* Makes room for the whole program. */
static int open_program(struct tpu_gen *gen)
{
	struct tpu_gen_emit *emit = gen->emit;
	struct tpu_generated *g = gen->generated;
	const int64_t count = emit->n_items + emit->n_requests;
	if (!emit->rc)
		emit->rc = sim_program_reserve(&g->program, count, gen->err);
	if (!emit->rc && !(g->of_layer = malloc((size_t)count * sizeof *g->of_layer)))
		out_of_memory(gen);
	return emit->rc;
}

static void append_final(struct tpu_gen *gen, struct tpu_instruction instruction, int32_t layer)
{
	struct tpu_generated *g = gen->generated;
	const int64_t index = g->program.count++;
	tpu_code(&g->program)[index] = instruction;
	g->of_layer[index] = layer;
	if (layer < 0)
		return;
	g->layer[layer].first = g->layer[layer].first > g->layer[layer].last ? index : g->layer[layer].first;
	g->layer[layer].last = index;
}

static void issue_requests(struct tpu_gen *gen, int64_t *next, int64_t end)
{
	struct tpu_gen_emit *emit = gen->emit;
	for (; *next < end && *next < emit->n_requests; ++*next) {
		const struct request *r = &emit->request[*next];
		append_final(gen,
			     (struct tpu_instruction){.opcode = TPU_READ_WEIGHTS,
						      .flags = r->table ? TPU_WEIGHTS_PARAMETERS : 0,
						      .operand = (uint16_t)r->count,
						      .length = (uint32_t)r->row},
			     r->layer);
	}
}

int64_t tpu_gen_n_instructions(const struct tpu_gen *gen)
{
	return gen->emit->n_items;
}

int tpu_gen_emit_finish(struct tpu_gen *gen)
{
	struct tpu_gen_emit *emit = gen->emit;
	int64_t next = 0, ahead = 2 * (gen->config->fifo_tiles + 2);
	ahead = ahead < gen->config->queue_instructions ? ahead : gen->config->queue_instructions;
	tpu_gen_layer(gen, -1);
	append_item(gen, (struct tpu_instruction){.opcode = TPU_HALT}, -1);
	if (open_program(gen))
		return emit->rc;
	issue_requests(gen, &next, ahead);
	for (int64_t i = 0; i < emit->n_items; i++) {
		struct item *item = &emit->item[i];
		if (item->needed_reads >= 0)
			issue_requests(gen, &next, item->needed_reads + ahead);
		append_final(gen, item->instruction, item->layer);
		item->index = gen->generated->program.count - 1;
	}
	for (int g = 0; g < gen->n_groups; g++)
		gen->group[g].last_instruction = emit->item[gen->group[g].last_instruction].index;
	return 0;
}
