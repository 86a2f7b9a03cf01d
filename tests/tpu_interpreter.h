/* SPDX-License-Identifier: MIT
 *
 * What a program of docs/tpu-isa.md computes, one instruction after the other and each of them whole: no cycles, no
 * queues, no array. Sums are 64 bits wide and wrapped at the end, roundings those of libm. For the tests of the
 * engines; small programs only. */
#ifndef TESTS_TPU_INTERPRETER_H
#define TESTS_TPU_INTERPRETER_H

#include <math.h>

#include "tpu_machine.h"

struct interpreter {
	const struct test_machine *m;
	struct tpu_registers set;
	uint8_t *buffer, *host; /* as the program leaves them */
	int32_t *accumulator;
	uint32_t *tile, *table;        /* where in weight memory each is, in the order in which they come */
	int64_t next_tile, next_table; /* -1 + 1: none in use yet */
	int64_t overflows, saturations;
	struct tpu_faults *faults; /* of each instruction */
};

static inline int64_t interpreter_at(const struct interpreter *p, enum tpu_register r)
{
	return (int32_t)p->set.value[r];
}

static inline uint8_t *interpreter_byte(const struct interpreter *p, int64_t row, int64_t lane)
{
	return p->buffer + row * tpu_row_bytes(&p->m->config) + lane;
}

static inline uint8_t interpreter_weight(const struct interpreter *p, uint64_t byte)
{
	return byte < p->m->memory.weight_bytes ? p->m->weights[byte] : 0;
}

/* The weight of array cell (k, c) that is in use; planes hold zeros at reset. */
static inline uint8_t interpreter_cell(const struct interpreter *p, int64_t k, int64_t c)
{
	if (p->next_tile == 0)
		return 0;
	return interpreter_weight(p, (uint64_t)((p->tile[p->next_tile - 1] + k) * p->m->config.columns + c));
}

