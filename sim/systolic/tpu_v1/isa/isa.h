/* SPDX-License-Identifier: MIT
 *
 * The instruction set of the systolic machines (docs/tpu-isa.md): what a program is, its binary and its text.
 * Jouppi et al., ISCA 2017, section 2, name the instructions and the 12 bytes of a MatrixMultiply; the encoding is
 * npulab's. */
#ifndef NPULAB_SYSTOLIC_ISA_H
#define NPULAB_SYSTOLIC_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "npulab/error.h"

#define TPU_INSTRUCTION_BYTES 12

enum tpu_opcode {
	TPU_NOP = 0x00,
	TPU_HALT = 0x01,
	TPU_SYNC = 0x02,
	TPU_SET_CONFIG = 0x03,
	TPU_READ_HOST_MEMORY = 0x10,
	TPU_WRITE_HOST_MEMORY = 0x11,
	TPU_READ_WEIGHTS = 0x12,
	TPU_MATRIX_MULTIPLY = 0x20,
	TPU_CONVOLVE = 0x21,
	TPU_ACTIVATE = 0x30,
};

/* The five units, in the order of sync's bits. */
enum tpu_unit { TPU_HOST_IN, TPU_HOST_OUT, TPU_WEIGHTS, TPU_MATRIX, TPU_ACTIVATION, TPU_UNITS };

/* Flags, by instruction. */
enum {
	TPU_WEIGHTS_PARAMETERS = 1 << 0,

	TPU_MATRIX_SWITCH = 1 << 0,
	TPU_MATRIX_ACCUMULATE = 1 << 1,
	TPU_MATRIX_UNSIGNED_INPUTS = 1 << 2,
	TPU_MATRIX_UNSIGNED_WEIGHTS = 1 << 3,
	TPU_MATRIX_INPUTS16 = 1 << 4,
	TPU_MATRIX_HIGH_WEIGHTS = 1 << 5,

	TPU_ACTIVATE_FROM_BUFFER = 1 << 0,
	TPU_ACTIVATE_SWITCH = 1 << 1,
	TPU_ACTIVATE_OPERAND = 3 << 2,  /* enum tpu_operand */
	TPU_ACTIVATE_FUNCTION = 7 << 4, /* enum tpu_function */
	TPU_ACTIVATE_POOLING = 3 << 7,  /* enum tpu_pooling */
};
enum tpu_operand { TPU_NO_OPERAND, TPU_SCALE, TPU_ADD, TPU_MULTIPLY };
enum tpu_function { TPU_IDENTITY, TPU_RELU, TPU_RELU6, TPU_SIGMOID, TPU_TANH, TPU_FUNCTIONS };
enum tpu_pooling { TPU_NO_POOLING, TPU_POOL_MAX, TPU_POOL_AVERAGE, TPU_POOL_AVERAGE_PADDED };
/* As the type registers hold them. */
enum tpu_type { TPU_I8, TPU_U8, TPU_I16, TPU_I32, TPU_TYPES };

static inline enum tpu_operand tpu_operand_of(unsigned flags)
{
	return (enum tpu_operand)((flags & TPU_ACTIVATE_OPERAND) >> 2);
}
static inline enum tpu_function tpu_function_of(unsigned flags)
{
	return (enum tpu_function)((flags & TPU_ACTIVATE_FUNCTION) >> 4);
}
static inline enum tpu_pooling tpu_pooling_of(unsigned flags)
{
	return (enum tpu_pooling)((flags & TPU_ACTIVATE_POOLING) >> 7);
}
#define TPU_WITH_OPERAND(operand)   ((unsigned)(operand) << 2)
#define TPU_WITH_FUNCTION(function) ((unsigned)(function) << 4)
#define TPU_WITH_POOLING(pooling)   ((unsigned)(pooling) << 7)

