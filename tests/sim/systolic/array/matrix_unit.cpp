/* SPDX-License-Identifier: MIT
 *
 * Runs the matrix unit of matrix_unit.v, as Verilator has turned it into C++, beside the one of
 * sim/systolic/array/matrix_unit.c: the same random inputs (matrix_stimulus.h), in every cycle what each column writes where,
 * at the end all accumulators and the number of overflows. Compiled by scripts/cosim.sh for each size with ROWS,
 * COLUMNS, ADDRESS_BITS and REGISTERS as in the Verilog; in C++ because that is what Verilator makes.
 *
 *     matrix_unit CYCLES SEED        exit 0: equal; 1: not, with the first difference; 2: wrong usage */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Vmatrix_unit.h"
#include "verilated.h"

extern "C" {
#include "tests/kit/sim/matrix_stimulus.h"
#include "sim/systolic/array/matrix_unit.h"
}

/* Verilator's name for a port depends on its width: up to 64 bits an integer, above it an array of 32-bit words. Fields
 * lie at multiples of their own width, 8 or 32 bits, so none crosses a word. */
template <typename Port> static void put_byte(Port &port, int64_t index, uint8_t value)
{
	port = (Port)((port & ~((uint64_t)0xff << (8 * index))) | (uint64_t)value << (8 * index));
}

template <std::size_t Words> static void put_byte(VlWide<Words> &port, int64_t index, uint8_t value)
{
	put_byte(port[(size_t)index / 4], index % 4, value);
}

template <typename Port> static uint32_t get_word(const Port &port, int64_t index)
{
	return (uint32_t)((uint64_t)port >> (32 * index));
}

template <std::size_t Words> static uint32_t get_word(const VlWide<Words> &port, int64_t index)
{
	return port[(size_t)index];
}

template <typename Port> static bool get_bit(const Port &port, int64_t index)
{
	return port >> index & 1;
}

template <std::size_t Words> static bool get_bit(const VlWide<Words> &port, int64_t index)
{
	return port[(size_t)index / 32] >> index % 32 & 1;
}

/* Bytes of a bubble stay as they were: the unit must not look at them. */
static void drive(Vmatrix_unit &rtl, const struct tpu_matrix_inputs &in)
{
	rtl.row_valid = in.row != NULL;
	rtl.weights_valid = in.weights != NULL;
	if (in.row) {
		for (int64_t r = 0; r < ROWS; r++)
			put_byte(rtl.row, r, in.row[r]);
		rtl.row_signed = in.row_format.is_signed;
		rtl.row_zero_point = (uint16_t)in.row_format.zero_point & 0x1ff;
		rtl.weights_signed = in.weight_format.is_signed;
		rtl.weights_zero_point = (uint16_t)in.weight_format.zero_point & 0x1ff;
		rtl.switch_weights = in.switch_weights;
		rtl.accumulate = in.accumulate;
		rtl.shift_bytes = (uint8_t)(in.shift / 8);
		rtl.address = (uint8_t)in.address;
	}
	if (in.weights) {
		for (int64_t c = 0; c < COLUMNS; c++)
			put_byte(rtl.weights, c, in.weights[c]);
	}
}

/* What both say about one column in this cycle. */
struct edge {
	bool valid;
	int64_t address;
	uint32_t sum, value;
};

static bool differ(const struct edge &a, const struct edge &b)
{
	return a.valid != b.valid || (a.valid && (a.address != b.address || a.sum != b.sum || a.value != b.value));
}

static void print_edge(const char *who, const struct edge &e)
{
	if (e.valid)
		printf("    %s: row %lld, sum %d, value %d\n", who, (long long)e.address, (int32_t)e.sum,
		       (int32_t)e.value);
	else
		printf("    %s: nothing\n", who);
}

