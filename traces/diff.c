/* SPDX-License-Identifier: MIT
 *
 * Compares two traces: what differs, where first, and by how much in each layer, unit and class of cycles. */
#include "diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "core/base/message.h"
#include "core/base/refuse.h"
#include "findings.h"
#include "header.h"
#include "heads.h"

const char *npl_trace_moved_text(unsigned moved, char *buf, size_t n)
{
	static const char *const names[] = {"the program", "times", "values", "energy", "counts", "signals"};
	enum { NAMES = sizeof names / sizeof *names };
	_Static_assert(1 << (NAMES - 1) == NPL_TRACE_MOVED_END - 1, "each flag has a name");
	int left = __builtin_popcount(moved);
	const int all = left;
	*buf = '\0';
	for (int i = 0; i < NAMES; i++)
		if (moved >> i & 1)
			npl_append(buf, n, left == 1 && all > 1 ? " and " : ", ", "%s", names[i]), left--;
	return buf;
}

struct comparison {
	struct npl_trace_diff *diff;
	struct trace_findings findings;
	struct trace_sides sides;
	struct npl_trace_wanted wanted;
	const char *path[2];
	int layer[2];       /* of either trace: the layer whose instructions come; -1: none */
	uint64_t only_line; /* of the last event that the first trace alone has */
	/* The first block whose instructions have other fields, such as an address. It is shown where nothing else
	 * differs. */
	struct npl_trace_difference first_block;
	char *before[3]; /* the last lines of the first trace, the oldest first */
	struct npl_err *err;
};

/* Returns the line of an event, with the checksum of an instruction behind it: in the file its block has that. */
static char *line_of(const struct trace_event *event)
{
	const size_t bytes = event->bytes + sizeof event->sum + 1;
	char *line = malloc(bytes);
	if (line)
		snprintf(line, bytes, event->has_sum ? "%s=%s" : "%s%s", event->line, event->has_sum ? event->sum : "");
	return line;
}

/* Puts the trace's name before a failure of findings.c. */
static int fail_finding(const struct comparison *c, int side)
{
	return c->err->code == NPL_EINPUT ? npl_prefix(c->err, "%s", c->path[side]) : c->err->code;
}

/* Adds the cycles of an instruction to those that its unit has in one of the traces. */
static int add_cycles(struct comparison *c, int side)
{
	const struct trace_words *words = &c->sides.words[side];
	for (int i = TRACE_FIRST_KEY; i < words->end_of_classes; i++) {
		const int64_t cycles = strtoll(words->value[i], NULL, 10);
		if (trace_add_cause(&c->findings, words->word[TRACE_UNIT], words->word[i], side ? cycles : -cycles))
			return fail_finding(c, side);
	}
	return 0;
}

/* Returns the layer that an event belongs to; NULL: to none. */
static const char *layer_name(const struct comparison *c, int side, const struct trace_event *event)
{
	const struct trace_words *words = &c->sides.words[side];
	if (event->kind == TRACE_LAYER || event->kind == TRACE_TASK)
		return words->word[event->kind == TRACE_LAYER ? 1 : 3];
	return c->sides.layer[side];
}

static int keep_event(struct comparison *c, struct npl_trace_difference *kept, const struct trace_event *a,
		      const struct trace_event *b, const char *what)
{
	struct npl_arena *arena = &c->diff->arena;
	const char *layer = layer_name(c, a ? 0 : 1, a ? a : b);
	*kept = (struct npl_trace_difference){.is_known = true,
					      .line = {a ? a->number : 0, b ? b->number : 0},
					      .layer = layer ? npl_arena_strdup(arena, layer) : NULL,
					      .what = npl_arena_strdup(arena, what)};
	for (int i = 0; i < 2; i++) {
		char *line = (i ? b : a) ? line_of(i ? b : a) : NULL;
		kept->text[i] = line ? npl_arena_strdup(arena, line) : NULL;
		free(line);
	}
	for (int i = 0; i < 3; i++)
		kept->before[i] = c->before[i] ? npl_arena_strdup(arena, c->before[i]) : NULL;
	return kept->what && !kept->text[0] == !a && !kept->text[1] == !b ? 0 : npl_no_memory(c->err);
}

