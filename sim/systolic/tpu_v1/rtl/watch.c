/* SPDX-License-Identifier: MIT
 *
 * Tells who watches what happens, what cycles are spent on, and which instruction's values go wrong. Blocks have no
 * order within a cycle, but events have: they wait until all that can happen at their boundary is known. */
#include "rtl.h"

#include "core/base/grow.h"
#include <stdlib.h>
#include <string.h>

void tpu_rtl_watch_close(struct tpu_rtl_world *world)
{
	free(world->event);
}

static bool comes_before(const struct tpu_happened *a, const struct tpu_happened *b)
{
	if (a->cycle != b->cycle)
		return a->cycle < b->cycle;
	return a->what != b->what ? a->what < b->what : a->index < b->index;
}

/* Puts an event among those that wait, in their order. There are few: a boundary's, and those of the next. */
static void happens(struct tpu_rtl_world *world, enum tpu_happening what, uint64_t cycle, int64_t index)
{
	const struct tpu_happened event = {what, cycle, index};
	int64_t at = world->events;
	if (!world->watcher || !world->watcher->happened || world->rc)
		return;
	struct tpu_happened *more = npl_grow(world->event, world->events, &world->events_room, sizeof *more);
	if (!more) {
		world->rc = npl_fail(world->err, NPL_ENOMEM, "out of memory for the rtl engine");
		return;
	}
	world->event = more;
	for (; at > 0 && comes_before(&event, &world->event[at - 1]); at--)
		world->event[at] = world->event[at - 1];
	world->event[at] = event;
	world->events++;
}

void tpu_rtl_tell(struct tpu_rtl_world *world, uint64_t until)
{
	int64_t told = 0;
	while (told < world->events && world->event[told].cycle < until)
		world->watcher->happened(world->watcher->context, &world->event[told++]);
	world->events -= told;
	if (told && world->events)
		memmove(world->event, world->event + told, (size_t)world->events * sizeof *world->event);
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
	struct tpu_spent *span = &world->span[what > TPU_SPENT_NON_MATRIX ? what - TPU_SPENT_NON_MATRIX : 0];
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
