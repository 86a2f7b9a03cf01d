/* SPDX-License-Identifier: MIT
 *
 * A plain interpreter of docs/tpu-isa.md, in program order and without time: a third opinion beside the two engines,
 * and what the generator's tests run programs on. It shares nothing with the library but the decoded instructions. */
#ifndef TESTS_PROGRAM_INTERP_H
#define TESTS_PROGRAM_INTERP_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "systolic/engine.h"

struct interp {
	const struct tpu_config *config;
	const struct tpu_memory *memory;
	const struct tpu_instruction *at;
	uint32_t reg[TPU_REGISTERS];
	int64_t *tile, *table; /* weight rows of those that were read, in order */
	int64_t tiles, tables, tiles_read, tables_read;
	int64_t tile_in_use, table_in_use;
	int32_t *accumulator;
	uint64_t useful, active, overflows, saturations, host_in, host_out, syncs, weight_bytes;
};

static inline int64_t interp_signed(const struct interp *m, enum tpu_register r)
{
	return (int32_t)m->reg[r];
}

static inline float interp_float(const struct interp *m, enum tpu_register r)
{
	float f;
	memcpy(&f, &m->reg[r], sizeof f);
	return f;
}

static inline uint8_t *interp_lane(const struct interp *m, int64_t row, int64_t lane)
{
	int64_t width = m->config->rows > m->config->columns ? m->config->rows : m->config->columns;
	cr_assert(row >= 0 && row < m->config->buffer_bytes / width && lane >= 0 && lane < width, "row %lld lane %lld",
		  (long long)row, (long long)lane);
	return m->memory->buffer + row * width + lane;
}

static inline uint8_t interp_weight(const struct interp *m, int64_t byte)
{
	return (size_t)byte < m->memory->weight_bytes ? m->memory->weights[byte] : 0;
}

/* Element of a tensor of vectors, of any number of planes. */
static inline int64_t interp_element(const struct interp *m, int64_t base, int64_t plane_rows, int64_t pixel_lanes,
				     int64_t row_pixels, int64_t vector, int64_t lane, enum tpu_type type)
{
	int64_t row = base + vector / row_pixels, at = vector % row_pixels * pixel_lanes + lane;
	uint8_t low = *interp_lane(m, row, at);
	if (type == TPU_I16)
		return (int16_t)(low | *interp_lane(m, row + plane_rows, at) << 8);
	return type == TPU_U8 ? low : (int8_t)low;
}

/* Input i of vector b, minus the zero point. */
static inline int64_t interp_input(const struct interp *m, int64_t b, int64_t i)
{
	bool wide = m->at->flags & TPU_MATRIX_INPUTS16, is_unsigned = m->at->flags & TPU_MATRIX_UNSIGNED_INPUTS;
	int64_t zero = interp_signed(m, TPU_REG_INPUT_ZERO_POINT), planes = m->reg[TPU_REG_INPUT_PLANE_ROWS], row, lane;
	if (m->at->opcode == TPU_MATRIX_MULTIPLY) {
		row = m->at->ub + b;
		lane = i;
	} else {
		int64_t p = (int64_t)m->reg[TPU_REG_FIRST_OUTPUT] + b, ow = m->reg[TPU_REG_OUT_WIDTH],
			oh = m->reg[TPU_REG_OUT_HEIGHT], ih = m->reg[TPU_REG_IN_HEIGHT], iw = m->reg[TPU_REG_IN_WIDTH];
		int64_t tap_lanes = m->reg[TPU_REG_TAP_LANES], t = (int64_t)m->reg[TPU_REG_FIRST_TAP] + i / tap_lanes;
		int64_t ky = t / m->reg[TPU_REG_KERNEL_WIDTH], kx = t % m->reg[TPU_REG_KERNEL_WIDTH];
		int64_t y = p / ow % oh * m->reg[TPU_REG_STRIDE_Y] + ky * m->reg[TPU_REG_DILATION_Y] -
			    interp_signed(m, TPU_REG_PAD_TOP);
		int64_t x = p % ow * m->reg[TPU_REG_STRIDE_X] + kx * m->reg[TPU_REG_DILATION_X] -
			    interp_signed(m, TPU_REG_PAD_LEFT);
		if (i >= m->reg[TPU_REG_TAPS] * tap_lanes || y < 0 || y >= ih || x < 0 || x >= iw)
			return 0;
		int64_t v = (p / (ow * oh) * ih + y) * iw + x;
		row = m->at->ub + v / m->reg[TPU_REG_ROW_PIXELS];
		lane = v % m->reg[TPU_REG_ROW_PIXELS] * m->reg[TPU_REG_PIXEL_LANES] + m->reg[TPU_REG_FIRST_LANE] +
		       i % tap_lanes;
	}
	uint8_t low = *interp_lane(m, row, lane);
	if (!wide)
		return (is_unsigned ? low : (int8_t)low) - zero;
	uint8_t high = *interp_lane(m, row + planes, lane);
	return low + 256 * (is_unsigned ? (int64_t)high : (int8_t)high);
}

