/* SPDX-License-Identifier: MIT
 *
 * What the rtl engine computes. What the program promises: on random programs of every kind of instruction, flag and
 * layout it leaves the same buffer, host memory, overflows and saturations as an interpreter that knows neither cycles
 * nor an array (tests/kit/sim/tpu_v1/interpreter.h); and without values it takes the same cycles. */
#include <stdio.h>

#include "tests/kit/sim/tpu_v1/expect.h"

static const uint64_t seeds = 150;

static void run_and_expect(struct test_machine *m, const char *subject)
{
	test_run_ok(m);
	test_expect(m, subject);
}

static int64_t draw(uint64_t *rng, int64_t low, int64_t high)
{
	return test_range(rng, low, high);
}

static bool chance(uint64_t *rng, int percent)
{
	return draw(rng, 0, 99) < percent;
}

static void fill(uint8_t *bytes, size_t count, bool extremes, uint64_t *rng)
{
	static const uint8_t extreme[] = {0, 0x7f, 0x80, 0xff};
	for (size_t i = 0; i < count; i++) {
		uint64_t bits = test_rng(rng) >> 40;
		bytes[i] = extremes ? extreme[bits & 3] : (uint8_t)bits;
	}
}

static float random_scale(uint64_t *rng)
{
	float size = (float)(1 << draw(rng, 0, 12));
	return (float)draw(rng, -1000, 1000) / 512 / size;
}

/* Parameter tables: any bias, scales that suit accumulators of some size. */
static void fill_tables(struct test_machine *m, int64_t first_row, int64_t count, uint64_t *rng)
{
	uint8_t *bytes = m->weights + first_row * m->config.columns;
	bool large = chance(rng, 20);
	for (int64_t i = 0; i < count * m->config.columns; i++) {
		int32_t bias = (int32_t)draw(rng, -20000, 20000);
		if (large) /* so that some sums wrap */
			bias = bias < 0 ? INT32_MIN - bias : INT32_MAX - bias;
		float scale = random_scale(rng) / (chance(rng, 50) ? 1.0f : 64.0f);
		for (int b = 0; b < 4; b++)
			bytes[8 * i + b] = (uint8_t)((uint32_t)bias >> (8 * b));
		memcpy(bytes + 8 * i + 4, &scale, 4);
	}
}

static struct test_machine *random_machine(uint64_t *rng)
{
	struct tpu_config config = test_config(draw(rng, 1, 9), draw(rng, 1, 9), draw(rng, 1, 60), draw(rng, 1, 9));
	config.accumulator_rows = 64;
	config.matrix_registers = draw(rng, 0, 3) ? 0 : draw(rng, 1, 4);
	config.activate_latency_cycles = draw(rng, 0, 1) ? 0 : draw(rng, 1, 9);
	config.activate_cycles_per_row = draw(rng, 1, 2);
	config.fifo_tiles = draw(rng, 1, 4);
	config.parameter_tables = draw(rng, 1, 4);
	config.queue_instructions = draw(rng, 1, 5);
	struct test_machine *m = test_open(config, 3000);
	bool extremes = chance(rng, 25);
	fill(m->memory.buffer, (size_t)(tpu_buffer_size_rows(&config) * tpu_row_bytes(&config)), extremes, rng);
	fill(m->weights, m->memory.weight_bytes, extremes, rng);
	fill(m->memory.host, m->memory.host_bytes, false, rng);
	return m;
}

/* A run without values has the same cycles and events. */
static void compare_timing(struct test_machine *m, const char *subject)
{
	struct test_machine *only = calloc(1, sizeof *only);
	cr_assert(only);
	const struct sim_observer observer = {.on_event = test_see, .on_retired = test_retire, .context = only};
	const struct tpu_memory nothing = {.timing_only = true};
	cr_assert_eq(tpu_run_rtl(&(struct tpu_engine_input){.config = &m->config,
							    .program = &m->program,
							    .memory = nothing,
							    .observer = &observer},
				 &only->outcome, &m->err),
		     0, "%s: %s", subject, m->err.msg);
	cr_assert_eq(only->outcome.cycles, m->outcome.cycles, "%s", subject);
	cr_assert_eq(memcmp(&only->outcome.counters, &m->outcome.counters, sizeof m->outcome.counters), 0, "%s",
		     subject);
	cr_assert_eq(only->outcome.overflows + only->outcome.saturations, 0);
	cr_assert_eq(only->events, m->events, "%s", subject);
	for (int i = 0; i < m->events; i++)
		cr_assert(only->event[i].kind == m->event[i].kind && only->event[i].cycle == m->event[i].cycle &&
				  only->event[i].index == m->event[i].index,
			  "%s: event %d", subject, i);
	free(only);
}

