/* SPDX-License-Identifier: MIT
 *
 * The times of a program's instructions, as a table. */
#ifndef NPULAB_TESTS_KIT_SIM_TIME_TABLE_H
#define NPULAB_TESTS_KIT_SIM_TIME_TABLE_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "sim/common/execute.h"

struct time_table {
	struct npl_instruction_time *time;
	int64_t capacity, count; /* count: times that have been told */
};

static inline struct time_table time_table_for(int64_t instructions)
{
	struct time_table table = {calloc((size_t)instructions + 1, sizeof *table.time), instructions, 0};
	cr_assert(table.time);
	return table;
}

/* An on_time of a struct sim_time_sink. Times come in the order of the program. */
static inline int time_table_add(void *context, int64_t instruction, const struct npl_instruction_time *time,
				 struct npl_err *err)
{
	struct time_table *table = context;
	(void)err;
	cr_assert_eq(instruction, table->count, "the time of %lld comes after that of %lld", (long long)instruction,
		     (long long)table->count - 1);
	cr_assert_lt(instruction, table->capacity);
	table->time[table->count++] = *time;
	return 0;
}

#endif
