/* SPDX-License-Identifier: MIT
 *
 * Identity: its input. Of tensors only: sequences and optional values are refused where the model is read. */
#include "ops.h"

OP_ATTRS(op_identity_attrs)
{
	return 0;
}

OP_SHAPE(op_identity_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	out->dtype = in[0]->dtype;
	out->shape = in[0]->shape;
	return 0;
}

OP_RUN(op_identity_run)
{
	return op_copy_bytes(in[0], out);
}
