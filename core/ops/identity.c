/* SPDX-License-Identifier: MIT
 *
 * Identity: its input. Of tensors only: sequences and optional values are refused where the model is read. */
#include "ops.h"

int op_identity_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	(void)list;
	(void)out;
	(void)err;
	return 0;
}

int op_identity_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		      int n_out, struct npl_err *err)
{
	(void)attrs;
	(void)n_out;
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	out->dtype = in[0]->dtype;
	out->shape = in[0]->shape;
	return 0;
}

int op_identity_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		    int n_out, struct npl_err *err)
{
	(void)attrs;
	(void)n_in;
	(void)n_out;
	(void)err;
	return op_copy_bytes(in[0], out);
}
