/* SPDX-License-Identifier: MIT
 *
 * For the tests of the rtl engine: a small machine, a program built instruction by instruction, its memories, and every
 * event of a run to look up afterwards. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_MACHINE_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_MACHINE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "sim/systolic/tpu_v1/engine/engine.h"
#include "sim/systolic/tpu_v1/isa/check.h"
#include "sim/systolic/tpu_v1/rtl/run.h"
#include "tests/kit/sim/tpu_v1/classes.h"
#include "tests/kit/sim/tpu_v1/code.h"
#include "tests/kit/support.h"

enum { TEST_EVENTS = 1 << 14 };

struct test_machine {
	struct tpu_config config;
	struct sim_program program;
	struct tpu_memory memory;
	uint8_t *weights, *given_buffer, *given_host; /* memory as it was given, and the weights as bytes to fill */
	struct sim_event event[TEST_EVENTS];
	int events;
	int64_t retired[TEST_EVENTS];
	int n_retired;
	struct tpu_outcome outcome;
	struct sim_value_counts *value_counts; /* of each instruction, of the last run */
	struct npl_err err;
};

/* 1 MHz; weight memory gives `weight_bytes` and the link `link_bytes` per cycle; all else as small as can be. */
static inline struct tpu_config test_config(int64_t rows, int64_t columns, int64_t weight_bytes, int64_t link_bytes)
{
	return (struct tpu_config){.clock_hz = 1000000,
				   .rows = rows,
				   .columns = columns,
				   .accumulator_rows = 4096,
				   .buffer_bytes = 4096 * (rows > columns ? rows : columns),
				   .weight_bytes = 4096 * columns * rows,
				   .weight_bytes_per_second = weight_bytes * 1000000,
				   .fifo_tiles = 4,
				   .activate_cycles_per_row = 1,
				   .parameter_tables = 8,
				   .queue_instructions = 32,
				   .issue_cycles = 1,
				   .link.name = "wire",
				   .link_bytes_per_second = (double)link_bytes * 1e6};
}

static inline struct test_machine *test_open(struct tpu_config config, size_t host_bytes)
{
	struct test_machine *m = calloc(1, sizeof *m);
	cr_assert(m);
	m->config = config;
	size_t buffer = (size_t)(tpu_buffer_size_rows(&config) * tpu_row_bytes(&config));
	m->memory.buffer = calloc(buffer, 1);
	m->memory.weight_bytes = (size_t)config.weight_bytes;
	m->weights = calloc(m->memory.weight_bytes, 1);
	m->memory.weights = m->weights;
	m->memory.host_bytes = host_bytes;
	m->memory.host = calloc(host_bytes + 1, 1);
	m->given_buffer = malloc(buffer);
	m->given_host = malloc(host_bytes + 1);
	cr_assert(m->memory.buffer && m->weights && m->memory.host && m->given_buffer && m->given_host);
	return m;
}

static inline void test_close(struct test_machine *m)
{
	sim_program_free(&m->program);
	free(m->memory.buffer);
	free(m->weights);
	free(m->memory.host);
	free(m->given_buffer);
	free(m->given_host);
	free(m->value_counts);
	free(m);
}

/* ---- The program; each returns the index of its instruction ---- */

static inline int64_t test_add(struct test_machine *m, int opcode, unsigned flags, uint32_t ub, int64_t acc,
			       int64_t length)
{
	struct tpu_instruction instruction = {(uint8_t)opcode, (uint16_t)flags, ub, (uint16_t)acc, (uint32_t)length};
	cr_assert_eq(tpu_program_add(&m->program, instruction, 0, &m->err), 0, "%s", m->err.msg);
	return m->program.count - 1;
}

static inline int64_t test_set(struct test_machine *m, enum tpu_register r, int64_t value)
{
	return test_add(m, TPU_SET_CONFIG, 0, 0, r, (int64_t)(uint32_t)value);
}

static inline int64_t test_set_float(struct test_machine *m, enum tpu_register r, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return test_set(m, r, bits);
}

static inline int64_t test_tiles(struct test_machine *m, int64_t count, int64_t first_row)
{
	return test_add(m, TPU_READ_WEIGHTS, 0, 0, count, first_row);
}

static inline int64_t test_tables(struct test_machine *m, int64_t count, int64_t first_row)
{
	return test_add(m, TPU_READ_WEIGHTS, TPU_WEIGHTS_PARAMETERS, 0, count, first_row);
}

static inline int64_t test_multiply(struct test_machine *m, unsigned flags, uint32_t ub, int64_t acc, int64_t length)
{
	return test_add(m, TPU_MATRIX_MULTIPLY, flags, ub, acc, length);
}

