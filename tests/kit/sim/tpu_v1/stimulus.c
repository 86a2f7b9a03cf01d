/* SPDX-License-Identifier: MIT
 *
 * See stimulus.h. */
#include "stimulus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actions.h"
#include "tests/kit/sim/tpu_v1/code.h"

static int64_t one_of(uint64_t *rng, const int64_t *list, int64_t count)
{
	return list[test_range(rng, 0, count - 1)];
}

static bool chance(uint64_t *rng, int percent)
{
	return test_range(rng, 0, 99) < percent;
}

/* A bandwidth at which `bytes` take about 2^low to 2^high cycles and hardly ever a whole number of them. */
static int64_t bandwidth(uint64_t *rng, int64_t bytes, int64_t clock_hz, double low, double high)
{
	double cycles = exp2(low + (high - low) * (double)test_range(rng, 0, 1000) / 1000);
	double per_second = (double)bytes * (double)clock_hz / cycles;
	if (per_second > 9e14)
		return 1000000000000000; /* the most there is */
	int64_t whole_rate = (int64_t)per_second + test_range(rng, 0, 3);
	return whole_rate < 1 ? 1 : whole_rate;
}

static void draw_times(struct tpu_config *config, uint64_t *rng)
{
	static const int64_t clocks[] = {700000000, 700000000, 999999937, 1000, 10000000000, 123456789};
	static const int64_t depths[] = {1, 1, 2, 2, 3, 4, 4, 5, 8}, queues[] = {1, 1, 2, 3, 4, 8, 32, 40};
	int64_t width = tpu_row_bytes(config), tile = config->rows * config->columns;
	config->clock_hz = one_of(rng, clocks, 6);
	config->fifo_tiles = one_of(rng, depths, 9);
	config->parameter_tables = one_of(rng, depths, 9);
	config->queue_instructions = one_of(rng, queues, 8);
	config->matrix_registers = chance(rng, 50) ? 0 : test_range(rng, 1, 5);
	config->activate_latency_cycles = chance(rng, 50) ? 0 : test_range(rng, 1, chance(rng, 80) ? 5 : 300);
	config->activate_cycles_per_row = chance(rng, 50) ? 1 : test_range(rng, 2, 7);
	config->issue_cycles = chance(rng, 65) ? 1 : chance(rng, 80) ? test_range(rng, 2, 5) : test_range(rng, 6, 60);
	config->sync_cycles = chance(rng, 50) ? 0 : test_range(rng, 1, 40);
	/* From never waiting for weights to four shifts' time for each tile. */
	double shift = log2((double)config->rows);
	config->weight_bytes_per_second = chance(rng, 15)
						  ? bandwidth(rng, tile, config->clock_hz, -40, -2)
						  : bandwidth(rng, tile, config->clock_hz, shift - 2, shift + 2);
	if (chance(rng, 20)) { /* whole cycles exactly, or by the least bit more or less */
		int64_t cycles = chance(rng, 30) ? 1 : test_range(rng, 1, 3 * config->rows);
		config->clock_hz = 1000 * cycles;
		config->weight_bytes_per_second = 1000 * tile + test_range(rng, -1, 1);
	}
	config->weight_preset = NULL;
	if (chance(rng, 25)) { /* a memory with a clock of its own */
		static const int64_t fast[] = {700000000, 123456789, 999999937, 3333333333, 10000000000};
		static const char *const presets[] = {"ddr3-2133", "ddr3-1866", "ddr4-2400", "hbm2", "gddr6", "ideal"};
		config->clock_hz = one_of(rng, fast, 5);
		config->weight_preset = presets[test_range(rng, 0, 5)];
		config->weight_channels = test_range(rng, 1, 3);
	}
	config->link_bytes_per_second = chance(rng, 20) ? (double)bandwidth(rng, width, config->clock_hz, -30, -2)
							: (double)bandwidth(rng, width, config->clock_hz, -1, 4) + 0.25;
	config->link_latency_seconds = chance(rng, 40)
					       ? 0
					       : (double)test_range(rng, 1, 900) / 17 / (double)config->clock_hz;
}

struct tpu_config program_other_times(const struct tpu_config *config, uint64_t seed)
{
	struct tpu_config variant = *config;
	draw_times(&variant, &seed);
	/* What cannot end with shallower queues is another matter. */
	variant.fifo_tiles = config->fifo_tiles;
	variant.parameter_tables = config->parameter_tables;
	variant.queue_instructions = config->queue_instructions;
	return variant;
}

