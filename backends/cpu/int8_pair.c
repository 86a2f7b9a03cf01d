/* SPDX-License-Identifier: MIT
 *
 * Add and Mul of two 8-bit tensors by the integer rule, with or without broadcasting, by all threads. The loops are
 * written so that the compiler vectorises them. A term is rounded once, when it is multiplied, and a product of bytes
 * is exact before its factor, so the bits are those of the rule's simple loops. */
#include <math.h>
#include <stdlib.h>

#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "core/int8/layer.h"
#include "cpu.h"

#define PIECE 131072 /* least elements of a task; waking threads for fewer costs more time than it saves */

struct operand {
	const uint8_t *data;
	uint8_t flip; /* bits to invert: 0x80 makes i8 unsigned, with 128 more in the zero point */
	float zero, factor;
	/* elements to the next one, per dimension of the result; 0: the operand broadcasts */
	int64_t step[NPL_MAX_RANK];
	int64_t inner; /* step along a run: 0 or 1 */
};

struct pair {
	struct operand a, b;
	bool add;
	uint8_t *y;
	float factor, zero, low, high,
		least_value; /* factor: of a product; the others: of the result, least_value after Relu */
	/* With `limited`, Relu6 limits results to `high`, and greater ones do not count as saturated. */
	bool relu, limited;
	int rank; /* number of dimensions outside the runs */
	int64_t dim[NPL_MAX_RANK], run, count, pieces;
	uint64_t *saturations; /* per worker */
	uint64_t (*work)(const struct pair *pair, const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *y);
};

static inline __attribute__((always_inline)) uint64_t elements(const struct pair *pair, const uint8_t *a,
							       int64_t step_a, const uint8_t *b, int64_t step_b,
							       int64_t n, uint8_t *y, bool add)
{
	const float zero_a = pair->a.zero, factor_a = pair->a.factor, zero_b = pair->b.zero, factor_b = pair->b.factor,
		    factor = pair->factor, zero = pair->zero, low = pair->low, high = pair->high,
		    least = pair->least_value, lowest = pair->relu ? -INFINITY : low,
		    highest = pair->limited ? INFINITY : high;
	const uint8_t flip_a = pair->a.flip, flip_b = pair->b.flip;
	uint64_t saturations = 0;
	while (n > 0) {
		const int64_t count = n < PIECE ? n : PIECE;
		uint32_t clipped = 0;
		for (int64_t i = 0; i < count; i++) {
			const float p = ((float)(uint8_t)(a[i * step_a] ^ flip_a) - zero_a) * factor_a;
			const float q = ((float)(uint8_t)(b[i * step_b] ^ flip_b) - zero_b) * factor_b;
			const float value = rintf(add ? p + q : p * q * factor) + zero;
			const float raised = value > least ? value : least;
			clipped += (uint32_t)(value > highest) + (uint32_t)(value < lowest);
			y[i] = (uint8_t)(int32_t)(raised < high ? raised : high);
		}
		saturations += clipped;
		a += count * step_a;
		b += count * step_b;
		y += count;
		n -= count;
	}
	return saturations;
}

/* Calls `elements` with constant steps, so that the compiler vectorises it. */
static inline __attribute__((always_inline)) uint64_t run(const struct pair *pair, const uint8_t *a, const uint8_t *b,
							  int64_t n, uint8_t *y)
{
	if (!pair->a.inner)
		return pair->add ? elements(pair, a, 0, b, 1, n, y, true) : elements(pair, a, 0, b, 1, n, y, false);
	if (!pair->b.inner)
		return pair->add ? elements(pair, a, 1, b, 0, n, y, true) : elements(pair, a, 1, b, 0, n, y, false);
	return pair->add ? elements(pair, a, 1, b, 1, n, y, true) : elements(pair, a, 1, b, 1, n, y, false);
}

