/* SPDX-License-Identifier: MIT
 *
 * The survey of onnx_survey.h: one walk over graphs, nodes and the subgraphs in their attributes, then over the
 * functions that they call. */
#include "onnx_survey.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "frontend/graph/names.h"
#include "onnx_proto.h"

enum { MODEL_GRAPH = 7, MODEL_FUNCTIONS = 25 };
enum { FUNCTION_NAME = 1, FUNCTION_NODE = 7, FUNCTION_DOMAIN = 10 };
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { TENSOR_NAME = 8 };
enum { NODE_OP = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum { ATTRIBUTE_GRAPH = 6, ATTRIBUTE_GRAPHS = 11 };

#define DEEPEST 16 /* the deepest nesting of subgraphs; deeper ones are not read */

struct item {
	const char *name;
	struct onnx_span message; /* the function's message */
	int next;                 /* the next function of the same name, with another overload; -1: none */
	enum npl_dtype type;      /* the type of an input or output */
	struct npl_shape shape;
	bool missing; /* for an operator: npulab does not have it */
};

struct list {
	struct item *item;
	int n;
	int64_t capacity;
};

struct walk {
	const struct onnx_reader *reader;
	struct list operators, input, output;
	struct list functions, calls;
	struct graph_names visited, initialisers, defined; /* defined: the first function of a name */
	int depth;
};

static int append(struct walk *walk, struct list *list, const struct item *item)
{
	struct item *grown = npl_grow(list->item, list->n, &list->capacity, sizeof *grown);
	if (!grown)
		return npl_no_memory(walk->reader->err);
	list->item = grown;
	grown[list->n++] = *item;
	return 0;
}

/* Returns "DOMAIN.NAME", or the name alone for ONNX's own domain. */
static const char *full_name(struct walk *walk, const char *domain, const char *name)
{
	bool is_onnx = !*domain || !strcmp(domain, "ai.onnx");
	return is_onnx ? name : npl_arena_printf(walk->reader->arena, "%s.%s", domain, name);
}

/* Adds an operator, or a function of the model, the nodes of whose overloads are walked later. */
static int add_operator(struct walk *walk, const char *domain, const char *op)
{
	const char *name = full_name(walk, domain, op);
	if (!name)
		return npl_no_memory(walk->reader->err);
	if (graph_names_find(&walk->visited, name) >= 0)
		return 0;
	const struct item item = {.name = name, .missing = name != op || npl_op_find(op) == NPL_OPS};
	bool function = graph_names_find(&walk->defined, name) >= 0;
	int rc = append(walk, function ? &walk->calls : &walk->operators, &item);
	return rc ? rc : graph_names_add(&walk->visited, name, 0) ? npl_no_memory(walk->reader->err) : 0;
}

static int add_function(struct walk *walk, struct onnx_span function)
{
	struct item item = {.message = function};
	struct onnx_field field;
	const char *name = "", *domain = "";
	int rc;
	while ((rc = onnx_next(walk->reader, &function, &field)) > 0) {
		rc = 0;
		if (field.number == FUNCTION_NAME)
			rc = onnx_string(walk->reader, &field, "the name of a function", &name);
		else if (field.number == FUNCTION_DOMAIN)
			rc = onnx_string(walk->reader, &field, "the domain of a function", &domain);
		if (rc)
			return rc;
	}
	if (rc)
		return rc;
	item.name = full_name(walk, domain, name);
	if (!item.name)
		return npl_no_memory(walk->reader->err);
	const int first = graph_names_find(&walk->defined, item.name), index = walk->functions.n;
	item.next = first >= 0 && first < index ? walk->functions.item[first].next : -1;
	rc = append(walk, &walk->functions, &item);
	if (rc || first < 0)
		return rc                                                  ? rc
		       : graph_names_add(&walk->defined, item.name, index) ? npl_no_memory(walk->reader->err)
									   : 0;
	walk->functions.item[first].next = index;
	return 0;
}

static int walk_graph(struct walk *walk, struct onnx_span graph);

static int walk_attribute(struct walk *walk, struct onnx_span attribute)
{
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(walk->reader, &attribute, &field)) > 0) {
		bool graph = field.number == ATTRIBUTE_GRAPH || field.number == ATTRIBUTE_GRAPHS;
		if (!graph || field.wire != ONNX_BYTES || walk->depth == DEEPEST)
			continue;
		walk->depth++;
		rc = walk_graph(walk, field.bytes);
		walk->depth--;
		if (rc)
			return rc;
	}
	return rc;
}

