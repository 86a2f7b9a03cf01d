/* SPDX-License-Identifier: MIT
 *
 * Networks built in C (build.h): each call is checked, copied into the graph's arena and appended (graph/append.c). */
#include "build.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"

int npl_build_open(const char *name, struct npl_build **build, struct npl_err *err)
{
	struct npl_build *made = calloc(1, sizeof *made);
	*build = NULL;
	if (made)
		made->graph = calloc(1, sizeof *made->graph);
	if (!made || !made->graph) {
		free(made);
		return npl_no_memory(err);
	}
	struct npl_graph *graph = made->graph;
	graph->opset = NPL_LAST_OPSET;
	graph->batch = 1;
	graph->producer_name = "libnpulab";
	graph->name = npl_arena_strdup(&graph->arena, name && *name ? name : "graph");
	graph_builder_init(&made->b, graph, NULL, GRAPH_LIMITS, &made->last);
	*build = made;
	if (graph->name)
		return 0;
	npl_build_close(made);
	*build = NULL;
	return npl_no_memory(err);
}

void npl_build_close(struct npl_build *build)
{
	if (!build)
		return;
	graph_builder_free(&build->b);
	npl_graph_free(build->graph);
	free(build);
}

const struct npl_err *npl_build_error(const struct npl_build *build)
{
	return &build->first;
}

/* Keeps the first error and returns rc. Every call that changes the network returns through this function. */
static int settle(struct npl_build *build, int rc)
{
	if (rc < 0 && !build->first.code)
		build->first = build->last;
	return rc;
}

/* Returns NPL_EINPUT when no tensor can have this type and shape. */
static int check_type(const char *subject, enum npl_dtype dtype, const struct npl_shape *shape, struct npl_err *err)
{
	char text[192];
	if ((unsigned)dtype >= NPL_DTYPES)
		return npl_fail(err, NPL_EINPUT, "%s: there is no element type %d", subject, (int)dtype);
	if (shape->rank < 0 || shape->rank > NPL_MAX_RANK)
		return npl_fail(err, NPL_EINPUT, "%s: rank %d, expected 0 to %d", subject, shape->rank, NPL_MAX_RANK);
	if (npl_shape_count(shape) < 0)
		return npl_fail(err, NPL_EINPUT, "%s: shape %s, expected dimensions >= 0 and at most %lld elements",
				subject, npl_shape_text(shape, text, sizeof text), (long long)NPL_MAX_ELEMENTS);
	return 0;
}

static int add_input(struct npl_build *build, const char *name, enum npl_dtype dtype, const struct npl_shape *shape)
{
	struct graph_builder *b = &build->b;
	struct npl_arena *arena = &build->graph->arena;
	const char *name_copy = name && *name ? npl_arena_strdup(arena, name)
					      : npl_arena_printf(arena, "input_%d", b->n_inputs);
	if (name_copy && !(name && *name))
		name_copy = graph_free_name(b, name_copy);
	if (!name_copy)
		return npl_no_memory(&build->last);
	if (check_type(name_copy, dtype, shape, &build->last))
		return build->last.code;
	return graph_append_shaped(b, name_copy, dtype, shape);
}

int npl_build_input(struct npl_build *build, const char *name, enum npl_dtype dtype, struct npl_shape shape)
{
	return settle(build, add_input(build, name, dtype, &shape));
}

int build_known(struct npl_build *build, const struct npl_value *value)
{
	struct npl_value value_copy = *value;
	value_copy.constant = true;
	value_copy.producer = -1;
	value_copy.uses = 0;
	value_copy.name = graph_free_name(&build->b, value->name);
	return value_copy.name ? graph_add_value(&build->b, &value_copy) : npl_no_memory(&build->last);
}

int build_check_tensor(const char *subject, const struct npl_tensor *tensor, enum npl_keep keep, struct npl_err *err)
{
	if (check_type(subject, tensor->dtype, &tensor->shape, err))
		return err->code;
	if (npl_tensor_bytes(tensor) && !tensor->data)
		return npl_fail(err, NPL_EINPUT, "%s: it has no elements", subject);
	if (keep == NPL_BORROW && (uintptr_t)tensor->data % npl_dtype_size(tensor->dtype))
		return npl_fail(err, NPL_EINPUT, "%s: its elements are not aligned for %s", subject,
				npl_dtype_name(tensor->dtype));
	return 0;
}

