/* SPDX-License-Identifier: MIT
 *
 * Memories and DMA engines at 980 MHz for tests, and the cycle in which an engine completes a descriptor. */
#ifndef NPULAB_TESTS_KIT_SIM_DMA_SUPPORT_H
#define NPULAB_TESTS_KIT_SIM_DMA_SUPPORT_H

#include <criterion/criterion.h>
#include <stdio.h>

#include "sim/memory/dma.h"
#include "tests/kit/cli_run.h"

static inline struct npl_memory *memory_of(const char *name, bool every_cycle)
{
	struct npl_memory_options options = {.every_cycle = every_cycle, .clock = {980000000, 1}};
	struct npl_memory *memory;
	struct npl_err err;
	cr_assert_eq(npl_memory_open(name, &options, &memory, &err), 0, "%s", err.msg);
	return memory;
}

/* A fixed memory at 980 MHz. The parameters are its bytes a second, and what follows them in its file. */
static inline struct npl_memory *fixed_memory(const char *parameters)
{
	char folder[CLI_PATH], text[200];
	cli_folder(folder);
	snprintf(text, sizeof text, "model: fixed\nbytes_per_second: %s\n", parameters);
	cli_write_text(folder, "fixed.yaml", text);
	struct npl_memory *memory = memory_of(cli_path(folder, "fixed.yaml"), false);
	cli_remove_folder(folder);
	return memory;
}

static inline struct npl_dma *dma_of(struct npl_memory *memory, struct npl_dma_config config)
{
	struct npl_dma *dma;
	struct npl_err err;
	cr_assert_eq(npl_dma_open(memory, &config, &dma, &err), 0, "%s", err.msg);
	return dma;
}

/* New engines over the memory in its state after opening. */
static inline struct npl_dma *dma_anew(struct npl_dma *dma, struct npl_memory *memory, struct npl_dma_config config)
{
	npl_dma_close(dma);
	npl_memory_reset(memory);
	return dma_of(memory, config);
}

/* Does one cycle of the memory. */
static inline void dma_step(struct npl_dma *dma, const struct npl_memory *memory)
{
	npl_dma_advance(dma, npl_memory_now(memory) + 1, false);
}

/* What the engines have asked of the memory since it was opened or reset. */
static inline struct npl_memory_counters asked(const struct npl_memory *memory)
{
	struct npl_memory_counters counters;
	npl_memory_counters(memory, &counters);
	return counters;
}

/* The cycle in which the engine completes its next descriptor, which has this tag. */
static inline uint64_t finish(struct npl_dma *dma, int engine, uint64_t tag)
{
	struct npl_memory_completion c;
	npl_dma_advance(dma, 1000000, true);
	cr_assert(npl_dma_completed(dma, engine, &c));
	cr_assert_eq(c.tag, tag);
	return c.cycle;
}

#endif
