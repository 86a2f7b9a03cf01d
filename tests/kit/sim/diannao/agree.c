/* SPDX-License-Identifier: MIT
 *
 * Random programs on both engines of DianNao (agree.h). */
#include "agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/diannao/diannao/fast/run.h"
#include "sim/diannao/diannao/isa/check.h"
#include "sim/diannao/diannao/rtl/run.h"
#include "tests/kit/sim/diannao/code.h"
#include "told.h"

#define NOT_YET UINT64_MAX

/* When each instruction did what. */
struct events {
	uint64_t *cycle; /* (DN_EVENTS, count) */
	int64_t count;
	int strange;          /* twice, or of no instruction */
	uint64_t *attributed; /* (DN_CYCLE_CLASSES, count) cycles */
};

static void on_event(void *context, const struct sim_event *event)
{
	struct events *e = context;
	const int64_t at = event->kind * e->count + event->index;
	if (event->index < 0 || event->index >= e->count || e->cycle[at] != NOT_YET)
		e->strange++;
	else
		e->cycle[at] = event->cycle;
}

static void on_cycles(void *context, const struct sim_cycles *interval)
{
	struct events *e = context;
	if (interval->instruction < 0 || interval->instruction >= e->count || interval->begin >= interval->end)
		e->strange++;
	else
		e->attributed[interval->cycle_class * e->count + interval->instruction] += interval->end -
											   interval->begin;
}

struct executed {
	struct dn_outcome outcome;
	struct events events;
	uint8_t *bytes;
};

static void executed_free(struct executed *o)
{
	free(o->events.cycle);
	free(o->events.attributed);
	free(o->bytes);
}

struct dn_engine_input diannao_engine_input(const struct diannao_case *c, struct npl_memory *memory)
{
	return (struct dn_engine_input){
		.config = &c->config, .n_functions = c->program.n_constants, .function = c->function, .port = memory};
}

/* All of a program, with values and events. */
static bool run_all(struct executed *o, const struct diannao_case *c, struct npl_memory *memory, dn_engine *engine,
		    char *reason, size_t reason_bytes)
{
	struct diannao_stream stream;
	struct npl_err err = {0};
	const size_t events = (size_t)c->program.count * DN_EVENTS * sizeof *o->events.cycle;
	const struct npl_hz machine = {c->config.clock_hz, 1};
	*o = (struct executed){.events = {malloc(events), c->program.count, 0,
					  calloc((size_t)c->program.count * DN_CYCLE_CLASSES, sizeof(uint64_t))},
			       .bytes = malloc(c->size)};
	const struct sim_observer observer = {.context = &o->events, .on_event = on_event, .on_cycles = on_cycles};
	if (!o->events.cycle || !o->events.attributed || !o->bytes) {
		snprintf(reason, reason_bytes, "out of memory");
		return false;
	}
	memset(o->events.cycle, 0xff, events);
	memcpy(o->bytes, c->bytes, c->size);
	struct dn_engine_input engine_input = diannao_engine_input(c, memory);
	engine_input.stream = diannao_source(&stream, c, false);
	engine_input.memory = (struct dn_memory){o->bytes, c->size};
	engine_input.observer = &observer;
	const bool ran = !engine(&engine_input, &o->outcome, &err);
	if (!ran)
		snprintf(reason, reason_bytes, "%s", err.msg);
	else if (o->events.strange)
		snprintf(reason, reason_bytes, "%d events twice, or of no instruction", o->events.strange);
	else if (npl_memory_now(memory) != npl_hz_ceil(o->outcome.cycles, &machine, &npl_memory_info(memory)->clock))
		snprintf(reason, reason_bytes, "memory's clock is at %llu, the machine's at %llu",
			 (unsigned long long)npl_memory_now(memory), (unsigned long long)o->outcome.cycles);
	else
		return true;
	return false;
}

/* Times only. */
static bool run_times(struct executed *o, const struct diannao_case *c, struct npl_memory *memory, dn_engine *engine,
		      bool units, struct diannao_stream *stream, char *reason, size_t reason_bytes)
{
	struct npl_err err = {0};
	struct dn_engine_input engine_input = diannao_engine_input(c, memory);
	engine_input.stream = diannao_source(stream, c, units);
	*o = (struct executed){0};
	if (!engine(&engine_input, &o->outcome, &err))
		return true;
	snprintf(reason, reason_bytes, "%s", err.msg);
	return false;
}

/* ---- Comparisons: the first difference, in words ---- */

