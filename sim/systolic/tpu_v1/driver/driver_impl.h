/* SPDX-License-Identifier: MIT
 *
 * The inside of the driver `systolic`: the open machine, and chains of layers on it (chain.c). */
#ifndef NPULAB_SYSTOLIC_DRIVER_IMPL_H
#define NPULAB_SYSTOLIC_DRIVER_IMPL_H

#include "sim/systolic/tpu_v1/generate/generate.h"

enum tpu_engine { TPU_FAST, TPU_RTL, TPU_ENGINES };

struct tpu {
	struct tpu_config own; /* with what is derived */
	const struct tpu_config *config;
	enum tpu_engine engine;
	struct npl_arena arena;
	const char *memory_yaml;
	struct npl_memory *weights; /* what weight memory costs; NULL: the preset is fixed */
	uint8_t *buffer;            /* the unified buffer; NULL until a layer with values */
	int caches;                 /* chains that keep their fast engine's memory between runs */
};

int tpu_chain_open(void *tpu, const struct npl_chain *chain, void **opened, struct npl_chain_info *info,
		   struct npl_err *err);
int tpu_chain_run(void *tpu, void *opened, const struct npl_chain_watcher *watcher, struct npl_result *results,
		  struct npl_err *err);
void tpu_chain_close(void *opened);

#endif
