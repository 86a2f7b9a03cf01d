/* SPDX-License-Identifier: MIT
 *
 * The loops of the comparisons and of And, Or and Xor (loops.h): bool results. In bool operands any byte except 0 is
 * true. */
#include "loops.h"

#define COMPARISONS(dtype, type)                                                                                       \
	OP_LOOP(equal, type, uint8_t, x == y)                                                                          \
	OP_LOOP(less, type, uint8_t, x < y)                                                                            \
	OP_LOOP(less_equal, type, uint8_t, x <= y)                                                                     \
	OP_LOOP(greater, type, uint8_t, x > y)                                                                         \
	OP_LOOP(greater_equal, type, uint8_t, x >= y)
OP_EACH_NUMBER(COMPARISONS)

OP_LOOP(same, uint8_t, uint8_t, (x != 0) == (y != 0))
OP_LOOP(and, uint8_t, uint8_t, (x != 0) & (y != 0))
OP_LOOP(or, uint8_t, uint8_t, (x != 0) | (y != 0))
OP_LOOP(xor, uint8_t, uint8_t, (x != 0) != (y != 0))

#define EQUAL(dtype, type)         [dtype] = equal_##type,
#define LESS(dtype, type)          [dtype] = less_##type,
#define LESS_EQUAL(dtype, type)    [dtype] = less_equal_##type,
#define GREATER(dtype, type)       [dtype] = greater_##type,
#define GREATER_EQUAL(dtype, type) [dtype] = greater_equal_##type,
const struct op_loops op_equal_loops = {{OP_EACH_NUMBER(EQUAL)[NPL_BOOL] = same_uint8_t}};
const struct op_loops op_less_loops = {{OP_EACH_NUMBER(LESS)}};
const struct op_loops op_less_equal_loops = {{OP_EACH_NUMBER(LESS_EQUAL)}};
const struct op_loops op_greater_loops = {{OP_EACH_NUMBER(GREATER)}};
const struct op_loops op_greater_equal_loops = {{OP_EACH_NUMBER(GREATER_EQUAL)}};
const struct op_loops op_and_loops = {{[NPL_BOOL] = and_uint8_t}};
const struct op_loops op_or_loops = {{[NPL_BOOL] = or_uint8_t}};
const struct op_loops op_xor_loops = {{[NPL_BOOL] = xor_uint8_t}};
