/* SPDX-License-Identifier: MIT
 *
 * The events of a trace (events.h). The checksums of a block are given to its instructions. */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/checksum.h"
#include "core/base/refuse.h"

/* What a line of each kind has: its first word, how many words follow (-1: one or more), how many of these identify it,
 * which of these, from 1 on, is a device among them (0: none), and the state of the reader in which it can come. A row
 * of a layer is identified without its device, so that one that ran elsewhere is the same layer. */
static const struct form {
	const char *word;
	int words, identifying, device;
	bool in_program;
} forms[] = {
	[TRACE_PROGRAM] = {"program", -1, -1, 1, false},
	[TRACE_BLOCK] = {"block", 1, 0, 0, true},
	[TRACE_OF] = {"of", 1, 1, 0, true},
	[TRACE_INSTRUCTION] = {"i", 4, 2, 0, true},
	[TRACE_CYCLE] = {"c", 1, 0, 0, true},
	[TRACE_END] = {"end", 1, 0, 0, true},
	[TRACE_LAYER] = {"layer", 4, 2, 0, false},
	[TRACE_TASK] = {"task", 3, 3, 2, false},
	[TRACE_BATCH] = {"batch", 1, 1, 0, false},
	[TRACE_EXECUTION] = {"execution", 0, 0, 0, false},
	[TRACE_COMPLETE] = {"complete", 1, 0, 0, false},
};
_Static_assert(sizeof forms / sizeof *forms == TRACE_KINDS, "each kind of event has a form");

struct trace_events {
	struct trace_in *in;
	uint64_t n; /* events that have been read */
	bool in_program, is_complete;
	uint64_t layer;                  /* the checksum of the name of the layer whose instructions come; 0: none */
	uint64_t left;                   /* instructions of the block that are still to come */
	char sums[TRACE_LINE];           /* the checksums of the block, 8 digits each, without those that were given */
	const char *next_sum;            /* within sums */
	struct trace_words words;        /* of the line that was read last */
	const struct trace_names *names; /* NULL: none */
	enum npl_trace_detail detail;    /* events of more detail are passed over */
};

int trace_events_open(struct trace_in *in, struct trace_events **opened, struct npl_err *err)
{
	struct trace_events *events = calloc(1, sizeof *events);
	*opened = events;
	if (!events)
		return npl_no_memory(err);
	events->in = in;
	events->next_sum = events->sums;
	events->detail = NPL_TRACE_CYCLES;
	return 0;
}

void trace_events_rename(struct trace_events *events, const struct trace_names *names)
{
	events->names = names;
}

void trace_events_limit(struct trace_events *events, enum npl_trace_detail detail)
{
	events->detail = detail;
}

void trace_events_close(struct trace_events *events)
{
	free(events);
}

void trace_event_free(struct trace_event *event)
{
	free(event->line);
	free(event->renamed);
	*event = (struct trace_event){0};
}

int trace_fixed_words(enum trace_kind kind)
{
	return forms[kind].words;
}

static int fail_event(const struct trace_events *events, const char *what, struct npl_err *err)
{
	return npl_fail(err, NPL_EINPUT, "%s:%llu: %s", trace_in_path(events->in),
			(unsigned long long)trace_in_number(events->in), what);
}

static bool keep_line(struct trace_event *event, const char *line, size_t bytes)
{
	if (event->capacity <= bytes) {
		char *grown = realloc(event->line, 2 * bytes + 64);
		if (!grown)
			return false;
		event->line = grown;
		event->capacity = 2 * bytes + 64;
	}
	memcpy(event->line, line, bytes + 1);
	event->bytes = bytes;
	return true;
}

static int check_words(struct trace_events *events, const struct form *form, struct npl_err *err)
{
	const struct trace_words *w = &events->words;
	char text[120];
	int words = 1;
	while (words < w->n && !w->value[words])
		words++;
	if (form->words < 0 ? words < 2 : words - 1 < form->words) {
		snprintf(text, sizeof text, "%s has too few words", form->word);
		return fail_event(events, text, err);
	}
	return 0;
}

/* Begins a block: its instructions come next. */
static int open_block(struct trace_events *events, struct npl_err *err)
{
	const char *sums = trace_value(&events->words, "sums"), *count = events->words.word[1];
	if (events->left || *events->next_sum)
		return fail_event(events, "a block before the instructions of the last one have come", err);
	if (!trace_is_number(count, 6) || !(events->left = strtoull(count, NULL, 10)))
		return fail_event(events, "expected the number of instructions of the block", err);
	if (!sums)
		sums = "";
	if (strlen(sums) % 8 || sums[strspn(sums, "0123456789abcdef")])
		return fail_event(events, "expected checksums of 8 digits each", err);
	memcpy(events->sums, sums, strlen(sums) + 1);
	events->next_sum = events->sums;
	return 0;
}

