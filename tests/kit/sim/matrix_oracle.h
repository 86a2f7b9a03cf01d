/* SPDX-License-Identifier: MIT
 *
 * A matrix unit stated cell by cell, as slow as it is plain: the registers as they are (`now`), the registers as they
 * will be (`next`), and every delay a row of registers. Against it the fast layout of sim/systolic/array/matrix_unit.c
 * is checked, edge and inside, in every cycle. Small arrays only. */
#ifndef NPULAB_TESTS_KIT_SIM_MATRIX_ORACLE_H
#define NPULAB_TESTS_KIT_SIM_MATRIX_ORACLE_H

#include <criterion/criterion.h>
#include <string.h>

#include "sim/systolic/array/matrix_unit.h"

enum { ORACLE_MAX = 32, ORACLE_REGISTERS = 4, ORACLE_CONTROL = 2 * ORACLE_MAX + ORACLE_REGISTERS };

/* An element of an input row with what travels with it; an element of a weight row with its count. */
struct oracle_activation {
	int value;
	bool switches;
	struct tpu_byte_format weight_format;
};
struct oracle_weight {
	bool valid;
	uint8_t value;
	int64_t hops;
};

struct oracle_cell {
	struct oracle_activation activation;
	struct oracle_weight path;
	int32_t sum;
	uint8_t active, shadow;
};

/* Where a row's sums go: on its way from the edge to the accumulators. */
struct oracle_control {
	bool valid, accumulate;
	int shift;
	int64_t address;
};

struct oracle_state {
	struct oracle_cell cell[ORACLE_MAX][ORACLE_MAX];
	struct oracle_activation row_skew[ORACLE_MAX][ORACLE_MAX]; /* row r uses r registers */
	struct oracle_weight column_skew[ORACLE_MAX][ORACLE_MAX];  /* column c uses c */
	struct oracle_control control[ORACLE_CONTROL];
	int32_t late_sum[ORACLE_MAX][ORACLE_REGISTERS]; /* registers after the last row's own */
	int64_t tile_rows;
};

struct oracle {
	int64_t rows, columns, registers;
	struct oracle_state now, next;
	int32_t *accumulator;
	bool written[ORACLE_MAX]; /* per column, in the last cycle */
	struct tpu_matrix_write write[ORACLE_MAX];
	uint64_t overflows;
};

static inline int oracle_operand(uint8_t byte, struct tpu_byte_format format)
{
	int value = format.is_signed && byte >= 128 ? byte - 256 : byte;
	return value - format.zero_point;
}

/* The cell, out of what its neighbours hold. */
static inline struct oracle_cell oracle_cell_next(struct oracle_cell now, struct oracle_activation left,
						  struct oracle_weight above_path, int32_t above_sum)
{
	struct oracle_cell next = now;
	uint8_t weight = left.switches ? now.shadow : now.active;
	next.active = weight;
	next.sum = above_sum + left.value * oracle_operand(weight, left.weight_format);
	next.activation = left;
	next.path = above_path;
	next.path.valid = above_path.valid && above_path.hops > 0;
	next.path.hops--;
	if (above_path.valid && above_path.hops == 0)
		next.shadow = above_path.value;
	return next;
}

static inline void oracle_cells(struct oracle *o, const struct oracle_activation *row,
				const struct oracle_weight *weights)
{
	const struct oracle_state *now = &o->now;
	struct oracle_state *next = &o->next;
	for (int64_t r = 0; r < o->rows; r++)
		for (int64_t k = 0; k < r; k++)
			next->row_skew[r][k] = k ? now->row_skew[r][k - 1] : row[r];
	for (int64_t c = 0; c < o->columns; c++)
		for (int64_t k = 0; k < c; k++)
			next->column_skew[c][k] = k ? now->column_skew[c][k - 1] : weights[c];
	for (int64_t r = 0; r < o->rows; r++)
		for (int64_t c = 0; c < o->columns; c++) {
			struct oracle_activation left = r ? now->row_skew[r][r - 1] : row[0];
			struct oracle_weight path = c ? now->column_skew[c][c - 1] : weights[0];
			int32_t sum = 0;
			if (c)
				left = now->cell[r][c - 1].activation;
			if (r) {
				path = now->cell[r - 1][c].path;
				sum = now->cell[r - 1][c].sum;
			}
			next->cell[r][c] = oracle_cell_next(now->cell[r][c], left, path, sum);
		}
}

