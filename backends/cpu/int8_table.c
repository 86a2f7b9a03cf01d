/* SPDX-License-Identifier: MIT
 *
 * Operators on one 8-bit tensor (and perhaps single numbers) that work element by element and have no integer rule: a
 * table has the results of the float32 kernel for each of the 256 numbers that a byte may stand for, rounded to the
 * result's scale. */
#include <stdatomic.h>

#include "core/computer/clock.h"
#include "core/float_layer.h"
#include "core/integer.h"
#include "cpu.h"

#define BYTES 256
#define TASK  16384 /* least elements of a task; waking threads for fewer costs more time than it saves */

static int not_a_number(const struct npl_layer *layer, struct npl_err *err)
{
	return npl_fail(err, NPL_EINPUT, "the result of '%s' holds a NaN, which int8 cannot hold",
			layer->name ? layer->name : npl_op_defs[layer->op].name);
}

/* Returns the only input of more than one element, or 0 if there is none; -1: several have the result's shape. */
static int only_input(const struct npl_layer *layer)
{
	int input = -1;
	for (int k = 0; k < layer->n_in; k++) {
		const struct npl_tensor *in = layer->in[k];
		if (!in || npl_tensor_count(in) == 1)
			continue;
		if (input >= 0)
			return -1;
		input = k;
	}
	return input < 0 ? 0 : input;
}

bool cpu_int8_has_table(const struct npl_layer *layer)
{
	return cpu_is_by_element(layer) && only_input(layer) >= 0;
}

/* Runs the layer in float32 on all numbers that bytes of input k stand for, with the other inputs' single numbers. The
 * results are first in buffer. */
static int run_in_float(const struct npl_layer *layer, int k, float *buffer, struct npl_err *err)
{
	struct npl_layer in_float = *layer;
	struct npl_tensor in[NPL_LAYER_INPUTS],
		out = {.dtype = NPL_F32, .shape = npl_shape_of(1, BYTES), .data = buffer};
	double seconds;
	for (int i = 0; i < layer->n_in; i++) {
		const struct npl_tensor *from = layer->in[i];
		if (!from)
			continue;
		const int64_t count = i == k ? BYTES : 1;
		in[i] = (struct npl_tensor){.dtype = NPL_F32, .shape = npl_shape_of(1, count), .data = buffer += BYTES};
		npl_int8_dequantise(from->data, count, &from->quant, from->dtype, buffer);
		in_float.in[i] = &in[i];
	}
	in_float.out = &out;
	return npl_run_reference(&in_float, &out, &seconds, err);
}

/* The result of each byte of input k. A byte whose result is NaN is marked and refused only if it occurs. */
struct table {
	uint8_t result[BYTES];
	bool nan[BYTES], any_nan;
	uint64_t saturations[BYTES]; /* 1 where the result saturates */
	bool any_saturates;
};

static int make_table(const struct npl_layer *layer, int k, float *buffer, struct table *table, struct npl_err *err)
{
	uint8_t byte[BYTES];
	struct npl_tensor every_byte = *layer->in[k];
	struct npl_layer byte_layer = *layer;
	const struct npl_tensor *out = layer->out;
	struct npl_tensor results = *out;
	char reason[200];
	for (int b = 0; b < BYTES; b++)
		byte[b] = (uint8_t)b;
	every_byte.shape = npl_shape_of(1, BYTES);
	every_byte.data = byte;
	byte_layer.in[k] = &every_byte;
	byte_layer.n_in = layer->op == NPL_OP_CLIP && layer->attrs->clip.known ? 1 : layer->n_in;
	results.shape = every_byte.shape;
	byte_layer.out = &results;
	if (layer->op == NPL_OP_CLIP &&
	    npl_integer_layer_ok(&byte_layer, reason, sizeof reason)) { /* Clip has an integer rule */
		struct npl_integer_counts counts = {0};
		results.data = table->result;
		return npl_run_integer(&byte_layer, &results, &counts, err);
	}
	if (run_in_float(&byte_layer, k, buffer, err))
		return err->code;
	for (int b = 0; b < BYTES; b++) {
		table->nan[b] = !npl_int8_quantise(buffer + b, 1, &out->quant, out->dtype, &table->result[b],
						   &table->saturations[b]);
		table->any_nan |= table->nan[b];
		table->any_saturates |= table->saturations[b] > 0;
	}
	return 0;
}

struct table_job {
	const struct npl_layer *layer;
	const struct npl_tensor *x, *out;
	struct table table;
	int64_t pieces;
	atomic_uint_fast64_t saturations;
	atomic_bool failed;
	struct npl_err err; /* the error of the first piece that failed */
};

static int look_up(const struct table_job *job, int64_t first, int64_t end, uint64_t *saturations, struct npl_err *err)
{
	const uint8_t *x = job->x->data;
	uint8_t *y = job->out->data;
	for (int64_t i = first; i < end; i++)
		y[i] = job->table.result[x[i]];
	for (int64_t i = first; i < end && job->table.any_saturates; i++)
		*saturations += job->table.saturations[x[i]];
	for (int64_t i = first; i < end && job->table.any_nan; i++)
		if (job->table.nan[x[i]])
			return not_a_number(job->layer, err);
	return 0;
}

static void run_piece(void *context, int64_t i, int worker)
{
	(void)worker;
	struct table_job *job = context;
	const int64_t count = npl_tensor_count(job->out);
	int64_t first = count / job->pieces * i, end = i + 1 == job->pieces ? count : count / job->pieces * (i + 1);
	struct npl_err err = {0};
	uint64_t saturations = 0;
	int rc = look_up(job, first, end, &saturations, &err);
	atomic_fetch_add(&job->saturations, saturations);
	if (rc && !atomic_exchange(&job->failed, true))
		job->err = err;
}

int cpu_int8_table(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out,
		   struct npl_result *result, struct npl_err *err)
{
	const int input = only_input(layer);
	if (input < 0)
		return npl_fail(err, NPL_EINTERNAL, "layer '%s' has no table of 256 bytes", layer->name);
	if (cpu_reserve(cpu, ((size_t)layer->n_in + 1) * BYTES * sizeof(float), err))
		return err->code;
	struct table_job job = {.layer = layer, .x = layer->in[input], .out = out};
	const int64_t count = npl_tensor_count(out), max_pieces = 4 * (int64_t)cpu->threads;
	job.pieces = cpu->threads == 1 ? 1 : count / TASK;
	job.pieces = job.pieces < 1 ? 1 : job.pieces > max_pieces ? max_pieces : job.pieces;
	double begin = npl_clock_seconds();
	if (make_table(layer, input, cpu->workspace, &job.table, err))
		return err->code;
	if (job.pieces == 1)
		run_piece(&job, 0, 0);
	else
		npl_pool_run(cpu->pool, job.pieces, run_piece, &job);
	result->seconds = npl_clock_seconds() - begin;
	result->saturations = job.saturations;
	return job.err.code ? npl_fail_as(err, &job.err) : 0;
}
