/* SPDX-License-Identifier: MIT
 *
 * The head of a trace: written and read. Keys come in one order, and each line has one of them. */
#include "header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "text.h"

const char *npl_trace_detail_name(enum npl_trace_detail detail)
{
	static const char *const names[] = {"layers", "instructions", "cycles"};
	_Static_assert(sizeof names / sizeof *names == NPL_TRACE_DETAILS, "each detail has a name");
	return names[detail];
}

void *trace_grown(struct npl_arena *arena, void *array, int n, int *capacity, size_t size)
{
	if (n < *capacity)
		return array;
	const int more = *capacity ? 2 * *capacity : 8;
	void *copy = npl_arena_alloc(arena, (size_t)more * size);
	if (copy && n)
		memcpy(copy, array, (size_t)n * size);
	if (copy)
		*capacity = more;
	return copy;
}

int npl_trace_add(struct npl_trace_header *header, struct npl_trace_pairs *pairs, const char *name, const char *value,
		  struct npl_err *err)
{
	struct npl_trace_pair *pair = trace_grown(&header->arena, pairs->pair, pairs->n, &pairs->capacity,
						  sizeof *pairs->pair);
	if (!pair)
		return npl_no_memory(err);
	pairs->pair = pair;
	pair[pairs->n].name = npl_arena_strdup(&header->arena, name);
	pair[pairs->n].value = npl_arena_strdup(&header->arena, value);
	if (!pair[pairs->n].name || !pair[pairs->n].value)
		return npl_no_memory(err);
	pairs->n++;
	return 0;
}

struct npl_trace_machine *trace_header_machine(struct npl_trace_header *header, const char *name, const char *driver,
					       const char *sha256, const char *format)
{
	struct npl_arena *arena = &header->arena;
	struct npl_trace_machine *machine = trace_grown(arena, header->machine, header->n_machines,
							&header->machine_capacity, sizeof *machine);
	if (!machine)
		return NULL;
	header->machine = machine;
	machine += header->n_machines;
	*machine = (struct npl_trace_machine){.name = npl_arena_strdup(arena, name),
					      .driver = npl_arena_strdup(arena, driver),
					      .sha256 = npl_arena_strdup(arena, sha256),
					      .format = npl_arena_strdup(arena, format)};
	if (!machine->name || !machine->driver || !machine->sha256 || !machine->format)
		return NULL;
	header->n_machines++;
	return machine;
}

void npl_trace_header_free(struct npl_trace_header *header)
{
	npl_arena_free(&header->arena);
	*header = (struct npl_trace_header){0};
}

/* Of a head, which is kept in memory and whose names are compared with each other: a head from elsewhere costs no more
 * than this. A machine has about a hundred parameters. */
enum { MOST_LINES = 50000, MOST_MACHINES = 256, MOST_PAIRS = 1000 };

/* Lines of the head. The first has MAGIC and the format, and the last is END. */
#define MAGIC "npulab-trace"
#define END   "events"

struct writer {
	struct trace_line *line;
	struct trace_out *out;
};

static void write_line(const struct writer *w, const char *key, int n, const char *const *word)
{
	trace_line_begin(w->line, key);
	for (int i = 0; i < n; i++)
		trace_line_word(w->line, word[i]);
	trace_line_end(w->line, w->out);
}
#define WRITE(w, key, ...)                                                                                             \
	write_line(w, key, (int)(sizeof(const char *[]){__VA_ARGS__} / sizeof(const char *)),                          \
		   (const char *const[]){__VA_ARGS__})

static void write_pairs(const struct writer *w, const char *key, const struct npl_trace_pairs *pairs)
{
	for (int i = 0; i < pairs->n; i++)
		WRITE(w, key, pairs->pair[i].name, pairs->pair[i].value);
}

void trace_header_write(const struct npl_trace_header *header, struct trace_line *line, struct trace_out *out)
{
	const struct writer w = {line, out};
	trace_line_begin(line, MAGIC);
	trace_line_number(line, NPL_TRACE_FORMAT);
	trace_line_end(line, out);
	WRITE(&w, "npulab", header->version);
	write_pairs(&w, "reason", &header->reason);
	WRITE(&w, "run", header->command, header->argument);
	write_pairs(&w, "option", &header->option);
	write_pairs(&w, "file", &header->file);
	WRITE(&w, "detail", npl_trace_detail_name(header->detail));
	WRITE(&w, "values", header->has_values ? "yes" : "no");
	WRITE(&w, "times", header->has_times ? "yes" : "no");
	write_pairs(&w, "environment", &header->environment);
	for (int i = 0; i < header->n_machines; i++) {
		const struct npl_trace_machine *machine = &header->machine[i];
		WRITE(&w, "machine", machine->name, machine->driver, machine->format, machine->sha256);
		write_pairs(&w, "parameter", &machine->parameter);
	}
	WRITE(&w, END, "follow");
}

