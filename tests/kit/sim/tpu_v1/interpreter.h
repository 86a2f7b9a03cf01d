/* SPDX-License-Identifier: MIT
 *
 * What a program of docs/tpu-isa.md computes, one instruction after the other and each of them whole: no cycles, no
 * queues, no array. Sums are 64 bits wide and wrapped at the end, roundings those of libm. The third reading of the
 * document, beside the two engines: it shares nothing with the library but the decoded instructions. Small programs
 * only. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_INTERPRETER_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_INTERPRETER_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/systolic/tpu_v1/engine/engine.h"

struct interpreter {
	const struct tpu_config *config;
	const struct sim_program *program;
	struct tpu_memory memory; /* borrowed: buffer and host memory are what the program leaves */
	int64_t width;            /* bytes of a row of the buffer */
	struct tpu_registers set;
	int64_t *accumulator;   /* exact: what 32 bits hold of a sum matters when it is read */
	uint32_t *tile, *table; /* where in weight memory each is, in the order in which they come */
	int64_t tiles, tables;  /* that the instructions so far have asked for */
	int64_t tiles_used, tables_used;
	int64_t early; /* switches to a tile or table that only a later instruction asks for */
	int64_t overflows, saturations;
	struct sim_value_counts *value_counts; /* of each instruction */
	/* counters that do not depend on time, as struct tpu_counters */
	uint64_t array_active, useful_macs, weight_bytes, host_bytes_in, host_bytes_out;
	int64_t *input, *weight; /* (rows), (rows, columns) as numbers */
};

static inline int64_t interpreter_at(const struct interpreter *p, enum tpu_register r)
{
	return (int32_t)p->set.value[r];
}

static inline uint8_t *interpreter_byte(const struct interpreter *p, int64_t row, int64_t lane)
{
	cr_assert(row >= 0 && row < p->config->buffer_bytes / p->width && lane >= 0 && lane < p->width,
		  "row %lld lane %lld is not there", (long long)row, (long long)lane);
	return p->memory.buffer + row * p->width + lane;
}

static inline uint8_t interpreter_weight(const struct interpreter *p, uint64_t byte)
{
	return byte < p->memory.weight_bytes ? p->memory.weights[byte] : 0;
}

/* The weight of array cell (k, c) that is in use; planes hold zeros at reset. */
static inline uint8_t interpreter_cell(const struct interpreter *p, int64_t k, int64_t c)
{
	if (p->tiles_used == 0)
		return 0;
	return interpreter_weight(p, (uint64_t)((p->tile[p->tiles_used - 1] + k) * p->config->columns + c));
}

static inline uint32_t interpreter_entry(const struct interpreter *p, int64_t column, int word)
{
	uint32_t value = 0;
	if (p->tables_used == 0)
		return 0;
	uint64_t first = (uint64_t)p->table[p->tables_used - 1] * (uint64_t)p->config->columns;
	for (int i = 3; i >= 0; i--)
		value = value << 8 | interpreter_weight(p, first + (uint64_t)(8 * column + 4 * word + i));
	return value;
}

static inline int64_t interpreter_wrap(struct interpreter *p, int64_t exact)
{
	p->overflows += exact > INT32_MAX || exact < INT32_MIN;
	return (int32_t)(uint32_t)(uint64_t)exact;
}

/* ---- Host ---- */

static inline void interpreter_host(struct interpreter *p, const struct tpu_instruction *instruction)
{
	int64_t bytes = interpreter_at(p, TPU_REG_HOST_ROW_BYTES);
	bool inward = instruction->opcode == TPU_READ_HOST_MEMORY;
	for (int64_t i = 0; i < instruction->length; i++)
		for (int64_t lane = 0; lane < p->width; lane++) {
			uint64_t host_byte = p->set.value[TPU_REG_HOST_ADDRESS] + (uint64_t)lane +
					     (uint64_t)i * p->set.value[TPU_REG_HOST_STRIDE];
			uint8_t *buffer_byte = interpreter_byte(p, instruction->ub + i, lane);
			cr_assert(lane >= bytes || host_byte < p->memory.host_bytes, "host byte %llu is not there",
				  (unsigned long long)host_byte);
			if (inward)
				*buffer_byte = lane < bytes ? p->memory.host[host_byte] : 0;
			else if (lane < bytes)
				p->memory.host[host_byte] = *buffer_byte;
		}
	*(inward ? &p->host_bytes_in : &p->host_bytes_out) += (uint64_t)instruction->length * (uint64_t)bytes;
}

