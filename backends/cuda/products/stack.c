/* SPDX-License-Identifier: MIT
 *
 * Stacks of products (layer.h): MatMul of two tensors, and a Gemm that is not rows times a matrix. */

#include "backends/cuda/load/alignment.h"
#include "core/base/refuse.h"
#include "layer.h"

bool cu_stack_supports(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_tensor *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	if (layer->op != NPL_OP_GEMM)
		return true;
	if (!(layer->attrs->gemm.alpha < 0) && !(layer->attrs->gemm.alpha > 0))
		return npl_refuse(reason, reason_bytes, "its product counts for nothing (alpha 0)");
	if (!bias)
		return true;
	int64_t columns = layer->out->shape.dim[1];
	if (layer->attrs->gemm.beta < 1 || layer->attrs->gemm.beta > 1)
		return npl_refuse(reason, reason_bytes, "what is added to its product is scaled (beta)");
	return (npl_tensor_count(bias) == columns && bias->shape.rank >= 1 &&
		bias->shape.dim[bias->shape.rank - 1] == columns) ||
	       npl_refuse(reason, reason_bytes, "what is added to its product is not one element per column");
}

struct npl_shape cu_matrices(const struct npl_shape *shape, bool left)
{
	if (shape->rank != 1)
		return *shape;
	return left ? npl_shape_of(2, 1, shape->dim[0]) : npl_shape_of(2, shape->dim[0], 1);
}

int cu_stack_plan(struct cu_stack *stack, const struct npl_shape *a, const struct npl_shape *b,
		  struct cu_product_shape *shape, struct npl_err *err)
{
	const struct op_stack left = op_stack_of(a, true), right = op_stack_of(b, false);
	struct op_walk *walk = &stack->walk;
	struct npl_shape batch;
	if (op_broadcast_shape(&left.batch, &right.batch, &batch, err))
		return err->code;
	op_stack_walk(walk, &batch, &left, &right);
	const int inner = --walk->rank;
	shape->batch = walk->dim[inner];
	shape->stride_a = walk->b[inner];
	shape->stride_b = walk->a[inner];
	stack->outer = 1;
	stack->step_y = shape->batch * shape->stride_d;
	const uint64_t in = npl_dtype_size(shape->operands), out = npl_dtype_size(shape->result);
	uint64_t offsets[2 * NPL_MAX_RANK + 1] = {(uint64_t)(walk->rank ? stack->step_y : 0) * out};
	for (int d = 0; d < walk->rank; d++) {
		stack->outer *= walk->dim[d];
		offsets[1 + 2 * d] = (uint64_t)walk->a[d] * in;
		offsets[2 + 2 * d] = (uint64_t)walk->b[d] * in;
	}
	shape->alignment = cu_common_alignment(offsets, 2 * walk->rank + 1);
	return 0;
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
					 .relu = request->activation == NPL_ACT_RELU,
					 .bias = request->n_in > 2 && request->in[2],
					 .alpha = gemm ? request->attrs->gemm.alpha : 1};
	if (!k)
		return 0;
	return cu_stack_plan(&layer->stack, &a, &b, &shape, err) ||
			       cu_product_open(&layer->device->blas, &shape, &layer->product[0], err)
		       ? err->code
		       : 0;
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
		op_walk_at(&stack->walk, i, &a, &b);
		if (cu_product_run(&d->blas, &layer->product[0], in[1].address + (uint64_t)b * unit,
				   in[0].address + (uint64_t)a * unit, cu_weights_bias(layer, in),
				   out[0].address + (uint64_t)(i * stack->step_y) * unit, false, d->workspace.address,
				   d->stream, err))
			return err->code;
	}
	return cu_product_finish(layer, &out[0], err);
}
