/* SPDX-License-Identifier: MIT
 *
 * TensorProto: a shape, an element type and the elements, as raw little-endian bytes or as numbers in the repeated
 * field of their kind (small integers all travel in int32_data), or as raw bytes in another file. Raw bytes that are
 * aligned are used in place, so that a network's weights are not copied; all others are copied into the arena.
 */
#include "onnx_proto.h"

#include <string.h>

#include "onnx_external.h"

enum {
	DIMS = 1,
	DATA_TYPE = 2,
	SEGMENT = 3,
	FLOAT_DATA = 4,
	INT32_DATA = 5,
	STRING_DATA = 6,
	INT64_DATA = 7,
	NAME = 8,
	RAW_DATA = 9,
	DOUBLE_DATA = 10,
	UINT64_DATA = 11,
	EXTERNAL_DATA = 13,
	DATA_LOCATION = 14
};

/* The field that holds the elements of a type when they are not raw. */
static const struct {
	uint32_t field;
	enum onnx_wire wire;
} numbers_of[NPL_DTYPES] = {
	[NPL_F32] = {FLOAT_DATA, ONNX_FIXED32}, [NPL_F64] = {DOUBLE_DATA, ONNX_FIXED64},
	[NPL_I8] = {INT32_DATA, ONNX_VARINT},   [NPL_U8] = {INT32_DATA, ONNX_VARINT},
	[NPL_I16] = {INT32_DATA, ONNX_VARINT},  [NPL_U16] = {INT32_DATA, ONNX_VARINT},
	[NPL_I32] = {INT32_DATA, ONNX_VARINT},  [NPL_I64] = {INT64_DATA, ONNX_VARINT},
	[NPL_BOOL] = {INT32_DATA, ONNX_VARINT}, [NPL_F16] = {INT32_DATA, ONNX_VARINT},
	[NPL_BF16] = {INT32_DATA, ONNX_VARINT}, [NPL_U32] = {UINT64_DATA, ONNX_VARINT},
	[NPL_U64] = {UINT64_DATA, ONNX_VARINT},
};

int onnx_dtype(const struct onnx_reader *reader, uint64_t data_type, enum npl_dtype *dtype)
{
	const struct npl_element_type *type = npl_element_type(data_type);
	if (!type)
		return npl_fail(reader->err, NPL_EINPUT, "element type %llu is not known",
				(unsigned long long)data_type);
	*dtype = type->dtype;
	return *dtype != NPL_DTYPES ? 0
				    : npl_fail(reader->err, NPL_EINPUT, "element type %s is not supported: %s",
					       type->name, type->instead);
}

/* The results of the first pass over the fields. */
struct layout {
	uint64_t data_type;
	bool has_raw, is_external;
	struct onnx_span raw;
	int64_t n_numbers;      /* elements in repeated fields of any kind */
	uint32_t numbers_field; /* the last such field */
};

static int add_dims(const struct onnx_reader *reader, const struct onnx_field *field, struct npl_shape *shape)
{
	struct onnx_numbers dims;
	uint64_t value;
	int rc = onnx_numbers_begin(reader, field, ONNX_VARINT, "the dimensions of a tensor", &dims);
	while (!rc && (rc = onnx_numbers_next(reader, &dims, &value)) > 0) {
		if (shape->rank == NPL_MAX_RANK)
			return npl_fail(reader->err, NPL_EINPUT, "a tensor has more than %d dimensions", NPL_MAX_RANK);
		shape->dim[shape->rank++] = (int64_t)value;
		rc = 0;
	}
	return rc;
}

static int count_numbers(const struct onnx_reader *reader, const struct onnx_field *field, struct layout *layout)
{
	enum onnx_wire wire = field->number == FLOAT_DATA    ? ONNX_FIXED32
			      : field->number == DOUBLE_DATA ? ONNX_FIXED64
							     : ONNX_VARINT;
	struct onnx_numbers numbers;
	int64_t count = 0;
	int rc = onnx_numbers_begin(reader, field, wire, "the elements of a tensor", &numbers);
	if (!rc)
		rc = onnx_numbers_count(reader, numbers, &count);
	if (rc || !count)
		return rc;
	if (layout->n_numbers && layout->numbers_field != field->number)
		return npl_fail(reader->err, NPL_EINPUT, "its elements stand in fields %u and %u, expected one kind",
				(unsigned)layout->numbers_field, (unsigned)field->number);
	layout->n_numbers += count;
	layout->numbers_field = field->number;
	return 0;
}

