/* SPDX-License-Identifier: MIT
 *
 * The tables of sigmoid and tanh that the activation unit holds. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_FUNCTION_TABLE_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_FUNCTION_TABLE_H

#include <stdint.h>

/* The function's 257 points (docs/tpu-isa.md, activate), computed without libm, so that they are the same
 * everywhere. */
struct tpu_function_table {
	int16_t point[257];
};
void tpu_sigmoid_points(struct tpu_function_table *table);
void tpu_tanh_points(struct tpu_function_table *table);

#endif
