/* SPDX-License-Identifier: MIT
 *
 * MatMul of two computed 8-bit tensors: exact products, converted to the result's scale by the integer rule of Gemm.
 * MatMulInteger: its zero points may be computed too, and its results are the sums. All threads take blocks of rows of
 * all products of the stack. */
#include <math.h>
#include <stdlib.h>

#include "core/base/arith.h"
#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "cpu.h"

#define BLOCK_SUMS 65536 /* sums of a block: 256 KiB stay in the second-level cache until they are finished */

struct matmul_job {
	const struct npl_layer *layer;
	const struct npl_tensor *out;
	struct cpu_stack stack;
	int64_t rows, blocks; /* rows of a task; tasks of a product */
	bool raw;             /* the sums themselves are the result */
	int32_t zero_a, zero_b;
	float scale;
	size_t sums_bytes, product_bytes;
	uint8_t *workspace; /* per worker: sums, then the product's workspace */
	struct npl_int8_counts *counts;
	struct npl_err *failed; /* per worker: why its product failed */
};

static void run_block(void *context, int64_t task, int worker)
{
	const struct matmul_job *job = context;
	const struct cpu_stack *stack = &job->stack;
	const struct npl_tensor *x = job->layer->in[0], *w = job->layer->in[1];
	int64_t product = task / job->blocks, row = task % job->blocks * job->rows, a, b;
	int64_t rows = stack->rows - row < job->rows ? stack->rows - row : job->rows;
	uint8_t *memory = job->workspace + (job->sums_bytes + job->product_bytes) * (size_t)worker;
	const int64_t index = (product * stack->rows + row) * stack->cols;
	int32_t *sums = job->raw ? (int32_t *)job->out->data + index : (int32_t *)(void *)memory;
	op_walk_at(&stack->walk, product, &a, &b);
	const struct npl_int8_product p = {
		.m = rows,
		.n = stack->cols,
		.k = stack->inner,
		.a = {(const uint8_t *)x->data + a + row * stack->inner, x->dtype, job->zero_a, stack->inner, 1},
		.b = {(const uint8_t *)w->data + b, w->dtype, job->zero_b, 1, stack->cols},
		.c = sums,
		.c_stride = stack->cols,
		.workspace = memory + job->sums_bytes,
		.workspace_bytes = (int64_t)job->product_bytes,
	};
	struct npl_int8_finish finish = {.scale = &job->scale};
	npl_int8_finish_by(&finish, job->layer->activation, job->out);
	if (npl_int8_gemm(&p, &job->counts[worker].overflows, &job->failed[worker]) || job->raw)
		return;
	npl_int8_finish(&finish, sums, rows * stack->cols, (uint8_t *)job->out->data + index, &job->counts[worker]);
}

/* Cuts products into blocks of rows whose sums fit the cache, with blocks for all threads. */
static void cut_into_blocks(struct matmul_job *job, int threads)
{
	const struct cpu_stack *stack = &job->stack;
	job->rows = stack->rows;
	while (job->rows > 16 && (job->rows * stack->cols > BLOCK_SUMS ||
				  stack->products * npl_div_up_i64(stack->rows, job->rows) < threads))
		job->rows = (job->rows + 1) / 2;
	job->blocks = npl_div_up_i64(stack->rows, job->rows);
	job->sums_bytes = ((size_t)(job->rows * stack->cols) * sizeof(int32_t) + 63) / 64 * 64;
	job->product_bytes = ((size_t)npl_int8_workspace(job->rows, stack->cols, stack->inner, 0) + 63) / 64 * 64;
}

static int run(struct cpu_state *cpu, struct matmul_job *job, struct npl_result *result, struct npl_err *err)
{
	size_t worker_bytes = job->sums_bytes + job->product_bytes;
	if (cpu_reserve(cpu, worker_bytes * (size_t)cpu->threads, err))
		return err->code;
	job->workspace = (uint8_t *)cpu->workspace;
	double begin = npl_clock_seconds();
	npl_pool_run(cpu->pool, job->stack.products * job->blocks, run_block, job);
	result->seconds = npl_clock_seconds() - begin;
	for (int t = 0; t < cpu->threads; t++) {
		result->saturations += job->counts[t].saturations;
		if (job->failed[t].code)
			return npl_fail_as(err, &job->failed[t]);
	}
	return 0;
}

static int multiply(struct cpu_state *cpu, struct matmul_job *job, struct npl_result *result, struct npl_err *err)
{
	cut_into_blocks(job, cpu->threads);
	job->counts = calloc((size_t)cpu->threads, sizeof *job->counts);
	job->failed = calloc((size_t)cpu->threads, sizeof *job->failed);
	int rc = job->counts && job->failed ? run(cpu, job, result, err) : npl_no_memory(err);
	free(job->counts);
	free(job->failed);
	return rc;
}

int cpu_int8_matmul(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out,
		    struct npl_result *result, struct npl_err *err)
{
	struct matmul_job job = {.layer = layer,
				 .out = out,
				 .zero_a = layer->in[0]->quant.zero_point,
				 .zero_b = layer->in[1]->quant.zero_point};
	if (cpu_stack_open(layer, &job.stack, err))
		return err->code;
	job.scale = npl_int8_scale(layer->in[0]->quant.scale, layer->in[1]->quant.scale, out->quant.scale);
	if (!isfinite(job.scale))
		return npl_fail(err, NPL_EINPUT, "its results are scaled by %g * %g / %g, which is not a finite number",
				(double)layer->in[0]->quant.scale, (double)layer->in[1]->quant.scale,
				(double)out->quant.scale);
	return multiply(cpu, &job, result, err);
}

/* Says whether input k is absent or holds one zero point for the whole operand. */
static bool has_one_zero(const struct npl_layer *layer, int k)
{
	return k >= layer->n_in || !layer->in[k] || npl_tensor_count(layer->in[k]) == 1;
}

static int32_t zero_of(const struct npl_layer *layer, int k)
{
	if (k >= layer->n_in || !layer->in[k])
		return 0;
	return layer->in[k]->dtype == NPL_I8 ? *(const int8_t *)layer->in[k]->data
					     : *(const uint8_t *)layer->in[k]->data;
}

bool cpu_is_matmul_integer(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_MATMULINTEGER && npl_is_byte(layer->in[0]->dtype) &&
	       npl_is_byte(layer->in[1]->dtype) && layer->out->dtype == NPL_I32 && has_one_zero(layer, 2) &&
	       has_one_zero(layer, 3) && npl_tensor_count(layer->in[0]) > 0 && npl_tensor_count(layer->in[1]) > 0;
}

int cpu_matmul_integer_run(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out,
			   double *seconds, struct npl_err *err)
{
	struct matmul_job job = {
		.layer = layer, .out = out, .raw = true, .zero_a = zero_of(layer, 2), .zero_b = zero_of(layer, 3)};
	struct npl_result result = {0};
	int rc = cpu_stack_open(layer, &job.stack, err);
	if (!rc)
		rc = multiply(cpu, &job, &result, err);
	*seconds = result.seconds;
	return rc;
}
