/* SPDX-License-Identifier: MIT
 *
 * Random programs of the systolic machines (docs/tpu-isa.md), each with a random machine and what is in its memories,
 * all out of one seed. They are valid: tpu_program_check takes them. Most are what real code looks like, in orders that
 * real code would not choose; some have nothing but extremes, and some can never end. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_STIMULUS_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_STIMULUS_H

#include "sim/systolic/tpu_v1/engine/engine.h"

struct program_case {
	uint64_t seed;
	struct tpu_config config;
	struct sim_program program;
	uint8_t *buffer, *weights, *host;
	size_t buffer_bytes, weight_bytes, host_bytes;
	int64_t stuck_at; /* the instruction at which issue waits for ever; -1: the program ends */
};

struct program_request {
	int64_t rows, columns; /* of the array; 0: random, 3 x 5 to 32 x 32 and sometimes a single row or column */
	int actions;           /* about so many layers or single instructions; 0: random */
	int stuck_percent;     /* of the programs are made so that they cannot end */
};

/* 0, NPL_ENOMEM. Unless it returns 0 there is nothing to free. */
int program_case_make(struct program_case *c, uint64_t seed, const struct program_request *wish, struct npl_err *err);
void program_case_free(struct program_case *c);

/* The same machine with all that decides about time drawn anew. */
struct tpu_config program_other_times(const struct tpu_config *config, uint64_t seed);

#endif