static bool wants_more(const struct comparison *c)
{
	return c->diff->n_events < c->wanted.events;
}

static bool is_of_wanted_layer(const struct comparison *c, int side, const struct trace_event *event)
{
	const char *layer = layer_name(c, side, event);
	return !c->wanted.layer || (layer && strstr(layer, c->wanted.layer));
}

/* Keeps an event that differs, where so many are wanted, and the layer. */
static int note_event(struct comparison *c, const struct trace_event *a, const struct trace_event *b, const char *what)
{
	struct npl_trace_diff *d = c->diff;
	if (!wants_more(c) || !is_of_wanted_layer(c, a ? 0 : 1, a ? a : b))
		return 0;
	struct npl_trace_difference *event = trace_grown(&d->arena, d->event, d->n_events, &d->event_capacity,
							 sizeof *event);
	if (!event)
		return npl_no_memory(c->err);
	d->event = event;
	return keep_event(c, &event[d->n_events++], a, b, what);
}

/* Keeps the first event that the tolerance does not cover. */
static int note_beyond(struct comparison *c, int side, const struct trace_event *event, const char *what)
{
	struct npl_trace_diff *d = c->diff;
	const bool first = !d->is_beyond;
	const char *layer = event->kind == TRACE_LAYER || event->kind == TRACE_TASK ? NULL : layer_name(c, side, event);
	d->is_beyond = true;
	if (!first || !trace_is_given(&c->sides.judge))
		return 0;
	d->beyond = npl_arena_printf(&d->arena, "line %" PRIu64 ", %.*s%s%s: %s", event->number,
				     event->renamed ? (int)strcspn(event->line, " ") : (int)event->identifying,
				     event->line, layer ? " of " : "", layer ? layer : "", what);
	return d->beyond ? 0 : npl_no_memory(c->err);
}

/* Finds the layer that the event which was read last names. */
static int find_layer(struct comparison *c, int side, int *index)
{
	return trace_find_layer(&c->findings, c->sides.words[side].word[1], index) ? fail_finding(c, side) : 0;
}

/* Adds what a row of a layer or of a batch says of one trace. */
static int add_figures(struct comparison *c, int side, const struct trace_event *event)
{
	const struct trace_words *words = &c->sides.words[side];
	int index;
	if ((event->kind == TRACE_BATCH || event->kind == TRACE_EXECUTION) &&
	    trace_add_total(&c->findings, side, words))
		return c->err->code;
	if (event->kind != TRACE_LAYER)
		return 0;
	if (find_layer(c, side, &index) || trace_add_row(&c->findings, side, index, words->word[3], words))
		return c->err->code;
	if (trace_value(words, "sum"))
		c->sides.sqnr_db = c->diff->layer[index].sqnr_db;
	return 0;
}

static bool has_figures(const struct trace_event *event)
{
	return event->kind == TRACE_LAYER || event->kind == TRACE_BATCH || event->kind == TRACE_EXECUTION;
}

/* Cuts an event of one trace into words. */
static int cut(struct comparison *c, int side, const struct trace_event *event)
{
	const char *problem = trace_event_cut(event, &c->sides.words[side]);
	return problem ? npl_fail(c->err, NPL_EINPUT, "%s:%" PRIu64 ": %s", c->path[side], event->number, problem) : 0;
}

