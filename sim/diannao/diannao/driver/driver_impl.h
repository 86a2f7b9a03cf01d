/* SPDX-License-Identifier: MIT
 *
 * The inside of the driver `diannao`: the open machine, its layers (layer.c), its instruction set (execute.c). */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_DRIVER_DRIVER_IMPL_H
#define NPULAB_SIM_DIANNAO_DIANNAO_DRIVER_DRIVER_IMPL_H

#include "core/memo.h"
#include "npulab/driver.h"
#include "npulab/instruction_sink.h"
#include "npulab/program_dump.h"
#include "sim/diannao/diannao/engine/engine.h"
#include "sim/diannao/diannao/generate/generate.h"

/* The tiles of a layer, which follow from the machine and from the layer. */
struct dn_tile_choice {
	struct dn_layer layer;
	struct dn_tiles tiles;
};

/* Choices of tiles that are remembered: layers of a network are often alike, and a choice runs slices of the layer. */
#define DN_MAX_CHOICES 16

struct dn_machine {
	const struct dn_config *config; /* borrowed until the machine is closed */
	struct npl_arena arena;
	const char *memory_yaml;
	struct npl_memory *memory;
	struct npl_energy_model energy;
	bool rtl;                                     /* the rtl engine runs; if false, the fast one */
	struct dn_tile_choice choice[DN_MAX_CHOICES]; /* choice i is in place i modulo DN_MAX_CHOICES */
	uint64_t n_choices;
	const struct npl_instruction_sink *sink; /* is told the instructions; NULL: none is */
	struct npl_memo_key timing;              /* what the time of a layer depends on besides the layer */
};

extern const struct npl_isa dn_isa;
/* describe.c: fills name and unit; the instruction is a struct dn_instruction. */
void dn_describe_instruction(const void *instruction, struct npl_instruction *described);

/* Returns the bytes of the kernels and biases that the driver makes for the factor of LRN and that are not tensors of
 * the layer; 0 for every other layer. */
uint64_t dn_lrn_operand_bytes(const struct dn_layer *layer);
double dn_bytes_per_cycle(const struct dn_machine *machine); /* the most that memory gives */
/* Chooses the tiles of a layer. NPL_EINTERNAL: none fit the buffers, so that the machine does not support the layer. */
int dn_choose_tiles(struct dn_machine *machine, const struct dn_layer *layer, struct dn_tiles *tiles,
		    struct npl_err *err);

/* Returns what either engine needs to run a layer's program without values. For rtl with values the caller sets
 * `memory` too. */
struct dn_engine_input dn_engine_input_of(const struct dn_machine *machine, const struct dn_layer *layer,
					  struct dn_generator *generator);

/* A layer with all its operands; those of LRN's factor are made. The caller closes it in any case. */
struct dn_operands {
	struct npl_layer model_layer;
	struct npl_tensor kernels, biases;
};
int dn_operands_open(const struct dn_layer *layer, const struct npl_layer *model_layer, struct dn_operands *operands,
		     struct npl_err *err);
void dn_operands_close(struct dn_operands *operands);

/* Fills *outcome and, unless timing only, model_layer->out. */
int dn_run_layer(struct dn_machine *machine, const struct dn_layer *layer, const struct npl_layer *model_layer,
		 struct dn_outcome *outcome, struct npl_err *err);
/* values.c: fills model_layer->out and the counters of the values. */
int dn_layer_values(const struct dn_config *config, const struct dn_layer *layer, const struct npl_layer *model_layer,
		    struct dn_counters *counters, struct npl_err *err);
/* dump.c: writes the layer's program as text, and memory, into a zeroed dump. */
int dn_dump(struct dn_machine *machine, const struct dn_layer *layer, const struct npl_layer *model_layer,
	    struct npl_program_dump *dump, struct npl_err *err);
/* Returns how many counters the machine shows: those of activity, the last ones, only where it is counted. */
static inline size_t dn_shown_counters(const struct dn_config *config)
{
	return dn_counts_activity(config) ? DN_COUNTERS : DN_COUNTERS - DN_ACTIVITY_COUNTERS;
}
/* energy.c: makes the energy model of the machine. */
int dn_energy_model(const struct dn_config *config, struct npl_arena *arena, struct npl_energy_model *model,
		    struct npl_err *err);
/* energy.c: fills result->energy from the counters of a whole layer. has_activity: they have the activity of the
 * operands. */
int dn_energy_of(const struct dn_machine *machine, const struct dn_outcome *outcome, bool has_activity,
		 struct npl_result *result, struct npl_err *err);

#endif
