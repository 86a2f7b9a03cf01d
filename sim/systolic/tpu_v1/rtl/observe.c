/* SPDX-License-Identifier: MIT
 *
 * Tells the observer events, the classes of cycles, and which instruction's values overflow or saturate. Blocks have no
 * order within a cycle, but events have: they wait until all that can happen at their boundary is known. */
#include "rtl.h"

#include "core/base/grow.h"
#include <stdlib.h>
#include <string.h>

void tpu_rtl_observe_close(struct tpu_rtl_context *context)
{
	free(context->event);
}

static bool precedes(const struct sim_event *a, const struct sim_event *b)
{
	if (a->cycle != b->cycle)
		return a->cycle < b->cycle;
	return a->kind != b->kind ? a->kind < b->kind : a->index < b->index;
}

/* Inserts an event among those that wait, in their order. These are few: those of one boundary and the next. */
static void insert_event(struct tpu_rtl_context *context, enum tpu_event kind, uint64_t cycle, int64_t index)
{
	const struct sim_event event = {kind, cycle, index};
	int64_t at = context->events;
	if (!context->observer || !context->observer->on_event || context->rc)
		return;
	struct sim_event *grown = npl_grow(context->event, context->events, &context->events_capacity, sizeof *grown);
	if (!grown) {
		context->rc = npl_fail(context->err, NPL_ENOMEM, "out of memory for the rtl engine");
		return;
	}
	context->event = grown;
	for (; at > 0 && precedes(&event, &context->event[at - 1]); at--)
		context->event[at] = context->event[at - 1];
	context->event[at] = event;
	context->events++;
}

void tpu_rtl_tell(struct tpu_rtl_context *context, uint64_t until)
{
	int64_t n_sent = 0;
	while (n_sent < context->events && context->event[n_sent].cycle < until)
		context->observer->on_event(context->observer->context, &context->event[n_sent++]);
	context->events -= n_sent;
	if (n_sent && context->events)
		memmove(context->event, context->event + n_sent, (size_t)context->events * sizeof *context->event);
}

void tpu_rtl_begins(struct tpu_rtl_context *context, enum tpu_event kind, int64_t index)
{
	insert_event(context, kind, context->cycle, index);
}

void tpu_rtl_ends(struct tpu_rtl_context *context, enum tpu_event kind, int64_t index)
{
	insert_event(context, kind, context->cycle + 1, index);
}

void tpu_rtl_retired(struct tpu_rtl_context *context, int64_t instruction)
{
	const struct sim_observer *observer = context->observer;
	if (observer && observer->on_retired && !context->rc)
		context->rc = observer->on_retired(observer->context, instruction, context->err);
}

static void end_interval(const struct tpu_rtl_context *context, const struct sim_cycles *interval)
{
	if (interval->begin < interval->end)
		context->observer->on_cycles(context->observer->context, interval);
}

void tpu_rtl_attribute(struct tpu_rtl_context *context, enum tpu_cycle_class cycle_class, int64_t instruction)
{
	*tpu_class_counter(&context->outcome->counters, cycle_class) += 1;
	if (!context->observer || !context->observer->on_cycles)
		return;
	struct sim_cycles *interval =
		&context->interval[cycle_class < TPU_WHOLE_CLASSES ? 0 : cycle_class - TPU_LAST_WHOLE_CLASS];
	if (interval->end == context->cycle && interval->cycle_class == cycle_class &&
	    interval->instruction == instruction) {
		interval->end++;
		return;
	}
	end_interval(context, interval);
	*interval = (struct sim_cycles){cycle_class, context->cycle, context->cycle + 1, instruction};
}

void tpu_rtl_end_intervals(struct tpu_rtl_context *context)
{
	if (context->observer && context->observer->on_cycles)
		for (int i = 0; i < TPU_RTL_INTERVALS; i++)
			end_interval(context, &context->interval[i]);
}

void tpu_rtl_count_values(struct tpu_rtl_context *context, int64_t instruction, struct sim_value_counts value_counts)
{
	if (!context->observer || !context->observer->value_counts)
		return;
	struct sim_value_counts *sum = &context->observer->value_counts[instruction];
	sum->overflows += value_counts.overflows;
	sum->saturations += value_counts.saturations;
}
