/* SPDX-License-Identifier: MIT
 *
 * The configuration registers of the systolic machines (docs/tpu-isa.md), their names and what they hold at reset; the
 * 12 bytes of an instruction. What instructions are made of is in syntax.c. */
#include "isa.h"

#include <string.h>

static const char *const type_names[TPU_TYPES] = {"i8", "u8", "i16", "i32"};

/* What a register holds at reset: a number, or a size of the array. */
enum reset { ZERO, ONE, ROWS, COLUMNS, WIDTH, CELLS };

static const struct {
	const char *name;
	enum tpu_register_kind kind;
	enum reset reset;
} register_table[TPU_REGISTERS] = {
	[TPU_REG_INPUT_ZERO_POINT] = {"input_zero_point", TPU_SIGNED, ZERO},
	[TPU_REG_WEIGHT_ZERO_POINT] = {"weight_zero_point", TPU_SIGNED, ZERO},
	[TPU_REG_USEFUL_CELLS] = {"useful_cells", TPU_UNSIGNED, CELLS},
	[TPU_REG_IN_HEIGHT] = {"in_height", TPU_UNSIGNED, ONE},
	[TPU_REG_IN_WIDTH] = {"in_width", TPU_UNSIGNED, ONE},
	[TPU_REG_OUT_HEIGHT] = {"out_height", TPU_UNSIGNED, ONE},
	[TPU_REG_OUT_WIDTH] = {"out_width", TPU_UNSIGNED, ONE},
	[TPU_REG_KERNEL_HEIGHT] = {"kernel_height", TPU_UNSIGNED, ONE},
	[TPU_REG_KERNEL_WIDTH] = {"kernel_width", TPU_UNSIGNED, ONE},
	[TPU_REG_STRIDE_Y] = {"stride_y", TPU_UNSIGNED, ONE},
	[TPU_REG_STRIDE_X] = {"stride_x", TPU_UNSIGNED, ONE},
	[TPU_REG_DILATION_Y] = {"dilation_y", TPU_UNSIGNED, ONE},
	[TPU_REG_DILATION_X] = {"dilation_x", TPU_UNSIGNED, ONE},
	[TPU_REG_PAD_TOP] = {"pad_top", TPU_SIGNED, ZERO},
	[TPU_REG_PAD_LEFT] = {"pad_left", TPU_SIGNED, ZERO},
	[TPU_REG_PIXEL_LANES] = {"pixel_lanes", TPU_UNSIGNED, WIDTH},
	[TPU_REG_ROW_PIXELS] = {"row_pixels", TPU_UNSIGNED, ONE},
	[TPU_REG_FIRST_LANE] = {"first_lane", TPU_UNSIGNED, ZERO},
	[TPU_REG_TAP_LANES] = {"tap_lanes", TPU_UNSIGNED, ROWS},
	[TPU_REG_FIRST_TAP] = {"first_tap", TPU_UNSIGNED, ZERO},
	[TPU_REG_TAPS] = {"taps", TPU_UNSIGNED, ONE},
	[TPU_REG_FIRST_OUTPUT] = {"first_output", TPU_UNSIGNED, ZERO},
	[TPU_REG_INPUT_PLANE_ROWS] = {"input_plane_rows", TPU_UNSIGNED, ZERO},
	[TPU_REG_SOURCE] = {"source", TPU_UNSIGNED, ZERO},
	[TPU_REG_SOURCE_PLANE_ROWS] = {"source_plane_rows", TPU_UNSIGNED, ZERO},
	[TPU_REG_SOURCE_TYPE] = {"source_type", TPU_TYPE, ZERO},
	[TPU_REG_SOURCE_ZERO_POINT] = {"source_zero_point", TPU_SIGNED, ZERO},
	[TPU_REG_SOURCE_SCALE] = {"source_scale", TPU_FLOAT, ZERO},
	[TPU_REG_OPERAND] = {"operand", TPU_UNSIGNED, ZERO},
	[TPU_REG_OPERAND_PLANE_ROWS] = {"operand_plane_rows", TPU_UNSIGNED, ZERO},
	[TPU_REG_OPERAND_TYPE] = {"operand_type", TPU_TYPE, ZERO},
	[TPU_REG_OPERAND_ZERO_POINT] = {"operand_zero_point", TPU_SIGNED, ZERO},
	[TPU_REG_OPERAND_SCALE] = {"operand_scale", TPU_FLOAT, ZERO},
	[TPU_REG_RESULT_TYPE] = {"result_type", TPU_TYPE, ZERO},
	[TPU_REG_RESULT_ZERO_POINT] = {"result_zero_point", TPU_SIGNED, ZERO},
	[TPU_REG_RESULT_PLANE_ROWS] = {"result_plane_rows", TPU_UNSIGNED, ZERO},
	[TPU_REG_RESULT_COLUMNS] = {"result_columns", TPU_UNSIGNED, COLUMNS},
	[TPU_REG_RESULT_PIXEL_LANES] = {"result_pixel_lanes", TPU_UNSIGNED, WIDTH},
	[TPU_REG_RESULT_ROW_PIXELS] = {"result_row_pixels", TPU_UNSIGNED, ONE},
	[TPU_REG_RESULT_LANE] = {"result_lane", TPU_UNSIGNED, ZERO},
	[TPU_REG_FIRST_SOURCE] = {"first_source", TPU_UNSIGNED, ZERO},
	[TPU_REG_FIRST_RESULT] = {"first_result", TPU_UNSIGNED, ZERO},
	[TPU_REG_FUNCTION_SCALE] = {"function_scale", TPU_FLOAT, ZERO},
	[TPU_REG_RELU6_LIMIT] = {"relu6_limit", TPU_SIGNED, ZERO},
	[TPU_REG_HOST_ADDRESS] = {"host_address", TPU_UNSIGNED, ZERO},
	[TPU_REG_HOST_ROW_BYTES] = {"host_row_bytes", TPU_UNSIGNED, WIDTH},
	[TPU_REG_HOST_STRIDE] = {"host_stride", TPU_UNSIGNED, WIDTH},
};

