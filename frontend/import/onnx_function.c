/* SPDX-License-Identifier: MIT
 *
 * Reading the functions of a model (onnx_function.h): names when the file is opened, a body when a node first calls
 * it. */
#include "onnx_function.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "onnx_proto.h"

enum {
	FUNCTION_NAME = 1,
	FUNCTION_INPUT = 4,
	FUNCTION_OUTPUT = 5,
	FUNCTION_ATTRIBUTE = 6,
	FUNCTION_NODE = 7,
	FUNCTION_OPSET = 9,
	FUNCTION_DOMAIN = 10,
	FUNCTION_DEFAULT = 11,
	FUNCTION_OVERLOAD = 13
};

/* Puts "function 'NAME' of the domain 'DOMAIN'" before the message; returns the code. */
static int blame(const struct onnx_reader *reader, const struct onnx_function *f)
{
	return npl_prefix(reader->err, "function '%s' of the domain '%s'", f->name, f->domain);
}

/* Returns one text for domain, name and overload; lengths in it tell "a" "bc" from "ab" "c". */
static const char *key_of(const struct onnx_reader *reader, const char *domain, const char *name, const char *overload)
{
	return npl_arena_printf(reader->arena, "%zu,%zu:%s%s%s", strlen(domain), strlen(name), domain, name, overload);
}

static int read_identity(const struct onnx_reader *reader, struct onnx_function *f)
{
	struct onnx_span message = f->message;
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		rc = 0;
		if (field.number == FUNCTION_NAME)
			rc = onnx_string(reader, &field, "the name of a function", &f->name);
		else if (field.number == FUNCTION_DOMAIN)
			rc = onnx_string(reader, &field, "the domain of a function", &f->domain);
		else if (field.number == FUNCTION_OVERLOAD)
			rc = onnx_string(reader, &field, "the overload of a function", &f->overload);
		if (rc)
			return rc;
	}
	f->domain = onnx_domain(f->domain);
	return rc;
}

int onnx_functions_add(const struct onnx_reader *reader, struct onnx_functions *functions, struct onnx_span message)
{
	struct onnx_function f = {.name = "", .domain = "", .overload = "", .message = message, .opset = -1};
	int rc = read_identity(reader, &f);
	if (rc)
		return rc;
	const char *key = key_of(reader, f.domain, f.name, f.overload);
	if (!key)
		return npl_no_memory(reader->err);
	if (graph_names_find(&functions->table, key) >= 0) {
		npl_fail(reader->err, NPL_EINPUT, "the model defines it twice");
		return blame(reader, &f);
	}
	struct onnx_function *grown = npl_grow(functions->function, functions->n, &functions->capacity,
					       sizeof *functions->function);
	if (!grown)
		return npl_no_memory(reader->err);
	functions->function = grown;
	grown[functions->n] = f;
	if (graph_names_add(&functions->table, key, functions->n))
		return npl_no_memory(reader->err);
	functions->n++;
	return 0;
}

void onnx_functions_free(struct onnx_functions *functions)
{
	graph_names_free(&functions->table);
	graph_names_free(&functions->used_names);
	free(functions->function);
	*functions = (struct onnx_functions){0};
}

struct onnx_function *onnx_functions_find(const struct onnx_reader *reader, const struct onnx_functions *functions,
					  const struct onnx_node *node, int *rc)
{
	*rc = 0;
	if (!functions->n)
		return NULL;
	const char *key = key_of(reader, node->domain, node->op, node->overload);
	if (!key) {
		*rc = npl_no_memory(reader->err);
		return NULL;
	}
	int i = graph_names_find(&functions->table, key);
	return i < 0 ? NULL : &functions->function[i];
}

static int count_parts(const struct onnx_reader *reader, struct onnx_function *f)
{
	struct onnx_span message = f->message;
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		f->n_in += field.number == FUNCTION_INPUT;
		f->n_out += field.number == FUNCTION_OUTPUT;
		f->n_nodes += field.number == FUNCTION_NODE;
		f->n_attributes += field.number == FUNCTION_ATTRIBUTE;
		f->defaults.n += field.number == FUNCTION_DEFAULT;
	}
	if (rc)
		return rc;
	if (f->n_attributes > GRAPH_MAX_ATTRIBUTES || f->defaults.n > GRAPH_MAX_ATTRIBUTES)
		return npl_fail(reader->err, NPL_EINPUT, "it has more than %d attributes", GRAPH_MAX_ATTRIBUTES);
	f->in = npl_arena_array(reader->arena, (size_t)f->n_in, sizeof *f->in);
	f->out = npl_arena_array(reader->arena, (size_t)f->n_out, sizeof *f->out);
	f->attribute = npl_arena_array(reader->arena, (size_t)f->n_attributes, sizeof *f->attribute);
	f->defaults.attr = npl_arena_array(reader->arena, (size_t)f->defaults.n, sizeof *f->defaults.attr);
	f->node = npl_arena_array(reader->arena, (size_t)f->n_nodes, sizeof *f->node);
	return f->in && f->out && f->attribute && f->defaults.attr && f->node ? 0 : npl_no_memory(reader->err);
}

