/* SPDX-License-Identifier: MIT
 *
 * What the files of core/ops/ share: the prototypes of all operators' functions, expanded from ops.def, and the helpers
 * for attributes, shapes, broadcasting and products. Messages name shapes and attributes, not the node: the caller of
 * an operator puts the node's name before them.
 */
#ifndef NPULAB_CORE_OPS_OPS_H
#define NPULAB_CORE_OPS_OPS_H

#include "exact.h"
#include "npulab/op.h"
#include "window.h"

/* Heads of the four functions of an operator, whose parameters are those of struct npl_op_functions. An operator uses
 * some of them. */
#define OP_UNUSED __attribute__((unused))
#define OP_ATTRS(name)                                                                                                 \
	int name(OP_UNUSED struct npl_attr_list *list, OP_UNUSED struct npl_attrs *out, OP_UNUSED struct npl_err *err)
#define OP_SHAPE(name)                                                                                                 \
	int name(OP_UNUSED struct npl_attrs *attrs, OP_UNUSED const struct npl_tensor *const *in, OP_UNUSED int n_in,  \
		 OP_UNUSED struct npl_tensor *out, OP_UNUSED int n_out, OP_UNUSED struct npl_err *err)
#define OP_RUN(name)                                                                                                   \
	int name(OP_UNUSED const struct npl_attrs *attrs, OP_UNUSED const struct npl_tensor *const *in,                \
		 OP_UNUSED int n_in, OP_UNUSED struct npl_tensor *out, OP_UNUSED int n_out,                            \
		 OP_UNUSED struct npl_err *err)
#define OP_MACS(name)                                                                                                  \
	uint64_t name(OP_UNUSED const struct npl_attrs *attrs, OP_UNUSED const struct npl_tensor *const *in,           \
		      OP_UNUSED int n_in, OP_UNUSED const struct npl_tensor *out)

/* PREFIX_macs is declared for all prefixes and defined for those with NPL_OP_IS_GEMM or NPL_OP_HAS_MACS. Operators of
 * one prefix have the same functions, which tell them apart by attrs->op. */
