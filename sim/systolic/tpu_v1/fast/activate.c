/* SPDX-License-Identifier: MIT
 *
 * activate in the fast engine: makes each vector of sums, or of the buffer, a result. Sums of pending matrix
 * instructions are computed here, a block of rows at a time; where they are not needed again, they are not kept.
 * Threads share the vectors. Each becomes a result without the others, since no result overlaps a source except the one
 * in whose place it is (isa/check_activate.c). */
#include "activate.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/parallel.h"
#include "fast.h"
#include "sim/systolic/tpu_v1/function_table.h"

static int64_t register_value(const struct tpu_fast_machine *m, enum tpu_register r)
{
	return m->registers.value[r];
}

/* Returns the 65,536 values of a function that is given as 257 points; NULL: out of memory. */
static const int16_t *function_of(struct tpu_fast_machine *m, enum tpu_function function, struct npl_err *err)
{
	struct tpu_function_table points;
	if (m->function[function])
		return m->function[function];
	int16_t *f = m->function[function] = malloc(65536 * sizeof *f);
	if (!f) {
		npl_fail(err, NPL_ENOMEM, "out of memory for a table of 65,536 values");
		return NULL;
	}
	if (function == TPU_SIGMOID)
		tpu_sigmoid_points(&points);
	else
		tpu_tanh_points(&points);
	for (int i = 0; i < 256; i++)
		for (int r = 0; r < 256; r++)
			f[256 * i + r] = (int16_t)((points.point[i] * (256 - r) + points.point[i + 1] * r + 128) >> 8);
	return f;
}

static struct tpu_fast_tensor tensor_of(const struct tpu_fast_machine *m, enum tpu_register base,
					enum tpu_register plane_rows, enum tpu_register type)
{
	return (struct tpu_fast_tensor){.base = register_value(m, base),
					.first = register_value(m, TPU_REG_FIRST_SOURCE),
					.plane_rows = register_value(m, plane_rows),
					.type = (enum tpu_type)register_value(m, type)};
}

static int set_function(struct tpu_fast_activation *a, struct npl_err *err)
{
	struct tpu_fast_machine *m = a->machine;
	int32_t zero = tpu_signed(&m->registers, TPU_REG_RESULT_ZERO_POINT);
	a->floor = INT16_MIN;
	a->ceiling = INT16_MAX;
	if (a->function == TPU_RELU || a->function == TPU_RELU6)
		a->floor = zero;
	if (a->function == TPU_RELU6)
		a->ceiling = tpu_signed(&m->registers, TPU_REG_RELU6_LIMIT);
	if (a->function != TPU_SIGMOID && a->function != TPU_TANH)
		return 0;
	a->function_scale = tpu_float(&m->registers, TPU_REG_FUNCTION_SCALE);
	a->table = function_of(m, a->function, err);
	return a->table ? 0 : err->code;
}

static void set_operand(struct tpu_fast_activation *a)
{
	const struct tpu_registers *r = &a->machine->registers;
	a->operand = (struct tpu_fast_operand){.kind = tpu_operand_of(a->instruction->flags),
					       .source_zero = tpu_signed(r, TPU_REG_SOURCE_ZERO_POINT),
					       .operand_zero = tpu_signed(r, TPU_REG_OPERAND_ZERO_POINT),
					       .source_scale = tpu_float(r, TPU_REG_SOURCE_SCALE),
					       .operand_scale = tpu_float(r, TPU_REG_OPERAND_SCALE),
					       .target = a->result_target};
	if (a->function == TPU_SIGMOID || a->function == TPU_TANH)
		a->operand.target = tpu_fast_target_of(TPU_I16, 0, TPU_IDENTITY);
}

