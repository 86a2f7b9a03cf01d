/* SPDX-License-Identifier: MIT
 *
 * Storing a number as an element of any type, as Cast does it. From integers: floats are the nearest, integers keep
 * their low bits. From floats: narrower floats are the nearest; integers are truncated towards zero, a value out of
 * range becomes the nearest end of the range, and NaN becomes 0. To bool: false for zero, true for everything else,
 * including NaN.
 */
#ifndef NPULAB_CORE_OPS_CAST_H
#define NPULAB_CORE_OPS_CAST_H

#include "npulab/tensor.h"

/* These store n elements of type `to`. The integers are int64_t, or uint64_t where they come from uint64. */
void op_narrow_integers(const uint64_t *from, bool is_unsigned, int64_t n, enum npl_dtype to, void *results);
void op_narrow_reals(const double *from, int64_t n, enum npl_dtype to, void *results);

/* Stores element i of a tensor from the bits of an int64_t, or of a uint64_t for unsigned types. */
static inline void op_store_whole(const struct npl_tensor *tensor, int64_t i, uint64_t bits)
{
	op_narrow_integers(&bits, false, 1, tensor->dtype,
			   (char *)tensor->data + (size_t)i * npl_dtype_size(tensor->dtype));
}

static inline void op_store_real(const struct npl_tensor *tensor, int64_t i, double x)
{
	op_narrow_reals(&x, 1, tensor->dtype, (char *)tensor->data + (size_t)i * npl_dtype_size(tensor->dtype));
}

#endif
