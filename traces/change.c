/* SPDX-License-Identifier: MIT
 *
 * Compares two events (change.h). */
#include "change.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "findings.h"

bool trace_same_layer(const struct trace_sides *s)
{
	return !s->layer[0] == !s->layer[1] && (!s->layer[0] || !strcmp(s->layer[0], s->layer[1]));
}

/* Adds the words of a difference. */
static void say(const struct trace_sides *s, enum trace_kind kind, struct trace_change *change, bool is_sum,
		bool is_tolerated, const char *key, const char *a, const char *b)
{
	const char *none = kind == TRACE_CYCLE ? "as before" : is_sum ? "none" : "0";
	char text[200] = "";
	if (is_sum && s->sqnr_db && !isnan(s->sqnr_db[0] + s->sqnr_db[1]))
		npl_append(text, sizeof text, "", "other values, %.2f dB -> %.2f dB", s->sqnr_db[0], s->sqnr_db[1]);
	else if (is_sum && kind != TRACE_INSTRUCTION)
		npl_append(text, sizeof text, "", "other values");
	else
		npl_append(text, sizeof text, "", "%s %s -> %s", key, a ? a : none, b ? b : none);
	npl_append(change->what, sizeof change->what, ", ", "%s", text);
	if (!is_tolerated && !change->is_beyond)
		npl_append(change->beyond, sizeof change->beyond, "", "%s", text);
}

static void add_change(const struct trace_sides *s, enum trace_kind kind, struct trace_change *change, unsigned moved,
		       const char *key, const char *a, const char *b)
{
	const bool is_sum = moved == NPL_TRACE_MOVED_VALUES && !strcmp(key, "sum"),
		   is_tolerated = trace_is_tolerated(&s->judge, kind, moved, key, a, b, s->sqnr_db);
	if (moved & ~s->comparable)
		return;
	if (s->wants_words)
		say(s, kind, change, is_sum, is_tolerated, key, a, b);
	change->is_beyond = change->is_beyond || !is_tolerated;
	change->other_sum = change->other_sum || (is_sum && kind == TRACE_INSTRUCTION);
	change->moved |= is_sum && kind == TRACE_INSTRUCTION ? 0 : moved;
}

static uint64_t count_at(const struct trace_words *words, int i)
{
	return strtoull(words->value[i], NULL, 10);
}

static bool has_class(const struct trace_words *words, const char *key)
{
	for (int i = TRACE_FIRST_KEY; i < words->end_of_classes; i++)
		if (!strcmp(words->word[i], key))
			return true;
	return false;
}

