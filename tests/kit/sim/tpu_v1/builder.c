/* SPDX-License-Identifier: MIT
 *
 * See builder.h. */
#include "builder.h"

#include "tests/kit/sim/tpu_v1/code.h"
#include <stdlib.h>
#include <string.h>

bool builder_open(struct builder *b, uint64_t seed, const struct tpu_config *config, int64_t host_bytes)
{
	int64_t rows = tpu_buffer_size_rows(config);
	*b = (struct builder){.rng = seed,
			      .config = *config,
			      .row_bytes = tpu_row_bytes(config),
			      .buffer_rows = rows,
			      .host_bytes = host_bytes,
			      .registers = tpu_reset_registers(config->rows, config->columns)};
	b->row_touched = calloc((size_t)rows, sizeof *b->row_touched);
	b->byte_touched = calloc((size_t)host_bytes, sizeof *b->byte_touched);
	b->order = calloc(LIVENESS_MAX_INSTRUCTIONS, sizeof *b->order);
	b->liveness = liveness_start(config, &b->program, b->order);
	return b->row_touched && b->byte_touched && b->order;
}

void builder_close(struct builder *b)
{
	free(b->row_touched);
	free(b->byte_touched);
	free(b->order);
}

bool builder_chance(struct builder *b, int percent)
{
	return test_range(&b->rng, 0, 99) < percent;
}

int64_t builder_range(struct builder *b, int64_t low, int64_t high)
{
	return test_range(&b->rng, low, high);
}

int64_t builder_size(struct builder *b, int64_t limit)
{
	if (limit < 2)
		return 1;
	switch (test_range(&b->rng, 0, 7)) {
	case 0:
		return 1;
	case 1:
		return limit;
	case 2:
		return test_range(&b->rng, 1, limit);
	default:
		return test_range(&b->rng, 1, limit < 8 ? limit : (limit + 1) / 2);
	}
}

void builder_touches(struct builder_footprint *f, int64_t first, int64_t count, bool writes, bool host)
{
	if (count > 0 && f->touches < BUILDER_TOUCHES)
		f->touch[f->touches++] = (struct builder_touch){first, count, writes, host};
}

unsigned builder_hazards(const struct builder *b, enum tpu_unit unit, const struct builder_footprint *f)
{
	const unsigned writes = 0x2aa, unit_bits = 3u << 2 * unit;
	unsigned conflicts = 0, units = 0;
	for (int i = 0; i < f->touches; i++) {
		const struct builder_touch *t = f->touch + i;
		const uint16_t *touched = t->host ? b->byte_touched : b->row_touched;
		unsigned any_unit = 0;
		for (int64_t at = t->first; at < t->first + t->count; at++)
			any_unit |= touched[at];
		conflicts |= (t->writes ? any_unit : any_unit & writes) & ~unit_bits;
	}
	for (unsigned u = 0; u < TPU_UNITS; u++)
		units |= (conflicts >> 2 * u & 3) ? 1u << u : 0;
	return units;
}

static void forget(uint16_t *touched, int64_t count, unsigned bits)
{
	for (int64_t i = 0; i < count; i++)
		touched[i] &= (uint16_t)~bits;
}

/* What units have done before a sync on them is no hazard any more. */
static void forget_units(struct builder *b, unsigned units)
{
	unsigned bits = 0;
	for (unsigned u = 0; u < TPU_UNITS; u++)
		bits |= (units >> u & 1) * (3u << 2 * u);
	forget(b->row_touched, b->buffer_rows, bits);
	forget(b->byte_touched, b->host_bytes, bits);
}

void builder_emit(struct builder *b, struct tpu_instruction in, const struct builder_footprint *f)
{
	struct npl_err err;
	if (b->stuck)
		return;
	if (b->program.count == LIVENESS_MAX_INSTRUCTIONS || tpu_program_add(&b->program, in, 0, &err)) {
		b->no_memory = b->program.count < LIVENESS_MAX_INSTRUCTIONS;
		b->stuck = true;
		return;
	}
	b->stuck = !liveness_issue(&b->liveness, b->program.count - 1);
	if (in.opcode == TPU_SYNC)
		forget_units(b, in.flags);
	for (int i = 0; f && i < f->touches; i++) {
		const struct builder_touch *t = f->touch + i;
		uint16_t *touched = t->host ? b->byte_touched : b->row_touched;
		for (int64_t at = t->first; at < t->first + t->count; at++)
			touched[at] |= (uint16_t)((t->writes ? 2u : 1u) << 2 * tpu_unit_of(in.opcode));
	}
}

