/* SPDX-License-Identifier: MIT
 *
 * Which operators are copies in steps (strided.h). */
#include "strided.h"

bool op_strided_of(const struct npl_attrs *attrs, const struct npl_tensor *x, const struct npl_tensor *y,
		   struct op_strided *copy)
{
	const size_t element = npl_dtype_size(y->dtype);
	switch (attrs->op) {
	case NPL_OP_TRANSPOSE:
		*copy = op_strided_permute(element, x->shape.rank, x->shape.dim, attrs->transpose.perm);
		return true;
	case NPL_OP_SPACETODEPTH:
	case NPL_OP_DEPTHTOSPACE:
		*copy = op_depthspace_copy(attrs, x, y);
		return true;
	case NPL_OP_SLICE:
		*copy = op_slice_copy(attrs, x, y);
		return true;
	default:
		return false;
	}
}
