/* SPDX-License-Identifier: MIT
 *
 * What a driver with an instruction set offers to `asm`, `disasm` and `exec` (npl_driver.isa): the set as a table, and
 * functions for what the table does not say.
 */
#ifndef NPULAB_SIM_COMMON_ISA_H
#define NPULAB_SIM_COMMON_ISA_H

#include "instruction_set.h"
#include "npulab/program.h"
#include "program.h"

struct npl_isa {
	const struct sim_instruction_set *set;
	enum npl_dtype word; /* type of operands in memory: NPL_U8 (with a sign or without), or NPL_I16 */
	bool planes;         /* results of several bytes have a row of the buffer for each byte, low bytes first */
	bool has_buffer;     /* programs find operands in a memory on the chip, and leave results there */
	/* Makes every check that is possible before a run on the device with this state (npl_driver.open). `source` is
	 * the program's name in messages. */
	int (*check)(const void *state, const char *source, const struct sim_program *program, struct npl_err *err);
	/* Fills name and unit. */
	void (*describe)(const void *instruction, struct npl_instruction *described);
	const char *const *event_name; /* the name of each kind of event (sim_event.kind) */
	int n_events;
	const struct npl_cycle_class *time_class;
	int n_time_classes;
	/* Checks the program, also against its inputs, and runs it; the engine of execution->request is one of the
	 * driver's. */
	int (*execute)(const void *state, const char *source, const struct sim_program *program,
		       struct npl_execution *execution, struct npl_err *err);
};

#endif
