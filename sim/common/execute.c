/* SPDX-License-Identifier: MIT
 *
 * The part of exec that does not depend on the machine (execute.h). */
#include "execute.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"

const char *const sim_engines[] = {"fast", "rtl", NULL};

static void keep_event(void *context, const struct sim_event *event)
{
	struct sim_listener *l = context;
	if (l->execution->timed)
		l->time_event(l->times, event);
	if (!l->execution->on_event)
		return;
	struct npl_program_event *more = npl_grow(l->event, l->count, &l->room, sizeof *more);
	l->lost = l->lost || !more;
	if (!more)
		return;
	l->event = more;
	more[l->count++] = (struct npl_program_event){
		.cycle = event->cycle,
		.name = l->event_name[event->kind],
		.index = event->index,
		.instruction = l->instruction_of ? l->instruction_of(l->times, event) : event->index};
}

static void keep_span(void *context, const struct sim_span *span)
{
	const struct sim_listener *l = context;
	l->time_span(l->times, span);
}

const struct sim_observer *sim_listen(struct sim_listener *listener)
{
	listener->observer = (struct sim_observer){.context = listener, .on_event = keep_event};
	if (listener->execution->timed)
		listener->observer.on_span = keep_span;
	return listener->execution->on_event || listener->execution->timed ? &listener->observer : NULL;
}

static int compare(const void *a, const void *b)
{
	const struct npl_program_event *x = a, *y = b;
	if (x->cycle != y->cycle)
		return x->cycle < y->cycle ? -1 : 1;
	const int names = strcmp(x->name, y->name);
	return names ? names : (x->index > y->index) - (x->index < y->index);
}

int sim_tell(struct sim_listener *listener, struct npl_err *err)
{
	if (listener->lost)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld events", (long long)listener->count);
	if (listener->count)
		qsort(listener->event, (size_t)listener->count, sizeof *listener->event, compare);
	for (int64_t i = 0; i < listener->count; i++)
		listener->execution->on_event(listener->execution->context, &listener->event[i]);
	return 0;
}

void sim_listener_close(struct sim_listener *listener)
{
	free(listener->event);
	listener->event = NULL;
}

int sim_keep_bytes(const uint8_t *memory, size_t first, size_t end, uint8_t **copy, struct npl_err *err)
{
	if (!memory || first == end)
		return 0;
	*copy = malloc(end - first);
	if (!*copy)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes of output", end - first);
	memcpy(*copy, memory + first, end - first);
	return 0;
}
