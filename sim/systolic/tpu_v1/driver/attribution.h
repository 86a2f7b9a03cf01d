/* SPDX-License-Identifier: MIT
 *
 * Attribution of a run's cycles and counters to the layers of its program. Instructions count for their layer. A cycle
 * in which a vector enters the array, or in which the array waits for weights, goes to the layer of that matrix
 * instruction. Any other cycle goes to the layer whose activate ends next; after the last activate, to the layer of
 * that one. So the shares of all layers sum to the whole.
 *
 * Tiles, bytes, rows and instructions are counted here once more, from the program; tpu_attribution_finish compares
 * their sums with the engine's. The counters of weight memory are the engine's, apportioned. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_ATTRIBUTION_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_ATTRIBUTION_H

#include "sim/systolic/tpu_v1/engine/engine.h"
#include "sim/systolic/tpu_v1/generate/generate.h"

struct tpu_share {
	struct tpu_counters counters;
	uint64_t cycles, overflows, saturations;
};

/* An activate: its index in the program, and the cycles at which it started and ended. */
struct tpu_activate_time {
	int64_t index;
	uint64_t start, end;
};

struct tpu_attribution {
	const struct tpu_config *config;
	const struct tpu_generated *generated;
	struct tpu_share *layer_share;
	struct sim_observer observer;          /* the observer for the engine; the caller sets on_retired */
	struct sim_value_counts *value_counts; /* of each instruction; NULL: there are no values */
	struct tpu_activity *activity;         /* of each instruction; NULL: it is not counted */
	struct tpu_activate_time *activate;    /* the program's activates, in their order */
	int64_t n_activates;
	struct sim_cycles *interval;
	int64_t n_intervals, intervals_capacity;
	bool out_of_memory;
};

/* Opens an attribution; the generated program must outlive it. timing_only: runs have no values. After
 * tpu_attribution_reset it serves another run. Returns 0 or NPL_ENOMEM. */
int tpu_attribution_open(struct tpu_attribution *attribution, const struct tpu_config *config,
			 const struct tpu_generated *generated, bool timing_only, struct npl_err *err);
void tpu_attribution_reset(struct tpu_attribution *attribution);
/* Fills layer_share after a run. NPL_EINTERNAL: the shares do not sum to the outcome. */
int tpu_attribution_finish(struct tpu_attribution *attribution, const struct tpu_outcome *outcome, struct npl_err *err);
void tpu_attribution_close(struct tpu_attribution *attribution); /* accepts a zeroed one */

#endif
