/* SPDX-License-Identifier: MIT
 *
 * The counters that follow from an instruction alone: tiles, bytes, rows, multiply-accumulates. The engines count them
 * for themselves. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_COUNT_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_COUNT_H

#include "sim/systolic/tpu_v1/counters.h"
#include "sim/systolic/tpu_v1/isa/isa.h"
#include "sim/systolic/tpu_v1/tpu.h"

/* Adds what the instruction counts for, with the registers as it finds them. Cycles, and what happens to values, are
 * left out. */
void tpu_count_instruction(const struct tpu_config *config, const struct tpu_registers *registers,
			   const struct tpu_instruction *instruction, struct tpu_counters *counters);

#endif
