/* SPDX-License-Identifier: MIT
 *
 * Messages for a program that can never end. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_ENGINE_STUCK_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_ENGINE_STUCK_H

#include "npulab/error.h"
#include "sim/common/program.h"

/* An instruction that waits in a machine that has come to a stop. */
struct tpu_waiting {
	int64_t index; /* the instruction's index in the program; -1: there is none */
	enum tpu_waited_for {
		TPU_FOR_A_TILE,
		TPU_FOR_A_TABLE,
		TPU_FOR_TILE_SPACE,
		TPU_FOR_TABLE_SPACE,
		TPU_FOR_READS,  /* reads of accumulators by `blocker` */
		TPU_FOR_WRITES, /* writes of accumulators by `blocker` */
		TPU_FOR_A_QUEUE,
		TPU_FOR_UNITS
	} reason;
	int64_t blocker; /* the first instruction that could help */
	unsigned units;  /* one bit each: the unit whose queue is full; the units that are to be done */
};
/* Fails with NPL_EINPUT: the program can never end. The message has each of the n instructions that wait, in the order
 * of the program: the first is where to look. NPL_EINTERNAL: one of them waits for nothing. */
int tpu_fail_deadlock(const struct sim_program *program, const struct tpu_waiting *waiting, int n, struct npl_err *err);

#endif
