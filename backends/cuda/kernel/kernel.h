/* SPDX-License-Identifier: MIT
 *
 * The GPU's own kernels: every operator that is neither a matrix product nor a convolution, and what goes before and
 * after those. Sources are compiled by NVRTC when a layer first needs them and kept until the end. A launch returns at
 * once: results are there when the stream has come so far.
 *
 * A tensor that its layer declares float32 may be stored as float32, float16 or bfloat16; kernels compute it in float32
 * whatever it is stored as, and round once. One layer's float tensors are stored alike, except the vectors of a
 * normalisation, which may differ from its data. Integers and bool are stored as they are declared.
 */
#ifndef NPULAB_BACKENDS_CUDA_KERNEL_KERNEL_H
#define NPULAB_BACKENDS_CUDA_KERNEL_KERNEL_H

#include <stdint.h>

#include "backends/cuda/load/nvrtc.h"
#include "npulab/layer.h"
#include "precision.h"

/* A tensor on the GPU. */
struct cu_value {
	uint64_t address; /* aligned to its element; 0: absent, or not read (cu_kernel_reads) */
	enum npl_dtype dtype;
	struct npl_shape shape;
	bool channels_last; /* elements lie as (N, ..., C), the shape is (N, C, ...) as ever; of rank 3 and more */
};

struct cu_kernels; /* opaque: the kernels of one GPU that have been compiled */

/* For a GPU of a compute capability (90 is 9.0), whose context is current in every call. The driver and NVRTC are
 * borrowed. */
int cu_kernels_open(const struct cu_driver *driver, const struct cu_nvrtc *nvrtc, int capability,
		    struct cu_kernels **kernels, struct npl_err *err);
void cu_kernels_close(struct cu_kernels *kernels); /* accepts NULL */
/* Kernels compiled so far, and the seconds that it took. */
int cu_kernels_count(const struct cu_kernels *kernels, double *seconds);
/* The address of an int that indices outside of their tensor set to 1 (Gather and its like then take the nearest
 * element that is there), NaNs that are to be integers to 2, and lengths that no sequence has to 3; 0, the default:
 * nobody is told. */
void cu_kernels_fault_at(struct cu_kernels *kernels, uint64_t address);
/* The address of a number of 64 bits to which kernels that are launched from now on add the values that they saturate
 * (docs/integers.md); 0, the default: nobody counts. */
void cu_kernels_count_at(struct cu_kernels *kernels, uint64_t address);
/* For tests: positions of 64 bits in every kernel, as tensors of 2^31 elements have them. */
void cu_kernels_widen(struct cu_kernels *kernels);

/* What a tensor of a declared type is stored as in a precision. */
enum npl_dtype cu_stored(enum npl_dtype declared, enum cu_precision precision);

/* Is this layer among those that kernels run? If not, the reason in why. In int8 layers of quantised tensors alone, by
 * the integer rules; in every other precision layers of floats, and of integers as a model has them. Data
 * need not be there. */
bool cu_kernel_takes(const struct npl_layer *layer, enum cu_precision precision, char *why, size_t n);
/* How a layer that is taken has its tensors where some lie with channels last. */
enum cu_layouts {
	CU_LAYOUT_PLAIN, /* all of them as ONNX has them */
	CU_LAYOUT_READS, /* the first input in any way, all else as ONNX has it */
	/* Results as its input; inputs of the result's rank by cu_kernel_same_layout, others as ONNX has them. */
	CU_LAYOUT_FOLLOWS
};
enum cu_layouts cu_kernel_layouts(const struct npl_layer *layer);
/* Of a layer that follows the order of its input: whether input k must lie as the result does. Otherwise any order will
 * do. */
bool cu_kernel_same_layout(const struct npl_layer *layer, int k);
/* Whether result k lies as the first does, rather than as ONNX has it. */
bool cu_kernel_follows(const struct npl_layer *layer, int k);
/* Whether input k of a layer must be on the GPU: what the shape rule has read (Reshape's shape, Slice's starts) need
 * not. */
bool cu_kernel_reads(const struct npl_layer *layer, int k);
/* Runs a layer that is taken: in[k] as layer->in[k], out[0] and after it those of layer->n_further (address 0: nobody
 * reads it). Results of different tensors do not overlap, and overlap no input, but a Reshape and its like may be given
 * its input's address. NPL_EDEVICE: the driver fails; NPL_EINTERNAL: a kernel does not compile. */
int cu_kernel_run(struct cu_kernels *kernels, const struct npl_layer *layer, const struct cu_value *in,
		  struct cu_value *out, void *stream, struct npl_err *err);

/* y = x in y's type and with its channels where y has them: the way between what the host has and what the GPU stores.
 * Tensors of one shape, or of one number of elements that both lie as ONNX has them. */
int cu_kernel_cast(struct cu_kernels *kernels, const struct cu_value *x, const struct cu_value *y, void *stream,
		   struct npl_err *err);

/* y = fused(x + bias) for floats; x is (..., channels, inner), bias one of each channel, its address 0: none. y may be
 * x. */
int cu_kernel_bias(struct cu_kernels *kernels, const struct cu_value *x, const struct cu_value *bias, int64_t channels,
		   int64_t inner, enum npl_activation fused, const struct cu_value *y, void *stream,
		   struct npl_err *err);

