/* SPDX-License-Identifier: MIT
 *
 * Compares two traces: what differs, where first, and by how much in each layer, unit and class of cycles. */
#include "diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "header.h"
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
	struct trace_judge judge;
	const char *path[2];
	/* Of either trace; NULL where there is none: */
	char *layer[2];     /* the layer whose instructions come */
	char *device[2];    /* the device whose program they are of */
	uint64_t cycle[2];  /* of the signals that were read last, in their program */
	uint64_t only_line; /* of the last event that the first trace alone has */
	/* The first block whose instructions have other fields, such as an address. It is shown where nothing else
	 * differs. */
	struct npl_trace_first first_block;
	const double *sqnr_db; /* of the row that is compared; NULL: it is none of a layer */
	int n_rows;
	char *before[3]; /* the last lines of the first trace, the oldest first */
	struct trace_words words[2];
	struct npl_err *err;
};

/* ---- Lists of the result. */

static struct npl_trace_layer *layer_of(struct comparison *c, const char *name, const char *ran_on)
{
	struct npl_trace_diff *d = c->diff;
	for (int i = d->n_layers - 1; i >= 0; i--)
		if (!strcmp(d->layer[i].name, name) && (!strcmp(d->layer[i].ran_on, ran_on)))
			return &d->layer[i];
	struct npl_trace_layer *layer = trace_grown(&d->arena, d->layer, d->n_layers, &d->layer_capacity,
						    sizeof *d->layer);
	if (!layer)
		return NULL;
	d->layer = layer;
	layer += d->n_layers;
	*layer = (struct npl_trace_layer){.name = npl_arena_strdup(&d->arena, name),
					  .ran_on = npl_arena_strdup(&d->arena, ran_on),
					  .sqnr_db = {NAN, NAN}};
	if (!layer->name || !layer->ran_on)
		return NULL;
	d->n_layers++;
	return layer;
}

static int add_cause(struct comparison *c, const char *unit, const char *cycle_class, int64_t cycles)
{
	struct npl_trace_diff *d = c->diff;
	for (int i = 0; i < d->n_causes; i++)
		if (!strcmp(d->cause[i].unit, unit) && !strcmp(d->cause[i].cycle_class, cycle_class)) {
			d->cause[i].cycles += cycles;
			return 0;
		}
	struct npl_trace_cause *cause = trace_grown(&d->arena, d->cause, d->n_causes, &d->cause_capacity,
						    sizeof *d->cause);
	if (!cause)
		return npl_no_memory(c->err);
	d->cause = cause;
	cause += d->n_causes;
	*cause = (struct npl_trace_cause){npl_arena_strdup(&d->arena, unit), npl_arena_strdup(&d->arena, cycle_class),
					  cycles};
	if (!cause->unit || !cause->cycle_class)
		return npl_no_memory(c->err);
	d->n_causes++;
	return 0;
}

/* ---- One pair of events. */

/* What differs in a pair. */
struct change {
	unsigned moved;
	bool waits; /* classes of cycles differ */
	bool is_beyond;
	char what[400];
};

