/* SPDX-License-Identifier: MIT
 *
 * Replacing calls of functions by the nodes of their bodies (onnx_function.h). */
#include <stdio.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "onnx_function.h"

struct inliner {
	struct graph_builder *b;
	const struct onnx_reader *reader;
	struct onnx_functions *functions;
};

/* One call: the function, the prefix of the names in its body, the given attributes, and the names of its values. */
struct call {
	const struct onnx_function *f;
	const char *path;
	const struct npl_attr_list *attributes;
	const char **value;
};

/* Allocates memory for one call from the arena of the reader. All calls of a model together may take
 * ONNX_MAX_INLINE_BYTES, because a short file can ask for any amount. */
static void *allocate_for_call(struct inliner *in, size_t count, size_t bytes)
{
	size_t size;
	if (__builtin_mul_overflow(count, bytes, &size) || size > ONNX_MAX_INLINE_BYTES - in->functions->bytes) {
		npl_fail(in->reader->err, NPL_EINPUT,
			 "the calls of its functions need more than %zu MiB for the names and lists of their nodes",
			 ONNX_MAX_INLINE_BYTES >> 20);
		return NULL;
	}
	in->functions->bytes += size;
	void *room = npl_arena_alloc(in->reader->arena, size);
	if (!room)
		npl_no_memory(in->reader->err);
	return room;
}

/* Returns PATH/NAME, followed by #2, #3... where number > 1. */
static const char *path_to(struct inliner *in, const char *path, const char *name, int number)
{
	size_t size = strlen(path) + strlen(name) + 16;
	char *text = allocate_for_call(in, size, 1);
	if (text && number > 1)
		snprintf(text, size, "%s/%s#%d", path, name, number);
	else if (text)
		snprintf(text, size, "%s/%s", path, name);
	return text;
}

/* Returns a name that no other value of the model has. */
static const char *make_unique_name(struct inliner *in, const char *path, const char *name)
{
	struct graph_names *used_names = &in->functions->used_names;
	for (int number = 1;; number = number < 9 || number >= in->b->n_nodes ? number + 1 : in->b->n_nodes) {
		const char *text = path_to(in, path, name, number);
		if (!text)
			return NULL;
		if (graph_names_find(used_names, text) >= 0 || graph_names_find(&in->b->values, text) >= 0)
			continue;
		if (!graph_names_add(used_names, text, 0))
			return text;
		npl_no_memory(in->reader->err);
		return NULL;
	}
}

static const struct npl_attr *find(const struct npl_attr_list *list, const char *name)
{
	for (int i = 0; i < list->n; i++)
		if (!strcmp(list->attr[i].name, name))
			return &list->attr[i];
	return NULL;
}

static int check_attributes(const struct onnx_reader *reader, const struct onnx_function *f,
			    const struct npl_attr_list *attributes)
{
	for (int i = 0; i < attributes->n; i++) {
		bool known = find(&f->defaults, attributes->attr[i].name) != NULL;
		for (int k = 0; k < f->n_attributes && !known; k++)
			known = !strcmp(f->attribute[k], attributes->attr[i].name);
		if (!known)
			return npl_fail(reader->err, NPL_EINPUT, "the function '%s' has no attribute '%s'", f->name,
					attributes->attr[i].name);
	}
	return 0;
}

static int check_call(const struct onnx_reader *reader, const struct onnx_function *f, const struct onnx_node *node)
{
	if (node->n_in > f->n_in)
		return npl_fail(reader->err, NPL_EINPUT, "has %d input%s, the function '%s' has %d", node->n_in,
				npl_plural(node->n_in), f->name, f->n_in);
	if (node->n_out > f->n_out)
		return npl_fail(reader->err, NPL_EINPUT, "has %d output%s, the function '%s' has %d", node->n_out,
				npl_plural(node->n_out), f->name, f->n_out);
	return check_attributes(reader, f, &node->list);
}

/* Gives the function's values the names that they have outside. Its inputs get the names that the caller gives, or "",
 * and its outputs the names that the caller wants. Every other value gets a name of its own, or "" where it has no
 * reader. */
static int name_values(struct inliner *in, struct call *call, const struct onnx_node *node)
{
	const struct onnx_function *f = call->f;
	call->value = allocate_for_call(in, (size_t)f->n_values, sizeof *call->value);
	if (!call->value)
		return in->reader->err->code;
	for (int i = 0; i < f->n_in; i++)
		call->value[i] = i < node->n_in ? node->in[i] : "";
	for (int k = 0; k < f->n_out && k < node->n_out; k++)
		if (f->result[k] >= f->n_in && *node->out[k] && !call->value[f->result[k]])
			call->value[f->result[k]] = node->out[k];
	for (int v = f->n_in; v < f->n_values; v++) {
		if (!call->value[v])
			call->value[v] = f->is_unread[v] ? "" : make_unique_name(in, call->path, f->value[v]);
		if (!call->value[v])
			return in->reader->err->code;
	}
	return 0;
}

