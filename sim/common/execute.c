/* SPDX-License-Identifier: MIT
 *
 * The part of exec that does not depend on the machine (execute.h). */
#include "execute.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "npulab/budget.h"

const char *const sim_engines[] = {"fast", "rtl", NULL};

bool sim_is_rtl(const char *engine)
{
	return !strcmp(engine, "rtl");
}

/* The observer of an execution. */
struct recorder {
	const struct npl_execution *execution;
	const struct sim_executor *executor;
	void *times;
	struct npl_program_event *event;
	int64_t count, capacity;
	bool lost; /* out of memory */
};

static void on_event(void *context, const struct sim_event *event)
{
	struct recorder *r = context;
	const struct sim_times *times = r->executor->times;
	if (r->execution->request.timed)
		times->on_event(r->times, event);
	if (!r->execution->request.on_event)
		return;
	struct npl_program_event *grown = npl_grow(r->event, r->count, &r->capacity, sizeof *grown);
	r->lost = r->lost || !grown;
	if (!grown)
		return;
	r->event = grown;
	grown[r->count++] = (struct npl_program_event){
		.cycle = event->cycle,
		.name = r->executor->isa->event_name[event->kind],
		.index = event->index,
		.instruction = times->instruction_of ? times->instruction_of(r->times, event) : event->index};
}

static void on_cycles(void *context, const struct sim_cycles *interval)
{
	const struct recorder *r = context;
	r->executor->times->on_cycles(r->times, interval);
}

static int compare(const void *a, const void *b)
{
	const struct npl_program_event *x = a, *y = b;
	if (x->cycle != y->cycle)
		return x->cycle < y->cycle ? -1 : 1;
	const int names = strcmp(x->name, y->name);
	return names ? names : (x->index > y->index) - (x->index < y->index);
}

static int tell_events(struct recorder *r, struct npl_err *err)
{
	if (r->lost)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld events", (long long)r->count);
	if (r->count)
		qsort(r->event, (size_t)r->count, sizeof *r->event, compare);
	for (int64_t i = 0; i < r->count; i++)
		r->execution->request.on_event(r->execution->request.context, &r->event[i]);
	return 0;
}

static int keep_time(void *context, int64_t instruction, const struct npl_instruction_time *time, struct npl_err *err)
{
	struct npl_execution *execution = context;
	(void)err;
	if (execution->time)
		execution->time[instruction] = *time;
	return 0;
}

int sim_execute(const struct sim_executor *executor, void *context, const void *config,
		const struct sim_program *program, const char *source, struct npl_execution *execution,
		struct npl_err *err)
{
	struct recorder r = {.execution = execution, .executor = executor};
	const bool timed = execution->request.timed, observed = timed || execution->request.on_event;
	const struct sim_observer observer = {
		.context = &r, .on_event = on_event, .on_cycles = timed ? on_cycles : NULL};
	execution->counter_def = executor->counter_def;
	execution->n_counters = executor->n_counters;
	const struct sim_time_sink sink = {keep_time, execution};
	int rc = observed ? executor->times->open(&r.times, config, program, &sink, err) : 0;
	if (!rc && timed && !(execution->time = calloc((size_t)program->count + 1, sizeof *execution->time)))
		rc = npl_fail(err, NPL_ENOMEM, "out of memory for the times of %lld instructions",
			      (long long)program->count);
	if (!rc)
		rc = executor->run(context, observed ? &observer : NULL, execution, err);
	if (rc == NPL_EINPUT)
		npl_prefix(err, "%s", source);
	if (!rc)
		rc = tell_events(&r, err);
	if (!rc && timed)
		rc = executor->times->finish(r.times, execution->cycles, err);
	executor->times->close(r.times);
	free(r.event);
	return rc;
}

int sim_keep_range(const uint8_t *memory, uint64_t first, uint64_t end, size_t *address, size_t *n, uint8_t **copy,
		   struct npl_err *err)
{
	*address = (size_t)first;
	*n = (size_t)(end - first);
	if (!memory || !*n)
		return 0;
	if (npl_budget_check(*n, "a copy of the bytes that the program has written", err))
		return err->code;
	*copy = malloc(*n);
	if (!*copy)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes of output", *n);
	memcpy(*copy, memory + first, *n);
	return 0;
}
