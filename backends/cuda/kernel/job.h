/* SPDX-License-Identifier: MIT
 *
 * Declarations that the files of this folder, the host's side of kernels, share: macros for sources, launches, divisors
 * and walks.
 */
#ifndef NPULAB_BACKENDS_CUDA_KERNEL_JOB_H
#define NPULAB_BACKENDS_CUDA_KERNEL_JOB_H

#include "backends/cuda/kernels/kernel_args.h"
#include "core/base/dtype.h"
#include "core/base/message.h"
#include "core/base/refuse.h"
#include "kernel.h"

/* One call of cu_kernel_run or another function of kernel.h. */
struct cu_job {
	struct cu_kernels *kernels;
	void *stream;
	struct npl_err *err;
};

/* The macros with which a source is compiled, "X=f32 N=4". */
struct cu_macros {
	char text[320];
};
#define cu_macro(macros, ...) npl_append((macros)->text, sizeof(macros)->text, " ", __VA_ARGS__)

/* The size of a launch of a kernel. */
struct cu_grid {
	int64_t blocks; /* wanted; the grid may have fewer, whose threads loop over the rest */
	unsigned x, y;  /* threads of a block */
};
int cu_launch(const struct cu_job *job, const char *name, const struct cu_macros *macros, const void *args,
	      struct cu_grid grid);
/* Launches a kernel with a thread for each of n elements (or packs of them). */
int cu_launch_each(const struct cu_job *job, const char *name, const struct cu_macros *macros, const void *args,
		   int64_t n);
/* Adds the macro WIDE if positions up to `largest` need 64 bits. */
void cu_macro_wide(const struct cu_job *job, struct cu_macros *macros, int64_t largest);
uint64_t cu_fault_of(const struct cu_job *job);
uint64_t cu_counter_of(const struct cu_job *job);

struct cu_divisor cu_divisor_of(int64_t extent);

/* The axes of a walk with the steps of up to CU_OPERANDS operands. cu_walk_of leaves out dimensions of 1 and merges
 * neighbours whose steps fit; at most CU_DIMS remain. */
struct cu_axes {
	int rank;
	int64_t dim[2 * NPL_MAX_RANK];
	int64_t step[CU_OPERANDS][2 * NPL_MAX_RANK];
};
struct cu_walk cu_walk_of(const struct cu_axes *axes);
/* Returns the axes of a shape; the steps of operand 0 are those of a dense tensor of that shape. */
struct cu_axes cu_axes_of(const struct npl_shape *shape);
/* Sets the steps of operand k, whose shape is `operand`: 0 along dimensions that broadcast. */
void cu_axes_broadcast(struct cu_axes *axes, int k, const struct npl_shape *operand, bool channels_last);
/* Sorts axes into the order of a tensor's elements in memory. */
void cu_axes_order(struct cu_axes *axes, bool channels_last);
void cu_dense_steps(int rank, const int64_t *dim, int64_t *step);
/* Writes the distance in elements from one index to the next along each dimension of the shape. */
void cu_steps_of(const struct npl_shape *shape, bool channels_last, int64_t *step);
/* Writes the dimensions in the order of memory, the outermost first. */
void cu_order_of(int rank, bool channels_last, int *dimension);
int64_t cu_product(const int64_t *dim, int n);

const char *cu_type_name(enum npl_dtype dtype);       /* f32 */
const char *cu_unit_name(size_t bytes);               /* an unsigned type of that size: 1, 2, 4, 8 or 16 */
const char *cu_fused_name(enum npl_activation fused); /* fused_relu */
/* Says whether the kernel of the layer's family reads input k. */
bool cu_reads(const struct npl_layer *layer, int k);
/* Returns the elements of a pack, 16 bytes of the widest type, if all n addresses are aligned to a pack; else 1. */
int cu_pack_of(size_t widest, int n, const uint64_t *address, const size_t *element);

/* A family of operators that one function runs. */
struct cu_family {
	bool (*supports)(const struct npl_layer *layer, char *reason, size_t reason_bytes);
	int (*run)(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		   struct cu_value *out);
	bool fuses; /* the family's kernels apply the fused activation */
};
extern const struct cu_family cu_unary_family, cu_binary_family, cu_variadic_family, cu_where_family, cu_cast_family,
	cu_copy_family, cu_pad_family, cu_gather_family, cu_pool_family, cu_channels_family, cu_lrn_family,
	cu_reduce_family, cu_softmax_family, cu_arg_family, cu_normalise_family, cu_resize_family, cu_quantise_family,
	cu_onehot_family, cu_triangle_family, cu_reverse_family, cu_convtranspose_family;
/* Returns NULL if the operator has no family. */
const struct cu_family *cu_family_of(enum npl_op op);

/* These run layers of quantised tensors by the integer rules. */
bool cu_integer_supports(const struct npl_layer *layer, char *reason, size_t reason_bytes);
int cu_integer_run(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		   struct cu_value *out);
/* Runs QuantizeLinear or DequantizeLinear whose scale and zero point are those of the integer tensor
 * (NPL_CONVERTS_IN_GROUP). */
int cu_run_conversion(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		      struct cu_value *out);
/* Returns the parameters of the last step of an integer layer and adds the macro FINISH. */
struct cu_finish cu_finish_of(enum npl_activation fused, const struct npl_tensor *out, struct cu_macros *macros);
/* Returns a window of one to three dimensions as one of three. */
struct npl_window cu_volume_of(const struct npl_window *window);
/* Returns a window over an image of shape `from` with a result of shape `to`, as kernels take it. */
struct cu_window cu_window_of(const struct npl_window *window, const struct npl_shape *from,
			      const struct npl_shape *to);
/* Copies elements of any type along axes: operand 0 is read, operand 1 is written (move.c). */
int cu_copy(const struct cu_job *job, const struct cu_axes *axes, size_t element, uint64_t x, uint64_t z);
/* Copies x to y of the same shape, where one has channels last and the other does not. Floats are converted to y's
 * type. */
int cu_turn(const struct cu_job *job, const struct cu_value *x, const struct cu_value *y);
/* Runs an operator that only moves elements. */
int cu_run_copy(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		struct cu_value *out);
int cu_run_pool(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		struct cu_value *out);
/* Runs the ReduceSum family, and global pooling of floats in ONNX's order, whose positions are neighbours. */
int cu_run_reduce(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		  struct cu_value *out);
/* Applies an activation function without attributes to y in place. */
int cu_activate(const struct cu_job *job, enum npl_activation fused, const struct cu_value *y);

#endif
