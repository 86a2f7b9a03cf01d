/* SPDX-License-Identifier: MIT
 *
 * RandomNormal and RandomUniform, and their Like forms, which take the shape, and by default the type, from an input.
 * ONNX does not say which generator makes the values; npulab's is in npulab/random.h, and its seed is the bits of the
 * attribute `seed`. The importer describes such a tensor, and its values are made only when they are read. */
#include <math.h>
#include <string.h>

#include "ops.h"

static bool copies_shape(enum npl_op op)
{
	return op == NPL_OP_RANDOMNORMALLIKE || op == NPL_OP_RANDOMUNIFORMLIKE;
}

static int read_type(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	enum npl_dtype *type = &out->random.dtype;
	if (op_attr_type(list, "dtype", type, err))
		return NPL_EINPUT;
	if (*type == NPL_DTYPES && !copies_shape(out->op))
		*type = NPL_F32;
	return 0;
}

static int read_law(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	struct npl_random_law *law = &out->random.law;
	*law = (struct npl_random_law){.uniform = out->op == NPL_OP_RANDOMUNIFORM ||
						  out->op == NPL_OP_RANDOMUNIFORMLIKE};
	if (!law->uniform)
		return op_attr_float(list, "mean", 0, &law->mean, err) ||
				       op_attr_float(list, "scale", 1, &law->deviation, err)
			       ? NPL_EINPUT
			       : 0;
	if (op_attr_float(list, "low", 0, &law->low, err) || op_attr_float(list, "high", 1, &law->high, err))
		return NPL_EINPUT;
	return law->low <= law->high ? 0
				     : npl_fail(err, NPL_EINPUT, "low=%g is greater than high=%g", (double)law->low,
						(double)law->high);
}

OP_ATTRS(op_random_attrs)
{
	struct npl_attr *seeded;
	float seed;
	if (read_type(list, out, err) || read_law(list, out, err) || op_attr_float(list, "seed", 0, &seed, err) ||
	    op_attr_find(list, "seed", NPL_ATTR_FLOAT, &seeded, err))
		return NPL_EINPUT;
	if (!copies_shape(out->op) &&
	    op_attr_ints(list, "shape", NPL_MAX_RANK, out->random.shape, &out->random.rank, err))
		return NPL_EINPUT;
	if (out->random.rank < 0)
		return npl_fail(err, NPL_EINPUT, "the attribute shape is missing");
	uint32_t bits;
	memcpy(&bits, &seed, sizeof bits);
	out->random.law.seeded = seeded != NULL;
	out->random.law.seed = bits;
	return 0;
}

OP_SHAPE(op_random_shape)
{
	bool has_model = copies_shape(attrs->op);
	struct npl_shape y;
	if ((has_model && op_inputs(in, n_in, 1, NPL_DTYPES, err)) ||
	    op_requested_shape(attrs->random.shape, attrs->random.rank, &y, err))
		return NPL_EINPUT;
	out->dtype = has_model && attrs->random.dtype == NPL_DTYPES ? in[0]->dtype : attrs->random.dtype;
	out->shape = has_model ? in[0]->shape : y;
	if (out->dtype != NPL_F32 && out->dtype != NPL_F64)
		return npl_fail(err, NPL_EINPUT, "random values of %s are not supported, only float32 and float64",
				npl_dtype_name(out->dtype));
	return op_output_fits(&out->shape, 1, err);
}

OP_RUN(op_random_run)
{
	if (out->dtype == NPL_F32)
		npl_random_floats(&attrs->random.law, 0, npl_tensor_count(out), out->data);
	else
		npl_random_doubles(&attrs->random.law, 0, npl_tensor_count(out), out->data);
	return 0;
}