/* Compares one cycle; adds the overflows that the Verilog sees. */
static bool compare(const Vmatrix_unit &rtl, const struct tpu_matrix &unit, uint64_t *overflows)
{
	int64_t next = 0;
	for (int64_t c = 0; c < COLUMNS; c++) {
		struct edge c_edge = {}, v_edge = {};
		if (next < unit.writes && unit.write[next].column == c) {
			const struct tpu_matrix_write &w = unit.write[next++];
			c_edge = {true, w.address, (uint32_t)w.sum, (uint32_t)w.value};
		}
		if (get_bit(rtl.write_valid, c)) {
			v_edge = {true, get_word(rtl.write_address, c), get_word(rtl.write_sum, c),
				  get_word(rtl.write_value, c)};
			*overflows += get_bit(rtl.write_overflow, c);
		}
		if (differ(c_edge, v_edge)) {
			printf("%dx%d: cycle %llu, column %lld writes\n", ROWS, COLUMNS,
			       (unsigned long long)unit.count.cycles - 1, (long long)c);
			print_edge("rtl engine", c_edge);
			print_edge("Verilog   ", v_edge);
			return false;
		}
	}
	return true;
}

static bool compare_end(Vmatrix_unit &rtl, const struct tpu_matrix &unit, uint64_t overflows)
{
	for (int64_t row = 0; row < unit.accumulator_rows; row++) {
		rtl.read_address = (uint8_t)row;
		rtl.eval();
		for (int64_t c = 0; c < COLUMNS; c++)
			if (get_word(rtl.read_values, c) != (uint32_t)unit.accumulator[row * COLUMNS + c]) {
				printf("%dx%d: accumulator row %lld, column %lld: %d, in Verilog %d\n", ROWS, COLUMNS,
				       (long long)row, (long long)c, unit.accumulator[row * COLUMNS + c],
				       (int32_t)get_word(rtl.read_values, c));
				return false;
			}
	}
	if (overflows != unit.count.overflows)
		printf("%dx%d: %llu overflows, in Verilog %llu\n", ROWS, COLUMNS,
		       (unsigned long long)unit.count.overflows, (unsigned long long)overflows);
	return overflows == unit.count.overflows;
}

/* *at_once counts the switches in whose cycle a weight row enters. */
static bool run(Vmatrix_unit &rtl, struct tpu_matrix &unit, struct stimulus &stimulus, uint64_t cycles,
		uint64_t *at_once)
{
	uint64_t overflows = 0;
	struct npl_err err;
	struct tpu_matrix_inputs in;
	while (unit.count.cycles < cycles) {
		stimulus_next(&stimulus, &in);
		if (tpu_matrix_step(&unit, &in, &err)) {
			printf("%dx%d: %s\n", ROWS, COLUMNS, err.msg);
			return false;
		}
		*at_once += in.row && in.switch_weights && in.weights;
		drive(rtl, in);
		rtl.clk = 0;
		rtl.eval();
		if (!compare(rtl, unit, &overflows))
			return false;
		rtl.clk = 1;
		rtl.eval();
	}
	return compare_end(rtl, unit, overflows);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s CYCLES SEED\n", argv[0]);
		return 2;
	}
	struct tpu_matrix unit;
	struct stimulus stimulus;
	struct npl_err err;
	if (tpu_matrix_open(&unit, ROWS, COLUMNS, 1 << ADDRESS_BITS, REGISTERS, &err) ||
	    !stimulus_open(&stimulus, strtoull(argv[2], NULL, 0), ROWS, COLUMNS, unit.accumulator_rows)) {
		fprintf(stderr, "cosim: out of memory\n");
		return 2;
	}
	VerilatedContext context;
	Vmatrix_unit rtl(&context);
	uint64_t at_once = 0;
	bool equal = run(rtl, unit, stimulus, strtoull(argv[1], NULL, 0), &at_once);
	const struct tpu_matrix_counts &n = unit.count;
	if (equal)
		printf("%dx%d, %d registers: %llu cycles equal: %llu input rows, %llu switches (%llu with a refill in their "
		       "cycle, %llu too early), %llu writes (%llu wrapped)\n",
		       ROWS, COLUMNS, REGISTERS, (unsigned long long)n.cycles, (unsigned long long)n.input_rows,
		       (unsigned long long)n.switches, (unsigned long long)at_once,
		       (unsigned long long)n.early_switches, (unsigned long long)n.writes,
		       (unsigned long long)n.overflows);
	rtl.final();
	stimulus_close(&stimulus);
	tpu_matrix_close(&unit);
	return equal ? 0 : 1;
}