static int open_activation(struct tpu_fast_activation *a, struct tpu_fast_machine *m, const struct tpu_instruction *in,
			   struct npl_err *err)
{
	*a = (struct tpu_fast_activation){
		.machine = m,
		.instruction = in,
		.steps = tpu_fast_steps(0),
		.columns = register_value(m, TPU_REG_RESULT_COLUMNS),
		.pixel_lanes = register_value(m, TPU_REG_RESULT_PIXEL_LANES),
		.row_pixels = register_value(m, TPU_REG_RESULT_ROW_PIXELS),
		.lane = register_value(m, TPU_REG_RESULT_LANE),
		.source = tensor_of(m, TPU_REG_SOURCE, TPU_REG_SOURCE_PLANE_ROWS, TPU_REG_SOURCE_TYPE),
		.second = tensor_of(m, TPU_REG_OPERAND, TPU_REG_OPERAND_PLANE_ROWS, TPU_REG_OPERAND_TYPE),
		.result = tensor_of(m, TPU_REG_RESULT_TYPE, TPU_REG_RESULT_PLANE_ROWS, TPU_REG_RESULT_TYPE),
		.function = tpu_function_of(in->flags),
		.pooling = tpu_pooling_of(in->flags),
	};
	a->result.base = in->ub;
	a->result.first = register_value(m, TPU_REG_FIRST_RESULT);
	a->raw = a->result.type == TPU_I32;
	const enum tpu_function of_source = tpu_operand_of(in->flags) == TPU_NO_OPERAND ? a->function : TPU_IDENTITY;
	a->source_target = tpu_fast_target_of(a->source.type, tpu_signed(&m->registers, TPU_REG_SOURCE_ZERO_POINT),
					      of_source);
	a->result_target = tpu_fast_target_of(a->result.type, tpu_signed(&m->registers, TPU_REG_RESULT_ZERO_POINT),
					      a->function);
	set_operand(a);
	a->bytes_at_once = !(in->flags & TPU_ACTIVATE_FROM_BUFFER) && a->operand.kind == TPU_NO_OPERAND &&
			   a->function <= TPU_RELU6 && a->pooling == TPU_NO_POOLING && a->result.type <= TPU_U8;
	return a->raw ? 0 : set_function(a, err);
}

static void load(const struct tpu_fast_activation *a, const struct tpu_fast_tensor *tensor, int64_t k, int16_t *element)
{
	a->steps->load(tensor->type, tpu_fast_vector(a, tensor, k, 0),
		       tensor->type == TPU_I16 ? tpu_fast_vector(a, tensor, k, 1) : NULL, a->columns, element);
}

/* Does steps 2 to 4 on vector s, which is in `element`. A vector that is to be pooled stays there until its image is
 * complete. */
static void finish_vector(const struct tpu_fast_activation *a, struct tpu_fast_worker *w, int64_t s, int16_t *element)
{
	uint64_t *saturations = &w->value_counts.saturations;
	if (a->operand.kind == TPU_ADD || a->operand.kind == TPU_MULTIPLY)
		load(a, &a->second, s, w->operand);
	if (a->operand.kind != TPU_NO_OPERAND)
		*saturations += a->steps->combine(&a->operand, a->columns, element, w->operand);
	if (a->table) {
		for (int64_t j = 0; j < a->columns; j++)
			element[j] = a->table[element[j] + 32768];
		*saturations += a->steps->scale(a->function_scale, &a->result_target, a->columns, element);
	} else if (a->function != TPU_IDENTITY) {
		a->steps->clamp(a->floor, a->ceiling, a->columns, element);
	}
	if (a->pooling == TPU_NO_POOLING)
		tpu_fast_store(a, s, element);
}

/* Returns where vector s is worked on; if it is to be pooled, that is among the vectors of its image. */
static int16_t *element_of(const struct tpu_fast_activation *a, struct tpu_fast_worker *w, int64_t s)
{
	if (a->pooling == TPU_NO_POOLING)
		return w->element;
	return a->machine->image + s % tpu_fast_image_vectors(a->machine) * a->columns;
}

