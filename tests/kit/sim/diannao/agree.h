/* SPDX-License-Identifier: MIT
 *
 * The agreement of the two engines of DianNao: one seed is one random program (programs.h), run on both, or on one with
 * and without skipping what repeats.
 */
#ifndef NPULAB_TESTS_KIT_SIM_DIANNAO_AGREE_H
#define NPULAB_TESTS_KIT_SIM_DIANNAO_AGREE_H

#include "programs.h"

/* The case with its memory, passed by the check of programs. False: `reason`; nothing to free. */
bool diannao_checked(struct diannao_case *c, uint64_t seed, const struct diannao_request *wish,
		     struct npl_memory **memory, char *reason, size_t reason_bytes);
/* An execution of it; which instructions, and whether with values, is left open. */
struct dn_engine_input diannao_engine_input(const struct diannao_case *c, struct npl_memory *memory);

/* Cycles, counters and those of memory. False: the first difference, in `reason`. */
bool diannao_same_counts(const struct dn_outcome *a, const struct dn_outcome *b, char *reason, size_t reason_bytes);

/* Values, cycles, events, counters and those of memory on both engines, and the same times from fast without values.
 * False: the first difference, in `reason`. */
bool diannao_agrees(uint64_t seed, const struct diannao_request *wish, char *reason, size_t reason_bytes);
/* A stream of units: what fast makes of it is what rtl does, or, where `wish` says how many units, what fast does
 * instruction by instruction. An observer is told the same with and without skipping. Counts on in skips how often
 * units were skipped. */
bool diannao_units_agree(uint64_t seed, const struct diannao_request *wish, int64_t skips[DIANNAO_LEVELS], char *reason,
			 size_t reason_bytes);

#endif