/* ---- Matrix ---- */

static inline int64_t interpreter_number(uint8_t byte, bool is_unsigned, int64_t zero_point)
{
	return (is_unsigned || byte < 128 ? byte : byte - 256) - zero_point;
}

/* Lane k of vector b as a number, from the plane of low bytes (0) or high bytes (1). */
static inline int64_t interpreter_input(const struct interpreter *p, const struct tpu_instruction *instruction,
					int64_t b, int64_t k, int plane)
{
	bool wide = instruction->flags & TPU_MATRIX_INPUTS16;
	bool is_unsigned = instruction->flags & TPU_MATRIX_UNSIGNED_INPUTS || (wide && plane == 0);
	int64_t zero = interpreter_at(p, TPU_REG_INPUT_ZERO_POINT);
	int64_t base = instruction->ub + plane * interpreter_at(p, TPU_REG_INPUT_PLANE_ROWS);
	if (instruction->opcode == TPU_MATRIX_MULTIPLY)
		return interpreter_number(*interpreter_byte(p, base + b, k), is_unsigned, zero);
	int64_t lanes = interpreter_at(p, TPU_REG_TAP_LANES), taps = interpreter_at(p, TPU_REG_TAPS);
	int64_t ow = interpreter_at(p, TPU_REG_OUT_WIDTH), oh = interpreter_at(p, TPU_REG_OUT_HEIGHT);
	int64_t iw = interpreter_at(p, TPU_REG_IN_WIDTH), ih = interpreter_at(p, TPU_REG_IN_HEIGHT);
	int64_t position = interpreter_at(p, TPU_REG_FIRST_OUTPUT) + b, tap = k / lanes;
	if (tap >= taps)
		return 0;
	tap += interpreter_at(p, TPU_REG_FIRST_TAP);
	int64_t y = position / ow % oh * interpreter_at(p, TPU_REG_STRIDE_Y), x = position % ow;
	x *= interpreter_at(p, TPU_REG_STRIDE_X);
	y += tap / interpreter_at(p, TPU_REG_KERNEL_WIDTH) * interpreter_at(p, TPU_REG_DILATION_Y);
	x += tap % interpreter_at(p, TPU_REG_KERNEL_WIDTH) * interpreter_at(p, TPU_REG_DILATION_X);
	y -= interpreter_at(p, TPU_REG_PAD_TOP);
	x -= interpreter_at(p, TPU_REG_PAD_LEFT);
	if (y < 0 || y >= ih || x < 0 || x >= iw)
		return 0;
	int64_t pixel = position / (ow * oh) * ih * iw + y * iw + x, pixels = interpreter_at(p, TPU_REG_ROW_PIXELS);
	int64_t lane = pixel % pixels * interpreter_at(p, TPU_REG_PIXEL_LANES) + interpreter_at(p, TPU_REG_FIRST_LANE) +
		       k % lanes;
	return interpreter_number(*interpreter_byte(p, base + pixel / pixels, lane), is_unsigned, zero);
}

static inline void interpreter_switch(struct interpreter *p, int64_t *used, int64_t requested)
{
	p->early += *used >= requested;
	(*used)++;
}

/* One plane of an input vector through the array. */
static inline void interpreter_vector(struct interpreter *p, const struct tpu_instruction *instruction, int64_t b,
				      int plane)
{
	const int64_t rows = p->config->rows, columns = p->config->columns;
	int64_t *accumulator_row = &p->accumulator[(instruction->operand + b) * columns];
	for (int64_t k = 0; k < rows; k++)
		p->input[k] = interpreter_input(p, instruction, b, k, plane);
	for (int64_t c = 0; c < columns; c++) {
		int64_t sum = 0;
		for (int64_t k = 0; k < rows; k++)
			sum += p->input[k] * p->weight[k * columns + c];
		for (int i = 0; i < plane + !!(instruction->flags & TPU_MATRIX_HIGH_WEIGHTS); i++)
			sum *= 256;
		if (instruction->flags & TPU_MATRIX_ACCUMULATE || plane > 0)
			sum += accumulator_row[c];
		accumulator_row[c] = sum;
	}
	p->array_active++;
	p->useful_macs += p->set.value[TPU_REG_USEFUL_CELLS];
}

