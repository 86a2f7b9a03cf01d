/* SPDX-License-Identifier: MIT
 *
 * Random inputs for the matrix unit, cycle by cycle: passes back to back, with bubbles and stalls, tiles refilled in
 * the cycle of the switch, later, with gaps, and now and then when they must not be; all operand formats and shifts.
 * For the tests and, from C++, for the co-simulation with Verilog; so it is written in what both languages have. */
#ifndef NPULAB_TESTS_KIT_SIM_MATRIX_STIMULUS_H
#define NPULAB_TESTS_KIT_SIM_MATRIX_STIMULUS_H

#include <stdlib.h>
#include <string.h>

#include "sim/systolic/array/matrix_unit.h"
#include "tests/kit/support.h"

struct stimulus {
	uint64_t rng;
	int64_t rows, columns, accumulator_rows;
	/* what the next cycles are like; drawn anew from time to time */
	int64_t mood_cycles, most_rows;
	int bubble_percent, gap_percent, idle_percent, hazard_percent;
	bool extremes;
	/* where it stands */
	int64_t pass_left, tile_left, address;
	bool tile_waits, accumulate;
	int shift;
	struct tpu_byte_format row_format, weight_format;
	uint8_t *row, *weights;
};

static inline bool stimulus_open(struct stimulus *s, uint64_t seed, int64_t rows, int64_t columns,
				 int64_t accumulator_rows)
{
	memset(s, 0, sizeof *s);
	s->rng = seed;
	s->rows = rows;
	s->columns = columns;
	s->accumulator_rows = accumulator_rows;
	s->row = (uint8_t *)calloc((size_t)rows, 1);
	s->weights = (uint8_t *)calloc((size_t)columns, 1);
	return s->row && s->weights;
}

static inline void stimulus_close(struct stimulus *s)
{
	free(s->row);
	free(s->weights);
}

static inline bool stimulus_chance(struct stimulus *s, int percent)
{
	return test_range(&s->rng, 0, 99) < percent;
}

static inline struct tpu_byte_format stimulus_format(struct stimulus *s)
{
	struct tpu_byte_format format;
	format.is_signed = stimulus_chance(s, 50);
	int64_t low = format.is_signed ? -128 : 0;
	format.zero_point = stimulus_chance(s, 50) ? (int16_t)0 : (int16_t)test_range(&s->rng, low, low + 255);
	return format;
}

static inline void stimulus_bytes(struct stimulus *s, uint8_t *bytes, int64_t count)
{
	static const uint8_t extreme[4] = {0, 0x7f, 0x80, 0xff};
	for (int64_t i = 0; i < count; i++) {
		uint64_t draw = test_rng(&s->rng) >> 40;
		bytes[i] = s->extremes ? extreme[draw & 3] : (uint8_t)draw;
	}
}

static inline void stimulus_mood(struct stimulus *s)
{
	static const int bubbles[4] = {0, 0, 10, 60}, gaps[4] = {0, 0, 15, 60}, idle[4] = {0, 0, 50, 90};
	s->mood_cycles = test_range(&s->rng, 1, 4 * (s->rows + s->columns));
	s->most_rows = test_range(&s->rng, 0, 3) ? test_range(&s->rng, 1, 2 * s->rows) : 1;
	s->bubble_percent = bubbles[test_range(&s->rng, 0, 3)];
	s->gap_percent = gaps[test_range(&s->rng, 0, 3)];
	s->idle_percent = idle[test_range(&s->rng, 0, 3)];
	s->hazard_percent = test_range(&s->rng, 0, 7) ? 0 : 8;
	s->extremes = stimulus_chance(s, 25);
}

/* A pass begins; returns whether it switches weights. */
static inline bool stimulus_begin_pass(struct stimulus *s)
{
	bool switches = s->tile_waits || stimulus_chance(s, s->hazard_percent);
	if (!switches && stimulus_chance(s, 80))
		return false; /* waits for weights; else another pass with the same ones */
	s->pass_left = test_range(&s->rng, 1, s->most_rows);
	s->address = test_range(&s->rng, 0, s->accumulator_rows - 1);
	s->accumulate = stimulus_chance(s, 70);
	s->shift = 8 * (int)test_range(&s->rng, 0, 2);
	s->row_format = stimulus_format(s);
	if (switches || stimulus_chance(s, 50))
		s->weight_format = stimulus_format(s);
	return switches;
}

/* The inputs of the next cycle; their bytes stay until the one after. */
static inline void stimulus_next(struct stimulus *s, struct tpu_matrix_inputs *in)
{
	memset(in, 0, sizeof *in);
	if (s->mood_cycles-- == 0)
		stimulus_mood(s);
	bool switches = s->pass_left == 0 && !stimulus_chance(s, s->idle_percent) && stimulus_begin_pass(s);
	if (s->pass_left && (switches || !stimulus_chance(s, s->bubble_percent))) {
		stimulus_bytes(s, s->row, s->rows);
		in->row = s->row;
		in->row_format = s->row_format;
		in->weight_format = s->weight_format;
		in->switch_weights = switches;
		in->address = s->address;
		in->accumulate = s->accumulate;
		in->shift = s->shift;
		s->address = (s->address + 1) % s->accumulator_rows;
		s->pass_left--;
		if (switches)
			s->tile_waits = false;
	}
	/* After the switch, so that a refill can begin in its cycle. */
	if (s->tile_left == 0 && (!s->tile_waits || stimulus_chance(s, s->hazard_percent)) &&
	    !stimulus_chance(s, s->gap_percent)) {
		s->tile_left = s->rows;
		s->tile_waits = false;
	}
	if (s->tile_left && !stimulus_chance(s, s->gap_percent)) {
		stimulus_bytes(s, s->weights, s->columns);
		in->weights = s->weights;
		s->tile_waits = --s->tile_left == 0;
	}
}

#endif
