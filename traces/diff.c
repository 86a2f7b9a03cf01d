/* SPDX-License-Identifier: MIT
 *
 * Compares two traces: what differs, where first, and by how much in each layer, unit and class of cycles. */
#include "diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "findings.h"
#include "header.h"
#include "heads.h"
#include "judge.h"

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
	struct trace_judge judge;
	struct trace_names names; /* of the machines of the second trace */
	struct npl_trace_wanted wanted;
	const char *path[2];
	/* Of either trace: */
	int layer[2];       /* the layer whose instructions come; -1: none */
	uint64_t cycle[2];  /* of the signals that were read last, in their program */
	uint64_t only_line; /* of the last event that the first trace alone has */
	/* The first block whose instructions have other fields, such as an address. It is shown where nothing else
	 * differs. */
	struct npl_trace_first first_block;
	const double *sqnr_db; /* of the row that is compared; NULL: it is none of a layer, or has no result */
	char *before[3];       /* the last lines of the first trace, the oldest first */
	struct trace_words words[2];
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

/* ---- One pair of events. */

/* What differs in a pair. */
struct change {
	unsigned moved;
	bool other_sum; /* the result of an instruction differs */
	bool waits;     /* classes of cycles differ */
	bool is_beyond;
	char what[400];
	char beyond[200]; /* the first difference that the tolerance does not cover */
};

static void add_change(const struct comparison *c, enum trace_kind kind, struct change *change, unsigned moved,
		       const char *key, const char *a, const char *b)
{
	const bool is_sum = moved == NPL_TRACE_MOVED_VALUES && !strcmp(key, "sum"),
		   is_tolerated = trace_is_tolerated(&c->judge, kind, moved, key, a, b, c->sqnr_db);
	const char *none = kind == TRACE_CYCLE ? "as before" : is_sum ? "none" : "0";
	char text[200] = "";
	if (is_sum && c->sqnr_db && !isnan(c->sqnr_db[0] + c->sqnr_db[1]))
		npl_append(text, sizeof text, "", "other values, %.2f dB -> %.2f dB", c->sqnr_db[0], c->sqnr_db[1]);
	else if (is_sum && kind != TRACE_INSTRUCTION)
		npl_append(text, sizeof text, "", "other values");
	else
		npl_append(text, sizeof text, "", "%s %s -> %s", key, a ? a : none, b ? b : none);
	npl_append(change->what, sizeof change->what, ", ", "%s", text);
	if (!is_tolerated && !change->is_beyond)
		npl_append(change->beyond, sizeof change->beyond, "", "%s", text);
	change->is_beyond = change->is_beyond || !is_tolerated;
	change->other_sum = change->other_sum || (is_sum && kind == TRACE_INSTRUCTION);
	change->moved |= is_sum && kind == TRACE_INSTRUCTION ? 0 : moved;
}

/* Returns the index after the classes of cycles of an instruction: they come first, and sum to its length. */
static int end_of_classes(const struct trace_words *words)
{
	const uint64_t length = strtoull(words->word[4], NULL, 10);
	uint64_t sum = 0;
	int i = 5;
	while (i < words->n && words->value[i] && sum < length)
		sum += strtoull(words->value[i++], NULL, 10);
	return i;
}

static uint64_t count_at(const struct trace_words *words, int i)
{
	return strtoull(words->value[i], NULL, 10);
}

static bool has_key_before(const struct trace_words *words, int end, const char *key)
{
	for (int i = 5; i < end; i++)
		if (!strcmp(words->word[i], key))
			return true;
	return false;
}

/* Compares the classes of cycles of two instructions, and adds their differences to the causes. */
static int compare_classes(struct comparison *c, int end_a, int end_b, struct change *change)
{
	const struct trace_words *a = &c->words[0], *b = &c->words[1];
	for (int i = 5; i < end_a; i++) {
		const char *now = trace_value(b, a->word[i]);
		const int64_t less = (int64_t)((now ? strtoull(now, NULL, 10) : 0) - count_at(a, i));
		if (!less)
			continue;
		change->waits = true;
		add_change(c, TRACE_INSTRUCTION, change, NPL_TRACE_MOVED_TIMES, a->word[i], a->value[i], now);
		if (trace_add_cause(&c->findings, a->word[2], a->word[i], less))
			return c->err->code;
	}
	for (int i = 5; i < end_b; i++) {
		if (has_key_before(a, end_a, b->word[i]))
			continue;
		change->waits = true;
		add_change(c, TRACE_INSTRUCTION, change, NPL_TRACE_MOVED_TIMES, b->word[i], NULL, b->value[i]);
		if (trace_add_cause(&c->findings, b->word[2], b->word[i], (int64_t)count_at(b, i)))
			return c->err->code;
	}
	return 0;
}

