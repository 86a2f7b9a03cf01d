/* SPDX-License-Identifier: MIT
 *
 * Copies whose result is in order and whose source is read with a step for each dimension: Transpose, Slice,
 * SpaceToDepth and DepthToSpace. A part along a dimension is such a copy too, so that threads can share one. */
#ifndef NPULAB_CORE_OPS_STRIDED_H
#define NPULAB_CORE_OPS_STRIDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npulab/op.h"
#include "npulab/tensor.h"

/* A copy. Neighbouring dimensions with matching steps are merged, and dimensions of 1 are removed; steps may be
 * negative. */
struct op_strided {
	size_t element; /* bytes: 1, 2, 4, 8 */
	int rank;       /* the number of dimensions, at least 1 */
	int64_t dim[NPL_MAX_RANK];
	int64_t step[NPL_MAX_RANK]; /* elements of the source from one index to the next */
	int64_t first;              /* the element of the source that the result begins with */
};

/* Makes the copy for a result of `rank` dimensions. It keeps no pointer to dim and step. */
struct op_strided op_strided_make(size_t element, int rank, const int64_t *dim, const int64_t *step, int64_t first);
/* Makes a copy in which dimension i of the result is dimension perm[i] of the source, whose dimensions are dim. */
struct op_strided op_strided_permute(size_t element, int rank, const int64_t *dim, const int64_t *perm);
/* copies.c: makes the copy that an operator is, after its shapes were checked. Returns false where the operator is not
 * such a copy. */
bool op_strided_of(const struct npl_attrs *attrs, const struct npl_tensor *x, const struct npl_tensor *y,
		   struct op_strided *copy);
/* slice.c: makes the copy that Slice is. */
struct op_strided op_slice_copy(const struct npl_attrs *attrs, const struct npl_tensor *x, const struct npl_tensor *y);

/* depth_space.c: makes the copy that SpaceToDepth or DepthToSpace is. */
struct op_strided op_depthspace_copy(const struct npl_attrs *attrs, const struct npl_tensor *x,
				     const struct npl_tensor *y);

/* Copies. x is the whole source; y is where the result begins. */
void op_strided_copy(const struct op_strided *copy, const void *x, void *y);
/* Copies a part: the indices from begin to end of the first `dims` dimensions, taken as one. */
void op_strided_copy_part(const struct op_strided *copy, int dims, int64_t begin, int64_t end, const void *x, void *y);

#endif
