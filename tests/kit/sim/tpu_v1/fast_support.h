/* SPDX-License-Identifier: MIT
 *
 * For the tests of the fast engine: runs a machine's program on it, and compares with the interpreter. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_FAST_SUPPORT_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_FAST_SUPPORT_H

#include "expect.h"
#include "sim/systolic/tpu_v1/fast/run.h"

/* The program must pass the check; then what the engine says. cache NULL: none. */
static inline int fast_run_with(struct test_machine *m, struct tpu_fast_cache **cache)
{
	const struct sim_observer observer = test_observer(m);
	size_t buffer = (size_t)(tpu_buffer_size_rows(&m->config) * tpu_row_bytes(&m->config));
	memcpy(m->given_buffer, m->memory.buffer, buffer);
	memcpy(m->given_host, m->memory.host, m->memory.host_bytes);
	cr_assert_eq(tpu_program_check(&m->config, &m->program, &m->memory, "test", &m->err), 0, "%s", m->err.msg);
	return tpu_run_fast(&(struct tpu_engine_input){.config = &m->config,
						       .program = &m->program,
						       .memory = m->memory,
						       .observer = &observer,
						       .cache = cache},
			    &m->outcome, &m->err);
}

static inline void fast_run(struct test_machine *m)
{
	cr_assert_eq(fast_run_with(m, NULL), 0, "%s", m->err.msg);
}

static inline void fast_compare(struct test_machine *m, const char *label)
{
	fast_run(m);
	test_expect(m, label);
}

/* Random bytes in the buffer and in weight memory, except tables: biases up to `bias`, scales around `scale`. */
static inline void fast_fill(struct test_machine *m, uint64_t seed, int64_t table_row, int tables, int32_t bias,
			     float scale)
{
	size_t buffer = (size_t)(tpu_buffer_size_rows(&m->config) * tpu_row_bytes(&m->config));
	for (size_t i = 0; i < buffer; i++)
		m->memory.buffer[i] = (uint8_t)(test_rng(&seed) >> 32);
	for (size_t i = 0; i < m->memory.weight_bytes; i++)
		m->weights[i] = (uint8_t)(test_rng(&seed) >> 32);
	for (int64_t e = 0; e < tables * m->config.columns; e++) {
		int32_t b = (int32_t)test_range(&seed, -(int64_t)bias, bias);
		float s = scale * (float)test_range(&seed, 1, 100) / 100;
		uint8_t *entry = m->weights + table_row * m->config.columns + 8 * e;
		memcpy(entry, &b, 4);
		memcpy(entry + 4, &s, 4);
	}
}

#endif
