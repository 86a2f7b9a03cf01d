/* SPDX-License-Identifier: MIT
 *
 * DianNao's instruction set (docs/diannao-isa.md). syntax.c has its slots, check_fields.c the rules between their
 * fields. The constants of its programs are functions of NFU-3. */
#include "isa.h"

#include <stdio.h>
#include <string.h>

_Static_assert(DN_SEGMENTS <= SIM_MOST_PAIRS, "a constant holds the segments of a function");

const char *const dn_known_functions[] = {"SIGMOID", "TANH", "RELU", NULL};

const struct dn_function *dn_known_function(const char *name, struct dn_function *clip)
{
	if (!strcmp(name, dn_known_functions[0]))
		return &dn_sigmoid;
	if (!strcmp(name, dn_known_functions[1]))
		return &dn_tanh;
	return !strcmp(name, dn_known_functions[2]) && dn_clip(0, INT16_MAX, clip) ? clip : NULL;
}

static bool known_values(const char *name, int16_t *value)
{
	struct dn_function clip;
	const struct dn_function *function = dn_known_function(name, &clip);
	if (function)
		memcpy(value, function, sizeof *function);
	return function;
}

void dn_set_function(struct sim_constant *constant, const char *name, const struct dn_function *function)
{
	*constant = (struct sim_constant){0};
	snprintf(constant->name, sizeof constant->name, "%s", name);
	memcpy(constant->value, function, sizeof *function);
}

void dn_functions(const struct sim_program *program, struct dn_function function[SIM_MOST_CONSTANTS])
{
	for (int i = 0; i < program->n_constants; i++)
		memcpy(&function[i], program->constant[i].value, sizeof *function);
}

static const struct sim_constants functions = {
	.directive = ".function",
	.identity = "NONE",
	.pairs = DN_SEGMENTS,
	.known = dn_known_functions,
	.known_values = known_values,
};

const struct sim_instruction_set dn_instructions = {
	.name = "diannao",
	.page = "docs/diannao-isa.md",
	.former_magic = "DIANNAO",
	.n_slots = DN_SLOTS,
	.slot = dn_slots,
	.instruction_size = sizeof(struct dn_instruction),
	.accepts = dn_slots_ok,
	.constants = &functions,
	.has_addresses = true,
	.address_bits = DN_ADDRESS_BITS,
};
