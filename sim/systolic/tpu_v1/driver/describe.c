/* SPDX-License-Identifier: MIT
 *
 * Describes an instruction for people: its name, and the unit that executes it. */
#include <stdio.h>

#include "driver_impl.h"

void tpu_describe_instruction(const void *instruction, struct npl_instruction *described)
{
	const struct tpu_instruction *at = instruction;
	const enum tpu_unit unit = tpu_unit_of(at->opcode);
	snprintf(described->name, sizeof described->name, "%s", sim_slot_of(&tpu_instruction_set, at)->name);
	described->unit = unit < TPU_UNITS ? tpu_units[unit].name : "issue";
}