static inline void interp_matrix(struct interp *m)
{
	int64_t rows = m->config->rows, columns = m->config->columns,
		zero = interp_signed(m, TPU_REG_WEIGHT_ZERO_POINT);
	unsigned flags = m->at->flags;
	if (flags & TPU_MATRIX_SWITCH) {
		cr_assert_lt(m->tiles, m->tiles_read, "a switch to a tile that is read later");
		m->tile_in_use = m->tile[m->tiles++];
	}
	int64_t *in = malloc((size_t)rows * sizeof *in), *weight = malloc((size_t)(rows * columns) * sizeof *weight);
	for (int64_t i = 0; i < rows * columns; i++) {
		uint8_t w = interp_weight(m, m->tile_in_use * columns + i);
		weight[i] = (flags & TPU_MATRIX_UNSIGNED_WEIGHTS ? w : (int8_t)w) - zero;
	}
	for (int64_t b = 0; b < m->at->length; b++) {
		for (int64_t i = 0; i < rows; i++)
			in[i] = interp_input(m, b, i);
		for (int64_t j = 0; j < columns; j++) {
			int64_t sum = 0;
			for (int64_t i = 0; i < rows; i++)
				sum += in[i] * weight[i * columns + j];
			if (flags & TPU_MATRIX_HIGH_WEIGHTS)
				sum *= 256;
			int32_t *a = &m->accumulator[(m->at->acc + b) * columns + j];
			*a = (int32_t)(uint32_t)(sum + (flags & TPU_MATRIX_ACCUMULATE ? *a : 0));
		}
		uint64_t cycles = flags & TPU_MATRIX_INPUTS16 ? 2 : 1;
		m->active += cycles;
		m->useful += cycles * m->reg[TPU_REG_USEFUL_CELLS];
	}
	free(in);
	free(weight);
}

static inline int64_t interp_saturate(struct interp *m, float rounded, int64_t zero, enum tpu_type type,
				      bool low_matters)
{
	static const double low[] = {-128, 0, -32768}, high[] = {127, 255, 32767};
	double q = (double)rounded + (double)zero;
	if (q >= low[type] && q <= high[type])
		return (int64_t)q;
	if (low_matters || q > high[type])
		m->saturations++;
	return (int64_t)(q < low[type] ? low[type] : high[type]);
}

static inline int64_t interp_point(enum tpu_function function, int64_t i)
{
	long double x = (long double)(i - 128) / 16, f = function == TPU_TANH ? tanhl(x) : 1 / (1 + expl(-x));
	long long q = llrintl(f * 32768);
	return q > 32767 ? 32767 : q;
}

static inline int64_t interp_function(struct interp *m, int64_t q, enum tpu_function function)
{
	int64_t zero = interp_signed(m, TPU_REG_RESULT_ZERO_POINT), limit = interp_signed(m, TPU_REG_RELU6_LIMIT);
	if (function == TPU_IDENTITY)
		return q;
	if (function == TPU_RELU || function == TPU_RELU6) {
		q = q > zero ? q : zero;
		return function == TPU_RELU6 && q > limit ? limit : q;
	}
	int64_t i = (q + 32768) / 256, r = (q + 32768) % 256;
	int64_t f = interp_point(function, i) * (256 - r) + interp_point(function, i + 1) * r + 128;
	f = f >= 0 ? f / 256 : -((-f + 255) / 256);
	return interp_saturate(m, rintf((float)f * interp_float(m, TPU_REG_FUNCTION_SCALE)), zero,
			       (enum tpu_type)m->reg[TPU_REG_RESULT_TYPE], true);
}

static inline int64_t interp_operand(struct interp *m, int64_t q, int64_t vector, int64_t lane)
{
	enum tpu_operand operand = tpu_operand_of(m->at->flags);
	enum tpu_function function = tpu_function_of(m->at->flags);
	bool table = function == TPU_SIGMOID || function == TPU_TANH;
	int64_t o = 0;
	if (operand == TPU_NO_OPERAND)
		return q;
	if (operand != TPU_SCALE)
		o = interp_element(m, m->reg[TPU_REG_OPERAND], m->reg[TPU_REG_OPERAND_PLANE_ROWS],
				   m->reg[TPU_REG_RESULT_PIXEL_LANES], m->reg[TPU_REG_RESULT_ROW_PIXELS], vector, lane,
				   (enum tpu_type)m->reg[TPU_REG_OPERAND_TYPE]) -
		    interp_signed(m, TPU_REG_OPERAND_ZERO_POINT);
	q -= interp_signed(m, TPU_REG_SOURCE_ZERO_POINT);
	float f;
	if (operand == TPU_MULTIPLY) {
		f = (float)(q * o) * interp_float(m, TPU_REG_SOURCE_SCALE);
	} else {
		f = (float)q * interp_float(m, TPU_REG_SOURCE_SCALE);
		if (operand == TPU_ADD)
			f += (float)o * interp_float(m, TPU_REG_OPERAND_SCALE);
	}
	return interp_saturate(m, rintf(f), table ? 0 : interp_signed(m, TPU_REG_RESULT_ZERO_POINT),
			       table ? TPU_I16 : (enum tpu_type)m->reg[TPU_REG_RESULT_TYPE],
			       function != TPU_RELU && function != TPU_RELU6);
}

