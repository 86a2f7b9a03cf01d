/* SPDX-License-Identifier: MIT
 *
 * Functions that the products of 8-bit integers share (QLinearConv, ConvInteger, QLinearMatMul, MatMulInteger):
 * operands less their zero points, sums of 32 bits that wrap, and requantisation to 8 bits by the ONNX rule
 *     y = saturate(round_half_even(float32(sum) * (a_scale * b_scale / y_scale)) + y_zero)
 * in float32 and in that order. */
#ifndef NPULAB_CORE_OPS_INTEGER_OPERAND_H
#define NPULAB_CORE_OPS_INTEGER_OPERAND_H

#include "integer_inputs.h"
#include "ops.h"

/* Checks the types of the operands, and the shapes of scales and zero points: scalars, or a_parts values for a and
 * b_parts for b. */
int op_integer_check(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, int64_t a_parts,
		     int64_t b_parts, struct npl_err *err);

/* Returns the input, or NULL where it is absent. */
const struct npl_tensor *op_integer_input(const struct npl_tensor *const *in, int n_in, int k);

/* These return element i of a parameter, or its only one where it is a scalar. An absent zero point is 0, an absent
 * scale 1. */
int32_t op_integer_zero(const struct npl_tensor *zero, int64_t i);
float op_integer_scale(const struct npl_tensor *scale, int64_t i);

/* Returns a sum of products, modulo 2^32. */
int32_t op_integer_dot(const int16_t *a, const int16_t *b, int64_t n);

/* Stores a sum as element i of out: as it is (int32), or requantised. scale is a_scale * b_scale / y_scale. */
void op_integer_store(struct npl_tensor *out, int64_t i, int32_t sum, float scale, int32_t y_zero);

#endif
