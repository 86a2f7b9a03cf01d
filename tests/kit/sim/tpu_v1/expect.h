/* SPDX-License-Identifier: MIT
 *
 * What a test machine's last run has left, whichever engine it was, against what the interpreter makes of the same
 * program and the same memories. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_EXPECT_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_EXPECT_H

#include "interpreter.h"
#include "machine.h"

/* What went wrong in values, in all and of each instruction. */
static inline void test_expect_value_counts(const struct test_machine *m, const struct interpreter *p,
					    const char *label)
{
	cr_assert_eq(m->outcome.overflows, (uint64_t)p->overflows, "%s: %llu overflows, expected %lld", label,
		     (unsigned long long)m->outcome.overflows, (long long)p->overflows);
	cr_assert_eq(m->outcome.saturations, (uint64_t)p->saturations, "%s: %llu saturations, expected %lld", label,
		     (unsigned long long)m->outcome.saturations, (long long)p->saturations);
	for (int64_t i = 0; i < m->program.count; i++)
		cr_assert(m->value_counts[i].overflows == p->value_counts[i].overflows &&
				  m->value_counts[i].saturations == p->value_counts[i].saturations,
			  "%s: instruction %lld has %llu overflows and %llu saturations, expected %llu and %llu", label,
			  (long long)i, (unsigned long long)m->value_counts[i].overflows,
			  (unsigned long long)m->value_counts[i].saturations,
			  (unsigned long long)p->value_counts[i].overflows,
			  (unsigned long long)p->value_counts[i].saturations);
}

static inline void test_expect(const struct test_machine *m, const char *label)
{
	const int64_t width = tpu_row_bytes(&m->config), bytes = tpu_buffer_size_rows(&m->config) * width;
	struct tpu_memory memory = m->memory;
	struct interpreter p;
	memory.buffer = malloc((size_t)bytes);
	memory.host = malloc(memory.host_bytes + 1);
	cr_assert(memory.buffer && memory.host);
	memcpy(memory.buffer, m->given_buffer, (size_t)bytes);
	memcpy(memory.host, m->given_host, memory.host_bytes);
	interpreter_open(&p, &m->config, &m->program, &memory);
	interpreter_run(&p);
	for (int64_t i = 0; i < bytes; i++)
		cr_assert_eq(m->memory.buffer[i], memory.buffer[i], "%s: buffer row %lld lane %lld is %u, expected %u",
			     label, (long long)(i / width), (long long)(i % width), m->memory.buffer[i],
			     memory.buffer[i]);
	for (size_t i = 0; i < memory.host_bytes; i++)
		cr_assert_eq(m->memory.host[i], memory.host[i], "%s: host byte %zu is %u, expected %u", label, i,
			     m->memory.host[i], memory.host[i]);
	test_expect_value_counts(m, &p, label);
	interpreter_expect_counters(&p, &m->outcome.counters, label);
	interpreter_close(&p);
	free(memory.buffer);
	free(memory.host);
}

#endif
