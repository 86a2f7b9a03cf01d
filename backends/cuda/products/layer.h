/* SPDX-License-Identifier: MIT
 *
 * A layer of a layer group, prepared once and run often: products (Gemm, MatMul, Conv, recurrent networks) by cuBLASLt
 * or cuDNN, or a kernel, or no work at all. Weights are brought into the product's form once and stay on the GPU.
 */
#ifndef NPULAB_BACKENDS_CUDA_PRODUCTS_LAYER_H
#define NPULAB_BACKENDS_CUDA_PRODUCTS_LAYER_H

#include "core/ops/ops.h"
#include "device.h"
#include "product.h"

enum cu_method {
	CU_METHOD_NONE,           /* gives data another shape, or has results without elements */
	CU_METHOD_KERNEL,         /* a kernel (kernel.h) */
	CU_METHOD_ROWS,           /* Gemm: rows times a matrix */
	CU_METHOD_STACK,          /* MatMul and other Gemm: matrices times matrices */
	CU_METHOD_STACK_INTEGERS, /* MatMul of two computed 8-bit tensors */
	CU_METHOD_PATCHES,        /* Conv: patches times kernels */
	CU_METHOD_GROUPS,         /* Conv of integers in many groups: a kernel */
	CU_METHOD_DEPTHWISE,      /* Conv of 16-bit floats with a filter per channel, channels last: a kernel */
	CU_METHOD_DNN,            /* Conv by cuDNN */
	CU_METHOD_RECURRENT       /* RNN, GRU, LSTM: products, and a kernel for each step */
};

/* The layout of a layer's weights in its part of the GPU's memory: the matrix (for integers up to three that sum to
 * it), then the bias and the scales. */
struct cu_weights {
	bool matrix, bias;       /* in[1] and in[2] have data and stay on the GPU */
	int parts;               /* matrices that sum to the weights of an integer product */
	int64_t rows, columns;   /* the rows and columns of the layer's matrix */
	int64_t padded_rows, ld; /* rows stored; elements from row to row */
	/* For integers: the elements of a row that belong to one channel, and the distances in memory from a row of the
	 * model's matrix, a channel and a tap to the next. cu_weights_plan sets them for one tap. */
	int64_t taps, row_step, channel_step, tap_step;
	size_t part_bytes, bias_at, scale_at, bytes;
	uint64_t address; /* the address of all weights on the GPU; set by the layer group */
};

/* A convolution as a product: for each image and group, rows of patches times the group's kernels. Integer images with
 * channels last have one product for the pixels of all images (conv_rows.c). */
struct cu_conv {
	/* plane: elements of an input channel; pixels: positions of an image's output; columns: elements of a patch
	 * of a group */
	int64_t images, channels, filters, groups, plane, pixels, columns;
	bool direct; /* a 1x1 kernel: the image itself is the matrix of patches */
	/* elements from channel to channel of the sums: pixels, for integers rounded up to 4; with channels last from
	 * pixel to pixel: filters, rounded up to 4 */
	int64_t sums_stride;
	int64_t chunk_images;           /* images whose patches are in memory at a time */
	int64_t chunk_pixels;           /* pixels of an image at a time, fewer than all only if chunk_images is 1 */
	int64_t chunk_rows;             /* with channels last: pixels of all images at a time */
	size_t patches_at, sums_offset; /* bytes from the start of the scratch memory */
	uint64_t flip;                  /* bits to invert in an unsigned 8-bit input, which make it signed; else 0 */
	bool raw;                       /* Gemm: the sums are the result without another step */
};

/* A stack of matrix products: `outer` batches of them. */
struct cu_stack {
	struct op_walk walk; /* op_walk_at gives where the operands of an outer product begin, in elements */
	int64_t outer, step_y;
	struct cu_stack_operand { /* an operand of a product of integers */
		struct cu_packing packing;
		bool packed, sums;          /* it is packed before the product; with the sums of its rows */
		size_t offset, sums_offset; /* bytes from the start of the scratch memory */
	} operand[2];
	size_t products_offset; /* for integers: offset in the scratch memory of one batch's sums */
};

