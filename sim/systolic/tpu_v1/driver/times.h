/* SPDX-License-Identifier: MIT
 *
 * What each instruction of a program spends its cycles on (docs/exec.md), of what either engine tells an observer. An
 * instruction's cycles are those from the one in which issue comes to it to the last before its results are there. */
#ifndef NPULAB_SYSTOLIC_TIMES_H
#define NPULAB_SYSTOLIC_TIMES_H

#include "npulab/program.h"
#include "sim/systolic/tpu_v1/isa/engine.h"

enum {
	TPU_TIME_ISSUE,
	TPU_TIME_ARRAY_ACTIVE,
	TPU_TIME_ACTIVATE_CYCLES,
	TPU_TIME_HOST_LINK,
	TPU_TIME_WEIGHT_MEMORY,
	TPU_TIME_INPUT_STALL,
	TPU_TIME_RAW_STALL,
	TPU_TIME_OUTPUT_STALL,
	TPU_TIME_SYNC_PAUSE,
	TPU_TIME_SYNC,
	TPU_TIME_QUEUE_FULL,
	TPU_TIME_UNIT_BUSY,
	TPU_TIME_WEIGHT_STALL,
	TPU_TIME_WEIGHT_SHIFT,
	TPU_TIME_ACCUMULATORS,
	TPU_TIME_TABLE,
	TPU_TIME_FIFO_FULL,
	TPU_TIME_RESULTS,
	TPU_TIMES
};
extern const struct npl_spending tpu_spendings[TPU_TIMES];

struct tpu_times;

/* NPL_ENOMEM. The program must outlive it. */
int tpu_times_open(struct tpu_times **opened, const struct tpu_config *config, const struct sim_program *program,
		   struct npl_err *err);
void tpu_times_event(void *opened, const struct sim_event *event);
void tpu_times_span(void *opened, const struct sim_span *span);
/* The instruction that an event is about: of tiles and tables the one that reads them from weight memory. */
int64_t tpu_times_instruction(const void *opened, const struct sim_event *event);
/* After a run: the table, the caller's to free. NPL_ENOMEM; NPL_EINTERNAL: an instruction's cycles do not add up. */
int tpu_times_take(struct tpu_times *times, struct npl_instruction_time **table, struct npl_err *err);
void tpu_times_close(struct tpu_times *times); /* accepts NULL */

#endif
