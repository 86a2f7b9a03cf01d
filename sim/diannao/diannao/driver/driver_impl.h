/* SPDX-License-Identifier: MIT
 *
 * The inside of the driver `diannao`: the open machine, its layers (layer_run.c), its instruction set (execute.c). */
#ifndef DIANNAO_DRIVER_IMPL_H
#define DIANNAO_DRIVER_IMPL_H

#include "npulab/driver.h"
#include "npulab/program.h"
#include "sim/diannao/diannao/isa/engine.h"
#include "sim/diannao/diannao/tiles.h"

/* The tiles of a layer: what they are follows from the machine and from the layer's work. */
struct dn_chosen {
	struct dn_work work;
	struct dn_tiles tiles;
};

#define DN_CHOSEN 16 /* layers of a network are often alike */

struct diannao {
	struct dn_config config;
	struct npl_memory *memory;
	bool rtl;                           /* the engine */
	struct dn_chosen chosen[DN_CHOSEN]; /* the last ones; n_chosen: how often any were chosen */
	uint64_t n_chosen;
};

extern const struct npl_isa dn_isa;

/* Bytes of the kernels and biases that the driver makes for the factor of LRN, which are no tensors of the layer; 0 of every other layer. */
uint64_t dn_made_bytes(const struct dn_work *work);
double dn_bytes_per_cycle(const struct diannao *machine); /* of memory, at most */
/* NPL_EINPUT: none as the machine's file asks for fit the buffers. */
int dn_choose_tiles(struct diannao *machine, const struct dn_work *work, struct dn_tiles *tiles, struct npl_err *err);

/* Fills *run and, unless timing only, layer->out. */
int dn_run_layer(struct diannao *machine, const struct dn_work *work, const struct npl_layer *layer, struct dn_run *run,
		 struct npl_err *err);
/* The layer's program and memory, into a zeroed dump. */
int dn_dump_layer(struct diannao *machine, const struct dn_work *work, const struct npl_layer *layer,
		  struct npl_program_dump *dump, struct npl_err *err);
/* dump.c: the same of a layer that has all its operands. */
int dn_dump_run(struct diannao *machine, const struct dn_work *work, const struct npl_layer *layer,
		struct npl_program_dump *dump, struct npl_err *err);

#endif
