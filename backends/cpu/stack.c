/* SPDX-License-Identifier: MIT
 *
 * MatMul as a stack of products of matrices (cpu.h), by numpy's rule of broadcasting. */
#include "cpu.h"

int cpu_stack_open(const struct npl_layer *layer, struct cpu_stack *stack, struct npl_err *err)
{
	const struct npl_shape *x = &layer->in[0]->shape, *w = &layer->in[1]->shape;
	if (!x->rank || !w->rank)
		return npl_fail(err, NPL_EINTERNAL, "the ranks of MatMul do not fit each other");
	struct op_stack a = op_stack_of(x, true), b = op_stack_of(w, false);
	struct npl_shape batch;
	/* A stack of left matrices times one matrix is one tall product. */
	if (npl_shape_count(&b.batch) == 1 && npl_shape_count(&a.batch)) {
		a.rows *= npl_shape_count(&a.batch);
		a.batch.rank = b.batch.rank = 0;
	}
	if (op_broadcast_shape(&a.batch, &b.batch, &batch, err))
		return npl_fail(err, NPL_EINTERNAL, "the batch dimensions of MatMul do not fit each other");
	*stack = (struct cpu_stack){
		.products = npl_shape_count(&batch), .rows = a.rows, .inner = a.cols, .cols = b.cols};
	if (a.cols != b.rows || npl_tensor_count(layer->out) != stack->products * a.rows * b.cols)
		return npl_fail(err, NPL_EINTERNAL, "the shapes of MatMul do not fit each other");
	op_stack_walk(&stack->walk, &batch, &a, &b);
	return 0;
}