/* Notes the layer that instructions belong to from here on. */
static int note_place(struct comparison *c, int side, const struct trace_event *event)
{
	if (event->kind == TRACE_PROGRAM)
		c->sides.cycle[side] = 0;
	if (event->kind == TRACE_CYCLE)
		c->sides.cycle[side] += strtoull(event->line + strlen("c +"), NULL, 10);
	if (event->kind == TRACE_PROGRAM || event->kind == TRACE_END) {
		c->layer[side] = -1;
		c->sides.layer[side] = NULL;
	}
	if (event->kind != TRACE_OF)
		return 0;
	if (cut(c, side, event))
		return c->err->code;
	if (find_layer(c, side, &c->layer[side]))
		return c->err->code;
	c->sides.layer[side] = c->diff->layer[c->layer[side]].name;
	return 0;
}

/* Marks the layer that an event belongs to. Of a task the layer's row says what moved. */
static int mark_layer(struct comparison *c, int side, const struct trace_event *event, unsigned moved)
{
	int index = event->kind == TRACE_TASK || event->kind == TRACE_BLOCK ? -1 : c->layer[side];
	if (event->kind == TRACE_LAYER && find_layer(c, side, &index))
		return c->err->code;
	trace_mark(&c->findings, index, moved);
	return 0;
}

static int keep_before(struct comparison *c, const struct trace_event *a)
{
	if (!wants_more(c) || a->kind == TRACE_BLOCK)
		return 0;
	char *line = line_of(a);
	if (!line)
		return npl_no_memory(c->err);
	free(c->before[0]);
	memmove(c->before, c->before + 1, 2 * sizeof *c->before);
	c->before[2] = line;
	return 0;
}

/* Notes what is found in a pair of events. */
static int note_change(struct comparison *c, const struct trace_event *a, const struct trace_event *b,
		       const struct trace_change *change)
{
	struct npl_trace_diff *d = c->diff;
	d->differing++;
	if (mark_layer(c, 0, a, change->moved) || (change->is_beyond && note_beyond(c, 0, a, change->beyond)))
		return c->err->code;
	if (change->waits && !d->first_wait.is_known && is_of_wanted_layer(c, 0, a) &&
	    keep_event(c, &d->first_wait, a, b, change->what))
		return c->err->code;
	if (a->kind != TRACE_BLOCK)
		return note_event(c, a, b, change->what);
	return c->first_block.is_known ? 0 : keep_event(c, &c->first_block, a, b, change->what);
}

/* Says whether the difference of a pair may be kept, as one of those that are shown. */
static bool wants_words(const struct comparison *c, const struct trace_event *a)
{
	return wants_more(c) || !c->diff->is_beyond || !c->diff->first_wait.is_known || a->kind == TRACE_BLOCK;
}

static int on_both(struct comparison *c, const struct trace_event *a, const struct trace_event *b)
{
	const bool is_instruction = a->kind == TRACE_INSTRUCTION,
		   same = a->bytes == b->bytes && !memcmp(a->line, b->line, a->bytes) &&
			  (!a->has_sum || !strcmp(a->sum, b->sum)) && (!is_instruction || trace_same_layer(&c->sides));
	struct trace_change change = {0};
	c->diff->events += !trace_is_between(a);
	c->sides.sqnr_db = NULL;
	if (a->kind == TRACE_BLOCK && same)
		trace_begin_block(&c->findings, TRACE_FIELDS_SAME);
	if (is_instruction && same)
		trace_note_instruction(&c->findings, c->layer[0], false);
	if (same && !has_figures(a))
		return 0;
	if (cut(c, 0, a) || cut(c, 1, b))
		return c->err->code;
	if (has_figures(a) && (add_figures(c, 0, a) || add_figures(c, 1, b)))
		return c->err->code;
	if (same)
		return 0;
	if (is_instruction && (add_cycles(c, 0) || add_cycles(c, 1)))
		return c->err->code;
	c->sides.wants_words = wants_words(c, a);
	trace_compare_pair(&c->sides, a, b, &change);
	if (a->kind == TRACE_BLOCK)
		trace_begin_block(&c->findings, strcmp(c->sides.words[0].word[1], c->sides.words[1].word[1]) != 0
							? TRACE_FIELDS_UNKNOWN
						: change.moved ? TRACE_FIELDS_DIFFER
							       : TRACE_FIELDS_SAME);
	if (is_instruction)
		trace_note_instruction(&c->findings, c->layer[0], change.other_sum);
	return change.moved || change.other_sum ? note_change(c, a, b, &change) : 0;
}

