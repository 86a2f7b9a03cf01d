/* SPDX-License-Identifier: MIT
 *
 * ModelProto and GraphProto: versions, then functions, initialisers, inputs, nodes and outputs, handed to the graph
 * builder. The fields are walked once for each of these, so that their order in the file does not matter. */
#include <stdio.h>
#include <string.h>

#include "core/base/refuse.h"
#include "frontend/graph/build.h"
#include "onnx_external.h"
#include "onnx_function.h"
#include "onnx_proto.h"

enum {
	MODEL_IR_VERSION = 1,
	MODEL_PRODUCER = 2,
	MODEL_PRODUCER_VERSION = 3,
	MODEL_GRAPH = 7,
	MODEL_OPSET = 8,
	MODEL_FUNCTIONS = 25
};
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12, GRAPH_SPARSE_INITIALIZER = 15 };
enum { NODE_OUTPUT = 2 };

struct model {
	uint64_t ir_version;
	const char *producer, *producer_version;
	int64_t opset; /* the opset of the default domain; -1: there is none yet */
	bool has_graph;
	struct onnx_span graph;
};

/* The state that every function which reads a part of the file receives. */
struct import {
	struct graph_builder *b;
	struct onnx_reader reader;
	struct model model;
	struct onnx_functions functions;
};

static int read_opset(const struct onnx_reader *reader, const struct onnx_field *opset, struct model *model)
{
	const char *domain;
	int64_t version;
	int rc = onnx_opset(reader, opset, &domain, &version);
	if (rc || *domain)
		return rc; /* an operator set that no node uses does no harm */
	if (model->opset >= 0 && model->opset != version)
		return npl_fail(reader->err, NPL_EINPUT, "two versions of the ONNX operator set, %lld and %lld",
				(long long)model->opset, (long long)version);
	model->opset = version;
	return 0;
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
	default:
		return 0;
	}
}

static int read_declaration(const struct onnx_reader *reader, struct onnx_span message, struct graph_input *declaration)
{
	struct onnx_value_info info;
	int rc = onnx_value_info(reader, message, &info);
	if (rc)
		return rc;
	*declaration = (struct graph_input){
		.name = info.name, .dtype = info.dtype, .has_shape = info.has_shape, .shape = info.shape};
	memcpy(declaration->symbol, info.symbol, sizeof declaration->symbol);
	return 0;
}

/* Reads what the file declares of a value that is known without it. Returns false when it declares nothing, or nothing
 * that npulab has a type for. */
static bool read_known_type(const struct onnx_reader *reader, struct onnx_span message, struct graph_input *declaration)
{
	struct npl_err error = {0};
	struct onnx_reader silent_reader = *reader;
	silent_reader.err = &error;
	return !read_declaration(&silent_reader, message, declaration);
}

static int read_input(struct import *import, struct onnx_span message)
{
	struct graph_builder *b = import->b;
	const struct onnx_reader *reader = &import->reader;
	struct graph_input input;
	const char *name;
	int rc = onnx_value_name(reader, message, &name);
	if (rc)
		return rc;
	int v = graph_names_find(&b->values, name);
	if (v >= 0 && b->value[v].constant) /* an initialiser that is listed as an input: nothing need be declared */
		return read_known_type(reader, message, &input) ? graph_check_constant(b, v, &input) : 0;
	rc = read_declaration(reader, message, &input);
	return rc ? rc : graph_declare_input(b, &input);
}

static int read_initialiser(struct import *import, struct onnx_span message)
{
	struct npl_tensor tensor;
	int rc = onnx_tensor(&import->reader, message, &tensor);
	return rc ? rc : graph_add_constant(import->b, &tensor);
}

static int read_output(struct import *import, struct onnx_span message)
{
	struct graph_builder *b = import->b;
	const struct onnx_reader *reader = &import->reader;
	struct graph_input declaration;
	const char *name;
	int rc = onnx_value_name(reader, message, &name);
	if (!rc)
		rc = graph_add_output(b, name);
	return !rc && read_known_type(reader, message, &declaration) ? graph_declare_output(b, &declaration) : rc;
}

int onnx_add_node(struct graph_builder *b, const struct onnx_node *node)
{
	if (*node->domain)
		return npl_fail(
			b->err, NPL_EINPUT,
			"node '%s': operator '%s' of the domain '%s' is not known: export the model with ONNX's own "
			"operators, or with a function that defines this one",
			node->name, node->op, node->domain);
	return graph_add_node(b, node->name, node->op, &node->list, node->n_in, node->in, node->n_out, node->out);
}