static int64_t draw_side(uint64_t *rng)
{
	if (chance(rng, 5))
		return test_range(rng, 1, 2);
	return chance(rng, 60) ? test_range(rng, 3, 12) : test_range(rng, 3, 32);
}

/* Weight memory holds tiles, then tables; the buffer is a few layers' worth. */
static void draw_machine(struct builder *b, struct tpu_config *config, uint64_t *rng,
			 const struct program_request *wish)
{
	static const int64_t accumulators[] = {2, 4, 5, 9, 16, 33, 64, 100, 100, 256, 1000, 4096};
	*config = (struct tpu_config){.rows = wish->rows ? wish->rows : draw_side(rng),
				      .columns = wish->columns ? wish->columns : draw_side(rng),
				      .accumulator_rows = one_of(rng, accumulators, 12)};
	draw_times(config, rng);
	int64_t width = tpu_row_bytes(config);
	int64_t rows = chance(rng, 30) ? test_range(rng, 16, 40) : test_range(rng, 40, chance(rng, 30) ? 2000 : 250);
	config->buffer_bytes = rows * width + test_range(rng, 0, width - 1);
	b->tile_rows = test_range(rng, 1, 12) * config->rows + test_range(rng, 0, config->rows);
	b->tables = test_range(rng, 1, 6);
	config->weight_bytes = (b->tile_rows + 8 * b->tables) * config->columns +
			       test_range(rng, 0, config->columns - 1);
}

static struct builder_mood draw_mood(uint64_t *rng, const struct tpu_config *config)
{
	static const int64_t shares[] = {0, 0, 10, 30, 50, 100}, vectors[] = {1, 8, 16, 30, 60, 100, 200, 700};
	static const int64_t steady[] = {0, 60, 95, 99};
	struct builder_mood mood = {
		.noise_percent = chance(rng, 60) ? 0 : (int)test_range(rng, 1, 15),
		.late_percent = (int)one_of(rng, shares, 6),
		.prefetch = (int)test_range(rng, 1, chance(rng, 50) ? 2 : 8),
		.switch_percent = (int)test_range(rng, 20, 100),
		.steady_percent = (int)one_of(rng, steady, 4),
		.convolve_percent = (int)one_of(rng, shares, 6),
		.inputs16_percent = (int)one_of(rng, shares, 5),
		.high_weights_percent = (int)one_of(rng, shares, 5),
		.zero_point_percent = (int)one_of(rng, shares, 6),
		.activate_percent = chance(rng, 80) ? 100 : 10,
		.from_buffer_percent = (int)test_range(rng, 0, 50),
		.raw_percent = (int)test_range(rng, 0, 40),
		.packed_percent = (int)one_of(rng, shares, 6),
		.pooling_percent = (int)one_of(rng, shares, 5),
		.host_percent = (int)test_range(rng, 0, 25),
		.most_vectors = one_of(rng, vectors, 8),
		.extreme_scales = chance(rng, 25),
	};
	/* Large arrays are for the long way through them, not for many rows. */
	if (config->rows > 64 && mood.most_vectors > 20)
		mood.most_vectors = 20;
	return mood;
}

enum values { ANY, SMALL, EXTREME };

static void fill(uint8_t *bytes, size_t count, uint64_t *rng, enum values values)
{
	static const uint8_t extreme[4] = {0, 0x7f, 0x80, 0xff};
	for (size_t i = 0; i < count; i++) {
		uint64_t draw = test_rng(rng) >> 40;
		bytes[i] = values == ANY     ? (uint8_t)draw
			   : values == SMALL ? (uint8_t)((int)(draw % 7) - 3)
					     : extreme[draw & 3];
	}
}

/* Rows of weights that are empty except a few: what the sums can reach then depends on which. */
static void thin_out(uint8_t *weights, int64_t rows, int64_t columns, uint64_t *rng)
{
	int percent = (int)test_range(rng, 30, 97);
	uint8_t fill_byte = chance(rng, 70) ? 0 : (uint8_t)test_range(rng, 0, 255);
	for (int64_t i = 0; i < rows; i++)
		if (chance(rng, percent))
			memset(weights + i * columns, fill_byte, (size_t)columns);
}

