/* SPDX-License-Identifier: MIT
 *
 * Writes ONNX models into memory for tests: a protobuf writer and, over it, one function per message. Nothing checks
 * what is written, so that tests can write what is wrong. Out of memory aborts the test.
 *
 *     struct onnx_writer g = {0};
 *     onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){1, 4});
 *     onnx_put_node(&g, "Relu", "act", "x", "y", NULL);
 *     onnx_put_output(&g, "y");
 *     struct onnx_writer model = onnx_model(&g, 13);
 *
 * Sub-messages given as struct onnx_writer * are emptied by the call.
 */
#ifndef NPULAB_TESTS_KIT_ONNX_WRITER_H
#define NPULAB_TESTS_KIT_ONNX_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	ONNX_FLOAT = 1,
	ONNX_UINT8 = 2,
	ONNX_INT8 = 3,
	ONNX_UINT16 = 4,
	ONNX_INT16 = 5,
	ONNX_INT32 = 6,
	ONNX_INT64 = 7,
	ONNX_STRING = 8,
	ONNX_BOOL = 9,
	ONNX_FLOAT16 = 10,
	ONNX_DOUBLE = 11,
	ONNX_UINT32 = 12,
	ONNX_UINT64 = 13,
	ONNX_BFLOAT16 = 16
};

struct onnx_writer {
	unsigned char *data;
	size_t bytes, capacity;
};

static inline void onnx_put_raw(struct onnx_writer *w, const void *data, size_t bytes)
{
	if (w->capacity - w->bytes < bytes) {
		w->capacity = 2 * (w->bytes + bytes) + 64;
		w->data = realloc(w->data, w->capacity);
		if (!w->data)
			abort();
	}
	if (bytes)
		memcpy(w->data + w->bytes, data, bytes);
	w->bytes += bytes;
}

static inline void onnx_put_number(struct onnx_writer *w, uint64_t v)
{
	do {
		unsigned char byte = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		onnx_put_raw(w, &byte, 1);
	} while (v >>= 7);
}

static inline void onnx_put_key(struct onnx_writer *w, int field, int wire)
{
	onnx_put_number(w, (uint64_t)field << 3 | (uint64_t)wire);
}

static inline void onnx_put_int(struct onnx_writer *w, int field, int64_t v)
{
	onnx_put_key(w, field, 0);
	onnx_put_number(w, (uint64_t)v);
}

static inline void onnx_put_float(struct onnx_writer *w, int field, float v)
{
	onnx_put_key(w, field, 5);
	onnx_put_raw(w, &v, sizeof v);
}

static inline void onnx_put_bytes(struct onnx_writer *w, int field, const void *data, size_t bytes)
{
	onnx_put_key(w, field, 2);
	onnx_put_number(w, bytes);
	onnx_put_raw(w, data, bytes);
}

static inline void onnx_put_string(struct onnx_writer *w, int field, const char *text)
{
	onnx_put_bytes(w, field, text, strlen(text));
}

static inline void onnx_writer_free(struct onnx_writer *w)
{
	free(w->data);
	*w = (struct onnx_writer){0};
}

static inline void onnx_put_message(struct onnx_writer *w, int field, struct onnx_writer *message)
{
	onnx_put_bytes(w, field, message->data, message->bytes);
	onnx_writer_free(message);
}

static inline int64_t onnx_count(int rank, const int64_t *dims)
{
	int64_t count = 1;
	for (int i = 0; i < rank; i++)
		count *= dims[i];
	return count;
}

/* A TensorProto with raw data. */
static inline struct onnx_writer onnx_tensor_of(const char *name, int type, int rank, const int64_t *dims,
						const void *data, size_t bytes)
{
	struct onnx_writer t = {0};
	for (int i = 0; i < rank; i++)
		onnx_put_int(&t, 1, dims[i]);
	onnx_put_int(&t, 2, type);
	if (name)
		onnx_put_string(&t, 8, name);
	onnx_put_bytes(&t, 9, data, bytes);
	return t;
}

static inline void onnx_put_floats(struct onnx_writer *graph, const char *name, int rank, const int64_t *dims,
				   const float *data)
{
	struct onnx_writer t = onnx_tensor_of(name, ONNX_FLOAT, rank, dims, data,
					      (size_t)onnx_count(rank, dims) * sizeof *data);
	onnx_put_message(graph, 5, &t);
}

static inline void onnx_put_int64s(struct onnx_writer *graph, const char *name, int64_t n, const int64_t *data)
{
	const int64_t dims[1] = {n};
	struct onnx_writer t = onnx_tensor_of(name, ONNX_INT64, 1, dims, data, (size_t)n * sizeof *data);
	onnx_put_message(graph, 5, &t);
}