static inline void interpreter_matrix(struct interpreter *p, const struct tpu_instruction *instruction)
{
	const int64_t columns = p->config->columns, zero = interpreter_at(p, TPU_REG_WEIGHT_ZERO_POINT);
	const int planes = instruction->flags & TPU_MATRIX_INPUTS16 ? 2 : 1;
	if (instruction->flags & TPU_MATRIX_SWITCH)
		interpreter_switch(p, &p->tiles_used, p->tiles);
	for (int64_t i = 0; i < p->config->rows * columns; i++)
		p->weight[i] = interpreter_number(interpreter_cell(p, i / columns, i % columns),
						  instruction->flags & TPU_MATRIX_UNSIGNED_WEIGHTS, zero);
	for (int plane = 0; plane < planes; plane++)
		for (int64_t b = 0; b < instruction->length; b++)
			interpreter_vector(p, instruction, b, plane);
}

/* ---- Activate ---- */

struct interpreter_tensor {
	int64_t base, plane_rows, type, first;
};

static inline uint8_t *interpreter_element(const struct interpreter *p, const struct interpreter_tensor *t,
					   int64_t vector, int64_t j, int plane)
{
	int64_t pixels = interpreter_at(p, TPU_REG_RESULT_ROW_PIXELS), i = t->first + vector;
	return interpreter_byte(p, t->base + plane * t->plane_rows + i / pixels,
				i % pixels * interpreter_at(p, TPU_REG_RESULT_PIXEL_LANES) +
					interpreter_at(p, TPU_REG_RESULT_LANE) + j);
}

static inline int64_t interpreter_get(const struct interpreter *p, const struct interpreter_tensor *t, int64_t vector,
				      int64_t j)
{
	int64_t low = *interpreter_element(p, t, vector, j, 0);
	if (t->type == TPU_I16)
		return (int16_t)(low | *interpreter_element(p, t, vector, j, 1) << 8);
	return t->type == TPU_I8 ? (int8_t)low : low;
}

static inline int64_t interpreter_saturate(struct interpreter *p, double rounded, int64_t type, int64_t zero_point,
					   int taken_by)
{
	static const double low[] = {-128, 0, -32768}, high[] = {127, 255, 32767};
	double value = rounded + (double)zero_point, clipped = fmin(fmax(value, low[type]), high[type]);
	const bool relu6 = taken_by == TPU_RELU6;
	p->saturations += (clipped < value && !relu6) || (clipped > value && !relu6 && taken_by != TPU_RELU);
	return (int64_t)clipped;
}

static inline float interpreter_float(const struct interpreter *p, enum tpu_register r)
{
	return tpu_float(&p->set, r);
}

static inline int64_t interpreter_operand(struct interpreter *p, int kind, int64_t q, int64_t o, int64_t type,
					  int64_t zero, int taken_by)
{
	volatile float a = (float)(q - interpreter_at(p, TPU_REG_SOURCE_ZERO_POINT));
	volatile float b = (float)(o - interpreter_at(p, TPU_REG_OPERAND_ZERO_POINT));
	volatile float scaled = a * interpreter_float(p, TPU_REG_SOURCE_SCALE);
	if (kind == TPU_ADD) {
		volatile float scaled_operand = b * interpreter_float(p, TPU_REG_OPERAND_SCALE);
		scaled = scaled + scaled_operand;
	}
	if (kind == TPU_MULTIPLY) {
		volatile float product = (float)((double)a * (double)b);
		scaled = product * interpreter_float(p, TPU_REG_SOURCE_SCALE);
	}
	return interpreter_saturate(p, (double)nearbyintf(scaled), type, zero, taken_by);
}

