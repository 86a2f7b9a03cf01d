/* SPDX-License-Identifier: MIT
 *
 * Prints a trace for people (npulab/run_trace.h). Rows are printed as they are read, in columns of fixed widths: a
 * trace may have millions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"
#include "core/base/refuse.h"
#include "events.h"
#include "header.h"

struct shown {
	FILE *out;
	const char *path;
	const struct npl_trace_choice *choice;
	struct trace_words words;
	uint64_t begin;  /* of the instruction that was read last, in its program */
	uint64_t number; /* of the next instruction in its program */
	uint64_t cycle;  /* of the signals that were read last, in their program */
	char *layer;     /* whose instructions come; NULL: none */
	bool chosen_layer, chosen_program, heading;
};

/* Writes texts up to NULL. Those of a trace may hold anything, and control no terminal. */
static void put_texts(FILE *out, const char *const *text)
{
	for (; *text; text++)
		npl_put_printable(out, *text);
}

static void put_head(FILE *out, const struct npl_trace_header *h)
{
	put_texts(out, (const char *const[]){h->command, " ", h->argument, NULL});
	for (int i = 0; i < h->option.n; i++)
		put_texts(out,
			  (const char *const[]){h->option.pair[i].name[1] ? " --" : " -", h->option.pair[i].name,
						*h->option.pair[i].value ? " " : "", h->option.pair[i].value, NULL});
	fputs("\n", out);
	put_texts(out, (const char *const[]){"by npulab ", h->version, NULL});
	fprintf(out, ", detail %s, %s values, %s times\n", npl_trace_detail_name(h->detail),
		h->has_values ? "with" : "without", h->has_times ? "with" : "without");
	for (int i = 0; i < h->reason.n; i++) {
		put_texts(out, (const char *const[]){h->reason.pair[i].name, ": ", h->reason.pair[i].value, NULL});
		fputs("\n", out);
	}
	for (int i = 0; i < h->n_machines; i++) {
		put_texts(out, (const char *const[]){h->machine[i].name, ": driver ", h->machine[i].driver, ", ",
						     h->machine[i].format, NULL});
		fprintf(out, ", %d parameters\n", h->machine[i].parameter.n);
	}
}

/* Prints the key=value from word i on. */
static void put_keys(const struct shown *s, int i)
{
	for (; i < s->words.n; i++)
		if (s->words.value[i] && strncmp(s->words.word[i], "joules:", 7) != 0)
			fprintf(s->out, " %s=%s", s->words.word[i], s->words.value[i]);
	fprintf(s->out, "\n");
}

static bool is_chosen(const struct shown *s, const char *name)
{
	return !s->choice->layer || (name && strstr(name, s->choice->layer));
}

static void put_instruction(struct shown *s, const struct trace_event *event)
{
	const struct npl_trace_choice *choice = s->choice;
	const uint64_t length = strtoull(s->words.word[4], NULL, 10), end = s->begin + length;
	if (!s->chosen_layer || (choice->unit && strcmp(choice->unit, s->words.word[2]) != 0) || end <= choice->from ||
	    (choice->until && s->begin >= choice->until))
		return;
	if (!s->heading)
		fprintf(s->out, "%9s %10s %10s  %-10s %-22s %s\n", "NUMBER", "FROM", "UNTIL", "UNIT", "INSTRUCTION",
			"CYCLES AND COUNTS");
	s->heading = true;
	fprintf(s->out, "%9" PRIu64 " %10" PRIu64 " %10" PRIu64 "  %-10s %-22s", s->number, s->begin, end,
		s->words.word[2], s->words.word[1]);
	if (event->has_sum)
		fprintf(s->out, " sum=%s", event->sum);
	put_keys(s, 5);
}

/* Prints the signals that change in a cycle. */
static void put_cycle(struct shown *s)
{
	const struct npl_trace_choice *choice = s->choice;
	uint64_t after;
	int n = 0;
	trace_cycles_after(s->words.word[1], &after);
	s->cycle += after;
	if (!s->chosen_program || s->cycle < choice->from || (choice->until && s->cycle >= choice->until))
		return;
	for (int i = 2; i < s->words.n; i++) {
		const char *name = s->words.word[i];
		if (choice->unit && strncmp(name, choice->unit, strlen(choice->unit)) != 0)
			continue;
		if (!n++)
			fprintf(s->out, "%20" PRIu64 " ", s->cycle);
		fprintf(s->out, " %s=%s", name, s->words.value[i]);
	}
	if (n)
		fprintf(s->out, "\n");
}

