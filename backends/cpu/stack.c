/* SPDX-License-Identifier: MIT
 *
 * MatMul as a stack of products of matrices (cpu.h), by numpy's rule of broadcasting. */
#include "cpu.h"

/* One operand: its matrix, and the step in elements for each dimension of the result's stack, 0 where it is
 * repeated. */
struct operand {
	int64_t rows, cols;
	bool stacked;
};

static int open_operand(const struct npl_tensor *tensor, bool first, int n_batch, const int64_t *batch, int64_t *step,
			struct operand *operand, struct npl_err *err)
{
	const struct npl_shape *shape = &tensor->shape;
	int n_own_batch = shape->rank > 2 ? shape->rank - 2 : 0;
	*operand = (struct operand){0};
	if (shape->rank == 0 || n_own_batch > n_batch)
		return npl_fail(err, NPL_EINTERNAL, "the ranks of MatMul do not fit each other");
	if (shape->rank == 1) {
		operand->rows = first ? 1 : shape->dim[0];
		operand->cols = first ? shape->dim[0] : 1;
		return 0;
	}
	operand->rows = shape->dim[shape->rank - 2];
	operand->cols = shape->dim[shape->rank - 1];
	int64_t size = operand->rows * operand->cols;
	for (int i = n_own_batch - 1, o = n_batch - 1; i >= 0; i--, o--) {
		if (shape->dim[i] != 1 && shape->dim[i] != batch[o])
			return npl_fail(err, NPL_EINTERNAL, "the batch dimensions of MatMul do not fit each other");
		step[o] = shape->dim[i] == 1 ? 0 : size;
		operand->stacked |= shape->dim[i] != 1;
		size *= shape->dim[i];
	}
	return 0;
}

int cpu_stack_open(const struct npl_layer *layer, struct cpu_stack *stack, struct npl_err *err)
{
	const struct npl_tensor *x = layer->in[0], *w = layer->in[1];
	const struct npl_shape *y = &layer->out->shape;
	struct operand a, b;
	*stack = (struct cpu_stack){.rank = y->rank - (x->shape.rank > 1) - (w->shape.rank > 1), .products = 1};
	if (stack->rank < 0)
		return npl_fail(err, NPL_EINTERNAL, "the ranks of MatMul do not fit each other");
	if (open_operand(x, true, stack->rank, y->dim, stack->step_a, &a, err) ||
	    open_operand(w, false, stack->rank, y->dim, stack->step_b, &b, err))
		return NPL_EINTERNAL;
	for (int i = 0; i < stack->rank; i++) {
		stack->dim[i] = y->dim[i];
		stack->products *= y->dim[i];
	}
	if (a.cols != b.rows || npl_tensor_count(layer->out) != stack->products * a.rows * b.cols)
		return npl_fail(err, NPL_EINTERNAL, "the shapes of MatMul do not fit each other");
	stack->rows = a.rows;
	stack->cols = b.cols;
	stack->inner = a.cols;
	/* A stack of left matrices times one matrix is one tall product. */
	if (!b.stacked && npl_tensor_count(x) == stack->products * a.rows * a.cols) {
		stack->rows *= stack->products;
		stack->products = stack->products ? 1 : 0;
		stack->rank = 0;
	}
	return 0;
}

void cpu_stack_at(const struct cpu_stack *stack, int64_t product, int64_t *a, int64_t *b)
{
	*a = *b = 0;
	for (int d = stack->rank - 1; d >= 0; d--) {
		int64_t index = product % stack->dim[d];
		*a += index * stack->step_a[d];
		*b += index * stack->step_b[d];
		product /= stack->dim[d];
	}
}