/* points of the table are those of libm */
static inline int64_t interpreter_function(struct interpreter *p, int function, int64_t q)
{
	int64_t zero = interpreter_at(p, TPU_REG_RESULT_ZERO_POINT), limit = interpreter_at(p, TPU_REG_RELU6_LIMIT);
	if (function == TPU_RELU || function == TPU_RELU6)
		q = q < zero ? zero : q;
	if (function == TPU_RELU6)
		q = q > limit ? limit : q;
	if (function != TPU_SIGMOID && function != TPU_TANH)
		return q;
	int64_t point[2], left = (q + 32768) >> 8 << 8, r = q + 32768 - left;
	for (int i = 0; i < 2; i++) {
		long double x = (long double)(left - 32768 + 256 * i) / 4096;
		long double f = function == TPU_TANH ? tanhl(x) : 1 / (1 + expl(-x));
		point[i] = (int64_t)fminl(nearbyintl(f * 32768), 32767);
	}
	double f = floor((double)(point[0] * (256 - r) + point[1] * r + 128) / 256);
	volatile float scaled = (float)f * interpreter_float(p, TPU_REG_FUNCTION_SCALE);
	return interpreter_saturate(p, (double)nearbyintf(scaled), interpreter_at(p, TPU_REG_RESULT_TYPE), zero,
				    TPU_IDENTITY);
}

/* Element j of source vector s before pooling. */
static inline int64_t interpreter_value(struct interpreter *p, const struct tpu_instruction *instruction, int64_t s,
					int64_t j)
{
	const struct interpreter_tensor source = {
		interpreter_at(p, TPU_REG_SOURCE), interpreter_at(p, TPU_REG_SOURCE_PLANE_ROWS),
		interpreter_at(p, TPU_REG_SOURCE_TYPE), interpreter_at(p, TPU_REG_FIRST_SOURCE)};
	const struct interpreter_tensor operand = {
		interpreter_at(p, TPU_REG_OPERAND), interpreter_at(p, TPU_REG_OPERAND_PLANE_ROWS),
		interpreter_at(p, TPU_REG_OPERAND_TYPE), interpreter_at(p, TPU_REG_FIRST_SOURCE)};
	int kind = (int)tpu_operand_of(instruction->flags), function = (int)tpu_function_of(instruction->flags);
	bool table = function == TPU_SIGMOID || function == TPU_TANH;
	int64_t type = interpreter_at(p, TPU_REG_RESULT_TYPE), q;
	if (instruction->flags & TPU_ACTIVATE_FROM_BUFFER) {
		q = interpreter_get(p, &source, s, j);
	} else {
		uint32_t bits = interpreter_entry(p, j, 1);
		float scale;
		memcpy(&scale, &bits, sizeof scale);
		q = interpreter_wrap(p, p->accumulator[(instruction->operand + s) * p->config->columns + j] +
						(int32_t)interpreter_entry(p, j, 0));
		if (type == TPU_I32)
			return q;
		volatile float wide = (float)q, scaled = wide * scale;
		q = interpreter_saturate(p, (double)nearbyintf(scaled), source.type,
					 interpreter_at(p, TPU_REG_SOURCE_ZERO_POINT),
					 kind == TPU_NO_OPERAND ? function : TPU_IDENTITY);
	}
	if (kind != TPU_NO_OPERAND)
		q = interpreter_operand(p, kind, q, kind == TPU_SCALE ? 0 : interpreter_get(p, &operand, s, j),
					table ? TPU_I16 : type,
					table ? 0 : interpreter_at(p, TPU_REG_RESULT_ZERO_POINT), function);
	return interpreter_function(p, function, q);
}