static int read_default(const struct onnx_reader *reader, const struct onnx_field *field, struct npl_attr *attr)
{
	const char *reference;
	int rc = onnx_expect(reader, field, ONNX_BYTES, "an attribute of a function");
	if (!rc)
		rc = onnx_attribute(reader, field->bytes, attr, &reference);
	if (!rc && reference)
		rc = npl_fail(reader->err, NPL_EINPUT,
			      "the default of attribute '%s' refers to another attribute, expected a value",
			      attr->name);
	return rc;
}

static int read_version(const struct onnx_reader *reader, const struct onnx_field *field, struct onnx_function *f)
{
	const char *domain;
	int64_t version;
	int rc = onnx_opset(reader, field, &domain, &version);
	if (rc || *domain)
		return rc;
	if (f->opset >= 0 && f->opset != version)
		return npl_fail(reader->err, NPL_EINPUT,
				"it imports two versions of the ONNX operator set, %lld and %lld", (long long)f->opset,
				(long long)version);
	f->opset = version;
	return onnx_check_opset(version, reader->err);
}

static int fill_parts(const struct onnx_reader *reader, struct onnx_function *f)
{
	struct onnx_span message = f->message;
	struct onnx_field field;
	int n_in = 0, n_out = 0, n_nodes = 0, n_attributes = 0, n_defaults = 0, rc;
	while ((rc = onnx_next(reader, &message, &field)) > 0) {
		rc = 0;
		if (field.number == FUNCTION_INPUT) {
			rc = onnx_list_string(reader, &field, "an input of a function", f->in, &n_in);
		} else if (field.number == FUNCTION_OUTPUT) {
			rc = onnx_list_string(reader, &field, "an output of a function", f->out, &n_out);
		} else if (field.number == FUNCTION_ATTRIBUTE) {
			rc = onnx_list_string(reader, &field, "an attribute of a function", f->attribute,
					      &n_attributes);
		} else if (field.number == FUNCTION_DEFAULT) {
			rc = read_default(reader, &field, &f->defaults.attr[n_defaults++]);
		} else if (field.number == FUNCTION_OPSET) {
			rc = read_version(reader, &field, f);
		} else if (field.number == FUNCTION_NODE) {
			rc = onnx_expect(reader, &field, ONNX_BYTES, "a node of a function");
			if (!rc)
				rc = onnx_node(reader, field.bytes, n_nodes, true, &f->node[n_nodes].node);
			n_nodes++;
		}
		if (rc)
			return rc;
	}
	return rc;
}

/* Gives a value of the function a number; names of inputs and outputs of nodes must differ. */
static int number_value(const struct onnx_reader *reader, struct onnx_function *f, struct graph_names *numbers,
			const char *name)
{
	if (graph_names_find(numbers, name) >= 0)
		return npl_fail(reader->err, NPL_EINPUT, "two of its values are called '%s'", name);
	if (graph_names_add(numbers, name, f->n_values))
		return npl_no_memory(reader->err);
	f->value[f->n_values++] = name;
	return 0;
}

static int number_values(const struct onnx_reader *reader, struct onnx_function *f, struct graph_names *numbers)
{
	size_t max_values = (size_t)f->n_in;
	for (int i = 0; i < f->n_nodes; i++)
		max_values += (size_t)f->node[i].node.n_out;
	f->value = npl_arena_array(reader->arena, max_values, sizeof *f->value);
	f->is_unread = npl_arena_array(reader->arena, max_values, sizeof *f->is_unread);
	if (!f->value || !f->is_unread)
		return npl_no_memory(reader->err);
	for (int i = 0; i < f->n_in; i++)
		if (number_value(reader, f, numbers, f->in[i]))
			return reader->err->code;
	for (int i = 0; i < f->n_nodes; i++) {
		struct onnx_body_node *node = &f->node[i];
		node->out = npl_arena_array(reader->arena, (size_t)node->node.n_out, sizeof *node->out);
		if (!node->out)
			return npl_no_memory(reader->err);
		for (int k = 0; k < node->node.n_out; k++) {
			node->out[k] = *node->node.out[k] ? f->n_values : -1;
			if (node->out[k] < 0)
				continue;
			f->is_unread[node->out[k]] = k > 0;
			if (number_value(reader, f, numbers, node->node.out[k]))
				return reader->err->code;
		}
	}
	return 0;
}

