/* SPDX-License-Identifier: MIT
 *
 * DRAM for tests: configurations that no file has, opened through a file written for the purpose, and random ones,
 * small enough that rows, banks and queues meet often. */
#ifndef NPULAB_TESTS_KIT_SIM_DRAM_CASE_H
#define NPULAB_TESTS_KIT_SIM_DRAM_CASE_H

#include "sim/memory/dram.h"

#define DRAM_CASE_MAPPING 64

/* A consistent configuration; its mapping is written into `mapping`, which it points to. */
void dram_case_random(struct dram_config *config, char mapping[DRAM_CASE_MAPPING], uint64_t *rng);

/* The memory of a configuration, by either engine. NULL: *err says why. */
struct npl_memory *dram_case_open(const struct dram_config *config, bool every_cycle, struct npl_err *err);

/* Where an address lies, digit by digit as the mapping's text says; bank: of the rank's group. */
struct dram_case_place {
	uint64_t row, rank, group, bank, column, channel;
};
struct dram_case_place dram_case_locate(const struct dram_config *config, uint64_t address);

/* The least tREFI that is accepted. */
int64_t dram_case_least_trefi(const struct dram_config *config);

#endif
