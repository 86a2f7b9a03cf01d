/* SPDX-License-Identifier: MIT
 *
 * The kernels that npulab itself has for the GPU: every operator that is neither a matrix product nor a convolution,
 * and what is done before and after those. NVRTC compiles a source when a layer first needs it; the kernel is kept
 * until the device is closed. A launch returns at once: its results are ready when the stream has reached it.
 *
 * A tensor that its layer declares float32 may be stored as float32, float16 or bfloat16; kernels compute in float32 in
 * each case and round once. All float tensors of a layer are stored in one type, except the vectors of a normalisation,
 * which may have another. Integers and bool are stored as they are declared.
 */
#ifndef NPULAB_BACKENDS_CUDA_KERNEL_KERNEL_H
#define NPULAB_BACKENDS_CUDA_KERNEL_KERNEL_H

#include <stdint.h>

#include "backends/cuda/load/nvrtc.h"
#include "npulab/layer.h"
#include "precision.h"

/* A tensor on the GPU. */
struct cu_value {
	uint64_t address; /* aligned to its element type; 0: absent, or not read (cu_kernel_reads) */
	enum npl_dtype dtype;
	struct npl_shape shape;
	bool channels_last; /* stored as (N, ..., C), while shape stays (N, C, ...); rank 3 or more */
};

struct cu_kernels; /* opaque: the compiled kernels of one GPU */

/* Makes an empty set of kernels for a GPU of a compute capability (90 is 9.0). The GPU's context must be current in
 * every call. The driver and NVRTC are borrowed. */
int cu_kernels_open(const struct cu_driver *driver, const struct cu_nvrtc *nvrtc, int capability,
		    struct cu_kernels **kernels, struct npl_err *err);
void cu_kernels_close(struct cu_kernels *kernels); /* accepts NULL */
/* Returns how many kernels have been compiled, and the seconds that compiling took. */
int cu_kernels_count(const struct cu_kernels *kernels, double *seconds);
/* Sets the address of the fault word, an int to which kernels write what is wrong with their input (enum cu_fault).
 * 0, the default: faults are not reported. */
void cu_kernels_fault_at(struct cu_kernels *kernels, uint64_t address);
/* Sets the address of a 64-bit counter to which kernels launched from now on add the number of values that they
 * saturate (docs/integers.md). 0, the default: saturation is not counted. */
void cu_kernels_count_at(struct cu_kernels *kernels, uint64_t address);
/* Makes every kernel compute positions in 64 bits, as it does for tensors of 2^31 elements. It is for tests. */
void cu_kernels_widen(struct cu_kernels *kernels);

/* Returns the type in which a tensor of a declared type is stored in a precision. */
enum npl_dtype cu_stored(enum npl_dtype declared, enum cu_precision precision);

/* Says whether kernels can run the layer; if not, `reason` says why. In int8 they run only layers of quantised
 * tensors, by the integer rules. In every other precision they run layers of floats and of a model's plain integers.
 * Tensors need no data. */
bool cu_kernel_supports(const struct npl_layer *layer, enum cu_precision precision, char *reason, size_t reason_bytes);
/* How a layer accepts tensors with channels last. */
enum cu_layouts {
	CU_LAYOUT_PLAIN, /* all tensors must be in ONNX's order */
	CU_LAYOUT_READS, /* the first input may be in either order, all else must be in ONNX's */
	/* Results may be in either order. Inputs of the result's rank: by cu_kernel_same_layout; all others must be in
	 * ONNX's order. */
	CU_LAYOUT_FOLLOWS
};
enum cu_layouts cu_kernel_layouts(const struct npl_layer *layer);
/* Says whether input k of a CU_LAYOUT_FOLLOWS layer must have the result's order. If not, it may have either order. */
bool cu_kernel_same_layout(const struct npl_layer *layer, int k);
/* Says whether result k has the first result's order instead of ONNX's. */
bool cu_kernel_follows(const struct npl_layer *layer, int k);
/* Says whether input k must be on the GPU. An input that the shape rule has read already (Reshape's shape, Slice's
 * starts) need not be. */