static int walk_node(struct walk *walk, struct onnx_span node)
{
	struct onnx_field field;
	const char *op = "", *domain = "";
	int rc;
	while ((rc = onnx_next(walk->reader, &node, &field)) > 0) {
		rc = 0;
		if (field.number == NODE_OP)
			rc = onnx_string(walk->reader, &field, "the operator of a node", &op);
		else if (field.number == NODE_DOMAIN)
			rc = onnx_string(walk->reader, &field, "the domain of a node", &domain);
		else if (field.number == NODE_ATTRIBUTE && field.wire == ONNX_BYTES)
			rc = walk_attribute(walk, field.bytes);
		if (rc)
			return rc;
	}
	return rc ? rc : add_operator(walk, domain, op);
}

static int add_initialiser(struct walk *walk, struct onnx_span tensor)
{
	struct onnx_field field;
	const char *name = "";
	int rc;
	while ((rc = onnx_next(walk->reader, &tensor, &field)) > 0)
		if (field.number == TENSOR_NAME &&
		    (rc = onnx_string(walk->reader, &field, "the name of a tensor", &name)) != 0)
			return rc;
	if (rc || graph_names_find(&walk->initialisers, name) >= 0)
		return rc;
	return graph_names_add(&walk->initialisers, name, 0) ? npl_no_memory(walk->reader->err) : 0;
}

/* Adds an input or output. A type that npulab does not have is no error here: the importer reports it. */
static int add_value(struct walk *walk, struct list *list, struct onnx_span value)
{
	struct npl_err error;
	struct onnx_reader reader = *walk->reader;
	struct onnx_value_info info;
	struct item item = {.type = NPL_DTYPES, .shape.rank = -1};
	int rc = onnx_value_name(walk->reader, value, &item.name);
	if (rc)
		return rc;
	reader.err = &error;
	if (!onnx_value_info(&reader, value, &info)) {
		item.type = info.dtype;
		if (info.has_shape)
			item.shape = info.shape;
	}
	return append(walk, list, &item);
}

static int walk_graph(struct walk *walk, struct onnx_span graph)
{
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(walk->reader, &graph, &field)) > 0) {
		bool main_graph = walk->depth == 0;
		rc = 0;
		if (field.wire != ONNX_BYTES)
			continue;
		if (field.number == GRAPH_NODE)
			rc = walk_node(walk, field.bytes);
		else if (field.number == GRAPH_INITIALIZER && main_graph)
			rc = add_initialiser(walk, field.bytes);
		else if ((field.number == GRAPH_INPUT || field.number == GRAPH_OUTPUT) && main_graph)
			rc = add_value(walk, field.number == GRAPH_INPUT ? &walk->input : &walk->output, field.bytes);
		if (rc)
			return rc;
	}
	return rc;
}

static int walk_body(struct walk *walk, struct onnx_span function)
{
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(walk->reader, &function, &field)) > 0)
		if (field.number == FUNCTION_NODE && field.wire == ONNX_BYTES &&
		    (rc = walk_node(walk, field.bytes)) != 0)
			return rc;
	return rc;
}

/* Walks the called functions; their bodies may add others meanwhile. */
static int walk_called(struct walk *walk)
{
	for (int i = 0; i < walk->calls.n; i++) {
		int k = graph_names_find(&walk->defined, walk->calls.item[i].name);
		for (; k >= 0; k = walk->functions.item[k].next) {
			int rc = walk_body(walk, walk->functions.item[k].message);
			if (rc)
				return rc;
		}
	}
	return 0;
}

