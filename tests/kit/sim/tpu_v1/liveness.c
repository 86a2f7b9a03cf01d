/* SPDX-License-Identifier: MIT
 *
 * See liveness.h. */
#include "liveness.h"

#include <stdlib.h>

struct liveness liveness_start(const struct tpu_config *config, const struct sim_program *program,
			       int32_t (*order)[TPU_UNITS])
{
	return (struct liveness){.queue_instructions = config->queue_instructions,
				 .fifo_tiles = config->fifo_tiles,
				 .parameter_tables = config->parameter_tables,
				 .program = program,
				 .order = order};
}

static const struct tpu_instruction *head(const struct liveness *liveness, enum tpu_unit unit)
{
	return tpu_code(liveness->program) + liveness->order[liveness->started[unit]][unit];
}

static bool overlap(const struct tpu_instruction *a, const struct tpu_instruction *b)
{
	return a->operand < (int64_t)b->operand + b->length && b->operand < (int64_t)a->operand + a->length;
}

static bool uses_accumulators(const struct tpu_instruction *in)
{
	return in->opcode != TPU_ACTIVATE || !(in->flags & TPU_ACTIVATE_FROM_BUFFER);
}

/* Whether an instruction of `other_unit`, earlier in the program than the head of `unit`, has not started and holds
 * accumulator rows of it. */
static bool is_blocked(const struct liveness *liveness, enum tpu_unit unit, enum tpu_unit other_unit)
{
	const struct tpu_instruction *in = head(liveness, unit);
	if (!uses_accumulators(in))
		return false;
	for (int64_t i = liveness->started[other_unit]; i < liveness->issued[other_unit]; i++) {
		const struct tpu_instruction *earlier = tpu_code(liveness->program) + liveness->order[i][other_unit];
		if (earlier < in && uses_accumulators(earlier) && overlap(earlier, in))
			return true;
	}
	return false;
}

/* A tile is popped when the pass that switched to the one before it has begun. */
static int64_t popped(const struct liveness *liveness)
{
	int64_t maximum = liveness->tiles_switched + 1;
	return liveness->tiles_sent < maximum ? liveness->tiles_sent : maximum;
}

static enum liveness_need weights_need(const struct liveness *liveness)
{
	int64_t started = liveness->started[TPU_WEIGHTS];
	if (!liveness->items_left && started == liveness->issued[TPU_WEIGHTS])
		return LIVENESS_NOTHING;
	int64_t at = liveness->items_left ? started - 1 : started;
	if (tpu_code(liveness->program)[liveness->order[at][TPU_WEIGHTS]].flags & TPU_WEIGHTS_PARAMETERS)
		return liveness->tables_sent - liveness->tables_switched < liveness->parameter_tables
			       ? LIVENESS_NOTHING
			       : LIVENESS_TABLE_ROOM;
	return liveness->tiles_sent - popped(liveness) < liveness->fifo_tiles ? LIVENESS_NOTHING : LIVENESS_TILE_ROOM;
}

enum liveness_need liveness_need_of(const struct liveness *liveness, enum tpu_unit unit)
{
	if (unit == TPU_WEIGHTS)
		return weights_need(liveness);
	if (liveness->started[unit] == liveness->issued[unit])
		return LIVENESS_NOTHING;
	const struct tpu_instruction *in = head(liveness, unit);
	if (unit == TPU_MATRIX) {
		if ((in->flags & TPU_MATRIX_SWITCH) && popped(liveness) <= liveness->tiles_switched)
			return LIVENESS_TILE;
		return is_blocked(liveness, TPU_MATRIX, TPU_ACTIVATION) ? LIVENESS_OTHER : LIVENESS_NOTHING;
	}
	if (unit == TPU_ACTIVATION) {
		if ((in->flags & TPU_ACTIVATE_SWITCH) && liveness->tables_sent == liveness->tables_switched)
			return LIVENESS_TABLE;
		return is_blocked(liveness, TPU_ACTIVATION, TPU_MATRIX) ? LIVENESS_OTHER : LIVENESS_NOTHING;
	}
	return LIVENESS_NOTHING;
}

static void step_weights(struct liveness *liveness)
{
	if (!liveness->items_left)
		liveness->items_left = head(liveness, TPU_WEIGHTS)->operand, liveness->started[TPU_WEIGHTS]++;
	bool tables =
		tpu_code(liveness->program)[liveness->order[liveness->started[TPU_WEIGHTS] - 1][TPU_WEIGHTS]].flags &
		TPU_WEIGHTS_PARAMETERS;
	(*(tables ? &liveness->tables_sent : &liveness->tiles_sent))++;
	liveness->items_left--;
}

/* One step of a unit; false when it has none to take. */
static bool step(struct liveness *liveness, enum tpu_unit unit)
{
	if (liveness_idle(liveness, unit) || liveness_need_of(liveness, unit))
		return false;
	if (unit == TPU_WEIGHTS) {
		step_weights(liveness);
		return true;
	}
	const struct tpu_instruction *in = head(liveness, unit);
	liveness->tiles_switched += unit == TPU_MATRIX && in->flags & TPU_MATRIX_SWITCH;
	liveness->tables_switched += unit == TPU_ACTIVATION && in->flags & TPU_ACTIVATE_SWITCH;
	liveness->started[unit]++;
	return true;
}

bool liveness_idle(const struct liveness *liveness, enum tpu_unit unit)
{
	return liveness->started[unit] == liveness->issued[unit] && (unit != TPU_WEIGHTS || !liveness->items_left);
}

bool liveness_room(const struct liveness *liveness, enum tpu_unit unit)
{
	return liveness->issued[unit] - liveness->started[unit] < liveness->queue_instructions;
}

bool liveness_issue(struct liveness *liveness, int64_t index)
{
	const struct tpu_instruction *in = tpu_code(liveness->program) + index;
	enum tpu_unit unit = tpu_unit_of(in->opcode);
	for (int u = 0; u < TPU_UNITS; u++)
		if ((in->opcode == TPU_HALT || (in->opcode == TPU_SYNC && in->flags >> u & 1)) &&
		    !liveness_idle(liveness, (enum tpu_unit)u))
			return false;
	if (unit == TPU_UNITS)
		return true;
	if (!liveness_room(liveness, unit))
		return false;
	liveness->order[liveness->issued[unit]++][unit] = (int32_t)index;
	bool progress = true;
	while (progress) {
		progress = false;
		for (int u = 0; u < TPU_UNITS; u++)
			while (step(liveness, (enum tpu_unit)u))
				progress = true;
	}
	return true;
}

int64_t liveness_stuck_at(const struct tpu_config *config, const struct sim_program *program)
{
	static int32_t order[LIVENESS_MAX_INSTRUCTIONS][TPU_UNITS];
	struct liveness live = liveness_start(config, program, order);
	for (int64_t i = 0; i < program->count; i++)
		if (!liveness_issue(&live, i))
			return i;
	return -1;
}