/* Ends the program, runs and compares it; false: it was none. */
static bool compare(struct test_machine *m, const char *kind, uint64_t seed)
{
	char subject[64];
	snprintf(subject, sizeof subject, "%s, seed %llu", kind, (unsigned long long)seed);
	test_halt(m);
	bool ok = tpu_program_check(&m->config, &m->program, &m->memory, "test", &m->err) == 0;
	if (ok) {
		run_and_expect(m, subject);
		compare_timing(m, subject);
	}
	test_close(m);
	return ok;
}

/* Accumulators 0 to rows - 1 to the buffer as they are. */
static void dump(struct test_machine *m, int64_t rows)
{
	test_sync(m, 1u << TPU_MATRIX);
	test_set(m, TPU_REG_RESULT_TYPE, TPU_I32);
	test_set(m, TPU_REG_RESULT_PLANE_ROWS, rows);
	test_activate(m, 0, 2000, 0, rows);
}

static int64_t byte_zero_point(bool is_unsigned, uint64_t *rng)
{
	if (chance(rng, 40))
		return 0;
	return is_unsigned ? draw(rng, 0, 255) : draw(rng, -128, 127);
}

static unsigned matrix_flags(struct test_machine *m, bool may_keep, uint64_t *rng)
{
	unsigned flags = may_keep && chance(rng, 40) ? 0 : TPU_MATRIX_SWITCH;
	for (unsigned f = TPU_MATRIX_ACCUMULATE; f <= TPU_MATRIX_HIGH_WEIGHTS; f <<= 1)
		flags |= chance(rng, 40) ? f : 0;
	bool wide = flags & TPU_MATRIX_INPUTS16;
	test_set(m, TPU_REG_INPUT_PLANE_ROWS, draw(rng, 0, 300));
	test_set(m, TPU_REG_INPUT_ZERO_POINT, wide ? 0 : byte_zero_point(flags & TPU_MATRIX_UNSIGNED_INPUTS, rng));
	test_set(m, TPU_REG_WEIGHT_ZERO_POINT, byte_zero_point(flags & TPU_MATRIX_UNSIGNED_WEIGHTS, rng));
	return flags;
}

Test(tpu_rtl_values, matrix_multiply_equals_the_definition)
{
	uint64_t wrapped = 0;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		uint64_t rng = seed;
		struct test_machine *m = random_machine(&rng);
		int64_t passes = draw(&rng, 1, 6), rows = draw(&rng, 1, 40);
		for (int64_t i = 0; i < passes; i++) {
			unsigned flags = matrix_flags(m, i > 0, &rng);
			if (flags & TPU_MATRIX_SWITCH)
				test_tiles(m, 1, draw(&rng, 0, 4000));
			int64_t first = draw(&rng, 0, rows - 1);
			test_multiply(m, flags, (uint32_t)draw(&rng, 0, 1000), first, draw(&rng, 1, rows - first));
		}
		dump(m, rows);
		test_halt(m);
		run_and_expect(m, "matrix_multiply");
		wrapped += m->outcome.overflows;
		test_close(m);
	}
	cr_assert_gt(wrapped, 500, "%llu", (unsigned long long)wrapped);
}

/* A convolution's registers: any window, any layout, strips (negative padding). */
static void random_window(struct test_machine *m, uint64_t *rng)
{
	for (int d = 0; d < 2; d++) {
		test_set(m, (enum tpu_register)(TPU_REG_IN_HEIGHT + d), draw(rng, 1, 7));
		test_set(m, (enum tpu_register)(TPU_REG_OUT_HEIGHT + d), draw(rng, 1, 6));
		test_set(m, (enum tpu_register)(TPU_REG_KERNEL_HEIGHT + d), draw(rng, 1, 4));
		test_set(m, (enum tpu_register)(TPU_REG_STRIDE_Y + d), draw(rng, 1, 3));
		test_set(m, (enum tpu_register)(TPU_REG_DILATION_Y + d), draw(rng, 1, 3));
		test_set(m, (enum tpu_register)(TPU_REG_PAD_TOP + d), draw(rng, -2, 4));
	}
}

