/* SPDX-License-Identifier: MIT
 *
 * The agreement of the two DRAM engines: one seed is one random memory and random requests, offered to both at the same
 * boundaries. */
#ifndef NPULAB_TESTS_KIT_SIM_DRAM_AGREE_H
#define NPULAB_TESTS_KIT_SIM_DRAM_AGREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: the first disagreement, in `reason`. */
bool dram_agrees(uint64_t seed, char *reason, size_t reason_bytes);

#endif