static int scan_field(const struct onnx_reader *reader, const struct onnx_field *field, struct npl_tensor *tensor,
		      struct layout *layout)
{
	switch (field->number) {
	case DIMS:
		return add_dims(reader, field, &tensor->shape);
	case DATA_TYPE:
		layout->data_type = field->value;
		return onnx_expect(reader, field, ONNX_VARINT, "the element type of a tensor");
	case NAME:
		return onnx_string(reader, field, "the name of a tensor", &tensor->name);
	case RAW_DATA:
		layout->has_raw = true;
		layout->raw = field->bytes;
		return onnx_expect(reader, field, ONNX_BYTES, "the raw data of a tensor");
	case FLOAT_DATA:
	case INT32_DATA:
	case INT64_DATA:
	case DOUBLE_DATA:
	case UINT64_DATA:
		return count_numbers(reader, field, layout);
	case DATA_LOCATION:
		layout->is_external = field->value == 1;
		if (field->wire == ONNX_VARINT && field->value > 1)
			return npl_fail(reader->err, NPL_EINPUT,
					"the data location %llu is not known, expected 0 (here) or 1 (external)",
					(unsigned long long)field->value);
		return onnx_expect(reader, field, ONNX_VARINT, "the data location of a tensor");
	case EXTERNAL_DATA:
		return onnx_expect(reader, field, ONNX_BYTES, "an entry of a tensor's external data");
	case SEGMENT:
		return npl_fail(reader->err, NPL_EINPUT, "it is a segment of a larger tensor, which is not supported");
	default:
		return 0;
	}
}

/* Stores one element; false when the number does not fit the type. */
static bool store(enum npl_dtype dtype, uint64_t bits, void *data, int64_t i)
{
	int64_t v = (int64_t)bits;
	switch (dtype) {
	case NPL_F32:
		((uint32_t *)data)[i] = (uint32_t)bits;
		return true;
	case NPL_F64:
	case NPL_I64:
	case NPL_U64:
		((uint64_t *)data)[i] = bits;
		return true;
	case NPL_I32:
		((int32_t *)data)[i] = (int32_t)v;
		return v >= INT32_MIN && v <= INT32_MAX;
	case NPL_I16:
		((int16_t *)data)[i] = (int16_t)v;
		return v >= INT16_MIN && v <= INT16_MAX;
	case NPL_U32:
		((uint32_t *)data)[i] = (uint32_t)bits;
		return bits <= UINT32_MAX;
	case NPL_U16: /* numbers, and the bits of the 16-bit floats */
	case NPL_F16:
	case NPL_BF16:
		((uint16_t *)data)[i] = (uint16_t)bits;
		return bits <= UINT16_MAX;
	case NPL_I8:
		((int8_t *)data)[i] = (int8_t)v;
		return v >= INT8_MIN && v <= INT8_MAX;
	case NPL_U8:
		((uint8_t *)data)[i] = (uint8_t)v;
		return v >= 0 && v <= UINT8_MAX;
	case NPL_BOOL:
		((uint8_t *)data)[i] = (uint8_t)v;
		return v == 0 || v == 1;
	default:
		return false;
	}
}

static int copy_numbers(const struct onnx_reader *reader, struct onnx_span message, struct npl_tensor *tensor)
{
	struct onnx_field field;
	int64_t i = 0;
	int rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		if (field.number != numbers_of[tensor->dtype].field)
			continue;
		struct onnx_numbers numbers;
		uint64_t bits;
		rc = onnx_numbers_begin(reader, &field, numbers_of[tensor->dtype].wire, "the elements of a tensor",
					&numbers);
		while (!rc && (rc = onnx_numbers_next(reader, &numbers, &bits)) > 0) {
			if (!store(tensor->dtype, bits, tensor->data, i))
				return npl_fail(reader->err, NPL_EINPUT, "element %lld, %lld, is no %s", (long long)i,
						(long long)bits, npl_dtype_name(tensor->dtype));
			i++;
			rc = 0;
		}
		if (rc)
			return rc;
	}
	return rc;
}

