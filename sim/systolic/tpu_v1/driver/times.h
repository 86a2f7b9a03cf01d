/* SPDX-License-Identifier: MIT
 *
 * The attribution of a program's cycles to its instructions (docs/exec.md), from what either engine tells an observer.
 * An instruction's cycles begin with the one in which issue comes to it and end with the last one before its results
 * are there. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_TIMES_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_TIMES_H

#include "sim/common/execute.h"

enum {
#define TPU_TIME(form, constant, ...) TPU_TIME_##constant,
#include "times.def"
#undef TPU_TIME
	TPU_TIME_CLASSES
};
extern const struct npl_cycle_class tpu_time_classes[TPU_TIME_CLASSES];
/* `take` returns NPL_EINTERNAL where an instruction's cycles do not add up. */
extern const struct sim_times tpu_times;

#endif
