/* SPDX-License-Identifier: MIT
 *
 * Lines of signals (cycles.h). */
#include "cycles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"

/* A line has at most so many changes, and leaves room for one more; others of the cycle are in a line `+0`. */
enum { MOST_CHANGES = TRACE_WORDS - 2, ROOM = NPL_SIGNAL_NAME + 32 };

static int on_signals(void *context, const struct npl_signal *signal, int n, int64_t clock_hz, struct npl_err *err)
{
	struct trace_cycles *cycles = context;
	(void)n;
	(void)clock_hz;
	(void)err;
	cycles->signal = signal;
	cycles->previous = 0;
	return 0;
}

static void begin_line(struct trace_cycles *cycles, uint64_t cycle)
{
	char after[24];
	snprintf(after, sizeof after, "+%" PRIu64, cycle - cycles->previous);
	trace_line_begin(cycles->line, "c");
	trace_line_word(cycles->line, after);
	cycles->previous = cycle;
}

static void put_change(struct trace_line *line, const char *name, const struct npl_signal_change *change)
{
	char value[24] = "x";
	if (change->is_known)
		snprintf(value, sizeof value, "%" PRId64, change->value);
	trace_line_key(line, name);
	trace_line_put_word(line, value);
}

static int on_cycle(void *context, uint64_t cycle, const struct npl_signal_change *change, int n, struct npl_err *err)
{
	struct trace_cycles *cycles = context;
	(void)err;
	begin_line(cycles, cycle);
	for (int i = 0, in_line = 0; i < n; i++, in_line++) {
		if (in_line == MOST_CHANGES || sizeof cycles->line->text - cycles->line->n < ROOM) {
			trace_line_end(cycles->line, cycles->out);
			begin_line(cycles, cycle);
			in_line = 0;
		}
		put_change(cycles->line, cycles->signal[change[i].signal].name, &change[i]);
	}
	trace_line_end(cycles->line, cycles->out);
	return 0;
}

void trace_cycles_open(struct trace_cycles *cycles, const char *choice, struct trace_line *line, struct trace_out *out)
{
	*cycles = (struct trace_cycles){
		.sink = {.choice = choice, .on_signals = on_signals, .on_cycle = on_cycle, .context = cycles},
		.line = line,
		.out = out};
}

bool trace_cycles_after(const char *word, uint64_t *cycles)
{
	*cycles = strtoull(word + (*word == '+'), NULL, 10);
	return *word == '+' && trace_is_number(word + 1, 19);
}

bool trace_cycles_value(const char *text)
{
	return !strcmp(text, "x") || trace_is_number(text + (*text == '-'), 19);
}

/* Returns the next word of a line, NULL at its end, and how many bytes of it are the name. */
static const char *next_name(const char *at, size_t *bytes)
{
	at += strcspn(at, " ");
	if (!*at)
		return NULL;
	at++;
	*bytes = strcspn(at, "= ");
	return at;
}

bool trace_cycles_same_signals(const char *a, const char *b)
{
	size_t n, m;
	/* The first word is the kind and the second one the cycle. */
	a = next_name(a, &n);
	b = next_name(b, &m);
	while (a && b) {
		a = next_name(a, &n);
		b = next_name(b, &m);
		if (a && b && (n != m || memcmp(a, b, n) != 0))
			return false;
	}
	return !a && !b;
}