static int link_values(const struct onnx_reader *reader, struct onnx_function *f, const struct graph_names *numbers)
{
	for (int i = 0; i < f->n_nodes; i++) {
		struct onnx_body_node *node = &f->node[i];
		node->in = npl_arena_array(reader->arena, (size_t)node->node.n_in, sizeof *node->in);
		if (!node->in)
			return npl_no_memory(reader->err);
		for (int k = 0; k < node->node.n_in; k++) {
			const char *name = node->node.in[k];
			node->in[k] = *name ? graph_names_find(numbers, name) : -1;
			if (node->in[k] < 0 && *name)
				return npl_fail(
					reader->err, NPL_EINPUT,
					"node '%s' (%s): its input '%s' is neither an input of the function nor an "
					"output of one of its nodes",
					node->node.name, node->node.op, name);
			if (node->in[k] >= 0)
				f->is_unread[node->in[k]] = false;
		}
	}
	f->result = npl_arena_array(reader->arena, (size_t)f->n_out, sizeof *f->result);
	if (!f->result)
		return npl_no_memory(reader->err);
	for (int k = 0; k < f->n_out; k++) {
		f->result[k] = graph_names_find(numbers, f->out[k]);
		if (f->result[k] < 0)
			return npl_fail(reader->err, NPL_EINPUT, "its output '%s' is made by no node", f->out[k]);
	}
	return 0;
}

/* Reads which functions the nodes call, and counts the nodes that all calls become. */
static int read_calls(const struct onnx_reader *reader, struct onnx_functions *functions, struct onnx_function *f)
{
	f->becomes = 1;
	f->depth = 1;
	for (int i = 0; i < f->n_nodes; i++) {
		struct onnx_body_node *node = &f->node[i];
		int rc;
		node->calls = onnx_functions_find(reader, functions, &node->node, &rc);
		if (!rc && node->calls)
			rc = onnx_function_read(reader, functions, node->calls);
		if (rc)
			return rc;
		f->becomes += node->calls ? node->calls->becomes : 1;
		if (f->becomes > GRAPH_MAX_NODES) { /* the sum of two such is far from 2^64 */
			npl_fail(reader->err, NPL_EINPUT,
				 "with the functions that it calls it becomes more than %d nodes", GRAPH_MAX_NODES);
			return blame(reader, f);
		}
		if (node->calls && node->calls->depth + 1 > f->depth)
			f->depth = node->calls->depth + 1;
	}
	return 0;
}

static int read_body(const struct onnx_reader *reader, struct onnx_function *f)
{
	struct graph_names numbers = {0};
	int rc = count_parts(reader, f);
	if (!rc)
		rc = fill_parts(reader, f);
	if (!rc)
		rc = number_values(reader, f, &numbers);
	if (!rc)
		rc = link_values(reader, f, &numbers);
	graph_names_free(&numbers);
	return rc ? blame(reader, f) : 0;
}

static int too_deep(const struct onnx_reader *reader, const struct onnx_function *f)
{
	npl_fail(reader->err, NPL_EINPUT, "functions call each other more than %d deep", ONNX_MAX_CALL_DEPTH);
	return blame(reader, f);
}

int onnx_function_read(const struct onnx_reader *reader, struct onnx_functions *functions, struct onnx_function *f)
{
	if (f->state == ONNX_BODY_READ)
		return 0;
	if (f->state == ONNX_BODY_OPEN) {
		npl_fail(reader->err, NPL_EINPUT, "it calls itself");
		return blame(reader, f);
	}
	if (functions->n_open >= ONNX_MAX_CALL_DEPTH)
		return too_deep(reader, f);
	f->state = ONNX_BODY_OPEN;
	functions->n_open++;
	int rc = read_body(reader, f);
	if (!rc)
		rc = read_calls(reader, functions, f);
	functions->n_open--;
	f->state = ONNX_BODY_READ;
	return !rc && f->depth > ONNX_MAX_CALL_DEPTH ? too_deep(reader, f) : rc;
}