/* Says whether a key is compared by itself. Checksums of instructions are, with their instructions; ratios are looked
 * at where checksums differ. */
static bool is_compared(const char *key)
{
	return strcmp(key, "sums") != 0 && strcmp(key, "sqnr_db") != 0;
}

static unsigned moved_in(enum trace_kind kind, const char *key)
{
	return kind == TRACE_CYCLE ? NPL_TRACE_MOVED_SIGNALS : trace_moved_by(key);
}

/* Begins what is said of a difference in signals with where it is. */
static void say_cycles(const struct comparison *c, struct change *change)
{
	const unsigned long long a = c->cycle[0], b = c->cycle[1];
	snprintf(change->what, sizeof change->what, a == b ? "cycle %llu" : "cycles %llu and %llu", a, b);
}

/* Says whether a word stands among the key=value of an event and is none. That an instruction has a checksum is said by
 * such a word, and compared with it. */
static bool is_loose(enum trace_kind kind, const struct trace_words *words, int i)
{
	return trace_fixed_words(kind) >= 0 && !words->value[i] && strcmp(words->word[i], "sum") != 0;
}

/* Compares the key=value from words first_a and first_b on. A key may come several times, each time for itself. */
static void compare_keys(const struct comparison *c, enum trace_kind kind, int first_a, int first_b,
			 struct change *change)
{
	const struct trace_words *a = &c->words[0], *b = &c->words[1];
	bool used[TRACE_WORDS] = {false};
	for (int i = first_a; i < a->n; i++) {
		int j = first_b;
		while (j < b->n && (used[j] || !a->value[i] != !b->value[j] || strcmp(a->word[i], b->word[j]) != 0))
			j++;
		if (j < b->n)
			used[j] = true;
		if (is_loose(kind, a, i) && j == b->n)
			add_change(c, kind, change, NPL_TRACE_MOVED_PROGRAM, "a word", a->word[i], "none");
		if (a->value[i] && (j == b->n || strcmp(a->value[i], b->value[j]) != 0) && is_compared(a->word[i]))
			add_change(c, kind, change, moved_in(kind, a->word[i]), a->word[i], a->value[i],
				   j < b->n ? b->value[j] : NULL);
	}
	for (int j = first_b; j < b->n; j++) {
		if (!used[j] && is_loose(kind, b, j))
			add_change(c, kind, change, NPL_TRACE_MOVED_PROGRAM, "a word", "none", b->word[j]);
		if (!used[j] && b->value[j] && is_compared(b->word[j]))
			add_change(c, kind, change, moved_in(kind, b->word[j]), b->word[j], NULL, b->value[j]);
	}
}

/* Compares where two rows of a layer ran, and how. */
static void compare_places(const struct comparison *c, struct change *change)
{
	const char *const *a = (const char *const *)c->words[0].word, *const *b = (const char *const *)c->words[1].word;
	const struct trace_name *name = trace_find_name(&c->names, b[3]);
	if (strcmp(a[3], name ? name->other : b[3]) != 0)
		add_change(c, TRACE_LAYER, change, NPL_TRACE_MOVED_PROGRAM, "ran on", a[3], b[3]);
	if (strcmp(a[4], b[4]) != 0)
		add_change(c, TRACE_LAYER, change, NPL_TRACE_MOVED_PROGRAM, "role", a[4], b[4]);
}

/* Returns the layer whose instructions come; NULL: none is known. */
static const char *layer_at(const struct comparison *c, int side)
{
	return c->layer[side] < 0 ? NULL : c->diff->layer[c->layer[side]].name;
}

