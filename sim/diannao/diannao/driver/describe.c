/* SPDX-License-Identifier: MIT
 *
 * Describes an instruction for people: its name, and the unit that executes it. */
#include "core/base/message.h"
#include "driver_impl.h"

void dn_describe_instruction(const void *instruction, struct npl_instruction *described)
{
	const struct dn_instruction *at = instruction;
	char *name = described->name;
	const int operation[DN_SLOTS] = {DN_CP_OP, DN_SB_READ_OP, DN_NBIN_READ_OP, DN_NBOUT_WRITE_OP,
					 at->nfu.nfu1 ? DN_NFU_NFU1_OP : DN_NFU_NFU2_OP};
	for (int s = 0; s < DN_SLOTS; s++) {
		const struct sim_field *field = &dn_slots[s].field[operation[s]];
		const int64_t value = sim_field_get(at, field);
		if (value)
			npl_append(name, NPL_INSTRUCTION_NAME, "|", "%s %s", dn_slots[s].name, field->names[value]);
	}
	if (!*name)
		npl_append(name, NPL_INSTRUCTION_NAME, "", "CP NOP");
	described->unit = dn_uses_nfu(at)          ? "nfu"
			  : at->sb.op == DN_LOAD   ? "sb"
			  : at->nbin.op == DN_LOAD ? "nbin"
						   : "cp";
}
