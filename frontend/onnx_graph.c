/* SPDX-License-Identifier: MIT
 *
 * ModelProto and GraphProto: versions, then initialisers, inputs, nodes and outputs, handed to the graph builder.
 * The graph's fields are walked once for each of these, so that their order in the file does not matter. */
#include <stdio.h>
#include <string.h>

#include "graph_build.h"
#include "onnx_external.h"
#include "onnx_proto.h"

enum {
	MODEL_IR_VERSION = 1,
	MODEL_PRODUCER = 2,
	MODEL_PRODUCER_VERSION = 3,
	MODEL_GRAPH = 7,
	MODEL_OPSET = 8,
	MODEL_FUNCTIONS = 25
};
enum { FUNCTION_NAME = 1, FUNCTION_DOMAIN = 10 };
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12, GRAPH_SPARSE_INITIALIZER = 15 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };

struct model {
	uint64_t ir_version;
	const char *producer, *producer_version;
	int64_t opset; /* of the default domain; -1: none yet */
	bool has_graph, has_function;
	struct onnx_span graph;
	struct onnx_field function; /* the first */
};

/* ONNX's own operators: the empty domain has two spellings. */
static bool is_default_domain(const char *domain)
{
	return !*domain || !strcmp(domain, "ai.onnx");
}

static int read_opset(const struct onnx_reader *reader, const struct onnx_field *opset, struct model *model)
{
	struct onnx_span message = opset->bytes;
	struct onnx_field field;
	const char *domain = "";
	int64_t version = 0;
	int rc = onnx_expect(reader, opset, ONNX_BYTES, "an operator set");
	while (!rc && (rc = onnx_next(reader, &message, &field)) > 0) {
		rc = 0;
		if (field.number == OPSET_DOMAIN) {
			rc = onnx_string(reader, &field, "the domain of an operator set", &domain);
		} else if (field.number == OPSET_VERSION) {
			rc = onnx_expect(reader, &field, ONNX_VARINT, "the version of an operator set");
			version = (int64_t)field.value;
		}
	}
	if (rc || !is_default_domain(domain))
		return rc; /* a set that no node uses does no harm */
	if (model->opset >= 0 && model->opset != version)
		return npl_fail(reader->err, NPL_EINPUT, "two versions of the ONNX operator set, %lld and %lld",
				(long long)model->opset, (long long)version);
	model->opset = version;
	return 0;
}

/* Operators that the model defines itself. */
static int refuse_function(const struct onnx_reader *reader, const struct onnx_field *function)
{
	struct onnx_span message = function->bytes;
	struct onnx_field field;
	const char *name = "", *domain = "";
	int rc = onnx_expect(reader, function, ONNX_BYTES, "a function");
	while (!rc && (rc = onnx_next(reader, &message, &field)) > 0) {
		rc = 0;
		if (field.number == FUNCTION_NAME)
			rc = onnx_string(reader, &field, "the name of a function", &name);
		else if (field.number == FUNCTION_DOMAIN)
			rc = onnx_string(reader, &field, "the domain of a function", &domain);
	}
	return rc ? rc
		  : npl_fail(reader->err, NPL_EINPUT,
			     "the model defines a function, '%s' of the domain '%s'; functions are not supported", name,
			     domain);
}

static int read_model_field(const struct onnx_reader *reader, const struct onnx_field *field, struct model *model)
{
	switch (field->number) {
	case MODEL_IR_VERSION:
		model->ir_version = field->value;
		return onnx_expect(reader, field, ONNX_VARINT, "the IR version");
	case MODEL_PRODUCER:
		return onnx_string(reader, field, "the producer's name", &model->producer);
	case MODEL_PRODUCER_VERSION:
		return onnx_string(reader, field, "the producer's version", &model->producer_version);
	case MODEL_OPSET:
		return read_opset(reader, field, model);
	case MODEL_GRAPH:
		if (model->has_graph)
			return npl_fail(reader->err, NPL_EINPUT, "the file holds two graphs");
		model->has_graph = true;
		model->graph = field->bytes;
		return onnx_expect(reader, field, ONNX_BYTES, "the graph");
	case MODEL_FUNCTIONS:
		if (!model->has_function)
			model->function = *field;
		model->has_function = true;
		return 0;
	default:
		return 0;
	}
}