bool cu_kernel_reads(const struct npl_layer *layer, int k);
/* Runs a layer that cu_kernel_supports accepts. in[k] is the value of layer->in[k]; out[0] and after it
 * layer->n_further values are the results (address 0: not wanted). Results overlap neither each other nor an input,
 * except that Reshape and similar operators may have their input's address as result. Returns 0, NPL_EDEVICE where the
 * driver fails, or NPL_EINTERNAL where a kernel does not compile. */
int cu_kernel_run(struct cu_kernels *kernels, const struct npl_layer *layer, const struct cu_value *in,
		  struct cu_value *out, void *stream, struct npl_err *err);

/* Converts x to y's type and order, between what the host has and what the GPU stores. x and y have one shape. If both
 * are in ONNX's order, an equal number of elements is enough. */
int cu_kernel_cast(struct cu_kernels *kernels, const struct cu_value *x, const struct cu_value *y, void *stream,
		   struct npl_err *err);

/* Computes y = fused(x + bias) for floats. x and y are (..., channels, inner), bias is (channels). The bias's address
 * is 0 if there is none. y may be x. */
int cu_kernel_bias(struct cu_kernels *kernels, const struct cu_value *x, const struct cu_value *bias, int64_t channels,
		   int64_t inner, enum npl_activation fused, const struct cu_value *y, void *stream,
		   struct npl_err *err);

/* Converts the sums x of an int8 product, int32 (..., channels, inner), to y by the integer rule, with type, scale and
 * zero point of `out`. Sums are in rows of `ld` elements, of which the first `length` are used; ld 0: without gaps.
 * bias (int32) and scale (float, x_scale * w_scale / finish scale, see cu_sums_scale) are (channels) on the GPU. If y
 * is int32 it may be x, and scale is not read. */
int cu_kernel_sums(struct cu_kernels *kernels, const struct cu_value *x, uint64_t bias, uint64_t scale,
		   int64_t channels, int64_t inner, int64_t length, int64_t ld, enum npl_activation fused,
		   const struct npl_tensor *out, uint64_t y, void *stream, struct npl_err *err);
/* Returns the scale of one channel for cu_kernel_sums; w is the layer's weight. */
float cu_sums_scale(const struct npl_tensor *x, const struct npl_tensor *w, int64_t channel, enum npl_activation fused,
		    const struct npl_tensor *out);

/* Says whether kernels can hold the numbers of a window; if not, `reason` says why. */
bool cu_kernel_takes_window(const struct npl_window *window, char *reason, size_t reason_bytes);

/* Writes patches of a convolution's input as a matrix z (rows, row_elements). There is a row for each output position
 * from `first` on, counted over all images; it has the taps of each channel of one group, then padding up to
 * row_elements. Positions outside the image and the padding are pad_bits (the element's bits: 0, or x's zero point).
 * Elements have 1, 2 or 4 bytes. If x has channels last, a row has the channels of each tap instead, x has elements of
 * 1 byte, and there is one group. */
struct cu_patches {
	const struct npl_window *window; /* a window of rank 1 to 3, after the shape rule */
	const struct npl_shape *out;     /* shape of the convolution's result */
	int64_t group, groups;
	int64_t first, rows, row_elements;
	uint32_t pad_bits;
	uint32_t flip; /* bits to invert, except in pad_bits: 0x80 makes unsigned 8-bit numbers signed */
};
int cu_kernel_im2col(struct cu_kernels *kernels, const struct cu_value *x, const struct cu_patches *patches, uint64_t z,
		     void *stream, struct npl_err *err);

