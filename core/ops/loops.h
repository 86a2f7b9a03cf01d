/* SPDX-License-Identifier: MIT
 *
 * Loops over two operands, one for each element type, and the function that applies them with broadcasting.
 */
#ifndef NPULAB_CORE_OPS_LOOPS_H
#define NPULAB_CORE_OPS_LOOPS_H

#include "elements.h"

/* Loops that compute y[i] = a[i] OP b[i] for i < n. Each operand advances by its step, 0 or 1; both steps are 0 only
 * where n is 1. y may be a. */
struct op_loops {
	void (*by_dtype[NPL_DTYPES])(int64_t n, const void *a, int64_t a_step, const void *b, int64_t b_step, void *y);
};

/* Defines NAME_TYPE, the loop of an expression in x and y of `type`, with results of type `result`. Steps of 0 have
 * loops of their own, so that all can be vectorised. */
#define OP_LOOP(name, type, result, expression)                                                                        \
	static void name##_##type(int64_t n, const void *left, int64_t a_step, const void *right, int64_t b_step,      \
				  void *results)                                                                       \
	{                                                                                                              \
		const type *a = left, *b = right;                                                                      \
		result *to = results;                                                                                  \
		if (a_step && b_step) {                                                                                \
			for (int64_t i = 0; i < n; i++) {                                                              \
				const type x = a[i], y = b[i];                                                         \
				to[i] = (result)(expression);                                                          \
			}                                                                                              \
		} else if (a_step) {                                                                                   \
			const type y = *b;                                                                             \
			for (int64_t i = 0; i < n; i++) {                                                              \
				const type x = a[i];                                                                   \
				to[i] = (result)(expression);                                                          \
			}                                                                                              \
		} else {                                                                                               \
			const type x = *a;                                                                             \
			for (int64_t i = 0; i < n; i++) {                                                              \
				const type y = b[i];                                                                   \
				to[i] = (result)(expression);                                                          \
			}                                                                                              \
		}                                                                                                      \
	}

extern const struct op_loops op_add_loops, op_sub_loops, op_mul_loops, op_div_loops, op_min_loops, op_max_loops,
	op_mod_loops, op_fmod_loops, op_shift_left_loops, op_shift_right_loops, op_bits_and_loops, op_bits_or_loops,
	op_bits_xor_loops; /* arithmetic.c */
extern const struct op_loops op_equal_loops, op_less_loops, op_less_equal_loops, op_greater_loops,
	op_greater_equal_loops, op_and_loops, op_or_loops, op_xor_loops; /* comparison.c; results are bool */

/* Computes out = a OP b for operands of the type, both broadcast to out's shape (elementwise.c). */
void op_apply(const struct op_loops *loops, enum npl_dtype dtype, const struct npl_shape *a_shape, const void *a,
	      const struct npl_shape *b_shape, const void *b, const struct npl_tensor *out);

#endif
