/* SPDX-License-Identifier: MIT
 *
 * Whether a program of the systolic machines (docs/tpu-isa.md) can come to its end. Queues, FIFOs and waits as the
 * document has them, without time: each unit does what it can as soon as it can. What waits for what does not depend on
 * how long things take, so a program ends on this model if and only if it ends on the machine. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_LIVENESS_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_LIVENESS_H

#include "sim/systolic/tpu_v1/isa/isa.h"
#include "sim/systolic/tpu_v1/tpu.h"

enum { LIVENESS_MAX_INSTRUCTIONS = 4096 };

struct liveness {
	int64_t queue_instructions, fifo_tiles, parameter_tables;
	const struct sim_program *program; /* borrowed */
	int32_t (*order)[TPU_UNITS];       /* borrowed, LIVENESS_MAX_INSTRUCTIONS: each unit's instructions */
	int64_t issued[TPU_UNITS], started[TPU_UNITS];
	int64_t items_left; /* tiles or tables of the read_weights that has started */
	int64_t tiles_sent, tiles_switched, tables_sent, tables_switched;
};

/* Nothing issued. */
struct liveness liveness_start(const struct tpu_config *config, const struct sim_program *program,
			       int32_t (*order)[TPU_UNITS]);
/* Issues instruction `index`, the next of the program, and lets every unit do what it can. False: it cannot issue. */
bool liveness_issue(struct liveness *liveness, int64_t index);
/* Whether a unit has nothing left to do. */
bool liveness_idle(const struct liveness *liveness, enum tpu_unit unit);
/* What keeps a unit from going on; LIVENESS_NOTHING when it could or has nothing to do. */
enum liveness_need {
	LIVENESS_NOTHING,
	LIVENESS_TILE,       /* matrix: a tile */
	LIVENESS_TABLE,      /* activate: a parameter table */
	LIVENESS_TILE_ROOM,  /* weights: a pass that switches */
	LIVENESS_TABLE_ROOM, /* weights: an activate that switches */
	LIVENESS_OTHER       /* accumulators that another unit holds */
};
enum liveness_need liveness_need_of(const struct liveness *liveness, enum tpu_unit unit);
/* Whether issue has room for an instruction of this unit. */
bool liveness_room(const struct liveness *liveness, enum tpu_unit unit);

/* Index of the instruction at which a whole program's issue is stuck for ever; -1: it ends. */
int64_t liveness_stuck_at(const struct tpu_config *config, const struct sim_program *program);

#endif
