/* SPDX-License-Identifier: MIT
 *
 * MatMul of two computed 8-bit tensors (layer.h). Operands are packed before the product: made signed, with rows along
 * K that are as long as cuBLASLt's fast kernels need them; the right one is transposed. With x8, w8 the signed numbers
 * and x0, w0 their zero points
 *
 * 	sum of (x8 - x0) * (w8 - w0) = sum of x8 * w8 - w0 * sum of x8 - x0 * sum of w8 + K * x0 * w0
 *
 * Packing therefore also sums each row if the other operand's zero point is not 0. All additions wrap in 32 bits. */

#include "backends/cuda/load/alignment.h"
#include "core/base/arith.h"
#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/integer.h"
#include "layer.h"

bool cu_stack_integers_supports(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	if (!npl_integer_layer_ok(layer, reason, reason_bytes))
		return false;
	if (npl_is_byte(layer->in[0]->dtype) && npl_is_byte(layer->in[1]->dtype) && npl_is_byte(layer->out->dtype))
		return true;
	return npl_refuse(reason, reason_bytes, "the GPU multiplies integers of 8 bits");
}

/* Returns an operand's zero point after its numbers were made signed. */
static int64_t signed_zero(const struct npl_tensor *t)
{
	return t->quant.zero_point - (t->dtype == NPL_U8 ? 128 : 0);
}

static size_t take_scratch(struct cu_layer *layer, int64_t bytes)
{
	const size_t offset = layer->scratch_bytes;
	layer->scratch_bytes += cu_aligned((size_t)bytes);
	return offset;
}

/* Plans the packing of operand k to (matrices, rows, ld), of which `used` rows and `columns` elements are not
 * padding. */
static void plan_operand(struct cu_layer *layer, int k, int64_t matrices, int64_t used, int64_t rows, int64_t columns,
			 int64_t ld)
{
	const struct npl_tensor *t = layer->layer->in[k], *other_operand = layer->layer->in[!k];
	struct cu_stack_operand *o = &layer->stack.operand[k];
	*o = (struct cu_stack_operand){.packing = {.matrices = matrices,
						   .filled_rows = used,
						   .rows = rows,
						   .columns = columns,
						   .ld = ld,
						   .turned = k == 1,
						   .flip = t->dtype == NPL_U8 ? 0x80 : 0},
				       .sums = signed_zero(other_operand) != 0};
	o->packed = o->sums || o->packing.turned || o->packing.flip || ld != columns;
	if (o->packed)
		o->offset = take_scratch(layer, o->packing.matrices * rows * ld);
	if (o->sums)
		o->sums_offset = take_scratch(layer, o->packing.matrices * rows * (int64_t)sizeof(int32_t));
}

static int64_t matrices_of(const struct npl_shape *stack)
{
	int64_t matrices = 1;
	for (int d = 0; d < stack->rank - 2; d++)
		matrices *= stack->dim[d];
	return matrices;
}

int cu_stack_integers_open(struct cu_layer *layer, struct npl_err *err)
{
	const struct npl_layer *request = layer->layer;
	struct npl_shape a = cu_matrices(&request->in[0]->shape, true), b = cu_matrices(&request->in[1]->shape, false);
	const int64_t m = a.dim[a.rank - 2], k = a.dim[a.rank - 1], n = b.dim[b.rank - 1];
	const int64_t ld = npl_round_up_i64(k ? k : 1, 16), columns = npl_round_up_i64(n, 4);
	struct cu_product_shape shape = {.operands = NPL_I8,
					 .result = NPL_I32,
					 .m = columns,
					 .n = m,
					 .k = ld,
					 .ld_a = ld,
					 .ld_b = ld,
					 .ld_d = columns,
					 .transposed_a = true,
					 .stride_d = m * columns};
	plan_operand(layer, 0, matrices_of(&a), m, m, k, ld);
	plan_operand(layer, 1, matrices_of(&b), n, columns, k, ld);
	a.dim[a.rank - 1] = ld;
	b.dim[b.rank - 2] = columns;
	b.dim[b.rank - 1] = ld;
	if (cu_stack_plan(&layer->stack, &a, &b, &shape, err))
		return err->code;
	layer->stack.products_offset = take_scratch(layer, layer->stack.step_y * (int64_t)sizeof(int32_t));
	return cu_product_open(&layer->device->blas, &shape, &layer->product[0], err);
}

/* Packs operand k if that is needed; *packed is the address to multiply from. */
static int pack(const struct cu_layer *layer, int k, const struct cu_value *value, uint64_t scratch, uint64_t *packed,
		struct npl_err *err)
{
	const struct cu_stack_operand *o = &layer->stack.operand[k];
	*packed = o->packed ? scratch + o->offset : value->address;
	if (!o->packed)
		return 0;
	return cu_kernel_pack(layer->device->kernels, value->address, &o->packing, *packed,
			      o->sums ? scratch + o->sums_offset : 0, layer->device->stream, err);
}

/* Converts the sums of the batch number `outer` to results. */
static int finish(const struct cu_layer *layer, int64_t outer, int64_t a, int64_t b, struct cu_value *out,
		  uint64_t scratch, struct npl_err *err)
{
	const struct npl_layer *request = layer->layer;
	const struct cu_stack *stack = &layer->stack;
	const struct cu_product_shape *shape = &layer->product[0].shape;
	const struct cu_stack_operand *x = &stack->operand[0], *w = &stack->operand[1];
	const int64_t zero_x = signed_zero(request->in[0]), zero_w = signed_zero(request->in[1]);
	const struct cu_stack_sums sums = {
		.matrices = shape->batch,
		.rows = x->packing.filled_rows,
		.columns = w->packing.filled_rows,
		.ld = shape->ld_d,
		.row_sums = x->sums ? scratch + x->sums_offset + (uint64_t)(a / x->packing.ld) * sizeof(int32_t) : 0,
		.column_sums = w->sums ? scratch + w->sums_offset + (uint64_t)(b / w->packing.ld) * sizeof(int32_t) : 0,
		.row_step = shape->stride_b / x->packing.ld,
		.column_step = shape->stride_a / w->packing.ld,
		.row_factor = (int)-zero_w,
		.column_factor = (int)-zero_x,
		.constant = (uint32_t)(uint64_t)(x->packing.columns * zero_x * zero_w),
		.scale = cu_sums_scale(request->in[0], request->in[1], 0, request->activation, request->out)};
	const int64_t results = stack->step_y / shape->ld_d * sums.columns;
	return cu_kernel_stack_sums(layer->device->kernels, scratch + stack->products_offset, &sums,
				    request->activation, request->out, out[0].address + (uint64_t)(outer * results),
				    layer->device->stream, err);
}

int cu_stack_integers_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
			  struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	const struct cu_stack *stack = &layer->stack;
	uint64_t x, w;
	if (pack(layer, 0, &in[0], scratch, &x, err) || pack(layer, 1, &in[1], scratch, &w, err))
		return err->code;
	for (int64_t i = 0; i < stack->outer; i++) {
		int64_t a, b;
		op_walk_at(&stack->walk, i, &a, &b);
		if (cu_product_run(&d->blas, &layer->product[0], w + (uint64_t)b, x + (uint64_t)a, 0,
				   scratch + stack->products_offset, false, d->workspace.address, d->stream, err) ||
		    finish(layer, i, a, b, out, scratch, err))
			return err->code;
	}
	return 0;
}
