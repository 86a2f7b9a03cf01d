/* SPDX-License-Identifier: MIT
 *
 * The reader of csv.h: one pass over a copy of the file, fields ended and unquoted in place. */
#include "csv.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "words.h"

#define MAX_BYTES ((size_t)16 << 20)

struct reader {
	const char *path;
	char *next, *end; /* end: a NUL after the last byte */
	int line;
	bool ragged;
	struct npl_err *err;
};

/* Unquotes the field at *to in place and leaves r->next on the character that ended it. */
static int read_quoted(struct reader *r, char *to)
{
	for (r->next++; r->next < r->end && *r->next != '\n'; *to++ = *r->next++) {
		if (*r->next != '"')
			continue;
		if (r->next[1] != '"') {
			r->next++;
			*to = '\0';
			if (r->next < r->end && !strchr(",\r\n", *r->next))
				break;
			return 0;
		}
		r->next++;
	}
	return npl_fail(r->err, NPL_EINPUT, "%s:%d: a quoted field must end on its line, before a comma", r->path,
			r->line);
}

/* Reads the fields of one line and passes the line's end. */
static int read_fields(struct reader *r, const char **field, int max_fields, int *n)
{
	for (*n = 0;;) {
		if (*n == max_fields)
			return npl_fail(r->err, NPL_EINPUT, "%s:%d: more than %d fields", r->path, r->line, max_fields);
		char *start = r->next;
		field[(*n)++] = start;
		if (*start == '"') {
			if (read_quoted(r, start))
				return r->err->code;
		} else {
			r->next += strcspn(r->next, ",\r\n\"");
			if (*r->next == '"')
				return npl_fail(r->err, NPL_EINPUT,
						"%s:%d: a quote inside a field that has none around it", r->path,
						r->line);
		}
		char terminator = r->next < r->end ? *r->next : '\n';
		*r->next = '\0';
		r->next += r->next < r->end;
		if (terminator == ',')
			continue;
		if (terminator == '\r' && *r->next == '\n')
			r->next++;
		r->line++;
		return 0;
	}
}

static void skip_comments(struct reader *r)
{
	while (r->next < r->end && strchr("#\r\n", *r->next)) {
		r->next += strcspn(r->next, "\r\n");
		if (r->next < r->end && *r->next == '\r' && r->next[1] == '\n')
			r->next++;
		r->next += r->next < r->end;
		r->line++;
	}
}

static int read_header(struct reader *r, struct npl_arena *arena, struct npl_csv *csv)
{
	const char **column = npl_arena_array(arena, NPL_CSV_COLUMNS, sizeof *column);
	int line;
	if (!column)
		return npl_fail(r->err, NPL_ENOMEM, "%s: out of memory", r->path);
	skip_comments(r);
	line = r->line;
	if (r->next == r->end)
		return npl_fail(r->err, NPL_EINPUT, "%s:%d: there is no row of column names", r->path, line);
	if (read_fields(r, column, NPL_CSV_COLUMNS, &csv->n_columns))
		return r->err->code;
	for (int i = 0; i < csv->n_columns && !r->ragged; i++)
		for (int k = 0; k < i; k++)
			if (!strcmp(column[i], column[k]))
				return npl_fail(r->err, NPL_EINPUT, "%s:%d: two columns are called '%s'", r->path, line,
						column[i]);
	csv->column = column;
	csv->line = line;
	return 0;
}

static int read_rows(struct reader *r, struct npl_arena *arena, struct npl_csv *csv)
{
	int max_rows = 1;
	for (const char *c = r->next; c < r->end; c++)
		max_rows += *c == '\n' || *c == '\r'; /* either ends a line */
	csv->row = npl_arena_array(arena, (size_t)max_rows, sizeof *csv->row);
	if (!csv->row)
		return npl_fail(r->err, NPL_ENOMEM, "%s: out of memory", r->path);
	for (skip_comments(r); r->next < r->end; skip_comments(r)) {
		int line = r->line, n;
		const char *line_field[NPL_CSV_COLUMNS + 1];
		if (read_fields(r, line_field, NPL_CSV_COLUMNS + 1, &n))
			return r->err->code;
		if (n != csv->n_columns && !r->ragged)
			return npl_fail(r->err, NPL_EINPUT, "%s:%d: %d fields, expected %d", r->path, line, n,
					csv->n_columns);
		const char **field = npl_arena_array(arena, (size_t)n, sizeof *field);
		if (!field)
			return npl_fail(r->err, NPL_ENOMEM, "%s: out of memory", r->path);
		memcpy(field, line_field, (size_t)n * sizeof *field);
		csv->row[csv->n_rows++] = (struct npl_csv_row){.line = line, .n = n, .field = field};
	}
	return 0;
}

static int load(const char *path, bool ragged, struct npl_arena *arena, struct npl_csv *csv, struct npl_err *err)
{
	struct npl_file file;
	struct npl_err local = {0};
	*csv = (struct npl_csv){.path = npl_arena_strdup(arena, path)};
	if (npl_file_map(path, MAX_BYTES, &file, err))
		return err ? err->code : NPL_EINPUT;
	char *copy = npl_arena_alloc(arena, file.bytes + 1);
	if (copy)
		memcpy(copy, file.data, file.bytes);
	struct reader r = {.path = path, .next = copy, .line = 1, .ragged = ragged, .err = &local};
	int rc = 0;
	if (!copy || !csv->path)
		rc = npl_fail(&local, NPL_ENOMEM, "%s: out of memory", path);
	else if (memchr(copy, '\0', file.bytes))
		rc = npl_fail(&local, NPL_EINPUT, "%s: holds a NUL byte, which no text has", path);
	else
		r.end = copy + file.bytes;
	if (!rc)
		r.next += npl_byte_order_mark(copy, file.bytes);
	npl_file_unmap(&file);
	if (!rc)
		rc = read_header(&r, arena, csv);
	if (!rc)
		rc = read_rows(&r, arena, csv);
	return rc ? npl_fail_as(err, &local) : 0;
}

int npl_csv_load(const char *path, struct npl_arena *arena, struct npl_csv *csv, struct npl_err *err)
{
	return load(path, false, arena, csv, err);
}

int npl_csv_load_ragged(const char *path, struct npl_arena *arena, struct npl_csv *csv, struct npl_err *err)
{
	return load(path, true, arena, csv, err);
}

int npl_csv_column(const struct npl_csv *csv, const char *name, struct npl_err *err)
{
	for (int i = 0; i < csv->n_columns; i++)
		if (!strcmp(csv->column[i], name))
			return i;
	return npl_fail(err, NPL_EINPUT, "%s: there is no column '%s'", csv->path, name);
}

int npl_csv_number(const struct npl_csv *csv, int row, int column, double *value, struct npl_err *err)
{
	const char *text = csv->row[row].field[column];
	*value = NAN;
	if (*text && !npl_parse_number(text, value))
		return npl_fail(err, NPL_EINPUT, "%s:%d: %s must be a number, got '%s'", csv->path, csv->row[row].line,
				csv->column[column], text);
	return 0;
}