/* The window of result k, of column j, over q (vectors, columns). */
static inline int64_t interpreter_pool(const struct interpreter *p, enum tpu_pooling pooling, const int64_t *q,
				       int64_t columns, int64_t k, int64_t j)
{
	int64_t ow = interpreter_at(p, TPU_REG_OUT_WIDTH), oh = interpreter_at(p, TPU_REG_OUT_HEIGHT);
	int64_t iw = interpreter_at(p, TPU_REG_IN_WIDTH), ih = interpreter_at(p, TPU_REG_IN_HEIGHT);
	int64_t kw = interpreter_at(p, TPU_REG_KERNEL_WIDTH), kh = interpreter_at(p, TPU_REG_KERNEL_HEIGHT);
	int64_t zero = interpreter_at(p, TPU_REG_RESULT_ZERO_POINT), taps = 0, maximum = INT64_MIN;
	long double sum = 0;
	for (int64_t t = 0; t < kh * kw; t++) {
		int64_t y = k / ow % oh * interpreter_at(p, TPU_REG_STRIDE_Y) + t / kw -
			    interpreter_at(p, TPU_REG_PAD_TOP);
		int64_t x = k % ow * interpreter_at(p, TPU_REG_STRIDE_X) + t % kw - interpreter_at(p, TPU_REG_PAD_LEFT);
		if (y < 0 || y >= ih || x < 0 || x >= iw)
			continue;
		int64_t value = q[(k / (ow * oh) * ih * iw + y * iw + x) * columns + j];
		maximum = value > maximum ? value : maximum;
		sum += (long double)(value - zero);
		taps++;
	}
	cr_assert_gt(taps, 0, "a pooling window outside the image");
	if (pooling == TPU_POOL_MAX)
		return maximum;
	return (int64_t)nearbyintl(sum / (pooling == TPU_POOL_AVERAGE ? taps : kh * kw)) + zero;
}

static inline void interpreter_activate(struct interpreter *p, const struct tpu_instruction *instruction)
{
	int64_t columns = interpreter_at(p, TPU_REG_RESULT_COLUMNS), results = instruction->length;
	enum tpu_pooling pooling = tpu_pooling_of(instruction->flags);
	const struct interpreter_tensor result = {instruction->ub, interpreter_at(p, TPU_REG_RESULT_PLANE_ROWS),
						  interpreter_at(p, TPU_REG_RESULT_TYPE),
						  interpreter_at(p, TPU_REG_FIRST_RESULT)};
	static const int planes[] = {1, 1, 2, 4};
	int64_t *q = malloc((size_t)(instruction->length * columns) * sizeof *q);
	cr_assert(q);
	if (instruction->flags & TPU_ACTIVATE_SWITCH)
		interpreter_switch(p, &p->tables_used, p->tables);
	for (int64_t i = 0; i < instruction->length * columns; i++)
		q[i] = interpreter_value(p, instruction, i / columns, i % columns);
	if (pooling != TPU_NO_POOLING) {
		int64_t image = interpreter_at(p, TPU_REG_IN_HEIGHT) * interpreter_at(p, TPU_REG_IN_WIDTH);
		cr_assert_eq(instruction->length % image, 0, "pooling of a broken image");
		results = instruction->length / image * interpreter_at(p, TPU_REG_OUT_HEIGHT) *
			  interpreter_at(p, TPU_REG_OUT_WIDTH);
	}
	for (int64_t k = 0; k < results; k++)
		for (int64_t j = 0; j < columns; j++) {
			int64_t value = pooling ? interpreter_pool(p, pooling, q, columns, k, j) : q[k * columns + j];
			for (int i = 0; i < planes[result.type]; i++)
				*interpreter_element(p, &result, k, j, i) = (uint8_t)((uint64_t)value >> (8 * i));
		}
	free(q);
}

/* ---- The program ---- */

static inline void interpreter_read_weights(struct interpreter *p, const struct tpu_instruction *instruction)
{
	bool tables = instruction->flags & TPU_WEIGHTS_PARAMETERS;
	*(tables ? &p->tables : &p->tiles) += instruction->operand;
	p->weight_bytes += (uint64_t)(instruction->operand * (tables ? 8 : p->config->rows) * p->config->columns);
}

/* What the program's read_weights bring, in their order: a switch may come before the instruction that asks for its
 * tile. */
static inline void interpreter_find_weights(struct interpreter *p)
{
	int64_t tiles = 0, tables = 0;
	for (int64_t i = 0; i < p->program->count; i++) {
		const struct tpu_instruction *instruction = &tpu_code(p->program)[i];
		for (uint32_t k = 0; instruction->opcode == TPU_READ_WEIGHTS && k < instruction->operand; k++)
			if (instruction->flags & TPU_WEIGHTS_PARAMETERS)
				p->table[tables++] = instruction->length + 8 * k;
			else
				p->tile[tiles++] = instruction->length + (uint32_t)p->config->rows * k;
	}
}

