/* SPDX-License-Identifier: MIT
 *
 * Functions that a model defines itself (FunctionProto): a node whose domain, operator and overload name one is
 * replaced by the nodes of its body, each with the operator version that the function imports. A function of the model
 * takes precedence over an ONNX operator of the same name.
 *
 *     struct onnx_functions functions = {0};
 *     onnx_functions_add(&reader, &functions, message);         once for each function of the file
 *     f = onnx_functions_find(&reader, &functions, &node);      NULL: the node is an operator
 *     onnx_inline(b, &reader, &functions, f, &node);
 *     onnx_functions_free(&functions);
 *
 * Names within a body get the caller's name as a prefix: node "mul" of a function that node "gelu" calls is "gelu/mul",
 * in messages too. Functions may call functions, but not themselves; a body that is never called is not read. The
 * number of nodes that a call becomes is known before the call is replaced, so that a file of a few bytes that asks for
 * billions of nodes is refused at once.
 */
#ifndef NPULAB_FRONTEND_IMPORT_ONNX_FUNCTION_H
#define NPULAB_FRONTEND_IMPORT_ONNX_FUNCTION_H

#include "frontend/graph/build.h"
#include "onnx_node.h"

#define ONNX_MAX_CALL_DEPTH   64
#define ONNX_MAX_INLINE_BYTES ((size_t)512 << 20) /* the most bytes of names and lists that all calls of a model make */

/* A node of a body: inputs and outputs as numbers of the function's own values, -1: absent. */
struct onnx_body_node {
	struct onnx_node node;
	int *in, *out;
	struct onnx_function *calls; /* NULL: an operator */
};

struct onnx_function {
	const char *name, *domain, *overload;
	struct onnx_span message;
	enum { ONNX_BODY_UNREAD, ONNX_BODY_OPEN, ONNX_BODY_READ } state; /* open: it is being read */
	/* The following members are known once the body has been read. */
	/* the opset of ONNX's operators; -1: the function imports none, and its nodes have the model's version */
	int64_t opset;
	const char **in, **out, **attribute; /* attribute: those without a default */
	int n_in, n_out, n_attributes;
	struct npl_attr_list defaults; /* attributes with a default */
	struct onnx_body_node *node;
	int n_nodes;
	const char **value; /* the names of the function's values, its inputs first */
	int n_values;
	bool *is_unread;  /* per value: no node of the body reads it, and it is not the first output of its node */
	int *result;      /* the value that each output is */
	uint64_t becomes; /* nodes that a call becomes, those of the functions that it calls included; at least 1 */
	int depth;        /* depth of calls; 1: it calls no function */
};

struct onnx_functions {
	struct onnx_function *function;
	int n;
	int64_t capacity;
	struct graph_names table;      /* the functions by key_of in onnx_function.c */
	struct graph_names used_names; /* names of values that a function must not use for its own */
	size_t bytes;                  /* bytes spent of ONNX_MAX_INLINE_BYTES */
	int n_open;                    /* number of functions in ONNX_BODY_OPEN */
};

/* Reads a function's name; NPL_EINPUT when the model has defined it already. */
int onnx_functions_add(const struct onnx_reader *reader, struct onnx_functions *functions, struct onnx_span message);
void onnx_functions_free(struct onnx_functions *functions);
/* onnx_graph.c: returns NPL_EINPUT unless npulab reads models of this version of ONNX's operators. */
int onnx_check_opset(int64_t version, struct npl_err *err);
/* Returns the function that a node names, or NULL; *rc is 0 or NPL_ENOMEM. */
struct onnx_function *onnx_functions_find(const struct onnx_reader *reader, const struct onnx_functions *functions,
					  const struct onnx_node *node, int *rc);
/* Reads the body, and those of the functions that it calls, unless that has been done. */
int onnx_function_read(const struct onnx_reader *reader, struct onnx_functions *functions, struct onnx_function *f);

/* onnx_graph.c: adds a node that is an operator. */
int onnx_add_node(struct graph_builder *b, const struct onnx_node *node);
/* onnx_inline.c: adds the nodes that a node, a call of the function, stands for. */
int onnx_inline(struct graph_builder *b, const struct onnx_reader *reader, struct onnx_functions *functions,
		struct onnx_function *f, const struct onnx_node *node);

#endif