static int read_declaration(const struct onnx_reader *reader, struct onnx_span message, struct graph_input *said)
{
	struct onnx_value_info info;
	int rc = onnx_value_info(reader, message, &info);
	if (rc)
		return rc;
	*said = (struct graph_input){
		.name = info.name, .dtype = info.dtype, .has_shape = info.has_shape, .shape = info.shape};
	memcpy(said->symbol, info.symbol, sizeof said->symbol);
	return 0;
}

/* What is said of a value that is known without it; false: nothing, or nothing that npulab has words for. */
static bool says_something(const struct onnx_reader *reader, struct onnx_span message, struct graph_input *said)
{
	struct npl_err unsaid = {0};
	struct onnx_reader quiet = *reader;
	quiet.err = &unsaid;
	return !read_declaration(&quiet, message, said);
}

static int read_input(struct graph_builder *b, const struct onnx_reader *reader, struct onnx_span message)
{
	struct graph_input input;
	const char *name;
	int rc = onnx_value_name(reader, message, &name);
	if (rc)
		return rc;
	int v = graph_names_find(&b->values, name);
	if (v >= 0 && b->value[v].constant) /* an initialiser listed as input, of which nothing need be said */
		return says_something(reader, message, &input) ? graph_check_constant(b, v, &input) : 0;
	rc = read_declaration(reader, message, &input);
	return rc ? rc : graph_declare_input(b, &input);
}

static int read_initialiser(struct graph_builder *b, const struct onnx_reader *reader, struct onnx_span message)
{
	struct npl_tensor tensor;
	int rc = onnx_tensor(reader, message, &tensor);
	return rc ? rc : graph_add_constant(b, &tensor);
}

static int read_output(struct graph_builder *b, const struct onnx_reader *reader, struct onnx_span message)
{
	struct graph_input said;
	const char *name;
	int rc = onnx_value_name(reader, message, &name);
	if (!rc)
		rc = graph_add_output(b, name);
	return !rc && says_something(reader, message, &said) ? graph_declare_output(b, &said) : rc;
}

/* A NodeProto: its lists sized by the first pass. */
struct node {
	const char *name, *op, *domain;
	const char **in, **out;
	int n_in, n_out;
	struct npl_attr_list list;
};

static int count_node(const struct onnx_reader *reader, struct onnx_span message, struct node *node)
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
		if (rc)
			return rc;
	}
	if (!rc && node->list.n > GRAPH_MAX_ATTRIBUTES)
		rc = npl_fail(reader->err, NPL_EINPUT, "it has more than %d attributes", GRAPH_MAX_ATTRIBUTES);
	return rc;
}

static int fill_node(const struct onnx_reader *reader, struct onnx_span message, struct node *node)
{
	struct onnx_field field;
	int n_in = 0, n_out = 0, n_attr = 0, rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		rc = 0;
		if (field.number == NODE_INPUT)
			rc = onnx_string(reader, &field, "the name of an input", &node->in[n_in++]);
		else if (field.number == NODE_OUTPUT)
			rc = onnx_string(reader, &field, "the name of an output", &node->out[n_out++]);
		else if (field.number == NODE_ATTRIBUTE)
			rc = onnx_expect(reader, &field, ONNX_BYTES, "an attribute");
		if (!rc && field.number == NODE_ATTRIBUTE)
			rc = onnx_attribute(reader, field.bytes, &node->list.attr[n_attr++]);
		if (rc)
			return rc;
	}
	for (int i = 0; i < n_attr && !rc; i++)
		for (int k = 0; k < i; k++)
			if (!strcmp(node->list.attr[i].name, node->list.attr[k].name))
				return npl_fail(reader->err, NPL_EINPUT, "attribute '%s' is given twice",
						node->list.attr[i].name);
	return rc;
}

