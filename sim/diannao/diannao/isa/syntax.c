/* SPDX-License-Identifier: MIT
 *
 * DianNao's slots as a table (docs/diannao-isa.md, Slots): Chen et al., ASPLOS 2014, section 5.3.3 and tables 3 and 4,
 * and npulab's own fields. */
#include "isa.h"

#include <stddef.h>

static const char *const cps[] = {"NOP", "SYNC", "END"};
static const char *const reads[] = {"NOP", "LOAD", "READ"};
static const char *const sum_reads[] = {"NOP", NULL, "READ"};
static const char *const writes[] = {"NOP", "WRITE", "STORE"};
static const char *const nfu1s[] = {"NOP", "MULT", "BIAS"};
static const char *const nfu2s[] = {"NOP", "ADD", "MAX"};
static const char *const froms[] = {"RESET", "NBOUT", "KEEP"};
static const char *const tos[] = {"KEEP", "NBOUT", "NFU3"};

#define MEMBER(m) offsetof(struct dn_instruction, m), sizeof(((struct dn_instruction *)NULL)->m)
#define NAMED(name, m, names)                                                                                          \
	{                                                                                                              \
		name, false, SIM_NAMED, names, MEMBER(m), 1, 0, sizeof names / sizeof *names - 1                       \
	}
#define NUMBER(name, m, bytes, high)                                                                                   \
	{                                                                                                              \
		name, false, SIM_NUMBER, NULL, MEMBER(m), bytes, 0, high                                               \
	}
#define ADDRESS(m) NUMBER("ADDRESS", m, DN_ADDRESS_BITS / 8, ((int64_t)1 << DN_ADDRESS_BITS) - 1)

static const struct sim_field cp[] = {NAMED("OP", cp, cps)};
static const struct sim_field sb[] = {
	NAMED("READ OP", sb.op, reads),
	NUMBER("REUSE", sb.reuse, 1, 1),
	ADDRESS(sb.address),
	NUMBER("SIZE", sb.size, 4, UINT32_MAX),
};
static const struct sim_field nbin[] = {
	NAMED("READ OP", nbin.op, reads),
	NUMBER("REUSE", nbin.reuse, 1, 1),
	NUMBER("STRIDE", nbin.stride, 4, UINT32_MAX),
	NUMBER("STRIDE BEGIN", nbin.begin, 4, UINT32_MAX),
	NUMBER("STRIDE END", nbin.end, 4, UINT32_MAX),
	ADDRESS(nbin.address),
	NUMBER("SIZE", nbin.size, 4, UINT32_MAX),
};
static const struct sim_field nbout[] = {
	NAMED("READ OP", nbout.read, sum_reads),
	NAMED("WRITE OP", nbout.write, writes),
	ADDRESS(nbout.address),
	NUMBER("SIZE", nbout.size, 4, UINT32_MAX),
};
static const struct sim_field nfu[] = {
	NAMED("NFU-1 OP", nfu.nfu1, nfu1s),
	NAMED("NFU-2 OP", nfu.nfu2, nfu2s),
	NAMED("NFU-2 IN", nfu.in, froms),
	NAMED("NFU-2 OUT", nfu.out, tos),
	{"NFU-3 OP", false, SIM_CONSTANT, NULL, MEMBER(nfu.nfu3), 1, 0, SIM_MAX_CONSTANTS},
	NUMBER("OUTPUT BEGIN", nfu.begin, 1, 1),
	NUMBER("OUTPUT END", nfu.end, 1, 1),
	{"shift", true, SIM_NUMBER, NULL, MEMBER(nfu.shift), 2, INT16_MIN, INT16_MAX},
	{"result_shift", true, SIM_NUMBER, NULL, MEMBER(nfu.result_shift), 2, INT16_MIN, INT16_MAX},
	{"divisor", true, SIM_NUMBER, NULL, MEMBER(nfu.divisor), 4, 0, 65536},
};

const struct sim_slot dn_slots[DN_SLOTS] = {
	[DN_SLOT_CP] = SIM_SLOT("CP", 0, cp, NULL),       [DN_SLOT_SB] = SIM_SLOT("SB", 0, sb, NULL),
	[DN_SLOT_NBIN] = SIM_SLOT("NBIN", 0, nbin, NULL), [DN_SLOT_NBOUT] = SIM_SLOT("NBOUT", 0, nbout, NULL),
	[DN_SLOT_NFU] = SIM_SLOT("NFU", 0, nfu, NULL),
};
_Static_assert(sizeof nfu / sizeof *nfu <= SIM_MAX_FIELDS, "the NFU has the most");