#define NPL_OP(id, onnx_name, versions, min_in, max_in, outputs, prefix, family, flags, cost)                          \
	OP_ATTRS(prefix##_attrs);                                                                                      \
	OP_SHAPE(prefix##_shape);                                                                                      \
	OP_RUN(prefix##_run);                                                                                          \
	OP_MACS(prefix##_macs);
#include "npulab/ops.def"
#undef NPL_OP

/* Says whether the model's opset precedes this one. An opset of 0, as in layers made without a model, is the newest. */
static inline bool op_before(const struct npl_attrs *attrs, int opset)
{
	return attrs->opset > 0 && attrs->opset < opset;
}

/* Gives a shape as text for a message. The text lives until the enclosing block ends. */
#define OP_TEXT(shape) npl_shape_text((shape), (char[128]){0}, 128)

/* attributes.c: each function reads an attribute, or takes `fallback` when the model leaves it out. */
int op_attr_int(struct npl_attr_list *list, const char *name, int64_t fallback, int64_t *value, struct npl_err *err);
/* Reads a number of at least 1; 0 when absent. */
int op_attr_count(struct npl_attr_list *list, const char *name, int64_t *value, struct npl_err *err);
/* Reads an attribute that is 0 or 1. */
int op_attr_flag(struct npl_attr_list *list, const char *name, bool fallback, bool *value, struct npl_err *err);
int op_attr_float(struct npl_attr_list *list, const char *name, float fallback, float *value, struct npl_err *err);
/* Reads a string, borrowed from the model. */
int op_attr_string(struct npl_attr_list *list, const char *name, const char *fallback, const char **value,
		   struct npl_err *err);
/* Gives the index of a string attribute in a NULL-terminated list of accepted values; refuses every other value. choice
 * may point to an enumeration, which gcc and clang store as unsigned. */
int op_attr_choice(struct npl_attr_list *list, const char *name, const char *const *choices, unsigned fallback,
		   unsigned *choice, struct npl_err *err);
/* Reads at most `capacity` values; *n is -1 when absent. */
int op_attr_ints(struct npl_attr_list *list, const char *name, int capacity, int64_t *values, int *n,
		 struct npl_err *err);
/* Reads an ONNX element type by its number; NPL_DTYPES when absent. Refuses strings and complex numbers. */
int op_attr_type(struct npl_attr_list *list, const char *name, enum npl_dtype *type, struct npl_err *err);
/* Gives the floats of a list, borrowed from the model; *n is -1 when absent. */
int op_attr_floats(struct npl_attr_list *list, const char *name, const float **values, int64_t *n, struct npl_err *err);
/* Finds an attribute and marks it used; *attr is NULL when it is absent. Refuses another type with NPL_EINPUT. */
int op_attr_find(struct npl_attr_list *list, const char *name, enum npl_attr_type type, struct npl_attr **attr,
		 struct npl_err *err);
/* Accepts an attribute that does not change what inference computes, whatever its value. */
void op_attr_accept(struct npl_attr_list *list, const char *name);

/* Functions of inputs.c. */
/* Checks that the first `required` inputs are there, and that every input that is there has a possible shape and,
 * unless dtype is NPL_DTYPES, that type. */
int op_inputs(const struct npl_tensor *const *in, int n_in, int required, enum npl_dtype dtype, struct npl_err *err);
/* Makes a negative axis count from the end; refuses an axis outside of -rank..last. */
int op_axis(int64_t *axis, int rank, int64_t last, struct npl_err *err);
/* Reads a constant one-dimensional int64 input of at most NPL_MAX_RANK elements, called `input_name`. */
int op_input_dims(const struct npl_tensor *tensor, const char *input_name, int64_t *values, int *n,
		  struct npl_err *err);
/* Reads such an input of int32 or int64, as indices may be. */
int op_input_indices(const struct npl_tensor *tensor, const char *input_name, int64_t *values, int *n,
		     struct npl_err *err);
/* Checks that an input is constant and one number: a scalar or a vector of one. */
int op_input_scalar(const struct npl_tensor *tensor, const char *input_name, struct npl_err *err);
/* Makes axes from a constant input or attribute list positive; refuses an axis that occurs twice. */
int op_axes(int64_t *axes, int n, int rank, struct npl_err *err);
/* Refuses an input whose values a rule must know and does not: "the WHAT must be constant...". */
int op_refuse_not_constant(const char *input_name, struct npl_err *err);
/* Makes the shape of n dimensions (at most NPL_MAX_RANK) that a model asks for; refuses negative ones. */
int op_requested_shape(const int64_t *dims, int n, struct npl_shape *shape, struct npl_err *err);
/* Refuses a shape with too many elements, or more than 2^63 multiply-accumulates (count * per_element). */
int op_output_fits(const struct npl_shape *shape, int64_t macs_per_element, struct npl_err *err);
/* The kernel of the view operators: copies the bytes of in[0] to out[0]. */
int op_copy_bytes(const struct npl_tensor *in, struct npl_tensor *out);
/* Returns the product of dimensions of a shape that has been checked. */
int64_t op_count(const int64_t *dim, int n);

/* Computes the elements from one index to the next of each dimension. */
void op_strides(const struct npl_shape *shape, int64_t stride[NPL_MAX_RANK]);
/* Fills n elements of `size` bytes with copies of the given one. */
void op_fill(void *to, const void *element, size_t size, int64_t n);
/* Permutes dimensions: dimension i of the result is dimension perm[i] of x (strided.c). */
void op_permute(size_t element, int rank, const int64_t *dim, const int64_t *perm, const void *x, void *y);
/* Transposes from(rows,cols) into to(cols,rows). */
void op_turn_matrix(const float *from, int64_t rows, int64_t cols, float *to);

/* pick.c: finds the elements of a tensor of shape x that a tensor of indices names. Indices are int32 or int64;
 * negative ones count from the end. An index out of range is refused when it is read. */
int op_pick_type(const struct npl_tensor *indices, struct npl_err *err);
int op_pick_index(const struct npl_tensor *indices, int64_t i, int64_t size, int64_t *index, struct npl_err *err);
struct op_pick { /* one after the other in the order of the indices: each replaces the index along an axis */
	const struct npl_tensor *indices;
	int rank, axis;
	int64_t next, position[NPL_MAX_RANK], stride[NPL_MAX_RANK], size;
};
void op_pick_init(struct op_pick *iterator, const struct npl_shape *x, int axis, const struct npl_tensor *indices);
int op_pick_next(struct op_pick *iterator, int64_t *offset, struct npl_err *err);
/* Finds the element of tuple i of indices along their last dimension, over the dimensions of x from `first` on. */
int op_pick_tuple(const struct npl_tensor *indices, int64_t i, const struct npl_shape *x, int first, int64_t *offset,
		  struct npl_err *err);

/* index_map.c: computes y(i, j...) = x(from[0][i], from[1][j]...), or takes the fill where an index is negative. */
struct op_index_map {
	int64_t *from[NPL_MAX_RANK];
};
int op_index_map_alloc(struct op_index_map *map, const struct npl_shape *y, struct npl_err *err);
void op_index_map_free(struct op_index_map *map);
void op_index_map_copy(const struct op_index_map *map, const struct npl_tensor *x, const void *fill,
		       struct npl_tensor *y);

/* Functions of window.c. */
/* Reads kernel_shape, strides, dilations, pads and auto_pad; rank is 0 when no list shows it. */
int op_window_attrs(struct npl_attr_list *list, struct npl_window *window, struct npl_err *err);
/* Reads a list with one value per spatial dimension into a window's order; *rank is its length, 0: any. */
int op_window_list(struct npl_attr_list *list, const char *name, int *rank, int64_t value[NPL_VOLUME],
		   struct npl_err *err);
/* Fixes the window's rank and kernel for input x, and for a convolution weight w (NULL for pooling). Checks the
 * window's numbers. */
int op_window_kernel(struct npl_window *window, const struct npl_shape *x, const struct npl_shape *w,
		     struct npl_err *err);
/* Does the same, replaces auto_pad by pads, and gives the spatial output sizes. */
int op_window_complete(struct npl_window *window, const struct npl_shape *x, const struct npl_shape *w,
		       int64_t output[NPL_VOLUME], struct npl_err *err);
/* Returns the window as kernels over three dimensions see it: a window of rank 1 or 2, perhaps made by hand, gets a
 * depth of 1. */
struct npl_window op_window_volume(const struct npl_window *window);
/* Returns the shape (N, channels, spatial sizes), with as many spatial dimensions as the window's rank. */
struct npl_shape op_window_shape(const struct npl_window *window, int64_t images, int64_t channels,
				 const int64_t output[NPL_VOLUME]);

/* op_volume returns the elements of a volume, op_row the element that begins row y of its slice z. */
static inline int64_t op_volume(const int64_t size[NPL_VOLUME])
{
	return size[NPL_DEPTH] * size[0] * size[1];
}
static inline int64_t op_row(const int64_t size[NPL_VOLUME], int64_t z, int64_t y)
{
	return (z * size[0] + y) * size[1];
}
/* Returns the input position along dimension d that the kernel's element `tap` reads for an output position. */
static inline int64_t op_window_reads(const struct npl_window *window, int d, int64_t output, int64_t tap)
{
	return output * window->stride[d] - window->pad_begin[d] + tap * window->dilation[d];
}
static inline bool op_inside(int64_t index, int64_t size)
{
	return index >= 0 && index < size;
}

/* broadcast.c: walks two operands together over the shape that they broadcast to. */
struct op_walk {
	int rank; /* the number of dimensions, at least 1; neighbouring ones that walk alike are merged */
	int64_t dim[NPL_MAX_RANK];
	/* the elements of an operand from one position to the next; 0 along a dimension in which it broadcasts */
	int64_t a[NPL_MAX_RANK], b[NPL_MAX_RANK];
};
int op_broadcast_shape(const struct npl_shape *a, const struct npl_shape *b, struct npl_shape *out,
		       struct npl_err *err);
void op_walk_init(struct op_walk *walk, const struct npl_shape *out, const struct npl_shape *a,
		  const struct npl_shape *b);
/* Steps through the outer dimensions, all except the last `inner`; index is zeroed before the first call. Returns false
 * after the last step. */
bool op_walk_next(const struct op_walk *walk, int inner, int64_t index[NPL_MAX_RANK], int64_t *offset_a,
		  int64_t *offset_b);
/* Gives the operands' offsets at position i of all. */
void op_walk_at(const struct op_walk *walk, int64_t i, int64_t *offset_a, int64_t *offset_b);

/* matmul.c: the sizes of the matrices of one operand of a MatMul, and the shape of the stack of them. */
struct op_stack {
	int64_t rows, cols;
	struct npl_shape batch;
};
struct op_stack op_stack_of(const struct npl_shape *shape, bool is_left);
/* Walks the products of two stacks, in elements of the operands; `batch` is the shape of the stack of results. */
void op_stack_walk(struct op_walk *walk, const struct npl_shape *batch, const struct op_stack *a,
		   const struct op_stack *b);
/* Gives the shape of a product; NPL_EINPUT when the operands do not multiply. */
int op_matmul_result(const struct npl_shape *a, const struct npl_shape *b, struct npl_shape *y, struct npl_err *err);

/* conv.c: gives the shape of Conv's result and completes the window. bias may be NULL. */
int op_conv_result(struct npl_attrs *attrs, const struct npl_shape *x, const struct npl_shape *w,
		   const struct npl_tensor *bias, struct npl_shape *y, struct npl_err *err);

/* elementwise.c: functions that the operators of two operands share. */
/* Gives the shape of a binary operator's result: that to which a and b broadcast, before opset 7 that of a. */
int op_binary_broadcast(struct npl_attrs *attrs, const struct npl_shape *a, const struct npl_shape *b,
			struct npl_shape *out, struct npl_err *err);
/* Returns the shape of b as it broadcasts: before opset 7 its dimensions meet a's from axis on (-1: the last ones
 * meet). */
struct npl_shape op_legacy_operand(const struct npl_attrs *attrs, const struct npl_shape *a, const struct npl_shape *b);
/* Refuses operand b if b_shape does not broadcast to the shape of a. */
int op_broadcast_to(const struct npl_shape *b, const struct npl_shape *b_shape, const struct npl_shape *a,
		    struct npl_err *err);

/* product.c: computes y(rows,cols) += a(rows,depth) * b(depth,cols) in float. The products of an element of y are added
 * one after the other, in ascending depth, to what y held. So the result does not depend on blocking, vector width or
 * the number of rows. */
#define OP_MAX_WIDTH 16 /* columns of a panel: two vectors, of 4 floats with SSE2 and of 8 with AVX2 */
struct op_product {
	int64_t rows, cols, depth;
	const float *a; /* a(i,k) = a[i * a_stride + k] */
	int64_t a_stride;
	/* Copies b(k0..k0+depth, n0..n0+cols) to panel[k * width + n]; cols <= width. */
	void (*pack)(const void *b, int64_t k0, int64_t depth, int64_t n0, int cols, float *panel, int width);
	const void *b;
	float *y; /* y(i,n) = y[i * y_stride + n] */
	int64_t y_stride;
	bool baseline; /* SSE2 even where AVX2 exists: a test compares the two */
};
struct op_matrix { /* b given as an array */
	const float *data;
	int64_t stride; /* b(k,n) = data[k * stride + n], or data[n * stride + k] when transposed */
	bool transposed;
};
int op_product(const struct op_product *product, struct npl_err *err);
/* Computes a product with b given as a matrix: sets pack and b itself. */
int op_product_matrix(struct op_product *product, const struct op_matrix *b, struct npl_err *err);

#endif