/* Runs a whole convolution of 8-bit integers in groups, with a thread for each result: faster where patches are short.
 * Weights are stored as for a product: `parts` matrices that sum to the weights, each with a row of `ld` bytes for each
 * filter. If x has channels last, so has y, and the matrices have a row for each tap and, within it, each channel of a
 * group; an element of a row belongs to one filter. bias and scale are as in cu_kernel_sums. Outside the image x is
 * `pad`, a signed number; `flip` is as in struct cu_patches. y has the shape of `out` and gets type, scale and zero
 * point of `out` by the rule of cu_kernel_sums. */
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

/* Runs a whole depthwise convolution of floats, y = fused(x * weights + bias). x and y have channels last and one type,
 * and as many channels; weights (taps, channels) and bias (channels) have that type too. bias 0: there is none. */
int cu_kernel_depthwise(struct cu_kernels *kernels, const struct cu_value *x, const struct npl_window *kernel,
			uint64_t weights, uint64_t bias, enum npl_activation fused, const struct cu_value *y,
			void *stream, struct npl_err *err);

/* Packs 8-bit matrices for an integer product. x is (matrices, filled_rows, columns) or, if turned, (matrices, columns,
 * filled_rows). z is (matrices, rows, ld); elements that x does not have are 0. `flip` is as in struct cu_patches.
 * `sums` is the address for int32 sums (matrices, rows) of each row's elements as signed numbers; 0: they are not
 * wanted. */
struct cu_packing {
	int64_t matrices, filled_rows, rows, columns, ld;
	bool turned;
	uint32_t flip;
};
int cu_kernel_pack(struct cu_kernels *kernels, uint64_t x, const struct cu_packing *packing, uint64_t z, uint64_t sums,
		   void *stream, struct npl_err *err);

/* Converts sums of products of packed matrices, x int32 (matrices, rows, columns) with rows `ld` apart, to results with
 * type, scale and zero point of `out` by the rule of cu_kernel_sums. Each sum first gets `constant` + row_factor * the
 * sum of its row + column_factor * the sum of its column added. Consecutive matrices' row sums are row_step apart,
 * their column sums column_step. */
struct cu_stack_sums {
	int64_t matrices, rows, columns, ld;
	uint64_t row_sums, column_sums; /* addresses; 0: none */
	int64_t row_step, column_step;
	int row_factor, column_factor;
	uint32_t constant;
	float scale;
};
int cu_kernel_stack_sums(struct cu_kernels *kernels, uint64_t x, const struct cu_stack_sums *sums,
			 enum npl_activation fused, const struct npl_tensor *out, uint64_t y, void *stream,
			 struct npl_err *err);

/* The cells of a recurrent network: sizes, functions and addresses, with which one step is run from the sums of its
 * products to its states. h, y, bias, peepholes and reset are stored in one type; sums and c are floats. h and reset
 * are (directions, batch, hidden), or (batch, directions, hidden) with batch_first. */
struct cu_cells {
	enum npl_op op; /* NPL_OP_RNN, NPL_OP_GRU or NPL_OP_LSTM */
	const struct npl_recurrent_attrs *attrs;
	int64_t steps, batch, hidden, gates, directions;
	enum npl_dtype dtype;
	uint64_t inputs; /* sums of X W: per row of X the gates of all directions; 0: there are none */
	/* Sums of h R: the gates of each direction and sample, without the hidden gate if `candidates` has it. */
	uint64_t states;
	/* Sums of the hidden gate of a GRU whose reset comes before the product: (r h) R. 0 for all others. */
	uint64_t candidates;
	uint64_t bias, peepholes, lengths; /* addresses; 0: absent */
	uint64_t h, c, reset, y;
};
/* Computes h, c and y of step `step`. A length outside 0..steps sets the fault word and is replaced by the nearest
 * valid one. */
int cu_kernel_cells(struct cu_kernels *kernels, const struct cu_cells *cells, int64_t step, void *stream,
		    struct npl_err *err);
/* Computes r h of a GRU, before the product with R's hidden gate. */
int cu_kernel_reset(struct cu_kernels *kernels, const struct cu_cells *cells, int64_t step, void *stream,
		    struct npl_err *err);

#endif
