/* SPDX-License-Identifier: MIT
 *
 * The instructions of the systolic machines (docs/tpu-isa.md, Encoding) as a table. */
#include "syntax.h"

static const struct tpu_flag no_flags[] = {{0}};
static const struct tpu_flag units[] = {
	{"host_in", 1 << TPU_HOST_IN, 1 << TPU_HOST_IN},        {"host_out", 1 << TPU_HOST_OUT, 1 << TPU_HOST_OUT},
	{"weights", 1 << TPU_WEIGHTS, 1 << TPU_WEIGHTS},        {"matrix", 1 << TPU_MATRIX, 1 << TPU_MATRIX},
	{"activate", 1 << TPU_ACTIVATION, 1 << TPU_ACTIVATION}, {0}};
static const struct tpu_flag weights_flags[] = {{"parameters", TPU_WEIGHTS_PARAMETERS, TPU_WEIGHTS_PARAMETERS}, {0}};
static const struct tpu_flag matrix_flags[] = {
	{"switch", TPU_MATRIX_SWITCH, TPU_MATRIX_SWITCH},
	{"accumulate", TPU_MATRIX_ACCUMULATE, TPU_MATRIX_ACCUMULATE},
	{"unsigned_inputs", TPU_MATRIX_UNSIGNED_INPUTS, TPU_MATRIX_UNSIGNED_INPUTS},
	{"unsigned_weights", TPU_MATRIX_UNSIGNED_WEIGHTS, TPU_MATRIX_UNSIGNED_WEIGHTS},
	{"inputs16", TPU_MATRIX_INPUTS16, TPU_MATRIX_INPUTS16},
	{"high_weights", TPU_MATRIX_HIGH_WEIGHTS, TPU_MATRIX_HIGH_WEIGHTS},
	{0}};
static const struct tpu_flag activate_flags[] = {
	{"from_buffer", TPU_ACTIVATE_FROM_BUFFER, TPU_ACTIVATE_FROM_BUFFER},
	{"switch", TPU_ACTIVATE_SWITCH, TPU_ACTIVATE_SWITCH},
	{"scale", TPU_ACTIVATE_OPERAND, TPU_WITH_OPERAND(TPU_SCALE)},
	{"add", TPU_ACTIVATE_OPERAND, TPU_WITH_OPERAND(TPU_ADD)},
	{"multiply", TPU_ACTIVATE_OPERAND, TPU_WITH_OPERAND(TPU_MULTIPLY)},
	{"relu", TPU_ACTIVATE_FUNCTION, TPU_WITH_FUNCTION(TPU_RELU)},
	{"relu6", TPU_ACTIVATE_FUNCTION, TPU_WITH_FUNCTION(TPU_RELU6)},
	{"sigmoid", TPU_ACTIVATE_FUNCTION, TPU_WITH_FUNCTION(TPU_SIGMOID)},
	{"tanh", TPU_ACTIVATE_FUNCTION, TPU_WITH_FUNCTION(TPU_TANH)},
	{"max", TPU_ACTIVATE_POOLING, TPU_WITH_POOLING(TPU_POOL_MAX)},
	{"average", TPU_ACTIVATE_POOLING, TPU_WITH_POOLING(TPU_POOL_AVERAGE)},
	{"average_padded", TPU_ACTIVATE_POOLING, TPU_WITH_POOLING(TPU_POOL_AVERAGE_PADDED)},
	{0}};

#define FIELD_UB     [TPU_FIELD_UB] = {"ub", 0, 0xffffff}
#define FIELD_ACC    [TPU_FIELD_ACC] = {"acc", 0, 0xffff}
#define LENGTH(name) [TPU_FIELD_LENGTH] = {name, 1, 0xffffffff}

const struct tpu_syntax tpu_syntax_table[TPU_OPCODES] = {
	{TPU_NOP, "nop", TPU_UNITS, no_flags, {{0}}},
	{TPU_HALT, "halt", TPU_UNITS, no_flags, {{0}}},
	{TPU_SYNC, "sync", TPU_UNITS, units, {{0}}},
	{TPU_SET_CONFIG,
	 "set_config",
	 TPU_UNITS,
	 no_flags,
	 {[TPU_FIELD_ACC] = {"register", 0, TPU_REGISTERS - 1}, [TPU_FIELD_LENGTH] = {"value", 0, 0xffffffff}}},
	{TPU_READ_HOST_MEMORY, "read_host_memory", TPU_HOST_IN, no_flags, {FIELD_UB, LENGTH("rows")}},
	{TPU_WRITE_HOST_MEMORY, "write_host_memory", TPU_HOST_OUT, no_flags, {FIELD_UB, LENGTH("rows")}},
	{TPU_READ_WEIGHTS,
	 "read_weights",
	 TPU_WEIGHTS,
	 weights_flags,
	 {[TPU_FIELD_ACC] = {"count", 1, 0xffff}, [TPU_FIELD_LENGTH] = {"first", 0, 0xffffffff}}},
	{TPU_MATRIX_MULTIPLY, "matrix_multiply", TPU_MATRIX, matrix_flags, {FIELD_UB, FIELD_ACC, LENGTH("rows")}},
	{TPU_CONVOLVE, "convolve", TPU_MATRIX, matrix_flags, {FIELD_UB, FIELD_ACC, LENGTH("rows")}},
	{TPU_ACTIVATE, "activate", TPU_ACTIVATION, activate_flags, {FIELD_UB, FIELD_ACC, LENGTH("rows")}},
};

const struct tpu_syntax *tpu_syntax_of(int opcode)
{
	for (int i = 0; i < TPU_OPCODES; i++)
		if (tpu_syntax_table[i].opcode == opcode)
			return &tpu_syntax_table[i];
	return NULL;
}

const char *tpu_opcode_name(int opcode)
{
	const struct tpu_syntax *syntax = tpu_syntax_of(opcode);
	return syntax ? syntax->name : NULL;
}

enum tpu_unit tpu_unit_of(int opcode)
{
	const struct tpu_syntax *syntax = tpu_syntax_of(opcode);
	return syntax ? syntax->unit : TPU_UNITS;
}

const char *tpu_unit_name(enum tpu_unit unit)
{
	return (unsigned)unit < TPU_UNITS ? units[unit].name : NULL;
}

bool tpu_field_absent(const struct tpu_syntax *syntax, unsigned flags, enum tpu_field_at at)
{
	bool from_buffer = syntax->opcode == TPU_ACTIVATE && flags & TPU_ACTIVATE_FROM_BUFFER;
	return !syntax->field[at].name || (from_buffer && at == TPU_FIELD_ACC);
}

uint32_t tpu_field_get(const struct tpu_instruction *instruction, enum tpu_field_at at)
{
	switch (at) {
	case TPU_FIELD_UB:
		return instruction->ub;
	case TPU_FIELD_ACC:
		return instruction->acc;
	default:
		return instruction->length;
	}
}

void tpu_field_set(struct tpu_instruction *instruction, enum tpu_field_at at, uint32_t value)
{
	switch (at) {
	case TPU_FIELD_UB:
		instruction->ub = value;
		break;
	case TPU_FIELD_ACC:
		instruction->acc = (uint16_t)value;
		break;
	default:
		instruction->length = value;
	}
}
