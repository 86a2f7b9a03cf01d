/* SPDX-License-Identifier: MIT
 *
 * Prints a trace for people (npulab/run_trace.h). Rows are printed as they are read, in columns of fixed widths: a
 * trace may have millions. What a row has beside its columns follows as key=value, in lines of WIDTH columns at most
 * where words are not longer. Where another width was set (text_style.h), columns that pass it go on in the next
 * line. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chosen.h"
#include "core/base/arith.h"
#include "core/base/printable.h"
#include "core/base/refuse.h"
#include "events.h"
#include "header.h"
#include "reports/format/text_style.h"

enum { WIDTH = 98, INDENT = 12, HEAD_WIDTH = 80 };

/* The columns of a row of a layer, a task or a batch: number of the line, name, operator, device, role, start, time. As
 * for printf, a negative width aligns to the left. */
enum { ROW_CELLS = 7 };
static const int row_width[ROW_CELLS] = {9, -20, -14, -14, -6, 12, 12};
static const int narrow_row_width[ROW_CELLS] = {9, -14, -14, -10, -6, 10, 10};
enum { WIDE_ROW = 94 };

struct shown {
	FILE *out;
	const char *path;
	const struct npl_trace_choice *choice;
	struct trace_chosen chosen;
	const struct npl_trace_header *header;
	struct trace_words words;                /* of the event that was read last */
	struct trace_words program;              /* of the line of its program */
	char layer[TRACE_LINE];                  /* whose instructions come; "": none */
	uint64_t line, program_line, layer_line; /* of the file: of the event, the program and the layer */
	uint64_t begin;                          /* of the instruction that was read last, in its program */
	uint64_t cycle;                          /* of the signals that were read last, in their program */
	double row_start, task_start;            /* of those that were read last, in their batch */
	bool chosen_layer, chosen_program;
	/* What has been printed: the head, and the line of the program and of the layer that events are of. */
	bool has_head, has_program, has_layer;
	bool has_heading[3]; /* of instructions, signals, rows */
	int column;          /* of the line that is being printed */
};
enum heading { OF_INSTRUCTIONS, OF_SIGNALS, OF_ROWS };

/* ---- Words and figures. */

/* Writes the texts up to NULL. The texts of a trace may hold any bytes: those that control a terminal are replaced. */
static void put_texts(FILE *out, const char *const *text)
{
	for (; *text; text++)
		npl_put_printable(out, *text);
}

/* Returns the columns of a line. */
static int line_width(void)
{
	return npl_text_must_fit() ? npl_text_columns() : WIDTH;
}

static void continue_line(struct shown *s, int indent)
{
	fprintf(s->out, "\n%*s", indent, "");
	s->column = indent;
}

/* Puts a cell behind some blanks. Where a width was set, one that would pass the end begins a line. */
static void put_cell(struct shown *s, const char *blanks, int width, const char *text)
{
	const int needed = (int)strlen(blanks) + npl_text_width(text);
	if (npl_text_must_fit() && s->column > INDENT && s->column + needed > line_width())
		continue_line(s, INDENT);
	s->column += fprintf(s->out, "%s%*s", blanks, width, text);
}

/* Puts the cells of a row. Where a width was set, a name that is wider than its column has a line of its own. */
static void put_row_cells(struct shown *s, const char *const cell[ROW_CELLS])
{
	enum { NAME = 1 };
	const int *width = line_width() < WIDE_ROW ? narrow_row_width : row_width;
	s->column = 0;
	for (int i = 0; i < ROW_CELLS; i++) {
		put_cell(s, i == 0 ? "" : i == NAME ? "  " : " ", width[i], cell[i]);
		if (i == NAME && npl_text_must_fit() && npl_text_width(cell[i]) > -width[i])
			continue_line(s, width[0] + 2 - width[NAME]);
	}
}

/* Puts a word, or key=value, behind a blank, in a new line where it would pass the last column. value NULL: a word. */
static void put_pair(struct shown *s, int key_bytes, const char *key, const char *value)
{
	const int width = key[key_bytes] ? key_bytes : npl_text_width(key),
		  all = 1 + width + (value ? 1 + npl_text_width(value) : 0);
	if (s->column + all > line_width() && s->column > INDENT)
		continue_line(s, INDENT);
	fprintf(s->out, " %.*s%s%s", key_bytes, key, value ? "=" : "", value ? value : "");
	s->column += all;
}