static void random_taps(struct test_machine *m, uint64_t *rng)
{
	int64_t rows = m->config.rows, width = tpu_row_bytes(&m->config), tap_lanes = draw(rng, 1, rows);
	int64_t lane = draw(rng, 0, width - tap_lanes), pixel_lanes = draw(rng, lane + tap_lanes, width);
	test_set(m, TPU_REG_TAP_LANES, tap_lanes);
	test_set(m, TPU_REG_FIRST_LANE, lane);
	test_set(m, TPU_REG_PIXEL_LANES, pixel_lanes);
	test_set(m, TPU_REG_ROW_PIXELS, draw(rng, 1, width / pixel_lanes));
	test_set(m, TPU_REG_FIRST_TAP, draw(rng, 0, 3));
	test_set(m, TPU_REG_TAPS, draw(rng, 1, rows / tap_lanes));
	test_set(m, TPU_REG_FIRST_OUTPUT, draw(rng, 0, 40));
}

Test(tpu_rtl_values, convolve_equals_the_definition)
{
	uint64_t ran = 0;
	for (uint64_t seed = 1; seed <= 3 * seeds; seed++) {
		uint64_t rng = seed;
		struct test_machine *m = random_machine(&rng);
		int64_t passes = draw(&rng, 1, 3), rows = draw(&rng, 1, 40);
		for (int64_t i = 0; i < passes; i++) {
			random_window(m, &rng);
			random_taps(m, &rng);
			unsigned flags = matrix_flags(m, i > 0, &rng);
			if (flags & TPU_MATRIX_SWITCH)
				test_tiles(m, 1, draw(&rng, 0, 4000));
			int64_t first = draw(&rng, 0, rows - 1);
			test_add(m, TPU_CONVOLVE, flags, (uint32_t)draw(&rng, 0, 600), first,
				 draw(&rng, 1, rows - first));
		}
		dump(m, rows);
		ran += compare(m, "convolve", seed);
	}
	cr_assert_gt(ran, seeds, "%llu programs",
		     (unsigned long long)ran); /* the others want taps that are not there */
}

/* Types and zero points of an activate that may be; returns its flags. */
static unsigned random_steps(struct test_machine *m, bool from_buffer, uint64_t *rng)
{
	int operand = (int)draw(rng, TPU_NO_OPERAND, TPU_MULTIPLY), function = (int)draw(rng, 0, TPU_FUNCTIONS - 1);
	bool table = function == TPU_SIGMOID || function == TPU_TANH;
	int64_t type[3], zero[3]; /* source, operand, result */
	for (int i = 0; i < 3; i++)
		type[i] = draw(rng, TPU_I8, TPU_I16);
	if (operand == TPU_NO_OPERAND)
		type[0] = table ? TPU_I16 : type[2];
	for (int i = 0; i < 3; i++)
		zero[i] = type[i] == TPU_I16 ? 0 : byte_zero_point(type[i] == TPU_U8, rng);
	if (operand == TPU_NO_OPERAND && !table)
		zero[0] = zero[2];
	test_set(m, TPU_REG_SOURCE_TYPE, type[0]);
	test_set(m, TPU_REG_SOURCE_ZERO_POINT, zero[0]);
	test_set(m, TPU_REG_OPERAND_TYPE, type[1]);
	test_set(m, TPU_REG_OPERAND_ZERO_POINT, zero[1]);
	test_set(m, TPU_REG_RESULT_TYPE, type[2]);
	test_set(m, TPU_REG_RESULT_ZERO_POINT, zero[2]);
	/* Towards 16 bits scales may be large, so that some of the values saturate but not all. */
	float up = type[2] == TPU_I16 || table ? 64 : operand == TPU_MULTIPLY ? 0.01f : 1;
	test_set_float(m, TPU_REG_SOURCE_SCALE, random_scale(rng) * up);
	test_set_float(m, TPU_REG_OPERAND_SCALE, random_scale(rng) * up);
	test_set_float(m, TPU_REG_FUNCTION_SCALE, random_scale(rng) * (type[2] == TPU_I16 ? 1.0f : 1 / 128.0f));
	test_set(m, TPU_REG_RELU6_LIMIT, type[2] == TPU_I8 ? draw(rng, -128, 127) : draw(rng, 0, 255));
	return (from_buffer ? TPU_ACTIVATE_FROM_BUFFER : 0) | TPU_WITH_OPERAND(operand) | TPU_WITH_FUNCTION(function);
}