static const struct {
	const char *name;
	size_t at;
} counters[] = {
#define DN_COUNTER(form, name, ...) {#name, offsetof(struct dn_counters, name)},
#include "sim/diannao/diannao/counters.def"
#undef DN_COUNTER
	{"output_saturations", offsetof(struct dn_counters, output_saturations)},
};
_Static_assert(sizeof counters / sizeof *counters * sizeof(uint64_t) == sizeof(struct dn_counters), "all of them");

static uint64_t counter(const struct dn_outcome *outcome, size_t i)
{
	return *(const uint64_t *)((const char *)&outcome->counters + counters[i].at);
}

static bool same_event(const struct executed *a, const struct executed *b, char *reason, size_t reason_bytes)
{
	static const char *const names[DN_EVENTS] = {"is decoded", "has its inputs", "has its synapses",
						     "starts",     "ends",           "has its store done"};
	const int64_t count = a->events.count;
	for (int64_t i = 0; i < count; i++)
		for (int what = 0; what < DN_EVENTS; what++) {
			const uint64_t x = a->events.cycle[what * count + i], y = b->events.cycle[what * count + i];
			if (x == y)
				continue;
			snprintf(reason, reason_bytes, "instruction %lld %s at %lld and %lld", (long long)i,
				 names[what], (long long)x, (long long)y);
			return false;
		}
	return true;
}

/* Instructions have the same cycles of each class, and together all cycles. */
static bool same_spent(const struct executed *a, const struct executed *b, char *reason, size_t reason_bytes)
{
	const int64_t count = a->events.count;
	uint64_t all = 0;
	for (int64_t i = 0; i < count; i++)
		for (int what = 0; what < DN_CYCLE_CLASSES; what++) {
			const uint64_t x = a->events.attributed[what * count + i],
				       y = b->events.attributed[what * count + i];
			all += x;
			if (x == y)
				continue;
			snprintf(reason, reason_bytes, "instruction %lld has %llu and %llu cycles of class %d",
				 (long long)i, (unsigned long long)x, (unsigned long long)y, what);
			return false;
		}
	if (all != a->outcome.cycles)
		snprintf(reason, reason_bytes, "instructions have %llu cycles of %llu", (unsigned long long)all,
			 (unsigned long long)a->outcome.cycles);
	return all == a->outcome.cycles;
}

bool diannao_same_counts(const struct dn_outcome *a, const struct dn_outcome *b, char *reason, size_t reason_bytes)
{
	const uint64_t *x = (const uint64_t *)&a->memory, *y = (const uint64_t *)&b->memory;
	if (a->cycles != b->cycles) {
		snprintf(reason, reason_bytes, "%llu and %llu cycles", (unsigned long long)a->cycles,
			 (unsigned long long)b->cycles);
		return false;
	}
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		if (counter(a, i) != counter(b, i)) {
			snprintf(reason, reason_bytes, "%s is %llu and %llu", counters[i].name,
				 (unsigned long long)counter(a, i), (unsigned long long)counter(b, i));
			return false;
		}
	for (size_t i = 0; i < sizeof a->memory / sizeof *x; i++)
		if (x[i] != y[i]) {
			snprintf(reason, reason_bytes, "memory's counter %zu is %llu and %llu", i,
				 (unsigned long long)x[i], (unsigned long long)y[i]);
			return false;
		}
	return true;
}

static bool same_values(const struct diannao_case *c, const struct executed *a, const struct executed *b, char *reason,
			size_t reason_bytes)
{
	for (uint64_t i = 0; i < c->size; i++)
		if (a->bytes[i] != b->bytes[i]) {
			snprintf(reason, reason_bytes, "byte %llu is %d and %d, before %d", (unsigned long long)i,
				 a->bytes[i], b->bytes[i], c->bytes[i]);
			return false;
		}
	return true;
}

/* ---- Cases ---- */

static bool passes(const struct diannao_case *c, const struct diannao_request *wish, struct npl_err *err)
{
	struct dn_check checker = {.config = &c->config,
				   .n_functions = c->program.n_constants,
				   .memory_bytes = UINT64_MAX,
				   .source = "stream"};
	struct diannao_stream stream;
	struct dn_stream source = diannao_source(&stream, c, false);
	struct dn_instruction instruction = {0};
	if (!wish->repeats && dn_program_check(&c->config, c->size, &c->program, "program", err))
		return false;
	bool ok = !dn_check_begin(&checker, err);
	while (ok && instruction.cp.op != DN_CP_END) {
		source.next(source.state, &instruction);
		ok = !dn_check_one(&checker, &instruction, 0, err);
	}
	ok = ok && !dn_check_end(&checker, err);
	dn_check_close(&checker);
	return ok;
}