/* Compares the classes of cycles of two instructions. */
static void compare_classes(const struct trace_sides *s, struct trace_change *change)
{
	const struct trace_words *a = &s->words[0], *b = &s->words[1];
	for (int i = TRACE_FIRST_KEY; i < a->end_of_classes; i++) {
		const char *now = has_class(b, a->word[i]) ? trace_value(b, a->word[i]) : NULL;
		if ((now ? strtoull(now, NULL, 10) : 0) == count_at(a, i))
			continue;
		change->waits = true;
		add_change(s, TRACE_INSTRUCTION, change, NPL_TRACE_MOVED_TIMES, a->word[i], a->value[i], now);
	}
	for (int i = TRACE_FIRST_KEY; i < b->end_of_classes; i++) {
		if (has_class(a, b->word[i]))
			continue;
		change->waits = true;
		add_change(s, TRACE_INSTRUCTION, change, NPL_TRACE_MOVED_TIMES, b->word[i], NULL, b->value[i]);
	}
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
static void say_cycles(const struct trace_sides *s, struct trace_change *change)
{
	const unsigned long long a = s->cycle[0], b = s->cycle[1];
	snprintf(change->what, sizeof change->what, a == b ? "cycle %llu" : "cycles %llu and %llu", a, b);
}

/* Says whether a word stands among the key=value of an event and is none. That an instruction has a checksum is said by
 * such a word, and compared with it. */
static bool is_loose(enum trace_kind kind, const struct trace_words *words, int i)
{
	return trace_fixed_words(kind) >= 0 && !words->value[i] && strcmp(words->word[i], "sum") != 0;
}

/* Compares the key=value from words first_a and first_b on. A key may come several times, each time for itself. */
static void compare_keys(const struct trace_sides *s, enum trace_kind kind, int first_a, int first_b,
			 struct trace_change *change)
{
	const struct trace_words *a = &s->words[0], *b = &s->words[1];
	bool used[TRACE_WORDS] = {false};
	for (int i = first_a; i < a->n; i++) {
		int j = first_b;
		while (j < b->n && (used[j] || !a->value[i] != !b->value[j] || strcmp(a->word[i], b->word[j]) != 0))
			j++;
		if (j < b->n)
			used[j] = true;
		if (is_loose(kind, a, i) && j == b->n)
			add_change(s, kind, change, NPL_TRACE_MOVED_PROGRAM, "a word", a->word[i], "none");
		if (a->value[i] && (j == b->n || strcmp(a->value[i], b->value[j]) != 0) && is_compared(a->word[i]))
			add_change(s, kind, change, moved_in(kind, a->word[i]), a->word[i], a->value[i],
				   j < b->n ? b->value[j] : NULL);
	}
	for (int j = first_b; j < b->n; j++) {
		if (!used[j] && is_loose(kind, b, j))
			add_change(s, kind, change, NPL_TRACE_MOVED_PROGRAM, "a word", "none", b->word[j]);
		if (!used[j] && b->value[j] && is_compared(b->word[j]))
			add_change(s, kind, change, moved_in(kind, b->word[j]), b->word[j], NULL, b->value[j]);
	}
}

/* Compares where two rows of a layer ran, and how. */
static void compare_places(const struct trace_sides *s, struct trace_change *change)
{
	const char *const *a = (const char *const *)s->words[0].word, *const *b = (const char *const *)s->words[1].word;
	const struct trace_name *name = trace_find_name(&s->names, b[3]);
	if (strcmp(a[3], name ? name->other : b[3]) != 0)
		add_change(s, TRACE_LAYER, change, NPL_TRACE_MOVED_PROGRAM, "ran on", a[3], b[3]);
	if (strcmp(a[4], b[4]) != 0)
		add_change(s, TRACE_LAYER, change, NPL_TRACE_MOVED_PROGRAM, "role", a[4], b[4]);
}

/* Compares two instructions but for their counters. */
static void compare_instructions(const struct trace_sides *s, const struct trace_event *a, const struct trace_event *b,
				 struct trace_change *change)
{
	char *const *wa = s->words[0].word, *const *wb = s->words[1].word;
	if (!trace_same_layer(s))
		add_change(s, a->kind, change, NPL_TRACE_MOVED_PROGRAM, "layer", s->layer[0], s->layer[1]);
	if (strcmp(wa[TRACE_BEGIN], wb[TRACE_BEGIN]) != 0)
		add_change(s, a->kind, change, NPL_TRACE_MOVED_TIMES, "begins", wa[TRACE_BEGIN], wb[TRACE_BEGIN]);
	compare_classes(s, change);
	if (!change->waits && strcmp(wa[TRACE_LENGTH], wb[TRACE_LENGTH]) != 0)
		add_change(s, a->kind, change, NPL_TRACE_MOVED_TIMES, "lasts", wa[TRACE_LENGTH], wb[TRACE_LENGTH]);
	if (a->has_sum != b->has_sum || (a->has_sum && strcmp(a->sum, b->sum) != 0))
		add_change(s, a->kind, change, NPL_TRACE_MOVED_VALUES, "sum", a->sum, b->sum);
}

/* Returns the names of the layers in the line of a program. */
static const char *layers_of(const struct trace_event *event)
{
	const char *rest = event->line + trace_bytes_of_words(event->line, 2);
	return rest + (*rest == ' ');
}

void trace_compare_pair(struct trace_sides *s, const struct trace_event *a, const struct trace_event *b,
			struct trace_change *change)
{
	const struct trace_words *wa = &s->words[0], *wb = &s->words[1];
	int first_a = trace_fixed_words(a->kind) + 1, first_b = first_a;
	if (a->kind == TRACE_INSTRUCTION) {
		compare_instructions(s, a, b, change);
		first_a = wa->end_of_classes;
		first_b = wb->end_of_classes;
	}
	if (a->kind == TRACE_PROGRAM && !trace_same_event(a, b))
		add_change(s, a->kind, change, NPL_TRACE_MOVED_PROGRAM, "layers", layers_of(a), layers_of(b));
	if (a->kind == TRACE_PROGRAM && !s->names.n && strcmp(wa->word[1], wb->word[1]) != 0)
		add_change(s, a->kind, change, NPL_TRACE_MOVED_PROGRAM, "ran on", wa->word[1], wb->word[1]);
	if (a->kind == TRACE_CYCLE) {
		say_cycles(s, change);
		if (strcmp(wa->word[1], wb->word[1]) != 0)
			add_change(s, a->kind, change, NPL_TRACE_MOVED_TIMES, "after", wa->word[1], wb->word[1]);
	}
	if (a->kind == TRACE_LAYER)
		compare_places(s, change);
	if (a->kind == TRACE_END && strcmp(wa->word[1], wb->word[1]) != 0)
		add_change(s, a->kind, change, NPL_TRACE_MOVED_TIMES, "cycles", wa->word[1], wb->word[1]);
	/* Of blocks of other instructions these are compared. Some fields, such as scales, are those of values. */
	if (a->kind == TRACE_BLOCK &&
	    (strcmp(wa->word[1], wb->word[1]) != 0 || !(s->comparable & NPL_TRACE_MOVED_VALUES)))
		return;
	for (int side = 0; side < 2; side++)
		s->judge.joules[side] = trace_joules_of(&s->words[side]);
	compare_keys(s, a->kind, first_a, first_b, change);
}

void trace_compare_signals(const struct trace_sides *s, struct trace_change *change)
{
	say_cycles(s, change);
	compare_keys(s, TRACE_CYCLE, 2, 2, change);
}
