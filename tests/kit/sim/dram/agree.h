/* SPDX-License-Identifier: MIT
 *
 * The agreement of the two DRAM engines: one seed is one random memory and random requests, offered to both at the same
 * boundaries. */
#ifndef NPULAB_TESTS_KIT_SIM_DRAM_AGREE_H
#define NPULAB_TESTS_KIT_SIM_DRAM_AGREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npulab/memory.h"

/* False: the first disagreement, in `reason`. Adds what the memory counted to `sum`, which may be NULL. */
bool dram_agrees(uint64_t seed, struct npl_memory_counters *sum, char *reason, size_t reason_bytes);

#endif