/* Compares two events with the same identity, whose words are in c->words. */
static int compare_pair(struct comparison *c, const struct trace_event *a, const struct trace_event *b,
			struct change *change)
{
	const struct trace_words *wa = &c->words[0], *wb = &c->words[1];
	int first_a = trace_fixed_words(a->kind) + 1, first_b = first_a;
	if (a->kind == TRACE_INSTRUCTION) {
		if (c->layer[0] != c->layer[1])
			add_change(c, a->kind, change, NPL_TRACE_MOVED_PROGRAM, "layer", layer_at(c, 0),
				   layer_at(c, 1));
		if (strcmp(wa->word[3], wb->word[3]) != 0)
			add_change(c, a->kind, change, NPL_TRACE_MOVED_TIMES, "begins", wa->word[3], wb->word[3]);
		first_a = end_of_classes(wa);
		first_b = end_of_classes(wb);
		if (compare_classes(c, first_a, first_b, change))
			return c->err->code;
		if (!change->waits && strcmp(wa->word[4], wb->word[4]) != 0)
			add_change(c, a->kind, change, NPL_TRACE_MOVED_TIMES, "lasts", wa->word[4], wb->word[4]);
		if (a->has_sum != b->has_sum || (a->has_sum && strcmp(a->sum, b->sum) != 0))
			add_change(c, a->kind, change, NPL_TRACE_MOVED_VALUES, "sum", a->sum, b->sum);
	}
	if (a->kind == TRACE_CYCLE) {
		say_cycles(c, change);
		if (strcmp(wa->word[1], wb->word[1]) != 0)
			add_change(c, a->kind, change, NPL_TRACE_MOVED_TIMES, "after", wa->word[1], wb->word[1]);
	}
	if (a->kind == TRACE_LAYER)
		compare_places(c, change);
	if (a->kind == TRACE_END && strcmp(wa->word[1], wb->word[1]) != 0)
		add_change(c, a->kind, change, NPL_TRACE_MOVED_TIMES, "cycles", wa->word[1], wb->word[1]);
	if (a->kind == TRACE_BLOCK && strcmp(wa->word[1], wb->word[1]) != 0)
		return 0; /* blocks of other instructions: these are compared themselves */
	compare_keys(c, a->kind, first_a, first_b, change);
	return 0;
}

/* Returns the layer that an event belongs to; NULL: to none. */
static const char *layer_name(const struct comparison *c, int side, const struct trace_event *event)
{
	const struct trace_words *words = &c->words[side];
	if (event->kind == TRACE_LAYER || event->kind == TRACE_TASK)
		return words->word[event->kind == TRACE_LAYER ? 1 : 3];
	return layer_at(c, side);
}