/* Steps 1 to 3 of source vector s, column j. */
static inline int64_t interp_steps(struct interp *m, int64_t s, int64_t j)
{
	int64_t lane = m->reg[TPU_REG_RESULT_LANE] + j, vector = m->reg[TPU_REG_FIRST_SOURCE] + s, q;
	enum tpu_function function = tpu_function_of(m->at->flags);
	if (m->at->flags & TPU_ACTIVATE_FROM_BUFFER) {
		q = interp_element(m, m->reg[TPU_REG_SOURCE], m->reg[TPU_REG_SOURCE_PLANE_ROWS],
				   m->reg[TPU_REG_RESULT_PIXEL_LANES], m->reg[TPU_REG_RESULT_ROW_PIXELS], vector, lane,
				   (enum tpu_type)m->reg[TPU_REG_SOURCE_TYPE]);
	} else {
		uint8_t entry[8];
		for (int i = 0; i < 8; i++)
			entry[i] = m->table_in_use < 0
					   ? 0
					   : interp_weight(m, m->table_in_use * m->config->columns + 8 * j + i);
		int32_t bias;
		float scale;
		memcpy(&bias, entry, 4);
		memcpy(&scale, entry + 4, 4);
		int64_t v = (int32_t)((uint32_t)m->accumulator[(m->at->acc + s) * m->config->columns + j] +
				      (uint32_t)bias);
		if (m->reg[TPU_REG_RESULT_TYPE] == TPU_I32)
			return v;
		q = interp_saturate(m, rintf((float)v * scale), interp_signed(m, TPU_REG_SOURCE_ZERO_POINT),
				    (enum tpu_type)m->reg[TPU_REG_SOURCE_TYPE],
				    tpu_operand_of(m->at->flags) != TPU_NO_OPERAND ||
					    (function != TPU_RELU && function != TPU_RELU6));
	}
	return interp_function(m, interp_operand(m, q, vector, lane), function);
}

static inline int64_t interp_pool(const struct interp *m, const int64_t *q, int64_t k)
{
	int64_t ow = m->reg[TPU_REG_OUT_WIDTH], oh = m->reg[TPU_REG_OUT_HEIGHT], ih = m->reg[TPU_REG_IN_HEIGHT],
		iw = m->reg[TPU_REG_IN_WIDTH], zero = interp_signed(m, TPU_REG_RESULT_ZERO_POINT);
	int64_t most = INT64_MIN, sum = 0, taps = 0;
	for (int64_t ky = 0; ky < m->reg[TPU_REG_KERNEL_HEIGHT]; ky++)
		for (int64_t kx = 0; kx < m->reg[TPU_REG_KERNEL_WIDTH]; kx++) {
			int64_t y = k / ow % oh * m->reg[TPU_REG_STRIDE_Y] + ky - interp_signed(m, TPU_REG_PAD_TOP);
			int64_t x = k % ow * m->reg[TPU_REG_STRIDE_X] + kx - interp_signed(m, TPU_REG_PAD_LEFT);
			if (y < 0 || y >= ih || x < 0 || x >= iw)
				continue;
			int64_t v = q[(k / (ow * oh) * ih + y) * iw + x];
			most = v > most ? v : most;
			sum += v - zero;
			taps++;
		}
	cr_assert_gt(taps, 0, "a pooling window outside the image");
	if (tpu_pooling_of(m->at->flags) == TPU_POOL_MAX)
		return most;
	if (tpu_pooling_of(m->at->flags) == TPU_POOL_AVERAGE_PADDED)
		taps = (int64_t)m->reg[TPU_REG_KERNEL_HEIGHT] * m->reg[TPU_REG_KERNEL_WIDTH];
	return (int64_t)rint((double)sum / (double)taps) + zero; /* exact: both are below 2^31, taps at most 2^16 */
}

