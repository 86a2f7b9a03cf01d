/* SPDX-License-Identifier: MIT
 *
 * Attribution of a run's cycles and counters to the layers of its program. Instructions count for their layer. A cycle
 * in which a vector enters the array, or in which the array waits for weights, goes to the layer of that matrix
 * instruction. Any other goes to the layer whose activate ends next, after the last one of that layer. So the shares of
 * all layers sum to the whole.
 *
 * Instructions are counted here once more, from the program alone; tpu_attribution_finish compares sums with the
 * engine's. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_ATTRIBUTION_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_ATTRIBUTION_H

#include "sim/systolic/tpu_v1/engine/engine.h"
#include "sim/systolic/tpu_v1/generate/generate.h"

struct tpu_share {
	struct tpu_counters counters;
	uint64_t cycles, overflows, saturations;
};

struct tpu_attribution {
	const struct tpu_config *config;
	const struct tpu_generated *generated;
	struct tpu_share *of_layer;
	struct sim_observer observer; /* for the engine; on_retired is the caller's to set */
	struct sim_faults *faults;
	uint64_t *started, *ended; /* per instruction: of activate */
	struct sim_cycles *interval;
	int64_t n_intervals, intervals_capacity;
	bool out_of_memory;
};

/* NPL_ENOMEM. The generated program must outlive it. May be run again with tpu_attribution_reset. */
int tpu_attribution_open(struct tpu_attribution *attribution, const struct tpu_config *config,
			 const struct tpu_generated *generated, struct npl_err *err);
void tpu_attribution_reset(struct tpu_attribution *attribution);
/* After a run: of_layer is filled. NPL_EINTERNAL: they do not sum to the outcome. */
int tpu_attribution_finish(struct tpu_attribution *attribution, const struct tpu_outcome *outcome, struct npl_err *err);
void tpu_attribution_close(struct tpu_attribution *attribution); /* accepts a zeroed one */

#endif