static void put_program(struct shown *s)
{
	fprintf(s->out, "\nprogram on %s:", s->words.word[1]);
	for (int i = 2; i < s->words.n; i++)
		fprintf(s->out, " %s", s->words.word[i]);
	fprintf(s->out, "\n");
	s->begin = s->number = s->cycle = 0;
	s->chosen_program = !s->choice->layer;
	for (int i = 2; i < s->words.n; i++)
		s->chosen_program |= is_chosen(s, s->words.word[i]);
	s->heading = false;
	s->chosen_layer = is_chosen(s, s->words.n == 2 ? "" : NULL);
}

static int put_event(struct shown *s, const struct trace_event *event, struct npl_err *err)
{
	trace_event_cut(event, &s->words);
	for (int i = 0; i < s->words.n; i++) {
		npl_make_printable(s->words.word[i]);
		if (s->words.value[i])
			npl_make_printable(s->words.value[i]);
	}
	if (s->words.n < 0 || (event->kind == TRACE_INSTRUCTION && s->words.n < 5))
		return npl_fail(err, NPL_EINPUT, "%s:%" PRIu64 ": the instruction lacks words", s->path, event->number);
	switch (event->kind) {
	case TRACE_PROGRAM:
		put_program(s);
		break;
	case TRACE_OF:
		s->chosen_layer = is_chosen(s, s->words.word[1]);
		if (s->chosen_layer)
			fprintf(s->out, "%s\n", s->words.word[1]);
		break;
	case TRACE_INSTRUCTION:
		s->begin += (uint64_t)strtoll(s->words.word[3], NULL, 10);
		put_instruction(s, event);
		s->number++;
		break;
	case TRACE_CYCLE:
		put_cycle(s);
		break;
	case TRACE_LAYER:
		if (!is_chosen(s, s->words.word[1]))
			break;
		fprintf(s->out, "%-20s %-12s %-12s %-6s", s->words.word[1], s->words.word[2], s->words.word[3],
			s->words.word[4]);
		put_keys(s, 5);
		break;
	case TRACE_TASK:
		if (!is_chosen(s, s->words.word[3]))
			break;
		fprintf(s->out, "%-20s %-12s %-12s task  ", s->words.word[3], s->words.word[1], s->words.word[2]);
		put_keys(s, 4);
		break;
	case TRACE_END:
	case TRACE_BATCH:
	case TRACE_EXECUTION:
		fprintf(s->out, "%s%s%s", s->words.word[0], s->words.n > 1 && !s->words.value[1] ? " " : "",
			s->words.n > 1 && !s->words.value[1] ? s->words.word[1] : "");
		put_keys(s, 1);
		break;
	case TRACE_BLOCK:
	case TRACE_KINDS:
		break;
	}
	return 0;
}

static int show(struct trace_in *in, struct shown *s, struct npl_err *err)
{
	struct trace_events *events;
	struct trace_event event = {0};
	bool more = true;
	int rc = trace_events_open(in, &events, err);
	while (!rc && more) {
		rc = trace_events_next(events, &event, &more, err);
		if (!rc && more)
			rc = put_event(s, &event, err);
	}
	trace_event_free(&event);
	trace_events_close(events);
	return rc;
}

int npl_trace_show(FILE *out, const char *path, const struct npl_trace_choice *choice, struct npl_err *err)
{
	struct trace_in *in;
	struct npl_trace_header header;
	struct shown *s = calloc(1, sizeof *s);
	if (!s)
		return npl_no_memory(err);
	s->out = out;
	s->path = path;
	s->choice = choice;
	int rc = trace_in_open(path, &in, err);
	if (!rc) {
		rc = trace_header_read(in, &header, err);
		if (!rc) {
			put_head(out, &header);
			rc = show(in, s, err);
			npl_trace_header_free(&header);
		}
		trace_in_close(in);
	}
	free(s);
	return rc;
}
