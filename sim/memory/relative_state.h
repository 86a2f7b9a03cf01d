/* SPDX-License-Identifier: MIT
 *
 * The state of a memory relative to now, as words. An engine that finds the words of an earlier time again knows that
 * the times between repeat.
 */
#ifndef NPULAB_SIM_MEMORY_RELATIVE_STATE_H
#define NPULAB_SIM_MEMORY_RELATIVE_STATE_H

#include "npulab/memory.h"

/* A buffer of the caller. n counts all words that were added; only the first `capacity` are stored. */
struct npl_memory_words {
	uint64_t *word;
	uint64_t n, capacity;
};
static inline void npl_memory_add_word(struct npl_memory_words *words, uint64_t word)
{
	if (words->n < words->capacity)
		words->word[words->n] = word;
	words->n++;
}

/* Appends the state that decides when later requests complete: the pending requests, with all times relative to now and
 * each tag as tag_of(asker, tag). From two states with the same words, the same pushes lead to the same times. Returns
 * false for a model that cannot give such words (DRAM). */
bool npl_memory_relative_state(const struct npl_memory *memory, struct npl_memory_words *words,
			       uint64_t (*tag_of)(const void *asker, uint64_t tag), const void *asker);

#endif
