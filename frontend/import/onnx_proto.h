/* SPDX-License-Identifier: MIT
 *
 * The messages of onnx.proto3 that npulab understands, each read by one function from its span of the file:
 * tensors, attributes and the types of inputs. Field numbers are ONNX's own (onnx/onnx.proto, IR version 8).
 * Results live in the reader's arena or point into the file.
 *
 * Not read: subgraphs, sparse tensors, sequences, maps, strings as data. Where a model uses one of them the
 * reader refuses it by name.
 */
#ifndef NPULAB_FRONTEND_IMPORT_ONNX_PROTO_H
#define NPULAB_FRONTEND_IMPORT_ONNX_PROTO_H

#include "npulab/op.h"
#include "onnx_wire.h"

/* Reads a TensorProto. data points into the file, or the external file, where it is raw and aligned for its type, else
 * to a copy in the arena; it is never NULL. The number of elements equals that of the shape. */
int onnx_tensor(const struct onnx_reader *reader, struct onnx_span message, struct npl_tensor *tensor);

/* Reads an AttributeProto. A subgraph is refused. Kinds that no operator of npulab takes become NPL_ATTR_OTHER.
 * *reference is the attribute of the enclosing function whose value is used, and attr then has only its name; NULL: the
 * attribute has a value of its own. */
int onnx_attribute(const struct onnx_reader *reader, struct onnx_span message, struct npl_attr *attr,
		   const char **reference);

/* Gives npulab's type for a TensorProto.DataType; NPL_EINPUT names the type when there is none. */
int onnx_dtype(const struct onnx_reader *reader, uint64_t data_type, enum npl_dtype *dtype);

/* ValueInfoProto: name and type of an input. A dimension without a positive number is -1, with the model's name for it,
 * if any, in symbol[]. */
struct onnx_value_info {
	const char *name;
	enum npl_dtype dtype;
	bool has_shape;
	struct npl_shape shape;
	const char *symbol[NPL_MAX_RANK];
};
int onnx_value_info(const struct onnx_reader *reader, struct onnx_span message, struct onnx_value_info *info);
/* Reads only the name: for outputs and initialisers, whose types are known without it. */
int onnx_value_name(const struct onnx_reader *reader, struct onnx_span message, const char **name);

#endif