/* Walks the parts of the model that are fields of this number. */
static int walk_parts(struct walk *walk, struct onnx_span model, uint32_t number,
		      int (*walk_part)(struct walk *, struct onnx_span), int *n)
{
	struct onnx_field field;
	int rc;
	*n = 0;
	while ((rc = onnx_next(walk->reader, &model, &field)) > 0) {
		if (field.number != number || field.wire != ONNX_BYTES)
			continue;
		++*n;
		if ((rc = walk_part(walk, field.bytes)) != 0)
			return rc;
	}
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}

static bool is_random(const char *op)
{
	static const char *const names[] = {"Bernoulli",        "Multinomial",   "RandomNormal",
					    "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (!strcmp(op, names[i]))
			return true;
	return false;
}

/* Fills the survey with the lists. */
static int fill_survey(struct walk *walk, struct onnx_survey *survey)
{
	struct npl_arena *arena = walk->reader->arena;
	const size_t ops = (size_t)walk->operators.n + 1, ins = (size_t)walk->input.n + 1;
	survey->input = npl_arena_array(arena, ins, sizeof *survey->input);
	survey->input_type = npl_arena_array(arena, ins, sizeof *survey->input_type);
	survey->input_shape = npl_arena_array(arena, ins, sizeof *survey->input_shape);
	survey->output_type = npl_arena_array(arena, (size_t)walk->output.n + 1, sizeof *survey->output_type);
	survey->operators = npl_arena_array(arena, ops, sizeof *survey->operators);
	survey->missing = npl_arena_array(arena, ops, sizeof *survey->missing);
	if (!survey->input || !survey->input_type || !survey->input_shape || !survey->output_type ||
	    !survey->operators || !survey->missing)
		return npl_no_memory(walk->reader->err);
	for (int i = 0; i < walk->input.n; i++)
		if (graph_names_find(&walk->initialisers, walk->input.item[i].name) < 0) {
			survey->input_type[survey->n_inputs] = walk->input.item[i].type;
			survey->input_shape[survey->n_inputs] = walk->input.item[i].shape;
			survey->input[survey->n_inputs++] = walk->input.item[i].name;
		}
	for (int i = 0; i < walk->output.n; i++)
		survey->output_type[survey->n_outputs++] = walk->output.item[i].type;
	if (walk->operators.n)
		qsort(walk->operators.item, (size_t)walk->operators.n, sizeof *walk->operators.item, by_name);
	for (int i = 0; i < walk->operators.n; i++) {
		const struct item *op = &walk->operators.item[i];
		survey->operators[survey->n_operators++] = op->name;
		if (op->missing)
			survey->missing[survey->n_missing++] = op->name;
		if (is_random(op->name))
			survey->random = op->name;
	}
	return 0;
}

int onnx_survey(const struct onnx_reader *reader, struct onnx_span model, struct onnx_survey *survey)
{
	struct walk walk = {.reader = reader};
	int functions, graphs = 0;
	*survey = (struct onnx_survey){0};
	int rc = walk_parts(&walk, model, MODEL_FUNCTIONS, add_function, &functions);
	if (!rc)
		rc = walk_parts(&walk, model, MODEL_GRAPH, walk_graph, &graphs);
	if (!rc && !graphs)
		rc = npl_fail(reader->err, NPL_EINPUT, "not an ONNX model: it holds no graph");
	if (!rc)
		rc = walk_called(&walk);
	if (!rc)
		rc = fill_survey(&walk, survey);
	graph_names_free(&walk.visited);
	graph_names_free(&walk.initialisers);
	graph_names_free(&walk.defined);
	free(walk.functions.item);
	free(walk.calls.item);
	free(walk.operators.item);
	free(walk.input.item);
	free(walk.output.item);
	return rc;
}
