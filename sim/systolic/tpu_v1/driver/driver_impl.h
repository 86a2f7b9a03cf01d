/* SPDX-License-Identifier: MIT
 *
 * The inside of the driver `systolic`: the open machine, layer groups on it (layer_group.c), its instruction set
 * (execute.c). */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_DRIVER_IMPL_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_DRIVER_DRIVER_IMPL_H

#include "core/memo.h"
#include "npulab/driver.h"
#include "npulab/instruction_sink.h"
#include "npulab/program_dump.h"
#include "sim/systolic/tpu_v1/counters.h"
#include "sim/systolic/tpu_v1/generate/generate.h"

struct tpu_machine {
	struct tpu_config config; /* a copy of the parameters, with what is derived from them */
	bool rtl;                 /* the rtl engine runs; if false, the fast one */
	struct npl_arena arena;
	const char *memory_yaml;
	struct npl_memory *weights; /* the model of weight memory; NULL: the preset is fixed */
	struct npl_energy_model energy;
	uint8_t *buffer;                         /* the unified buffer; NULL until a layer with values */
	int n_cached_groups;                     /* layer groups that keep their fast engine's memory between runs */
	const struct npl_instruction_sink *sink; /* is told the instructions; NULL: none is */
	struct npl_memo_key timing;              /* what the time of a program depends on besides the program */
};

extern const struct npl_isa tpu_isa;
/* describe.c: fills name and unit; the instruction is a struct tpu_instruction. */
void tpu_describe_instruction(const void *instruction, struct npl_instruction *described);

int tpu_layer_group_open(void *state, const struct npl_layer_group *group, void **opened_group,
			 struct npl_layer_group_info *info, struct npl_err *err);
int tpu_layer_group_run(void *state, void *opened_group, const struct npl_layer_group_observer *observer,
			struct npl_result *results, struct npl_err *err);
void tpu_layer_group_close(void *opened_group);
int tpu_layer_group_dump(void *state, void *opened_group, struct npl_program_dump *dump, struct npl_err *err);

/* dump.c: writes the program as text, and the memories with the given tensors in them. */
int tpu_dump(const struct tpu_config *config, const struct npl_layer_group *group,
	     const struct tpu_generated *generated, const struct tpu_memory *memory, struct npl_program_dump *dump,
	     struct npl_err *err);

/* energy.c: makes the energy model of the machine. */
int tpu_energy_model(const struct tpu_config *config, struct npl_arena *arena, struct npl_energy_model *model,
		     struct npl_err *err);
/* energy.c: fills result->energy from the counters. has_activity: they have the activity of the operands. */
int tpu_energy_of(const struct tpu_machine *machine, const struct tpu_counters *counters, uint64_t cycles,
		  bool has_activity, struct npl_result *result, struct npl_err *err);
/* Returns how many counters the machine shows: those of activity, the last ones, only where it is counted. */
static inline size_t tpu_shown_counters(const struct tpu_config *config)
{
	return tpu_counts_activity(config) ? TPU_COUNTERS : TPU_COUNTERS - TPU_ACTIVITY_COUNTERS;
}

#endif
