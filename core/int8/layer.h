/* SPDX-License-Identifier: MIT
 *
 * Conv and Gemm on 8-bit tensors, bit-exact to the integer rule: what the simulated machines' values and the cpu
 * device share. A layer is a list of steps, one after the other, each of which is a number of tasks that may run side
 * by side:
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

/* How a machine accumulates, see struct npl_int8_product: K runs over kernel taps, then input channels. Results do not
 * depend on it, the count of additions that wrap does. */
struct npl_int8_order {
	int64_t k_segment, k_block;
};

/* Memory that a device keeps from layer to layer, so that the system need not clear pages for each; zeroed at first. */
struct npl_int8_memory {
	void *base;
	size_t bytes;
};
void npl_int8_memory_free(struct npl_int8_memory *memory);

/* What a fused activation, Relu6 at most, makes of sums on their way to y. */
void npl_int8_finish_by(struct npl_int8_finish *finish, enum npl_activation fused, const struct npl_tensor *y);

struct npl_int8_job; /* opaque */

/* False, with the reason, for layers that are not Conv or Gemm of one or two spatial dimensions on 8-bit operands, with
 * 8-bit or raw 32-bit results. */
bool npl_int8_layer_ok(const struct npl_layer *layer, char *why, size_t n);

/* For a layer that is ok. Results go to out, of the layer's output shape and type. order NULL: additions of products
 * that wrap are not counted. Everything is borrowed until the job is closed, memory too. NPL_EINPUT for
 * scales that are no finite numbers from 0, NPL_ENOMEM. */
int npl_int8_job_open(const struct npl_layer *layer, const struct npl_tensor *out, const struct npl_int8_order *order,
		      int workers, struct npl_int8_memory *memory, struct npl_int8_job **made, struct npl_err *err);
int npl_int8_job_steps(const struct npl_int8_job *job);
int64_t npl_int8_job_tasks(const struct npl_int8_job *job, int step);
/* worker is in [0, workers) and runs one task at a time. */
void npl_int8_job_run(struct npl_int8_job *job, int step, int64_t task, int worker);
/* Frees the job (NULL: nothing to do), adds up what was counted; NPL_ENOMEM when a task ran out of memory. */
int npl_int8_job_close(struct npl_int8_job *job, struct npl_int8_counts *counts, struct npl_err *err);

/* A layer that is ok and will be run often with the same weights, which are brought into the kernels' form now, on the
 * calling thread, and copied: its in[1] has data, the others need none yet. NULL in *made and no error: there is
 * nothing to gain. */
int npl_int8_job_prepare(const struct npl_layer *layer, int workers, struct npl_int8_job **made, struct npl_err *err);
/* One run of it, for which the layer has its data and differs in nothing else; both and the memory are borrowed until
 * npl_int8_job_end. In between it is run as any other: a step may have no tasks. */
int npl_int8_job_begin(struct npl_int8_job *job, const struct npl_layer *layer, const struct npl_tensor *out,
		       struct npl_int8_memory *memory, struct npl_err *err);
/* Adds up what was counted in this run; NPL_ENOMEM when a task ran out of memory. */
int npl_int8_job_end(struct npl_int8_job *job, struct npl_int8_counts *counts, struct npl_err *err);

/* All of it on the calling thread, into layer->out. */
int npl_int8_run_layer(const struct npl_layer *layer, const struct npl_int8_order *order,
		       struct npl_int8_memory *memory, struct npl_int8_counts *counts, struct npl_err *err);

/* Adds the number of sums that 32 bits do not hold, products and bias together, of a Conv or Gemm that is ok or a
 * MatMul of two computed tensors, which has its data. It takes no time where a bound shows that there are none, which
 * is so for sums of up to 33025 products without a bias and most longer ones; else it makes them in plain loops of 64
 * bits. NPL_ENOMEM. */
int npl_int8_count_wrapped(const struct npl_layer *layer, uint64_t *wrapped, struct npl_err *err);

/* Relu, pooling and what else only picks or averages values, on 8-bit tensors that share type, scale and zero point:
 * into out, with the layer's fused Relu. An average is round_half_even(sum(q - zero_point) / count) + zero_point, where
 * padding counts in the divisor if the layer says so. */
int npl_int8_run_unary(const struct npl_layer *layer, struct npl_tensor *out, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