/* Sets *data to the tensor's elements: copied into the arena or, if borrowed, where they are. */
static int keep_data(struct npl_build *build, const char *subject, const struct npl_tensor *tensor, enum npl_keep keep,
		     const void **data)
{
	if (build_check_tensor(subject, tensor, keep, &build->last))
		return build->last.code;
	size_t bytes = npl_tensor_bytes(tensor);
	if (keep == NPL_BORROW && bytes) {
		*data = tensor->data;
		return 0;
	}
	void *copy = npl_arena_alloc(&build->graph->arena, bytes);
	if (!copy)
		return npl_no_memory(&build->last);
	if (bytes)
		memcpy(copy, tensor->data, bytes);
	*data = copy;
	return 0;
}

static int add_constant(struct npl_build *build, const struct npl_tensor *tensor, enum npl_keep keep)
{
	struct npl_value value = {.dtype = tensor->dtype, .shape = tensor->shape};
	const char *base = tensor->name && *tensor->name ? tensor->name : "constant";
	value.name = npl_arena_strdup(&build->graph->arena, base);
	if (!value.name)
		return npl_no_memory(&build->last);
	if (keep_data(build, value.name, tensor, keep, &value.data))
		return build->last.code;
	return build_known(build, &value);
}

int npl_build_constant(struct npl_build *build, const struct npl_tensor *tensor, enum npl_keep keep)
{
	return settle(build, add_constant(build, tensor, keep));
}

/* Copies an attribute, with all that it points to, into the arena. */
static int copy_attribute(struct npl_build *build, const char *op, const struct npl_attr *from, struct npl_attr *to)
{
	struct npl_arena *arena = &build->graph->arena;
	*to = *from;
	to->used = false;
	if (!from->name || !*from->name)
		return npl_fail(&build->last, NPL_EINPUT, "operator '%s': an attribute has no name", op);
	to->name = npl_arena_strdup(arena, from->name);
	bool ok = to->name != NULL;
	if (from->type == NPL_ATTR_STRING) {
		to->s = npl_arena_strdup(arena, from->s ? from->s : "");
		ok = ok && to->s;
	} else if (from->type == NPL_ATTR_INTS || from->type == NPL_ATTR_FLOATS) {
		bool ints = from->type == NPL_ATTR_INTS;
		const void *list = ints ? (const void *)from->ints : from->floats;
		size_t size = ints ? sizeof *from->ints : sizeof *from->floats;
		if (from->n < 0 || from->n > GRAPH_MAX_VALUES || (from->n && !list))
			return npl_fail(&build->last, NPL_EINPUT,
					"operator '%s': attribute '%s' has a list of %lld, expected 0 to %d", op,
					from->name, (long long)from->n, GRAPH_MAX_VALUES);
		void *copy = npl_arena_array(arena, (size_t)from->n, size);
		if (copy && from->n)
			memcpy(copy, list, (size_t)from->n * size);
		to->ints = ints ? copy : NULL;
		to->floats = ints ? NULL : copy;
		ok = ok && copy;
	} else if (from->type == NPL_ATTR_TENSOR) {
		struct npl_tensor *copy = npl_arena_alloc(arena, sizeof *copy);
		const void *data = NULL;
		if (!copy)
			return npl_no_memory(&build->last);
		if (!from->tensor)
			return npl_fail(&build->last, NPL_EINPUT, "operator '%s': attribute '%s' holds no tensor", op,
					from->name);
		if (keep_data(build, from->name, from->tensor, NPL_COPY, &data))
			return build->last.code;
		*copy = (struct npl_tensor){.name = to->name,
					    .dtype = from->tensor->dtype,
					    .shape = from->tensor->shape,
					    .data = (void *)data};
		to->tensor = copy;
	}
	return ok ? 0 : npl_no_memory(&build->last);
}

static int copy_attributes(struct npl_build *build, const char *op, struct npl_attr_list from, struct npl_attr_list *to)
{
	if (from.n < 0 || from.n > GRAPH_MAX_ATTRIBUTES || (from.n && !from.attr))
		return npl_fail(&build->last, NPL_EINPUT, "operator '%s': %d attributes, expected 0 to %d", op, from.n,
				GRAPH_MAX_ATTRIBUTES);
	*to = (struct npl_attr_list){.n = from.n};
	to->attr = npl_arena_array(&build->graph->arena, (size_t)from.n, sizeof *to->attr);
	if (!to->attr)
		return npl_no_memory(&build->last);
	for (int i = 0; i < from.n; i++)
		if (copy_attribute(build, op, &from.attr[i], &to->attr[i]))
			return build->last.code;
	return 0;
}

/* Refuses what is no value of this builder. The code of a call that failed is returned as it is, with the error that
 * the call left. */
