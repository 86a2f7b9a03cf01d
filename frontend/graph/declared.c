/* SPDX-License-Identifier: MIT
 *
 * Checks the types and shapes that a file declares for values whose type and shape are also known otherwise. An input
 * that is an initialiser too must agree with it; an output declared with another type or shape than the nodes give it
 * is a warning. Open dimensions contradict nothing. */
#include <stdio.h>

#include "build.h"
#include "core/base/grow.h"
#include "core/base/message.h"
#include "core/base/refuse.h"

static bool contradicts(const struct graph_input *declaration, enum npl_dtype dtype, const struct npl_shape *shape,
			bool dims)
{
	if (declaration->dtype != dtype || (declaration->has_shape && declaration->shape.rank != shape->rank))
		return true;
	for (int i = 0; declaration->has_shape && dims && i < shape->rank; i++)
		if (declaration->shape.dim[i] >= 0 && declaration->shape.dim[i] != shape->dim[i])
			return true;
	return false;
}

/* Writes "float32 Nx4"; an open dimension without a name is "?". */
static const char *declared_text(const struct graph_input *declaration, char *buf, size_t n)
{
	snprintf(buf, n, "%s", npl_dtype_name(declaration->dtype));
	if (declaration->has_shape && !declaration->shape.rank)
		npl_append(buf, n, "", " scalar");
	for (int i = 0; declaration->has_shape && i < declaration->shape.rank; i++) {
		const char *separator = i ? "x" : " ";
		if (declaration->shape.dim[i] >= 0)
			npl_append(buf, n, separator, "%lld", (long long)declaration->shape.dim[i]);
		else
			npl_append(buf, n, separator, "%s", declaration->symbol[i] ? declaration->symbol[i] : "?");
	}
	return buf;
}

int graph_check_constant(struct graph_builder *b, int v, const struct graph_input *declaration)
{
	const struct npl_value *value = &b->value[v];
	char declared[192], text[192];
	if (!contradicts(declaration, value->dtype, &value->shape, true))
		return 0;
	return npl_fail(b->err, NPL_EINPUT, "input '%s' is declared %s, but the initialiser of that name is %s %s",
			value->name, declared_text(declaration, declared, sizeof declared),
			npl_dtype_name(value->dtype), npl_shape_text(&value->shape, text, sizeof text));
}

int graph_declare_output(struct graph_builder *b, const struct graph_input *declaration)
{
	struct graph_input *grown = npl_grow(b->declared_output, b->n_declared_outputs, &b->declared_output_capacity,
					     sizeof *grown);
	if (!grown)
		return npl_no_memory(b->err);
	b->declared_output = grown;
	grown[b->n_declared_outputs] = *declaration;
	grown[b->n_declared_outputs++].output_index = b->n_outputs - 1;
	return 0;
}

int graph_warn_outputs(struct graph_builder *b, int max_warnings)
{
	struct npl_graph *graph = b->graph;
	const char **list = (const char **)graph->warning;
	/* A batch that differs from the file's changes other dimensions too; the declared ones do not apply then. */
	const bool dims = !b->old_batch || b->old_batch == graph->batch;
	for (int i = 0; i < b->n_declared_outputs && max_warnings > 0; i++) {
		const struct graph_input *declaration = &b->declared_output[i];
		const struct npl_value *value = &graph->value[graph->output[declaration->output_index]];
		char declared[192], text[192];
		if (!contradicts(declaration, value->dtype, &value->shape, dims))
			continue;
		list[graph->n_warnings] = npl_arena_printf(
			&graph->arena, "output '%s' is declared %s, but it is %s %s", value->name,
			declared_text(declaration, declared, sizeof declared), npl_dtype_name(value->dtype),
			npl_shape_text(&value->shape, text, sizeof text));
		if (!list[graph->n_warnings++])
			return npl_no_memory(b->err);
		max_warnings--;
	}
	return 0;
}