/* The event that was kept last may be a cycle in which other signals change: then each trace has a line of its own for
 * it. Says which signals these are. */
static int join_last(struct comparison *c, const struct trace_event *b)
{
	struct npl_trace_difference *first = c->diff->n_events ? &c->diff->event[c->diff->n_events - 1] : NULL;
	struct trace_change change = {0};
	if (!first || first->text[1] || first->line[0] != c->only_line || c->sides.cycle[0] != c->sides.cycle[1] ||
	    strcmp(c->sides.words[0].word[0], "c") != 0)
		return 0;
	c->sides.wants_words = true;
	trace_compare_signals(&c->sides, &change);
	first->line[1] = b->number;
	first->text[1] = npl_arena_strdup(&c->diff->arena, b->line);
	first->what = npl_arena_strdup(&c->diff->arena, change.what);
	return first->text[1] && first->what ? 0 : npl_no_memory(c->err);
}

static int on_one(struct comparison *c, int side, const struct trace_event *event)
{
	struct npl_trace_diff *d = c->diff;
	if (cut(c, side, event) || add_figures(c, side, event) ||
	    (event->kind == TRACE_INSTRUCTION && add_cycles(c, side)))
		return c->err->code;
	if (event->kind == TRACE_BLOCK)
		trace_begin_block(&c->findings, TRACE_FIELDS_UNKNOWN);
	if (trace_is_between(event))
		return 0;
	const bool is_cycle = event->kind == TRACE_CYCLE;
	const unsigned moved = is_cycle ? NPL_TRACE_MOVED_SIGNALS : NPL_TRACE_MOVED_PROGRAM;
	char what[200];
	const char *which = side ? "second" : "first";
	d->only[side]++;
	if (is_cycle)
		snprintf(what, sizeof what, "cycle %llu: only in the %s trace %s changes",
			 (unsigned long long)c->sides.cycle[side], which,
			 c->sides.words[side].n > 2 ? c->sides.words[side].word[2] : "nothing");
	else
		snprintf(what, sizeof what, "only the %s trace has it", which);
	if (mark_layer(c, side, event, moved) || (is_cycle && side && join_last(c, event)) ||
	    (!trace_is_tolerated(&c->sides.judge, event->kind, moved, "", NULL, NULL, NULL) &&
	     note_beyond(c, side, event, what)))
		return c->err->code;
	if (!side)
		c->only_line = event->number;
	return note_event(c, side ? NULL : event, side ? event : NULL, what);
}

static int on_pair(void *context, const struct trace_event *a, const struct trace_event *b, struct npl_err *err)
{
	struct comparison *c = context;
	(void)err;
	if ((a && note_place(c, 0, a)) || (b && note_place(c, 1, b)))
		return c->err->code;
	if (a && b ? on_both(c, a, b) : a ? on_one(c, 0, a) : b ? on_one(c, 1, b) : 0)
		return c->err->code;
	return a ? keep_before(c, a) : 0;
}

/* Compares the events of two traces whose heads have been read. */
static int compare_events(struct comparison *c, struct trace_events *const events[2],
			  const struct npl_trace_header header[2])
{
	struct npl_trace_diff *d = c->diff;
	const enum npl_trace_detail detail = header[0].has_times != header[1].has_times
						     ? NPL_TRACE_LAYERS
						     : header[header[1].detail < header[0].detail].detail;
	for (int i = 0; i < 2; i++)
		trace_events_limit(events[i], detail);
	trace_events_rename(events[1], &c->sides.names);
	if (trace_align(events[0], events[1], &(struct trace_pair_sink){on_pair, c}, c->err))
		return c->err->code;
	trace_conclude(&c->findings);
	if (d->n_events)
		d->first = d->event[0];
	else if (!c->wanted.layer)
		d->first = c->first_block;
	return 0;
}

