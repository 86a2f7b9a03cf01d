/* SPDX-License-Identifier: MIT
 *
 * The instruction set of the systolic machines (docs/tpu-isa.md). Its text and its binary follow from a table
 * (syntax.c). Jouppi et al., ISCA 2017, section 2, name the instructions and the 12 bytes of a MatrixMultiply; the
 * encoding is npulab's. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_ISA_ISA_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_ISA_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "npulab/error.h"
#include "sim/common/program.h"

#define TPU_OPCODES 10
/* A parameter table has an entry for each column: the bias in 32 bits, then the scale as float32. A weight row has a
 * byte for each column, so a table has as many weight rows as an entry has bytes. */
#define TPU_TABLE_ENTRY_BYTES 8
#define TPU_TABLE_SCALE       4 /* the byte of an entry at which the scale begins */
#define TPU_TABLE_ROWS        TPU_TABLE_ENTRY_BYTES
/* The greatest |scale|: products with any accumulator stay finite, and the sum of two products is never infinity less
 * infinity. */
#define TPU_MAX_SCALE 0x1p96f

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

/* Returns the unit that executes the opcode; TPU_UNITS for opcodes that the issue stage executes itself. */
static inline enum tpu_unit tpu_unit_of(int opcode)
{
	switch ((enum tpu_opcode)opcode) {
	case TPU_NOP:
	case TPU_HALT:
	case TPU_SYNC:
	case TPU_SET_CONFIG:
		return TPU_UNITS;
	case TPU_READ_HOST_MEMORY:
		return TPU_HOST_IN;
	case TPU_WRITE_HOST_MEMORY:
		return TPU_HOST_OUT;
	case TPU_READ_WEIGHTS:
		return TPU_WEIGHTS;
	case TPU_MATRIX_MULTIPLY:
	case TPU_CONVOLVE:
		return TPU_MATRIX;
	case TPU_ACTIVATE:
		return TPU_ACTIVATION;
	}
	return TPU_UNITS;
}

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
/* The values of the type registers. */
enum tpu_type { TPU_I8, TPU_U8, TPU_I16, TPU_I32, TPU_TYPES };

/* Returns the bytes of an element; each has a plane of its own. */
static inline int tpu_planes(enum tpu_type type)
{
	return type == TPU_I32 ? 4 : type == TPU_I16 ? 2 : 1;
}

/* Returns the weight rows of a parameter table, or of a tile for an array of `rows` rows. */
static inline int64_t tpu_weight_rows_of(bool is_table, int64_t rows)
{
	return is_table ? TPU_TABLE_ROWS : rows;
}

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
#define TPU_REGISTER(upper, lower, kind, reset) TPU_REG_##upper,
#include "registers.def"
	TPU_REGISTERS
};

/* The configuration registers, 32 bits each; tpu_register_values says how the bits of each are read. */
struct tpu_registers {
	uint32_t value[TPU_REGISTERS];
};
static inline int32_t tpu_signed(const struct tpu_registers *registers, enum tpu_register r)
{
	return (int32_t)registers->value[r];
}
static inline float tpu_float(const struct tpu_registers *registers, enum tpu_register r)
{
	float value;
	memcpy(&value, &registers->value[r], sizeof value);
	return value;
}
/* Returns all registers as they are at reset, for an array of this size. */
struct tpu_registers tpu_reset_registers(int64_t rows, int64_t columns);

struct tpu_instruction {
	uint8_t opcode;
	uint16_t flags;
	uint32_t ub; /* a row of the unified buffer; the binary has 24 bits for it */
	/* set_config: the register; read_weights: how many tiles or tables; others: a row of the accumulators */
	uint16_t operand;
	uint32_t length;
};

/* The table of instructions. Programs of these machines are struct sim_program with this set. */
extern const struct sim_instruction_set tpu_instruction_set;
static inline struct tpu_instruction *tpu_code(const struct sim_program *program)
{
	return program->instruction;
}

extern const struct sim_flag tpu_units[TPU_UNITS + 1]; /* the flags of sync, with the units' names */
extern const char *const tpu_register_names[TPU_REGISTERS], *const tpu_type_names[TPU_TYPES];
extern const struct sim_field tpu_register_values[TPU_REGISTERS]; /* how a register's 32 bits are read */
#endif