const char *tpu_type_name(enum tpu_type type)
{
	return (unsigned)type < TPU_TYPES ? type_names[type] : NULL;
}

const char *tpu_register_name(enum tpu_register r)
{
	return (unsigned)r < TPU_REGISTERS ? register_table[r].name : NULL;
}

enum tpu_register_kind tpu_register_kind_of(enum tpu_register r)
{
	return (unsigned)r < TPU_REGISTERS ? register_table[r].kind : TPU_UNSIGNED;
}

float tpu_float(const struct tpu_registers *registers, enum tpu_register r)
{
	float value;
	memcpy(&value, &registers->value[r], sizeof value);
	return value;
}

struct tpu_registers tpu_reset_registers(int64_t rows, int64_t columns)
{
	struct tpu_registers held;
	for (int r = 0; r < TPU_REGISTERS; r++) {
		int64_t value = 0;
		switch (register_table[r].reset) {
		case ZERO:
			break;
		case ONE:
			value = 1;
			break;
		case ROWS:
			value = rows;
			break;
		case COLUMNS:
			value = columns;
			break;
		case WIDTH:
			value = rows > columns ? rows : columns;
			break;
		case CELLS:
			value = rows * columns;
			break;
		}
		held.value[r] = (uint32_t)value;
	}
	return held;
}

static void put(uint8_t *bytes, int n, uint32_t value)
{
	for (int i = 0; i < n; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get(const uint8_t *bytes, int n)
{
	uint32_t value = 0;
	for (int i = 0; i < n; i++)
		value |= (uint32_t)bytes[i] << 8 * i;
	return value;
}

void tpu_encode(const struct tpu_instruction *instruction, uint8_t bytes[TPU_INSTRUCTION_BYTES])
{
	bytes[0] = instruction->opcode;
	put(bytes + 1, 2, instruction->flags);
	put(bytes + 3, 3, instruction->ub);
	put(bytes + 6, 2, instruction->acc);
	put(bytes + 8, 4, instruction->length);
}

struct tpu_instruction tpu_decode(const uint8_t bytes[TPU_INSTRUCTION_BYTES])
{
	return (struct tpu_instruction){.opcode = bytes[0],
					.flags = (uint16_t)get(bytes + 1, 2),
					.ub = get(bytes + 3, 3),
					.acc = (uint16_t)get(bytes + 6, 2),
					.length = get(bytes + 8, 4)};
}
