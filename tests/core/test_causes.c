/* SPDX-License-Identifier: MIT
 *
 * Where cycles go: what machines declare, and what is made of it. */
#include "npulab/causes.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct npl_counter_def table[] = {
	{.name = "busy", .unit = "cycles", .partition = 1, .kind = NPL_COUNTER_WORK, .bound = "idle cells"},
	{.name = "late", .unit = "cycles", .partition = 1, .kind = NPL_COUNTER_MEMORY, .bound = "weights late"},
	{.name = "rest", .unit = "cycles", .partition = 1, .kind = NPL_COUNTER_WAITING, .bound = "activation"},
	{.name = "held", .unit = "cycles", .part_of = "rest", .kind = NPL_COUNTER_WAITING, .bound = "activation"},
	{.name = "link", .unit = "cycles", .part_of = "rest", .kind = NPL_COUNTER_WAITING, .bound = "link"},
	{.name = "used", .unit = "macs", .kind = NPL_COUNTER_USED},
	{.name = "idle", .unit = "macs", .kind = NPL_COUNTER_IDLE},
};
enum { BUSY, LATE, REST, HELD, LINK, USED, IDLE, COUNTERS };

static const struct npl_device_info machine = {.counter_def = table,
					       .n_counters = COUNTERS,
					       .clock_hz = 1e9,
					       .memory_bytes_per_second = 1e9,
					       .link = {.bytes_per_second = 1e9}};

Test(causes, sum_to_the_cycles_and_parts_are_apart)
{
	const struct npl_result result = {.cycles = 100,
					  .counter = {[BUSY] = 20, [LATE] = 30, [REST] = 50, [HELD] = 35, [LINK] = 5}};
	static const char *const names[] = {"busy", "late", "held", "link", "other"};
	static const uint64_t cycles[] = {20, 30, 35, 5, 10};
	struct npl_cause cause[NPL_MAX_CAUSES];
	cr_assert_eq(npl_causes_of(table, COUNTERS, &result, cause), 5);
	for (int i = 0; i < 5; i++) {
		cr_assert_str_eq(cause[i].name, names[i]);
		cr_assert_eq(cause[i].amount, cycles[i], "%s", names[i]);
	}
	cr_assert_eq(npl_causes_of(NULL, 0, &result, cause), 0);
}

