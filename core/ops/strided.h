/* SPDX-License-Identifier: MIT
 *
 * Copies whose result lies in order and whose source is walked with a step for each dimension: Transpose, Slice,
 * SpaceToDepth and DepthToSpace. A part along a dimension is such a copy again, so that threads can share one. */
#ifndef NPULAB_CORE_OPS_STRIDED_H
#define NPULAB_CORE_OPS_STRIDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npulab/op.h"
#include "npulab/tensor.h"

/* Neighbouring dimensions that walk as one are merged and those of 1 are gone; steps may be negative. */
struct op_strided {
	size_t element; /* bytes: 1, 2, 4, 8 */
	int rank;       /* at least 1 */
	int64_t dim[NPL_MAX_RANK];
	int64_t step[NPL_MAX_RANK]; /* elements of the source from one index to the next */
	int64_t first;              /* the element of the source that the result begins with */
};

/* The walk over a result of `rank` dimensions. It keeps no pointer to dim and step. */
struct op_strided op_strided_make(size_t element, int rank, const int64_t *dim, const int64_t *step, int64_t first);
/* Dimension i of the result is dimension perm[i] of the source, whose dimensions are dim. */
struct op_strided op_strided_permute(size_t element, int rank, const int64_t *dim, const int64_t *perm);
/* copies.c: the copy that an operator is whose shapes were checked. False: it is another operator. */
bool op_strided_of(const struct npl_attrs *attrs, const struct npl_tensor *x, const struct npl_tensor *y,
		   struct op_strided *copy);
/* slice.c: what Slice is. */
struct op_strided op_slice_copy(const struct npl_attrs *attrs, const struct npl_tensor *x, const struct npl_tensor *y);

/* depth_space.c: what SpaceToDepth and DepthToSpace are. */
struct op_strided op_depthspace_copy(const struct npl_attrs *attrs, const struct npl_tensor *x,
				     const struct npl_tensor *y);

/* x is the whole source, y where the result begins. */
void op_strided_copy(const struct op_strided *copy, const void *x, void *y);
/* A part: of the first `dims` dimensions, taken as one, the indices from begin to end. */
void op_strided_copy_part(const struct op_strided *copy, int dims, int64_t begin, int64_t end, const void *x, void *y);

#endif