/* A ValueInfoProto; a dimension of -1 has the name "N", one of -2 says nothing. rank -1: no shape. */
static inline struct onnx_writer onnx_value_of(const char *name, int type, int rank, const int64_t *dims)
{
	struct onnx_writer shape = {0}, tensor = {0}, proto = {0}, value = {0};
	for (int i = 0; i < rank; i++) {
		struct onnx_writer dim = {0};
		if (dims[i] == -1)
			onnx_put_string(&dim, 2, "N");
		else if (dims[i] != -2)
			onnx_put_int(&dim, 1, dims[i]);
		onnx_put_message(&shape, 1, &dim);
	}
	onnx_put_int(&tensor, 1, type);
	if (rank >= 0)
		onnx_put_message(&tensor, 2, &shape);
	onnx_put_message(&proto, 1, &tensor);
	onnx_put_string(&value, 1, name);
	onnx_put_message(&value, 2, &proto);
	return value;
}

static inline void onnx_put_input(struct onnx_writer *graph, const char *name, int type, int rank, const int64_t *dims)
{
	struct onnx_writer value = onnx_value_of(name, type, rank, dims);
	onnx_put_message(graph, 11, &value);
}

static inline void onnx_put_output(struct onnx_writer *graph, const char *name)
{
	struct onnx_writer value = {0};
	onnx_put_string(&value, 1, name);
	onnx_put_message(graph, 12, &value);
}

/* Attributes are appended to a writer that onnx_put_node takes: fields of a NodeProto. */
static inline void onnx_put_attr(struct onnx_writer *attrs, const char *name, int type, struct onnx_writer *value)
{
	struct onnx_writer a = {0};
	onnx_put_string(&a, 1, name);
	onnx_put_raw(&a, value->data, value->bytes);
	if (type)
		onnx_put_int(&a, 20, type);
	onnx_writer_free(value);
	onnx_put_message(attrs, 5, &a);
}

static inline void onnx_put_attr_int(struct onnx_writer *attrs, const char *name, int64_t i)
{
	struct onnx_writer v = {0};
	onnx_put_int(&v, 3, i);
	onnx_put_attr(attrs, name, 2, &v);
}

static inline void onnx_put_attr_float(struct onnx_writer *attrs, const char *name, float f)
{
	struct onnx_writer v = {0};
	onnx_put_float(&v, 2, f);
	onnx_put_attr(attrs, name, 1, &v);
}

static inline void onnx_put_attr_ints(struct onnx_writer *attrs, const char *name, int n, const int64_t *ints)
{
	struct onnx_writer v = {0};
	for (int i = 0; i < n; i++)
		onnx_put_int(&v, 8, ints[i]);
	onnx_put_attr(attrs, name, 7, &v);
}

static inline void onnx_put_attr_tensor(struct onnx_writer *attrs, const char *name, struct onnx_writer *tensor)
{
	struct onnx_writer v = {0};
	onnx_put_message(&v, 5, tensor);
	onnx_put_attr(attrs, name, 4, &v);
}

/* The words of a list as repeated strings; "-" is the empty one. */
static inline void onnx_put_words(struct onnx_writer *w, int field, const char *list)
{
	while (*list) {
		size_t n = strcspn(list, " ");
		onnx_put_bytes(w, field, list, n == 1 && *list == '-' ? 0 : n);
		list += n + (list[n] == ' ');
	}
}

/* A node as a field of what encloses it: 1 of a graph, 7 of a function. Inputs and outputs are separated by one space;
 * attrs may be NULL and is emptied; name, domain and overload may be empty. */
static inline void onnx_put_node_as(struct onnx_writer *to, int as, const char *domain, const char *op,
				    const char *overload, const char *name, const char *inputs, const char *outputs,
				    struct onnx_writer *attrs)
{
	struct onnx_writer node = {0};
	onnx_put_words(&node, 1, inputs);
	onnx_put_words(&node, 2, outputs);
	if (*name)
		onnx_put_string(&node, 3, name);
	onnx_put_string(&node, 4, op);
	if (attrs) {
		onnx_put_raw(&node, attrs->data, attrs->bytes);
		onnx_writer_free(attrs);
	}
	if (*domain)
		onnx_put_string(&node, 7, domain);
	if (*overload)
		onnx_put_string(&node, 8, overload);
	onnx_put_message(to, as, &node);
}

/* One of ONNX's own operators in a graph. */
static inline void onnx_put_node(struct onnx_writer *graph, const char *op, const char *name, const char *inputs,
				 const char *outputs, struct onnx_writer *attrs)
{
	onnx_put_node_as(graph, 1, "", op, "", name, inputs, outputs, attrs);
}

/* The whole file; the graph is emptied. */
static inline struct onnx_writer onnx_model(struct onnx_writer *graph, int64_t opset)
{
	struct onnx_writer model = {0}, set = {0};
	onnx_put_int(&model, 1, 7);
	onnx_put_string(&model, 2, "writer");
	onnx_put_int(&set, 2, opset);
	onnx_put_message(&model, 8, &set);
	onnx_put_message(&model, 7, graph);
	return model;
}

#endif
