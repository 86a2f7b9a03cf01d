/* SPDX-License-Identifier: MIT
 *
 * What the files of this folder, the host's side of kernels, share: macros for a source, launches, divisors and walks.
 */
#ifndef NPULAB_BACKENDS_CUDA_KERNEL_JOB_H
#define NPULAB_BACKENDS_CUDA_KERNEL_JOB_H

#include "backends/cuda/kernels/kernel_args.h"
#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "kernel.h"

/* One call of cu_kernel_run or its like. */
struct cu_job {
	struct cu_kernels *kernels;
	void *stream;
	struct npl_err *err;
};

/* The macros that a source is compiled with, "X=f32 N=4". */
struct cu_macros {
	char text[320];
};
void cu_macro(struct cu_macros *macros, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Launches the kernel NAME of NAME.cu. */
struct cu_grid {
	int64_t blocks; /* wished for; a grid has as many as are good, its threads loop over the rest */
	unsigned x, y;  /* threads of a block */
};
int cu_launch(const struct cu_job *job, const char *name, const struct cu_macros *macros, const void *args,
	      struct cu_grid grid);
/* A thread for each of n elements (or packs of them). */
int cu_launch_each(const struct cu_job *job, const char *name, const struct cu_macros *macros, const void *args,
		   int64_t n);
/* Positions need 64 bits: adds WIDE. */
void cu_macro_wide(const struct cu_job *job, struct cu_macros *macros, int64_t largest);
uint64_t cu_fault_of(const struct cu_job *job);
uint64_t cu_counter_of(const struct cu_job *job);

struct cu_divisor cu_divisor_of(int64_t by);

/* A walk over dims with the steps of up to CU_OPERANDS operands; dimensions of 1 are left out, neighbours that walk
 * alike merged. At most CU_DIMS remain. */
struct cu_axes {
	int rank;
	int64_t dim[2 * NPL_MAX_RANK];
	int64_t step[CU_OPERANDS][2 * NPL_MAX_RANK];
};
struct cu_walk cu_walk_of(const struct cu_axes *axes);
/* Axes of a shape, the steps of operand 0 being its own. */
struct cu_axes cu_axes_of(const struct npl_shape *shape);
/* Sets the steps of operand k, of its own shape, as it broadcasts. */
void cu_axes_broadcast(struct cu_axes *axes, int k, const struct npl_shape *operand, bool channels_last);
/* Orders the axes of a tensor as its elements lie. */
void cu_axes_order(struct cu_axes *axes, bool channels_last);
void cu_dense_steps(int rank, const int64_t *dim, int64_t *step);
/* From element to element along each dimension of the shape, in elements. */
void cu_steps_of(const struct npl_shape *shape, bool channels_last, int64_t *step);
/* The dimensions as they lie, outermost first. */
void cu_order_of(int rank, bool channels_last, int *dimension);
int64_t cu_product(const int64_t *dim, int n);

const char *cu_type_name(enum npl_dtype dtype);       /* f32 */
const char *cu_unit_name(size_t bytes);               /* an unsigned type of that size: 1, 2, 4, 8 or 16 */
const char *cu_fused_name(enum npl_activation fused); /* fused_relu */
/* Does a kernel of the layer's family read input k? */
bool cu_reads(const struct npl_layer *layer, int k);
/* Elements of a pack: 16 bytes of the widest type, where all the addresses are aligned; else 1. */
int cu_pack_of(size_t widest, int n, const uint64_t *address, const size_t *element);

/* Families of operators. */
struct cu_family {
	bool (*takes)(const struct npl_layer *layer, char *why, size_t n);
	int (*run)(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		   struct cu_value *out);
	bool fuses; /* activations leave with the result */
};
extern const struct cu_family cu_unary_family, cu_binary_family, cu_variadic_family, cu_where_family, cu_cast_family,
	cu_copy_family, cu_pad_family, cu_gather_family, cu_pool_family, cu_channels_family, cu_lrn_family,
	cu_reduce_family, cu_softmax_family, cu_arg_family, cu_normalise_family, cu_resize_family, cu_quantise_family,
	cu_onehot_family, cu_triangle_family, cu_reverse_family, cu_convtranspose_family;
/* NULL: no family. */
const struct cu_family *cu_family_of(enum npl_op op);

/* Integer layers, by the integer rules. */
bool cu_integer_takes(const struct npl_layer *layer, char *why, size_t n);
int cu_integer_run(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		   struct cu_value *out);
/* QuantizeLinear and its inverse whose scale and zero point are those of the integer tensor (NPL_CONVERTS_IN_GROUP). */
int cu_run_conversion(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		      struct cu_value *out);
/* What follows the values of an integer layer; the macro FINISH. */
struct cu_finish cu_finish_of(enum npl_activation fused, const struct npl_tensor *out, struct cu_macros *macros);
/* The window as kernels see it, in three dimensions, whatever made it. */
struct npl_window cu_volume_of(const struct npl_window *window);
/* Elements of any type along axes: operand 0 is read, operand 1 written (move.c). */
int cu_copy(const struct cu_job *job, const struct cu_axes *axes, size_t element, uint64_t x, uint64_t z);
/* y = x, of one shape, where one lies with channels last and the other does not; floats change their type on the
 * way. */
int cu_turn(const struct cu_job *job, const struct cu_value *x, const struct cu_value *y);
/* The copies of an operator that only moves elements. */
int cu_run_copy(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		struct cu_value *out);
int cu_run_pool(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		struct cu_value *out);
/* The ReduceSum family, and global pooling of floats, whose positions are side by side. */
int cu_run_reduce(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		  struct cu_value *out);
/* y = function(x) of one that needs no attributes: in place where y is x. */
int cu_activate(const struct cu_job *job, enum npl_activation fused, const struct cu_value *y);

#endif
