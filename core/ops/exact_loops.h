/* SPDX-License-Identifier: MIT
 *
 * The loops of exact_many.h for one set of instructions: the file that includes this says which (TARGET,
 * REQUIRED_FEATURES) and how the table is called (KERNELS, NAME). */
#include "exact_lanes.h"
#include "exact_many.h"
#include "npulab/cpu_features.h"

#define LOOP(function)                                                                                                 \
	TARGET static void many_##function(const double *x, double *y, int64_t n)                                      \
	{                                                                                                              \
		for (int64_t i = 0; i < n; i++)                                                                        \
			y[i] = lane_##function(x[i]);                                                                  \
	}
LOOP(exp)
LOOP(expm1)
LOOP(log)
LOOP(softplus)
LOOP(logistic)
LOOP(tanh)
LOOP(erf)

const struct op_exact_kernels KERNELS = {.name = NAME,
					 .required_features = REQUIRED_FEATURES,
					 .run = {[OP_MANY_EXP] = many_exp,
						 [OP_MANY_EXPM1] = many_expm1,
						 [OP_MANY_LOG] = many_log,
						 [OP_MANY_SOFTPLUS] = many_softplus,
						 [OP_MANY_LOGISTIC] = many_logistic,
						 [OP_MANY_TANH] = many_tanh,
						 [OP_MANY_ERF] = many_erf}};