/* A head that is being read. */
struct reader {
	struct trace_in *in;
	struct npl_trace_header *header;
	char *word[8], *value[8]; /* of the line that was read last */
	int n, order;             /* order: of the key that was read last */
	struct npl_err *err;
};

static int fail_line(const struct reader *r, const char *expected)
{
	return npl_fail(r->err, NPL_EINPUT, "%s:%llu: %s", trace_in_path(r->in),
			(unsigned long long)trace_in_number(r->in), expected);
}

static int read_version(struct reader *r)
{
	return (r->header->version = npl_arena_strdup(&r->header->arena, r->word[1])) ? 0 : npl_no_memory(r->err);
}

static int read_run(struct reader *r)
{
	r->header->command = npl_arena_strdup(&r->header->arena, r->word[1]);
	r->header->argument = npl_arena_strdup(&r->header->arena, r->word[2]);
	return r->header->command && r->header->argument ? 0 : npl_no_memory(r->err);
}

static int fail_again(const struct reader *r)
{
	char text[200];
	snprintf(text, sizeof text, "%s %.100s comes again, expected it once", r->word[0], r->word[1]);
	return fail_line(r, text);
}

static int read_pair(struct reader *r, struct npl_trace_pairs *pairs)
{
	char text[80];
	if (pairs->n < MOST_PAIRS)
		return npl_trace_add(r->header, pairs, r->word[1], r->word[2], r->err);
	snprintf(text, sizeof text, "more than %d lines %s", MOST_PAIRS, r->word[0]);
	return fail_line(r, text);
}

/* Reads a pair whose name the others do not have. */
static int read_single(struct reader *r, struct npl_trace_pairs *pairs)
{
	for (int i = 0; i < pairs->n; i++)
		if (!strcmp(pairs->pair[i].name, r->word[1]))
			return fail_again(r);
	return read_pair(r, pairs);
}

static int read_reason(struct reader *r)
{
	return npl_trace_add(r->header, &r->header->reason, r->word[1], r->word[2], r->err);
}

static int read_option(struct reader *r)
{
	return read_pair(r, &r->header->option);
}

static int read_file(struct reader *r)
{
	return read_pair(r, &r->header->file);
}

static int read_environment(struct reader *r)
{
	return read_single(r, &r->header->environment);
}

static int read_detail(struct reader *r)
{
	for (enum npl_trace_detail d = 0; d < NPL_TRACE_DETAILS; d++)
		if (!strcmp(r->word[1], npl_trace_detail_name(d))) {
			r->header->detail = d;
			return 0;
		}
	return fail_line(r, "a detail that npulab does not know, expected layers, instructions or cycles");
}

static int read_flag(struct reader *r, bool *flag)
{
	*flag = !strcmp(r->word[1], "yes");
	return *flag || !strcmp(r->word[1], "no") ? 0 : fail_line(r, "expected yes or no");
}

static int read_values(struct reader *r)
{
	return read_flag(r, &r->header->has_values);
}

static int read_times(struct reader *r)
{
	return read_flag(r, &r->header->has_times);
}

static int read_machine(struct reader *r)
{
	char text[80];
	for (int i = 0; i < r->header->n_machines; i++)
		if (!strcmp(r->header->machine[i].name, r->word[1]))
			return fail_again(r);
	if (r->header->n_machines == MOST_MACHINES) {
		snprintf(text, sizeof text, "more than %d machines", MOST_MACHINES);
		return fail_line(r, text);
	}
	return trace_header_machine(r->header, r->word[1], r->word[2], r->word[4], r->word[3]) ? 0
											       : npl_no_memory(r->err);
}

static int read_parameter(struct reader *r)
{
	if (!r->header->n_machines)
		return fail_line(r, "a parameter before any machine");
	return read_single(r, &r->header->machine[r->header->n_machines - 1].parameter);
}

