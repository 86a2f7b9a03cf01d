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
	/* per attribute: the attribute of the enclosing function whose value it takes, or NULL */
	const char **reference;
};

/* Reads the node, which is number `index` of its graph or body; a node without a name is called OP_INDEX. Outside of
 * functions, attributes that refer to one of a function are refused. */
int onnx_node(const struct onnx_reader *reader, struct onnx_span message, int index, bool in_function,
	      struct onnx_node *node);

/* Returns the domain that a file names; "" for each spelling of ONNX's own. */
const char *onnx_domain(const char *domain);

/* Reads domain and version of an OperatorSetIdProto. */
int onnx_opset(const struct onnx_reader *reader, const struct onnx_field *opset, const char **domain, int64_t *version);

/* Stores a repeated string field at place *n of the list. */
int onnx_list_string(const struct onnx_reader *reader, const struct onnx_field *field, const char *field_name,
		     const char **list, int *n);

#endif