static uint64_t run_sse(const struct pair *pair, const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *y)
{
	return run(pair, a, b, n, y);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t run_avx2(const struct pair *pair, const uint8_t *a, const uint8_t *b,
							 int64_t n, uint8_t *y)
{
	return run(pair, a, b, n, y);
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) static uint64_t
run_avx512(const struct pair *pair, const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *y)
{
	return run(pair, a, b, n, y);
}
#endif

static struct operand operand_of(const struct npl_tensor *t, float factor)
{
	const bool is_signed = t->dtype == NPL_I8;
	return (struct operand){.data = t->data,
				.flip = is_signed ? 0x80 : 0,
				.zero = (float)(t->quant.zero_point + (is_signed ? 128 : 0)),
				.factor = factor,
				.inner = 1};
}

/* Sets an operand's steps by numpy's rule: dimensions are aligned at the end. */
static void set_steps(const struct npl_tensor *t, const struct npl_shape *out, struct operand *operand)
{
	int64_t step = 1;
	for (int d = out->rank - 1; d >= 0; d--) {
		int operand_dim = d - (out->rank - t->shape.rank);
		int64_t size = operand_dim < 0 ? 1 : t->shape.dim[operand_dim];
		operand->step[d] = size == 1 ? 0 : step;
		step *= size;
	}
}

/* Joins the last dimensions to a run, along which each operand has the step 1 or is repeated throughout. */
static void find_runs(const struct npl_shape *out, struct pair *pair)
{
	struct operand *side[2] = {&pair->a, &pair->b};
	bool advances[2] = {true, true}, repeats[2] = {true, true};
	pair->run = 1;
	for (pair->rank = out->rank; pair->rank > 0; pair->rank--) {
		const int d = pair->rank - 1;
		if (out->dim[d] == 1)
			continue;
		for (int k = 0; k < 2; k++) {
			advances[k] = advances[k] && side[k]->step[d] == pair->run;
			repeats[k] = repeats[k] && !side[k]->step[d];
		}
		if ((!advances[0] && !repeats[0]) || (!advances[1] && !repeats[1]))
			break;
		for (int k = 0; k < 2; k++)
			side[k]->inner = advances[k];
		pair->run *= out->dim[d];
	}
	for (int d = 0; d < pair->rank; d++)
		pair->dim[d] = out->dim[d];
	for (int k = 0; k < 2 && pair->run == 1; k++)
		side[k]->inner = 1; /* for runs of one element the step does not matter */
}

static void find_offsets(const struct pair *pair, int64_t row, int64_t *a, int64_t *b)
{
	*a = *b = 0;
	for (int d = pair->rank - 1; d >= 0; d--) {
		int64_t index = row % pair->dim[d];
		*a += index * pair->a.step[d];
		*b += index * pair->b.step[d];
		row /= pair->dim[d];
	}
}

static void run_piece(void *context, int64_t i, int worker)
{
	const struct pair *pair = context;
	int64_t index = pair->count / pair->pieces * i,
		end = i + 1 == pair->pieces ? pair->count : pair->count / pair->pieces * (i + 1);
	while (index < end) {
		int64_t within_run = index % pair->run,
			n = pair->run - within_run < end - index ? pair->run - within_run : end - index, a, b;
		find_offsets(pair, index / pair->run, &a, &b);
		pair->saturations[worker] += pair->work(pair, pair->a.data + a + within_run * pair->a.inner,
							pair->b.data + b + within_run * pair->b.inner, n,
							pair->y + index);
		index += n;
	}
}

static void choose_kernel(struct pair *pair)
{
	pair->work = run_sse;
#if defined(__x86_64__)
	const enum cpu_level level = cpu_vectors_detect().level;
	if (level >= CPU_AVX512)
		pair->work = run_avx512;
	else if (level >= CPU_AVX2)
		pair->work = run_avx2;
#endif
}

int cpu_int8_pair(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out,
		  struct npl_result *result, struct npl_err *err)
{
	const struct npl_tensor *a = layer->in[0], *b = layer->in[1];
	const bool add = layer->op == NPL_OP_ADD;
	const float scale = out->quant.scale;
	struct pair pair = {.a = operand_of(a, add ? a->quant.scale / scale : 1),
			    .b = operand_of(b, add ? b->quant.scale / scale : 1),
			    .add = add,
			    .y = out->data,
			    .factor = add ? 1 : a->quant.scale * b->quant.scale / scale,
			    .zero = (float)out->quant.zero_point,
			    .low = (float)npl_dtype_min(out->dtype),
			    .high = (float)npl_dtype_max(out->dtype),
			    .count = npl_tensor_count(out)};
	struct npl_int8_finish finish = {0};
	npl_int8_finish_by(&finish, layer->activation, out);
	pair.relu = finish.relu;
	pair.limited = finish.has_limit;
	if (pair.limited)
		pair.high = (float)finish.limit;
	pair.least_value = pair.relu ? pair.zero : pair.low;
	set_steps(a, &out->shape, &pair.a);
	set_steps(b, &out->shape, &pair.b);
	find_runs(&out->shape, &pair);
	choose_kernel(&pair);
	pair.saturations = calloc((size_t)cpu->threads, sizeof *pair.saturations);
	if (!pair.saturations)
		return npl_no_memory(err);
	int64_t max_pieces = 4 * (int64_t)cpu->threads;
	pair.pieces = cpu->threads == 1 ? 1 : pair.count / PIECE;
	pair.pieces = pair.pieces < 1 ? 1 : pair.pieces > max_pieces ? max_pieces : pair.pieces;
	double begin = npl_clock_seconds();
	if (pair.pieces == 1)
		run_piece(&pair, 0, 0);
	else
		npl_pool_run(cpu->pool, pair.pieces, run_piece, &pair);
	result->seconds = npl_clock_seconds() - begin;
	for (int t = 0; t < cpu->threads; t++)
		result->saturations += pair.saturations[t];
	free(pair.saturations);
	return 0;
}