bool diannao_checked(struct diannao_case *c, uint64_t seed, const struct diannao_request *wish,
		     struct npl_memory **memory, char *reason, size_t reason_bytes)
{
	struct npl_err err = {0};
	if (!diannao_case_make(c, seed, wish)) {
		snprintf(reason, reason_bytes, "out of memory");
		return false;
	}
	if (passes(c, wish, &err) && (*memory = diannao_case_memory(c, &err)))
		return true;
	snprintf(reason, reason_bytes, "%s", err.msg);
	diannao_case_free(c);
	return false;
}

/* The same times without values. */
static bool agrees_without_values(const struct diannao_case *c, struct npl_memory *memory, const struct executed *fast,
				  char *reason, size_t reason_bytes)
{
	struct diannao_stream stream;
	struct executed all = {.outcome = fast->outcome}, timed;
	dn_set_value_counters(&(struct dn_counters){0}, &all.outcome.counters);
	return run_times(&timed, c, memory, dn_run_fast, false, &stream, reason, reason_bytes) &&
	       diannao_same_counts(&all.outcome, &timed.outcome, reason, reason_bytes);
}

bool diannao_agrees(uint64_t seed, const struct diannao_request *wish, char *reason, size_t reason_bytes)
{
	struct diannao_case c;
	struct npl_memory *memory;
	struct executed rtl = {0}, fast = {0};
	char subject[600] = "";
	const char *engines = "rtl";
	if (!diannao_checked(&c, seed, wish, &memory, reason, reason_bytes))
		return false;
	bool ok = run_all(&rtl, &c, memory, dn_run_rtl, subject, sizeof subject);
	if (ok) {
		engines = "fast";
		ok = run_all(&fast, &c, memory, dn_run_fast, subject, sizeof subject);
	}
	if (ok) {
		engines = "rtl and fast";
		ok = same_event(&rtl, &fast, subject, sizeof subject) &&
		     same_spent(&rtl, &fast, subject, sizeof subject) &&
		     diannao_same_counts(&rtl.outcome, &fast.outcome, subject, sizeof subject) &&
		     same_values(&c, &rtl, &fast, subject, sizeof subject);
	}
	if (ok) {
		engines = "fast with and without values";
		ok = agrees_without_values(&c, memory, &fast, subject, sizeof subject);
	}
	if (!ok)
		snprintf(reason, reason_bytes, "%s: %s", engines, subject);
	executed_free(&rtl);
	executed_free(&fast);
	npl_memory_close(memory);
	diannao_case_free(&c);
	return ok;
}

struct observed {
	const struct diannao_case *diannao_case;
	struct npl_memory *memory;
};

static bool run_observed(const void *context, bool skips, const struct sim_observer *observer, struct npl_err *err)
{
	const struct observed *observed = context;
	struct diannao_stream stream;
	struct dn_outcome outcome;
	struct dn_engine_input engine_input = diannao_engine_input(observed->diannao_case, observed->memory);
	engine_input.stream = diannao_source(&stream, observed->diannao_case, skips);
	engine_input.observer = observer;
	return !dn_run_fast(&engine_input, &outcome, err);
}

bool diannao_units_agree(uint64_t seed, const struct diannao_request *wish, int64_t skips[DIANNAO_LEVELS], char *reason,
			 size_t reason_bytes)
{
	struct diannao_case c;
	struct npl_memory *memory;
	struct diannao_stream stream;
	struct executed full, counted;
	char subject[600] = "";
	if (!diannao_checked(&c, seed, wish, &memory, reason, reason_bytes))
		return false;
	const bool ok = run_times(&full, &c, memory, wish->times ? dn_run_fast : dn_run_rtl, false, &stream, subject,
				  sizeof subject) &&
			run_times(&counted, &c, memory, dn_run_fast, true, &stream, subject, sizeof subject) &&
			diannao_same_counts(&full.outcome, &counted.outcome, subject, sizeof subject) &&
			diannao_tells_the_same(run_observed, &(struct observed){&c, memory}, subject, sizeof subject);
	if (!ok)
		snprintf(reason, reason_bytes, "%s", subject);
	for (int i = 0; i < DIANNAO_LEVELS; i++)
		skips[i] += stream.skips[i];
	npl_memory_close(memory);
	diannao_case_free(&c);
	return ok;
}
