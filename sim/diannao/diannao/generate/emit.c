/* SPDX-License-Identifier: MIT
 *
 * Emits the instructions of all loop nests (impl.h). An instruction is joined to the one before it where that has the
 * same effect. */
#include "impl.h"

#include "core/base/arith.h"
#include <stdlib.h>

struct dn_instruction *dn_emit(struct dn_generator *g)
{
	if (g->tail == g->capacity) {
		struct dn_instruction *grown = reallocarray(g->queue, 2 * (size_t)g->capacity, sizeof *grown);
		g->out_of_memory = g->out_of_memory || !grown;
		if (grown) {
			g->queue = grown;
			g->capacity *= 2;
		} else {
			g->tail--; /* the stream ends here, so the queue's contents are of no use */
		}
	}
	g->queue[g->tail] = (struct dn_instruction){0};
	return &g->queue[g->tail++];
}

/* Says whether the last instruction of the queue only loads. */
static bool loads_last(const struct dn_generator *g)
{
	if (!g->tail)
		return false;
	const struct dn_instruction *instruction = &g->queue[g->tail - 1];
	return !dn_uses_nfu(instruction) && (instruction->sb.op == DN_LOAD || instruction->nbin.op == DN_LOAD);
}

void dn_emit_nbin_load(struct dn_generator *g, uint64_t address, int64_t bytes)
{
	const bool joins = loads_last(g) && g->queue[g->tail - 1].nbin.op == DN_READ_NOP;
	struct dn_instruction *instruction = joins ? &g->queue[g->tail - 1] : dn_emit(g);
	instruction->nbin.op = DN_LOAD;
	instruction->nbin.reuse = 1;
	instruction->nbin.address = address;
	instruction->nbin.size = (uint32_t)bytes;
	g->nbin.next += npl_div_up_i64(bytes, g->row_bytes);
}

void dn_emit_sb_load(struct dn_generator *g, uint64_t address, int64_t rows)
{
	const bool joins = loads_last(g) && g->queue[g->tail - 1].sb.op == DN_READ_NOP;
	struct dn_instruction *instruction = joins ? &g->queue[g->tail - 1] : dn_emit(g);
	instruction->sb.op = DN_LOAD;
	instruction->sb.reuse = 1;
	instruction->sb.address = address;
	instruction->sb.size = (uint32_t)(rows * g->sb_row_bytes);
	g->sb.next += rows;
}

static bool follows(const struct dn_generator *g, const struct dn_instruction *last, int64_t nbin, int64_t sb,
		    int64_t steps)
{
	if (last->nfu.nfu1 != DN_MULT || last->sb.op != DN_READ ||
	    (int64_t)(last->sb.address + last->sb.size) != (sb - g->sb.oldest) * g->sb_row_bytes)
		return false;
	if (last->nbin.op != DN_READ_NOP && !last->nbin.reuse)
		return false; /* it frees rows */
	if (last->nbin.op == DN_READ_NOP || nbin < 0)
		return last->nbin.op == DN_READ_NOP && nbin < 0;
	int64_t row = nbin - g->nbin.oldest, begin = last->nbin.begin, end = last->nbin.end, stride = last->nbin.stride;
	if (row == end + 1 && stride == 1)
		return true;
	return steps == 1 && row > end && (begin == end || row == end + stride);
}

void dn_emit_multiply(struct dn_generator *g, struct dn_visit *visit, int64_t nbin, int64_t sb, int64_t steps)
{
	const bool joins = g->tail > visit->first && follows(g, &g->queue[g->tail - 1], nbin, sb, steps);
	const uint32_t row = (uint32_t)(nbin - g->nbin.oldest);
	struct dn_instruction *instruction = joins ? &g->queue[g->tail - 1] : dn_emit(g);
	if (!joins) {
		instruction->nfu.nfu1 = DN_MULT;
		instruction->nfu.nfu2 = DN_ADD;
		instruction->sb.op = DN_READ;
		instruction->sb.reuse = 1;
		instruction->sb.address = (uint64_t)((sb - g->sb.oldest) * g->sb_row_bytes);
		if (nbin >= 0) {
			instruction->nbin.op = DN_READ;
			instruction->nbin.reuse = 1;
			instruction->nbin.stride = 1;
			instruction->nbin.begin = row;
		}
	} else if (nbin >= 0 && instruction->nbin.begin == instruction->nbin.end) {
		instruction->nbin.stride = row - instruction->nbin.end;
	}
	instruction->sb.size += (uint32_t)(steps * g->sb_row_bytes);
	if (nbin >= 0)
		instruction->nbin.end = row + (uint32_t)steps - 1;
}

void dn_emit_bias(struct dn_generator *g, struct dn_visit *visit, int64_t sb)
{
	struct dn_instruction *instruction = dn_emit(g);
	(void)visit;
	instruction->nfu.nfu1 = DN_BIAS;
	instruction->nfu.nfu2 = DN_ADD;
	instruction->sb.op = DN_READ;
	instruction->sb.reuse = 1;
	instruction->sb.address = (uint64_t)((sb - g->sb.oldest) * g->sb_row_bytes);
	instruction->sb.size = (uint32_t)(g->map.bias_rows * g->sb_row_bytes);
}

void dn_emit_pool(struct dn_generator *g, struct dn_visit *visit, int64_t nbin, int64_t stride, int64_t steps)
{
	struct dn_instruction *instruction = dn_emit(g);
	(void)visit;
	instruction->nfu.nfu2 = g->layer->kind == DN_MAX ? DN_MAXIMUM : DN_ADD;
	instruction->nbin.op = DN_READ;
	instruction->nbin.reuse = 1;
	instruction->nbin.stride = (uint32_t)stride;
	instruction->nbin.begin = (uint32_t)(nbin - g->nbin.oldest);
	instruction->nbin.end = instruction->nbin.begin + (uint32_t)((steps - 1) * stride);
}

