/* SPDX-License-Identifier: MIT
 *
 * Calling an operator by its number. Operators that share functions are told apart by attrs->op, which is set here;
 * operators that compute in float32 receive float16 and bfloat16 as float32, and their results are rounded once. */
#include <stdlib.h>

#include "core/base/dtype.h"
#include "core/base/half.h"
#include "core/base/refuse.h"
#include "npulab/op.h"
#include "op_functions.h"

bool npl_op_widens(enum npl_op op, const struct npl_tensor *tensor)
{
	return tensor && npl_is_half(tensor->dtype) && !(npl_op_defs[op].flags & NPL_OP_ANY_TYPE);
}

int npl_op_check_attrs(enum npl_op op, const struct npl_attrs *attrs, struct npl_err *err)
{
	if (!attrs || attrs->op == NPL_OP_NONE || npl_op_defs[attrs->op].family == npl_op_defs[op].family)
		return 0;
	return npl_fail(err, NPL_EINTERNAL, "%s is given the attributes of a %s", npl_op_defs[op].name,
			npl_op_defs[attrs->op].name);
}

int npl_op_attrs(enum npl_op op, struct npl_attr_list *list, struct npl_attrs *attrs, struct npl_err *err)
{
	*attrs = (struct npl_attrs){.op = op, .opset = attrs->opset};
	return npl_op_functions[op].attrs(list, attrs, err);
}

/* Says whether input k may have another float type than the first: scales and ratios, a normalisation's vectors, an
 * exponent. */
static bool has_own_type(enum npl_op op, int k)
{
	switch (op) {
	case NPL_OP_RESIZE:
	case NPL_OP_UPSAMPLE:
	case NPL_OP_BATCHNORMALIZATION:
		return k >= 1;
	case NPL_OP_DROPOUT:
	case NPL_OP_POW:
		return k == 1;
	default:
		return false;
	}
}

/* Sets *half to the 16-bit float type of the inputs, or to NPL_DTYPES. Refuses two float types, except float32 where
 * the operator accepts it. */
static int half_type(enum npl_op op, const struct npl_tensor *const *in, int n_in, enum npl_dtype *half,
		     struct npl_err *err)
{
	*half = NPL_DTYPES;
	for (int k = 0; k < n_in && *half == NPL_DTYPES; k++)
		if (npl_op_widens(op, in[k]))
			*half = in[k]->dtype;
	for (int k = 0; k < n_in && *half != NPL_DTYPES; k++)
		if (in[k] && in[k]->dtype != *half && !(in[k]->dtype == NPL_F32 && has_own_type(op, k)) &&
		    npl_is_float32_or_half(in[k]->dtype))
			return npl_fail(err, NPL_EINPUT, "input %d is %s, another %s", k, npl_dtype_name(in[k]->dtype),
					npl_dtype_name(*half));
	return 0;
}

static int shape_half(enum npl_op op, struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
		      struct npl_tensor *out, int n_out, enum npl_dtype half, struct npl_err *err)
{
	struct npl_tensor *widened = calloc((size_t)n_in, sizeof *widened);
	const struct npl_tensor **at = calloc((size_t)n_in, sizeof *at);
	int rc = widened && at ? 0 : npl_no_memory(err);
	for (int k = 0; k < n_in && !rc; k++) {
		at[k] = in[k];
		if (!npl_op_widens(op, in[k]))
			continue;
		widened[k] = *in[k];
		widened[k].dtype = NPL_F32;
		widened[k].data = NULL;
		at[k] = &widened[k];
	}
	if (!rc)
		rc = npl_op_functions[op].shape(attrs, at, n_in, out, n_out, err);
	const bool rounds_all = !(npl_op_defs[op].flags & NPL_OP_FLOAT_STATISTICS);
	for (int k = 0; k < n_out && !rc; k++)
		if (out[k].dtype == NPL_F32 && (k == 0 || rounds_all))
			out[k].dtype = half;
	free(widened);
	free(at);
	return rc;
}

int npl_op_shape(enum npl_op op, struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
		 struct npl_tensor *out, int n_out, struct npl_err *err)
{
	enum npl_dtype half;
	if (npl_op_check_attrs(op, attrs, err))
		return NPL_EINTERNAL;
	attrs->op = op;
	if (half_type(op, in, n_in, &half, err))
		return NPL_EINPUT;
	if (half != NPL_DTYPES)
		return shape_half(op, attrs, in, n_in, out, n_out, half, err);
	return npl_op_functions[op].shape(attrs, in, n_in, out, n_out, err);
}

/* Makes a float32 tensor of the same shape. */
static int as_float(const struct npl_tensor *tensor, struct npl_tensor *wide, struct npl_err *err)
{
	*wide = (struct npl_tensor){.name = tensor->name, .dtype = NPL_F32, .shape = tensor->shape};
	return npl_tensor_alloc(wide, err);
}

static int run_half(enum npl_op op, const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
		    struct npl_tensor *out, int n_out, struct npl_err *err)
{
	struct npl_tensor *wide = calloc((size_t)(n_in + n_out), sizeof *wide), *result = wide ? wide + n_in : NULL;
	const struct npl_tensor **at = calloc((size_t)n_in + 1, sizeof *at);
	int rc = wide && at ? 0 : npl_no_memory(err);
	for (int k = 0; k < n_in && !rc; k++) {
		at[k] = in[k];
		if (!npl_op_widens(op, in[k]))
			continue;
		rc = as_float(in[k], &wide[k], err);
		if (!rc)
			npl_half_widen(in[k]->dtype, in[k]->data, npl_tensor_count(in[k]), wide[k].data);
		at[k] = &wide[k];
	}
	for (int k = 0; k < n_out && !rc; k++) {
		result[k] = out[k];
		result[k].owned = false;
		if (npl_op_widens(op, &out[k]))
			rc = as_float(&out[k], &result[k], err);
	}
	if (!rc)
		rc = npl_op_functions[op].run(attrs, at, n_in, result, n_out, err);
	for (int k = 0; k < n_out && !rc; k++)
		if (npl_op_widens(op, &out[k]) && out[k].data)
			npl_half_narrow(out[k].dtype, result[k].data, npl_tensor_count(&out[k]), out[k].data);
	for (int k = 0; wide && k < n_in + n_out; k++)
		npl_tensor_free(&wide[k]);
	free(wide);
	free(at);
	return rc;
}

/* Says whether the outputs have no elements: a shape such as 0 x 2^31 has none, and no kernel counts to 2^31 for it. */
static bool has_no_elements(const struct npl_tensor *out, int n_out)
{
	for (int k = 0; k < n_out; k++)
		if (npl_tensor_count(&out[k]) != 0)
			return false;
	return n_out > 0;
}

int npl_op_run(enum npl_op op, const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
	       struct npl_tensor *out, int n_out, struct npl_err *err)
{
	struct npl_attrs own_attrs;
	bool half = false;
	if (npl_op_check_attrs(op, attrs, err))
		return NPL_EINTERNAL;
	/* There are no attributes, they were made by hand (op 0), or they are those of an operator that this one stands
	 * for. The kernel gets a copy with op in it. */
	if (!attrs || attrs->op != op) {
		own_attrs = attrs ? *attrs : (struct npl_attrs){0};
		own_attrs.op = op;
		attrs = &own_attrs;
	}
	if (has_no_elements(out, n_out))
		return 0;
	for (int k = 0; k < n_in && !half; k++)
		half = npl_op_widens(op, in[k]);
	return half ? run_half(op, attrs, in, n_in, out, n_out, err)
		    : npl_op_functions[op].run(attrs, in, n_in, out, n_out, err);
}