static void put_word(struct shown *s, const char *word)
{
	put_pair(s, (int)strlen(word), word, NULL);
}

static void end_row(struct shown *s)
{
	fputs("\n", s->out);
	s->column = 0;
}

/* Writes a figure with a prefix of its unit, in six digits: "21.6443 us". "-": it is 0, as what a trace leaves out. */
static const char *figure_text(char *buf, size_t n, double value, const char *unit)
{
	static const char *const prefix[] = {"", "m", "u", "n", "p", "f"};
	int i = 0;
	if (value == 0 || !isfinite(value)) {
		snprintf(buf, n, "-");
		return buf;
	}
	for (; i < 5 && fabs(value) < 0.9999995; i++)
		value *= 1000;
	snprintf(buf, n, "%.6g %s%s", value, prefix[i], unit);
	return buf;
}

static double real_of(const struct shown *s, const char *key)
{
	const char *value = trace_value(&s->words, key);
	return value ? strtod(value, NULL) : 0;
}

#define ENERGY "joules:"
static bool is_energy(const char *key)
{
	return !strncmp(key, ENERGY, sizeof ENERGY - 1);
}

/* Puts a key of a time without the word for its unit, since the figure has it. */
static bool put_seconds(struct shown *s, const char *key, const char *value)
{
	static const char unit[] = "_seconds";
	const size_t n = strlen(key), m = sizeof unit - 1;
	char figure[60];
	if (n <= m || strcmp(key + n - m, unit) != 0)
		return false;
	put_pair(s, (int)(n - m), key, figure_text(figure, sizeof figure, strtod(value, NULL), "s"));
	return true;
}

/* Puts the key=value from word `first` on. Those that a row has columns for, and energies, are left out. */
static void put_keys(struct shown *s, int first)
{
	for (int i = first; i < s->words.n; i++) {
		const char *key = s->words.word[i], *value = s->words.value[i];
		if (value && !is_energy(key) && strcmp(key, "start") != 0 && strcmp(key, "seconds") != 0 &&
		    !put_seconds(s, key, value))
			put_pair(s, (int)strlen(key), key, value);
	}
	end_row(s);
}

/* Puts the energies of the event in lines of their own: their sum, and each component's. */
static void put_energies(struct shown *s)
{
	char figure[60];
	double joules = 0;
	for (int i = 0; i < s->words.n; i++)
		if (s->words.value[i] && is_energy(s->words.word[i]))
			joules += strtod(s->words.value[i], NULL);
	if (joules == 0)
		return;
	fprintf(s->out, "%*s", INDENT, "");
	s->column = INDENT;
	put_pair(s, 6, "energy", figure_text(figure, sizeof figure, joules, "J"));
	for (int i = 0; i < s->words.n; i++) {
		const char *key = s->words.word[i], *value = s->words.value[i];
		if (!value || !is_energy(key))
			continue;
		key += sizeof ENERGY - 1;
		put_pair(s, (int)strlen(key), key, figure_text(figure, sizeof figure, strtod(value, NULL), "J"));
	}
	end_row(s);
}

/* ---- The head. */

static void put_parameters(FILE *out, const struct npl_trace_pairs *parameter)
{
	for (int i = 0; i < parameter->n; i++) {
		put_texts(out,
			  (const char *const[]){"  ", parameter->pair[i].name, " ", parameter->pair[i].value, NULL});
		fputs("\n", out);
	}
}

/* Prints a text in lines of HEAD_WIDTH columns at most where its words are not longer. */
static void put_wrapped(FILE *out, char *text)
{
	int column = 0;
	for (char *word; (word = strsep(&text, " "));) {
		const int width = npl_text_width(word);
		const bool fits = column + 1 + width <= HEAD_WIDTH;
		fprintf(out, "%s%s", !column ? "" : fits ? " " : "\n  ", word);
		column = !column ? width : fits ? column + 1 + width : 2 + width;
	}
	fputs("\n", out);
}

