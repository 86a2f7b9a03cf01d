/* SPDX-License-Identifier: MIT
 *
 * A layer of a layer group, prepared once and run often: products (Gemm, MatMul, Conv, recurrent networks) by cuBLASLt
 * or cuDNN, a kernel, or nothing at all. Weights are made as the product wants them and stay on the GPU.
 */
#ifndef NPULAB_BACKENDS_CUDA_PRODUCTS_LAYER_H
#define NPULAB_BACKENDS_CUDA_PRODUCTS_LAYER_H

#include "device.h"
#include "product.h"

enum cu_method {
	CU_METHOD_NONE,           /* names data in another shape, or makes no element */
	CU_METHOD_KERNEL,         /* kernel.h */
	CU_METHOD_ROWS,           /* Gemm: rows times a matrix */
	CU_METHOD_STACK,          /* MatMul: matrices times matrices; */
	CU_METHOD_STACK_INTEGERS, /* of 8-bit tensors that are both computed */
	CU_METHOD_PATCHES,        /* Conv: patches times kernels */
	CU_METHOD_GROUPS,         /* Conv of integers in many groups: a kernel */
	CU_METHOD_DNN,            /* Conv by cuDNN */
	CU_METHOD_RECURRENT       /* RNN, GRU, LSTM: products, and a kernel for each step */
};

/* Where a layer's weights lie in its piece of the GPU's memory: the matrix, of integers up to three that sum to it,
 * then bias and scales. */
struct cu_weights {
	bool matrix, bias;       /* which of in[1], in[2] are there */
	int parts;               /* of integers */
	int64_t rows, columns;   /* as the layer has them */
	int64_t padded_rows, ld; /* as they lie */
	size_t part_bytes, bias_at, scale_at, bytes;
	uint64_t address; /* of all; set by the layer group */
};

/* A convolution as a product: for each image and group, rows of patches times the group's kernels. */
struct cu_conv {
	int64_t images, channels, filters, groups, plane, pixels, columns;
	bool direct; /* a 1x1 kernel: the image itself is the matrix */
	int64_t row; /* elements from channel to channel of the sums: pixels, padded where integers ask for it */
	int64_t chunk_images;       /* whose patches are there at a time, */
	int64_t chunk_pixels;       /* or, where one image is too much (chunk_images 1), of how many of its pixels */
	size_t patches_at, sums_at; /* in the scratch memory */
	uint64_t flip;              /* of an unsigned 8-bit input, to make it signed */
	bool raw;                   /* Gemm: the sums are the result as they come */
};

/* A stack of products: `outer` of them, each a batch. */
struct cu_stack {
	int rank; /* of the outer dimensions */
	int64_t outer, dim[NPL_MAX_RANK], step_a[NPL_MAX_RANK], step_b[NPL_MAX_RANK], step_y;
	struct cu_stack_operand { /* of integers */
		struct cu_packing packing;
		bool packed, sums;  /* it is packed first; with the sums of its rows */
		size_t at, sums_at; /* in the scratch memory */
	} operand[2];
	size_t products_at; /* of integers: the sums of one batch, in the scratch memory */
};

/* A convolution by cuDNN: its descriptions, and how it is done. */
struct cu_dnn_layer {
	void *x, *y, *bias, *filter, *convolution, *activation; /* after: Relu, or nothing but the bias */
	struct cu_dnn_case key;
	int algorithm, math;
	size_t workspace_bytes;
	size_t most_workspace_bytes; /* of what the heuristic offers: room for a search */
	bool own_epilogue;           /* bias and activation by a kernel of ours */
};

/* A recurrent network: its sizes, and where what it needs beside its tensors lies in the scratch memory. */
struct cu_recurrent {
	int64_t steps, batch, input, hidden, gates, directions;
	bool separate_hidden_gate; /* a GRU's hidden gate has a product of its own, after the reset */
	size_t inputs_at, states_at, candidates_at, reset_at, h_at, c_at;
};

struct cu_layer {
	const struct cu_device *device;
	const struct npl_layer *layer;
	enum cu_precision precision; /* cu_layer_precision */
	enum cu_method way;
	bool channels_last; /* a convolution's images, weights and result lie so (layout.h) */
	struct cu_weights weights;
	size_t scratch_bytes, workspace_bytes;
	/* Of a full chunk and of the last; of a recurrent network: those of its inputs, states and candidates. */
	struct cu_product product[3];
	struct cu_conv conv;
	struct cu_stack stack;
	struct cu_dnn_layer dnn;
	struct cu_recurrent recurrent;
};

/* Is the layer products, rather than a kernel's? */
bool cu_multiplies(const struct npl_layer *layer);
/* What a layer is computed in: the device's precision, but products of float16 and bfloat16 tensors in these on every
 * device, and on a device of integers float32 where the layer has it so. */
