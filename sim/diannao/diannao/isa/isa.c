/* SPDX-License-Identifier: MIT
 *
 * DianNao's instruction set (docs/diannao-isa.md). syntax.c has its slots, check_fields.c the rules between their
 * fields. The constants of its programs are functions of NFU-3. */
#include "isa.h"

const struct sim_known_constant dn_known_functions[] = {
	{"SIGMOID", &dn_sigmoid}, {"TANH", &dn_tanh}, {"RELU", &dn_relu}, {0}};
static const struct sim_constants functions = {
	.directive = ".function",
	.identity = "NONE",
	.pairs = DN_SEGMENTS,
	.known = dn_known_functions,
};
_Static_assert(DN_SEGMENTS <= SIM_MAX_PAIRS, "a constant holds the segments of a function");

const struct sim_instruction_set dn_instruction_set = {
	.name = "diannao",
	.page = "docs/diannao-isa.md",
	.former_magic = "DIANNAO",
	.n_slots = DN_SLOTS,
	.slot = dn_slots,
	.instruction_size = sizeof(struct dn_instruction),
	.layout = dn_slots,
	.n_layout = DN_SLOTS,
	.accepts = dn_slots_ok,
	.constants = &functions,
	.has_addresses = true,
	.address_bits = DN_ADDRESS_BITS,
};
