/* SPDX-License-Identifier: MIT
 *
 * How a C program writes the arguments of an operator: its inputs and its ONNX attributes. build.h and eager.h share
 * this.
 *
 *     NPL_ATTRS(NPL_INTS("pads", 1, 1, 1, 1), NPL_INT("group", 2), NPL_STRING("auto_pad", "NOTSET"))
 *
 * The macros make compound literals, which live until the end of the block around them. Calls copy their arguments,
 * including strings, lists and tensors. C++ has no such literals: fill struct npl_attr by hand there.
 */
#ifndef NPULAB_ATTRIBUTES_H
#define NPULAB_ATTRIBUTES_H

#include "npulab/op.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_ATTRS(...)                                                                                                 \
	((struct npl_attr_list){.attr = (struct npl_attr[]){__VA_ARGS__},                                              \
				.n = (int)(sizeof((struct npl_attr[]){__VA_ARGS__}) / sizeof(struct npl_attr))})
#define NPL_NO_ATTRS ((struct npl_attr_list){.attr = NULL, .n = 0})

#define NPL_INT(name_, value_)                                                                                         \
	{                                                                                                              \
		.name = (name_), .type = NPL_ATTR_INT, .i = (value_)                                                   \
	}
#define NPL_FLOAT(name_, value_)                                                                                       \
	{                                                                                                              \
		.name = (name_), .type = NPL_ATTR_FLOAT, .f = (value_)                                                 \
	}
#define NPL_STRING(name_, value_)                                                                                      \
	{                                                                                                              \
		.name = (name_), .type = NPL_ATTR_STRING, .s = (value_)                                                \
	}
#define NPL_INTS(name_, ...)                                                                                           \
	{                                                                                                              \
		.name = (name_), .type = NPL_ATTR_INTS, .ints = (const int64_t[]){__VA_ARGS__},                        \
		.n = (int64_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))                               \
	}
#define NPL_FLOATS(name_, ...)                                                                                         \
	{                                                                                                              \
		.name = (name_), .type = NPL_ATTR_FLOATS, .floats = (const float[]){__VA_ARGS__},                      \
		.n = (int64_t)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float))                                   \
	}
#define NPL_TENSOR(name_, tensor_)                                                                                     \
	{                                                                                                              \
		.name = (name_), .type = NPL_ATTR_TENSOR, .tensor = (tensor_)                                          \
	}

/* NPL_COPY: the call copies the elements of its tensor. NPL_BORROW: the call refers to them; they must stay unchanged
 * while anything made from them is in use, and be aligned for their type. */
enum npl_keep { NPL_COPY, NPL_BORROW };

/* Returns a tensor that refers to an array of the caller: elements in row-major order, as many as the shape says. */
static inline struct npl_tensor npl_tensor_over(enum npl_dtype dtype, struct npl_shape shape, const void *data)
{
	struct npl_tensor tensor = {NULL, dtype, shape, {0, 0, NULL}, (void *)data, false};
	return tensor;
}

#ifdef __cplusplus
}
#endif

#endif