/* The sums of an int8 product (int32, (..., channels, inner)) to its result, by the integer rule: y takes
 * type, scale and zero point of `out`. Sums lie in rows of `length`, the first elements of `ld`; 0: one after the
 * other. bias (int32) and scale (float, x_scale * w_scale / finish scale, see cu_sums_scale) are one of each channel
 * and on the GPU. y may be x where it is int32: then no scale is read. */
int cu_kernel_sums(struct cu_kernels *kernels, const struct cu_value *x, uint64_t bias, uint64_t scale,
		   int64_t channels, int64_t inner, int64_t length, int64_t ld, enum npl_activation fused,
		   const struct npl_tensor *out, uint64_t y, void *stream, struct npl_err *err);
/* The scale of one channel for it: w is the layer's weight. */
float cu_sums_scale(const struct npl_tensor *x, const struct npl_tensor *w, int64_t channel, enum npl_activation fused,
		    const struct npl_tensor *out);

/* The patches of a convolution's input as a matrix: a row of row_elements for each output position from `first` on,
 * `rows` of them, counted over all images: the channels of one group, each with its taps, then padding up to
 * row_elements. Positions outside the image have the value pad_bits (the element's bits: 0, or x's zero point). Any
 * type of 1, 2 or 4 bytes. */
struct cu_patches {
	const struct npl_window *window; /* of rank 1 to 3, as the shape rule leaves it */
	const struct npl_shape *out;     /* of the convolution's result */
	int64_t group, groups;
	int64_t first, rows, row_elements;
	uint32_t pad_bits;
	uint32_t flip; /* bits that change on the way, except pad_bits: 0x80 makes an unsigned 8-bit number signed */
};
int cu_kernel_im2col(struct cu_kernels *kernels, const struct cu_value *x, const struct cu_patches *patches, uint64_t z,
		     void *stream, struct npl_err *err);

/* A whole convolution of 8-bit integers in groups, a thread to each result: for short patches. Weights lie as a product
 * wants them: for each filter a row of `ld` bytes, `parts` matrices that sum to them; bias and scale as for
 * cu_kernel_sums. Outside the image x is `pad`, a signed number; `flip` as above. y has the shape of `out` and takes
 * its type, scale and zero point, by cu_kernel_sums' rule. */
struct cu_groups {
	const struct npl_window *window;
	int64_t groups, ld;
	uint64_t weights, part_bytes, bias, scale;
	int parts, pad;
	uint32_t flip;
};
int cu_kernel_integer_conv(struct cu_kernels *kernels, const struct cu_value *x, const struct cu_groups *groups,
			   enum npl_activation fused, const struct npl_tensor *out, uint64_t y, void *stream,
			   struct npl_err *err);

/* 8-bit matrices as rows of a product: x holds `matrices` of used x columns elements or, turned, of columns x used; z
 * gets of each `rows` rows of `ld` elements, those that are not there 0, `flip` as above. sums: the sum of each row's
 * elements as signed numbers, int32; 0: not wanted. */
struct cu_packing {
	int64_t matrices, used, rows, columns, ld;
	bool turned;
	uint32_t flip;
};
int cu_kernel_pack(struct cu_kernels *kernels, uint64_t x, const struct cu_packing *packing, uint64_t z, uint64_t sums,
		   void *stream, struct npl_err *err);

/* The sums of such products (int32, at x: matrices x rows x columns, rows `ld` apart) to results of out's type, scale
 * and zero point, by cu_kernel_sums' rule: each sum + all + row_factor * its row's sum + column_factor * its column's.
 * The sums of a matrix' rows lie row_step after those of the matrix before, of its columns column_step. */
struct cu_stack_sums {
	int64_t matrices, rows, columns, ld;
	uint64_t row_sums, column_sums; /* 0: none */
	int64_t row_step, column_step;
	int row_factor, column_factor;
	uint32_t all;
	float scale;
};
int cu_kernel_stack_sums(struct cu_kernels *kernels, uint64_t x, const struct cu_stack_sums *sums,
			 enum npl_activation fused, const struct npl_tensor *out, uint64_t y, void *stream,
			 struct npl_err *err);

/* Recurrent cells: what a whole network knows (sizes, functions, where all lies), and one step of it, from the sums of
 * its products to its states. h, y, bias, peepholes and what a reset leaves are stored in one type, sums and c are
 * floats; h and the reset's result are (directions, batch, hidden), or (batch, directions, hidden) with batch_first. */
struct cu_cells {
	enum npl_op op; /* RNN, GRU, LSTM */
	const struct npl_recurrent_attrs *how;
	int64_t steps, batch, hidden, gates, directions;
	enum npl_dtype stored;
	uint64_t inputs; /* X times W: for each row of X all gates of all directions; 0: there are no inputs */
	/* The products of the states with R: the gates of each direction and sample, without the hidden one where
	 * `candidates` has it. */
	uint64_t states;
	/* Of a GRU whose reset comes before the product: what the reset leaves of the state, times R's hidden gate.
	 * Else 0. */
	uint64_t candidates;
	uint64_t bias, peepholes, lengths; /* 0: none */
	uint64_t h, c, reset, y;
};
/* h, c and y of step `step`. A length outside of 0..steps sets the fault word to 3 and is taken as the nearest. */
int cu_kernel_cells(struct cu_kernels *kernels, const struct cu_cells *cells, int64_t step, void *stream,
		    struct npl_err *err);
/* What a GRU's reset gate leaves of h, before the product with R's hidden gate. */
int cu_kernel_reset(struct cu_kernels *kernels, const struct cu_cells *cells, int64_t step, void *stream,
		    struct npl_err *err);

#endif
