/* SPDX-License-Identifier: MIT
 *
 * Gemm and MatMul by OpenBLAS with its own threads. A product of one row is computed by sgemv, which reads the weight
 * matrix in place; sgemm would copy all of it into its packed form to use it once. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cpu.h"

bool cpu_fits_blas(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	for (int i = 0; i <= layer->n_in; i++) {
		const struct npl_tensor *tensor = i < layer->n_in ? layer->in[i] : layer->out;
		int64_t count = tensor ? npl_tensor_count(tensor) : 0;
		if (count >= 0 && count <= INT_MAX)
			continue;
		snprintf(reason, reason_bytes,
			 "a tensor has more than 2147483647 elements, the most that OpenBLAS's 32-bit sizes are sure "
			 "to hold");
		return false;
	}
	return true;
}

void cpu_finish(float *y, int64_t rows, int64_t cols, int64_t ld, const float *bias, int64_t row_step, int64_t col_step,
		float scale, bool relu)
{
	if (!bias && !relu)
		return;
	for (int64_t i = 0; i < rows; i++, y += ld) {
		const float *row_or_column_bias = bias ? bias + i * row_step : NULL;
		float row_bias = row_or_column_bias && !col_step ? scale * *row_or_column_bias : 0;
		if (row_or_column_bias && col_step)
			for (int64_t j = 0; j < cols; j++) {
				float value = y[j] + scale * row_or_column_bias[j];
				y[j] = relu && value < 0 ? 0 : value;
			}
		else
			for (int64_t j = 0; j < cols; j++) {
				float value = y[j] + row_bias;
				y[j] = relu && value < 0 ? 0 : value;
			}
	}
}

struct product {
	const float *a, *b; /* (m,k) and (k,n), or their transposes */
	float *c;           /* (m,n) */
	int64_t m, n, k;
	bool trans_a, trans_b;
	float alpha;
};

static void multiply(const struct cpu_blas *blas, const struct product *p)
{
	int m = (int)p->m, n = (int)p->n, k = (int)p->k;
	if (!m || !n)
		return;
	if (!k) {
		memset(p->c, 0, sizeof *p->c * (size_t)m * (size_t)n);
		return;
	}
	if (m == 1 && p->trans_b) /* b is (n,k) */
		blas->sgemv(CPU_ROW_MAJOR, CPU_NO_TRANS, n, k, p->alpha, p->b, k, p->a, 1, 0, p->c, 1);
	else if (m == 1) /* b is (k,n) */
		blas->sgemv(CPU_ROW_MAJOR, CPU_TRANS, k, n, p->alpha, p->b, n, p->a, 1, 0, p->c, 1);
	else
		blas->sgemm(CPU_ROW_MAJOR, p->trans_a ? CPU_TRANS : CPU_NO_TRANS, p->trans_b ? CPU_TRANS : CPU_NO_TRANS,
			    m, n, k, p->alpha, p->a, p->trans_a ? m : k, p->b, p->trans_b ? k : n, 0, p->c, n);
}

/* Sets the steps of a bias that broadcasts to (rows, cols); 0 along a dimension of 1. */
static void bias_steps(const struct npl_shape *shape, int64_t *row_step, int64_t *col_step)
{
	int64_t cols = shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;
	int64_t rows = shape->rank > 1 ? shape->dim[shape->rank - 2] : 1;
	*col_step = cols == 1 ? 0 : 1;
	*row_step = rows == 1 ? 0 : cols;
}

int cpu_gemm_run(struct cpu_state *cpu, const struct npl_layer *layer, float *out, struct npl_err *err)
{
	const struct npl_tensor *x = layer->in[0], *w = layer->in[1], *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	const struct npl_gemm_attrs *gemm = &layer->attrs->gemm;
	const struct npl_shape *y = &layer->out->shape;
	int64_t row_step = 0, col_step = 0;
	struct product p = {.a = x->data,
			    .b = w->data,
			    .c = out,
			    .alpha = gemm->alpha,
			    .trans_a = gemm->trans_a,
			    .trans_b = gemm->trans_b,
			    .m = x->shape.dim[gemm->trans_a],
			    .k = x->shape.dim[!gemm->trans_a],
			    .n = w->shape.dim[!gemm->trans_b]};
	if (x->shape.rank != 2 || w->shape.rank != 2 || y->rank != 2 || w->shape.dim[gemm->trans_b] != p.k ||
	    y->dim[0] != p.m || y->dim[1] != p.n)
		return npl_fail(err, NPL_EINTERNAL, "the shapes of Gemm do not fit each other");
	if (bias)
		bias_steps(&bias->shape, &row_step, &col_step);
	multiply(&cpu->blas, &p);
	cpu_finish(out, p.m, p.n, p.n, bias ? bias->data : NULL, row_step, col_step, gemm->beta,
		   layer->activation == NPL_ACT_RELU);
	return 0;
}

int cpu_matmul_run(struct cpu_state *cpu, const struct npl_layer *layer, float *out, struct npl_err *err)
{
	struct cpu_stack stack;
	if (cpu_stack_open(layer, &stack, err))
		return err->code;
	struct product p = {.m = stack.rows, .n = stack.cols, .k = stack.inner, .alpha = 1};
	for (int64_t i = 0; i < stack.products; i++) {
		int64_t a, b;
		op_walk_at(&stack.walk, i, &a, &b);
		p.a = (const float *)layer->in[0]->data + a;
		p.b = (const float *)layer->in[1]->data + b;
		p.c = out + i * p.m * p.n;
		multiply(&cpu->blas, &p);
	}
	cpu_finish(out, 1, npl_tensor_count(layer->out), 0, NULL, 0, 0, 0, layer->activation == NPL_ACT_RELU);
	return 0;
}
