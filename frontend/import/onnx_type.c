/* SPDX-License-Identifier: MIT
 *
 * ValueInfoProto: the name of an input or output and, for inputs, the TypeProto within: element type and shape.
 * A fixed number of messages deep (value, type, tensor, shape, dimension), one function each.
 */
#include "onnx_proto.h"

enum {
	V_NAME = 1,
	V_TYPE = 2,
	TYPE_TENSOR = 1,
	TYPE_DENOTATION = 6,
	TENSOR_ELEM = 1,
	TENSOR_SHAPE = 2,
	SHAPE_DIM = 1,
	DIM_VALUE = 1,
	DIM_PARAM = 2
};

static int read_dim(const struct onnx_reader *reader, struct onnx_span message, int64_t *dim, const char **symbol)
{
	struct onnx_field field;
	int rc;
	*dim = -1;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		rc = 0;
		if (field.number == DIM_VALUE) {
			rc = onnx_expect(reader, &field, ONNX_VARINT, "a dimension");
			*dim = (int64_t)field.value > 0 ? (int64_t)field.value : -1;
			*symbol = NULL;
		} else if (field.number == DIM_PARAM) {
			rc = onnx_string(reader, &field, "the name of a dimension", symbol);
			*dim = -1;
		}
		if (rc)
			return rc;
	}
	return rc;
}

static int read_shape(const struct onnx_reader *reader, struct onnx_span message, struct onnx_value_info *info)
{
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		if (field.number != SHAPE_DIM)
			continue;
		if (info->shape.rank == NPL_MAX_RANK)
			return npl_fail(reader->err, NPL_EINPUT, "it has more than %d dimensions", NPL_MAX_RANK);
		int i = info->shape.rank++;
		rc = onnx_expect(reader, &field, ONNX_BYTES, "a dimension");
		if (!rc)
			rc = read_dim(reader, field.bytes, &info->shape.dim[i], &info->symbol[i]);
		if (rc)
			return rc;
	}
	return rc;
}

static int read_tensor_type(const struct onnx_reader *reader, struct onnx_span message, struct onnx_value_info *info)
{
	struct onnx_field field;
	uint64_t elem = 0;
	int rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		rc = 0;
		if (field.number == TENSOR_ELEM) {
			rc = onnx_expect(reader, &field, ONNX_VARINT, "an element type");
			elem = field.value;
		} else if (field.number == TENSOR_SHAPE) {
			rc = onnx_expect(reader, &field, ONNX_BYTES, "a shape");
			info->has_shape = true;
			info->shape.rank = 0;
			if (!rc)
				rc = read_shape(reader, field.bytes, info);
		}
		if (rc)
			return rc;
	}
	return rc ? rc : onnx_dtype(reader, elem, &info->dtype);
}

static int read_type(const struct onnx_reader *reader, struct onnx_span message, struct onnx_value_info *info)
{
	struct onnx_field field;
	bool found = false;
	int rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		if (field.number == TYPE_DENOTATION)
			continue;
		if (field.number != TYPE_TENSOR)
			return npl_fail(reader->err, NPL_EINPUT,
					"it is a sequence, map, optional or sparse tensor, expected a tensor");
		found = true;
		rc = onnx_expect(reader, &field, ONNX_BYTES, "a tensor type");
		if (!rc)
			rc = read_tensor_type(reader, field.bytes, info);
		if (rc)
			return rc;
	}
	if (!rc && !found)
		rc = npl_fail(reader->err, NPL_EINPUT, "it has no type");
	return rc;
}

int onnx_value_name(const struct onnx_reader *reader, struct onnx_span message, const char **name)
{
	struct onnx_field field;
	int rc;
	*name = "";
	while ((rc = onnx_next(reader, &message, &field)) > 0)
		if (field.number == V_NAME &&
		    (rc = onnx_string(reader, &field, "the name of an input or output", name)) != 0)
			return rc;
	if (!rc && !**name)
		rc = npl_fail(reader->err, NPL_EINPUT, "an input or output has no name");
	return rc;
}

int onnx_value_info(const struct onnx_reader *reader, struct onnx_span message, struct onnx_value_info *info)
{
	*info = (struct onnx_value_info){0};
	int rc = onnx_value_name(reader, message, &info->name);
	if (rc)
		return rc;
	struct onnx_field field;
	bool found = false;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		if (field.number != V_TYPE)
			continue;
		found = true;
		rc = onnx_expect(reader, &field, ONNX_BYTES, "a type");
		if (!rc)
			rc = read_type(reader, field.bytes, info);
		if (rc)
			break;
	}
	if (!rc && !found)
		rc = npl_fail(reader->err, NPL_EINPUT, "it has no type");
	if (rc)
		npl_prefix(reader->err, "input '%s'", info->name);
	return rc;
}
