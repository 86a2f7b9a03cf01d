/* SPDX-License-Identifier: MIT
 *
 * The operators on 8-bit integers that a model may hold itself: ConvInteger, MatMulInteger (results of 32 bits),
 * QLinearConv, QLinearMatMul (scaled back to 8 bits).
 */
#ifndef NPULAB_CORE_OPS_INTEGER_INPUTS_H
#define NPULAB_CORE_OPS_INTEGER_INPUTS_H

#include "npulab/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The indices of the operands among an operator's inputs; -1: it has none. */
struct npl_integer_inputs {
	int a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias;
};
/* Returns the indices of an operator; NULL: it is not one of these. */
const struct npl_integer_inputs *npl_integer_inputs_of(enum npl_op op);

#ifdef __cplusplus
}
#endif

#endif
