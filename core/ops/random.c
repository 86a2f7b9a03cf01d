/* SPDX-License-Identifier: MIT
 *
 * RandomNormal: a tensor of normally distributed values. ONNX does not say which generator makes them; npulab's is in
 * npulab/random.h, and its seed is the bits of the attribute `seed`. The importer describes such a tensor and makes its
 * values only when somebody reads them. */
#include <math.h>
#include <string.h>

#include "ops.h"

enum { ONNX_FLOAT = 1, ONNX_DOUBLE = 11 };

static int read_type(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	int64_t type;
	if (op_attr_int(list, "dtype", ONNX_FLOAT, &type, err))
		return NPL_EINPUT;
	if (type != ONNX_FLOAT && type != ONNX_DOUBLE)
		return npl_fail(err, NPL_EINPUT, "dtype=%lld is not supported, only %d (float) and %d (double)",
				(long long)type, ONNX_FLOAT, ONNX_DOUBLE);
	out->constant = (struct npl_tensor){.dtype = type == ONNX_FLOAT ? NPL_F32 : NPL_F64};
	return 0;
}

int op_randomnormal_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	struct npl_err wrong = {0};
	float seed;
	if (read_type(list, out, err) || op_attr_float(list, "mean", 0, &out->normal.mean, err) ||
	    op_attr_float(list, "scale", 1, &out->normal.deviation, err) ||
	    op_attr_float(list, "seed", 0, &seed, err) ||
	    op_attr_ints(list, "shape", NPL_MAX_RANK, out->list, &out->n_list, err))
		return NPL_EINPUT;
	if (out->n_list < 0)
		return npl_fail(err, NPL_EINPUT, "the attribute shape is missing");
	uint32_t bits;
	memcpy(&bits, &seed, sizeof bits);
	out->normal.seeded = npl_attr_find(list, "seed", NPL_ATTR_FLOAT, &wrong) != NULL;
	out->normal.seed = bits;
	return 0;
}

int op_randomnormal_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
			  int n_out, struct npl_err *err)
{
	(void)in;
	(void)n_in;
	(void)n_out;
	struct npl_shape y = {.rank = attrs->n_list};
	for (int i = 0; i < y.rank; i++) {
		y.dim[i] = attrs->list[i];
		if (y.dim[i] < 0)
			return npl_fail(err, NPL_EINPUT, "the shape %s has a negative dimension", OP_TEXT(&y));
	}
	out->dtype = attrs->constant.dtype;
	out->shape = y;
	return op_output_fits(&y, 1, err);
}

int op_randomnormal_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
			struct npl_tensor *out, int n_out, struct npl_err *err)
{
	(void)in;
	(void)n_in;
	(void)n_out;
	(void)err;
	if (out->dtype == NPL_F32)
		npl_normal_floats(&attrs->normal, 0, npl_tensor_count(out), out->data);
	else
		npl_normal_doubles(&attrs->normal, 0, npl_tensor_count(out), out->data);
	return 0;
}