static void fill_tables(uint8_t *bytes, int64_t entries, uint64_t *rng, enum values values)
{
	int low = values == SMALL ? -5 : -16, high = values == SMALL ? 4 : -4;
	bool spread = chance(rng, 20), powers = chance(rng, 40);
	for (int64_t i = 0; i < entries; i++) {
		uint64_t draw = test_rng(rng);
		int32_t bias = (int32_t)(draw >> 32);
		float scale = ldexpf(1, (int)test_range(rng, spread ? -40 : low, spread ? 30 : high));
		if (values != EXTREME)
			bias >>= values == SMALL ? 27 : 16;
		else if (draw & 1)
			bias = draw & 2 ? INT32_MAX : INT32_MIN;
		if (!powers)
			scale *= 1 + (float)(draw >> 41 & 0x7fffff) / (float)0x800000;
		if ((draw & 0x70) == 0)
			scale = -scale;
		if ((draw & 0xf80) == 0)
			scale = 0;
		memcpy(bytes + 8 * i, &bias, 4);
		memcpy(bytes + 8 * i + 4, &scale, 4);
	}
}

static int fill_memories(struct program_case *c, const struct builder *b, uint64_t *rng, struct npl_err *err)
{
	const struct tpu_config *config = &c->config;
	enum values values = chance(rng, 40) ? ANY : chance(rng, 50) ? SMALL : EXTREME;
	int64_t tile_bytes = b->tile_rows * config->columns;
	size_t all = (size_t)(tile_bytes + 8 * config->columns * b->tables);
	c->buffer_bytes = (size_t)(b->buffer_rows * b->row_bytes);
	c->host_bytes = (size_t)b->host_bytes;
	c->weight_bytes = chance(rng, 80) ? all : (size_t)test_range(rng, (int64_t)all / 2, (int64_t)all);
	c->buffer = malloc(c->buffer_bytes);
	c->host = malloc(c->host_bytes);
	c->weights = malloc(all);
	if (!c->buffer || !c->host || !c->weights)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a program's memories");
	fill(c->buffer, c->buffer_bytes, rng, values);
	fill(c->host, c->host_bytes, rng, values);
	fill(c->weights, all, rng, values);
	if (chance(rng, 30))
		thin_out(c->weights, b->tile_rows, config->columns, rng);
	fill_tables(c->weights + tile_bytes, config->columns * b->tables, rng, values);
	return 0;
}

static void act(struct builder *b)
{
	if (builder_chance(b, b->mood.noise_percent))
		action_noise(b);
	if (builder_chance(b, b->mood.host_percent)) {
		if (builder_chance(b, 20))
			action_spill(b);
		else
			action_host(b, builder_chance(b, 50));
		return;
	}
	switch (builder_range(b, 0, 10)) {
	case 0:
		action_read_weights(b, false);
		break;
	case 1:
		action_read_weights(b, true);
		break;
	case 10:
		action_overwrite(b);
		break;
	case 2:
	case 3:
		b->block_rows = action_matrix(b, -1, b->mood.most_vectors, builder_chance(b, 50));
		if (!b->stuck)
			b->block = tpu_code(&b->program)[b->program.count - 1].operand;
		break;
	case 4:
	case 5:
		if (builder_chance(b, b->mood.activate_percent))
			action_activate(b, builder_chance(b, 50));
		break;
	default:
		action_layer_group(b);
		for (int64_t n = builder_range(b, 0, 2); n > 0; n--)
			if (builder_chance(b, b->mood.activate_percent))
				action_activate(b, true);
	}
}

/* Actions one after the other; one that gets stuck, or that leaves the program without an end, is taken back. */
static int write_program(struct builder *b, int64_t actions, struct npl_err *err)
{
	for (int64_t i = 0; i < actions && !b->no_memory; i++) {
		struct builder_mark mark;
		if (!builder_save(b, &mark))
			return npl_fail(err, NPL_ENOMEM, "out of memory for a random program");
		act(b);
		builder_restore(b, &mark, builder_can_end(b, false));
	}
	builder_can_end(b, true);
	builder_emit(b, (struct tpu_instruction){.opcode = TPU_HALT}, NULL);
	if (b->stuck)
		return npl_fail(err, b->no_memory ? NPL_ENOMEM : NPL_EINTERNAL, "no end of a random program found");
	return 0;
}