/* A convolution by cuDNN: its descriptors, and how it is computed. */
struct cu_dnn_layer {
	void *x, *y, *bias, *filter, *convolution, *activation; /* activation: Relu or the identity, after the bias */
	struct cu_dnn_case key;
	int algorithm, math;
	size_t workspace_bytes;
	size_t most_workspace_bytes; /* the most that an algorithm of the heuristic needs, for a search */
	bool own_epilogue;           /* a kernel of ours adds bias and activation, though cuDNN may be able to */
};

/* A recurrent network: its sizes, and the offsets in the scratch memory of what it needs beside its tensors. */
struct cu_recurrent {
	int64_t steps, batch, input, hidden, gates, directions;
	bool separate_hidden_gate; /* a GRU's hidden gate has a product of its own, computed after the reset */
	size_t inputs_at, states_at, candidates_at, reset_at, h_at, c_at;
};

struct cu_layer {
	const struct cu_device *device;
	const struct npl_layer *layer;
	enum cu_precision precision; /* the result of cu_layer_precision */
	enum cu_method method;
	bool channels_last; /* a convolution's images, weights and result have channels last (layout.h) */
	struct cu_weights weights;
	size_t scratch_bytes, workspace_bytes;
	/* Conv has products of a full chunk and of the last one, a recurrent layer those of inputs, states and
	 * candidates. Other layers have [0] alone. */
	struct cu_product product[3];
	struct cu_conv conv;
	struct cu_stack stack;
	struct cu_dnn_layer dnn;
	struct cu_recurrent recurrent;
};

/* Says whether libraries compute the layer as products, not a kernel. */
bool cu_multiplies(const struct npl_layer *layer);
/* Returns the precision in which a layer is computed: the device's. Exceptions: float16 and bfloat16 products are
 * computed in their own type on every device, and a device in int8 computes float32 layers in float32. */
enum cu_precision cu_layer_precision(const struct cu_device *device, const struct npl_layer *layer);
/* Returns the type of a float layer's operands and results. */
enum npl_dtype cu_layer_type(const struct cu_layer *layer);

/* Writes the weights to image, layer->weights.bytes bytes, in the layout that they have on the GPU. */
int cu_layer_fill(const struct cu_layer *layer, char *image, struct npl_err *err);

/* Says whether a Gemm is rows times a matrix (N,K) with one bias per column. */
bool cu_is_rows(const struct npl_layer *layer);

/* weights.c: cu_weights_plan plans the layout of weights (rows, columns), stored as (padded_rows, ld). The other two
 * return the addresses of a part of the matrix and of the bias (0: there is none). */
int cu_weights_plan(struct cu_layer *layer, const bool *resident, int64_t rows, int64_t columns, int64_t ld,
		    int64_t padded_rows, struct npl_err *err);
uint64_t cu_weights_matrix(const struct cu_layer *layer, const struct cu_value *in, int part);
uint64_t cu_weights_bias(const struct cu_layer *layer, const struct cu_value *in);

/* Functions of rows.c. */
bool cu_rows_supports(const struct cu_device *device, const struct npl_layer *layer, char *reason, size_t reason_bytes);
int cu_rows_open(struct cu_layer *layer, const bool *resident, struct npl_err *err);
int cu_rows_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		struct npl_err *err);
/* Applies an activation other than Relu after a product of floats; cuBLASLt itself adds the bias and applies Relu. */
int cu_product_finish(const struct cu_layer *layer, const struct cu_value *y, struct npl_err *err);
/* Makes the result of a product over no elements: zeros, then bias and activation. */
int cu_product_empty(const struct cu_layer *layer, const struct cu_value *in, const struct cu_value *out,
		     struct npl_err *err);

/* Functions of stack.c. */
bool cu_stack_supports(const struct npl_layer *layer, char *reason, size_t reason_bytes);
int cu_stack_open(struct cu_layer *layer, struct npl_err *err);
int cu_stack_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, struct npl_err *err);
/* Returns a shape as a stack of matrices: at least two dimensions, with the 1 that MatMul adds to a vector as the left
 * or right operand. */
struct npl_shape cu_matrices(const struct npl_shape *shape, bool left);
/* Plans the products of stacks a and b: joins the inner dimensions of the batch that one stride can follow (batch,
 * strides and alignment of `shape`); the outer dimensions go into `stack`. */
