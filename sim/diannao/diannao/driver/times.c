/* SPDX-License-Identifier: MIT
 *
 * Cycles by instruction (times.h). */
#include "times.h"

#include <stdlib.h>

_Static_assert(DN_TIME_CLASSES <= NPL_MAX_CYCLE_CLASSES, "a result has room for all classes");

const struct npl_cycle_class dn_time_classes[DN_TIME_CLASSES] = {
	[DN_CYCLES_ACTIVE] = {"nfu_active", NPL_CLASS_WORKING, "it takes a step"},
	[DN_CYCLES_WAIT_SB] = {"wait_sb", NPL_CLASS_WAITING, "for a row of SB"},
	[DN_CYCLES_WAIT_NBIN] = {"wait_nbin", NPL_CLASS_WAITING, "for a row of NBin"},
	[DN_CYCLES_WAIT_NBOUT] = {"wait_nbout", NPL_CLASS_WAITING, "for room in NBout, or for stores"},
	[DN_CYCLES_FILL] = {"nfu_fill", NPL_CLASS_WAITING, "for steps before it on their way through the pipeline"},
	[DN_TIME_QUEUED] = {"queued", NPL_CLASS_WAITING, "for instructions before it in the NFU's queue"},
	[DN_TIME_MEMORY] = {"memory", NPL_CLASS_PASSING, "its loads are still to arrive, or its results to be stored"},
};

struct times {
	struct npl_instruction_time *time; /* per instruction; begin is the cycle in which it was decoded */
	uint64_t *ended;
	int64_t count;
};

static void times_close(void *opened)
{
	struct times *times = opened;
	if (!times)
		return;
	free(times->time);
	free(times->ended);
	free(times);
}

static int times_open(void **opened, const void *config, const struct sim_program *program, struct npl_err *err)
{
	const size_t n = (size_t)program->count + 1;
	struct times *times = *opened = calloc(1, sizeof *times);
	(void)config;
	if (times) {
		times->count = program->count;
		times->time = calloc(n, sizeof *times->time);
		times->ended = calloc(n, sizeof *times->ended);
		if (times->time && times->ended)
			return 0;
	}
	times_close(times);
	*opened = NULL;
	return npl_fail(err, NPL_ENOMEM, "out of memory for the times of %lld instructions", (long long)program->count);
}

static void times_event(void *opened, const struct sim_event *event)
{
	const struct times *times = opened;
	struct npl_instruction_time *time = &times->time[event->index];
	if (event->kind == DN_DECODED)
		time->begin = event->cycle;
	if (event->kind == DN_ENDED)
		times->ended[event->index] = event->cycle;
	time->end = event->cycle > time->end ? event->cycle : time->end;
}

static void times_interval(void *opened, const struct sim_cycles *interval)
{
	const struct times *times = opened;
	times->time[interval->instruction].cycles[interval->cycle_class] += interval->to - interval->from;
}

static int times_take(void *opened, uint64_t cycles, struct npl_instruction_time **table, struct npl_err *err)
{
	struct times *times = opened;
	uint64_t previous_end = 0; /* boundary at which the one before has ended */
	(void)err;
	/* The instruction waits for what comes after the end of the one before it. */
	if (times->count)
		times->ended[times->count - 1] = cycles;
	for (int64_t i = 0; i < times->count; i++) {
		struct npl_instruction_time *t = &times->time[i];
		if (t->begin < previous_end)
			t->cycles[DN_TIME_QUEUED] = previous_end - t->begin;
		else
			t->begin = previous_end;
		previous_end = times->ended[i];
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
