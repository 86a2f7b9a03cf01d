/* SPDX-License-Identifier: MIT
 *
 * The instructions of the systolic machines (docs/tpu-isa.md, Encoding) and their registers as tables. */
#include "isa.h"

#include <stddef.h>

const struct sim_flag tpu_units[] = {
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

#define VALUE(name, kind, names, low, high)                                                                            \
	SIM_FIELD(struct tpu_instruction, length, name, false, kind, names, 4, low, high)
#define FIELD(name, m, bytes, low, high)                                                                               \
	SIM_FIELD(struct tpu_instruction, m, name, true, SIM_NUMBER, NULL, bytes, low, high)
#define UB                FIELD("ub", ub, 3, 0, 0xffffff)
#define ACC(name, low)    FIELD(name, operand, 2, low, 0xffff)
#define LENGTH(name, low) FIELD(name, length, 4, low, UINT32_MAX)

static const struct sim_field members[] = {
	FIELD("opcode", opcode, 1, 0, 0xff),
	FIELD("flags", flags, 2, 0, 0xffff),
	UB,
	ACC("acc", 0),
	LENGTH("length", 0),
};
static const struct sim_slot layout = {.name = "", .n_fields = sizeof members / sizeof *members, .field = members};

const char *const tpu_register_names[] = {
#define TPU_REGISTER(upper, lower, kind, reset) #lower,
#include "registers.def"
};
const char *const tpu_type_names[] = {"i8", "u8", "i16", "i32"};

#define UNSIGNED(name) VALUE(name, SIM_NUMBER, NULL, 0, UINT32_MAX)
#define SIGNED(name)   VALUE(name, SIM_NUMBER, NULL, INT32_MIN, INT32_MAX)
#define FLOAT(name)    VALUE(name, SIM_FLOAT, NULL, 0, UINT32_MAX)
#define TYPE(name)     VALUE(name, SIM_NAMED, tpu_type_names, 0, TPU_TYPES - 1)
static const struct sim_field setting[] = {
	SIM_FIELD(struct tpu_instruction, operand, "register", false, SIM_NAMED, tpu_register_names, 2, 0,
		  TPU_REGISTERS - 1),
	UNSIGNED("value"),
};
const struct sim_field tpu_register_values[] = {
#define TPU_REGISTER(upper, lower, kind, reset) kind(#lower),
#include "registers.def"
};
static const struct sim_field transfer[] = {UB, LENGTH("rows", 1)};
static const struct sim_field weights[] = {ACC("count", 1), LENGTH("first", 0)};
static const struct sim_field vectors[] = {UB, ACC("acc", 0), LENGTH("rows", 1)};

static const struct sim_slot slots[] = {
	{.name = "nop", .opcode = TPU_NOP},
	{.name = "halt", .opcode = TPU_HALT},
	{.name = "sync", .opcode = TPU_SYNC, .flag = tpu_units, .flag_noun = "unit"},
	SIM_SLOT("set_config", TPU_SET_CONFIG, setting, NULL),
	SIM_SLOT("read_host_memory", TPU_READ_HOST_MEMORY, transfer, NULL),
	SIM_SLOT("write_host_memory", TPU_WRITE_HOST_MEMORY, transfer, NULL),
	SIM_SLOT("read_weights", TPU_READ_WEIGHTS, weights, weights_flags),
	SIM_SLOT("matrix_multiply", TPU_MATRIX_MULTIPLY, vectors, matrix_flags),
	SIM_SLOT("convolve", TPU_CONVOLVE, vectors, matrix_flags),
	SIM_SLOT("activate", TPU_ACTIVATE, vectors, activate_flags),
};
_Static_assert(sizeof slots / sizeof *slots == TPU_OPCODES, "TPU_OPCODES counts the instructions");

/* Narrows a field to its meaning in the instruction: a set_config's value has the name and the range of its register,
 * and an activate from the buffer reads no accumulator. */
static bool refine(const void *instruction, const struct sim_slot *slot, struct sim_field *field)
{
	const struct tpu_instruction *at = instruction;
	if (slot->opcode == TPU_ACTIVATE && at->flags & TPU_ACTIVATE_FROM_BUFFER)
		return field->offset != offsetof(struct tpu_instruction, operand);
	if (slot->opcode == TPU_SET_CONFIG && field->offset == offsetof(struct tpu_instruction, length) &&
	    at->operand < TPU_REGISTERS)
		*field = tpu_register_values[at->operand];
	return true;
}

const struct sim_instruction_set tpu_instruction_set = {
	.name = "systolic",
	.page = "docs/tpu-isa.md",
	.n_slots = TPU_OPCODES,
	.slot = slots,
	.instruction_size = sizeof(struct tpu_instruction),
	.layout = &layout,
	.n_layout = 1,
	.opcode = &members[0],
	.flags = &members[1],
	.refine = refine,
};

struct tpu_registers tpu_reset_registers(int64_t rows, int64_t columns)
{
	const int64_t width = rows > columns ? rows : columns;
	return (struct tpu_registers){{
#define TPU_REGISTER(upper, lower, kind, reset) (uint32_t)(reset),
#include "registers.def"
	}};
}