int cu_stack_plan(struct cu_stack *stack, const struct npl_shape *a, const struct npl_shape *b,
		  struct cu_product_shape *shape, struct npl_err *err);

/* Functions of stack_integers.c. */
bool cu_stack_integers_supports(const struct npl_layer *layer, char *reason, size_t reason_bytes);
int cu_stack_integers_open(struct cu_layer *layer, struct npl_err *err);
int cu_stack_integers_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
			  struct npl_err *err);

/* conv_rows.c: a convolution of integers with channels last, in one group, as a product of the pixels of all images. */
int cu_conv_rows_open(struct cu_layer *layer, const bool *resident, struct npl_err *err);
int cu_conv_rows_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		     struct npl_err *err);
/* Functions of conv_facts.c: cu_conv_padding returns the bits of a convolution's integer input outside the image, made
 * signed. cu_conv_is_pointwise says whether its window takes each element of the image by itself: a 1x1 kernel. */
uint32_t cu_conv_padding(const struct cu_layer *layer);
bool cu_conv_is_pointwise(const struct cu_layer *layer);

/* Functions of conv.c. */
bool cu_conv_supports(const struct cu_device *device, const struct npl_layer *layer, char *reason, size_t reason_bytes);
int cu_conv_open(struct cu_layer *layer, const bool *resident, struct npl_err *err);
int cu_conv_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		struct npl_err *err);
/* Runs a layer by CU_METHOD_GROUPS. */
int cu_groups_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, struct npl_err *err);
/* depthwise.c: cu_is_depthwise says whether a convolution of floats has one filter for each channel and our own kernel
 * can run it. cu_depthwise_run runs a layer by CU_METHOD_DEPTHWISE. */
bool cu_is_depthwise(const struct cu_layer *layer);
int cu_depthwise_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, struct npl_err *err);
/* Adds the bias and applies the fused activation to y (..., channels, inner), if there are such. */
int cu_layer_finish(const struct cu_layer *layer, const struct cu_value *in, const struct cu_value *y, int64_t channels,
		    int64_t inner, struct npl_err *err);

/* conv_dnn.c: prepares a convolution by cuDNN. NPL_EDEVICE: cuDNN does not do this convolution. */
int cu_dnn_layer_open(struct cu_layer *layer, struct npl_err *err);
void cu_dnn_layer_close(struct cu_layer *layer);
int cu_dnn_layer_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, struct npl_err *err);
/* Lists cuDNN's algorithms for the convolution, in the order of its heuristic, without those whose workspace is too
 * large. */
int cu_dnn_layer_algorithms(const struct cu_layer *layer, struct cu_dnn_found found[CU_DNN_ALGORITHMS], int *n,
			    struct npl_err *err);
/* Sets the algorithm with its mathematics and its workspace. */
int cu_dnn_layer_set_algorithm(struct cu_layer *layer, const struct cu_dnn_found *result, struct npl_err *err);
/* Says whether cuDNN adds the bias in the same call with this algorithm. */
bool cu_dnn_layer_fuses_bias(const struct cu_layer *layer, int algorithm);

/* conv_search.c: measures cuDNN's algorithms, each with cuDNN's epilogue and with our own, and sets the fastest. It
 * uses the device's memory of values and its workspace, whatever they contain. A choice is kept for all convolutions
 * with the same parameters. If nothing can be measured, or the convolution is too small for it, the heuristic's choice
 * stays. */
void cu_dnn_layer_search(struct cu_device *device, struct cu_layer *layer);
/* Returns the bytes of the device's memory of values that a search needs; 0: there is no search for this layer. */
size_t cu_dnn_search_bytes(const struct cu_layer *layer);

/* Functions of recurrent.c. */
bool cu_is_recurrent(enum npl_op op);
int cu_recurrent_open(struct cu_layer *layer, struct npl_err *err);
int cu_recurrent_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		     struct npl_err *err);

/* Returns the greatest power of two, up to CU_ALIGNMENT, that divides all n numbers of bytes. */
uint64_t cu_common_alignment(const uint64_t *bytes, int n);

#endif
