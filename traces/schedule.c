/* SPDX-License-Identifier: MIT
 *
 * Reads the schedule of a batch (schedule.h). */
#include "schedule.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "occupancy.h"

static double real_at(const struct trace_words *words, const char *key)
{
	const char *value = trace_value(words, key);
	const double real = value ? strtod(value, NULL) : 0;
	return real >= -TRACE_MAX_SECONDS && real <= TRACE_MAX_SECONDS ? real : 0;
}

static uint64_t count_at(const struct trace_words *words, const char *key)
{
	const char *value = trace_value(words, key);
	uint64_t count = 0;
	return value && trace_read_count(value, &count) ? count : 0;
}

/* Appends the row or task of an event. previous: the start of the one before, from which its own is counted. */
static int add(struct trace_schedule *schedule, const struct trace_event *event, const struct trace_words *words,
	       double *previous, struct npl_err *err)
{
	const bool is_row = event->kind == TRACE_LAYER;
	struct trace_work **list = is_row ? &schedule->row : &schedule->task;
	int64_t *n = is_row ? &schedule->n_rows : &schedule->n_tasks;
	struct trace_work *grown = npl_grow(*list, *n, is_row ? &schedule->row_capacity : &schedule->task_capacity,
					    sizeof *grown);
	if (!grown)
		return npl_no_memory(err);
	*list = grown;
	struct npl_arena *arena = &schedule->arena;
	struct trace_work *work = &grown[*n];
	*previous = fmin(*previous + real_at(words, "start"), TRACE_MAX_SECONDS);
	*work = (struct trace_work){
		.kind = is_row ? "layer" : npl_arena_strdup(arena, words->word[1]),
		.device = npl_arena_strdup(arena, words->word[is_row ? 3 : 2]),
		.layer = npl_arena_strdup(arena, words->word[is_row ? 1 : 3]),
		.op_name = is_row ? npl_arena_strdup(arena, words->word[2]) : NULL,
		.line = event->number,
		.start = fmax(*previous, 0),
		.seconds = fmax(real_at(words, "seconds"), 0),
		.bytes = count_at(words, "bytes"),
		.cycles = count_at(words, "cycles"),
		.macs = count_at(words, "macs"),
	};
	if (!work->kind || !work->device || !work->layer || (is_row && !work->op_name))
		return npl_no_memory(err);
	++*n;
	return 0;
}

int trace_schedule_read(struct trace_events *events, struct trace_event *event, struct trace_words *words,
			struct trace_schedule *schedule, bool *more, struct npl_err *err)
{
	double row_start = 0, task_start = 0;
	schedule->n_rows = schedule->n_tasks = 0;
	schedule->seconds = 0;
	npl_arena_free(&schedule->arena);
	for (*more = true; *more;) {
		if (trace_events_next(events, event, more, err))
			return err->code;
		if (!*more || event->kind == TRACE_EXECUTION)
			return 0;
		if (event->kind != TRACE_LAYER && event->kind != TRACE_TASK && event->kind != TRACE_BATCH)
			continue;
		trace_event_cut(event, words);
		if (event->kind == TRACE_BATCH) {
			schedule->seconds = fmax(real_at(words, "seconds"), 0);
			return 0;
		}
		if (add(schedule, event, words, event->kind == TRACE_LAYER ? &row_start : &task_start, err))
			return err->code;
	}
	return 0;
}

void trace_schedule_free(struct trace_schedule *schedule)
{
	npl_arena_free(&schedule->arena);
	free(schedule->row);
	free(schedule->task);
	*schedule = (struct trace_schedule){0};
}
