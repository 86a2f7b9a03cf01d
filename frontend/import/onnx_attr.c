/* SPDX-License-Identifier: MIT
 *
 * AttributeProto, and the ValueInfoProto of inputs and outputs. `type` says the kind of an attribute. Models written
 * before IR version 2 leave it out; the field that is present then shows the kind.
 */
#include "onnx_proto.h"

#include <string.h>

#include "core/base/refuse.h"

#define MAX_LIST 1000000 /* the most entries of a list */

enum {
	A_NAME = 1,
	A_F = 2,
	A_I = 3,
	A_S = 4,
	A_T = 5,
	A_G = 6,
	A_FLOATS = 7,
	A_INTS = 8,
	A_STRINGS = 9,
	A_TENSORS = 10,
	A_GRAPHS = 11,
	A_TP = 14,
	A_TYPE_PROTOS = 15,
	A_TYPE = 20,
	A_REF_NAME = 21,
	A_SPARSE = 22,
	A_SPARSES = 23
};

/* AttributeProto.AttributeType */
enum {
	T_UNDEFINED = 0,
	T_FLOAT = 1,
	T_INT = 2,
	T_STRING = 3,
	T_TENSOR = 4,
	T_GRAPH = 5,
	T_FLOATS = 6,
	T_INTS = 7,
	T_STRINGS = 8,
	T_GRAPHS = 10
};

/* Returns the attribute type whose value is in a field; 0: the field holds no value. */
static uint64_t type_of_field(uint32_t number)
{
	static const unsigned char type[] = {
		[A_F] = T_FLOAT, [A_I] = T_INT,         [A_S] = T_STRING,  [A_T] = T_TENSOR,
		[A_G] = T_GRAPH, [A_FLOATS] = T_FLOATS, [A_INTS] = T_INTS, [A_STRINGS] = T_STRINGS,
		[A_TENSORS] = 9, [A_GRAPHS] = T_GRAPHS, [A_TP] = 13,       [A_TYPE_PROTOS] = 14,
		[A_SPARSE] = 11, [A_SPARSES] = 12};
	return number < sizeof type ? type[number] : 0;
}

/* The lists of an attribute: their lengths, then memory for the list of its kind. */
struct lists {
	int64_t n_ints, n_floats, n_strings;
	int64_t *ints;
	float *floats;
	const char **strings;
};

/* Makes the first pass, which finds the name, the kind and the lengths of the lists. */
static int scan_attribute(const struct onnx_reader *reader, struct onnx_span message, struct npl_attr *attr,
			  const char **reference, uint64_t *type, struct lists *lists)
{
	struct onnx_field field;
	struct onnx_numbers numbers;
	uint64_t field_type = T_UNDEFINED;
	int64_t count;
	int rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		rc = 0;
		count = 0;
		if (type_of_field(field.number))
			field_type = type_of_field(field.number);
		if (field.number == A_NAME) {
			rc = onnx_string(reader, &field, "the name of an attribute", &attr->name);
		} else if (field.number == A_TYPE) {
			rc = onnx_expect(reader, &field, ONNX_VARINT, "the type of an attribute");
			*type = field.value;
		} else if (field.number == A_REF_NAME) {
			rc = onnx_string(reader, &field, "the attribute of a function that another refers to",
					 reference);
		} else if (field.number == A_INTS || field.number == A_FLOATS) {
			rc = onnx_numbers_begin(reader, &field, field.number == A_INTS ? ONNX_VARINT : ONNX_FIXED32,
						"the list of an attribute", &numbers);
			if (!rc)
				rc = onnx_numbers_count(reader, numbers, &count);
			*(field.number == A_INTS ? &lists->n_ints : &lists->n_floats) += count;
		} else if (field.number == A_STRINGS) {
			lists->n_strings++;
		}
		if (rc)
			return rc;
	}
	if (*type == T_UNDEFINED)
		*type = field_type;
	if (!rc && (lists->n_ints > MAX_LIST || lists->n_floats > MAX_LIST || lists->n_strings > MAX_LIST))
		rc = npl_fail(reader->err, NPL_EINPUT, "its list has more than %d entries", MAX_LIST);
	return rc;
}

static int append_numbers(const struct onnx_reader *reader, const struct onnx_field *field, int64_t *ints,
			  float *floats, int64_t *n)
{
	struct onnx_numbers numbers;
	uint64_t bits;
	int rc = onnx_numbers_begin(reader, field, ints ? ONNX_VARINT : ONNX_FIXED32, "the list of an attribute",
				    &numbers);
	while (!rc && (rc = onnx_numbers_next(reader, &numbers, &bits)) > 0) {
		uint32_t low = (uint32_t)bits;
		if (ints)
			ints[*n] = (int64_t)bits;
		else
			memcpy(&floats[*n], &low, sizeof low);
		++*n;
		rc = 0;
	}
	return rc;
}

