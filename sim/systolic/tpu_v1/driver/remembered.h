/* SPDX-License-Identifier: MIT
 *
 * Runs of programs that are remembered (core/memo.h). A run without values follows from the program, from which layer
 * each instruction is of, from the machine without its energies, and from the memory of weights, which is at rest when
 * a program begins. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_REMEMBERED_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_REMEMBERED_H

#include "attribution.h"
#include "driver_impl.h"

/* A run of a layer group, to be found or kept. */
struct tpu_remembered {
	struct npl_memo_key key;
	int n_layers;
};

/* Describes a run of a program for n layers on a machine. */
struct tpu_remembered tpu_remembered_of(const struct tpu_machine *machine, const struct tpu_generated *generated,
					int n_layers);
/* Fills the shares of the layers, as tpu_attribution_finish does, if the run is remembered. */
bool tpu_remembered_find(const struct tpu_remembered *run, struct tpu_share *layer_share);
void tpu_remembered_keep(const struct tpu_remembered *run, const struct tpu_share *layer_share);

#endif
