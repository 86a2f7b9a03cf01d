/* SPDX-License-Identifier: MIT
 *
 * Verdicts on their way between two processes (trace_wire.h). One function for each struct passes its members, in both
 * directions, so that the two agree. */
#include "trace_wire.h"

#include <string.h>

#include "core/base/refuse.h"

struct wire {
	FILE *to;         /* NULL: the struct is filled */
	const char *from; /* the bytes that are left */
	size_t bytes;
	struct npl_arena *arena; /* of what is read */
	bool is_short, no_memory;
};

static void pass_bytes(struct wire *w, void *data, size_t bytes)
{
	if (w->to) {
		fwrite(data, 1, bytes, w->to);
		return;
	}
	w->is_short = w->is_short || w->bytes < bytes;
	if (w->is_short) {
		memset(data, 0, bytes);
		return;
	}
	memcpy(data, w->from, bytes);
	w->from += bytes;
	w->bytes -= bytes;
}
#define PASS(w, member) pass_bytes((w), &(member), sizeof(member))

static void pass_text(struct wire *w, const char **text)
{
	uint64_t bytes = *text && w->to ? strlen(*text) + 1 : 0; /* 0: NULL */
	PASS(w, bytes);
	if (w->to) {
		if (bytes)
			fwrite(*text, 1, bytes, w->to);
		return;
	}
	*text = NULL;
	if (!bytes || bytes > w->bytes) {
		w->is_short = w->is_short || bytes > w->bytes;
		return;
	}
	*text = npl_arena_strndup(w->arena, w->from, bytes - 1);
	w->no_memory = w->no_memory || !*text;
	w->from += bytes;
	w->bytes -= bytes;
}

/* Returns an array of n elements to pass: when reading, a new one; NULL and *n 0 where there is no room for it. */
static void *pass_array(struct wire *w, void *array, int *n, size_t size)
{
	PASS(w, *n);
	if (w->to)
		return array;
	/* Each element takes a byte at least, so that a count that is wrong asks for no more than that. */
	if (*n < 0 || (size_t)*n > w->bytes) {
		w->is_short = true;
		*n = 0;
	}
	void *made = npl_arena_array(w->arena, (size_t)*n + 1, size);
	if (!made) {
		w->no_memory = true;
		*n = 0;
	}
	return made;
}

static void pass_first(struct wire *w, struct npl_trace_difference *first)
{
	PASS(w, first->is_known);
	PASS(w, first->line);
	pass_text(w, &first->layer);
	pass_text(w, &first->text[0]);
	pass_text(w, &first->text[1]);
	pass_text(w, &first->what);
	for (int i = 0; i < 3; i++)
		pass_text(w, &first->before[i]);
}

static void pass_class(struct wire *w, struct npl_trace_class *cycle_class)
{
	pass_text(w, &cycle_class->name);
	PASS(w, cycle_class->cycles);
}

static void pass_layer(struct wire *w, struct npl_trace_layer *layer)
{
	pass_text(w, &layer->name);
	pass_text(w, &layer->ran_on);
	pass_text(w, &layer->other_ran_on);
	PASS(w, layer->order);
	PASS(w, layer->in);
	PASS(w, layer->moved);
	PASS(w, layer->cycles);
	PASS(w, layer->seconds);
	PASS(w, layer->joules);
	PASS(w, layer->sqnr_db);
	layer->cycle_class = pass_array(w, layer->cycle_class, &layer->n_classes, sizeof *layer->cycle_class);
	for (int i = 0; i < layer->n_classes; i++)
		pass_class(w, &layer->cycle_class[i]);
}

static void pass_cause(struct wire *w, struct npl_trace_cause *cause)
{
	pass_text(w, &cause->unit);
	pass_text(w, &cause->cycle_class);
	PASS(w, cause->cycles);
}

static void pass_component(struct wire *w, struct npl_trace_component *component)
{
	pass_text(w, &component->name);
	PASS(w, component->joules);
}

static void pass_diff(struct wire *w, struct npl_trace_diff *diff)
{
	PASS(w, diff->moved);
	PASS(w, diff->is_beyond);
	PASS(w, diff->values_db);
	pass_text(w, &diff->beyond);
	PASS(w, diff->events);
	PASS(w, diff->differing);
	PASS(w, diff->only);
	PASS(w, diff->cycles);
	PASS(w, diff->seconds);
	PASS(w, diff->joules);
	PASS(w, diff->has_times);
	pass_first(w, &diff->first);
	pass_first(w, &diff->first_wait);
	diff->event = pass_array(w, diff->event, &diff->n_events, sizeof *diff->event);
	for (int i = 0; i < diff->n_events; i++)
		pass_first(w, &diff->event[i]);
	diff->head = pass_array(w, diff->head, &diff->n_heads, sizeof *diff->head);
	for (int i = 0; i < diff->n_heads; i++)
		pass_text(w, &diff->head[i]);
	diff->layer = pass_array(w, diff->layer, &diff->n_layers, sizeof *diff->layer);
	for (int i = 0; i < diff->n_layers; i++)
		pass_layer(w, &diff->layer[i]);
	diff->component = pass_array(w, diff->component, &diff->n_components, sizeof *diff->component);
	for (int i = 0; i < diff->n_components; i++)
		pass_component(w, &diff->component[i]);
	diff->cause = pass_array(w, diff->cause, &diff->n_causes, sizeof *diff->cause);
	for (int i = 0; i < diff->n_causes; i++)
		pass_cause(w, &diff->cause[i]);
}

static void pass_verdict(struct wire *w, struct npl_trace_verdict *verdict)
{
	PASS(w, verdict->code);
	pass_text(w, &verdict->message);
	pass_diff(w, &verdict->diff);
}

void cli_trace_verdict_send(FILE *to, const struct npl_trace_verdict *verdict)
{
	struct npl_trace_verdict sent = *verdict; /* is read alone */
	pass_verdict(&(struct wire){.to = to}, &sent);
}

int cli_trace_verdict_receive(const char *data, size_t bytes, struct npl_trace_verdict *verdict, struct npl_err *err)
{
	struct wire w = {.from = data, .bytes = bytes, .arena = &verdict->diff.arena};
	pass_verdict(&w, verdict);
	if (w.no_memory)
		return npl_no_memory(err);
	return w.is_short || w.bytes ? npl_fail(err, NPL_EINTERNAL, "the verdict of a trace is incomplete") : 0;
}