/* Configuration registers, by number. */
enum tpu_register {
	TPU_REG_INPUT_ZERO_POINT,
	TPU_REG_WEIGHT_ZERO_POINT,
	TPU_REG_USEFUL_CELLS,
	TPU_REG_IN_HEIGHT,
	TPU_REG_IN_WIDTH,
	TPU_REG_OUT_HEIGHT,
	TPU_REG_OUT_WIDTH,
	TPU_REG_KERNEL_HEIGHT,
	TPU_REG_KERNEL_WIDTH,
	TPU_REG_STRIDE_Y,
	TPU_REG_STRIDE_X,
	TPU_REG_DILATION_Y,
	TPU_REG_DILATION_X,
	TPU_REG_PAD_TOP,
	TPU_REG_PAD_LEFT,
	TPU_REG_PIXEL_LANES,
	TPU_REG_ROW_PIXELS,
	TPU_REG_FIRST_LANE,
	TPU_REG_TAP_LANES,
	TPU_REG_FIRST_TAP,
	TPU_REG_TAPS,
	TPU_REG_FIRST_OUTPUT,
	TPU_REG_INPUT_PLANE_ROWS,
	TPU_REG_SOURCE,
	TPU_REG_SOURCE_PLANE_ROWS,
	TPU_REG_SOURCE_TYPE,
	TPU_REG_SOURCE_ZERO_POINT,
	TPU_REG_SOURCE_SCALE,
	TPU_REG_OPERAND,
	TPU_REG_OPERAND_PLANE_ROWS,
	TPU_REG_OPERAND_TYPE,
	TPU_REG_OPERAND_ZERO_POINT,
	TPU_REG_OPERAND_SCALE,
	TPU_REG_RESULT_TYPE,
	TPU_REG_RESULT_ZERO_POINT,
	TPU_REG_RESULT_PLANE_ROWS,
	TPU_REG_RESULT_COLUMNS,
	TPU_REG_RESULT_PIXEL_LANES,
	TPU_REG_RESULT_ROW_PIXELS,
	TPU_REG_RESULT_LANE,
	TPU_REG_FIRST_SOURCE,
	TPU_REG_FIRST_RESULT,
	TPU_REG_FUNCTION_SCALE,
	TPU_REG_RELU6_LIMIT,
	TPU_REG_HOST_ADDRESS,
	TPU_REG_HOST_ROW_BYTES,
	TPU_REG_HOST_STRIDE,
	TPU_REGISTERS
};

/* The configuration registers, each 32 bits; how the bits are read is the register's affair (tpu_registers). */
struct tpu_registers {
	uint32_t value[TPU_REGISTERS];
};
static inline int32_t tpu_signed(const struct tpu_registers *registers, enum tpu_register r)
{
	return (int32_t)registers->value[r];
}
float tpu_float(const struct tpu_registers *registers, enum tpu_register r);
/* All registers as at reset, for an array of this size. */
struct tpu_registers tpu_reset_registers(int64_t rows, int64_t columns);

struct tpu_instruction {
	uint8_t opcode;
	uint16_t flags;
	uint32_t ub; /* 24 bits */
	uint16_t acc;
	uint32_t length;
};

/* An owned list of instructions. `line` tells where each stands in the text it was made from, 0: from no text. */
struct tpu_program {
	struct tpu_instruction *instruction;
	int *line;
	int64_t count, capacity;
};
/* Appends; NPL_ENOMEM. */
int tpu_program_add(struct tpu_program *program, struct tpu_instruction instruction, int line, struct npl_err *err);
void tpu_program_free(struct tpu_program *program);
/* "line 12: matrix_multiply" or, without a line, "instruction 11: matrix_multiply": how messages name one. */
void tpu_program_where(const struct tpu_program *program, int64_t index, char *where, size_t n);

const char *tpu_opcode_name(int opcode); /* NULL: no such */
const char *tpu_unit_name(enum tpu_unit unit);
const char *tpu_register_name(enum tpu_register r);
const char *tpu_type_name(enum tpu_type type);
/* How a register's 32 bits are read. */
enum tpu_register_kind { TPU_UNSIGNED, TPU_SIGNED, TPU_FLOAT, TPU_TYPE };
enum tpu_register_kind tpu_register_kind_of(enum tpu_register r);
/* Unit that executes it; TPU_UNITS for those of the issue stage itself. */
enum tpu_unit tpu_unit_of(int opcode);

/* The 12 bytes and back. Decoding takes any bytes; what makes no sense is found by tpu_program_check. */
void tpu_encode(const struct tpu_instruction *instruction, uint8_t bytes[TPU_INSTRUCTION_BYTES]);
struct tpu_instruction tpu_decode(const uint8_t bytes[TPU_INSTRUCTION_BYTES]);
/* A binary of whole instructions; NPL_EINPUT when it is cut off, naming `source`. */
int tpu_program_decode(const char *source, const uint8_t *bytes, size_t n, struct tpu_program *program,
		       struct npl_err *err);

/* Text to program: NPL_EINPUT with "SOURCE:LINE: what is wrong and what was expected". */
int tpu_assemble(const char *source, const char *text, size_t n, struct tpu_program *program, struct npl_err *err);
/* Program to text that assembles to the same bytes; malloc'ed, NUL-terminated. NPL_EINPUT for what has no text form. */
int tpu_disassemble(const char *source, const struct tpu_program *program, char **text, struct npl_err *err);
/* The same with comments: put() is called before each instruction and writes whole lines, or nothing. */
struct tpu_comments {
	void (*put)(void *context, FILE *out, int64_t instruction);
	void *context;
};
int tpu_disassemble_with(const char *source, const struct tpu_program *program, const struct tpu_comments *comments,
			 char **text, struct npl_err *err);

#endif
