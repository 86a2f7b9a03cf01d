/* SPDX-License-Identifier: MIT
 *
 * The attribution of a program's cycles to its instructions (docs/exec.md), from what either engine tells an observer.
 * An instruction's cycles begin with the one in which issue comes to it and end with the last one before its results
 * are there. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_TIMES_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_TIMES_H

#include "sim/common/execute.h"

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
	TPU_TIME_CLASSES
};
extern const struct npl_cycle_class tpu_time_classes[TPU_TIME_CLASSES];
/* `take` returns NPL_EINTERNAL where an instruction's cycles do not add up. */
extern const struct sim_times tpu_times;

#endif