static void random_layout(struct test_machine *m, uint64_t *rng)
{
	int64_t columns = draw(rng, 1, m->config.columns), width = tpu_row_bytes(&m->config);
	int64_t lane = draw(rng, 0, width - columns), pixel_lanes = draw(rng, lane + columns, width);
	test_set(m, TPU_REG_RESULT_COLUMNS, columns);
	test_set(m, TPU_REG_RESULT_LANE, lane);
	test_set(m, TPU_REG_RESULT_PIXEL_LANES, pixel_lanes);
	test_set(m, TPU_REG_RESULT_ROW_PIXELS, draw(rng, 1, width / pixel_lanes));
	test_set(m, TPU_REG_FIRST_SOURCE, draw(rng, 0, 20));
	test_set(m, TPU_REG_FIRST_RESULT, draw(rng, 0, 20));
	test_set(m, TPU_REG_SOURCE, draw(rng, 0, 300));
	test_set(m, TPU_REG_SOURCE_PLANE_ROWS, draw(rng, 0, 300));
	test_set(m, TPU_REG_OPERAND, draw(rng, 700, 1000));
	test_set(m, TPU_REG_OPERAND_PLANE_ROWS, draw(rng, 0, 300));
	test_set(m, TPU_REG_RESULT_PLANE_ROWS, draw(rng, 400, 600));
}

/* Pooling registers of which every window has a tap inside; how many vectors an image has. */
static int64_t random_pooling(struct test_machine *m, uint64_t *rng)
{
	int64_t vectors = 1;
	for (int d = 0; d < 2; d++) {
		int64_t in = draw(rng, 1, 6), kernel = draw(rng, 1, 5), stride = draw(rng, 1, 3);
		int64_t pad = draw(rng, chance(rng, 20) ? 1 - in : 0, kernel - 1);
		int64_t out = draw(rng, 1, (in - 1 + pad) / stride + 1);
		test_set(m, (enum tpu_register)(TPU_REG_IN_HEIGHT + d), in);
		test_set(m, (enum tpu_register)(TPU_REG_OUT_HEIGHT + d), out);
		test_set(m, (enum tpu_register)(TPU_REG_KERNEL_HEIGHT + d), kernel);
		test_set(m, (enum tpu_register)(TPU_REG_STRIDE_Y + d), stride);
		test_set(m, (enum tpu_register)(TPU_REG_PAD_TOP + d), pad);
		vectors *= in;
	}
	return vectors;
}

static void random_activates(uint64_t seed, bool from_buffer, uint64_t *ran, struct tpu_outcome *sum)
{
	uint64_t rng = seed * 5 + from_buffer;
	struct test_machine *m = random_machine(&rng);
	int64_t activates = draw(&rng, 1, 4);
	fill_tables(m, 4000, activates, &rng);
	if (!from_buffer) {
		test_tiles(m, 1, 0);
		test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 64);
	}
	for (int64_t i = 0; i < activates; i++) {
		unsigned flags = random_steps(m, from_buffer, &rng);
		int64_t length = draw(&rng, 1, 40);
		random_layout(m, &rng);
		if (chance(&rng, 50)) {
			flags |= TPU_WITH_POOLING(draw(&rng, TPU_POOL_MAX, TPU_POOL_AVERAGE_PADDED));
			int64_t image = random_pooling(m, &rng);
			length = image * draw(&rng, 1, 63 / image);
		}
		if (i == 0 || chance(&rng, 50)) {
			flags |= TPU_ACTIVATE_SWITCH;
			test_tables(m, 1, 4000 + 8 * i);
		}
		int64_t acc = from_buffer ? 0 : draw(&rng, 0, 64 - length);
		test_activate(m, flags, (uint32_t)draw(&rng, 1500, 2000), acc, length);
	}
	/* Its counts are those of the run before it is closed. */
	test_halt(m);
	if (tpu_program_check(&m->config, &m->program, &m->memory, "test", &m->err) == 0) {
		char subject[64];
		snprintf(subject, sizeof subject, "activate%s, seed %llu", from_buffer ? " from_buffer" : "",
			 (unsigned long long)seed);
		run_and_expect(m, subject);
		compare_timing(m, subject);
		sum->saturations += m->outcome.saturations;
		sum->overflows += m->outcome.overflows;
		++*ran;
	}
	test_close(m);
}