static inline void interp_activate(struct interp *m)
{
	int64_t results = m->at->length, planes[] = {1, 1, 2, 4};
	if (m->at->flags & TPU_ACTIVATE_SWITCH) {
		cr_assert_lt(m->tables, m->tables_read, "a switch to a table that is read later");
		m->table_in_use = m->table[m->tables++];
	}
	bool pools = tpu_pooling_of(m->at->flags) != TPU_NO_POOLING;
	if (pools) {
		int64_t image = (int64_t)m->reg[TPU_REG_IN_HEIGHT] * m->reg[TPU_REG_IN_WIDTH];
		cr_assert_eq(results % image, 0, "pooling of a broken image");
		results = results / image * m->reg[TPU_REG_OUT_HEIGHT] * m->reg[TPU_REG_OUT_WIDTH];
	}
	int64_t *q = malloc((size_t)m->at->length * sizeof *q);
	for (int64_t j = 0; j < m->reg[TPU_REG_RESULT_COLUMNS]; j++) {
		for (int64_t s = 0; s < m->at->length; s++)
			q[s] = interp_steps(m, s, j);
		for (int64_t k = 0; k < results; k++) {
			int64_t value = pools ? interp_pool(m, q, k) : q[k], v = m->reg[TPU_REG_FIRST_RESULT] + k;
			int64_t row = m->at->ub + v / m->reg[TPU_REG_RESULT_ROW_PIXELS];
			int64_t lane = v % m->reg[TPU_REG_RESULT_ROW_PIXELS] * m->reg[TPU_REG_RESULT_PIXEL_LANES] +
				       m->reg[TPU_REG_RESULT_LANE] + j;
			for (int64_t p = 0; p < planes[m->reg[TPU_REG_RESULT_TYPE]]; p++)
				*interp_lane(m, row + p * m->reg[TPU_REG_RESULT_PLANE_ROWS],
					     lane) = (uint8_t)((uint64_t)value >> 8 * p);
		}
	}
	free(q);
}

static inline void interp_host(struct interp *m)
{
	int64_t bytes = m->reg[TPU_REG_HOST_ROW_BYTES];
	int64_t width = m->config->rows > m->config->columns ? m->config->rows : m->config->columns;
	for (int64_t i = 0; i < m->at->length; i++) {
		size_t address = m->reg[TPU_REG_HOST_ADDRESS] + (size_t)i * m->reg[TPU_REG_HOST_STRIDE];
		uint8_t *row = interp_lane(m, m->at->ub + i, 0), *host = m->memory->host + address;
		cr_assert_leq(address + (size_t)bytes, m->memory->host_bytes);
		if (m->at->opcode == TPU_READ_HOST_MEMORY) {
			memset(row, 0, (size_t)width);
			memcpy(row, host, (size_t)bytes);
			m->host_in += (uint64_t)bytes;
		} else {
			memcpy(host, row, (size_t)bytes);
			m->host_out += (uint64_t)bytes;
		}
	}
}

static inline void interp_weights(struct interp *m)
{
	bool tables = m->at->flags & TPU_WEIGHTS_PARAMETERS;
	int64_t rows = tables ? 8 : m->config->rows, *n = tables ? &m->tables_read : &m->tiles_read;
	int64_t **list = tables ? &m->table : &m->tile;
	int64_t *more = realloc(*list, (size_t)(*n + m->at->acc) * sizeof *more);
	cr_assert_not_null(more);
	*list = more;
	for (int64_t i = 0; i < m->at->acc; i++)
		(*list)[(*n)++] = m->at->length + i * rows;
	m->weight_bytes += (uint64_t)(m->at->acc * rows * m->config->columns);
}

/* Runs a program to its halt; counts are in the members. Call interp_end afterwards. */
static inline void interp_run(struct interp *m, const struct tpu_config *config, const struct tpu_program *program,
			      const struct tpu_memory *memory)
{
	struct tpu_registers reset = tpu_reset_registers(config->rows, config->columns);
	*m = (struct interp){.config = config, .memory = memory, .tile_in_use = -1, .table_in_use = -1};
	memcpy(m->reg, reset.value, sizeof m->reg);
	m->accumulator = calloc((size_t)(config->accumulator_rows * config->columns), sizeof *m->accumulator);
	for (int64_t i = 0; i < program->count; i++) {
		m->at = &program->instruction[i];
		switch (m->at->opcode) {
		case TPU_SET_CONFIG:
			m->reg[m->at->acc] = m->at->length;
			break;
		case TPU_SYNC:
			m->syncs++;
			break;
		case TPU_READ_WEIGHTS:
			interp_weights(m);
			break;
		case TPU_READ_HOST_MEMORY:
		case TPU_WRITE_HOST_MEMORY:
			interp_host(m);
			break;
		case TPU_MATRIX_MULTIPLY:
		case TPU_CONVOLVE:
			interp_matrix(m);
			break;
		case TPU_ACTIVATE:
			interp_activate(m);
			break;
		default:
			break;
		}
	}
}

static inline void interp_end(struct interp *m)
{
	free(m->accumulator);
	free(m->tile);
	free(m->table);
}

#endif