static inline uint32_t interpreter_entry(const struct interpreter *p, int64_t column, int word)
{
	uint32_t value = 0;
	if (p->next_table == 0)
		return 0;
	uint64_t first = (uint64_t)p->table[p->next_table - 1] * (uint64_t)p->m->config.columns;
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

static inline void interpreter_host(struct interpreter *p, const struct tpu_instruction *at)
{
	int64_t bytes = interpreter_at(p, TPU_REG_HOST_ROW_BYTES), stride = interpreter_at(p, TPU_REG_HOST_STRIDE);
	for (int64_t i = 0; i < at->length; i++)
		for (int64_t lane = 0; lane < tpu_row_bytes(&p->m->config); lane++) {
			uint8_t *here = interpreter_byte(p, at->ub + i, lane);
			uint8_t *there = p->host + interpreter_at(p, TPU_REG_HOST_ADDRESS) + i * stride + lane;
			if (at->opcode == TPU_READ_HOST_MEMORY)
				*here = lane < bytes ? *there : 0;
			else if (lane < bytes)
				*there = *here;
		}
}

/* ---- Matrix ---- */

static inline int64_t interpreter_number(uint8_t byte, bool is_unsigned, int64_t zero_point)
{
	return (is_unsigned || byte < 128 ? byte : byte - 256) - zero_point;
}

/* Lane k of vector b as a number, from the plane of low bytes (0) or high bytes (1). */
static inline int64_t interpreter_input(const struct interpreter *p, const struct tpu_instruction *at, int64_t b,
					int64_t k, int plane)
{
	bool wide = at->flags & TPU_MATRIX_INPUTS16;
	bool is_unsigned = at->flags & TPU_MATRIX_UNSIGNED_INPUTS || (wide && plane == 0);
	int64_t zero = interpreter_at(p, TPU_REG_INPUT_ZERO_POINT);
	int64_t base = at->ub + plane * interpreter_at(p, TPU_REG_INPUT_PLANE_ROWS);
	if (at->opcode == TPU_MATRIX_MULTIPLY)
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

static inline void interpreter_matrix(struct interpreter *p, const struct tpu_instruction *at)
{
	const struct tpu_config *config = &p->m->config;
	int planes = at->flags & TPU_MATRIX_INPUTS16 ? 2 : 1;
	p->next_tile += at->flags & TPU_MATRIX_SWITCH;
	for (int plane = 0; plane < planes; plane++)
		for (int64_t b = 0; b < at->length; b++)
			for (int64_t c = 0; c < config->columns; c++) {
				int32_t *into = &p->accumulator[(at->acc + b) * config->columns + c];
				int64_t sum = 0;
				for (int64_t k = 0; k < config->rows; k++)
					sum += interpreter_input(p, at, b, k, plane) *
					       interpreter_number(interpreter_cell(p, k, c),
								  at->flags & TPU_MATRIX_UNSIGNED_WEIGHTS,
								  interpreter_at(p, TPU_REG_WEIGHT_ZERO_POINT));
				for (int i = 0; i < plane + !!(at->flags & TPU_MATRIX_HIGH_WEIGHTS); i++)
					sum *= 256;
				if (at->flags & TPU_MATRIX_ACCUMULATE || plane > 0)
					sum += *into;
				*into = (int32_t)interpreter_wrap(p, sum);
			}
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
					   bool rectified)
{
	static const double low[] = {-128, 0, -32768}, high[] = {127, 255, 32767};
	double value = rounded + (double)zero_point, kept = fmin(fmax(value, low[type]), high[type]);
	p->saturations += kept < value || (kept > value && !rectified);
	return (int64_t)kept;
}

static inline float interpreter_float(const struct interpreter *p, enum tpu_register r)
{
	return tpu_float(&p->set, r);
}

static inline int64_t interpreter_operand(struct interpreter *p, int kind, int64_t q, int64_t o, int64_t type,
					  int64_t zero, bool rectified)
{
	volatile float a = (float)(q - interpreter_at(p, TPU_REG_SOURCE_ZERO_POINT));
	volatile float b = (float)(o - interpreter_at(p, TPU_REG_OPERAND_ZERO_POINT));
	volatile float scaled = a * interpreter_float(p, TPU_REG_SOURCE_SCALE);
	if (kind == TPU_ADD) {
		volatile float other = b * interpreter_float(p, TPU_REG_OPERAND_SCALE);
		scaled = scaled + other;
	}
	if (kind == TPU_MULTIPLY) {
		volatile float product = (float)((double)a * (double)b);
		scaled = product * interpreter_float(p, TPU_REG_SOURCE_SCALE);
	}
	return interpreter_saturate(p, (double)nearbyintf(scaled), type, zero, rectified);
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
	return interpreter_saturate(p, (double)nearbyintf(scaled), interpreter_at(p, TPU_REG_RESULT_TYPE), zero, false);
}

/* Element j of source vector s before pooling. */
static inline int64_t interpreter_value(struct interpreter *p, const struct tpu_instruction *at, int64_t s, int64_t j)
{
	const struct interpreter_tensor source = {
		interpreter_at(p, TPU_REG_SOURCE), interpreter_at(p, TPU_REG_SOURCE_PLANE_ROWS),
		interpreter_at(p, TPU_REG_SOURCE_TYPE), interpreter_at(p, TPU_REG_FIRST_SOURCE)};
	const struct interpreter_tensor operand = {
		interpreter_at(p, TPU_REG_OPERAND), interpreter_at(p, TPU_REG_OPERAND_PLANE_ROWS),
		interpreter_at(p, TPU_REG_OPERAND_TYPE), interpreter_at(p, TPU_REG_FIRST_SOURCE)};
	int kind = (int)tpu_operand_of(at->flags), function = (int)tpu_function_of(at->flags);
	bool table = function == TPU_SIGMOID || function == TPU_TANH;
	bool rectified = function == TPU_RELU || function == TPU_RELU6;
	int64_t type = interpreter_at(p, TPU_REG_RESULT_TYPE), q;
	if (at->flags & TPU_ACTIVATE_FROM_BUFFER) {
		q = interpreter_get(p, &source, s, j);
	} else {
		uint32_t bits = interpreter_entry(p, j, 1);
		float scale;
		memcpy(&scale, &bits, sizeof scale);
		q = interpreter_wrap(p, (int64_t)p->accumulator[(at->acc + s) * p->m->config.columns + j] +
						(int32_t)interpreter_entry(p, j, 0));
		if (type == TPU_I32)
			return q;
		volatile float wide = (float)q, scaled = wide * scale;
		q = interpreter_saturate(p, (double)nearbyintf(scaled), source.type,
					 interpreter_at(p, TPU_REG_SOURCE_ZERO_POINT),
					 kind == TPU_NO_OPERAND && rectified);
	}
	if (kind != TPU_NO_OPERAND)
		q = interpreter_operand(p, kind, q, kind == TPU_SCALE ? 0 : interpreter_get(p, &operand, s, j),
					table ? TPU_I16 : type,
					table ? 0 : interpreter_at(p, TPU_REG_RESULT_ZERO_POINT), rectified);
	return interpreter_function(p, function, q);
}

/* The window of result k, of column j, over q (vectors, columns). */
static inline int64_t interpreter_pool(const struct interpreter *p, enum tpu_pooling pooling, const int64_t *q,
				       int64_t columns, int64_t k, int64_t j)
{
	int64_t ow = interpreter_at(p, TPU_REG_OUT_WIDTH), oh = interpreter_at(p, TPU_REG_OUT_HEIGHT);
	int64_t iw = interpreter_at(p, TPU_REG_IN_WIDTH), ih = interpreter_at(p, TPU_REG_IN_HEIGHT);
	int64_t kw = interpreter_at(p, TPU_REG_KERNEL_WIDTH), kh = interpreter_at(p, TPU_REG_KERNEL_HEIGHT);
	int64_t zero = interpreter_at(p, TPU_REG_RESULT_ZERO_POINT), taps = 0, most = INT64_MIN;
	long double sum = 0;
	for (int64_t t = 0; t < kh * kw; t++) {
		int64_t y = k / ow % oh * interpreter_at(p, TPU_REG_STRIDE_Y) + t / kw -
			    interpreter_at(p, TPU_REG_PAD_TOP);
		int64_t x = k % ow * interpreter_at(p, TPU_REG_STRIDE_X) + t % kw - interpreter_at(p, TPU_REG_PAD_LEFT);
		if (y < 0 || y >= ih || x < 0 || x >= iw)
			continue;
		int64_t value = q[(k / (ow * oh) * ih * iw + y * iw + x) * columns + j];
		most = value > most ? value : most;
		sum += (long double)(value - zero);
		taps++;
	}
	if (pooling == TPU_POOL_MAX)
		return most;
	return (int64_t)nearbyintl(sum / (pooling == TPU_POOL_AVERAGE ? taps : kh * kw)) + zero;
}

static inline void interpreter_activate(struct interpreter *p, const struct tpu_instruction *at)
{
	int64_t columns = interpreter_at(p, TPU_REG_RESULT_COLUMNS), results = at->length;
	enum tpu_pooling pooling = tpu_pooling_of(at->flags);
	const struct interpreter_tensor result = {at->ub, interpreter_at(p, TPU_REG_RESULT_PLANE_ROWS),
						  interpreter_at(p, TPU_REG_RESULT_TYPE),
						  interpreter_at(p, TPU_REG_FIRST_RESULT)};
	static const int planes[] = {1, 1, 2, 4};
	int64_t *q = malloc((size_t)(at->length * columns) * sizeof *q);
	cr_assert(q);
	p->next_table += (at->flags & TPU_ACTIVATE_SWITCH) != 0;
	for (int64_t i = 0; i < at->length * columns; i++)
		q[i] = interpreter_value(p, at, i / columns, i % columns);
	if (pooling != TPU_NO_POOLING)
		results = at->length / (interpreter_at(p, TPU_REG_IN_HEIGHT) * interpreter_at(p, TPU_REG_IN_WIDTH)) *
			  interpreter_at(p, TPU_REG_OUT_HEIGHT) * interpreter_at(p, TPU_REG_OUT_WIDTH);
	for (int64_t k = 0; k < results; k++)
		for (int64_t j = 0; j < columns; j++) {
			int64_t value = pooling ? interpreter_pool(p, pooling, q, columns, k, j) : q[k * columns + j];
			for (int i = 0; i < planes[result.type]; i++)
				*interpreter_element(p, &result, k, j, i) = (uint8_t)((uint64_t)value >> (8 * i));
		}
	free(q);
}

/* ---- The program ---- */

static inline void interpreter_open(struct interpreter *p, const struct test_machine *m)
{
	size_t buffer = (size_t)(tpu_buffer_size_rows(&m->config) * tpu_row_bytes(&m->config));
	*p = (struct interpreter){.m = m, .set = tpu_reset_registers(m->config.rows, m->config.columns)};
	int64_t tiles = 0, tables = 0, most = 0;
	for (int64_t i = 0; i < m->program.count; i++)
		most += m->program.instruction[i].opcode == TPU_READ_WEIGHTS ? m->program.instruction[i].acc : 0;
	p->buffer = malloc(buffer);
	p->host = malloc(m->memory.host_bytes + 1);
	p->accumulator = calloc((size_t)(m->config.accumulator_rows * m->config.columns), sizeof *p->accumulator);
	p->tile = calloc((size_t)most + 1, sizeof *p->tile);
	p->table = calloc((size_t)most + 1, sizeof *p->table);
	p->faults = calloc((size_t)m->program.count + 1, sizeof *p->faults);
	cr_assert(p->buffer && p->host && p->accumulator && p->tile && p->table && p->faults);
	memcpy(p->buffer, m->given_buffer, buffer);
	memcpy(p->host, m->given_host, m->memory.host_bytes);
	for (int64_t i = 0; i < m->program.count; i++) {
		const struct tpu_instruction *at = &m->program.instruction[i];
		for (uint32_t k = 0; at->opcode == TPU_READ_WEIGHTS && k < at->acc; k++)
			if (at->flags & TPU_WEIGHTS_PARAMETERS)
				p->table[tables++] = at->length + 8 * k;
			else
				p->tile[tiles++] = at->length + (uint32_t)m->config.rows * k;
	}
}

static inline void interpreter_close(struct interpreter *p)
{
	free(p->buffer);
	free(p->host);
	free(p->accumulator);
	free(p->tile);
	free(p->table);
	free(p->faults);
}

static inline void interpreter_run(struct interpreter *p)
{
	for (int64_t i = 0; i < p->m->program.count; i++) {
		const struct tpu_instruction *at = &p->m->program.instruction[i];
		int64_t overflows = p->overflows, saturations = p->saturations;
		switch (at->opcode) {
		case TPU_SET_CONFIG:
			p->set.value[at->acc] = at->length;
			break;
		case TPU_READ_HOST_MEMORY:
		case TPU_WRITE_HOST_MEMORY:
			interpreter_host(p, at);
			break;
		case TPU_MATRIX_MULTIPLY:
		case TPU_CONVOLVE:
			interpreter_matrix(p, at);
			break;
		case TPU_ACTIVATE:
			interpreter_activate(p, at);
			break;
		default:
			break;
		}
		p->faults[i] = (struct tpu_faults){(uint64_t)(p->overflows - overflows),
						   (uint64_t)(p->saturations - saturations)};
	}
}

/* What the machine's last run said went wrong, in all and of each instruction, against the interpreter's idea of it. */
static inline void interpreter_expect_faults(const struct interpreter *p, const struct test_machine *m,
					     const char *what)
{
	cr_assert_eq(m->outcome.overflows, (uint64_t)p->overflows, "%s: %llu overflows, expected %lld", what,
		     (unsigned long long)m->outcome.overflows, (long long)p->overflows);
	cr_assert_eq(m->outcome.saturations, (uint64_t)p->saturations, "%s: %llu saturations, expected %lld", what,
		     (unsigned long long)m->outcome.saturations, (long long)p->saturations);
	for (int64_t i = 0; i < m->program.count; i++)
		cr_assert(m->faults[i].overflows == p->faults[i].overflows &&
				  m->faults[i].saturations == p->faults[i].saturations,
			  "%s: instruction %lld has %llu overflows and %llu saturations, expected %llu and %llu", what,
			  (long long)i, (unsigned long long)m->faults[i].overflows,
			  (unsigned long long)m->faults[i].saturations, (unsigned long long)p->faults[i].overflows,
			  (unsigned long long)p->faults[i].saturations);
}

/* Runs the machine's program and compares what it leaves with what the interpreter does. */
static inline void interpreter_compare(struct test_machine *m, const char *what)
{
	struct interpreter p;
	int64_t width = tpu_row_bytes(&m->config), bytes = tpu_buffer_size_rows(&m->config) * width;
	test_run_ok(m);
	interpreter_open(&p, m);
	interpreter_run(&p);
	for (int64_t i = 0; i < bytes; i++)
		cr_assert_eq(m->memory.buffer[i], p.buffer[i], "%s: buffer row %lld lane %lld is %u, expected %u", what,
			     (long long)(i / width), (long long)(i % width), m->memory.buffer[i], p.buffer[i]);
	for (size_t i = 0; i < m->memory.host_bytes; i++)
		cr_assert_eq(m->memory.host[i], p.host[i], "%s: host byte %zu is %u, expected %u", what, i,
			     m->memory.host[i], p.host[i]);
	interpreter_expect_faults(&p, m, what);
	interpreter_close(&p);
}

#endif