void builder_set(struct builder *b, enum tpu_register r, uint32_t value)
{
	if (b->registers.value[r] == value && !builder_chance(b, b->mood.noise_percent))
		return;
	if (!b->stuck)
		b->registers.value[r] = value;
	builder_emit(b, (struct tpu_instruction){.opcode = TPU_SET_CONFIG, .operand = (uint16_t)r, .length = value},
		     NULL);
}

void builder_set_float(struct builder *b, enum tpu_register r, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	builder_set(b, r, bits);
}

void builder_order(struct builder *b, enum tpu_unit unit, const struct builder_footprint *f)
{
	/* Registers that a footprint was made of may not have been set. */
	unsigned units = b->stuck ? 0 : builder_hazards(b, unit, f);
	if (!units)
		return;
	if (builder_chance(b, b->mood.noise_percent))
		units |= (unsigned)builder_range(b, 1, 31);
	builder_emit(b, (struct tpu_instruction){.opcode = TPU_SYNC, .flags = (uint16_t)units}, NULL);
}

bool builder_steady(struct builder *b, const struct builder_again *again, enum tpu_register first,
		    enum tpu_register last)
{
	if (!again->in.opcode || !builder_chance(b, b->mood.steady_percent))
		return false;
	return !memcmp(again->registers.value + first, b->registers.value + first,
		       (size_t)(last - first + 1) * sizeof *again->registers.value);
}

/* The next instruction of an orderly end: what is waited for is asked for, what waits for room is used. A pass and an
 * activate of one vector, on rows that nobody holds if there are such. False: it takes no more, or nothing helps. */
static bool end_one(struct builder *b)
{
	const struct liveness *live = &b->liveness;
	struct tpu_instruction in = {.length = 1};
	enum liveness_need weights = liveness_need_of(live, TPU_WEIGHTS);
	if (weights == LIVENESS_TILE_ROOM) {
		in.opcode = TPU_MATRIX_MULTIPLY;
		in.flags = TPU_MATRIX_SWITCH;
	} else if (weights == LIVENESS_TABLE_ROOM) {
		in.opcode = TPU_ACTIVATE;
		in.flags = TPU_ACTIVATE_SWITCH;
	} else if (liveness_need_of(live, TPU_MATRIX) == LIVENESS_TILE) {
		in.opcode = TPU_READ_WEIGHTS;
		in.operand = 1;
		in.length = (uint32_t)builder_range(b, 0, b->tile_rows - b->config.rows);
	} else if (liveness_need_of(live, TPU_ACTIVATION) == LIVENESS_TABLE) {
		in.opcode = TPU_READ_WEIGHTS;
		in.flags = TPU_WEIGHTS_PARAMETERS;
		in.operand = 1;
		in.length = (uint32_t)(b->tile_rows + 8 * builder_range(b, 0, b->tables - 1));
	} else {
		return false;
	}
	if (!liveness_room(live, tpu_unit_of(in.opcode)))
		return false;
	/* As the registers are after end_registers(): rows 0 of the buffer are read or, as i8, written. */
	struct builder_footprint f = {0};
	if (tpu_unit_of(in.opcode) != TPU_WEIGHTS) {
		in.operand = (uint16_t)(b->config.accumulator_rows - 1);
		builder_touches(&f, 0, 1, in.opcode == TPU_ACTIVATE, false);
		builder_order(b, tpu_unit_of(in.opcode), &f);
	}
	b->tiles_asked += in.opcode == TPU_READ_WEIGHTS && !in.flags;
	b->tables_asked += in.opcode == TPU_READ_WEIGHTS && in.flags;
	b->tiles_used += in.opcode == TPU_MATRIX_MULTIPLY;
	b->tables_used += in.opcode == TPU_ACTIVATE;
	builder_emit(b, in, &f);
	return !b->stuck;
}

