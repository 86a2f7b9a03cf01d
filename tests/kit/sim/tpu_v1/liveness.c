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

static const struct tpu_instruction *head(const struct liveness *live, enum tpu_unit unit)
{
	return tpu_code(live->program) + live->order[live->started[unit]][unit];
}

static bool overlap(const struct tpu_instruction *a, const struct tpu_instruction *b)
{
	return a->acc < (int64_t)b->acc + b->length && b->acc < (int64_t)a->acc + a->length;
}

static bool uses_accumulators(const struct tpu_instruction *in)
{
	return in->opcode != TPU_ACTIVATE || !(in->flags & TPU_ACTIVATE_FROM_BUFFER);
}

/* Whether an instruction of `other_unit`, earlier in the program than the head of `unit`, has not started and holds
 * accumulator rows of it. */
static bool is_held_up(const struct liveness *live, enum tpu_unit unit, enum tpu_unit other_unit)
{
	const struct tpu_instruction *in = head(live, unit);
	if (!uses_accumulators(in))
		return false;
	for (int64_t i = live->started[other_unit]; i < live->issued[other_unit]; i++) {
		const struct tpu_instruction *earlier = tpu_code(live->program) + live->order[i][other_unit];
		if (earlier < in && uses_accumulators(earlier) && overlap(earlier, in))
			return true;
	}
	return false;
}

/* A tile is popped when the pass that switched to the one before it has begun. */
static int64_t popped(const struct liveness *live)
{
	int64_t most = live->tiles_switched + 1;
	return live->tiles_sent < most ? live->tiles_sent : most;
}

static enum liveness_need weights_need(const struct liveness *live)
{
	int64_t started = live->started[TPU_WEIGHTS];
	if (!live->items_left && started == live->issued[TPU_WEIGHTS])
		return LIVENESS_NOTHING;
	int64_t at = live->items_left ? started - 1 : started;
	if (tpu_code(live->program)[live->order[at][TPU_WEIGHTS]].flags & TPU_WEIGHTS_PARAMETERS)
		return live->tables_sent - live->tables_switched < live->parameter_tables ? LIVENESS_NOTHING
											  : LIVENESS_TABLE_ROOM;
	return live->tiles_sent - popped(live) < live->fifo_tiles ? LIVENESS_NOTHING : LIVENESS_TILE_ROOM;
}

enum liveness_need liveness_need_of(const struct liveness *live, enum tpu_unit unit)
{
	if (unit == TPU_WEIGHTS)
		return weights_need(live);
	if (live->started[unit] == live->issued[unit])
		return LIVENESS_NOTHING;
	const struct tpu_instruction *in = head(live, unit);
	if (unit == TPU_MATRIX) {
		if ((in->flags & TPU_MATRIX_SWITCH) && popped(live) <= live->tiles_switched)
			return LIVENESS_TILE;
		return is_held_up(live, TPU_MATRIX, TPU_ACTIVATION) ? LIVENESS_OTHER : LIVENESS_NOTHING;
	}
	if (unit == TPU_ACTIVATION) {
		if ((in->flags & TPU_ACTIVATE_SWITCH) && live->tables_sent == live->tables_switched)
			return LIVENESS_TABLE;
		return is_held_up(live, TPU_ACTIVATION, TPU_MATRIX) ? LIVENESS_OTHER : LIVENESS_NOTHING;
	}
	return LIVENESS_NOTHING;
}

static void step_weights(struct liveness *live)
{
	if (!live->items_left)
		live->items_left = head(live, TPU_WEIGHTS)->acc, live->started[TPU_WEIGHTS]++;
	bool tables = tpu_code(live->program)[live->order[live->started[TPU_WEIGHTS] - 1][TPU_WEIGHTS]].flags &
		      TPU_WEIGHTS_PARAMETERS;
	(*(tables ? &live->tables_sent : &live->tiles_sent))++;
	live->items_left--;
}

/* One step of a unit; false when it has none to take. */
static bool step(struct liveness *live, enum tpu_unit unit)
{
	if (liveness_idle(live, unit) || liveness_need_of(live, unit))
		return false;
	if (unit == TPU_WEIGHTS) {
		step_weights(live);
		return true;
	}
	const struct tpu_instruction *in = head(live, unit);
	live->tiles_switched += unit == TPU_MATRIX && in->flags & TPU_MATRIX_SWITCH;
	live->tables_switched += unit == TPU_ACTIVATION && in->flags & TPU_ACTIVATE_SWITCH;
	live->started[unit]++;
	return true;
}

bool liveness_idle(const struct liveness *live, enum tpu_unit unit)
{
	return live->started[unit] == live->issued[unit] && (unit != TPU_WEIGHTS || !live->items_left);
}

bool liveness_room(const struct liveness *live, enum tpu_unit unit)
{
	return live->issued[unit] - live->started[unit] < live->queue_instructions;
}

bool liveness_issue(struct liveness *live, int64_t index)
{
	const struct tpu_instruction *in = tpu_code(live->program) + index;
	enum tpu_unit unit = tpu_unit_of(in->opcode);
	for (int u = 0; u < TPU_UNITS; u++)
		if ((in->opcode == TPU_HALT || (in->opcode == TPU_SYNC && in->flags >> u & 1)) &&
		    !liveness_idle(live, (enum tpu_unit)u))
			return false;
	if (unit == TPU_UNITS)
		return true;
	if (!liveness_room(live, unit))
		return false;
	live->order[live->issued[unit]++][unit] = (int32_t)index;
	bool progress = true;
	while (progress) {
		progress = false;
		for (int u = 0; u < TPU_UNITS; u++)
			while (step(live, (enum tpu_unit)u))
				progress = true;
	}
	return true;
}

int64_t liveness_stuck_at(const struct tpu_config *config, const struct sim_program *program)
{
	static int32_t order[LIVENESS_MOST_INSTRUCTIONS][TPU_UNITS];
	struct liveness live = liveness_start(config, program, order);
	for (int64_t i = 0; i < program->count; i++)
		if (!liveness_issue(&live, i))
			return i;
	return -1;
}
