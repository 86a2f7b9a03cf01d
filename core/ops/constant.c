/* SPDX-License-Identifier: MIT
 *
 * Constant and ConstantOfShape. Values are borrowed from the model's attributes, which live as long as its graph. Not
 * supported: sparse values and strings. */
#include <string.h>

#include "ops.h"

static struct npl_tensor vector_of(enum npl_dtype dtype, const void *data, int64_t n)
{
	return (struct npl_tensor){.dtype = dtype, .shape = npl_shape_of(1, n), .data = (void *)data};
}

static struct npl_tensor scalar_of(enum npl_dtype dtype, const void *data)
{
	return (struct npl_tensor){.dtype = dtype, .shape = {.rank = 0}, .data = (void *)data};
}

static struct npl_tensor value_of(const struct npl_attr *attr)
{
	switch (attr->type) {
	case NPL_ATTR_TENSOR: {
		struct npl_tensor borrowed = *attr->tensor;
		borrowed.owned = false;
		return borrowed;
	}
	case NPL_ATTR_INT:
		return scalar_of(NPL_I64, &attr->i);
	case NPL_ATTR_FLOAT:
		return scalar_of(NPL_F32, &attr->f);
	case NPL_ATTR_INTS:
		return vector_of(NPL_I64, attr->ints, attr->n);
	default:
		return vector_of(NPL_F32, attr->floats, attr->n);
	}
}

OP_ATTRS(op_constant_attrs)
{
	static const struct {
		const char *name;
		enum npl_attr_type type;
	} value_attributes[] = {{"value", NPL_ATTR_TENSOR},
				{"value_float", NPL_ATTR_FLOAT},
				{"value_floats", NPL_ATTR_FLOATS},
				{"value_int", NPL_ATTR_INT},
				{"value_ints", NPL_ATTR_INTS}};
	int n_found = 0;
	for (size_t i = 0; i < sizeof value_attributes / sizeof *value_attributes; i++) {
		struct npl_attr *attr;
		if (op_attr_find(list, value_attributes[i].name, value_attributes[i].type, &attr, err))
			return NPL_EINPUT;
		if (!attr)
			continue;
		out->constant.value = value_of(attr);
		n_found++;
	}
	if (n_found != 1)
		return npl_fail(err, NPL_EINPUT,
				"expected one of the attributes value, value_float, value_floats, value_int and "
				"value_ints, got %d (strings and sparse tensors are not supported)",
				n_found);
	return 0;
}

OP_SHAPE(op_constant_shape)
{
	out->dtype = attrs->constant.value.dtype;
	out->shape = attrs->constant.value.shape;
	return op_output_fits(&out->shape, 1, err);
}

OP_RUN(op_constant_run)
{
	return op_copy_bytes(&attrs->constant.value, out);
}

OP_ATTRS(op_constantofshape_attrs)
{
	struct npl_attr *attr;
	if (op_attr_find(list, "value", NPL_ATTR_TENSOR, &attr, err))
		return NPL_EINPUT;
	out->constant.value = (struct npl_tensor){.dtype = NPL_F32, .shape = npl_shape_of(1, 1)}; /* no data: zero */
	if (attr && (npl_tensor_count(attr->tensor) != 1 || !attr->tensor->data))
		return npl_fail(err, NPL_EINPUT, "the attribute value is %s, expected one element",
				OP_TEXT(&attr->tensor->shape));
	if (attr)
		out->constant.value = value_of(attr);
	return 0;
}

OP_SHAPE(op_constantofshape_shape)
{
	struct npl_shape y;
	int64_t dims[NPL_MAX_RANK];
	int n;
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err) || op_input_dims(in[0], "shape", dims, &n, err) ||
	    op_requested_shape(dims, n, &y, err))
		return NPL_EINPUT;
	out->dtype = attrs->constant.value.dtype;
	out->shape = y;
	return op_output_fits(&y, 1, err);
}

OP_RUN(op_constantofshape_run)
{
	size_t element = npl_dtype_size(out->dtype), bytes = npl_tensor_bytes(out);
	char *to = out->data;
	if (!attrs->constant.value.data && bytes)
		memset(to, 0, bytes);
	for (size_t offset = 0; attrs->constant.value.data && offset < bytes; offset += element)
		memcpy(to + offset, attrs->constant.value.data, element);
	return 0;
}
