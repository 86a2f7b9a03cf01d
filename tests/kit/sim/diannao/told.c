/* SPDX-License-Identifier: MIT
 *
 * What an observer was told (told.h). */
#include "told.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/grow.h"

/* Everything that was told, in its order. `cycles.cycle_class` is the kind of an event. */
struct told {
	struct telling {
		bool is_interval;
		struct sim_cycles cycles; /* of an event: it begins and ends when that is */
	} * all;
	int64_t n, capacity;
	bool out_of_memory;
};

static void keep(struct told *told, bool is_interval, struct sim_cycles cycles)
{
	struct telling *grown = npl_grow(told->all, told->n, &told->capacity, sizeof *grown);
	told->out_of_memory |= !grown;
	if (!grown)
		return;
	told->all = grown;
	grown[told->n++] = (struct telling){is_interval, cycles};
}

static void on_event(void *context, const struct sim_event *event)
{
	keep(context, false, (struct sim_cycles){event->kind, event->cycle, event->cycle, event->index});
}

static void on_cycles(void *context, const struct sim_cycles *interval)
{
	keep(context, true, *interval);
}

static void describe(const struct told *told, int64_t i, char *text, size_t bytes)
{
	if (i >= told->n) {
		snprintf(text, bytes, "nothing");
		return;
	}
	const struct sim_cycles *cycles = &told->all[i].cycles;
	snprintf(text, bytes, "%s %u of instruction %lld at %llu to %llu", told->all[i].is_interval ? "class" : "event",
		 cycles->cycle_class, (long long)cycles->instruction, (unsigned long long)cycles->begin,
		 (unsigned long long)cycles->end);
}

static bool is_same(const struct telling *a, const struct telling *b)
{
	return a->is_interval == b->is_interval && a->cycles.cycle_class == b->cycles.cycle_class &&
	       a->cycles.begin == b->cycles.begin && a->cycles.end == b->cycles.end &&
	       a->cycles.instruction == b->cycles.instruction;
}

static bool is_all_same(const struct told *a, const struct told *b, char *reason, size_t reason_bytes)
{
	char text[2][120];
	int64_t i = 0;
	if (a->out_of_memory || b->out_of_memory) {
		snprintf(reason, reason_bytes, "out of memory");
		return false;
	}
	while (i < a->n && i < b->n && is_same(&a->all[i], &b->all[i]))
		i++;
	if (i == a->n && i == b->n)
		return true;
	describe(a, i, text[0], sizeof text[0]);
	describe(b, i, text[1], sizeof text[1]);
	snprintf(reason, reason_bytes, "told number %lld: %s, and with skipped repeats %s", (long long)i, text[0],
		 text[1]);
	return false;
}

bool diannao_tells_the_same(diannao_run_observed *run, const void *context, char *reason, size_t reason_bytes)
{
	struct told told[2] = {0};
	bool ok = true;
	for (int skips = 0; skips < 2 && ok; skips++) {
		struct npl_err err = {0};
		const struct sim_observer observer = {
			.context = &told[skips], .on_event = on_event, .on_cycles = on_cycles};
		ok = run(context, skips, &observer, &err);
		if (!ok)
			snprintf(reason, reason_bytes, "%s", err.msg);
	}
	ok = ok && is_all_same(&told[0], &told[1], reason, reason_bytes);
	free(told[0].all);
	free(told[1].all);
	return ok;
}