/* Prints "KIND NAME: VALUE" for each pair; one for which memory is short is not wrapped. */
static void put_pairs(FILE *out, const char *kind, const struct npl_trace_pairs *pairs)
{
	for (int i = 0; i < pairs->n; i++) {
		const char *name = pairs->pair[i].name, *value = pairs->pair[i].value;
		char *text;
		if (asprintf(&text, "%s %s: %s", kind, name, value) < 0) {
			put_texts(out, (const char *const[]){kind, " ", name, ": ", value, NULL});
			fputs("\n", out);
			continue;
		}
		put_wrapped(out, npl_make_printable(text));
		free(text);
	}
}

/* Puts a word of the command behind a blank. Where a width was set, one that would pass the end begins a line. */
static void put_argument(struct shown *s, const char *before, const char *word)
{
	const int needed = (int)strlen(before) + npl_text_width(word);
	if (npl_text_must_fit() && s->column + needed > line_width())
		continue_line(s, 1);
	put_texts(s->out, (const char *const[]){before, word, NULL});
	s->column += needed;
}

static void put_command(struct shown *s)
{
	const struct npl_trace_header *h = s->header;
	put_argument(s, "", h->command);
	put_argument(s, " ", h->argument);
	for (int i = 0; i < h->option.n; i++) {
		put_argument(s, h->option.pair[i].name[1] ? " --" : " -", h->option.pair[i].name);
		if (*h->option.pair[i].value)
			put_argument(s, " ", h->option.pair[i].value);
	}
	end_row(s);
}

static void put_head(struct shown *s)
{
	const struct npl_trace_header *h = s->header;
	FILE *out = s->out;
	if (s->has_head)
		return;
	s->has_head = true;
	put_command(s);
	put_texts(out, (const char *const[]){"by npulab ", h->version, NULL});
	fprintf(out, ", detail %s, %s values, %s times\n", npl_trace_detail_name(h->detail),
		h->has_values ? "with" : "without", h->has_times ? "with" : "without");
	for (int i = 0; i < h->reason.n; i++) {
		put_texts(out, (const char *const[]){h->reason.pair[i].name, ": ", h->reason.pair[i].value, NULL});
		fputs("\n", out);
	}
	put_pairs(out, "file", &h->file);
	put_pairs(out, "environment", &h->environment);
	for (int i = 0; i < h->n_machines; i++) {
		put_texts(out, (const char *const[]){h->machine[i].name, ": driver ", h->machine[i].driver, ", ",
						     h->machine[i].format, NULL});
		fprintf(out, ", %d parameters\n", h->machine[i].parameter.n);
		if (s->choice->parameters)
			put_parameters(out, &h->machine[i].parameter);
	}
}

/* ---- What stands before events. */

static bool is_all(const struct npl_trace_choice *choice)
{
	return !choice->layer && !choice->line && !trace_chosen_within_programs(choice);
}

static void put_program(struct shown *s)
{
	if (s->has_program)
		return;
	s->has_program = true;
	fputs("\n", s->out);
	s->column = fprintf(s->out, "%9" PRIu64 "  program", s->program_line);
	put_word(s, "on");
	put_word(s, s->program.word[1]);
	if (s->program.n > 2)
		put_word(s, "of");
	for (int i = 2; i < s->program.n; i++)
		put_word(s, s->program.word[i]);
	end_row(s);
}

static void put_layer(struct shown *s)
{
	if (!s->has_layer && *s->layer)
		fprintf(s->out, "%9" PRIu64 "  of %s\n", s->layer_line, s->layer);
	s->has_layer = true;
}

/* Prints what stands before an event: the head, the event's program, and the heading of its columns. */
static void begin_row(struct shown *s, enum heading heading)
{
	static const char *const text[] = {
		[OF_INSTRUCTIONS] =
			"     LINE       FROM      UNTIL  UNIT       INSTRUCTION        CYCLES AND COUNTS\n",
		[OF_SIGNALS] = "     LINE      CYCLE  SIGNALS\n",
		[OF_ROWS] = "\n"};
	static const char *const row_heading[] = {"LINE", "LAYER", "OPERATOR, TASK", "RAN ON", "ROLE", "START", "TIME"};
	put_head(s);
	if (heading != OF_ROWS)
		put_program(s);
	if (!s->has_heading[heading])
		fputs(text[heading], s->out);
	if (!s->has_heading[heading] && heading == OF_ROWS) {
		put_row_cells(s, row_heading);
		end_row(s);
	}
	s->has_heading[heading] = true;
	if (heading == OF_INSTRUCTIONS)
		put_layer(s);
}

