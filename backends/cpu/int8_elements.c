/* SPDX-License-Identifier: MIT
 *
 * Operators that work element by element and have no rule of their own on integers: each result is what the float32 kernel makes of
 * the numbers that the bytes stand for, rounded to the result's scale. Of one tensor beside single numbers there are but 256
 * results, which a table holds; of several, pieces go through a cache's worth of floats on every thread. */
#include <stdatomic.h>
#include <stdlib.h>

#include "cpu.h"
#include "npulab/clock.h"
#include "npulab/integer.h"
#include "npulab/measured.h"

#define BYTES 256
#define PIECE 4096  /* elements: a few floats of each fit the first cache */
#define TASK  16384 /* elements at least: fewer cost more in waking threads than they save */

static int not_a_number(const struct npl_layer *layer, struct npl_err *err)
{
	return npl_fail(err, NPL_EINPUT, "the result of '%s' holds a NaN, which int8 cannot hold",
			layer->name ? layer->name : npl_op_defs[layer->op].name);
}

/* The one input of more than one element; -1: there are several of the result's shape. */
static int only_input(const struct npl_layer *layer)
{
	int only = -1;
	for (int k = 0; k < layer->n_in; k++) {
		const struct npl_tensor *in = layer->in[k];
		if (!in || npl_tensor_count(in) == 1)
			continue;
		if (only >= 0)
			return -1;
		only = k;
	}
	return only;
}

/* The layer over n floats of each of its inputs from element `first` on (one of a single number), in work: results first. */
static int run_in_float(const struct npl_layer *layer, int64_t first, int64_t n, float *work, struct npl_err *err)
{
	struct npl_layer in_float = *layer;
	struct npl_tensor in[NPL_LAYER_INPUTS], out = {.dtype = NPL_F32, .shape = npl_shape_of(1, n), .data = work};
	double seconds;
	for (int k = 0; k < layer->n_in; k++) {
		const struct npl_tensor *from = layer->in[k];
		if (!from)
			continue;
		const bool single = npl_tensor_count(from) == 1;
		in[k] = (struct npl_tensor){
			.dtype = NPL_F32, .shape = npl_shape_of(1, single ? 1 : n), .data = work += n};
		npl_int8_dequantise((const uint8_t *)from->data + (single ? 0 : first), single ? 1 : n, &from->quant,
				    from->dtype, work);
		in_float.in[k] = &in[k];
	}
	in_float.out = &out;
	return npl_run_reference(&in_float, &out, &seconds, err);
}

/* What each byte of input k becomes. A byte whose result is a NaN is marked, and refused only where it occurs. */
struct table {
	uint8_t result[BYTES];
	bool nan[BYTES], any_nan;
	uint64_t saturations[BYTES]; /* 1 where the result saturates */
};

static int make_table(const struct npl_layer *layer, int k, float *work, struct table *table, struct npl_err *err)
{
	uint8_t byte[BYTES];
	struct npl_tensor all = *layer->in[k];
	struct npl_layer of_all = *layer;
	const struct npl_tensor *out = layer->out;
	struct npl_tensor results = *out;
	char why[200];
	for (int b = 0; b < BYTES; b++)
		byte[b] = (uint8_t)b;
	all.shape = npl_shape_of(1, BYTES);
	all.data = byte;
	of_all.in[k] = &all;
	of_all.n_in = layer->op == NPL_OP_CLIP && layer->attrs->limits_known ? 1 : layer->n_in;
	results.shape = all.shape;
	of_all.out = &results;
	if (layer->op == NPL_OP_CLIP && npl_integer_layer_ok(&of_all, why, sizeof why)) { /* it has a rule of its own */
		struct npl_integer_counts counts = {0};
		results.data = table->result;
		return npl_run_integer(&of_all, &results, &counts, err);
	}
	if (run_in_float(&of_all, 0, BYTES, work, err))
		return err->code;
	for (int b = 0; b < BYTES; b++) {
		table->nan[b] = !npl_int8_quantise(work + b, 1, &out->quant, out->dtype, &table->result[b],
						   &table->saturations[b]);
		table->any_nan |= table->nan[b];
	}
	return 0;
}

struct work {
	const struct npl_layer *layer;
	const struct npl_tensor *out;
	int only;
	struct table table;
	float *floats; /* per worker */
	size_t floats_each;
	int64_t pieces;
	atomic_uint_fast64_t saturations;
	atomic_bool failed;
	struct npl_err err; /* of the first piece that failed */
};

static int run_table(const struct work *work, int64_t first, int64_t end, uint64_t *saturations, struct npl_err *err)
{
	const uint8_t *x = work->layer->in[work->only]->data;
	uint8_t *y = work->out->data;
	for (int64_t i = first; i < end; i++) {
		y[i] = work->table.result[x[i]];
		*saturations += work->table.saturations[x[i]];
	}
	for (int64_t i = first; i < end && work->table.any_nan; i++)
		if (work->table.nan[x[i]])
			return not_a_number(work->layer, err);
	return 0;
}

static int run_floats(const struct work *work, int64_t first, int64_t end, float *floats, uint64_t *saturations,
		      struct npl_err *err)
{
	const struct npl_tensor *out = work->out;
	for (int64_t n; first < end; first += n) {
		n = end - first < PIECE ? end - first : PIECE;
		if (run_in_float(work->layer, first, n, floats, err))
			return err->code;
		if (!npl_int8_quantise(floats, n, &out->quant, out->dtype, (uint8_t *)out->data + first, saturations))
			return not_a_number(work->layer, err);
	}
	return 0;
}

static void run_piece(void *context, int64_t i, int worker)
{
	struct work *work = context;
	const int64_t count = npl_tensor_count(work->out);
	int64_t first = count / work->pieces * i, end = i + 1 == work->pieces ? count : count / work->pieces * (i + 1);
	struct npl_err err = {0};
	uint64_t saturations = 0;
	int rc = work->only >= 0 ? run_table(work, first, end, &saturations, &err)
				 : run_floats(work, first, end, work->floats + work->floats_each * (size_t)worker,
					      &saturations, &err);
	atomic_fetch_add(&work->saturations, saturations);
	if (rc && !atomic_exchange(&work->failed, true))
		work->err = err;
}

int cpu_int8_elements(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out,
		      struct npl_result *result, struct npl_err *err)
{
	struct work work = {.layer = layer, .out = out, .only = only_input(layer)};
	const int64_t count = npl_tensor_count(out), most = 4 * (int64_t)cpu->threads;
	work.floats_each = (size_t)(layer->n_in + 1) * PIECE;
	if (cpu_reserve(cpu, work.floats_each * sizeof(float) * (size_t)cpu->threads, err))
		return err->code;
	work.floats = cpu->workspace;
	work.pieces = cpu->threads == 1 ? 1 : count / TASK;
	work.pieces = work.pieces < 1 ? 1 : work.pieces > most ? most : work.pieces;
	double begin = npl_clock_seconds();
	if (work.only >= 0 && make_table(layer, work.only, work.floats, &work.table, err))
		return err->code;
	if (work.pieces == 1)
		run_piece(&work, 0, 0);
	else
		cpu_pool_run(cpu->pool, work.pieces, run_piece, &work);
	result->seconds = npl_clock_seconds() - begin;
	result->saturations = work.saturations;
	return work.err.code ? npl_fail(err, work.err.code, "%s", work.err.msg) : 0;
}
