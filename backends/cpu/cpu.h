/* SPDX-License-Identifier: MIT
 *
 * The inside of the cpu device: its state, and the operators with a fast implementation of their own (the others run on
 * the reference kernels). A function with a parameter `seconds` or `result` measures its own time; cpu.c measures that
 * of the others.
 */
#ifndef NPULAB_BACKENDS_CPU_CPU_H
#define NPULAB_BACKENDS_CPU_CPU_H

#include "blas.h"
#include "core/base/pool.h"
#include "core/int8/layer.h"
#include "core/ops/ops.h"
#include "dnn.h"
#include "npulab/device.h"

struct cpu_config {
	int64_t threads; /* 0: all processors that this process may run on */
	int precision;   /* index into the choices of the parameter */
	int convolution; /* index into the choices of the parameter `convolution` */
	const char *powercap;
	double tdp_watts;
	int64_t tdp_cores;
};
enum { CPU_F32, CPU_INT8 };              /* precision */
enum { CPU_CONV_ONEDNN, CPU_CONV_BLAS }; /* convolution */

struct cpu_state {
	struct cpu_config config; /* the configuration's strings live as long as the device */
	bool int8;
	/* OpenBLAS for float32 products, which a device of 8 bits has too; library NULL: could not be loaded */
	struct cpu_blas blas;
	struct cpu_dnn dnn; /* oneDNN, in float32 and int8; engine NULL: it is absent or was not asked for */
	struct npl_pool *pool;
	int threads;
	int wanted_threads; /* threads that were asked for; `threads` is less if memory allows fewer */
	int blas_threads;   /* threads of OpenBLAS, as many or fewer */
	float *workspace;   /* for im2col: one part per thread, kept between layers */
	size_t workspace_bytes;
	char *widened; /* 16-bit floats widened to float32 while a layer runs (widened.h) */
	size_t widened_bytes;
	struct npl_int8_memory int8_memory;
	bool large_sums_known,
		large_sums_exact; /* whether oneDNN's convolutions of bytes keep sums beyond 2^24 exact */
};

/* Makes the workspace at least `bytes` bytes long, 64-byte aligned, with undefined contents. Returns 0 or
 * NPL_ENOMEM. */
int cpu_reserve(struct cpu_state *cpu, size_t bytes, struct npl_err *err);

/* A convolution as plain numbers; a 1-D one has height 1. */
struct cpu_conv {
	const float *x, *w, *bias; /* (n,c,h,w) (m,c/groups,kh,kw) (m) or NULL */
	float *y;                  /* (n,m,oh,ow) */
	bool relu;
	int64_t images, channels, height, width, filters, groups;
	int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
	int64_t out_h, out_w;
};

/* Returns the bytes that a convolution needs besides its tensors; the caller reserves them before cpu_conv_run. */
size_t cpu_conv_workspace(const struct cpu_state *cpu, const struct cpu_conv *conv);
int cpu_conv_shape(const struct npl_layer *layer, float *out, struct cpu_conv *conv, struct npl_err *err);
void cpu_conv_run(struct cpu_state *cpu, const struct cpu_conv *conv);

/* Computes a convolution with one input and one output channel per filter by a direct loop. It uses the same workspace
 * as other convolutions. */
size_t cpu_depthwise_workspace(const struct cpu_state *cpu, const struct cpu_conv *conv);
void cpu_depthwise_run(struct cpu_state *cpu, const struct cpu_conv *conv);

/* Writes the columns [first, first + count) of the patch matrix of one image and group. Its rows are (channel, ky, kx),
 * its columns are output positions in row order. cols is (channels * kernel_h * kernel_w, count). */
void cpu_im2col(const struct cpu_conv *conv, const float *x, int64_t channels, int64_t first, int64_t count,
		float *cols);

/* Adds bias[i * row_step + j * col_step] * scale to y[i][j] (bias may be NULL), then applies Relu. y is (rows, cols)
 * with ld elements from row to row. */
void cpu_finish(float *y, int64_t rows, int64_t cols, int64_t ld, const float *bias, int64_t row_step, int64_t col_step,
		float scale, bool relu);

int cpu_gemm_run(struct cpu_state *cpu, const struct npl_layer *layer, float *out, struct npl_err *err);
int cpu_matmul_run(struct cpu_state *cpu, const struct npl_layer *layer, float *out, struct npl_err *err);

/* recurrent.c runs RNN, GRU and LSTM. OpenBLAS computes their products, except those of few rows, which npulab
 * computes. */
bool cpu_is_recurrent(const struct npl_layer *layer);
int cpu_recurrent_run(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out, double *seconds,
		      struct npl_err *err);

