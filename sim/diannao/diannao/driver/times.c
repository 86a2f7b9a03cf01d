/* SPDX-License-Identifier: MIT
 *
 * Cycles by instruction (times.h). */
#include "times.h"

#include <stdlib.h>

_Static_assert(DN_TIME_CLASSES <= NPL_MAX_CYCLE_CLASSES, "a result has room for all classes");

const struct npl_cycle_class dn_time_classes[DN_TIME_CLASSES] = {
#define DN_TIME(form, constant, name, kind, help) {#name, kind, help},
#include "times.def"
#undef DN_TIME
};

/* The time class of each class of the engines that has one. */
static const int time_class[DN_CYCLE_CLASSES] = {
#define DN_TIME(form, constant, ...) SIM_TIME_OF_##form(DN_CYCLES_##constant, DN_TIME_##constant)
#include "times.def"
#undef DN_TIME
};

struct times {
	struct npl_instruction_time *time; /* per instruction; begin is the cycle in which it was decoded */
	uint64_t *end_cycle;
	int64_t count;
};

static void times_close(void *state)
{
	struct times *times = state;
	if (!times)
		return;
	free(times->time);
	free(times->end_cycle);
	free(times);
}

static int times_open(void **state, const void *config, const struct sim_program *program, struct npl_err *err)
{
	const size_t n = (size_t)program->count + 1;
	struct times *times = *state = calloc(1, sizeof *times);
	(void)config;
	if (times) {
		times->count = program->count;
		times->time = calloc(n, sizeof *times->time);
		times->end_cycle = calloc(n, sizeof *times->end_cycle);
		if (times->time && times->end_cycle)
			return 0;
	}
	times_close(times);
	*state = NULL;
	return npl_fail(err, NPL_ENOMEM, "out of memory for the times of %lld instructions", (long long)program->count);
}

static void times_event(void *state, const struct sim_event *event)
{
	const struct times *times = state;
	struct npl_instruction_time *time = &times->time[event->index];
	if (event->kind == DN_DECODED)
		time->begin = event->cycle;
	if (event->kind == DN_ENDED)
		times->end_cycle[event->index] = event->cycle;
	time->end = event->cycle > time->end ? event->cycle : time->end;
}

static void times_interval(void *state, const struct sim_cycles *interval)
{
	const struct times *times = state;
	times->time[interval->instruction].cycles[time_class[interval->cycle_class]] += interval->end - interval->begin;
}

static int times_take(void *state, uint64_t cycles, struct npl_instruction_time **table, struct npl_err *err)
{
	struct times *times = state;
	uint64_t previous_end = 0; /* boundary at which the one before has ended */
	(void)err;
	/* The instruction waits for what comes after the end of the one before it. */
	if (times->count)
		times->end_cycle[times->count - 1] = cycles;
	for (int64_t i = 0; i < times->count; i++) {
		struct npl_instruction_time *t = &times->time[i];
		if (t->begin < previous_end)
			t->cycles[DN_TIME_QUEUED] = previous_end - t->begin;
		else
			t->begin = previous_end;
		previous_end = times->end_cycle[i];
		t->end = t->end > previous_end ? t->end : previous_end;
		t->cycles[DN_TIME_MEMORY] = t->end - previous_end;
	}
	*table = times->time;
	times->time = NULL;
	return 0;
}

const struct sim_times dn_times = {
	.open = times_open,
	.on_event = times_event,
	.on_cycles = times_interval,
	.take = times_take,
	.close = times_close,
};
