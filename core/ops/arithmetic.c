/* SPDX-License-Identifier: MIT
 *
 * The loops of Add, Sub, Mul, Div, Min, Max, Mod, BitShift and BitwiseAnd, BitwiseOr and BitwiseXor (loops.h). Integers
 * are computed modulo 2^64 and cut to their width, so that signed overflow wraps, and a division by 0 gives 0. Min and
 * Max of a NaN are NaN. */
#include <math.h>

#include "loops.h"

#define FLOATS(dtype, type)                                                                                            \
	OP_LOOP(add, type, type, x + y)                                                                                \
	OP_LOOP(sub, type, type, x - y)                                                                                \
	OP_LOOP(mul, type, type, x *y)                                                                                 \
	OP_LOOP(div, type, type, x / y)                                                                                \
	OP_LOOP(min, type, type, x < y || x != x ? x : y)                                                              \
	OP_LOOP(max, type, type, x > y || x != x ? x : y)                                                              \
	OP_LOOP(fmod, type, type, fmod((double)x, (double)y))
#define INTEGERS(dtype, type)                                                                                          \
	OP_LOOP(add, type, type, (uint64_t)x + (uint64_t)y)                                                            \
	OP_LOOP(sub, type, type, (uint64_t)x - (uint64_t)y)                                                            \
	OP_LOOP(mul, type, type, (uint64_t)x *(uint64_t)y)                                                             \
	OP_LOOP(min, type, type, x < y ? x : y)                                                                        \
	OP_LOOP(max, type, type, x > y ? x : y)                                                                        \
	OP_LOOP(bits_and, type, type, (uint64_t)x &(uint64_t)y)                                                        \
	OP_LOOP(bits_or, type, type, (uint64_t)x | (uint64_t)y)                                                        \
	OP_LOOP(bits_xor, type, type, (uint64_t)x ^ (uint64_t)y)
/* Division by -1 is a negation, because the division of the least number would trap. */
#define SIGNEDS(dtype, type)                                                                                           \
	OP_LOOP(div, type, type, y == 0 ? 0 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y)                            \
	OP_LOOP(fmod, type, type, y == 0 || y == -1 ? 0 : x % y)                                                       \
	OP_LOOP(mod, type, type, y == 0 || y == -1 ? 0 : x % y == 0 || ((x ^ y) >= 0) ? x % y : x % y + y)
#define UNSIGNEDS(dtype, type)                                                                                         \
	OP_LOOP(div, type, type, y == 0 ? 0 : x / y)                                                                   \
	OP_LOOP(fmod, type, type, y == 0 ? 0 : x % y)                                                                  \
	OP_LOOP(mod, type, type, y == 0 ? 0 : x % y)                                                                   \
	OP_LOOP(shift_left, type, type, y < 8 * sizeof(type) ? (uint64_t)x << y : 0)                                   \
	OP_LOOP(shift_right, type, type, y < 8 * sizeof(type) ? (uint64_t)x >> y : 0)
OP_EACH_FLOAT(FLOATS)
OP_EACH_INTEGER(INTEGERS)
OP_EACH_SIGNED(SIGNEDS)
OP_EACH_UNSIGNED(UNSIGNEDS)

#define ADD(dtype, type)         [dtype] = add_##type,
#define SUB(dtype, type)         [dtype] = sub_##type,
#define MUL(dtype, type)         [dtype] = mul_##type,
#define DIV(dtype, type)         [dtype] = div_##type,
#define MIN(dtype, type)         [dtype] = min_##type,
#define MAX(dtype, type)         [dtype] = max_##type,
#define FMOD(dtype, type)        [dtype] = fmod_##type,
#define MOD(dtype, type)         [dtype] = mod_##type,
#define BITS_AND(dtype, type)    [dtype] = bits_and_##type,
#define BITS_OR(dtype, type)     [dtype] = bits_or_##type,
#define BITS_XOR(dtype, type)    [dtype] = bits_xor_##type,
#define SHIFT_LEFT(dtype, type)  [dtype] = shift_left_##type,
#define SHIFT_RIGHT(dtype, type) [dtype] = shift_right_##type,
const struct op_loops op_add_loops = {{OP_EACH_NUMBER(ADD)}};
const struct op_loops op_sub_loops = {{OP_EACH_NUMBER(SUB)}};
const struct op_loops op_mul_loops = {{OP_EACH_NUMBER(MUL)}};
const struct op_loops op_div_loops = {{OP_EACH_NUMBER(DIV)}};
const struct op_loops op_min_loops = {{OP_EACH_NUMBER(MIN)}};
const struct op_loops op_max_loops = {{OP_EACH_NUMBER(MAX)}};
const struct op_loops op_fmod_loops = {{OP_EACH_NUMBER(FMOD)}};
const struct op_loops op_mod_loops = {{OP_EACH_INTEGER(MOD)}};
const struct op_loops op_shift_left_loops = {{OP_EACH_UNSIGNED(SHIFT_LEFT)}};
const struct op_loops op_shift_right_loops = {{OP_EACH_UNSIGNED(SHIFT_RIGHT)}};
const struct op_loops op_bits_and_loops = {{OP_EACH_INTEGER(BITS_AND)}};
const struct op_loops op_bits_or_loops = {{OP_EACH_INTEGER(BITS_OR)}};
const struct op_loops op_bits_xor_loops = {{OP_EACH_INTEGER(BITS_XOR)}};
