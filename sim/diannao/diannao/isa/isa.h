/* SPDX-License-Identifier: MIT
 *
 * DianNao's instructions: Chen et al., "DianNao", ASPLOS 2014, section 5.3.3 and tables 3 and 4 give the five slots, the names of their
 * fields, some of their values and one sequence; not the widths, nor what every field means. The meaning below reproduces that
 * sequence. docs/diannao-isa.md is the manual; text and binary follow from the table in syntax.c.
 *
 * An instruction covers the loops over inputs and outputs of one group of Tn outputs: some NBin rows times as many SB rows, one a
 * step. Instructions run in order; their loads run ahead of them, their stores behind (engine.h has the times).
 *
 * Buffers. NBin and SB are queues of rows: a LOAD appends rows behind those held, in program order; `oldest` is the row held longest. A
 * READ names rows counted from the oldest. REUSE 1 keeps all that is held; REUSE 0 frees, when the instruction ends, the rows
 * from the oldest up to the last one in its range; a LOAD without steps has none. Rows are never freed out of order.
 *
 *   SB    READ OP  NOP   nothing is read
 *                  LOAD  appends SIZE bytes at ADDRESS as one request; if the NFU works, it reads the rows just appended
 *                  READ  the rows held from byte ADDRESS on, SIZE bytes of them, both whole rows
 *   NBin  READ OP  NOP   no rows: a multiplication has zeros
 *                  LOAD  appends SIZE bytes at ADDRESS as one request, ceil(SIZE / row bytes) rows, the last filled up with zeros; if
 *                        the NFU works, it reads the range below of all rows now held
 *                  READ  the range below of the rows held
 *         STRIDE, STRIDE BEGIN, STRIDE END: rows BEGIN, BEGIN + STRIDE, ... up to END, END included. With STRIDE 0 (BEGIN and END 0): all
 *         rows held. Reading taps of one map group with a stride is the paper's local transpose for pooling.
 *   NBout READ OP  READ iff NFU-2 IN is NBOUT, else NOP
 *         WRITE OP NOP; WRITE: the sums go into NBout (NFU-2 OUT is NBOUT); STORE: the results go to memory. SIZE above 0 opens a store of
 *                  SIZE bytes at ADDRESS, which this instruction and the following STOREs (ADDRESS and SIZE 0) fill in order, Tn results
 *                  each or what is left of SIZE; when it is full it is one request.
 *   NFU   NFU-1 OP NOP; MULT: a step multiplies Tn inputs by Tn x Tn synapses, SB row [n][i]; BIAS: a step passes the first Tn 32-bit words of
 *                  an SB row, one for each output (with Tn 1, which the engines know though nfu.tn begins at 2, two steps: the lower 16
 *                  bits of its word, then the upper)
 *         NFU-2 OP NOP: the NFU does nothing, the instruction has no steps (it loads, or frees with READ and REUSE 0); ADD; MAX
 *         NFU-2 IN what the registers hold before the first step: RESET (0, or the least number for MAX), NBOUT (the sums at NBout's
 *                  index), KEEP (what they hold)
 *         NFU-2 OUT after the last step: KEEP (they stay), NBOUT (into NBout: sums at its index, or, with STORE, a result as it is: sums
 *                  of 32 bits, a maximum shifted to 16), NFU3
 *         NFU-3 OP NONE (the identity) or a function, by its number in the program's table
 *         OUTPUT BEGIN 1: NBout's index is 0 before the instruction. It is one higher after each instruction whose NFU-2 OUT is not KEEP;
 *         OUTPUT END 1: it is 0 then.
 *
 * npulab's own, which the paper does not have: BIAS; KEEP; CP SYNC; the NFU's SHIFT (right, from NFU-2's result to the scale of NFU-3's
 * input; below 0 left), RESULT SHIFT (from NFU-3's output to that of the results) and DIVISOR (NFU-3 divides the sum by it; 0: no).
 */
#ifndef DIANNAO_ISA_H
#define DIANNAO_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npulab/error.h"
#include "sim/common/program.h"
#include "sim/diannao/nfu/segments.h"

struct dn_config;

enum dn_cp {
	DN_CP_NOP,
	DN_CP_SYNC,
	DN_CP_END
}; /* SYNC: begins when all before it has ended, stores included. END: the last one */
enum dn_read { DN_NOP, DN_LOAD, DN_READ };
enum dn_write { DN_WRITE_NOP, DN_WRITE, DN_STORE };
enum dn_nfu1 { DN_NFU1_NOP, DN_MULT, DN_BIAS };
enum dn_nfu2 { DN_NFU2_NOP, DN_ADD, DN_MAXIMUM };
enum dn_from { DN_FROM_RESET, DN_FROM_NBOUT, DN_FROM_KEEP };
enum dn_to { DN_TO_KEEP, DN_TO_NBOUT, DN_TO_NFU3 };

#define DN_ADDRESS_BITS 48

struct dn_instruction {
	uint8_t cp; /* enum dn_cp */
	struct {
		uint8_t op, reuse; /* enum dn_read */
		uint32_t size;     /* bytes */
		uint64_t address;
	} sb;
	struct {
		uint8_t op, reuse;
		uint32_t stride, begin, end; /* rows */
		uint32_t size;               /* bytes */
		uint64_t address;
	} nbin;
	struct {
		uint8_t read, write; /* read: DN_NOP, DN_READ */
		uint32_t size;
		uint64_t address;
	} nbout;
	struct {
		uint8_t nfu1, nfu2, in, out, nfu3;
		uint8_t begin, end;
		int16_t shift, result_shift;
		uint32_t divisor;
	} nfu;
};

/* The table of slots and fields (syntax.c): programs are struct sim_program of it. Layers make theirs as they go (generate.h). */
extern const struct sim_instruction_set dn_instructions;
static inline struct dn_instruction *dn_code(const struct sim_program *program)
{
	return program->instruction;
}
enum dn_slot_at { DN_SLOT_CP, DN_SLOT_SB, DN_SLOT_NBIN, DN_SLOT_NBOUT, DN_SLOT_NFU, DN_SLOTS };
extern const struct sim_slot dn_slots[DN_SLOTS];

/* Names of functions that every program knows; NULL ends. dn_known_function: one of them, in `room` where it is made; NULL: no such. */
extern const char *const dn_known_functions[];
const struct dn_function *dn_known_function(const char *name, struct dn_function *room);
/* The functions of a program, as NFU-3 takes them. */
void dn_functions(const struct sim_program *program, struct dn_function function[SIM_MOST_CONSTANTS]);
void dn_set_function(struct sim_constant *constant, const char *name, const struct dn_function *function);

/* What fields of an instruction may be beside each other, all in their ranges; 0 where one means nothing. False with the reason. */
bool dn_slots_ok(const void *instruction, char *why, size_t n);

/* Of an instruction that the check has let pass, with rows of so many bytes. */
static inline bool dn_works(const struct dn_instruction *at)
{
	return at->nfu.nfu2 != DN_NFU2_NOP;
}

#endif
