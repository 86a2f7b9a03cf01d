/* SPDX-License-Identifier: MIT
 *
 * A NodeProto, of the graph or of a function's body. Strings that the file leaves out are empty, not NULL. Everything
 * lives in the reader's arena.
 */
#ifndef NPULAB_FRONTEND_IMPORT_ONNX_NODE_H
#define NPULAB_FRONTEND_IMPORT_ONNX_NODE_H

#include "npulab/op.h"
#include "onnx_wire.h"

struct onnx_node {
	const char *name, *op, *domain, *overload; /* the domain of ONNX's own operators is "", however it is spelt */
	const char **in, **out;
	int n_in, n_out;
	struct npl_attr_list list;
	const char **reference; /* per attribute: the one of the enclosing function whose value it takes, or NULL */
};

/* Reads the node, which is number `index` of what encloses it: one without a name is called OP_INDEX. Attributes that
 * refer to one of a function are refused outside of functions. */
int onnx_node(const struct onnx_reader *reader, struct onnx_span message, int index, bool in_function,
	      struct onnx_node *node);

/* The domain that a file names: "" for each spelling of ONNX's own. */
const char *onnx_domain(const char *domain);

/* OperatorSetIdProto: its domain and version. */
int onnx_opset(const struct onnx_reader *reader, const struct onnx_field *opset, const char **domain, int64_t *version);

/* A repeated string field, at place *n of the list. */
int onnx_list_string(const struct onnx_reader *reader, const struct onnx_field *field, const char *what,
		     const char **list, int *n);

#endif
