/* SPDX-License-Identifier: MIT
 *
 * What of a trace fits a choice of events (chosen.h). */
#include "chosen.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "events.h"
#include "header.h"

/* A hostile trace may have any number of names, and each new one is compared with all others. */
enum { MOST_NAMES = 1000 };

bool trace_chosen_within_programs(const struct npl_trace_choice *choice)
{
	return choice->unit || choice->from || choice->until;
}

/* Keeps the first n bytes of a name that does not fit. */
static bool note(struct trace_chosen *chosen, struct trace_seen_names *names, const char *name, size_t n, bool fits)
{
	names->has_fitting |= fits;
	if (names->has_fitting || names->n == MOST_NAMES)
		return fits;
	for (int i = 0; i < names->n; i++)
		if (!strncmp(names->name[i], name, n) && !names->name[i][n])
			return fits;
	const char **grown = trace_grown(&chosen->arena, (void *)names->name, names->n, &names->capacity,
					 sizeof *grown);
	const char *copy = grown ? npl_arena_strndup(&chosen->arena, name, n) : NULL;
	names->name = grown ? grown : names->name;
	if (copy)
		names->name[names->n++] = copy;
	return fits;
}

bool trace_chosen_layer(struct trace_chosen *chosen, const char *name)
{
	const char *text = chosen->choice->layer;
	return !text || (name && note(chosen, &chosen->layer, name, strlen(name), strstr(name, text) != NULL));
}

bool trace_chosen_unit(struct trace_chosen *chosen, const char *name)
{
	const char *unit = chosen->choice->unit;
	chosen->has_instructions = true;
	return !unit || note(chosen, &chosen->unit, name, strlen(name), !strcmp(unit, name));
}

bool trace_chosen_signal(struct trace_chosen *chosen, const char *name)
{
	const char *unit = chosen->choice->unit;
	chosen->has_instructions = true;
	return !unit || note(chosen, &chosen->unit, name, strcspn(name, ".["), !strncmp(name, unit, strlen(unit)));
}

bool trace_chosen_cycles(const struct trace_chosen *chosen, uint64_t begin, uint64_t end)
{
	return end > chosen->choice->from && (!chosen->choice->until || begin < chosen->choice->until);
}

int trace_chosen_check(const struct trace_chosen *chosen, const char *path, struct npl_err *err)
{
	const struct npl_trace_choice *choice = chosen->choice;
	const struct trace_seen_names *layer = &chosen->layer, *unit = &chosen->unit;
	if (choice->layer && !layer->has_fitting)
		return npl_fail(err, NPL_EUSAGE, "%s: no layer has '%s' in its name%s", path, choice->layer,
				NPL_NEAREST(choice->layer, layer->name, layer->n));
	if (chosen->events || (!choice->layer && !trace_chosen_within_programs(choice)))
		return 0;
	if (!trace_chosen_within_programs(choice))
		return npl_fail(err, NPL_EUSAGE, "%s: the layers with '%s' in their names take no time of their own",
				path, choice->layer);
	if (!chosen->has_instructions)
		return npl_fail(
			err, NPL_EUSAGE,
			"%s: has no instructions to choose from: its detail is layers, or its devices have none", path);
	if (choice->unit && !unit->has_fitting)
		return npl_fail(err, NPL_EUSAGE, "%s: has no unit '%s'%s", path, choice->unit,
				NPL_NEAREST(choice->unit, unit->name, unit->n));
	if (choice->from >= chosen->longest)
		return npl_fail(err, NPL_EUSAGE,
				"%s: cycle %llu is beyond the end: its longest program has %llu cycles", path,
				(unsigned long long)choice->from, (unsigned long long)chosen->longest);
	return npl_fail(err, NPL_EUSAGE,
			"%s: no instruction and no signal fits the chosen layer, unit and cycles together", path);
}

/* Notes the names of layers until one fits. */
static int find(struct trace_in *in, struct trace_chosen *chosen, struct npl_err *err)
{
	struct trace_events *events;
	struct trace_event event = {0};
	struct trace_words *words = malloc(sizeof *words);
	bool more = true;
	int rc = words ? trace_events_open(in, &events, err) : npl_no_memory(err);
	if (rc)
		events = NULL;
	while (!rc && more && !chosen->layer.has_fitting) {
		rc = trace_events_next(events, &event, &more, err);
		if (rc || !more || (event.kind != TRACE_PROGRAM && event.kind != TRACE_LAYER))
			continue;
		trace_event_cut(&event, words);
		const int first = event.kind == TRACE_PROGRAM ? 2 : 1, end = event.kind == TRACE_PROGRAM ? words->n : 2;
		for (int i = first; i < end; i++)
			trace_chosen_layer(chosen, words->word[i]);
	}
	trace_event_free(&event);
	trace_events_close(events);
	free(words);
	return rc;
}

int npl_trace_find_layer(const char *path, const char *text, struct npl_err *err)
{
	const struct npl_trace_choice choice = {.layer = text};
	struct trace_chosen chosen = {.choice = &choice, .events = 1};
	struct npl_trace_header header;
	struct trace_in *in;
	if (trace_in_open(path, &in, err))
		return err->code;
	int rc = trace_header_read(in, &header, err);
	if (!rc) {
		npl_trace_header_free(&header);
		rc = find(in, &chosen, err);
	}
	if (!rc)
		rc = trace_chosen_check(&chosen, path, err);
	trace_in_close(in);
	trace_chosen_free(&chosen);
	return rc;
}

void trace_chosen_free(struct trace_chosen *chosen)
{
	npl_arena_free(&chosen->arena);
}
