/* SPDX-License-Identifier: MIT
 *
 * Checks whether a program of a systolic machine can be run (docs/tpu-isa.md, Rules), before it runs, and finds what it
 * writes. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_ISA_CHECK_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_ISA_CHECK_H

#include "isa.h"
#include "sim/systolic/tpu_v1/tpu.h"

/* Checks that the program is well formed and can be run on this machine with these memories: opcodes, flags, fields,
 * ranges, window and layout, types, the order of sync and units; unless timing_only, also host_bytes and that scales in
 * tables are numbers. NPL_EINPUT with the instruction's place. `source` names the program in messages. memory NULL:
 * only rules that do not need the memories are checked. The engines take only programs that pass. */
int tpu_program_check(const struct tpu_config *config, const struct sim_program *program,
		      const struct tpu_memory *memory, const char *source, struct npl_err *err);

/* Rows of the unified buffer or bytes of host memory, first <= i < end, that an instruction reads or writes. Rows or
 * bytes that it skips in between count as touched. An access may be empty. */
struct tpu_access {
	bool in_host, writes;
	int64_t first, end;
};
/* Calls on_access for each access of each instruction, in the order of the program. It fails as tpu_program_check
 * does. */
int tpu_program_accesses(const struct tpu_config *config, const struct sim_program *program, const char *source,
			 void (*on_access)(void *context, int64_t instruction, const struct tpu_access *access),
			 void *context, struct npl_err *err);

/* Finds the bytes of host memory, first <= i < end, from the lowest to the highest that the program writes; first ==
 * end: it writes none. */
void tpu_program_host_written(const struct sim_program *program, int64_t rows, int64_t columns, int64_t *first,
			      int64_t *end);

/* Finds the rows of the unified buffer, first <= i < end, from the lowest to the highest that the program writes. It
 * fails as tpu_program_check does. */
int tpu_program_buffer_written(const struct tpu_config *config, const struct sim_program *program, const char *source,
			       int64_t *first, int64_t *end, struct npl_err *err);

#endif