/* Fills the attributes of a node of the body. An attribute that refers to one of the function gets the caller's value,
 * else the function's default; without either it is left out. */
static int resolve_attributes(struct inliner *in, const struct call *call, const struct onnx_node *from,
			      struct npl_attr_list *to)
{
	*to = (struct npl_attr_list){.attr = allocate_for_call(in, (size_t)from->list.n, sizeof *to->attr)};
	if (!to->attr)
		return in->reader->err->code;
	for (int i = 0; i < from->list.n; i++) {
		const struct npl_attr *attr = &from->list.attr[i];
		const char *reference = from->reference[i], *name = attr->name;
		if (reference) {
			attr = find(call->attributes, reference);
			attr = attr ? attr : find(&call->f->defaults, reference);
		}
		if (!attr)
			continue;
		to->attr[to->n] = *attr;
		to->attr[to->n++].name = name;
	}
	return 0;
}

static const char **names_of(struct inliner *in, const struct call *call, const int *value, int n)
{
	const char **name = allocate_for_call(in, (size_t)n, sizeof *name);
	for (int k = 0; name && k < n; k++)
		name[k] = value[k] < 0 ? "" : call->value[value[k]];
	return name;
}

static int expand(struct inliner *in, const struct onnx_function *f, const struct onnx_node *node);

static int add_body_node(struct inliner *in, const struct call *call, const struct onnx_body_node *from)
{
	struct graph_builder *b = in->b;
	struct onnx_node node = from->node;
	node.name = path_to(in, call->path, from->node.name, 1);
	node.in = node.name ? names_of(in, call, from->in, from->node.n_in) : NULL;
	node.out = node.in ? names_of(in, call, from->out, from->node.n_out) : NULL;
	if (!node.out || resolve_attributes(in, call, &from->node, &node.list))
		return in->reader->err->code;
	if (from->calls)
		return expand(in, from->calls, &node);
	b->opset = call->f->opset < 0 ? b->graph->opset : (int)call->f->opset;
	int rc = onnx_add_node(b, &node);
	b->opset = b->graph->opset;
	return rc;
}

/* Adds copies for outputs that are inputs of the function, or the same value as another output. */
static int add_copies(struct inliner *in, const struct call *call, const struct onnx_node *node)
{
	const struct onnx_function *f = call->f;
	for (int k = 0; k < node->n_out; k++) {
		const char *value = call->value[f->result[k]];
		if (!*node->out[k] || value == node->out[k])
			continue;
		const char *name = path_to(in, call->path, f->out[k], 1);
		const char **from = allocate_for_call(in, 1, sizeof *from), **to = allocate_for_call(in, 1, sizeof *to);
		if (!name || !from || !to)
			return in->reader->err->code;
		*from = value;
		*to = node->out[k];
		int rc = graph_add_node(in->b, name, "Identity", &(struct npl_attr_list){0}, 1, from, 1, to);
		if (rc)
			return rc;
	}
	return 0;
}

static int expand(struct inliner *in, const struct onnx_function *f, const struct onnx_node *node)
{
	struct call call = {.f = f, .path = node->name, .attributes = &node->list};
	int rc = check_call(in->reader, f, node);
	if (!rc)
		rc = name_values(in, &call, node);
	if (rc)
		return npl_prefix(in->reader->err, "node '%s' (%s)", node->name, node->op);
	for (int i = 0; i < f->n_nodes && !rc; i++)
		rc = add_body_node(in, &call, &f->node[i]);
	return rc ? rc : add_copies(in, &call, node);
}

int onnx_inline(struct graph_builder *b, const struct onnx_reader *reader, struct onnx_functions *functions,
		struct onnx_function *f, const struct onnx_node *node)
{
	struct inliner in = {b, reader, functions};
	int rc = onnx_function_read(reader, functions, f);
	if (!rc && f->becomes > (uint64_t)(GRAPH_MAX_NODES - b->n_nodes))
		rc = npl_fail(reader->err, NPL_EINPUT,
			      "a call of the function '%s' adds %llu nodes, and the network would have more than %d",
			      f->name, (unsigned long long)f->becomes, GRAPH_MAX_NODES);
	if (rc)
		return npl_prefix(reader->err, "node '%s' (%s)", node->name, node->op);
	return expand(&in, f, node);
}