/* What end_one's instructions need: everything as at reset. */
static void end_registers(struct builder *b)
{
	struct tpu_registers reset = tpu_reset_registers(b->config.rows, b->config.columns);
	static const enum tpu_register registers_needed[] = {
		TPU_REG_INPUT_ZERO_POINT,  TPU_REG_WEIGHT_ZERO_POINT, TPU_REG_USEFUL_CELLS,
		TPU_REG_SOURCE_TYPE,       TPU_REG_SOURCE_ZERO_POINT, TPU_REG_RESULT_TYPE,
		TPU_REG_RESULT_ZERO_POINT, TPU_REG_RESULT_COLUMNS,    TPU_REG_RESULT_PIXEL_LANES,
		TPU_REG_RESULT_ROW_PIXELS, TPU_REG_RESULT_LANE,       TPU_REG_FIRST_RESULT};
	for (size_t i = 0; i < sizeof registers_needed / sizeof *registers_needed; i++)
		builder_set(b, registers_needed[i], reset.value[registers_needed[i]]);
}

static bool all_idle(const struct builder *b)
{
	for (int u = 0; u < TPU_UNITS; u++)
		if (!liveness_idle(&b->liveness, (enum tpu_unit)u))
			return false;
	return true;
}

bool builder_can_end(struct builder *b, bool write)
{
	if (b->stuck)
		return false;
	if (all_idle(b))
		return true;
	struct builder_mark mark;
	if (!builder_save(b, &mark))
		return false;
	uint64_t rng = b->rng;
	/* Whoever asks twice gets the same answer. */
	b->rng = (uint64_t)b->program.count * 0x9e3779b97f4a7c15ull + 1;
	end_registers(b);
	while (!all_idle(b) && end_one(b))
		;
	bool ends = !b->stuck && all_idle(b);
	b->rng = rng;
	builder_restore(b, &mark, write && ends);
	return ends;
}

bool builder_save(const struct builder *b, struct builder_mark *mark)
{
	size_t row_bytes = (size_t)b->buffer_rows * sizeof *b->row_touched;
	size_t host_bytes = (size_t)b->host_bytes * sizeof *b->byte_touched;
	*mark = (struct builder_mark){.registers = b->registers,
				      .liveness = b->liveness,
				      .count = b->program.count,
				      .tiles_asked = b->tiles_asked,
				      .tiles_used = b->tiles_used,
				      .tables_asked = b->tables_asked,
				      .tables_used = b->tables_used,
				      .block = b->block,
				      .block_rows = b->block_rows,
				      .result = b->result,
				      .result_rows = b->result_rows,
				      .row_touched = malloc(row_bytes),
				      .byte_touched = malloc(host_bytes)};
	if (!mark->row_touched || !mark->byte_touched) {
		free(mark->row_touched);
		free(mark->byte_touched);
		return false;
	}
	memcpy(mark->row_touched, b->row_touched, row_bytes);
	memcpy(mark->byte_touched, b->byte_touched, host_bytes);
	return true;
}

void builder_restore(struct builder *b, struct builder_mark *mark, bool keep)
{
	if (!keep) {
		b->registers = mark->registers;
		b->liveness = mark->liveness;
		b->program.count = mark->count;
		b->tiles_asked = mark->tiles_asked;
		b->tiles_used = mark->tiles_used;
		b->tables_asked = mark->tables_asked;
		b->tables_used = mark->tables_used;
		b->block = mark->block;
		b->block_rows = mark->block_rows;
		b->result = mark->result;
		b->result_rows = mark->result_rows;
		memcpy(b->row_touched, mark->row_touched, (size_t)b->buffer_rows * sizeof *b->row_touched);
		memcpy(b->byte_touched, mark->byte_touched, (size_t)b->host_bytes * sizeof *b->byte_touched);
		b->stuck = false;
	}
	free(mark->row_touched);
	free(mark->byte_touched);
}