/* ---- Events. */

/* Says whether the event is near the line that was asked for. */
static bool is_near(const struct shown *s)
{
	const uint64_t line = s->choice->line;
	return !line || (s->line + NPL_TRACE_LINES_AROUND >= line && s->line <= line + NPL_TRACE_LINES_AROUND);
}

static void put_instruction(struct shown *s, const struct trace_event *event)
{
	const uint64_t length = strtoull(s->words.word[TRACE_LENGTH], NULL, 10), end = s->begin + length;
	const bool fits = trace_chosen_unit(&s->chosen, s->words.word[TRACE_UNIT]);
	if (!fits || !s->chosen_layer || !is_near(s) || !trace_chosen_cycles(&s->chosen, s->begin, end))
		return;
	s->chosen.events++;
	begin_row(s, OF_INSTRUCTIONS);
	s->column = fprintf(s->out, "%9" PRIu64 " %10" PRIu64 " %10" PRIu64 "  %-10s", s->line, s->begin, end,
			    s->words.word[TRACE_UNIT]);
	put_cell(s, " ", -18, s->words.word[TRACE_NAME]);
	if (event->has_sum)
		put_pair(s, 3, "sum", event->sum);
	put_keys(s, TRACE_FIRST_KEY);
}

/* Prints the signals that change in a cycle. */
static void put_cycle(struct shown *s)
{
	uint64_t after;
	int n = 0;
	trace_cycles_after(s->words.word[1], &after);
	s->cycle += after;
	for (int i = 2; i < s->words.n; i++) {
		const char *name = s->words.word[i];
		const bool fits = trace_chosen_signal(&s->chosen, name);
		if (!fits || !s->chosen_program || !is_near(s) ||
		    !trace_chosen_cycles(&s->chosen, s->cycle, s->cycle + 1))
			continue;
		if (!n++) {
			begin_row(s, OF_SIGNALS);
			s->column = fprintf(s->out, "%9" PRIu64 " %10" PRIu64 " ", s->line, s->cycle);
		}
		put_pair(s, (int)strlen(name), name, s->words.value[i]);
	}
	s->chosen.events += n > 0;
	if (n)
		end_row(s);
}

static void open_program(struct shown *s)
{
	s->program = s->words;
	for (int i = 0; i < s->words.n; i++) /* The words point into the text that has been copied. */
		s->program.word[i] = s->program.text + (s->words.word[i] - s->words.text);
	s->program_line = s->line;
	s->begin = s->cycle = 0;
	s->chosen_program = !s->choice->layer;
	for (int i = 2; i < s->words.n; i++)
		s->chosen_program |= trace_chosen_layer(&s->chosen, s->words.word[i]);
	s->chosen_layer = !s->choice->layer;
	s->layer[0] = '\0';
	s->has_program = false;
	if (is_all(s->choice))
		put_program(s);
}

static void open_layer(struct shown *s)
{
	const char *name = s->words.word[1];
	s->chosen_layer = trace_chosen_layer(&s->chosen, name);
	snprintf(s->layer, sizeof s->layer, "%s", name);
	s->layer_line = s->line;
	s->has_layer = false;
}

/* Prints a row of a layer, a task or a whole batch: its names, its times, and what else it has. The start of a row is
 * counted from that of the row before it; `start` sums them up. */
static void put_row(struct shown *s, const char *const name[4], double *start, int first_key)
{
	char number[24], from[60] = "-", time[60];
	const bool has_start = start && s->header->has_times;
	if (start)
		*start += real_of(s, "start");
	if (!trace_chosen_layer(&s->chosen, s->choice->layer ? name[0] : NULL) || !is_near(s) ||
	    trace_chosen_within_programs(s->choice))
		return;
	s->chosen.events++;
	begin_row(s, OF_ROWS);
	if (has_start) /* Sums of distances lose their last bits. */
		snprintf(from, sizeof from, "0 s");
	if (has_start && fabs(*start) > 1e-15)
		figure_text(from, sizeof from, *start, "s");
	snprintf(number, sizeof number, "%" PRIu64, s->line);
	figure_text(time, sizeof time, real_of(s, "seconds"), "s");
	put_row_cells(s, (const char *const[ROW_CELLS]){number, name[0], name[1], name[2], name[3], from, time});
	put_keys(s, first_key);
	put_energies(s);
}