static int set_tensor(const struct onnx_reader *reader, const struct onnx_field *field, struct npl_attr *attr)
{
	struct npl_tensor *tensor = npl_arena_alloc(reader->arena, sizeof *tensor);
	if (!tensor)
		return npl_no_memory(reader->err);
	int rc = onnx_expect(reader, field, ONNX_BYTES, "a tensor attribute");
	if (!rc)
		rc = onnx_tensor(reader, field->bytes, tensor);
	attr->tensor = tensor;
	return rc;
}

/* Makes the second pass, which reads the value of the kind that the first pass found. */
static int set_value(const struct onnx_reader *reader, const struct onnx_field *field, struct npl_attr *attr,
		     const struct lists *lists)
{
	uint32_t low = (uint32_t)field->value;
	int rc;
	switch (field->number) {
	case A_F:
		rc = onnx_expect(reader, field, ONNX_FIXED32, "a float attribute");
		memcpy(&attr->f, &low, sizeof low);
		return rc;
	case A_I:
		attr->i = (int64_t)field->value;
		return onnx_expect(reader, field, ONNX_VARINT, "an integer attribute");
	case A_S:
		return onnx_string(reader, field, "a string attribute", &attr->s);
	case A_T:
		return set_tensor(reader, field, attr);
	case A_STRINGS:
		return onnx_string(reader, field, "a list of strings", &lists->strings[attr->n++]);
	default:
		return append_numbers(reader, field, lists->ints, lists->floats, &attr->n);
	}
}

static int read_value(const struct onnx_reader *reader, struct onnx_span message, struct npl_attr *attr, uint64_t type,
		      struct lists *lists)
{
	static const struct {
		uint32_t field;
		int type;
	} kinds[] = {[T_FLOAT] = {A_F, NPL_ATTR_FLOAT},          [T_INT] = {A_I, NPL_ATTR_INT},
		     [T_STRING] = {A_S, NPL_ATTR_STRING},        [T_TENSOR] = {A_T, NPL_ATTR_TENSOR},
		     [T_FLOATS] = {A_FLOATS, NPL_ATTR_FLOATS},   [T_INTS] = {A_INTS, NPL_ATTR_INTS},
		     [T_STRINGS] = {A_STRINGS, NPL_ATTR_STRINGS}};
	attr->type = NPL_ATTR_OTHER;
	if (type == T_GRAPH || type == T_GRAPHS)
		return npl_fail(
			reader->err, NPL_EINPUT,
			"it holds a subgraph: If, Loop and Scan are not supported; export the model without control "
			"flow");
	if (type >= sizeof kinds / sizeof kinds[0] || !kinds[type].field)
		return 0;
	if (type == T_INTS)
		attr->ints = lists->ints = npl_arena_array(reader->arena, (size_t)lists->n_ints, sizeof *lists->ints);
	else if (type == T_FLOATS)
		attr->floats = lists->floats = npl_arena_array(reader->arena, (size_t)lists->n_floats,
							       sizeof *lists->floats);
	else if (type == T_STRINGS)
		attr->strings = lists->strings = npl_arena_array(reader->arena, (size_t)lists->n_strings,
								 sizeof *lists->strings);
	if ((type == T_INTS && !attr->ints) || (type == T_FLOATS && !attr->floats) ||
	    (type == T_STRINGS && !attr->strings))
		return npl_no_memory(reader->err);
	attr->type = kinds[type].type;
	attr->s = "";
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0)
		if (field.number == kinds[type].field && (rc = set_value(reader, &field, attr, lists)) != 0)
			return rc;
	if (!rc && type == T_TENSOR && !attr->tensor)
		rc = npl_fail(reader->err, NPL_EINPUT, "it says that it is a tensor but holds none");
	return rc;
}

int onnx_attribute(const struct onnx_reader *reader, struct onnx_span message, struct npl_attr *attr,
		   const char **reference)
{
	uint64_t type = T_UNDEFINED;
	struct lists lists = {0};
	*attr = (struct npl_attr){.name = ""};
	*reference = "";
	int rc = scan_attribute(reader, message, attr, reference, &type, &lists);
	if (!**reference) /* writers use an empty name for no reference */
		*reference = NULL;
	if (!rc && !*attr->name)
		return npl_fail(reader->err, NPL_EINPUT, "an attribute has no name");
	if (!rc && !*reference)
		rc = read_value(reader, message, attr, type, &lists);
	if (rc && *attr->name)
		npl_prefix(reader->err, "attribute '%s'", attr->name);
	return rc;
}
