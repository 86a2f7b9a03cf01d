/* SPDX-License-Identifier: MIT
 *
 * Promise: each parameter of an analytical processor has an effect. Changed alone, on each machine that ships, it gives
 * some work another time, power or number of cores, or the machine is refused. One that is read and used nowhere would
 * pass all other tests. */
#include <stdlib.h>

#include "core/params_impl.h"
#include "sim/processor/processor_model.h"
#include "tests/kit/sim/machine_file.h"

extern const struct npl_driver npl_driver_processor;

/* The link is no part of an operator's time: tests/sim/memory/test_link_model.c has its parameters. */
#define EXCEPTIONS "host_link.*"

enum { SIZES = 30, WORKS = 2 * SIZES + NPL_CLASSES + 1 };

/* Works of all kinds: bytes of 64 to 2^35 alone and beside products, each class of operations, and weights. */
static struct npl_processor_counts work(int i)
{
	struct npl_processor_counts counts = {0};
	if (i < 2 * SIZES) {
		counts.bytes = (uint64_t)64 << i % SIZES;
		counts.macs = i < SIZES ? 0 : 100 * counts.bytes;
	} else if (i < 2 * SIZES + NPL_CLASSES) {
		counts.operations[i - 2 * SIZES] = 1e8;
	} else {
		counts.weight_bytes = 1 << 30;
	}
	return counts;
}

struct outcome {
	bool refused;
	struct npl_processor_time time[WORKS];
};

static void find_outcome(const struct npl_processor_model *p, struct outcome *o)
{
	struct npl_err err;
	*o = (struct outcome){.refused = npl_processor_check(p, &err) != 0};
	for (int i = 0; i < WORKS && !o->refused; i++) {
		const struct npl_processor_counts counts = work(i);
		o->time[i] = npl_processor_estimate(p, p->precision, &counts);
	}
}

static bool same_outcome(const struct outcome *a, const struct outcome *b)
{
	bool same = a->refused == b->refused;
	for (int i = 0; i < WORKS && same && !a->refused; i++) {
		const struct npl_processor_time *x = &a->time[i], *y = &b->time[i];
		same = !(x->seconds < y->seconds) && !(x->seconds > y->seconds) && !(x->watts < y->watts) &&
		       !(x->watts > y->watts) && x->cores == y->cores;
	}
	return same;
}

/* Says whether one of the values in its range, or of its words, makes a difference, in any precision of products. */
static bool has_effect(const struct npl_param *param, const struct npl_processor_model *shipped)
{
	static const char *const values[] = {"0",           "0.5",          "1",
					     "2",           "100",          "1e5",
					     "1e7",         "1e9",          "1e11",
					     "even",        "whole",        "tf32",
					     "f16/float16", "assumed:test", "measured:rapl-pkg"};
	static struct outcome before, after;
	for (int precision = 0; precision < NPL_PROCESSOR_PRECISIONS; precision++)
		for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
			struct npl_processor_model changed = *shipped, with = *shipped;
			struct npl_err err;
			with.precision = changed.precision = precision;
			if (npl_params_parse(param, values[i], &changed, "test", NPL_EUSAGE, &err))
				continue;
			find_outcome(&with, &before);
			find_outcome(&changed, &after);
			if (!same_outcome(&before, &after))
				return true;
		}
	return false;
}

Test(processor_parameters, each_has_an_effect)
{
	struct npl_arena arena = {0};
	int n;
	const char **files = test_machine_paths(&npl_driver_processor, &arena, &n);
	for (int i = 0; i < n; i++) {
		struct npl_description machine;
		struct npl_processor_model model;
		struct npl_err err;
		cr_assert_eq(npl_description_load(files[i], "driver", &arena, &machine, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_params_read(npl_processor_params, &machine, &arena, &model, &err), 0, "%s", err.msg);
		for (const struct npl_param *p = npl_processor_params; p->key; p++)
			cr_expect(test_key_is_among(p->key, EXCEPTIONS) || has_effect(p, &model),
				  "%s: %s changes nothing", files[i], p->key);
	}
	npl_arena_free(&arena);
}