/* The keys in their order. A key that may come again has those of its own order after it, too. */
static const struct key {
	const char *name;
	int words, order;
	bool repeats;
	int (*read)(struct reader *r);
} keys[] = {
	{"npulab", 1, 1, false, read_version},
	{"reason", 2, 2, true, read_reason},
	{"run", 2, 3, false, read_run},
	{"option", 2, 4, true, read_option},
	{"file", 2, 5, true, read_file},
	{"detail", 1, 6, false, read_detail},
	{"values", 1, 7, false, read_values},
	{"times", 1, 8, false, read_times},
	{"environment", 2, 9, true, read_environment},
	{"machine", 4, 10, true, read_machine},
	{"parameter", 2, 10, true, read_parameter},
	{END, 1, 11, false, NULL},
};
enum { LAST_ORDER = 11, KEYS = sizeof keys / sizeof *keys };

static const struct key *find_key(const char *word)
{
	for (int i = 0; i < KEYS; i++)
		if (!strcmp(word, keys[i].name))
			return &keys[i];
	return NULL;
}

/* Returns the name of a key that a head must have and that belongs between the keys with the orders `last` and `next`;
 * NULL: there is none. */
static const char *missing_between(int last, int next)
{
	for (int i = 0; i < KEYS; i++)
		if (!keys[i].repeats && keys[i].order > last && keys[i].order < next)
			return keys[i].name;
	return NULL;
}

static int read_line(struct reader *r)
{
	char *line, text[120];
	size_t bytes;
	const char *problem;
	if (trace_in_line(r->in, &line, &bytes, r->err))
		return r->err->code;
	if (!line)
		return npl_fail(r->err, NPL_EINPUT, "%s: the file ends within the head of the trace",
				trace_in_path(r->in));
	if (trace_in_number(r->in) > MOST_LINES)
		return fail_line(r, "the head is too long");
	r->n = trace_split(line, r->word, r->value, 8, &problem);
	if (r->n < 0)
		return fail_line(r, problem);
	for (int i = 0; i < r->n; i++)
		if (r->value[i])
			return fail_line(r, "key=value, expected words in the head of a trace");
	const struct key *key = r->n ? find_key(r->word[0]) : NULL;
	if (!key)
		return fail_line(r, "a key that the head of a trace does not have");
	if (r->n != key->words + 1) {
		snprintf(text, sizeof text, "%s has %d words, expected %d", key->name, r->n - 1, key->words);
		return fail_line(r, text);
	}
	const char *missing = missing_between(r->order, key->order);
	if (missing || key->order < r->order || (key->order == r->order && !key->repeats)) {
		snprintf(text, sizeof text, missing ? "%s comes before %s" : "%s%s comes too late, or again", key->name,
			 missing ? missing : "");
		return fail_line(r, text);
	}
	r->order = key->order;
	return key->read ? key->read(r) : 0;
}

/* Reads the first line, which says that the file is a trace, and of which format. */
static int read_magic(struct reader *r)
{
	char *line;
	size_t bytes;
	if (trace_in_line(r->in, &line, &bytes, r->err))
		return r->err->code;
	if (!line || strncmp(line, MAGIC " ", sizeof MAGIC) != 0)
		return npl_fail(r->err, NPL_EINPUT, "%s: is no run trace, expected a first line `" MAGIC " %d`",
				trace_in_path(r->in), NPL_TRACE_FORMAT);
	const char *number = line + sizeof MAGIC;
	if (!trace_is_number(number, 9) || *number == '0')
		return fail_line(r, "expected the number of the format after " MAGIC);
	const unsigned long format = strtoul(number, NULL, 10);
	if (format != NPL_TRACE_FORMAT)
		return npl_fail(r->err, NPL_EINPUT, "%s: is of format %lu, and this npulab reads format %d: %s",
				trace_in_path(r->in), format, NPL_TRACE_FORMAT,
				format > NPL_TRACE_FORMAT ? "use the npulab that wrote it, or a newer one"
							  : "record it again with `npulab trace record`");
	return 0;
}

int trace_header_read(struct trace_in *in, struct npl_trace_header *header, struct npl_err *err)
{
	struct reader r = {.in = in, .header = header, .err = err};
	*header = (struct npl_trace_header){0};
	int rc = read_magic(&r);
	while (!rc && r.order < LAST_ORDER)
		rc = read_line(&r);
	if (rc)
		npl_trace_header_free(header);
	return rc;
}

int npl_trace_header_read(const char *path, struct npl_trace_header *header, struct npl_err *err)
{
	struct trace_in *in;
	*header = (struct npl_trace_header){0};
	int rc = trace_in_open(path, &in, err);
	if (rc)
		return rc;
	rc = trace_header_read(in, header, err);
	trace_in_close(in);
	return rc;
}