static int take_instruction(struct trace_events *events, struct trace_event *event, struct npl_err *err)
{
	static const char mark[] = " sum";
	const size_t n = sizeof mark - 1;
	if (!events->left)
		return fail_event(events, "an instruction outside of a block", err);
	events->left--;
	event->has_sum = event->bytes > n && !memcmp(event->line + event->bytes - n, mark, n);
	if (!event->has_sum)
		return 0;
	if (!*events->next_sum)
		return fail_event(events, "the block has no checksum for the instruction", err);
	memcpy(event->sum, events->next_sum, 8);
	event->sum[8] = '\0';
	events->next_sum += 8;
	return 0;
}

/* Checks the words of signals that change. */
static int check_cycle(struct trace_events *events, struct npl_err *err)
{
	const struct trace_words *w = &events->words;
	uint64_t cycles;
	if (events->left || *events->next_sum)
		return fail_event(events, "signals within a block", err);
	if (!trace_cycles_after(w->word[1], &cycles))
		return fail_event(events, "expected + and how many cycles after the line before the signals change",
				  err);
	for (int i = 2; i < w->n; i++)
		if (!w->value[i] || !trace_cycles_value(w->value[i]))
			return fail_event(events, "expected signals with their values, a number or x each", err);
	return 0;
}

/* The last line says how many events came before it. */
static int take_end_of_trace(struct trace_events *events, struct npl_err *err)
{
	uint64_t count;
	if (!trace_read_count(events->words.word[1], &count))
		return fail_event(events, "expected the number of events of the trace", err);
	if (count != events->n)
		return npl_fail(err, NPL_EINPUT, "%s:%llu: %llu events have come, expected %llu",
				trace_in_path(events->in), (unsigned long long)trace_in_number(events->in),
				(unsigned long long)events->n, (unsigned long long)count);
	events->is_complete = true;
	return 0;
}

static int take(struct trace_events *events, struct trace_event *event, struct npl_err *err)
{
	switch (event->kind) {
	case TRACE_PROGRAM:
		events->in_program = true;
		events->layer = 0;
		return 0;
	case TRACE_OF:
		events->layer = npl_checksum(events->words.word[1], strlen(events->words.word[1]));
		return 0;
	case TRACE_BLOCK:
		return open_block(events, err);
	case TRACE_INSTRUCTION:
		return take_instruction(events, event, err);
	case TRACE_CYCLE:
		return check_cycle(events, err);
	case TRACE_END:
		if (events->left || *events->next_sum)
			return fail_event(events, "the program ends within a block", err);
		if (!trace_is_number(events->words.word[1], 18))
			return fail_event(events, "expected the cycles of the program", err);
		events->in_program = false;
		return 0;
	case TRACE_COMPLETE:
		return take_end_of_trace(events, err);
	case TRACE_LAYER:
	case TRACE_TASK:
	case TRACE_BATCH:
	case TRACE_EXECUTION:
	case TRACE_KINDS:
		break;
	}
	return 0;
}

size_t trace_bytes_of_words(const char *line, int n)
{
	size_t end = 0;
	for (const char *at = line; n; n--) {
		const char *word = at;
		if (*at == '"')
			for (at++; *at && *at != '"'; at++)
				at += *at == '\\' && at[1];
		while (*at && *at != ' ' && *at != '=')
			at++;
		if (*at == '=' || at == word)
			break;
		end = (size_t)(at - line);
		if (!*at)
			break;
		at++;
	}
	return end;
}

/* Finds the kind of a line whose words are known. */
static int kind_of(const struct trace_words *words)
{
	int kind = 0;
	while (kind < TRACE_KINDS && (!words->n || words->value[0] || strcmp(words->word[0], forms[kind].word) != 0))
		kind++;
	return kind;
}

/* Reads the words of a line. Instructions are nearly all of a trace: their words are read only where they differ. */
static int read_words(struct trace_events *events, const char *line, size_t bytes, int *kind, struct npl_err *err)
{
	struct trace_words *words = &events->words;
	const char *problem;
	*kind = TRACE_INSTRUCTION;
	if (line[0] == 'i' && line[1] == ' ')
		return 0;
	memcpy(words->text, line, bytes + 1);
	words->n = trace_split(words->text, words->word, words->value, TRACE_WORDS, &problem);
	if (words->n < 0)
		return fail_event(events, problem, err);
	*kind = kind_of(words);
	return *kind == TRACE_KINDS ? fail_event(events, "is no event of a trace", err)
				    : check_words(events, &forms[*kind], err);
}

/* Gives an event of a machine that has another name in another trace that name, where it identifies the event. What
 * identifies a program is its layers: its line has the name of the machine without a variant's parameters. The words of
 * the line are known, except those of an instruction. */