enum cu_precision cu_layer_precision(const struct cu_device *device, const struct npl_layer *layer);
/* The type of the numbers that a layer of floats multiplies and makes. */
enum npl_dtype cu_layer_type(const struct cu_layer *layer);

/* Writes layer->weights.bytes bytes to image: the weights in the layout that they have on the GPU. */
int cu_layer_fill(const struct cu_layer *layer, char *image, struct npl_err *err);

/* Rows times a matrix (N,K) with one bias per column. */
bool cu_is_rows(const struct npl_layer *layer);

/* weights.c: the layout for `rows` x `columns` whose matrix on the GPU has `ld` elements from row to row. */
int cu_weights_plan(struct cu_layer *layer, const bool *resident, int64_t rows, int64_t columns, int64_t ld,
		    int64_t padded_rows, struct npl_err *err);
uint64_t cu_weights_matrix(const struct cu_layer *layer, const struct cu_value *in, int part);
uint64_t cu_weights_bias(const struct cu_layer *layer, const struct cu_value *in);

/* rows.c */
bool cu_rows_take(const struct cu_device *device, const struct npl_layer *layer, char *why, size_t n);
int cu_rows_open(struct cu_layer *layer, const bool *resident, struct npl_err *err);
int cu_rows_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		struct npl_err *err);
/* What follows a product of floats: cuBLASLt itself adds the bias and applies Relu, other activations are a
 * kernel's. */
int cu_product_finish(const struct cu_layer *layer, const struct cu_value *y, struct npl_err *err);
/* A product over no elements: zeros, bias and activation. */
int cu_product_empty(const struct cu_layer *layer, const struct cu_value *in, const struct cu_value *out,
		     struct npl_err *err);

/* stack.c */
bool cu_stack_take(const struct npl_layer *layer, char *why, size_t n);
int cu_stack_open(struct cu_layer *layer, struct npl_err *err);
int cu_stack_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, struct npl_err *err);
/* A shape as a stack of matrices: its last two dimensions, with those of 1 that MatMul gives vectors. */
struct npl_shape cu_matrices(const struct npl_shape *shape, bool left);
/* How the stacks a and b meet: joins the inner dimensions of the batch that cuBLASLt can walk by one stride (batch,
 * strides and alignment of the shape), the outer ones are the stack's. */
void cu_stack_plan(struct cu_stack *stack, const struct npl_shape *a, const struct npl_shape *b,
		   struct cu_product_shape *shape);
/* Where the operands of an outer product begin, in elements. */
void cu_stack_at(const struct cu_stack *stack, int64_t outer, int64_t *a, int64_t *b);

/* stack_integers.c */
bool cu_stack_integers_take(const struct npl_layer *layer, char *why, size_t n);
int cu_stack_integers_open(struct cu_layer *layer, struct npl_err *err);
int cu_stack_integers_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
			  struct npl_err *err);

/* conv.c */
bool cu_conv_take(const struct cu_device *device, const struct npl_layer *layer, char *why, size_t n);
int cu_conv_open(struct cu_layer *layer, const bool *resident, struct npl_err *err);
int cu_conv_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		struct npl_err *err);
/* The way CU_METHOD_GROUPS. */
int cu_groups_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, struct npl_err *err);
/* Adds the bias and applies the fused activation to y (..., channels, inner), if there is any of both. */
int cu_layer_finish(const struct cu_layer *layer, const struct cu_value *in, const struct cu_value *y, int64_t channels,
		    int64_t inner, struct npl_err *err);

/* conv_dnn.c: NPL_EDEVICE: cuDNN does not do this convolution. */
int cu_dnn_layer_open(struct cu_layer *layer, struct npl_err *err);
void cu_dnn_layer_close(struct cu_layer *layer);
int cu_dnn_layer_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, struct npl_err *err);
/* Takes an algorithm, with its mathematics and its workspace. */
int cu_dnn_layer_take(struct cu_layer *layer, const struct cu_dnn_found *found, struct npl_err *err);
/* Whether the bias goes with the convolution by this algorithm. */
bool cu_dnn_layer_joins(const struct cu_layer *layer, int algorithm);

/* conv_search.c: takes the algorithm that is fastest when it is measured, in the device's memory of values and its
 * workspace, whatever they hold; what was once found holds for all convolutions that are alike. Where nothing can be
 * measured, or a convolution is too small to tell, the heuristic's choice stays. */
void cu_dnn_layer_search(struct cu_device *device, struct cu_layer *layer);
/* Memory of values that this takes; 0: it will not be searched for. */
size_t cu_dnn_search_bytes(const struct cu_layer *layer);

/* recurrent.c */
bool cu_is_recurrent(enum npl_op op);
int cu_recurrent_open(struct cu_layer *layer, struct npl_err *err);
int cu_recurrent_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		     struct npl_err *err);

/* The greatest power of two, up to CU_ALIGNMENT, that divides all of n numbers of bytes. */
uint64_t cu_common_alignment(const uint64_t *bytes, int n);

#endif
