/* SPDX-License-Identifier: MIT
 *
 * Tells a sink (npulab/instruction_sink.h) the instructions of a program that either engine executes. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_TELL_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_TELL_H

#include "npulab/instruction_sink.h"
#include "npulab/layer_group.h"
#include "sim/systolic/tpu_v1/engine/engine.h"

struct tpu_teller;

/* Everything is borrowed until the teller is closed. */
struct tpu_told {
	const struct tpu_config *config;
	const struct sim_program *program;
	const struct tpu_memory *memory;
	const struct npl_layer_group *group; /* whose program it is; NULL: it is of no layers */
	const int32_t *of_layer;             /* the layer of each instruction; NULL: they are of none */
	const struct npl_instruction_sink *sink;
	const struct sim_observer *observer; /* what the engine tells goes to this one first; NULL: to none */
};

/* Makes a teller, and tells the sink the program. Returns 0, NPL_ENOMEM or what the sink returns. */
int tpu_teller_open(const struct tpu_told *told, struct tpu_teller **opened, struct npl_err *err);
const struct sim_observer *tpu_teller_observer(struct tpu_teller *teller); /* for the engine */
/* Tells the instructions and the end, after an execution. Returns 0, NPL_ENOMEM or what the sink returns. */
int tpu_teller_end(struct tpu_teller *teller, const struct tpu_outcome *outcome, struct npl_err *err);
void tpu_teller_close(struct tpu_teller *teller); /* accepts NULL */

#endif