/* Ready to run a program that has passed the check; all is at reset but the memories, which are as given. */
static inline void interpreter_open(struct interpreter *p, const struct tpu_config *config,
				    const struct sim_program *program, const struct tpu_memory *memory)
{
	const size_t rows = (size_t)config->rows, columns = (size_t)config->columns;
	size_t maximum = 1;
	*p = (struct interpreter){.config = config,
				  .program = program,
				  .memory = *memory,
				  .width = config->rows > config->columns ? config->rows : config->columns,
				  .set = tpu_reset_registers(config->rows, config->columns)};
	for (int64_t i = 0; i < program->count; i++)
		maximum += tpu_code(program)[i].opcode == TPU_READ_WEIGHTS ? tpu_code(program)[i].operand : 0u;
	p->accumulator = calloc((size_t)config->accumulator_rows * columns, sizeof *p->accumulator);
	p->tile = calloc(maximum, sizeof *p->tile);
	p->table = calloc(maximum, sizeof *p->table);
	p->value_counts = calloc((size_t)program->count + 1, sizeof *p->value_counts);
	p->input = calloc(rows, sizeof *p->input);
	p->weight = calloc(rows * columns, sizeof *p->weight);
	cr_assert(p->accumulator && p->tile && p->table && p->value_counts && p->input && p->weight);
	interpreter_find_weights(p);
}

static inline void interpreter_close(struct interpreter *p)
{
	free(p->accumulator);
	free(p->tile);
	free(p->table);
	free(p->value_counts);
	free(p->input);
	free(p->weight);
}

static inline void interpreter_run(struct interpreter *p)
{
	for (int64_t i = 0; i < p->program->count; i++) {
		const struct tpu_instruction *instruction = &tpu_code(p->program)[i];
		int64_t overflows = p->overflows, saturations = p->saturations;
		switch ((enum tpu_opcode)instruction->opcode) {
		case TPU_NOP:
		case TPU_HALT:
		case TPU_SYNC:
			break;
		case TPU_SET_CONFIG:
			p->set.value[instruction->operand] = instruction->length;
			break;
		case TPU_READ_WEIGHTS:
			interpreter_read_weights(p, instruction);
			break;
		case TPU_READ_HOST_MEMORY:
		case TPU_WRITE_HOST_MEMORY:
			interpreter_host(p, instruction);
			break;
		case TPU_MATRIX_MULTIPLY:
		case TPU_CONVOLVE:
			interpreter_matrix(p, instruction);
			break;
		case TPU_ACTIVATE:
			interpreter_activate(p, instruction);
			break;
		default:
			cr_assert(false, "no values for opcode 0x%02x", instruction->opcode);
		}
		p->value_counts[i] = (struct sim_value_counts){(uint64_t)(p->overflows - overflows),
							       (uint64_t)(p->saturations - saturations)};
	}
}

/* Counters of a run of the same program against the interpreter's. */
static inline void interpreter_expect_counters(const struct interpreter *p, const struct tpu_counters *n,
					       const char *subject)
{
	cr_assert(n->array_active == p->array_active && n->useful_macs == p->useful_macs &&
			  n->weight_bytes == p->weight_bytes && n->host_bytes_in == p->host_bytes_in &&
			  n->host_bytes_out == p->host_bytes_out && n->tiles == (uint64_t)p->tiles_used,
		  "%s: %llu cycles of the array, %llu useful, %llu bytes of weights, %llu in, %llu out, %llu tiles; "
		  "expected %llu, %llu, %llu, %llu, %llu, %lld",
		  subject, (unsigned long long)n->array_active, (unsigned long long)n->useful_macs,
		  (unsigned long long)n->weight_bytes, (unsigned long long)n->host_bytes_in,
		  (unsigned long long)n->host_bytes_out, (unsigned long long)n->tiles,
		  (unsigned long long)p->array_active, (unsigned long long)p->useful_macs,
		  (unsigned long long)p->weight_bytes, (unsigned long long)p->host_bytes_in,
		  (unsigned long long)p->host_bytes_out, (long long)p->tiles_used);
}

#endif