/* Returns how many sums with their bias are not what 32 bits hold of them. */
static uint64_t count_overflows(const struct tpu_fast_activation *a, const int32_t *sums, const int32_t *overflow)
{
	uint64_t count = 0;
	for (int64_t j = 0; j < a->columns; j++) {
		int64_t exact = overflow[j] * ((int64_t)1 << 32) + sums[j] + a->machine->bias[j];
		count += exact != (int32_t)(uint32_t)exact;
	}
	return count;
}

/* Finishes vector s from its sums. overflow NULL: the sums are exact. */
static void finish_sums(const struct tpu_fast_activation *a, struct tpu_fast_worker *w, int64_t s, const int32_t *sums,
			const int32_t *overflow)
{
	const struct tpu_fast_machine *m = a->machine;
	struct sim_value_counts *value_counts = &w->value_counts;
	uint64_t wrapped = 0, *overflows = overflow ? &wrapped : &value_counts->overflows;
	value_counts->overflows += overflow ? count_overflows(a, sums, overflow) : 0;
	if (a->raw) {
		uint8_t *plane[4];
		for (int p = 0; p < 4; p++)
			plane[p] = tpu_fast_vector(a, &a->result, s, p);
		memcpy(w->product, sums, (size_t)a->columns * sizeof *sums);
		*overflows += a->steps->add_bias(w->product, m->bias, a->columns);
		a->steps->store_sums(w->product, a->columns, plane);
		return;
	}
	if (a->bytes_at_once) {
		value_counts->saturations += a->steps->requantise_bytes(
			sums, m->bias, m->scale, &a->source_target, a->floor, a->ceiling, a->columns,
			tpu_fast_vector(a, &a->result, s, 0), overflows);
		return;
	}
	int16_t *element = element_of(a, w, s);
	value_counts->saturations += a->steps->requantise(sums, m->bias, m->scale, &a->source_target, a->columns,
							  element, overflows);
	finish_vector(a, w, s, element);
}

/* Vectors s to s + count - 1, of one image if they are pooled. They come from sums, pending or in memory, or from the
 * buffer. */
struct vectors {
	const struct tpu_fast_activation *activation;
	const struct tpu_fast_pending *pending; /* NULL: the vectors come from sums in memory, or from the buffer */
	int64_t s, count, blocks;
};

static void finish_block(void *context, int64_t i, int worker)
{
	const struct vectors *v = context;
	const struct tpu_fast_activation *a = v->activation;
	struct tpu_fast_machine *m = a->machine;
	struct tpu_fast_worker *w = &m->worker[worker];
	const int64_t begin = tpu_fast_block_begins(v->count, v->blocks, i), s = v->s + begin;
	const int64_t count = tpu_fast_block_begins(v->count, v->blocks, i + 1) - begin;
	if (a->instruction->flags & TPU_ACTIVATE_FROM_BUFFER) {
		for (int64_t k = s; k < s + count; k++) {
			int16_t *element = element_of(a, w, k);
			load(a, &a->source, k, element);
			finish_vector(a, w, k, element);
		}
		return;
	}
	const int64_t row = a->instruction->operand + s;
	const int32_t *sums = m->accumulator + row * m->stride,
		      *overflow = m->overflow ? m->overflow + row * m->stride : NULL;
	if (v->pending) {
		tpu_fast_evaluate(m, w, v->pending, row, count, a->columns, w->sums);
		sums = w->sums;
		overflow = v->pending->may_wrap ? w->sums_overflow : NULL;
	}
	for (int64_t k = 0; k < count; k++)
		finish_sums(a, w, s + k, sums + k * m->stride, overflow ? overflow + k * m->stride : NULL);
}

