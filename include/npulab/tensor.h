/* SPDX-License-Identifier: MIT
 *
 * Tensors: dense, row-major (last dimension fastest), at most 8 dimensions. Dimensions and element counts are int64_t,
 * sizes in bytes are size_t; products are checked. The integers q of a quantised tensor stand for scale * (q -
 * zero_point).
 *
 *     struct npl_tensor t = {.dtype = NPL_F32, .shape = npl_shape_of(2, 3, 4)};
 *     if (npl_tensor_alloc(&t, &err)) ...
 *     npl_tensor_free(&t);
 */
#ifndef NPULAB_TENSOR_H
#define NPULAB_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_MAX_RANK 8
/* the most elements of a tensor, so that nonsense shapes are refused early */
#define NPL_MAX_ELEMENTS ((int64_t)1 << 40)

enum npl_dtype {
#define NPL_ELEMENT_TYPE(constant, name, bytes, kind, descr) NPL_##constant,
#include "npulab/element_types.def"
	NPL_DTYPES
};

struct npl_shape {
	int rank;                  /* 0 is a scalar */
	int64_t dim[NPL_MAX_RANK]; /* >= 0 */
};

/* Quantisation of an integer tensor. Symmetric types have zero_point 0. A tensor with scale 0 and without channel_scale
 * is not quantised: its elements are raw integers, or floats. */
struct npl_quant {
	float scale; /* of the whole tensor; not used where there is a channel_scale */
	int32_t zero_point;
	/* The scales of a weight's output channels: shape.dim[0] of them, borrowed. NULL: all have `scale`. */
	const float *channel_scale;
};

struct npl_tensor {
	const char *name; /* borrowed; may be NULL */
	enum npl_dtype dtype;
	struct npl_shape shape;
	struct npl_quant quant;
	void *data; /* 64-byte aligned when from npl_tensor_alloc */
	bool owned; /* data is freed by npl_tensor_free */
};

size_t npl_dtype_size(enum npl_dtype dtype); /* bytes per element */
const char *npl_dtype_name(enum npl_dtype dtype);

/* The shape with these dimensions: npl_shape_of(rank, d0, d1, ...) with int64_t or int arguments. */
#define npl_shape_of(rank_, ...) ((struct npl_shape){.rank = (rank_), .dim = {__VA_ARGS__}})
bool npl_shape_equal(const struct npl_shape *a, const struct npl_shape *b);
/* Returns the number of elements of a shape; -1 when a dimension is negative or the product exceeds
 * NPL_MAX_ELEMENTS. */
int64_t npl_shape_count(const struct npl_shape *shape);
/* Writes "1x64x56x56" or "scalar"; returns buf. */
const char *npl_shape_text(const struct npl_shape *shape, char *buf, size_t n);

/* Returns element i as it is stored, of any type and without its scale. An integer of 64 bits is rounded where it has
 * more digits; bool is 0 or 1. */
double npl_tensor_real(const struct npl_tensor *tensor, int64_t i);
/* Say whether `scale` and zero point are equal, whatever channel_scale is; of tensors, the type too. */
bool npl_quant_equal(const struct npl_quant *a, const struct npl_quant *b);
bool npl_tensor_quant_equal(const struct npl_tensor *a, const struct npl_tensor *b);

/* Return the elements of a tensor (-1 for a shape that npl_shape_count refuses), and its bytes (0 for such a shape).
 * The bytes of NPL_MAX_ELEMENTS elements of any type fit into size_t. */
int64_t npl_tensor_count(const struct npl_tensor *tensor);
size_t npl_tensor_bytes(const struct npl_tensor *tensor);
/* Allocates zeroed data for dtype and shape. Returns NPL_EINPUT when the shape is invalid, or NPL_ENOMEM. */
int npl_tensor_alloc(struct npl_tensor *tensor, struct npl_err *err);
void npl_tensor_free(struct npl_tensor *tensor); /* accepts a zeroed tensor; leaves data NULL */

#ifdef __cplusplus
}
#endif

#endif