static int insert(struct sim_program *program, int64_t at, struct tpu_instruction in, struct npl_err *err)
{
	int rc = tpu_program_add(program, in, 0, err);
	if (rc)
		return rc;
	struct tpu_instruction *code = tpu_code(program);
	memmove(code + at + 1, code + at, (size_t)(program->count - 1 - at) * sizeof *code);
	code[at] = in;
	return 0;
}

/* The first instruction from `at` on, around the end, that `unit` executes; -1: none. */
static int64_t find(const struct sim_program *p, int64_t at, enum tpu_unit unit)
{
	for (int64_t i = 0; i < p->count; i++, at = (at + 1) % p->count)
		if (tpu_unit_of(tpu_code(p)[at].opcode) == unit)
			return at;
	return -1;
}

/* Moves a read_weights to where it may come too late, or puts one in that is more than there is room for, or a switch
 * with the tile for it after a sync. Not always fatal. */
static int get_stuck(struct builder *b, struct npl_err *err)
{
	struct sim_program *p = &b->program;
	int64_t from = builder_range(b, 0, p->count - 1), at = find(p, from, TPU_WEIGHTS), last = p->count - 1;
	int64_t pass = find(p, from, TPU_MATRIX);
	bool tables = builder_chance(b, 40);
	int64_t space = tables ? b->tables : b->tile_rows / b->config.rows;
	struct tpu_instruction read_more = {.opcode = TPU_READ_WEIGHTS,
					    .flags = tables ? TPU_WEIGHTS_PARAMETERS : 0,
					    .operand = (uint16_t)space,
					    .length = tables ? (uint32_t)b->tile_rows : 0};
	switch (builder_range(b, 0, 2)) {
	case 0:
		if (at < 0)
			return 0;
		read_more = tpu_code(p)[at];
		tpu_code(p)[at] = (struct tpu_instruction){.opcode = TPU_NOP};
		return builder_chance(b, 80) ? insert(p, builder_range(b, at, last), read_more, err) : 0;
	case 1:
		return insert(p, from, read_more, err);
	default:
		if (pass < 0 || tpu_code(p)[pass].flags & TPU_MATRIX_SWITCH)
			return insert(p, last, read_more, err);
		tpu_code(p)[pass].flags |= TPU_MATRIX_SWITCH;
		read_more = (struct tpu_instruction){.opcode = TPU_READ_WEIGHTS, .operand = 1};
		int rc = insert(p, last, read_more, err);
		read_more = (struct tpu_instruction){.opcode = TPU_SYNC, .flags = (uint16_t)builder_range(b, 1, 31)};
		return rc ? rc : insert(p, builder_range(b, pass, last), read_more, err);
	}
}

int program_case_make(struct program_case *c, uint64_t seed, const struct program_request *wish, struct npl_err *err)
{
	struct builder b = {0};
	struct tpu_config config;
	uint64_t rng = seed * 0x9e3779b97f4a7c15ull + 1;
	if (!rng)
		rng = 1;
	for (int i = 0; i < 4; i++)
		test_rng(&rng);
	struct builder drawn = {0};
	draw_machine(&drawn, &config, &rng, wish);
	config.technology.activity = seed % 2 ? SIM_COUNTED : SIM_NOT_COUNTED;
	*c = (struct program_case){.seed = seed, .config = config};
	int64_t host_bytes = tpu_row_bytes(&config) * test_range(&rng, 2, 60) + test_range(&rng, 0, 9);
	int rc = 0;
	if (!builder_open(&b, test_rng(&rng) | 1, &config, host_bytes))
		rc = npl_fail(err, NPL_ENOMEM, "out of memory for a random program");
	b.tile_rows = drawn.tile_rows;
	b.tables = drawn.tables;
	b.mood = draw_mood(&rng, &config);
	if (!rc)
		rc = write_program(&b, wish->actions ? wish->actions : test_range(&rng, 4, 50), err);
	if (!rc && chance(&rng, wish->stuck_percent))
		rc = get_stuck(&b, err);
	c->program = b.program;
	if (!rc)
		rc = fill_memories(c, &b, &rng, err);
	if (!rc)
		c->stuck_at = liveness_stuck_at(&c->config, &c->program);
	builder_close(&b);
	if (rc)
		program_case_free(c);
	return rc;
}

void program_case_free(struct program_case *c)
{
	sim_program_free(&c->program);
	free(c->buffer);
	free(c->weights);
	free(c->host);
	*c = (struct program_case){0};
}