/* Prints the row of a batch or of a program's end, which is of no layer. */
static void put_whole(struct shown *s, const char *name, int first_key)
{
	if (!s->choice->layer)
		put_row(s, (const char *const[]){name, "", "", ""}, NULL, first_key);
}

static int put_event(struct shown *s, const struct trace_event *event, struct npl_err *err)
{
	char text[60];
	const char *const *word = (const char *const *)s->words.word;
	const char *problem = trace_event_cut(event, &s->words);
	for (int i = 0; i < s->words.n; i++) {
		npl_make_printable(s->words.word[i]);
		if (s->words.value[i])
			npl_make_printable(s->words.value[i]);
	}
	if (problem)
		return npl_fail(err, NPL_EINPUT, "%s:%" PRIu64 ": %s", s->path, event->number, problem);
	s->line = event->number;
	switch (event->kind) {
	case TRACE_PROGRAM:
		open_program(s);
		break;
	case TRACE_OF:
		open_layer(s);
		break;
	case TRACE_INSTRUCTION:
		s->begin += (uint64_t)strtoll(word[TRACE_BEGIN], NULL, 10);
		put_instruction(s, event);
		break;
	case TRACE_CYCLE:
		put_cycle(s);
		break;
	case TRACE_END:
		s->chosen.longest = npl_max_u64(s->chosen.longest, strtoull(word[1], NULL, 10));
		snprintf(text, sizeof text, "end, cycle %.20s", word[1]);
		put_whole(s, text, 2);
		break;
	case TRACE_LAYER:
		put_row(s, (const char *const[]){word[1], word[2], word[3], word[4]}, &s->row_start, 5);
		break;
	case TRACE_TASK:
		put_row(s, (const char *const[]){word[3], word[1], word[2], "task"}, &s->task_start, 4);
		break;
	case TRACE_BATCH:
		snprintf(text, sizeof text, "batch %.20s", word[1]);
		put_whole(s, text, 2);
		s->row_start = s->task_start = 0;
		break;
	case TRACE_EXECUTION:
		put_whole(s, "execution", 1);
		break;
	case TRACE_BLOCK:
	case TRACE_COMPLETE:
	case TRACE_KINDS:
		break;
	}
	return 0;
}

/* ---- The trace. */

/* Refuses a choice that left nothing. */
static int check_choice(const struct shown *s, uint64_t first, uint64_t last, struct npl_err *err)
{
	const uint64_t line = s->choice->line;
	if (line && (line < first || line > last))
		return npl_fail(err, NPL_EUSAGE,
				"%s: line %" PRIu64 " is no event: they are in lines %" PRIu64 " to %" PRIu64, s->path,
				line, first, last);
	return trace_chosen_check(&s->chosen, s->path, err);
}

static int show(struct trace_in *in, struct shown *s, struct npl_err *err)
{
	struct trace_events *events;
	struct trace_event event = {0};
	bool more = true;
	const uint64_t first = trace_in_number(in) + 1;
	int rc = trace_events_open(in, &events, err);
	if (!rc && is_all(s->choice))
		put_head(s);
	while (!rc && more) {
		rc = trace_events_next(events, &event, &more, err);
		if (!rc && more)
			rc = put_event(s, &event, err);
	}
	if (!rc)
		rc = check_choice(s, first, trace_in_number(in), err);
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
	s->choice = s->chosen.choice = choice;
	s->header = &header;
	int rc = trace_in_open_once(path, &in, err);
	if (!rc) {
		s->path = trace_in_path(in);
		rc = trace_header_read(in, &header, err);
		if (!rc) {
			rc = show(in, s, err);
			npl_trace_header_free(&header);
		}
		trace_in_close(in);
	}
	trace_chosen_free(&s->chosen);
	free(s);
	return rc;
}
