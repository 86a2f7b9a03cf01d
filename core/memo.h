/* SPDX-License-Identifier: MIT
 *
 * Outcomes of simulations that are remembered by what went into them: a program or a layer, the parameters of the
 * machine that its time depends on, and its memory. Where the same goes in again, as in a sweep over parameters of the
 * host, the same comes out, and need not be simulated.
 *
 * Nothing is remembered until npl_memo_allow. What went in is known by 128 bits of XXH3 over it: of a thousand million
 * different things no two have the same with a probability of 1 - 10^-20. One memory for the whole process, for any
 * thread. */
#ifndef NPULAB_CORE_MEMO_H
#define NPULAB_CORE_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npulab/params.h"

struct npl_memo_key {
	uint64_t half[2];
};

/* Remembers at most so many bytes of outcomes from now on, and forgets all where there are more. When there is no room
 * for another, all are forgotten. */
void npl_memo_allow(size_t bytes);
bool npl_memo_is_allowed(void);

/* Returns the key of bytes that go in beside what a key stands for. */
struct npl_memo_key npl_memo_add(struct npl_memo_key key, const void *data, size_t bytes);
/* Returns the key of a machine: its parameters, without those whose keys begin with a word of `without` ("energy. "
 * "technology."), and the text of its memory, which may be NULL. */
struct npl_memo_key npl_memo_machine(const struct npl_param *schema, const void *config, const char *without,
				     const char *memory);

/* Fills the outcome if one of so many bytes is remembered. */
bool npl_memo_find(struct npl_memo_key key, void *outcome, size_t bytes);
/* Remembers an outcome. Short of memory it is not remembered. */
void npl_memo_keep(struct npl_memo_key key, const void *outcome, size_t bytes);
/* Returns how many outcomes have been found. */
uint64_t npl_memo_found(void);

#endif