Test(causes, bound_is_what_most_cycles_went_to)
{
	const struct {
		const char *bound;
		struct npl_result result;
	} cases[] = {
		{NULL, {0}},
		{"peak", {.cycles = 100, .counter = {[BUSY] = 60, [LATE] = 40, [USED] = 5, [IDLE] = 5}}},
		{"idle cells", {.cycles = 100, .counter = {[BUSY] = 60, [LATE] = 40, [USED] = 4, [IDLE] = 5}}},
		{"weights late",
		 {.cycles = 100,
		  .seconds = 1e-7,
		  .bytes = {[NPL_MEM_DRAM] = 74},
		  .counter = {[BUSY] = 40, [LATE] = 60}}},
		{"memory",
		 {.cycles = 100,
		  .seconds = 1e-7,
		  .bytes = {[NPL_MEM_DRAM] = 76},
		  .counter = {[BUSY] = 40, [LATE] = 60}}},
		/* most cycles compute: the memory is idle in 24 of 100 and waited for in 25, or in 23 */
		{"memory",
		 {.cycles = 100,
		  .seconds = 1e-7,
		  .bytes = {[NPL_MEM_DRAM] = 76},
		  .counter = {[BUSY] = 60, [LATE] = 25, [REST] = 15, [USED] = 5, [IDLE] = 5}}},
		{"peak",
		 {.cycles = 100,
		  .seconds = 1e-7,
		  .bytes = {[NPL_MEM_DRAM] = 76},
		  .counter = {[BUSY] = 60, [LATE] = 23, [REST] = 17, [USED] = 5, [IDLE] = 5}}},
		{"peak", /* bytes take 70 of 100 */
		 {.cycles = 100,
		  .seconds = 1e-7,
		  .bytes = {[NPL_MEM_DRAM] = 70},
		  .counter = {[BUSY] = 60, [LATE] = 40, [USED] = 5, [IDLE] = 5}}},
		/* causes of one bound count together: 30 + 15 against 40 */
		{"activation",
		 {.cycles = 100, .seconds = 1e-7, .counter = {[BUSY] = 40, [REST] = 60, [HELD] = 30, [LINK] = 15}}},
		{"link",
		 {.cycles = 100, .seconds = 1e-7, .counter = {[BUSY] = 10, [REST] = 90, [HELD] = 20, [LINK] = 60}}},
		/* what leaves over the link is in no counter of waiting */
		{"link",
		 {.cycles = 100,
		  .seconds = 1e-7,
		  .bytes = {[NPL_MEM_HOST] = 51},
		  .counter = {[BUSY] = 10, [REST] = 90}}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *bound = npl_bound_of(&machine, &cases[i].result);
		cr_assert(bound == cases[i].bound || (bound && cases[i].bound && !strcmp(bound, cases[i].bound)),
			  "case %zu: %s, expected %s", i, bound ? bound : "none",
			  cases[i].bound ? cases[i].bound : "none");
	}
}

static const char *name_of(const struct npl_counter_def *def, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (def[i].partition == 1 && !strcmp(def[i].name, name))
			return def[i].name;
	return NULL;
}

/* Every machine with counters of cycles declares what each is, whole and in part. */
Test(causes, machines_declare_them)
{
	static const char *const machines[] = {"tpu_v1", "diannao"};
	for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
		struct npl_device *device;
		struct npl_err err;
		int working = 0, used = 0, idle = 0, causes = 0;
		cr_assert_eq(npl_device_open(machines[m], NULL, &device, &err), 0, "%s", err.msg);
		const struct npl_device_info *info = npl_device_get_info(device);
		for (size_t i = 0; i < info->n_counters; i++) {
			const struct npl_counter_def *def = &info->counter_def[i];
			const bool cause = def->partition == 1 || def->part_of;
			const bool kind = def->kind == NPL_COUNTER_WORK || def->kind == NPL_COUNTER_MEMORY ||
					  def->kind == NPL_COUNTER_WAITING;
			cr_assert(cause == kind && cause == (def->bound != NULL), "%s", def->name);
			cr_assert(!cause || strlen(def->bound) <= 12, "%s", def->name);
			cr_assert(!def->part_of || name_of(info->counter_def, info->n_counters, def->part_of), "%s",
				  def->name);
			working += def->kind == NPL_COUNTER_WORK;
			used += def->kind == NPL_COUNTER_USED;
			idle += def->kind == NPL_COUNTER_IDLE;
			causes += cause;
		}
		cr_assert(working == 1 && used == 1 && idle == 1 && causes >= 4, "%s", machines[m]);
		npl_device_close(device);
	}
}

/* A table that reports could not read is found when the device opens. */
Test(causes, tables_of_counters_are_checked)
{
	const struct {
		const char *reason;
		int at;
		struct npl_counter_def def;
	} cases[] = {
		{"two counters are named busy", LATE, {.name = "busy", .unit = "macs"}},
		{"counter late has the bound '', expected 1 to 12 letters",
		 LATE,
		 {.name = "late", .unit = "cycles", .partition = 1, .kind = NPL_COUNTER_MEMORY}},
		{"counter late has the bound 'a late weight', expected 1 to 12 letters",
		 LATE,
		 {.name = "late",
		  .unit = "cycles",
		  .partition = 1,
		  .kind = NPL_COUNTER_MEMORY,
		  .bound = "a late weight"}},
		{"counter late has no kind, expected WORK, MEMORY or WAITING",
		 LATE,
		 {.name = "late", .unit = "cycles", .partition = 1, .bound = "memory"}},
		{"counter held is a part of used, expected a counter of partition 1",
		 HELD,
		 {.name = "held", .unit = "cycles", .part_of = "used", .kind = NPL_COUNTER_WAITING, .bound = "link"}},
		{"counters busy and late of partition 1 count cycles and macs, expected one unit",
		 LATE,
		 {.name = "late", .unit = "macs", .partition = 1, .kind = NPL_COUNTER_MEMORY, .bound = "memory"}},
	};
	char reason[200] = "";
	cr_assert(npl_counters_ok(table, COUNTERS, reason, sizeof reason), "%s", reason);
	cr_assert(npl_counters_ok(NULL, 0, reason, sizeof reason), "%s", reason);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_counter_def wrong[COUNTERS];
		memcpy(wrong, table, sizeof wrong);
		wrong[cases[i].at] = cases[i].def;
		cr_expect_not(npl_counters_ok(wrong, COUNTERS, reason, sizeof reason), "%s", cases[i].reason);
		cr_expect_str_eq(reason, cases[i].reason);
	}
}
