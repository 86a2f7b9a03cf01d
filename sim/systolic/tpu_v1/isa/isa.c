/* SPDX-License-Identifier: MIT
 *
 * The configuration registers of the systolic machines (registers.def). What instructions are made of is in
 * syntax.c. */
#include "isa.h"

#include <string.h>

/* What a register holds at reset: a number, or a size of the array. */
enum reset { ZERO, ONE, ROWS, COLUMNS, WIDTH, CELLS };

static const struct {
	const char *name;
	enum tpu_register_kind kind;
	enum reset reset;
} register_table[TPU_REGISTERS] = {
#define TPU_REGISTER(upper, lower, kind, reset) [TPU_REG_##upper] = {#lower, TPU_##kind, reset},
#include "registers.def"
#undef TPU_REGISTER
};

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