static void finish_last(struct dn_generator *g, const struct dn_visit *visit, struct dn_instruction *instruction)
{
	const struct dn_layer *layer = g->layer;
	instruction->nfu.out = (uint8_t)visit->target;
	if (visit->stores) {
		instruction->nbout.write = DN_STORE;
		instruction->nbout.address = visit->store_bytes ? visit->store_at : 0;
		instruction->nbout.size = (uint32_t)visit->store_bytes;
		if (visit->target == DN_TO_NFU3 || layer->kind == DN_MAX)
			instruction->nfu.shift = (int16_t)layer->shift;
		if (visit->target == DN_TO_NFU3) {
			instruction->nfu.result_shift = (int16_t)(layer->activates ? layer->result_shift : 0);
			instruction->nfu.divisor = visit->divisor;
		}
	} else if (visit->target == DN_TO_NBOUT) {
		instruction->nbout.write = DN_WRITE;
	}
}

/* Joins the first instruction that works and the load before it into one instruction, where possible. */
static void join_loads(struct dn_generator *g, int64_t first)
{
	struct dn_instruction *load = first ? &g->queue[first - 1] : NULL, *instruction = &g->queue[first];
	if (!load || dn_uses_nfu(load) || (load->sb.op != DN_LOAD && load->nbin.op != DN_LOAD))
		return;
	if (load->nbin.op == DN_LOAD && instruction->nbin.op == DN_READ_NOP)
		return;
	uint64_t loaded_bytes = (uint64_t)((g->sb.next - g->sb.oldest) * g->sb_row_bytes);
	if (load->sb.op == DN_LOAD &&
	    (instruction->sb.size != load->sb.size || instruction->sb.address + instruction->sb.size != loaded_bytes))
		return;
	if (load->sb.op == DN_LOAD)
		instruction->sb = load->sb;
	if (load->nbin.op == DN_LOAD) {
		instruction->nbin.op = DN_LOAD;
		instruction->nbin.address = load->nbin.address;
		instruction->nbin.size = load->nbin.size;
	}
	for (int64_t i = first - 1; i + 1 < g->tail; i++)
		g->queue[i] = g->queue[i + 1];
	g->tail--;
}

static bool reads_all(const struct dn_generator *g, const struct dn_instruction *instruction)
{
	return instruction->nbin.op != DN_READ_NOP && instruction->nbin.stride == 1 && !instruction->nbin.begin &&
	       instruction->nbin.end + 1 == (uint64_t)(g->nbin.next - g->nbin.oldest);
}

void dn_end_visit(struct dn_generator *g, struct dn_visit *visit)
{
	struct dn_instruction *first = NULL, *last = NULL;
	for (int64_t i = visit->first; i < g->tail && !g->out_of_memory; i++) {
		struct dn_instruction *instruction = &g->queue[i];
		if (!dn_uses_nfu(instruction))
			continue;
		instruction->nfu.in = DN_FROM_KEEP;
		instruction->nfu.nfu3 = g->layer->activates;
		if (!first)
			first = instruction;
		last = instruction;
		if (g->nbin.oldest == visit->oldest && reads_all(g, instruction))
			instruction->nbin.stride = instruction->nbin.end = 0;
	}
	if (!first)
		return;
	first->nfu.in = (uint8_t)visit->source;
	first->nfu.begin = visit->index_begins;
	if (visit->source == DN_FROM_NBOUT)
		first->nbout.read = DN_READ;
	finish_last(g, visit, last);
	join_loads(g, visit->first);
}

/* Says whether the instruction would free so many rows with REUSE 0. */
static bool would_free(const struct dn_instruction *instruction, int64_t held_rows, int64_t rows)
{
	return dn_uses_nfu(instruction) && instruction->nbin.op != DN_READ_NOP &&
	       (instruction->nbin.stride ? instruction->nbin.end + 1 : held_rows) == rows;
}

void dn_free_nbin(struct dn_generator *g, int64_t end)
{
	const int64_t rows = end - g->nbin.oldest, held_rows = g->nbin.next - g->nbin.oldest;
	if (rows <= 0)
		return;
	if (g->tail && would_free(&g->queue[g->tail - 1], held_rows, rows)) {
		g->queue[g->tail - 1].nbin.reuse = 0;
	} else {
		struct dn_instruction *instruction = dn_emit(g);
		instruction->nbin.op = DN_READ;
		instruction->nbin.stride = rows < held_rows;
		instruction->nbin.end = rows < held_rows ? (uint32_t)rows - 1 : 0;
	}
	g->nbin.oldest = end;
}

/* Frees SB rows. The last instruction that works has always read them to their end. */
void dn_free_sb(struct dn_generator *g, int64_t end)
{
	for (int64_t i = g->tail - 1; i >= 0; i--)
		if (dn_uses_nfu(&g->queue[i])) {
			g->queue[i].sb.reuse = 0;
			break;
		}
	g->sb.oldest = end;
}

int64_t dn_tap_bytes(const struct dn_generator *g, int64_t row, int64_t row_end)
{
	return 2 * (npl_min_i64(row_end * g->tn, g->layer->ni) - row * g->tn);
}

int64_t dn_group_bytes(const struct dn_generator *g, int64_t group, int64_t group_end)
{
	return g->map.out_bytes * (npl_min_i64(group_end * g->tn, g->layer->no) - group * g->tn);
}