static int read_node(struct import *import, struct onnx_span message)
{
	const struct onnx_reader *reader = &import->reader;
	struct onnx_node node;
	int rc = onnx_node(reader, message, import->b->n_nodes, false, &node);
	if (rc)
		return rc;
	struct onnx_function *f = onnx_functions_find(reader, &import->functions, &node, &rc);
	if (rc)
		return rc;
	return f ? onnx_inline(import->b, reader, &import->functions, f, &node) : onnx_add_node(import->b, &node);
}

/* Marks the names of a node's outputs as taken: a function must not give them to its own values. */
static int take_names(struct import *import, struct onnx_span message)
{
	struct onnx_functions *functions = &import->functions;
	const struct onnx_reader *reader = &import->reader;
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		const char *name;
		if (field.number != NODE_OUTPUT)
			continue;
		rc = onnx_string(reader, &field, "the name of an output", &name);
		if (rc)
			return rc;
		if (graph_names_find(&functions->used_names, name) < 0 &&
		    graph_names_add(&functions->used_names, name, 0))
			return npl_no_memory(import->b->err);
	}
	return rc;
}

/* Calls the function for every field of that number in a message. */
static int read_each(struct import *import, struct onnx_span message, uint32_t number,
		     int (*read_part)(struct import *, struct onnx_span))
{
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(&import->reader, &message, &field)) > 0) {
		if (field.number != number)
			continue;
		rc = onnx_expect(&import->reader, &field, ONNX_BYTES, "a part of the graph");
		if (!rc)
			rc = read_part(import, field.bytes);
		if (rc)
			return rc;
	}
	return rc;
}

static int refuse_sparse(struct import *import, struct onnx_span message)
{
	(void)message;
	return npl_fail(import->reader.err, NPL_EINPUT, "the model holds sparse initialisers, which are not supported");
}

static int read_function(struct import *import, struct onnx_span message)
{
	return onnx_functions_add(&import->reader, &import->functions, message);
}

static int read_graph(struct import *import)
{
	const struct onnx_span graph = import->model.graph;
	int rc = read_each(import, graph, GRAPH_SPARSE_INITIALIZER, refuse_sparse);
	if (!rc)
		rc = read_each(import, graph, GRAPH_INITIALIZER, read_initialiser);
	if (!rc)
		rc = read_each(import, graph, GRAPH_INPUT, read_input);
	if (!rc)
		rc = graph_add_inputs(import->b);
	if (!rc && import->functions.n)
		rc = read_each(import, graph, GRAPH_NODE, take_names);
	if (!rc)
		rc = read_each(import, graph, GRAPH_NODE, read_node);
	if (!rc)
		rc = onnx_external_check(import->reader.external, import->b->err);
	return rc ? rc : read_each(import, graph, GRAPH_OUTPUT, read_output);
}

int onnx_check_opset(int64_t version, struct npl_err *err)
{
	if (version < NPL_FIRST_OPSET || version > NPL_LAST_OPSET)
		return npl_fail(
			err, NPL_EINPUT,
			"opset %lld is not supported, only %d to %d: export or convert the model to one of these",
			(long long)version, NPL_FIRST_OPSET, NPL_LAST_OPSET);
	return 0;
}

static int check_versions(struct graph_builder *b, const struct model *model)
{
	if (!model->has_graph || model->ir_version < 1 || model->ir_version > 1000)
		return npl_fail(b->err, NPL_EINPUT, "not an ONNX model: it holds no %s",
				model->has_graph ? "IR version" : "graph");
	if (model->opset < 0)
		return npl_fail(b->err, NPL_EINPUT,
				"the model does not say which version of the ONNX operators it uses");
	if (onnx_check_opset(model->opset, b->err))
		return b->err->code;
	b->opset = (int)model->opset;
	b->graph->opset = (int)model->opset;
	b->graph->ir_version = (int)model->ir_version;
	b->graph->producer_name = npl_arena_printf(&b->graph->arena, "%s%s%s", model->producer,
						   *model->producer_version ? " " : "", model->producer_version);
	return b->graph->producer_name ? 0 : npl_no_memory(b->err);
}

int onnx_read_model(struct graph_builder *b, const unsigned char *data, size_t bytes, struct onnx_external *external)
{
	struct import import = {
		.b = b,
		.reader = {.start = data, .arena = &b->graph->arena, .err = b->err, .external = external},
		.model = {.producer = "", .producer_version = "", .opset = -1},
	};
	const struct onnx_span model = {data, data + bytes};
	struct onnx_span message = model;
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(&import.reader, &message, &field)) > 0) {
		rc = read_model_field(&import.reader, &field, &import.model);
		if (rc)
			break;
	}
	if (rc)
		return npl_prefix(b->err, "not a complete ONNX model");
	rc = check_versions(b, &import.model);
	if (!rc)
		rc = read_each(&import, model, MODEL_FUNCTIONS, read_function);
	if (!rc)
		rc = read_graph(&import);
	onnx_functions_free(&import.functions);
	return rc;
}
