/* SPDX-License-Identifier: MIT
 *
 * DianNao's instructions (docs/diannao-isa.md). Chen et al., "DianNao", ASPLOS 2014, section 5.3.3 and tables 3 and 4,
 * give the five slots, the names of their fields, some of their values and one sequence. They do not give the widths,
 * nor the meaning of every field. The manual has a meaning that reproduces that sequence. Text and binary follow from a
 * table (syntax.c).
 *
 * An instruction covers the loops over inputs and outputs of one group of Tn outputs: some NBin rows times as many SB
 * rows, one in each step. Instructions run in order; their loads run ahead of them, their stores after. NBin and SB are
 * queues of rows. A LOAD appends rows after those held, and a READ names rows counted from the oldest. Rows are freed
 * in order, when an instruction without REUSE ends. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_ISA_ISA_H
#define NPULAB_SIM_DIANNAO_DIANNAO_ISA_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npulab/error.h"
#include "sim/common/program.h"
#include "sim/diannao/nfu/segments.h"

enum dn_cp { DN_CP_NOP, DN_CP_SYNC, DN_CP_END };
enum dn_read { DN_READ_NOP, DN_LOAD, DN_READ };
enum dn_write { DN_WRITE_NOP, DN_WRITE, DN_STORE };
enum dn_nfu1 { DN_NFU1_NOP, DN_MULT, DN_BIAS };
enum dn_nfu2 { DN_NFU2_NOP, DN_ADD, DN_MAXIMUM };
enum dn_from { DN_FROM_RESET, DN_FROM_NBOUT, DN_FROM_KEEP };
enum dn_to { DN_TO_KEEP, DN_TO_NBOUT, DN_TO_NFU3 };

#define DN_ADDRESS_BITS 48

/* The slots, of which each is a struct of its fields (fields.def), and the numbers of the fields within their slots. */
struct dn_instruction {
	struct {
#define DN_CP(form, constant, type, member, ...) type member;
#include "fields.def"
	} cp;
	struct {
#define DN_SB(form, constant, type, member, ...) type member;
#include "fields.def"
	} sb;
	struct {
#define DN_NBIN(form, constant, type, member, ...) type member;
#include "fields.def"
	} nbin;
	struct {
#define DN_NBOUT(form, constant, type, member, ...) type member;
#include "fields.def"
	} nbout;
	struct {
#define DN_NFU(form, constant, type, member, ...) type member;
#include "fields.def"
	} nfu;
};
enum {
#define DN_CP(form, constant, ...) DN_CP_##constant,
#include "fields.def"
};
enum {
#define DN_SB(form, constant, ...) DN_SB_##constant,
#include "fields.def"
};
enum {
#define DN_NBIN(form, constant, ...) DN_NBIN_##constant,
#include "fields.def"
};
enum {
#define DN_NBOUT(form, constant, ...) DN_NBOUT_##constant,
#include "fields.def"
};
enum {
#define DN_NFU(form, constant, ...) DN_NFU_##constant,
#include "fields.def"
};

/* The table of slots and fields (syntax.c). Programs of DianNao are struct sim_program with this set. The programs of
 * layers are made while they run (generate.h). */
extern const struct sim_instruction_set dn_instruction_set;
static inline struct dn_instruction *dn_code(const struct sim_program *program)
{
	return program->instruction;
}
enum dn_slot_at { DN_SLOT_CP, DN_SLOT_SB, DN_SLOT_NBIN, DN_SLOT_NBOUT, DN_SLOT_NFU, DN_SLOTS };
extern const struct sim_slot dn_slots[DN_SLOTS];

/* The functions that every program knows; a name of NULL ends. The values of a constant are a struct dn_function. */
extern const struct sim_known_constant dn_known_functions[];

/* Says whether an instruction has steps of the NFU. */
static inline bool dn_uses_nfu(const struct dn_instruction *instruction)
{
	return instruction->nfu.nfu2 != DN_NFU2_NOP;
}

#endif
