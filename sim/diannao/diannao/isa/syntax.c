/* SPDX-License-Identifier: MIT
 *
 * DianNao's slots as a table, from which their text, binary and ranges follow (fields.def). */
#include "isa.h"

static const char *const cp_ops[] = {"NOP", "SYNC", "END"};
static const char *const read_ops[] = {"NOP", "LOAD", "READ"};
static const char *const sum_read_ops[] = {"NOP", NULL, "READ"};
static const char *const write_ops[] = {"NOP", "WRITE", "STORE"};
static const char *const nfu1_ops[] = {"NOP", "MULT", "BIAS"};
static const char *const nfu2_ops[] = {"NOP", "ADD", "MAX"};
static const char *const nfu2_inputs[] = {"RESET", "NBOUT", "KEEP"};
static const char *const nfu2_outputs[] = {"KEEP", "NBOUT", "NFU3"};

#define FIELD(m, name, ...)              SIM_FIELD(struct dn_instruction, m, name, __VA_ARGS__)
#define NAMED(m, name, names)            FIELD(m, name, false, SIM_NAMED, names, 1, 0, sizeof names / sizeof *names - 1)
#define NUMBER(m, name, bytes, high)     FIELD(m, name, false, SIM_NUMBER, NULL, bytes, 0, high)
#define KEYED(m, name, bytes, low, high) FIELD(m, name, true, SIM_NUMBER, NULL, bytes, low, high)
#define FUNCTION(m, name)                FIELD(m, name, false, SIM_CONSTANT, NULL, 1, 0, SIM_MAX_CONSTANTS)
#define ADDRESS(m, name)                 NUMBER(m, name, DN_ADDRESS_BITS / 8, ((int64_t)1 << DN_ADDRESS_BITS) - 1)

static const struct sim_field cp[] = {
#define DN_CP(form, constant, type, member, ...) form(cp.member, __VA_ARGS__),
#include "fields.def"
};
static const struct sim_field sb[] = {
#define DN_SB(form, constant, type, member, ...) form(sb.member, __VA_ARGS__),
#include "fields.def"
};
static const struct sim_field nbin[] = {
#define DN_NBIN(form, constant, type, member, ...) form(nbin.member, __VA_ARGS__),
#include "fields.def"
};
static const struct sim_field nbout[] = {
#define DN_NBOUT(form, constant, type, member, ...) form(nbout.member, __VA_ARGS__),
#include "fields.def"
};
static const struct sim_field nfu[] = {
#define DN_NFU(form, constant, type, member, ...) form(nfu.member, __VA_ARGS__),
#include "fields.def"
};

const struct sim_slot dn_slots[DN_SLOTS] = {
	[DN_SLOT_CP] = SIM_SLOT("CP", 0, cp, NULL),       [DN_SLOT_SB] = SIM_SLOT("SB", 0, sb, NULL),
	[DN_SLOT_NBIN] = SIM_SLOT("NBIN", 0, nbin, NULL), [DN_SLOT_NBOUT] = SIM_SLOT("NBOUT", 0, nbout, NULL),
	[DN_SLOT_NFU] = SIM_SLOT("NFU", 0, nfu, NULL),
};
_Static_assert(sizeof nfu / sizeof *nfu <= SIM_MAX_FIELDS, "the NFU has the most");