Test(tpu_rtl_values, activate_equals_the_definition)
{
	struct tpu_outcome sum = {0};
	uint64_t ran = 0;
	for (uint64_t seed = 1; seed <= 4 * seeds; seed++)
		random_activates(seed, false, &ran, &sum);
	cr_assert(sum.saturations > 1000 && sum.overflows > 100 && ran > 3 * seeds,
		  "%llu saturations, %llu overflows, %llu programs", (unsigned long long)sum.saturations,
		  (unsigned long long)sum.overflows, (unsigned long long)ran);
}

Test(tpu_rtl_values, activate_from_buffer)
{
	struct tpu_outcome sum = {0};
	uint64_t ran = 0;
	for (uint64_t seed = 1; seed <= 4 * seeds; seed++)
		random_activates(seed, true, &ran, &sum);
	cr_assert(sum.saturations > 1000 && ran > 3 * seeds, "%llu saturations, %llu programs",
		  (unsigned long long)sum.saturations, (unsigned long long)ran);
}

/* A result in the place of its source, with registers between reading and writing. */
Test(tpu_rtl_values, a_result_may_replace_its_source)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t rng = seed;
		struct test_machine *m = random_machine(&rng);
		m->config.activate_latency_cycles = draw(&rng, 0, 20);
		test_set(m, TPU_REG_SOURCE, 50);
		test_set(m, TPU_REG_RESULT_COLUMNS, draw(&rng, 1, m->config.columns));
		test_activate(m, TPU_ACTIVATE_FROM_BUFFER | TPU_WITH_FUNCTION(TPU_RELU), 50, 0, draw(&rng, 1, 60));
		cr_assert(compare(m, "in place", seed));
	}
}

Test(tpu_rtl_values, transfers_move_the_bytes_of_their_rows)
{
	uint64_t ran = 0;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		uint64_t rng = seed;
		struct test_machine *m = random_machine(&rng);
		m->config.link_bytes_per_second = (double)draw(&rng, 100000, 20000000);
		for (int i = 0; i < 5; i++) {
			test_set(m, TPU_REG_HOST_ADDRESS, draw(&rng, 0, 2900));
			test_set(m, TPU_REG_HOST_ROW_BYTES, draw(&rng, 1, tpu_row_bytes(&m->config)));
			test_set(m, TPU_REG_HOST_STRIDE, draw(&rng, 0, 30));
			test_add(m, chance(&rng, 50) ? TPU_READ_HOST_MEMORY : TPU_WRITE_HOST_MEMORY, 0,
				 (uint32_t)draw(&rng, 0, 200), 0, draw(&rng, 1, 30));
			test_sync(m, 1u << TPU_HOST_IN | 1u << TPU_HOST_OUT);
		}
		ran += compare(m, "host memory", seed);
	}
	cr_assert_gt(ran, seeds / 3);
}

/* Memory beyond the weights given is zeros, for tiles and tables that lie across its end. */
Test(tpu_rtl_values, weights_beyond_those_given)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t rng = seed;
		struct test_machine *m = random_machine(&rng);
		int64_t columns = m->config.columns, first = draw(&rng, 0, 100);
		m->memory.weight_bytes = (size_t)(first * columns + draw(&rng, 0, m->config.rows * columns));
		test_tiles(m, 2, first);
		test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 4);
		test_multiply(m, TPU_MATRIX_SWITCH | TPU_MATRIX_ACCUMULATE, 0, 0, 4);
		dump(m, 4);
		cr_assert(compare(m, "weights beyond", seed));
	}
}
