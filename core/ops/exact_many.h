/* SPDX-License-Identifier: MIT
 *
 * Functions of exact.h over arrays, in the widest vectors of this computer: element for element the bits of the
 * functions for one number. x and y may be the same array.
 */
#ifndef NPULAB_CORE_OPS_EXACT_MANY_H
#define NPULAB_CORE_OPS_EXACT_MANY_H

#include <stdint.h>

enum op_many {
	OP_MANY_NONE,
	OP_MANY_EXP,
	OP_MANY_EXPM1,
	OP_MANY_LOG,
	OP_MANY_SOFTPLUS,
	OP_MANY_LOGISTIC,
	OP_MANY_TANH,
	OP_MANY_ERF,
	OP_MANY_FUNCTIONS
};

struct op_exact_kernels {
	const char *name;
	unsigned required_features; /* the processor's features (npl_cpu_has) */
	void (*run[OP_MANY_FUNCTIONS])(const double *x, double *y, int64_t n);
};

/* All kernels, the best first; the last one runs on every processor. */
extern const struct op_exact_kernels *const op_exact_all[];
#define OP_EXACT_KERNELS 3

/* Computes the function by the best kernels. */
void op_exact_many(enum op_many function, const double *x, double *y, int64_t n);

#endif
