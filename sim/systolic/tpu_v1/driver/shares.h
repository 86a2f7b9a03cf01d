/* SPDX-License-Identifier: MIT
 *
 * What each layer of a program has of its run. Instructions count for their layer. A cycle in which a vector enters the
 * array, or in which the array waits for weights, is the layer's whose matrix instruction it is; any other is of the layer
 * whose activate ends next, after the last one of that layer. So shares sum to the whole.
 *
 * Instructions are counted here once more, from the program alone; tpu_shares_finish compares sums with the engine's. */
#ifndef NPULAB_SYSTOLIC_SHARES_H
#define NPULAB_SYSTOLIC_SHARES_H

#include "sim/systolic/tpu_v1/generate/generate.h"

struct tpu_share {
	struct tpu_counters counter;
	uint64_t cycles, overflows, saturations;
};

struct tpu_shares {
	const struct tpu_config *config;
	const struct tpu_generated *generated;
	struct tpu_share *of_layer;
	struct tpu_watcher watcher; /* for the engine; retired is the caller's to set */
	struct tpu_faults *faults;
	uint64_t *started, *ended; /* per instruction: of activate */
	struct tpu_spent *span;
	int64_t n_spans, spans_room;
	bool out_of_memory;
};

/* NPL_ENOMEM. The generated program must outlive it. May be run again with tpu_shares_reset. */
int tpu_shares_open(struct tpu_shares *shares, const struct tpu_config *config, const struct tpu_generated *generated,
		    struct npl_err *err);
void tpu_shares_reset(struct tpu_shares *shares);
/* After a run: of_layer is filled. NPL_EINTERNAL: they do not sum to the outcome. */
int tpu_shares_finish(struct tpu_shares *shares, const struct tpu_outcome *outcome, struct npl_err *err);
void tpu_shares_close(struct tpu_shares *shares); /* accepts a zeroed one */

#endif
