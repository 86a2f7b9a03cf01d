/* SPDX-License-Identifier: MIT
 *
 * Checks the types and shapes that a file declares for values whose type and shape are also known otherwise. An input
 * that is an initialiser too must agree with it; an output declared with another type or shape than the nodes give it
 * is a warning. Open dimensions contradict nothing. */
#include <stdio.h>

#include "build.h"
#include "core/base/grow.h"

static bool contradicts(const struct graph_input *said, enum npl_dtype dtype, const struct npl_shape *shape, bool dims)
{
	if (said->dtype != dtype || (said->has_shape && said->shape.rank != shape->rank))
		return true;
	for (int i = 0; said->has_shape && dims && i < shape->rank; i++)
		if (said->shape.dim[i] >= 0 && said->shape.dim[i] != shape->dim[i])
			return true;
	return false;
}

/* Writes "float32 Nx4"; an open dimension without a name is "?". */
static const char *declared_text(const struct graph_input *said, char *buf, size_t n)
{
	size_t used = (size_t)snprintf(buf, n, "%s", npl_dtype_name(said->dtype));
	if (said->has_shape && !said->shape.rank)
		snprintf(buf + used, n - used, " scalar");
	for (int i = 0; said->has_shape && i < said->shape.rank && used < n; i++) {
		const char *before = i ? "x" : " ";
		if (said->shape.dim[i] >= 0)
			used += (size_t)snprintf(buf + used, n - used, "%s%lld", before, (long long)said->shape.dim[i]);
		else
			used += (size_t)snprintf(buf + used, n - used, "%s%s", before,
						 said->symbol[i] ? said->symbol[i] : "?");
	}
	return buf;
}

int graph_check_constant(struct graph_builder *b, int v, const struct graph_input *said)
{
	const struct npl_value *value = &b->value[v];
	char declared[192], text[192];
	if (!contradicts(said, value->dtype, &value->shape, true))
		return 0;
	return npl_fail(b->err, NPL_EINPUT, "input '%s' is declared %s, but the initialiser of that name is %s %s",
			value->name, declared_text(said, declared, sizeof declared), npl_dtype_name(value->dtype),
			npl_shape_text(&value->shape, text, sizeof text));
}

int graph_declare_output(struct graph_builder *b, const struct graph_input *said)
{
	struct graph_input *bigger = npl_grow(b->declared_output, b->n_declared_outputs, &b->declared_output_capacity,
					      sizeof *bigger);
	if (!bigger)
		return graph_no_memory(b);
	b->declared_output = bigger;
	bigger[b->n_declared_outputs] = *said;
	bigger[b->n_declared_outputs++].of = b->n_outputs - 1;
	return 0;
}

int graph_warn_outputs(struct graph_builder *b, int most)
{
	struct npl_graph *graph = b->graph;
	const char **list = (const char **)graph->warning;
	/* A batch that differs from the file's changes other dimensions too; the declared ones do not apply then. */
	const bool dims = !b->old_batch || b->old_batch == graph->batch;
	for (int i = 0; i < b->n_declared_outputs && most > 0; i++) {
		const struct graph_input *said = &b->declared_output[i];
		const struct npl_value *value = &graph->value[graph->output[said->of]];
		char declared[192], text[192];
		if (!contradicts(said, value->dtype, &value->shape, dims))
			continue;
		list[graph->n_warnings] = npl_arena_printf(&graph->arena, "output '%s' is declared %s, but it is %s %s",
							   value->name, declared_text(said, declared, sizeof declared),
							   npl_dtype_name(value->dtype),
							   npl_shape_text(&value->shape, text, sizeof text));
		if (!list[graph->n_warnings++])
			return graph_no_memory(b);
		most--;
	}
	return 0;
}