static int rename_device(struct trace_events *events, struct trace_event *event, struct npl_err *err)
{
	static const struct trace_name any = {.word = "-"};
	const int device = forms[event->kind].device;
	const struct trace_name *name = event->kind == TRACE_PROGRAM ? &any
					: device ? trace_find_name(events->names, events->words.word[device])
						 : NULL;
	free(event->renamed);
	event->renamed = NULL;
	if (!name)
		return 0;
	const size_t before = trace_bytes_of_words(event->line, device) + 1, word = strlen(name->word),
		     after = trace_bytes_of_words(event->line, device + 1);
	if (after > event->identifying || before > after)
		return fail_event(events, "expected the name of a device", err);
	const size_t bytes = before + word + event->identifying - after;
	if (!(event->renamed = malloc(bytes + 1)))
		return npl_no_memory(err);
	memcpy(event->renamed, event->line, before);
	memcpy(event->renamed + before, name->word, word);
	memcpy(event->renamed + before + word, event->line + after, event->identifying - after);
	event->renamed[bytes] = '\0';
	event->identifying = bytes;
	return 0;
}

static int read_event(struct trace_events *events, struct trace_event *event, bool *more, struct npl_err *err)
{
	char *line;
	size_t bytes;
	int kind;
	*more = false;
	if (trace_in_line(events->in, &line, &bytes, err))
		return err->code;
	if (!line)
		return events->is_complete
			       ? 0
			       : npl_fail(err, NPL_EINPUT, "%s: the trace is cut off: its last line is not `complete`",
					  trace_in_path(events->in));
	if (events->is_complete)
		return fail_event(events, "a line behind the end of the trace", err);
	if (!keep_line(event, line, bytes))
		return npl_no_memory(err);
	if (read_words(events, line, bytes, &kind, err))
		return err->code;
	if (forms[kind].in_program != events->in_program)
		return fail_event(events, events->in_program ? "comes within a program" : "comes outside of a program",
				  err);
	event->kind = (enum trace_kind)kind;
	events->n += !trace_is_between(event) && kind != TRACE_COMPLETE;
	event->number = trace_in_number(events->in);
	event->has_sum = false;
	event->layer = kind == TRACE_INSTRUCTION ? events->layer : 0;
	event->identifying = trace_bytes_of_words(line, forms[kind].identifying < 0 ? -1 : forms[kind].identifying + 1);
	if (rename_device(events, event, err) || take(events, event, err))
		return err->code;
	event->key = npl_checksum(event->renamed ? event->renamed : event->line, event->identifying);
	*more = true;
	return 0;
}

static bool has_detail(enum trace_kind kind, enum npl_trace_detail detail)
{
	return kind != TRACE_COMPLETE &&
	       (detail == NPL_TRACE_CYCLES || (detail == NPL_TRACE_LAYERS ? kind > TRACE_END : kind != TRACE_CYCLE));
}

int trace_events_next(struct trace_events *events, struct trace_event *event, bool *more, struct npl_err *err)
{
	int rc;
	do
		rc = read_event(events, event, more, err);
	while (!rc && *more && !has_detail(event->kind, events->detail));
	return rc;
}

/* Checks the words of an instruction; a word alone among the counters is compared, and not looked at here. */
static const char *check_instruction(struct trace_words *words)
{
	uint64_t count, length, sum = 0;
	int i = TRACE_FIRST_KEY;
	if (words->n < TRACE_FIRST_KEY)
		return "expected an instruction's name, unit, begin and length";
	const char *begin = words->word[TRACE_BEGIN];
	if ((*begin != '+' && *begin != '-') || !trace_read_count(begin + 1, &count))
		return "expected + or - and how many cycles after the one before the instruction begins";
	if (!trace_read_count(words->word[TRACE_LENGTH], &length))
		return "expected the cycles that the instruction takes";
	for (; i < words->n && sum < length && words->value[i] && trace_read_count(words->value[i], &count); i++)
		sum += count;
	if (sum != length)
		return "the classes of the instruction's cycles do not sum to its length";
	words->end_of_classes = i;
	for (; i < words->n; i++)
		if (words->value[i] && !trace_is_number(words->value[i], 20))
			return "expected whole numbers as the counters of an instruction";
	return NULL;
}

const char *trace_event_cut(const struct trace_event *event, struct trace_words *words)
{
	const char *problem;
	memcpy(words->text, event->line, event->bytes + 1);
	words->n = trace_split(words->text, words->word, words->value, TRACE_WORDS, &problem);
	return words->n < 0 || event->kind != TRACE_INSTRUCTION ? problem : check_instruction(words);
}

const char *trace_value(const struct trace_words *words, const char *key)
{
	for (int i = 0; i < words->n; i++)
		if (words->value[i] && !strcmp(words->word[i], key))
			return words->value[i];
	return NULL;
}
