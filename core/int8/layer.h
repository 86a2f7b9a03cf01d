/* SPDX-License-Identifier: MIT
 *
 * Conv and Gemm on 8-bit tensors, bit-exact to the integer rule, which the simulated machines' values and the cpu
 * device share. A layer is a list of steps, done one after the other; a step is a number of tasks that may run at the
 * same time:
 *
 *     npl_int8_job_open(layer, layer->out, NULL, workers, &memory, &job, &err)
 *     for (int s = 0; s < npl_int8_job_steps(job); s++)
 *             for (int64_t t = 0; t < npl_int8_job_tasks(job, s); t++)        in any order, on any thread
 *                     npl_int8_job_run(job, s, t, worker);                    worker: this thread's number
 *     npl_int8_job_close(job, &counts, &err)
 */
#ifndef NPULAB_CORE_INT8_LAYER_H
#define NPULAB_CORE_INT8_LAYER_H

#include "int8.h"
#include "npulab/layer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The order in which a machine accumulates, see struct npl_int8_product: K runs over kernel taps, then input channels.
 * Results do not depend on it; the count of additions that wrap does. */
struct npl_int8_order {
	int64_t k_segment, k_block;
};

/* Memory that a device keeps from layer to layer, so that the system does not clear pages for each; zero-initialise. */
struct npl_int8_memory {
	void *base;
	size_t bytes;
};
void npl_int8_memory_free(struct npl_int8_memory *memory);

/* Sets the fields of `finish` for y with a fused activation, Relu6 at most. */
void npl_int8_finish_by(struct npl_int8_finish *finish, enum npl_activation fused, const struct npl_tensor *y);

struct npl_int8_job; /* opaque */

/* Says whether the layer is a Conv or Gemm of one or two spatial dimensions on 8-bit operands with 8-bit or raw 32-bit
 * results. If not, `reason` gets the reason. */
bool npl_int8_layer_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes);

/* Opens a job for a layer that npl_int8_layer_ok accepts. Results go to `out`, which has the shape and type of the
 * layer's output. order NULL: additions that wrap are not counted. All arguments, memory too, are borrowed until the
 * job is closed. Returns 0, NPL_ENOMEM, or NPL_EINPUT: a scale is negative or not finite. */
int npl_int8_job_open(const struct npl_layer *layer, const struct npl_tensor *out, const struct npl_int8_order *order,
		      int workers, struct npl_int8_memory *memory, struct npl_int8_job **job_out, struct npl_err *err);
int npl_int8_job_steps(const struct npl_int8_job *job);
int64_t npl_int8_job_tasks(const struct npl_int8_job *job, int step);
/* Runs a task. worker is in [0, workers) and runs one task at a time. */
void npl_int8_job_run(struct npl_int8_job *job, int step, int64_t task, int worker);
/* Frees the job (which may be NULL) and adds its counts to *counts. NPL_ENOMEM: a task ran out of memory. */
int npl_int8_job_close(struct npl_int8_job *job, struct npl_int8_counts *counts, struct npl_err *err);

/* Prepares a job for a layer that npl_int8_layer_ok accepts and that runs often with the same weights. The calling
 * thread copies the weights of in[1] into the kernels' form now; the other tensors need no data yet. *job_out is NULL
 * without an error if nothing is gained by it. */
int npl_int8_job_prepare(const struct npl_layer *layer, int workers, struct npl_int8_job **job_out,
			 struct npl_err *err);
/* Begins a run of a prepared job. The layer now has its data and is otherwise unchanged. layer, out and memory are
 * borrowed until npl_int8_job_end. Steps and tasks run as in any job, except that a step may have no tasks. */
int npl_int8_job_begin(struct npl_int8_job *job, const struct npl_layer *layer, const struct npl_tensor *out,
		       struct npl_int8_memory *memory, struct npl_err *err);
/* Ends the run and adds its counts to *counts. NPL_ENOMEM: a task ran out of memory. */
int npl_int8_job_end(struct npl_int8_job *job, struct npl_int8_counts *counts, struct npl_err *err);

/* Adds the number of sums, products and bias together, that do not fit in 32 bits to *wrapped, for a Conv or Gemm that
 * npl_int8_layer_ok accepts or a MatMul of two computed tensors, with data. It takes no time if a bound shows that
 * there are none, as for sums of up to 33025 products without a bias and most longer ones; else it computes the sums in
 * plain loops of 64 bits. Returns 0 or NPL_ENOMEM. */
int npl_int8_count_wrapped(const struct npl_layer *layer, uint64_t *wrapped, struct npl_err *err);

/* Runs Relu, pooling or another operator that only picks or averages values, on 8-bit tensors with the same type, scale
 * and zero point, into out, with the layer's fused Relu. An average is round_half_even(sum(q - zero_point) / count) +
 * zero_point, where padding counts in the divisor if the layer says so. */
int npl_int8_run_unary(const struct npl_layer *layer, struct npl_tensor *out, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