/* Below column c: what arrives there in this cycle, `registers` after it left the last cell's adder. */
static inline int32_t oracle_arriving_sum(const struct oracle *o, int64_t c)
{
	if (o->registers == 0)
		return o->next.cell[o->rows - 1][c].sum;
	return o->registers == 1 ? o->now.cell[o->rows - 1][c].sum : o->now.late_sum[c][o->registers - 2];
}

static inline void oracle_accumulators(struct oracle *o, struct oracle_control entering)
{
	int64_t stages = o->rows - 1 + o->columns - 1 + o->registers;
	for (int64_t k = 0; k < stages; k++)
		o->next.control[k] = k ? o->now.control[k - 1] : entering;
	for (int64_t c = 0; c < o->columns; c++) {
		for (int64_t k = 0; k < o->registers - 1; k++)
			o->next.late_sum[c][k] = k ? o->now.late_sum[c][k - 1] : o->now.cell[o->rows - 1][c].sum;
		int64_t delay = o->rows - 1 + c + o->registers;
		struct oracle_control control = delay ? o->now.control[delay - 1] : entering;
		o->written[c] = control.valid;
		if (!control.valid)
			continue;
		int32_t *accumulator = o->accumulator + control.address * o->columns + c;
		int32_t sum = oracle_arriving_sum(o, c);
		int64_t exact = (int64_t)sum * ((int64_t)1 << control.shift);
		exact += control.accumulate ? *accumulator : 0;
		bool overflows = exact > INT32_MAX || exact < INT32_MIN;
		o->overflows += overflows;
		uint32_t wrapped = (uint32_t)sum << control.shift;
		wrapped += control.accumulate ? (uint32_t)*accumulator : 0;
		memcpy(accumulator, &wrapped, sizeof wrapped);
		o->write[c] = (struct tpu_matrix_write){c, control.address, sum, *accumulator, overflows};
	}
}

static inline void oracle_step(struct oracle *o, const struct tpu_matrix_inputs *in)
{
	struct oracle_activation row[ORACLE_MAX] = {0};
	struct oracle_weight weights[ORACLE_MAX] = {0};
	struct oracle_control entering = {0};
	o->next = o->now;
	for (int64_t r = 0; in->row && r < o->rows; r++)
		row[r] = (struct oracle_activation){oracle_operand(in->row[r], in->row_format), in->switch_weights,
						    in->weight_format};
	if (in->row)
		entering = (struct oracle_control){true, in->accumulate, in->shift, in->address};
	for (int64_t c = 0; in->weights && c < o->columns; c++)
		weights[c] = (struct oracle_weight){true, in->weights[c], o->rows - 1 - o->now.tile_rows};
	if (in->weights)
		o->next.tile_rows = (o->now.tile_rows + 1) % o->rows;
	oracle_cells(o, row, weights);
	oracle_accumulators(o, entering);
	o->now = o->next;
}

static inline void oracle_open(struct oracle *o, const struct tpu_matrix *unit)
{
	memset(o, 0, sizeof *o);
	cr_assert(unit->rows <= ORACLE_MAX && unit->columns <= ORACLE_MAX && unit->registers <= ORACLE_REGISTERS);
	o->rows = unit->rows;
	o->columns = unit->columns;
	o->registers = unit->registers;
	o->accumulator = calloc((size_t)(unit->accumulator_rows * unit->columns), sizeof *o->accumulator);
	cr_assert(o->accumulator);
}

#endif