static int check_value(struct npl_build *build, const char *subject, int value)
{
	if (value < 0 && value >= NPL_EINTERNAL && build->first.code) {
		build->last = build->first;
		return value;
	}
	if (value < 0 || value >= build->b.n_values)
		return npl_fail(&build->last, NPL_EINPUT, "%s: %d is not a value of this network", subject, value);
	return 0;
}

int build_ops(struct npl_build *build, const char *op, struct npl_build_in in, struct npl_attr_list attrs,
	      int n_results, int *result)
{
	struct npl_attr_list attr_list;
	const char *name = op ? npl_arena_strdup(&build->graph->arena, op) : "";
	int first, rc = name ? 0 : npl_no_memory(&build->last);
	if (!rc && (in.n < 0 || in.n > GRAPH_MAX_NODE_INPUTS || (in.n && !in.value) || n_results < 1))
		rc = npl_fail(&build->last, NPL_EINPUT,
			      "operator '%s': %d inputs and %d results, expected 0 to %d and at least 1", name, in.n,
			      n_results, GRAPH_MAX_NODE_INPUTS);
	for (int i = 0; i < in.n && !rc; i++)
		if (in.value[i] != NPL_ABSENT)
			rc = check_value(build, name, in.value[i]);
	if (!rc)
		rc = copy_attributes(build, name, attrs, &attr_list);
	if (!rc)
		rc = graph_append_node(&build->b, "", name, &attr_list, in.n, in.value, n_results, &first);
	for (int i = 0; i < n_results; i++)
		result[i] = rc ? rc : first + i;
	return rc;
}

int npl_build_ops(struct npl_build *build, const char *op, struct npl_build_in in, struct npl_attr_list attrs,
		  int n_results, int *result)
{
	return settle(build, build_ops(build, op, in, attrs, n_results, result));
}

int npl_build_op(struct npl_build *build, const char *op, struct npl_build_in in, struct npl_attr_list attrs)
{
	int result;
	int rc = npl_build_ops(build, op, in, attrs, 1, &result);
	return rc ? rc : result;
}

static int rename_value(struct npl_build *build, int value, const char *name)
{
	struct graph_builder *b = &build->b;
	if (check_value(build, name ? name : "", value))
		return build->last.code;
	const char *name_copy = npl_arena_strdup(&build->graph->arena, name ? name : "");
	int producer = b->value[value].producer;
	struct graph_node *node = producer >= 0 && b->node[producer].n_out == 1 ? &b->node[producer] : NULL;
	if (!name_copy)
		return npl_no_memory(&build->last);
	if (!*name_copy)
		return npl_fail(&build->last, NPL_EINPUT, "an empty name for '%s'", b->value[value].name);
	if (!strcmp(b->value[value].name, name_copy))
		return value;
	if (graph_names_find(&b->values, name_copy) >= 0 || (node && graph_names_find(&b->nodes, name_copy) >= 0))
		return npl_fail(&build->last, NPL_EINPUT, "'%s' cannot be called '%s': another is",
				b->value[value].name, name_copy);
	if (graph_names_add(&b->values, name_copy, value) || (node && graph_names_add(&b->nodes, name_copy, producer)))
		return npl_no_memory(&build->last);
	b->value[value].name = name_copy;
	if (node)
		node->name = name_copy;
	return value;
}

int npl_build_name(struct npl_build *build, int value, const char *name)
{
	return settle(build, rename_value(build, value, name));
}

int npl_build_shape(const struct npl_build *build, int value, enum npl_dtype *dtype, struct npl_shape *shape,
		    struct npl_err *err)
{
	if (value < 0 || value >= build->b.n_values) {
		if (value < 0 && build->first.code)
			return npl_fail_as(err, &build->first);
		return npl_fail(err, NPL_EINPUT, "%d is not a value of this network", value);
	}
	if (dtype)
		*dtype = build->b.value[value].dtype;
	if (shape)
		*shape = build->b.value[value].shape;
	return 0;
}

static int add_outputs(struct npl_build *build, struct npl_build_in outputs)
{
	for (int i = 0; i < outputs.n; i++)
		if (check_value(build, "an output", outputs.value[i]) ||
		    graph_append_output(&build->b, outputs.value[i]))
			return build->last.code;
	return graph_close_appended(&build->b);
}

int npl_build_finish(struct npl_build *build, struct npl_build_in outputs, struct npl_graph **graph,
		     struct npl_err *err)
{
	*graph = NULL;
	if (!build->first.code)
		settle(build, add_outputs(build, outputs));
	if (build->first.code) {
		int rc = npl_fail_as(err, &build->first);
		npl_build_close(build);
		return rc;
	}
	*graph = build->graph;
	build->graph = NULL;
	npl_build_close(build);
	return 0;
}
