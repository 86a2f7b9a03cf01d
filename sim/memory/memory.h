/* SPDX-License-Identifier: MIT
 *
 * The interface of a memory model, private to sim/memory; npulab/memory.h is the interface for its users. */
#ifndef NPULAB_SIM_MEMORY_MEMORY_H
#define NPULAB_SIM_MEMORY_MEMORY_H

#include "npulab/memory.h"
#include "relative_state.h"

/* Known completions that have not been taken, in the order of their cycles. */
struct memory_ring {
	struct npl_memory_completion entry[NPL_MEMORY_MAX_PENDING];
	uint64_t head, tail;
};

/* Adds a completion after all those whose cycle is not later. */
static inline void memory_ring_add(struct memory_ring *ring, uint64_t cycle, uint64_t tag)
{
	const uint64_t mask = NPL_MEMORY_MAX_PENDING - 1;
	uint64_t index = ring->tail++;
	for (; index > ring->head && ring->entry[(index - 1) & mask].cycle > cycle; index--)
		ring->entry[index & mask] = ring->entry[(index - 1) & mask];
	ring->entry[index & mask] = (struct npl_memory_completion){cycle, tag};
}

/* Returns the first completion, or NULL. */
static inline const struct npl_memory_completion *memory_ring_first(const struct memory_ring *ring)
{
	return ring->head == ring->tail ? NULL : &ring->entry[ring->head & (NPL_MEMORY_MAX_PENDING - 1)];
}

struct memory_model {
	const char *name;
	const struct npl_param *params;
	size_t config_bytes;
	/* Opens the model. config lives as long as the state. Fills what it knows of *info. Errors are those of
	 * npl_driver.open, and do not say which memory it is. */
	int (*open)(void *config, const struct npl_memory_options *options, struct npl_memory_info *info, void **state,
		    struct npl_err *err);
	void (*close)(void *state);
	void (*reset)(void *state);
	bool (*can_accept)(void *state, const struct npl_memory_request *request);
	void (*push)(void *state, const struct npl_memory_request *request);
	void (*feed)(void *state, struct npl_memory_feed *feed); /* NULL: npl_memory_feed pushes and advances itself */
	void (*advance)(void *state, uint64_t until, unsigned stop);
	uint64_t (*now)(const void *state);
	uint64_t (*pending)(const void *state);
	uint64_t (*take)(void *state, struct npl_memory_completion *completions, uint64_t capacity);
	/* Does what npl_memory_relative_state does. NULL: the model cannot give its state. */
	void (*relative)(const void *state, struct npl_memory_words *words,
			 uint64_t (*tag_of)(const void *asker, uint64_t tag), const void *asker);
	void (*count)(const void *state, struct npl_memory_counters *counters);
	int (*energy)(const void *config, const struct npl_memory_counters *counters,
		      struct npl_memory_energy energy[NPL_MEMORY_ENERGIES]);
};

/* Returns what a parameter of a model is ("dram", "timing.CL"); NULL: it has none of this key. */
const struct npl_param *npl_memory_parameter(const char *model, const char *key);

extern const struct memory_model memory_ideal, memory_fixed, memory_dram, memory_dram_stepped;

#endif