static void add_change(const struct comparison *c, enum trace_kind kind, struct change *change, unsigned moved,
		       const char *key, const char *a, const char *b)
{
	const char *none = kind == TRACE_CYCLE ? "as before" : "0";
	change->moved |= moved;
	change->is_beyond = change->is_beyond || !trace_is_tolerated(&c->judge, kind, moved, key, a, b, c->sqnr_db);
	if (moved == NPL_TRACE_MOVED_VALUES && !strcmp(key, "sum") && c->sqnr_db &&
	    !isnan(c->sqnr_db[0] + c->sqnr_db[1]))
		npl_append(change->what, sizeof change->what, ", ", "other values, %.2f dB -> %.2f dB", c->sqnr_db[0],
			   c->sqnr_db[1]);
	else if (moved == NPL_TRACE_MOVED_VALUES && !strcmp(key, "sum"))
		npl_append(change->what, sizeof change->what, ", ", "other values");
	else
		npl_append(change->what, sizeof change->what, ", ", "%s %s -> %s", key, a ? a : none, b ? b : none);
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
		if (add_cause(c, a->word[2], a->word[i], less))
			return c->err->code;
	}
	for (int i = 5; i < end_b; i++) {
		if (has_key_before(a, end_a, b->word[i]))
			continue;
		change->waits = true;
		add_change(c, TRACE_INSTRUCTION, change, NPL_TRACE_MOVED_TIMES, b->word[i], NULL, b->value[i]);
		if (add_cause(c, b->word[2], b->word[i], (int64_t)count_at(b, i)))
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

/* Compares the key=value from words first_a and first_b on. A key may come several times, each time for itself. */
static void compare_keys(const struct comparison *c, enum trace_kind kind, int first_a, int first_b,
			 struct change *change)
{
	const struct trace_words *a = &c->words[0], *b = &c->words[1];
	bool used[TRACE_WORDS] = {false};
	for (int i = first_a; i < a->n; i++) {
		int j = first_b;
		while (j < b->n && (used[j] || !a->value[i] || !b->value[j] || strcmp(a->word[i], b->word[j]) != 0))
			j++;
		if (j < b->n)
			used[j] = true;
		if (a->value[i] && (j == b->n || strcmp(a->value[i], b->value[j]) != 0) && is_compared(a->word[i]))
			add_change(c, kind, change, moved_in(kind, a->word[i]), a->word[i], a->value[i],
				   j < b->n ? b->value[j] : NULL);
	}
	for (int j = first_b; j < b->n; j++)
		if (!used[j] && b->value[j] && is_compared(b->word[j]))
			add_change(c, kind, change, moved_in(kind, b->word[j]), b->word[j], NULL, b->value[j]);
}

/* Compares two events with the same identity, whose words are in c->words. */
static int compare_pair(struct comparison *c, const struct trace_event *a, const struct trace_event *b,
			struct change *change)
{
	const struct trace_words *wa = &c->words[0], *wb = &c->words[1];
	int first_a = trace_fixed_words(a->kind) + 1, first_b = first_a;
	if (a->kind == TRACE_INSTRUCTION) {
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
	if (a->kind == TRACE_END && strcmp(wa->word[1], wb->word[1]) != 0)
		add_change(c, a->kind, change, NPL_TRACE_MOVED_TIMES, "cycles", wa->word[1], wb->word[1]);
	if (a->kind == TRACE_BLOCK && strcmp(wa->word[1], wb->word[1]) != 0)
		return 0; /* blocks of other instructions: these are compared themselves */
	compare_keys(c, a->kind, first_a, first_b, change);
	return 0;
}

static int note_first(struct comparison *c, struct npl_trace_first *first, const struct trace_event *a,
		      const struct trace_event *b, const char *what)
{
	struct npl_arena *arena = &c->diff->arena;
	const int side = a ? 0 : 1;
	const bool is_row = (a ? a : b)->kind == TRACE_LAYER;
	const char *layer = is_row ? c->words[side].word[1] : c->layer[side];
	if (first->is_known)
		return 0;
	*first = (struct npl_trace_first){
		.is_known = true,
		.line = {a ? a->number : 0, b ? b->number : 0},
		.layer = layer ? npl_arena_strdup(arena, layer) : NULL,
		.text = {a ? npl_arena_strdup(arena, a->line) : NULL, b ? npl_arena_strdup(arena, b->line) : NULL},
		.what = npl_arena_strdup(arena, what)};
	for (int i = 0; i < 3; i++)
		first->before[i] = c->before[i] ? npl_arena_strdup(arena, c->before[i]) : NULL;
	return first->what ? 0 : npl_no_memory(c->err);
}

/* Adds what a row of a layer or of a batch says of one trace. */
static int add_figures(struct comparison *c, int side, const struct trace_event *event, const struct trace_words *words)
{
	struct npl_trace_diff *d = c->diff;
	const char *cycles = trace_value(words, "cycles"), *seconds = trace_value(words, "seconds");
	double joules = 0;
	for (int i = 0; i < words->n; i++)
		if (words->value[i] && !strncmp(words->word[i], "joules:", 7))
			joules += strtod(words->value[i], NULL);
	if (event->kind == TRACE_BATCH || event->kind == TRACE_EXECUTION) {
		d->cycles[side] += cycles ? strtoull(cycles, NULL, 10) : 0;
		d->seconds[side] += seconds ? strtod(seconds, NULL) : 0;
		d->joules[side] += joules;
	}
	if (event->kind != TRACE_LAYER)
		return 0;
	struct npl_trace_layer *layer = layer_of(c, words->word[1], words->word[3]);
	if (!layer)
		return npl_no_memory(c->err);
	if (!layer->in[0] && !layer->in[1])
		layer->order = c->n_rows++;
	layer->in[side] = true;
	layer->cycles[side] += cycles ? strtoull(cycles, NULL, 10) : 0;
	layer->seconds[side] += seconds ? strtod(seconds, NULL) : 0;
	layer->joules[side] += joules;
	const char *ratio = trace_value(words, "sqnr_db"); /* the first batch has it */
	if (ratio)
		layer->sqnr_db[side] = strtod(ratio, NULL);
	c->sqnr_db = layer->sqnr_db;
	return 0;
}

static bool has_figures(const struct trace_event *event)
{
	return event->kind == TRACE_LAYER || event->kind == TRACE_BATCH || event->kind == TRACE_EXECUTION;
}

static int keep_text(struct comparison *c, char **kept, const char *text)
{
	free(*kept);
	*kept = text ? strdup(text) : NULL;
	return *kept || !text ? 0 : npl_no_memory(c->err);
}

/* Notes the device and the layer that instructions belong to from here on. */
static int note_place(struct comparison *c, int side, const struct trace_event *event)
{
	if (event->kind == TRACE_PROGRAM)
		c->cycle[side] = 0;
	if (event->kind == TRACE_CYCLE)
		c->cycle[side] += strtoull(event->line + strlen("c +"), NULL, 10);
	if (event->kind != TRACE_OF && event->kind != TRACE_PROGRAM && event->kind != TRACE_END)
		return 0;
	trace_event_cut(event, &c->words[side]);
	const char *word = c->words[side].word[1];
	if (event->kind == TRACE_PROGRAM && keep_text(c, &c->device[side], word))
		return c->err->code;
	return keep_text(c, &c->layer[side], event->kind == TRACE_OF ? word : NULL);
}

/* Marks the layer that an event belongs to. */
static int mark_layer(struct comparison *c, int side, const struct trace_event *event, unsigned moved)
{
	const bool is_row = event->kind == TRACE_LAYER;
	if (event->kind == TRACE_TASK) /* The layer's row says what moved. */
		return 0;
	const char *name = is_row ? c->words[side].word[1] : c->layer[side],
		   *ran_on = is_row ? c->words[side].word[3] : c->device[side];
	if (!name)
		return 0;
	struct npl_trace_layer *layer = layer_of(c, name, ran_on ? ran_on : "");
	if (!layer)
		return npl_no_memory(c->err);
	layer->moved |= moved;
	return 0;
}

static int keep_before(struct comparison *c, const struct trace_event *a)
{
	if (c->diff->first.is_known || a->kind == TRACE_BLOCK)
		return 0;
	char *line = strdup(a->line);
	if (!line)
		return npl_no_memory(c->err);
	free(c->before[0]);
	memmove(c->before, c->before + 1, 2 * sizeof *c->before);
	c->before[2] = line;
	return 0;
}

static int on_both(struct comparison *c, const struct trace_event *a, const struct trace_event *b)
{
	struct npl_trace_diff *d = c->diff;
	const bool same = a->bytes == b->bytes && !memcmp(a->line, b->line, a->bytes) &&
			  (!a->has_sum || !strcmp(a->sum, b->sum));
	struct change change = {0};
	d->events++;
	c->sqnr_db = NULL;
	if (same && !has_figures(a))
		return 0;
	trace_event_cut(a, &c->words[0]);
	trace_event_cut(b, &c->words[1]);
	if (has_figures(a) && (add_figures(c, 0, a, &c->words[0]) || add_figures(c, 1, b, &c->words[1])))
		return c->err->code;
	if (same)
		return 0;
	for (int side = 0; side < 2; side++)
		if (c->words[side].n < 0 || (a->kind == TRACE_INSTRUCTION && c->words[side].n < 5))
			return npl_fail(c->err, NPL_EINPUT, "%s:%llu: the instruction lacks words", c->path[side],
					(unsigned long long)(side ? b : a)->number);
	if (compare_pair(c, a, b, &change))
		return c->err->code;
	if (!change.moved)
		return 0;
	d->moved |= change.moved;
	d->is_beyond |= change.is_beyond;
	d->differing++;
	if (mark_layer(c, 0, a, change.moved) || (change.waits && note_first(c, &d->first_wait, a, b, change.what)))
		return c->err->code;
	return note_first(c, a->kind == TRACE_BLOCK ? &c->first_block : &d->first, a, b, change.what);
}

/* The first difference may be a cycle in which other signals change: then each trace has a line of its own for it. Says
 * which signals these are. */
static int join_first(struct comparison *c, const struct trace_event *b)
{
	struct npl_trace_first *first = &c->diff->first;
	struct change change = {0};
	if (!first->is_known || first->text[1] || first->line[0] != c->only_line || c->cycle[0] != c->cycle[1] ||
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
	if (c->words[side].n > 0 && add_figures(c, side, event, &c->words[side]))
		return c->err->code;
	if (event->kind == TRACE_BLOCK || event->kind == TRACE_OF)
		return 0;
	const bool is_cycle = event->kind == TRACE_CYCLE;
	const unsigned moved = is_cycle ? NPL_TRACE_MOVED_SIGNALS : NPL_TRACE_MOVED_PROGRAM;
	d->moved |= moved;
	d->is_beyond = d->is_beyond || !trace_is_tolerated(&c->judge, event->kind, moved, "", NULL, NULL, NULL);
	d->only[side]++;
	if (mark_layer(c, side, event, moved) || (is_cycle && side && join_first(c, event)))
		return c->err->code;
	if (!side)
		c->only_line = event->number;
	char what[200];
	const char *which = side ? "second" : "first";
	if (is_cycle)
		snprintf(what, sizeof what, "cycle %llu: only in the %s trace %s changes",
			 (unsigned long long)c->cycle[side], which,
			 c->words[side].n > 2 ? c->words[side].word[2] : "nothing");
	else
		snprintf(what, sizeof what, "only the %s trace has it", which);
	return note_first(c, &d->first, side ? NULL : event, side ? event : NULL, what);
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

/* ---- Heads. */

static int add_head(struct comparison *c, const char *of, const char *name, const char *a, const char *b)
{
	struct npl_trace_diff *d = c->diff;
	const char **head = trace_grown(&d->arena, (void *)d->head, d->n_heads, &d->head_capacity, sizeof *d->head);
	if (!head)
		return npl_no_memory(c->err);
	d->head = head;
	head[d->n_heads] = npl_arena_printf(&d->arena, "%s: %s %s -> %s", of, name, a ? a : "absent", b ? b : "absent");
	return head[d->n_heads] && ++d->n_heads ? 0 : npl_no_memory(c->err);
}

/* Compares lists whose names come once, or several times in one order. */
static int compare_pairs(struct comparison *c, const char *of, const struct npl_trace_pairs *a,
			 const struct npl_trace_pairs *b)
{
	int rc = 0;
	for (int i = 0, j = 0; (i < a->n || j < b->n) && !rc;) {
		const char *x = i < a->n ? a->pair[i].name : NULL, *y = j < b->n ? b->pair[j].name : NULL;
		const bool together = x && y && !strcmp(x, y);
		bool later = false; /* y comes later in b: x is in a alone */
		for (int k = j; x && y && !together && k < b->n; k++)
			later |= !strcmp(x, b->pair[k].name);
		const bool take_a = together || (x && (!y || !later)), take_b = together || !take_a;
		const char *in_a = take_a ? a->pair[i].value : NULL, *in_b = take_b ? b->pair[j].value : NULL;
		if (!in_a || !in_b || strcmp(in_a, in_b) != 0)
			rc = add_head(c, of, take_a ? x : y, in_a, in_b);
		i += take_a;
		j += take_b;
	}
	return rc;
}

static int compare_heads(struct comparison *c, const struct npl_trace_header *a, const struct npl_trace_header *b)
{
	int rc = 0;
	if (strcmp(a->argument, b->argument) != 0)
		rc = add_head(c, "run", a->command, a->argument, b->argument);
	if (!rc)
		rc = compare_pairs(c, "option", &a->option, &b->option);
	if (!rc)
		rc = compare_pairs(c, "file", &a->file, &b->file);
	if (!rc)
		rc = compare_pairs(c, "environment", &a->environment, &b->environment);
	for (int i = 0; i < a->n_machines && !rc; i++)
		for (int j = 0; j < b->n_machines && !rc; j++)
			if (!strcmp(a->machine[i].name, b->machine[j].name))
				rc = compare_pairs(c, a->machine[i].name, &a->machine[i].parameter,
						   &b->machine[j].parameter);
	return rc;
}

static int by_order(const void *a, const void *b)
{
	return ((const struct npl_trace_layer *)a)->order - ((const struct npl_trace_layer *)b)->order;
}

int trace_compare(struct trace_in *const in[2], const struct npl_trace_tolerance *tolerance,
		  struct npl_trace_diff *diff, struct npl_err *err)
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
		c->judge = trace_judge_of(tolerance, &header[0], &header[1]);
		diff->values_db = c->judge.have_ratios ? c->judge.tolerance.values_db : 0;
		c->path[0] = trace_in_path(in[0]);
		c->path[1] = trace_in_path(in[1]);
		c->err = err;
		rc = compare_heads(c, &header[0], &header[1]);
		if (!rc)
			rc = trace_align(events[0], events[1], &(struct trace_pairs){on_pair, c}, err);
		if (!rc && !diff->first.is_known)
			diff->first = c->first_block;
		if (!rc && diff->n_layers)
			qsort(diff->layer, (size_t)diff->n_layers, sizeof *diff->layer, by_order);
	}
	for (int i = 0; i < 2; i++) {
		trace_events_close(events[i]);
		npl_trace_header_free(&header[i]);
		free(c ? c->layer[i] : NULL);
		free(c ? c->device[i] : NULL);
	}
	for (int i = 0; c && i < 3; i++)
		free(c->before[i]);
	free(c);
	if (rc)
		npl_trace_diff_free(diff);
	return rc;
}

int npl_trace_diff(const char *a, const char *b, const struct npl_trace_tolerance *tolerance,
		   struct npl_trace_diff *diff, struct npl_err *err)
{
	struct trace_in *in[2] = {NULL};
	*diff = (struct npl_trace_diff){0};
	int rc = trace_in_open(a, &in[0], err);
	if (!rc)
		rc = trace_in_open(b, &in[1], err);
	if (!rc)
		rc = trace_compare(in, tolerance, diff, err);
	trace_in_close(in[0]);
	trace_in_close(in[1]);
	return rc;
}

void npl_trace_diff_free(struct npl_trace_diff *diff)
{
	npl_arena_free(&diff->arena);
	*diff = (struct npl_trace_diff){0};
}