/* Finishes all of them, and pools an image that is complete. */
static void finish_vectors(struct vectors *v)
{
	enum { MACS_OF_AN_ELEMENT = 16 }; /* multiply-accumulates that take as long as finishing an element */
	const struct tpu_fast_activation *a = v->activation;
	struct tpu_fast_machine *m = a->machine;
	const int64_t past = v->s + v->count;
	v->blocks = tpu_fast_blocks(m, v->count,
				    a->columns * MACS_OF_AN_ELEMENT +
					    (v->pending ? tpu_fast_row_macs(v->pending, a->columns) : 0));
	npl_parallel(m->workers, v->blocks, finish_block, v);
	if (a->pooling != TPU_NO_POOLING && past % tpu_fast_image_vectors(m) == 0)
		tpu_fast_pool(a, past / tpu_fast_image_vectors(m) - 1);
}

/* Returns how many vectors from s on, at most `limit`, are of one image if they are pooled. */
static int64_t vectors_of_image(const struct tpu_fast_activation *a, int64_t s, int64_t limit)
{
	if (a->pooling == TPU_NO_POOLING)
		return limit;
	const int64_t vectors = tpu_fast_image_vectors(a->machine), vectors_left = vectors - s % vectors;
	return limit < vectors_left ? limit : vectors_left;
}

static int from_accumulators(const struct tpu_fast_activation *a, bool last_use, struct npl_err *err)
{
	struct tpu_fast_machine *m = a->machine;
	const int64_t first = a->instruction->operand, past = first + a->instruction->length;
	const struct tpu_fast_pending *prepared = NULL;
	int rc = last_use ? 0 : tpu_fast_evaluate_pending(m, first, past, err);
	for (int64_t row = first; row < past && !rc;) {
		int64_t until = past;
		struct tpu_fast_pending *pending = tpu_fast_pending_at(m, row, &until);
		struct vectors v = {.activation = a, .pending = pending, .s = row - first};
		v.count = vectors_of_image(a, v.s, until - row);
		if (pending && pending != prepared)
			rc = tpu_fast_prepare(m, pending, a->columns, err);
		prepared = pending;
		if (!rc)
			finish_vectors(&v);
		row += v.count;
	}
	return rc || !last_use ? rc : tpu_fast_forget(m, first, past, err);
}

static void from_buffer(const struct tpu_fast_activation *a)
{
	struct vectors v = {.activation = a};
	for (; v.s < a->instruction->length; v.s += v.count) {
		v.count = vectors_of_image(a, v.s, a->instruction->length - v.s);
		finish_vectors(&v);
	}
}

/* Prepares the rows of the result, plane by plane, for being written. */
static int prepare_results(const struct tpu_fast_activation *a, struct npl_err *err)
{
	const struct tpu_fast_tensor *r = &a->result;
	int64_t results = tpu_fast_results(&a->machine->registers, a->instruction);
	int64_t first = r->base + r->first / a->row_pixels,
		past = r->base + (r->first + results - 1) / a->row_pixels + 1;
	int rc = 0;
	for (int64_t p = 0; p < tpu_planes(r->type) && !rc; p++)
		rc = tpu_fast_before_write(a->machine, first + p * r->plane_rows, past + p * r->plane_rows, err);
	return rc;
}

int tpu_fast_activate(struct tpu_fast_machine *m, int64_t index, struct npl_err *err)
{
	struct tpu_fast_activation a;
	const struct tpu_instruction *in = &tpu_code(m->program)[index];
	int rc = open_activation(&a, m, in, err);
	rc = rc ? rc : prepare_results(&a, err);
	if (!rc && a.pooling != TPU_NO_POOLING)
		rc = tpu_fast_image_space(&a, err);
	if (rc)
		return rc;
	for (int i = 0; i < m->workers; i++)
		m->worker[i].value_counts = (struct sim_value_counts){0, 0};
	tpu_fast_reads_activity(&a, index);
	if (in->flags & TPU_ACTIVATE_FROM_BUFFER)
		from_buffer(&a);
	else
		rc = from_accumulators(&a, m->last_use[index], err);
	for (int i = 0; i < m->workers; i++)
		tpu_fast_count_values(m, index, m->worker[i].value_counts);
	tpu_fast_results_activity(&a, index);
	return rc;
}