static inline int64_t test_activate(struct test_machine *m, unsigned flags, uint32_t ub, int64_t acc, int64_t length)
{
	return test_add(m, TPU_ACTIVATE, flags, ub, acc, length);
}

static inline int64_t test_sync(struct test_machine *m, unsigned units)
{
	return test_add(m, TPU_SYNC, units, 0, 0, 0);
}

static inline int64_t test_halt(struct test_machine *m)
{
	return test_add(m, TPU_HALT, 0, 0, 0, 0);
}

/* ---- The run ---- */

static inline void test_see(void *context, const struct sim_event *event)
{
	struct test_machine *m = context;
	cr_assert(m->events < TEST_EVENTS);
	m->event[m->events++] = *event;
}

static inline int test_retire(void *context, int64_t instruction, struct npl_err *err)
{
	struct test_machine *m = context;
	(void)err;
	cr_assert(m->n_retired < TEST_EVENTS);
	m->retired[m->n_retired++] = instruction;
	return 0;
}

/* Who sees all of a run, of which nothing has been seen so far. */
static inline struct sim_observer test_observer(struct test_machine *m)
{
	m->events = m->n_retired = 0;
	free(m->value_counts);
	m->value_counts = calloc((size_t)m->program.count + 1, sizeof *m->value_counts);
	cr_assert(m->value_counts);
	return (struct sim_observer){
		.on_event = test_see, .on_retired = test_retire, .context = m, .value_counts = m->value_counts};
}

/* The program must pass the check; then what the engine says. */
static inline int test_run(struct test_machine *m)
{
	const struct sim_observer observer = test_observer(m);
	size_t buffer = (size_t)(tpu_buffer_size_rows(&m->config) * tpu_row_bytes(&m->config));
	memcpy(m->given_buffer, m->memory.buffer, buffer);
	memcpy(m->given_host, m->memory.host, m->memory.host_bytes);
	cr_assert_eq(tpu_program_check(&m->config, &m->program, &m->memory, "test", &m->err), 0, "%s", m->err.msg);
	return tpu_run_rtl(
		&(struct tpu_engine_input){
			.config = &m->config, .program = &m->program, .memory = m->memory, .observer = &observer},
		&m->outcome, &m->err);
}

static inline void test_run_ok(struct test_machine *m)
{
	cr_assert_eq(test_run(m), 0, "%s", m->err.msg);
	const struct tpu_counters *n = &m->outcome.counters;
	uint64_t cells = (uint64_t)(m->config.rows * m->config.columns);
	cr_assert_eq(test_whole_classes(n), m->outcome.cycles);
	cr_assert_eq(n->useful_macs + n->unused_macs, n->array_active * cells);
	cr_assert_eq(n->accumulator_writes, n->array_active);
	cr_assert_leq(test_parts_of_non_matrix(n), n->non_matrix);
	cr_assert_eq(n->instructions, (uint64_t)m->program.count);
}

/* When it happened; the test fails unless it did, once. */
static inline int64_t test_when(const struct test_machine *m, enum tpu_event kind, int64_t index)
{
	int64_t cycle = -1;
	for (int i = 0; i < m->events; i++)
		if (m->event[i].kind == kind && m->event[i].index == index) {
			cr_assert_eq(cycle, -1, "event %d of %lld came twice", kind, (long long)index);
			cycle = (int64_t)m->event[i].cycle;
		}
	cr_assert_geq(cycle, 0, "event %d of %lld has not come", kind, (long long)index);
	return cycle;
}

static inline int test_how_many(const struct test_machine *m, enum tpu_event kind)
{
	int n = 0;
	for (int i = 0; i < m->events; i++)
		n += m->event[i].kind == kind;
	return n;
}

#define EXPECT_AT(m, kind, index, cycle)                                                                               \
	do {                                                                                                           \
		int64_t at_ = test_when(m, kind, index), want_ = (cycle);                                              \
		cr_assert_eq(at_, want_, #kind " %lld at %lld, expected %lld", (long long)(index), (long long)at_,     \
			     (long long)want_);                                                                        \
	} while (0)

#define EXPECT_COUNT(m, counter_, value)                                                                               \
	cr_assert_eq((m)->outcome.counters.counter_, (uint64_t)(value), #counter_ " is %llu, expected %llu",           \
		     (unsigned long long)(m)->outcome.counters.counter_, (unsigned long long)(value))

#define EXPECT_CYCLES(m, value)                                                                                        \
	cr_assert_eq((m)->outcome.cycles, (uint64_t)(value), "%llu cycles, expected %llu",                             \
		     (unsigned long long)(m)->outcome.cycles, (unsigned long long)(value))

#endif
