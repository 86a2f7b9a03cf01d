/* SPDX-License-Identifier: MIT
 *
 * Stacks of products (layer.h): MatMul of two tensors, and a Gemm that is not rows times a matrix. */

#include "backends/cuda/load/alignment.h"
#include "core/base/refuse.h"
#include "layer.h"

bool cu_stack_take(const struct npl_layer *layer, char *why, size_t n)
{
	const struct npl_tensor *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	if (layer->op != NPL_OP_GEMM)
		return true;
	if (!(layer->attrs->gemm.alpha < 0) && !(layer->attrs->gemm.alpha > 0))
		return npl_refuse(why, n, "its product counts for nothing (alpha 0)");
	if (!bias)
		return true;
	int64_t columns = layer->out->shape.dim[1];
	if (layer->attrs->gemm.beta < 1 || layer->attrs->gemm.beta > 1)
		return npl_refuse(why, n, "what is added to its product is scaled (beta)");
	return (npl_tensor_count(bias) == columns && bias->shape.rank >= 1 &&
		bias->shape.dim[bias->shape.rank - 1] == columns) ||
	       npl_refuse(why, n, "what is added to its product is not one element per column");
}

struct npl_shape cu_matrices(const struct npl_shape *shape, bool left)
{
	if (shape->rank != 1)
		return *shape;
	return left ? npl_shape_of(2, 1, shape->dim[0]) : npl_shape_of(2, shape->dim[0], 1);
}

/* Returns the elements from one matrix of an operand to the next along dimension d of the result's batch, which has
 * `rank` dimensions; 0: it broadcasts. */
static int64_t batch_step(const struct npl_shape *operand, int rank, int d)
{
	int operand_dim = operand->rank - 2 - (rank - d);
	if (operand_dim < 0 || operand->dim[operand_dim] == 1)
		return 0;
	int64_t step = 1;
	for (int i = operand_dim + 1; i < operand->rank; i++)
		step *= operand->dim[i];
	return step;
}

/* Returns the dimensions of the result before its last two. */
static struct npl_shape batch_of(const struct npl_shape *a, const struct npl_shape *b)
{
	struct npl_shape batch = {.rank = (a->rank > b->rank ? a->rank : b->rank) - 2};
	for (int d = 0; d < batch.rank; d++) {
		int from_a = a->rank - 2 - (batch.rank - d), from_b = b->rank - 2 - (batch.rank - d);
		int64_t x = from_a < 0 ? 1 : a->dim[from_a], y = from_b < 0 ? 1 : b->dim[from_b];
		batch.dim[d] = x == 1 ? y : x;
	}
	return batch;
}

void cu_stack_plan(struct cu_stack *stack, const struct npl_shape *a, const struct npl_shape *b,
		   struct cu_product_shape *shape)
{
	const struct npl_shape batch = batch_of(a, b);
	int d = batch.rank - 1;
	shape->batch = 1;
	for (; d >= 0; d--) {
		int64_t step_a = batch_step(a, batch.rank, d), step_b = batch_step(b, batch.rank, d);
		if (batch.dim[d] == 1)
			continue;
		if (shape->batch > 1 &&
		    (step_b != shape->stride_a * shape->batch || step_a != shape->stride_b * shape->batch))
			break;
		if (shape->batch == 1) {
			shape->stride_a = step_b;
			shape->stride_b = step_a;
		}
		shape->batch *= batch.dim[d];
	}
	stack->outer = 1;
	for (int i = 0; i <= d; i++) {
		stack->dim[stack->rank] = batch.dim[i];
		stack->step_a[stack->rank] = batch_step(a, batch.rank, i);
		stack->step_b[stack->rank++] = batch_step(b, batch.rank, i);
		stack->outer *= batch.dim[i];
	}
	stack->step_y = shape->batch * shape->stride_d;
	const uint64_t in = npl_dtype_size(shape->operands), out = npl_dtype_size(shape->result);
	uint64_t offsets[2 * NPL_MAX_RANK + 1] = {(uint64_t)(stack->rank ? stack->step_y : 0) * out};
	for (int k = 0; k < stack->rank; k++) {
		offsets[1 + 2 * k] = (uint64_t)stack->step_a[k] * in;
		offsets[2 + 2 * k] = (uint64_t)stack->step_b[k] * in;
	}
	shape->alignment = cu_common_alignment(offsets, 2 * stack->rank + 1);
}

void cu_stack_at(const struct cu_stack *stack, int64_t outer, int64_t *a, int64_t *b)
{
	*a = *b = 0;
	for (int k = stack->rank - 1; k >= 0; k--) {
		*a += outer % stack->dim[k] * stack->step_a[k];
		*b += outer % stack->dim[k] * stack->step_b[k];
		outer /= stack->dim[k];
	}
}

int cu_stack_open(struct cu_layer *layer, struct npl_err *err)
{
	const struct npl_layer *request = layer->layer;
	const bool gemm = request->op == NPL_OP_GEMM;
	const struct npl_shape b = cu_matrices(&request->in[1]->shape, false);
	struct npl_shape a = cu_matrices(&request->in[0]->shape, true);
	const bool trans_a = gemm && request->attrs->gemm.trans_a, trans_b = gemm && request->attrs->gemm.trans_b;
	const int64_t k = a.dim[a.rank - 1 - trans_a], n = b.dim[b.rank - 1 - trans_b];
	if (!gemm && b.rank == 2 && k) /* one right matrix for all: a single product of all rows */
		a = npl_shape_of(2, npl_shape_count(&a) / k, k);
	const int64_t m = a.dim[a.rank - 2 + trans_a];
	const enum npl_dtype type = cu_layer_type(layer);
	struct cu_product_shape shape = {.operands = type,
					 .result = type,
					 .tf32 = layer->precision == CU_TF32,
					 .m = n,
					 .n = m,
					 .k = k,
					 .ld_a = trans_b ? k : n,
					 .ld_b = trans_a ? m : k,
					 .ld_d = n,
					 .transposed_a = trans_b,
					 .transposed_b = trans_a,
					 .stride_d = m * n,
					 .relu = request->fused == NPL_ACT_RELU,
					 .bias = request->n_in > 2 && request->in[2],
					 .alpha = gemm ? request->attrs->gemm.alpha : 1};
	if (!k)
		return 0;
	cu_stack_plan(&layer->stack, &a, &b, &shape);
	return cu_product_open(&layer->device->blas, &shape, &layer->product[0], err);
}

int cu_stack_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	const struct cu_stack *stack = &layer->stack;
	const uint64_t unit = npl_dtype_size(out[0].dtype);
	if (!layer->product[0].product)
		return cu_product_empty(layer, in, out, err);
	for (int64_t i = 0; i < stack->outer; i++) {
		int64_t a, b;
		cu_stack_at(stack, i, &a, &b);
		if (cu_product_run(&d->blas, &layer->product[0], in[1].address + (uint64_t)b * unit,
				   in[0].address + (uint64_t)a * unit, cu_weights_bias(layer, in),
				   out[0].address + (uint64_t)(i * stack->step_y) * unit, false, d->workspace.address,
				   d->stream, err))
			return err->code;
	}
	return cu_product_finish(layer, &out[0], err);
}
