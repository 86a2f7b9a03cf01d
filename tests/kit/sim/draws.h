/* SPDX-License-Identifier: MIT
 *
 * Which parameters and fields random cases draw, and which counters they move. One that always has the same value is
 * compared by no test of two engines.
 */
#ifndef NPULAB_TESTS_KIT_SIM_DRAWS_H
#define NPULAB_TESTS_KIT_SIM_DRAWS_H

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "npulab/counters.h"
#include "npulab/params.h"
#include "sim/common/instruction_set.h"
#include "tests/kit/sim/keys.h"

/* What one parameter or field has been. */
struct test_draw {
	int64_t first;
	bool seen, differed;
};

static inline void test_draw_note(struct test_draw *draw, int64_t value)
{
	draw->differed |= draw->seen && draw->first != value;
	draw->first = draw->seen ? draw->first : value;
	draw->seen = true;
}

/* The parameters of a machine, by their rows. Texts are compared by their addresses. */
static inline void test_draw_config(struct test_draw *draw, const struct npl_param *params, const void *config)
{
	for (; params->key; params++, draw++) {
		int64_t value = 0;
		memcpy(&value, (const char *)config + params->offset,
		       params->type == NPL_PARAM_CHOICE ? sizeof(int) : sizeof value);
		test_draw_note(draw, value);
	}
}

/* Each parameter has differed, or is among the exceptions (test_key_is_among), which have not. */
static inline void test_expect_draws(const struct test_draw *draw, const struct npl_param *params,
				     const char *exceptions)
{
	for (; params->key; params++, draw++) {
		const bool excepted = test_key_is_among(params->key, exceptions);
		cr_expect_neq(draw->differed, excepted, "%s %s", params->key,
			      excepted ? "is drawn: it is no exception" : "is never drawn");
	}
}

/* Adds the n counters of a machine, which are members of `counters`, to their sums. */
static inline void test_add_counters(uint64_t *sum, const struct npl_counter_def *defs, int n, const void *counters)
{
	for (int i = 0; i < n; i++)
		sum[i] += *(const uint64_t *)((const char *)counters + defs[i].offset);
}

/* Each counter has moved, or is among the exceptions (test_key_is_among), which have not. */
static inline void test_expect_moves(const uint64_t *sum, const struct npl_counter_def *defs, int n,
				     const char *exceptions)
{
	for (int i = 0; i < n; i++) {
		const bool excepted = test_key_is_among(defs[i].name, exceptions);
		cr_expect_neq(sum[i] > 0, excepted, "%s %s", defs[i].name,
			      excepted ? "moves: it is no exception" : "is always 0");
	}
}

#endif
