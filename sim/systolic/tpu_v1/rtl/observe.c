/* SPDX-License-Identifier: MIT
 *
 * Tells the observer events, what cycles are spent on, and which instruction's values go wrong. Blocks have no
 * order within a cycle, but events have: they wait until all that can happen at their boundary is known. */
#include "rtl.h"

#include "core/base/grow.h"
#include <stdlib.h>
#include <string.h>

void tpu_rtl_observe_close(struct tpu_rtl_world *world)
{
	free(world->event);
}

static bool comes_before(const struct sim_event *a, const struct sim_event *b)
{
	if (a->cycle != b->cycle)
		return a->cycle < b->cycle;
	return a->kind != b->kind ? a->kind < b->kind : a->index < b->index;
}

/* Puts an event among those that wait, in their order. There are few: a boundary's, and those of the next. */
static void happens(struct tpu_rtl_world *world, enum tpu_event what, uint64_t cycle, int64_t index)
{
	const struct sim_event event = {what, cycle, index};
	int64_t at = world->events;
	if (!world->observer || !world->observer->on_event || world->rc)
		return;
	struct sim_event *more = npl_grow(world->event, world->events, &world->events_capacity, sizeof *more);
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
		world->observer->on_event(world->observer->context, &world->event[told++]);
	world->events -= told;
	if (told && world->events)
		memmove(world->event, world->event + told, (size_t)world->events * sizeof *world->event);
}

void tpu_rtl_begins(struct tpu_rtl_world *world, enum tpu_event what, int64_t index)
{
	happens(world, what, world->cycle, index);
}

void tpu_rtl_ends(struct tpu_rtl_world *world, enum tpu_event what, int64_t index)
{
	happens(world, what, world->cycle + 1, index);
}

void tpu_rtl_retired(struct tpu_rtl_world *world, int64_t instruction)
{
	const struct sim_observer *observer = world->observer;
	if (observer && observer->on_retired && !world->rc)
		world->rc = observer->on_retired(observer->context, instruction, world->err);
}

static void end_interval(const struct tpu_rtl_world *world, const struct sim_cycles *interval)
{
	if (interval->from < interval->to)
		world->observer->on_cycles(world->observer->context, interval);
}

void tpu_rtl_attribute(struct tpu_rtl_world *world, enum tpu_cycle_class what, int64_t instruction)
{
	if (!world->observer || !world->observer->on_cycles)
		return;
	struct sim_cycles *interval = &world->interval[what > TPU_CYCLES_NON_MATRIX ? what - TPU_CYCLES_NON_MATRIX : 0];
	if (interval->to == world->cycle && interval->cycle_class == what && interval->instruction == instruction) {
		interval->to++;
		return;
	}
	end_interval(world, interval);
	*interval = (struct sim_cycles){what, world->cycle, world->cycle + 1, instruction};
}

void tpu_rtl_end_intervals(struct tpu_rtl_world *world)
{
	if (world->observer && world->observer->on_cycles)
		for (int i = 0; i < TPU_RTL_INTERVALS; i++)
			end_interval(world, &world->interval[i]);
}

void tpu_rtl_fault(struct tpu_rtl_world *world, int64_t instruction, struct sim_faults faults)
{
	if (!world->observer || !world->observer->faults)
		return;
	struct sim_faults *sum = &world->observer->faults[instruction];
	sum->overflows += faults.overflows;
	sum->saturations += faults.saturations;
}