/* stack.c: MatMul as products of matrices (rows,inner) times (inner,cols), whose results follow each other. */
struct cpu_stack {
	int64_t products, rows, inner, cols;
	struct op_walk walk; /* op_walk_at gives the first element of each operand of a product */
};
/* Finds the products of a MatMul. Returns 0, or NPL_EINTERNAL where the layer's shapes do not fit each other. */
int cpu_stack_open(const struct npl_layer *layer, struct cpu_stack *stack, struct npl_err *err);

/* int8_matmul.c runs MatMul of two 8-bit tensors into a third. */
int cpu_int8_matmul(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out,
		    struct npl_result *result, struct npl_err *err);

/* These run MatMulInteger with one zero point for each operand, which may be a computed input. */
bool cpu_is_matmul_integer(const struct npl_layer *layer);
int cpu_matmul_integer_run(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out,
			   double *seconds, struct npl_err *err);

/* int8_pair.c runs Add and Mul of two 8-bit tensors, int8_table.c other operators that work element by element on
 * one. */
int cpu_int8_pair(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out,
		  struct npl_result *result, struct npl_err *err);
bool cpu_int8_has_table(const struct npl_layer *layer);
int cpu_int8_table(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out,
		   struct npl_result *result, struct npl_err *err);

/* int8.c runs layers in 8 bits. */
void cpu_int8_describe(const struct cpu_state *cpu, char *text, size_t n);
bool cpu_int8_is_product(const struct npl_layer *layer); /* says whether it is a Conv or Gemm of 8-bit integers */
/* Runs a product whose weights were prepared by npl_int8_job_prepare. */
int cpu_int8_run_prepared(struct cpu_state *cpu, struct npl_int8_job *job, const struct npl_layer *layer,
			  struct npl_result *result, struct npl_err *err);
bool cpu_int8_supports(const struct npl_layer *layer, char *reason, size_t reason_bytes);
int cpu_int8_run(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out,
		 struct npl_result *result, struct npl_err *err);

/* Functions of facts.c. */
int cpu_open_meter(void *state, struct npl_energy_meter *meter, struct npl_err *err);
void cpu_assume_power(const void *state, struct npl_assumed_power *power);
int cpu_facts(void *state, struct npl_facts *facts, struct npl_err *err);
/* The function of triad.c. */
int cpu_measure_memory(void *state, struct npl_memory_rate *rate, struct npl_err *err);

/* Says whether all dimensions fit the 32-bit integers of cblas; if not, `reason` says why. */
bool cpu_fits_blas(const struct npl_layer *layer, char *reason, size_t reason_bytes);

/* Runs one layer alone: its values go to out[], its time and saturations to the result. */
int cpu_run_layer(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out,
		  struct npl_result *result, struct npl_err *err);

/* elements.c runs operators that work element by element on tensors of one shape (or of one element) with all
 * threads. */
bool cpu_is_by_element(const struct npl_layer *layer);  /* says whether the layer is one; tensors have any types */
bool cpu_is_elementwise(const struct npl_layer *layer); /* says whether the layer is one, and no tensor is quantised */
int cpu_elements_run(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_err *err);

/* convert.c converts between float32 and 8 bits within a layer group. NPL_EINPUT: a value is NaN. */
bool cpu_is_conversion(const struct npl_layer *layer);
int cpu_convert_run(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out,
		    struct npl_result *result, struct npl_err *err);

static inline bool cpu_is_pool(enum npl_op op)
{
	return op == NPL_OP_MAXPOOL || op == NPL_OP_AVERAGEPOOL || op == NPL_OP_GLOBALAVERAGEPOOL ||
	       op == NPL_OP_GLOBALMAXPOOL;
}

/* maxpool.c runs MaxPool of floats. Input and result have channels last. */
bool cpu_maxpool_knows(const struct npl_layer *layer);
void cpu_maxpool_last(struct cpu_state *cpu, const struct npl_layer *layer);

/* How work is divided among threads (slices.c, copies.c). */
#define CPU_TASKS_OF_THREAD 4 /* several tasks, so that a late thread does not delay the others for long */
/* The least elements of the larger tensor. Waking threads for fewer costs more time than it saves. */
#define CPU_TASK_ELEMENTS 16384

/* copies.c runs Transpose, Slice and other copies in steps (core/ops/strided.h). */
bool cpu_is_copy(const struct npl_layer *layer);
void cpu_copy_run(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out, double *seconds);

/* slices.c runs Softmax and LogSoftmax, sums and means, normalisations, Resize, AveragePool and maxima of floats,
 * divided into slices of a tensor. */
bool cpu_is_sliced(const struct npl_layer *layer);
int cpu_slices_run(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out, double *seconds,
		   struct npl_err *err);

#endif
