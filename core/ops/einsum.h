/* SPDX-License-Identifier: MIT
 *
 * An einsum equation for given shapes (einsum_parse.c): every dimension of every operand and of the output has a label.
 * Letters are labels 0 to 51 in the order A..Z, a..z; the dimensions that "..." stands for are the labels after them,
 * the last of them EINSUM_LABELS - 1, so that those of several operands meet at their ends as in broadcasting.
 */
#ifndef NPULAB_CORE_OPS_EINSUM_H
#define NPULAB_CORE_OPS_EINSUM_H

#include "ops.h"

#define EINSUM_LETTERS  52
#define EINSUM_LABELS   (EINSUM_LETTERS + NPL_MAX_RANK)
#define EINSUM_OPERANDS 16

struct einsum {
	int n; /* number of operands */
	struct npl_shape shape[EINSUM_OPERANDS];
	int label[EINSUM_OPERANDS][NPL_MAX_RANK];
	int64_t size[EINSUM_LABELS]; /* -1: the label is not used */
	int out_rank;
	int out[NPL_MAX_RANK];
	int n_sums; /* number of labels that are not in the output: summed over */
	int sum[EINSUM_LABELS];
};

int einsum_parse(const char *equation, const struct npl_tensor *const *in, int n_in, struct einsum *e,
		 struct npl_err *err);
/* Returns the elements from one index of the label to the next in an operand: 0 where the operand has no such
 * dimension, or one of 1 that repeats. A label that occurs twice goes along the diagonal. */
int64_t einsum_stride(const struct einsum *e, int operand, int label);

/* einsum_product.c: computes the equation as a stack of matrix products if it is one (two float32 operands, every label
 * in both operands or in one and the output, no diagonals), and sets *is_done. */
int einsum_product(const struct einsum *e, const struct npl_tensor *const *in, struct npl_tensor *out, bool *is_done,
		   struct npl_err *err);

#endif