static int fail_count(const struct onnx_reader *reader, const struct npl_tensor *tensor, const char *unit,
		      long long expected, long long n_given)
{
	char text[128];
	return npl_fail(reader->err, NPL_EINPUT, "%s %s needs %lld %s, the file gives %lld",
			npl_dtype_name(tensor->dtype), npl_shape_text(&tensor->shape, text, sizeof text), expected,
			unit, n_given);
}

static int use_raw(const struct onnx_reader *reader, struct onnx_span raw, int64_t count, struct npl_tensor *tensor)
{
	size_t size = npl_dtype_size(tensor->dtype), bytes = (size_t)count * size;
	if ((size_t)(raw.end - raw.at) != bytes)
		return fail_count(reader, tensor, "bytes", (long long)bytes, (long long)(raw.end - raw.at));
	if (tensor->dtype == NPL_BOOL)
		for (size_t i = 0; i < bytes; i++)
			if (raw.at[i] > 1)
				return npl_fail(reader->err, NPL_EINPUT, "element %zu, %d, is not a bool", i,
						raw.at[i]);
	if ((uintptr_t)raw.at % size == 0) {
		tensor->data = (void *)raw.at; /* read-only, as every constant is */
		return 0;
	}
	tensor->data = npl_arena_alloc(reader->arena, bytes);
	if (!tensor->data)
		return npl_fail(reader->err, NPL_ENOMEM, "out of memory for %zu bytes", bytes);
	memcpy(tensor->data, raw.at, bytes);
	return 0;
}

static int use_numbers(const struct onnx_reader *reader, struct onnx_span message, const struct layout *layout,
		       int64_t count, struct npl_tensor *tensor)
{
	bool fits = !layout->n_numbers || layout->numbers_field == numbers_of[tensor->dtype].field;
	if (!fits)
		return npl_fail(reader->err, NPL_EINPUT,
				"its %s elements stand in field %u, expected field %u or raw data",
				npl_dtype_name(tensor->dtype), (unsigned)layout->numbers_field,
				(unsigned)numbers_of[tensor->dtype].field);
	if (layout->n_numbers != count)
		return fail_count(reader, tensor, "elements", (long long)count, (long long)layout->n_numbers);
	tensor->data = npl_arena_array(reader->arena, (size_t)count, npl_dtype_size(tensor->dtype));
	if (!tensor->data)
		return npl_fail(reader->err, NPL_ENOMEM, "out of memory for %lld elements", (long long)count);
	return copy_numbers(reader, message, tensor);
}

static int read_tensor(const struct onnx_reader *reader, struct onnx_span message, struct npl_tensor *tensor)
{
	struct layout layout = {0};
	struct onnx_span remaining = message;
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(reader, &remaining, &field)) > 0) {
		rc = scan_field(reader, &field, tensor, &layout);
		if (rc)
			return rc;
	}
	if (!rc)
		rc = onnx_dtype(reader, layout.data_type, &tensor->dtype);
	if (rc)
		return rc;
	int64_t count = npl_shape_count(&tensor->shape);
	char text[192];
	if (count < 0)
		return npl_fail(reader->err, NPL_EINPUT, "the shape %s is not possible",
				npl_shape_text(&tensor->shape, text, sizeof text));
	if (layout.is_external) {
		if (layout.has_raw || layout.n_numbers)
			return npl_fail(reader->err, NPL_EINPUT, "its elements are given twice, here and externally");
		rc = onnx_external_data(reader, message, EXTERNAL_DATA, (size_t)count * npl_dtype_size(tensor->dtype),
					tensor->name, &layout.raw);
		return rc ? rc : use_raw(reader, layout.raw, count, tensor);
	}
	if (layout.has_raw && layout.n_numbers)
		return npl_fail(reader->err, NPL_EINPUT, "its elements are given twice, raw and as numbers");
	if (layout.has_raw)
		return use_raw(reader, layout.raw, count, tensor);
	return use_numbers(reader, message, &layout, count, tensor);
}

int onnx_tensor(const struct onnx_reader *reader, struct onnx_span message, struct npl_tensor *tensor)
{
	*tensor = (struct npl_tensor){0};
	int rc = read_tensor(reader, message, tensor);
	if (rc && tensor->name && *tensor->name)
		npl_prefix(reader->err, "tensor '%s'", tensor->name);
	return rc;
}
