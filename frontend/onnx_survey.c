/* SPDX-License-Identifier: MIT
 *
 * The survey of onnx_survey.h: one walk over graphs, nodes and the subgraphs in their attributes. */
#include "onnx_survey.h"

#include <stdlib.h>
#include <string.h>

#include "graph_names.h"
#include "npulab/grow.h"
#include "onnx_proto.h"

enum { MODEL_GRAPH = 7 };
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11 };
enum { TENSOR_NAME = 8 };
enum { NODE_OP = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum { ATTRIBUTE_GRAPH = 6, ATTRIBUTE_GRAPHS = 11 };

#define DEEPEST 16 /* subgraphs within each other; what lies deeper is not looked at */

struct list {
	const char **item;
	int n;
	int64_t room;
};

struct walk {
	const struct onnx_reader *reader;
	struct list missing, input;
	struct graph_names seen, initialisers;
	int depth;
};

static int no_memory(struct walk *walk)
{
	return npl_fail(walk->reader->err, NPL_ENOMEM, "out of memory");
}

static int append(struct walk *walk, struct list *list, const char *name)
{
	const char **bigger = npl_grow(list->item, list->n, &list->room, sizeof *bigger);
	if (!bigger)
		return no_memory(walk);
	list->item = bigger;
	bigger[list->n++] = name;
	return 0;
}

static int add_operator(struct walk *walk, const char *domain, const char *op)
{
	bool own = !*domain || !strcmp(domain, "ai.onnx");
	if (own && npl_op_find(op) != NPL_OPS)
		return 0;
	const char *name = own ? op : npl_arena_printf(walk->reader->arena, "%s.%s", domain, op);
	if (!name)
		return no_memory(walk);
	if (graph_names_find(&walk->seen, name) >= 0)
		return 0;
	int rc = append(walk, &walk->missing, name);
	return rc ? rc : graph_names_add(&walk->seen, name, 0) ? no_memory(walk) : 0;
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
	return graph_names_add(&walk->initialisers, name, 0) ? no_memory(walk) : 0;
}

static int walk_graph(struct walk *walk, struct onnx_span graph)
{
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(walk->reader, &graph, &field)) > 0) {
		bool main_graph = walk->depth == 0;
		const char *name = "";
		rc = 0;
		if (field.wire != ONNX_BYTES)
			continue;
		if (field.number == GRAPH_NODE)
			rc = walk_node(walk, field.bytes);
		else if (field.number == GRAPH_INITIALIZER && main_graph)
			rc = add_initialiser(walk, field.bytes);
		else if (field.number == GRAPH_INPUT && main_graph &&
			 !(rc = onnx_value_name(walk->reader, field.bytes, &name)))
			rc = append(walk, &walk->input, name);
		if (rc)
			return rc;
	}
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The lists as they are handed out. */
static int hand_out(struct walk *walk, struct onnx_survey *survey)
{
	struct npl_arena *arena = walk->reader->arena;
	survey->input = npl_arena_array(arena, (size_t)walk->input.n + 1, sizeof *survey->input);
	survey->missing = npl_arena_array(arena, (size_t)walk->missing.n + 1, sizeof *survey->missing);
	if (!survey->input || !survey->missing)
		return no_memory(walk);
	for (int i = 0; i < walk->input.n; i++)
		if (graph_names_find(&walk->initialisers, walk->input.item[i]) < 0)
			survey->input[survey->n_inputs++] = walk->input.item[i];
	for (int i = 0; i < walk->missing.n; i++)
		survey->missing[survey->n_missing++] = walk->missing.item[i];
	qsort(survey->missing, (size_t)survey->n_missing, sizeof *survey->missing, by_name);
	return 0;
}

int onnx_survey(const struct onnx_reader *reader, struct onnx_span model, struct onnx_survey *survey)
{
	struct walk walk = {.reader = reader};
	struct onnx_field field;
	bool found = false;
	int rc;
	*survey = (struct onnx_survey){0};
	while ((rc = onnx_next(reader, &model, &field)) > 0) {
		if (field.number != MODEL_GRAPH || field.wire != ONNX_BYTES)
			continue;
		found = true;
		if ((rc = walk_graph(&walk, field.bytes)) != 0)
			break;
	}
	if (!rc && !found)
		rc = npl_fail(reader->err, NPL_EINPUT, "not an ONNX model: it holds no graph");
	if (!rc)
		rc = hand_out(&walk, survey);
	graph_names_free(&walk.seen);
	graph_names_free(&walk.initialisers);
	free(walk.missing.item);
	free(walk.input.item);
	return rc;
}
