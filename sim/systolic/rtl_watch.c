/* SPDX-License-Identifier: MIT
 *
 * Tells who watches what happens, what cycles are spent on, and which instruction's values go wrong. Events of one kind
 * have to come in the order of their index. That is how they happen, but for those of the host link, whose two directions
 * overtake each other: each of those is held back until all that come before it in the program are known. */
#include "rtl.h"

#include <stdlib.h>

/* An instruction of the host link; [0] its start, [1] its end. */
struct host_event {
	int64_t index;
	uint64_t cycle[2];
	bool known[2];
};
struct tpu_rtl_host_events {
	struct host_event *event; /* (count) in the order of the program */
	int64_t count, told[2];
};

static bool of_link(const struct tpu_instruction *at)
{
	return at->opcode == TPU_READ_HOST_MEMORY || at->opcode == TPU_WRITE_HOST_MEMORY;
}

bool tpu_rtl_watch_open(struct tpu_rtl_world *world)
{
	const struct tpu_program *program = world->program;
	struct tpu_rtl_host_events *host = calloc(1, sizeof *host);
	world->host_events = host;
	if (!host)
		return false;
	for (int64_t i = 0; i < program->count; i++)
		host->count += of_link(&program->instruction[i]);
	host->event = calloc((size_t)host->count + 1, sizeof *host->event);
	if (!host->event)
		return false;
	for (int64_t i = 0, n = 0; i < program->count; i++)
		if (of_link(&program->instruction[i]))
			host->event[n++].index = i;
	return true;
}

void tpu_rtl_watch_close(struct tpu_rtl_world *world)
{
	if (world->host_events)
		free(world->host_events->event);
	free(world->host_events);
}

static void tell(struct tpu_rtl_world *world, enum tpu_happening what, uint64_t cycle, int64_t index)
{
	const struct tpu_watcher *watcher = world->watcher;
	if (watcher && watcher->happened)
		watcher->happened(watcher->context, &(struct tpu_happened){what, cycle, index});
}

static int compare_index(const void *a, const void *b)
{
	const struct host_event *left = a, *right = b;
	return (left->index > right->index) - (left->index < right->index);
}

static void tell_host(struct tpu_rtl_world *world, enum tpu_happening what, uint64_t cycle, int64_t index)
{
	struct tpu_rtl_host_events *host = world->host_events;
	struct host_event key = {.index = index};
	struct host_event *at = bsearch(&key, host->event, (size_t)host->count, sizeof *host->event, compare_index);
	int kind = what == TPU_HOST_ENDED;
	at->cycle[kind] = cycle;
	at->known[kind] = true;
	for (; host->told[kind] < host->count && host->event[host->told[kind]].known[kind]; host->told[kind]++) {
		const struct host_event *next = &host->event[host->told[kind]];
		tell(world, what, next->cycle[kind], next->index);
	}
}

static void happens(struct tpu_rtl_world *world, enum tpu_happening what, uint64_t cycle, int64_t index)
{
	if (what == TPU_HOST_STARTED || what == TPU_HOST_ENDED)
		tell_host(world, what, cycle, index);
	else
		tell(world, what, cycle, index);
}

void tpu_rtl_begins(struct tpu_rtl_world *world, enum tpu_happening what, int64_t index)
{
	happens(world, what, world->cycle, index);
}

void tpu_rtl_ends(struct tpu_rtl_world *world, enum tpu_happening what, int64_t index)
{
	happens(world, what, world->cycle + 1, index);
}

void tpu_rtl_retired(struct tpu_rtl_world *world, int64_t instruction)
{
	const struct tpu_watcher *watcher = world->watcher;
	if (watcher && watcher->retired && !world->rc)
		world->rc = watcher->retired(watcher->context, instruction, world->err);
}

static void end_span(const struct tpu_rtl_world *world, const struct tpu_spent *span)
{
	if (span->from < span->to)
		world->watcher->spent(world->watcher->context, span);
}

void tpu_rtl_spend(struct tpu_rtl_world *world, enum tpu_spending what, int64_t instruction)
{
	if (!world->watcher || !world->watcher->spent)
		return;
	struct tpu_spent *span = &world->span[what == TPU_SPENT_RAW_STALL     ? TPU_RTL_RAW_STALLS
					      : what == TPU_SPENT_INPUT_STALL ? TPU_RTL_INPUT_STALLS
									      : TPU_RTL_ALL_CYCLES];
	if (span->to == world->cycle && span->what == what && span->instruction == instruction) {
		span->to++;
		return;
	}
	end_span(world, span);
	*span = (struct tpu_spent){what, world->cycle, world->cycle + 1, instruction};
}

void tpu_rtl_end_spans(struct tpu_rtl_world *world)
{
	if (world->watcher && world->watcher->spent)
		for (int i = 0; i < TPU_RTL_SPANS; i++)
			end_span(world, &world->span[i]);
}

void tpu_rtl_fault(struct tpu_rtl_world *world, int64_t instruction, struct tpu_faults faults)
{
	if (!world->watcher || !world->watcher->faults)
		return;
	struct tpu_faults *sum = &world->watcher->faults[instruction];
	sum->overflows += faults.overflows;
	sum->saturations += faults.saturations;
}
