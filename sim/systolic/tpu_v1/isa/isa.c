/* SPDX-License-Identifier: MIT
 *
 * The configuration registers of the systolic machines (registers.def). syntax.c has the names and the parts of
 * instructions. */
#include "isa.h"

#include <string.h>

/* What a register holds at reset: a number, or a size of the array. */
enum reset { ZERO, ONE, ROWS, COLUMNS, WIDTH, CELLS };

static const struct {
	enum tpu_register_kind kind;
	enum reset reset;
} register_table[TPU_REGISTERS] = {
#define TPU_REGISTER(upper, lower, kind, reset) [TPU_REG_##upper] = {TPU_##kind, reset},
#include "registers.def"
#undef TPU_REGISTER
};

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
	const int64_t value[] = {[ZERO] = 0,
				 [ONE] = 1,
				 [ROWS] = rows,
				 [COLUMNS] = columns,
				 [WIDTH] = rows > columns ? rows : columns,
				 [CELLS] = rows * columns};
	struct tpu_registers registers;
	for (int r = 0; r < TPU_REGISTERS; r++)
		registers.value[r] = (uint32_t)value[register_table[r].reset];
	return registers;
}