static int compare(struct comparison *c, struct trace_events *const events[2], const struct npl_trace_header header[2])
{
	struct npl_arena *arena = &c->diff->arena;
	if (trace_pair_machines(&header[0], &header[1], arena, &c->sides.names, c->err) ||
	    trace_compare_heads(&header[0], &header[1], &c->sides.names, c->diff, c->err))
		return c->err->code;
	return compare_events(c, events, header);
}

int trace_compare(struct trace_in *const in[2], const struct npl_trace_tolerance *tolerance,
		  const struct npl_trace_wanted *wanted, struct npl_trace_diff *diff, struct npl_err *err)
{
	struct npl_trace_header header[2] = {{.version = NULL}};
	struct trace_events *events[2] = {NULL};
	struct comparison *c = calloc(1, sizeof *c);
	*diff = (struct npl_trace_diff){0};
	int rc = c ? 0 : npl_no_memory(err);
	for (int i = 0; i < 2 && !rc; i++)
		if (!(rc = trace_header_read(in[i], &header[i], err)))
			rc = trace_events_open(in[i], &events[i], err);
	if (!rc) {
		c->diff = diff;
		c->findings = (struct trace_findings){.diff = diff, .err = err};
		c->sides.judge = trace_judge_of(tolerance, &header[0], &header[1]);
		c->sides.comparable = NPL_TRACE_MOVED_ALL;
		if (header[0].has_values != header[1].has_values)
			c->sides.comparable &= ~(unsigned)NPL_TRACE_MOVED_VALUES;
		if (header[0].has_times != header[1].has_times)
			c->sides.comparable &= ~(unsigned)(NPL_TRACE_MOVED_TIMES | NPL_TRACE_MOVED_ENERGY |
							   NPL_TRACE_MOVED_COUNTS);
		diff->has_times = header[0].has_times && header[1].has_times;
		diff->values_db = c->sides.judge.have_ratios ? c->sides.judge.tolerance.values_db : 0;
		c->wanted = wanted ? *wanted : (struct npl_trace_wanted){0};
		c->wanted.events = c->wanted.events > 0 ? c->wanted.events : 1;
		c->err = err;
		for (int i = 0; i < 2; i++) {
			c->path[i] = trace_in_path(in[i]);
			c->layer[i] = -1;
		}
		rc = compare(c, events, header);
	}
	for (int i = 0; i < 2; i++) {
		trace_events_close(events[i]);
		npl_trace_header_free(&header[i]);
	}
	for (int i = 0; c && i < 3; i++)
		free(c->before[i]);
	free(c);
	if (rc)
		npl_trace_diff_free(diff);
	return rc;
}

int npl_trace_diff_events(const char *a, const char *b, const struct npl_trace_tolerance *tolerance,
			  const struct npl_trace_wanted *wanted, struct npl_trace_diff *diff, struct npl_err *err)
{
	struct trace_in *in[2] = {NULL};
	*diff = (struct npl_trace_diff){0};
	if (!strcmp(a, "-") && !strcmp(b, "-"))
		return npl_fail(err, NPL_EUSAGE, "only one of two traces can be standard input");
	int rc = trace_in_open_once(a, &in[0], err);
	if (!rc)
		rc = trace_in_open_once(b, &in[1], err);
	if (!rc)
		rc = trace_compare(in, tolerance, wanted, diff, err);
	trace_in_close(in[0]);
	trace_in_close(in[1]);
	return rc;
}

int npl_trace_diff(const char *a, const char *b, const struct npl_trace_tolerance *tolerance,
		   struct npl_trace_diff *diff, struct npl_err *err)
{
	return npl_trace_diff_events(a, b, tolerance, NULL, diff, err);
}

void npl_trace_diff_free(struct npl_trace_diff *diff)
{
	npl_arena_free(&diff->arena);
	*diff = (struct npl_trace_diff){0};
}
