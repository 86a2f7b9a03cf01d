/* SPDX-License-Identifier: MIT
 *
 * The rules of docs/tpu-isa.md for transfers from weight memory, from the cycles in which each may begin. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_PORT_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_PORT_H

#include "sim/systolic/tpu_v1/engine/engine.h"

struct program_transfer {
	uint64_t ready;          /* the cycle from which on it may begin */
	uint64_t address, bytes; /* in weight memory */
	/* found: the cycle in which it begins, the boundary at which it has come; on the way there: */
	uint64_t begun, arrived;
	uint64_t issued, completed; /* bytes asked for; the memory's boundary of the last completion */
};

/* Finds when each of n transfers begins and arrives, and the counters of weight memory after so many cycles. False: the
 * memory cannot be had. */
bool program_port(const struct tpu_config *config, struct program_transfer *transfer, int64_t n, uint64_t cycles,
		  struct tpu_counters *counters);

#endif