static int keep_event(struct comparison *c, struct npl_trace_first *kept, const struct trace_event *a,
		      const struct trace_event *b, const char *what)
{
	struct npl_arena *arena = &c->diff->arena;
	const char *layer = layer_name(c, a ? 0 : 1, a ? a : b);
	*kept = (struct npl_trace_first){.is_known = true,
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
	struct npl_trace_first *event = trace_grown(&d->arena, d->event, d->n_events, &d->event_capacity,
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
	if (!first || !trace_is_given(&c->judge))
		return 0;
	d->beyond = npl_arena_printf(&d->arena, "line %" PRIu64 ", %.*s%s%s: %s", event->number,
				     event->renamed ? (int)strcspn(event->line, " ") : (int)event->identifying,
				     event->line, layer ? " of " : "", layer ? layer : "", what);
	return d->beyond ? 0 : npl_no_memory(c->err);
}

/* Finds the layer that the event which was read last names. */
static int find_layer(struct comparison *c, int side, int *index)
{
	if (trace_find_layer(&c->findings, c->words[side].word[1], index))
		return c->err->code == NPL_EINPUT ? npl_prefix(c->err, "%s", c->path[side]) : c->err->code;
	return 0;
}

/* Adds what a row of a layer or of a batch says of one trace. */
static int add_figures(struct comparison *c, int side, const struct trace_event *event)
{
	const struct trace_words *words = &c->words[side];
	int index;
	if (event->kind == TRACE_BATCH || event->kind == TRACE_EXECUTION)
		trace_add_total(&c->findings, side, words);
	if (event->kind != TRACE_LAYER)
		return 0;
	if (find_layer(c, side, &index) || trace_add_row(&c->findings, side, index, words->word[3], words))
		return c->err->code;
	if (trace_value(words, "sum"))
		c->sqnr_db = c->diff->layer[index].sqnr_db;
	return 0;
}

static bool has_figures(const struct trace_event *event)
{
	return event->kind == TRACE_LAYER || event->kind == TRACE_BATCH || event->kind == TRACE_EXECUTION;
}

/* Notes the layer that instructions belong to from here on. */
static int note_place(struct comparison *c, int side, const struct trace_event *event)
{
	if (event->kind == TRACE_PROGRAM)
		c->cycle[side] = 0;
	if (event->kind == TRACE_CYCLE)
		c->cycle[side] += strtoull(event->line + strlen("c +"), NULL, 10);
	if (event->kind == TRACE_PROGRAM || event->kind == TRACE_END)
		c->layer[side] = -1;
	if (event->kind != TRACE_OF)
		return 0;
	trace_event_cut(event, &c->words[side]);
	return find_layer(c, side, &c->layer[side]);
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
		       const struct change *change)
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

static int on_both(struct comparison *c, const struct trace_event *a, const struct trace_event *b)
{
	const bool is_instruction = a->kind == TRACE_INSTRUCTION,
		   same = a->bytes == b->bytes && !memcmp(a->line, b->line, a->bytes) &&
			  (!a->has_sum || !strcmp(a->sum, b->sum)) && (!is_instruction || c->layer[0] == c->layer[1]);
	struct change change = {0};
	c->diff->events++;
	c->sqnr_db = NULL;
	if (a->kind == TRACE_BLOCK && same)
		trace_begin_block(&c->findings, TRACE_FIELDS_SAME);
	if (is_instruction && same)
		trace_note_instruction(&c->findings, c->layer[0], false);
	if (same && !has_figures(a))
		return 0;
	trace_event_cut(a, &c->words[0]);
	trace_event_cut(b, &c->words[1]);
	if (has_figures(a) && (add_figures(c, 0, a) || add_figures(c, 1, b)))
		return c->err->code;
	if (same)
		return 0;
	for (int side = 0; side < 2; side++)
		if (c->words[side].n < 0 || (is_instruction && c->words[side].n < 5))
			return npl_fail(c->err, NPL_EINPUT, "%s:%llu: the instruction lacks words", c->path[side],
					(unsigned long long)(side ? b : a)->number);
	if (compare_pair(c, a, b, &change))
		return c->err->code;
	if (a->kind == TRACE_BLOCK)
		trace_begin_block(&c->findings, strcmp(c->words[0].word[1], c->words[1].word[1]) != 0
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
	struct npl_trace_first *first = c->diff->n_events ? &c->diff->event[c->diff->n_events - 1] : NULL;
	struct change change = {0};
	if (!first || first->text[1] || first->line[0] != c->only_line || c->cycle[0] != c->cycle[1] ||
	    strcmp(c->words[0].word[0], "c") != 0)
		return 0;
	say_cycles(c, &change);
	compare_keys(c, TRACE_CYCLE, 2, 2, &change);
	first->line[1] = b->number;
	first->text[1] = npl_arena_strdup(&c->diff->arena, b->line);
	first->what = npl_arena_strdup(&c->diff->arena, change.what);
	return first->text[1] && first->what ? 0 : npl_no_memory(c->err);
}

static int on_one(struct comparison *c, int side, const struct trace_event *event)
{
	struct npl_trace_diff *d = c->diff;
	trace_event_cut(event, &c->words[side]);
	if (c->words[side].n > 0 && add_figures(c, side, event))
		return c->err->code;
	if (event->kind == TRACE_BLOCK)
		trace_begin_block(&c->findings, TRACE_FIELDS_UNKNOWN);
	if (event->kind == TRACE_BLOCK || event->kind == TRACE_OF)
		return 0;
	const bool is_cycle = event->kind == TRACE_CYCLE;
	const unsigned moved = is_cycle ? NPL_TRACE_MOVED_SIGNALS : NPL_TRACE_MOVED_PROGRAM;
	char what[200];
	const char *which = side ? "second" : "first";
	d->only[side]++;
	if (is_cycle)
		snprintf(what, sizeof what, "cycle %llu: only in the %s trace %s changes",
			 (unsigned long long)c->cycle[side], which,
			 c->words[side].n > 2 ? c->words[side].word[2] : "nothing");
	else
		snprintf(what, sizeof what, "only the %s trace has it", which);
	if (mark_layer(c, side, event, moved) || (is_cycle && side && join_last(c, event)) ||
	    (!trace_is_tolerated(&c->judge, event->kind, moved, "", NULL, NULL, NULL) &&
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
	const enum npl_trace_detail detail = header[header[1].detail < header[0].detail].detail;
	for (int i = 0; i < 2; i++)
		trace_events_limit(events[i], detail);
	trace_events_rename(events[1], &c->names);
	if (trace_align(events[0], events[1], &(struct trace_pairs){on_pair, c}, c->err))
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
	if (trace_pair_machines(&header[0], &header[1], arena, &c->names, c->err) ||
	    trace_compare_heads(&header[0], &header[1], &c->names, c->diff, c->err))
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
		c->judge = trace_judge_of(tolerance, &header[0], &header[1]);
		diff->values_db = c->judge.have_ratios ? c->judge.tolerance.values_db : 0;
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
