/* SPDX-License-Identifier: MIT
 *
 * Functions over arrays (exact_many.h) in the instructions that every computer has, and which kernels to use. */
#define TARGET
#define KERNELS           op_exact_plain
#define NAME              "plain"
#define REQUIRED_FEATURES 0

#include "exact_loops.h"

extern const struct op_exact_kernels op_exact_avx2, op_exact_avx512;

const struct op_exact_kernels *const op_exact_all[OP_EXACT_KERNELS] = {&op_exact_avx512, &op_exact_avx2,
								       &op_exact_plain};

void op_exact_many(enum op_many function, const double *x, double *y, int64_t n)
{
	int i = 0;
	while (i < OP_EXACT_KERNELS - 1 && !npl_cpu_has(op_exact_all[i]->required_features))
		i++;
	op_exact_all[i]->run[function](x, y, n);
}
