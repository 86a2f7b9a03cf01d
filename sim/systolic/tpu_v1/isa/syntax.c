/* SPDX-License-Identifier: MIT
 *
 * The instructions of the systolic machines (docs/tpu-isa.md, Encoding) as a table. */
#include "isa.h"

#include <stddef.h>

static const struct sim_flag units[] = {
	{"host_in", 1 << TPU_HOST_IN, 1 << TPU_HOST_IN},        {"host_out", 1 << TPU_HOST_OUT, 1 << TPU_HOST_OUT},
	{"weights", 1 << TPU_WEIGHTS, 1 << TPU_WEIGHTS},        {"matrix", 1 << TPU_MATRIX, 1 << TPU_MATRIX},
	{"activate", 1 << TPU_ACTIVATION, 1 << TPU_ACTIVATION}, {0}};
static const struct sim_flag weights_flags[] = {{"parameters", TPU_WEIGHTS_PARAMETERS, TPU_WEIGHTS_PARAMETERS}, {0}};
static const struct sim_flag matrix_flags[] = {
	{"switch", TPU_MATRIX_SWITCH, TPU_MATRIX_SWITCH},
	{"accumulate", TPU_MATRIX_ACCUMULATE, TPU_MATRIX_ACCUMULATE},
	{"unsigned_inputs", TPU_MATRIX_UNSIGNED_INPUTS, TPU_MATRIX_UNSIGNED_INPUTS},
	{"unsigned_weights", TPU_MATRIX_UNSIGNED_WEIGHTS, TPU_MATRIX_UNSIGNED_WEIGHTS},
	{"inputs16", TPU_MATRIX_INPUTS16, TPU_MATRIX_INPUTS16},
	{"high_weights", TPU_MATRIX_HIGH_WEIGHTS, TPU_MATRIX_HIGH_WEIGHTS},
	{0}};
static const struct sim_flag activate_flags[] = {
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

#define MEMBER(m) offsetof(struct tpu_instruction, m), sizeof(((struct tpu_instruction *)NULL)->m)
#define FIELD(name, m, bytes, low, high)                                                                               \
	{                                                                                                              \
		name, true, SIM_NUMBER, NULL, MEMBER(m), bytes, low, high                                              \
	}
#define UB                FIELD("ub", ub, 3, 0, 0xffffff)
#define ACC(name, low)    FIELD(name, acc, 2, low, 0xffff)
#define LENGTH(name, low) FIELD(name, length, 4, low, UINT32_MAX)

static const struct sim_field members[] = {
	FIELD("opcode", opcode, 1, 0, 0xff),
	FIELD("flags", flags, 2, 0, 0xffff),
	UB,
	ACC("acc", 0),
	LENGTH("length", 0),
};
static const struct sim_slot layout = {.name = "", .n_fields = sizeof members / sizeof *members, .field = members};

static const char *const registers[TPU_REGISTERS] = {
#define TPU_REGISTER(upper, lower, kind, reset) #lower,
#include "registers.def"
#undef TPU_REGISTER
};
static const char *const types[] = {"i8", "u8", "i16", "i32"};

static const struct sim_field setting[] = {
	{"register", false, SIM_NAMED, registers, MEMBER(acc), 2, 0, TPU_REGISTERS - 1},
	{"value", false, SIM_NUMBER, NULL, MEMBER(length), 4, 0, UINT32_MAX},
};
static const struct sim_field transfer[] = {UB, LENGTH("rows", 1)};
static const struct sim_field weights[] = {ACC("count", 1), LENGTH("first", 0)};
static const struct sim_field vectors[] = {UB, ACC("acc", 0), LENGTH("rows", 1)};

#define SLOT(name, opcode, fields, flags)                                                                              \
	{                                                                                                              \
		name, opcode, sizeof fields / sizeof *fields, fields, flags, NULL                                      \
	}
static const struct sim_slot slots[TPU_OPCODES] = {
	{.name = "nop", .opcode = TPU_NOP},
	{.name = "halt", .opcode = TPU_HALT},
	{.name = "sync", .opcode = TPU_SYNC, .flag = units, .flag_noun = "unit"},
	SLOT("set_config", TPU_SET_CONFIG, setting, NULL),
	SLOT("read_host_memory", TPU_READ_HOST_MEMORY, transfer, NULL),
	SLOT("write_host_memory", TPU_WRITE_HOST_MEMORY, transfer, NULL),
	SLOT("read_weights", TPU_READ_WEIGHTS, weights, weights_flags),
	SLOT("matrix_multiply", TPU_MATRIX_MULTIPLY, vectors, matrix_flags),
	SLOT("convolve", TPU_CONVOLVE, vectors, matrix_flags),
	SLOT("activate", TPU_ACTIVATE, vectors, activate_flags),
};

/* Narrows a field to its meaning in the instruction: a set_config's value has the name and the range of its register,
 * and an activate from the buffer reads no accumulator. */
static bool refine(const void *instruction, const struct sim_slot *slot, struct sim_field *field)
{
	const struct tpu_instruction *at = instruction;
	if (slot->opcode == TPU_ACTIVATE && at->flags & TPU_ACTIVATE_FROM_BUFFER)
		return field->offset != offsetof(struct tpu_instruction, acc);
	if (field->offset != offsetof(struct tpu_instruction, length) || slot->opcode != TPU_SET_CONFIG ||
	    at->acc >= TPU_REGISTERS)
		return true;
	field->name = registers[at->acc];
	switch (tpu_register_kind_of(at->acc)) {
	case TPU_UNSIGNED:
		break;
	case TPU_SIGNED:
		field->low = INT32_MIN;
		field->high = INT32_MAX;
		break;
	case TPU_FLOAT:
		field->kind = SIM_FLOAT;
		break;
	case TPU_TYPE:
		field->kind = SIM_NAMED;
		field->names = types;
		field->high = TPU_TYPES - 1;
		break;
	}
	return true;
}

const struct sim_instruction_set tpu_instructions = {
	.name = "systolic",
	.page = "docs/tpu-isa.md",
	.n_slots = TPU_OPCODES,
	.slot = slots,
	.instruction_size = sizeof(struct tpu_instruction),
	.layout = &layout,
	.opcode = &members[0],
	.flags = &members[1],
	.refine = refine,
};

const char *tpu_opcode_name(int opcode)
{
	const struct tpu_instruction instruction = {.opcode = (uint8_t)opcode};
	const struct sim_slot *slot = sim_slot_of(&tpu_instructions, &instruction);
	return slot ? slot->name : NULL;
}

enum tpu_unit tpu_unit_of(int opcode)
{
	switch (opcode) {
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
	default:
		return TPU_UNITS;
	}
}

const char *tpu_register_name(enum tpu_register r)
{
	return (unsigned)r < TPU_REGISTERS ? registers[r] : NULL;
}

const char *tpu_unit_name(enum tpu_unit unit)
{
	return (unsigned)unit < TPU_UNITS ? units[unit].name : NULL;
}

const char *tpu_type_name(enum tpu_type type)
{
	return (unsigned)type < TPU_TYPES ? types[type] : NULL;
}
