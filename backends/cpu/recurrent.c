/* SPDX-License-Identifier: MIT
 *
 * Products of recurrent layers (core/ops/recurrent.h). OpenBLAS multiplies all steps' inputs at once. A step's own
 * product has as many rows as the batch has samples; with few rows sgemm would pack the whole matrix to use it once.
 * Such products read each row of the matrix where it is stored, for up to four samples at a time. */
#include <string.h>

#include "core/computer/clock.h"
#include "core/ops/recurrent.h"
#include "cpu.h"

enum {
	FEW_ROWS = 16,           /* fewer rows than this: packing costs more than it saves */
	AT_ONCE = 4,             /* rows of a that share a row of b */
	LANES = 16,              /* parts of a sum: one vector of AVX-512, two of AVX2, four of SSE */
	PIECE_MULTIPLIES = 65536 /* least multiplications of a task */
};

typedef float vec __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

struct few_rows {
	int64_t rows, cols, depth, y_stride, pieces;
	const float *a, *b;
	float *y;
	void (*run)(const struct few_rows *p, int64_t first, int64_t end);
};

static inline __attribute__((always_inline)) float sum_of(const vec *v)
{
	float lane[LANES], sum = 0;
	memcpy(lane, v, sizeof lane);
	for (int i = 0; i < LANES; i++)
		sum += lane[i];
	return sum;
}

/* Adds a(i) . b(j) to y(i,j), and does the same for j + 1, for `rows` rows of a. */
static inline __attribute__((always_inline)) void dots(const struct few_rows *p, int rows, int64_t i, int64_t j,
						       int columns)
{
	vec sum[AT_ONCE][2] = {{{0}}};
	const float *a = p->a + i * p->depth, *b = p->b + j * p->depth;
	int64_t k = 0;
	for (; k + LANES <= p->depth; k += LANES)
		for (int c = 0; c < columns; c++) {
			const vec right = *(const vec *)(b + c * p->depth + k);
			for (int r = 0; r < rows; r++)
				sum[r][c] += *(const vec *)(a + r * p->depth + k) * right;
		}
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < columns; c++) {
			float dot_product = sum_of(&sum[r][c]);
			for (int64_t l = k; l < p->depth; l++)
				dot_product += a[r * p->depth + l] * b[c * p->depth + l];
			p->y[(i + r) * p->y_stride + j + c] += dot_product;
		}
}

static inline __attribute__((always_inline)) void run_columns(const struct few_rows *p, int64_t first, int64_t end)
{
	for (int64_t j = first; j < end; j += 2) {
		const int columns = end - j < 2 ? 1 : 2;
		int64_t i = 0;
		for (; i + AT_ONCE <= p->rows; i += AT_ONCE)
			if (columns == 2)
				dots(p, AT_ONCE, i, j, 2);
			else
				dots(p, AT_ONCE, i, j, 1);
		for (; i < p->rows; i++)
			if (columns == 2)
				dots(p, 1, i, j, 2);
			else
				dots(p, 1, i, j, 1);
	}
}

static void columns_sse(const struct few_rows *p, int64_t first, int64_t end)
{
	run_columns(p, first, end);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void columns_avx2(const struct few_rows *p, int64_t first, int64_t end)
{
	run_columns(p, first, end);
}

__attribute__((target("avx512f"))) static void columns_avx512(const struct few_rows *p, int64_t first, int64_t end)
{
	run_columns(p, first, end);
}
#endif

static void run_piece(void *context, int64_t piece, int worker)
{
	const struct few_rows *p = context;
	(void)worker;
	p->run(p, p->cols / p->pieces * piece, piece + 1 == p->pieces ? p->cols : p->cols / p->pieces * (piece + 1));
}

static void add_few_rows(struct cpu_state *cpu, struct few_rows *p)
{
	const int64_t max_pieces = 4 * (int64_t)cpu->threads,
		      full_pieces = p->rows * p->cols * p->depth / PIECE_MULTIPLIES;
	p->run = columns_sse;
#if defined(__x86_64__)
	if (cpu->blas.isa.level >= CPU_AVX512)
		p->run = columns_avx512;
	else if (cpu->blas.isa.level >= CPU_AVX2)
		p->run = columns_avx2;
#endif
	p->pieces = cpu->threads == 1 || full_pieces < 2 ? 1 : full_pieces > max_pieces ? max_pieces : full_pieces;
	if (p->pieces == 1)
		run_piece(p, 0, 0);
	else
		npl_pool_run(cpu->pool, p->pieces, run_piece, p);
}

static void add_product(void *context, int64_t rows, int64_t cols, int64_t depth, const float *a, const float *b,
			float *y, int64_t y_stride)
{
	struct cpu_state *cpu = context;
	if (!rows || !cols || !depth)
		return;
	if (rows < FEW_ROWS)
		add_few_rows(cpu, &(struct few_rows){.rows = rows,
						     .cols = cols,
						     .depth = depth,
						     .y_stride = y_stride,
						     .a = a,
						     .b = b,
						     .y = y});
	else
		cpu->blas.sgemm(CPU_ROW_MAJOR, CPU_NO_TRANS, CPU_TRANS, (int)rows, (int)cols, (int)depth, 1, a,
				(int)depth, b, (int)depth, 1, y, (int)y_stride);
}

bool cpu_is_recurrent(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_RNN || layer->op == NPL_OP_GRU || layer->op == NPL_OP_LSTM;
}

int cpu_recurrent_run(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out, double *seconds,
		      struct npl_err *err)
{
	const struct npl_multiplier multiplier = {add_product, cpu};
	double begin = npl_clock_seconds();
	int rc = npl_recurrent_run(&multiplier, layer->attrs, layer->in, layer->n_in, out, npl_layer_outputs(layer),
				   err);
	*seconds = npl_clock_seconds() - begin;
	return rc;
}