static int read_node(struct graph_builder *b, const struct onnx_reader *reader, struct onnx_span message)
{
	struct node node = {.name = "", .op = "", .domain = ""};
	int rc = count_node(reader, message, &node);
	if (rc)
		return npl_prefix(reader->err, "node %d", b->n_nodes);
	if (!*node.name)
		node.name = npl_arena_printf(reader->arena, "%s_%d", node.op, b->n_nodes);
	if (!node.name)
		return graph_no_memory(b);
	if (!is_default_domain(node.domain))
		return npl_fail(reader->err, NPL_EINPUT, "node '%s': operator '%s' of the domain '%s' is not known",
				node.name, node.op, node.domain);
	node.in = npl_arena_array(reader->arena, (size_t)node.n_in, sizeof *node.in);
	node.out = npl_arena_array(reader->arena, (size_t)node.n_out, sizeof *node.out);
	node.list.attr = npl_arena_array(reader->arena, (size_t)node.list.n, sizeof *node.list.attr);
	if (!node.in || !node.out || !node.list.attr)
		return graph_no_memory(b);
	rc = fill_node(reader, message, &node);
	if (rc)
		return npl_prefix(reader->err, "node '%s' (%s)", node.name, node.op);
	return graph_add_node(b, node.name, node.op, &node.list, node.n_in, node.in, node.n_out, node.out);
}

static int read_each(struct graph_builder *b, const struct onnx_reader *reader, struct onnx_span graph, uint32_t number,
		     int (*read)(struct graph_builder *, const struct onnx_reader *, struct onnx_span))
{
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(reader, &graph, &field)) > 0) {
		if (field.number == GRAPH_SPARSE_INITIALIZER)
			return npl_fail(reader->err, NPL_EINPUT,
					"the model holds sparse initialisers, which are not supported");
		if (field.number != number)
			continue;
		rc = onnx_expect(reader, &field, ONNX_BYTES, "a part of the graph");
		if (!rc)
			rc = read(b, reader, field.bytes);
		if (rc)
			return rc;
	}
	return rc;
}

static int check_versions(struct graph_builder *b, const struct model *model)
{
	if (!model->has_graph || model->ir_version < 1 || model->ir_version > 1000)
		return npl_fail(b->err, NPL_EINPUT, "not an ONNX model: it holds no %s",
				model->has_graph ? "IR version" : "graph");
	if (model->opset < 0)
		return npl_fail(b->err, NPL_EINPUT,
				"the model does not say which version of the ONNX operators it uses");
	if (model->opset < NPL_FIRST_OPSET || model->opset > NPL_LAST_OPSET)
		return npl_fail(
			b->err, NPL_EINPUT,
			"opset %lld is not supported, only %d to %d: export or convert the model to one of these",
			(long long)model->opset, NPL_FIRST_OPSET, NPL_LAST_OPSET);
	b->graph->opset = (int)model->opset;
	b->graph->ir_version = (int)model->ir_version;
	b->graph->producer = npl_arena_printf(&b->graph->arena, "%s%s%s", model->producer,
					      *model->producer_version ? " " : "", model->producer_version);
	return b->graph->producer ? 0 : graph_no_memory(b);
}

int onnx_read_model(struct graph_builder *b, const unsigned char *data, size_t bytes, struct onnx_external *external)
{
	const struct onnx_reader reader = {
		.start = data, .arena = &b->graph->arena, .err = b->err, .external = external};
	struct model model = {.producer = "", .producer_version = "", .opset = -1};
	struct onnx_span message = {data, data + bytes};
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(&reader, &message, &field)) > 0) {
		rc = read_model_field(&reader, &field, &model);
		if (rc)
			break;
	}
	if (rc)
		return npl_prefix(b->err, "not a complete ONNX model");
	rc = check_versions(b, &model);
	if (!rc && model.has_function)
		rc = refuse_function(&reader, &model.function);
	if (!rc)
		rc = read_each(b, &reader, model.graph, GRAPH_INITIALIZER, read_initialiser);
	if (!rc)
		rc = read_each(b, &reader, model.graph, GRAPH_INPUT, read_input);
	if (!rc)
		rc = graph_add_inputs(b);
	if (!rc)
		rc = read_each(b, &reader, model.graph, GRAPH_NODE, read_node);
	if (!rc)
		rc = onnx_external_check(external, b->err);
	if (!rc)
		rc = read_each(b, &reader, model.graph, GRAPH_OUTPUT, read_output);
	return rc;
}
