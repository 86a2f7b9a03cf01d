/* SPDX-License-Identifier: MIT
 *
 * NodeProto (onnx_node.h): a first pass counts its lists, a second one fills them. doc_string, metadata_props and
 * device_configurations are skipped, because they do not change what a node computes. */
#include "onnx_node.h"

#include <string.h>

#include "core/base/refuse.h"
#include "frontend/graph/build.h"
#include "onnx_proto.h"

enum {
	NODE_INPUT = 1,
	NODE_OUTPUT = 2,
	NODE_NAME = 3,
	NODE_OP = 4,
	NODE_ATTRIBUTE = 5,
	NODE_DOMAIN = 7,
	NODE_OVERLOAD = 8
};
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };

const char *onnx_domain(const char *domain)
{
	return strcmp(domain, "ai.onnx") ? domain : "";
}

int onnx_opset(const struct onnx_reader *reader, const struct onnx_field *opset, const char **domain, int64_t *version)
{
	struct onnx_span message = opset->bytes;
	struct onnx_field field;
	int rc = onnx_expect(reader, opset, ONNX_BYTES, "an operator set");
	*domain = "";
	*version = 0;
	while (!rc && (rc = onnx_next(reader, &message, &field)) > 0) {
		rc = 0;
		if (field.number == OPSET_DOMAIN) {
			rc = onnx_string(reader, &field, "the domain of an operator set", domain);
		} else if (field.number == OPSET_VERSION) {
			rc = onnx_expect(reader, &field, ONNX_VARINT, "the version of an operator set");
			*version = (int64_t)field.value;
		}
	}
	*domain = onnx_domain(*domain);
	return rc;
}

int onnx_list_string(const struct onnx_reader *reader, const struct onnx_field *field, const char *field_name,
		     const char **list, int *n)
{
	return onnx_string(reader, field, field_name, &list[(*n)++]);
}

static int count_node(const struct onnx_reader *reader, struct onnx_span message, struct onnx_node *node)
{
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		rc = 0;
		if (field.number == NODE_INPUT)
			node->n_in++;
		else if (field.number == NODE_OUTPUT)
			node->n_out++;
		else if (field.number == NODE_ATTRIBUTE)
			node->list.n++;
		else if (field.number == NODE_NAME)
			rc = onnx_string(reader, &field, "the name of a node", &node->name);
		else if (field.number == NODE_OP)
			rc = onnx_string(reader, &field, "the operator of a node", &node->op);
		else if (field.number == NODE_DOMAIN)
			rc = onnx_string(reader, &field, "the domain of a node", &node->domain);
		else if (field.number == NODE_OVERLOAD)
			rc = onnx_string(reader, &field, "the overload of a node", &node->overload);
		if (rc)
			return rc;
	}
	if (!rc && node->list.n > GRAPH_MAX_ATTRIBUTES)
		rc = npl_fail(reader->err, NPL_EINPUT, "it has more than %d attributes", GRAPH_MAX_ATTRIBUTES);
	node->domain = onnx_domain(node->domain);
	return rc;
}

static int read_attribute(const struct onnx_reader *reader, const struct onnx_field *field, bool in_function,
			  struct npl_attr *attr, const char **reference)
{
	int rc = onnx_expect(reader, field, ONNX_BYTES, "an attribute");
	if (!rc)
		rc = onnx_attribute(reader, field->bytes, attr, reference);
	if (!rc && *reference && !in_function)
		rc = npl_fail(reader->err, NPL_EINPUT,
			      "attribute '%s' refers to '%s' of a function, but the node is in none", attr->name,
			      *reference);
	return rc;
}

static int fill_node(const struct onnx_reader *reader, struct onnx_span message, bool in_function,
		     struct onnx_node *node)
{
	struct onnx_field field;
	int n_in = 0, n_out = 0, n_attr = 0, rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		rc = 0;
		if (field.number == NODE_INPUT)
			rc = onnx_list_string(reader, &field, "the name of an input", node->in, &n_in);
		else if (field.number == NODE_OUTPUT)
			rc = onnx_list_string(reader, &field, "the name of an output", node->out, &n_out);
		else if (field.number == NODE_ATTRIBUTE) {
			rc = read_attribute(reader, &field, in_function, &node->list.attr[n_attr],
					    &node->reference[n_attr]);
			n_attr++;
		}
		if (rc)
			return rc;
	}
	return rc;
}

int onnx_node(const struct onnx_reader *reader, struct onnx_span message, int index, bool in_function,
	      struct onnx_node *node)
{
	*node = (struct onnx_node){.name = "", .op = "", .domain = "", .overload = ""};
	int rc = count_node(reader, message, node);
	if (rc)
		return npl_prefix(reader->err, "node %d", index);
	if (!*node->name)
		node->name = npl_arena_printf(reader->arena, "%s_%d", node->op, index);
	node->in = npl_arena_array(reader->arena, (size_t)node->n_in, sizeof *node->in);
	node->out = npl_arena_array(reader->arena, (size_t)node->n_out, sizeof *node->out);
	node->list.attr = npl_arena_array(reader->arena, (size_t)node->list.n, sizeof *node->list.attr);
	node->reference = npl_arena_array(reader->arena, (size_t)node->list.n, sizeof *node->reference);
	if (!node->name || !node->in || !node->out || !node->list.attr || !node->reference)
		return npl_no_memory(reader->err);
	rc = fill_node(reader, message, in_function, node);
	return rc ? npl_prefix(reader->err, "node '%s' (%s)", node->name, node->op) : 0;
}
