/* SPDX-License-Identifier: MIT
 *
 * The columns of a topology (topology_columns.h): their names, and the numbers of a row. */
#include "topology_columns.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"

#define MAX_HEADS 4096

/* Returns a field without the white space around it; a row that is too short has empty fields. */
static const char *trimmed(const char *const *fields, int n, int column, size_t *length)
{
	const char *text = column < n ? fields[column] : "";
	while (isspace((unsigned char)*text))
		text++;
	*length = strlen(text);
	while (*length && isspace((unsigned char)text[*length - 1]))
		--*length;
	return text;
}

const char *topology_field(const struct npl_csv_row *row, int column, size_t *length)
{
	return trimmed(row->field, row->n, column, length);
}

bool topology_is_blank(const struct npl_csv_row *row)
{
	size_t length = 0;
	for (int i = 0; i < row->n && !length; i++)
		topology_field(row, i, &length);
	return !length;
}

static bool is_number(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return length > 0;
}

/* A known column: SCALE-Sim's own name, and other names, of which only the letters count, in lower case. */
struct column {
	const char *name, *words;
};

static const struct column conv_column[TOPOLOGY_CONV_COLUMNS] = {
	{"Layer name", "layername layer name"},
	{"IFMAP Height", "ifmapheight ifmaph inputheight inputh height h"},
	{"IFMAP Width", "ifmapwidth ifmapw inputwidth inputw width w"},
	{"Filter Height", "filterheight filterh kernelheight kernelh"},
	{"Filter Width", "filterwidth filterw kernelwidth kernelw"},
	{"Channels", "channels channel inputchannels inchannels numchannels"},
	{"Num Filter", "numfilter numfilters numberoffilters filters outputchannels outchannels out"},
	{"Strides", "strides stride strideheight strideh"},
};
static const struct column gemm_column[TOPOLOGY_GEMM_COLUMNS] = {
	{"Layer", "layername layer name"}, {"M", "m"}, {"N", "n"}, {"K", "k"}};
static const char *const extra_column_words[] = {[TOPOLOGY_EXTRA_SPARSITY] = "sparsity sparsityratio",
						 [TOPOLOGY_EXTRA_BATCH] = "batch batches batchsize heads",
						 [TOPOLOGY_EXTRA_STRIDE_WIDTH] = "stridewidth stridew"};

/* Says whether the text, reduced to its letters, is one of these words. */
static bool is_one_of(const char *words, const char *text, size_t length)
{
	char letters[32];
	size_t n = 0;
	for (size_t i = 0; i < length; i++) {
		if (!isalpha((unsigned char)text[i]))
			continue;
		if (n == sizeof letters)
			return false;
		letters[n++] = (char)tolower((unsigned char)text[i]);
	}
	for (size_t span; n && *words; words += span + (words[span] == ' ')) {
		span = strcspn(words, " ");
		if (span == n && !memcmp(words, letters, n))
			return true;
	}
	return false;
}

static int known_columns(const struct topology_table *t)
{
	return t->gemm ? TOPOLOGY_GEMM_COLUMNS : TOPOLOGY_CONV_COLUMNS;
}

/* Returns the name in the first row, cut for a message. */
static const char *header_field(const struct topology_table *t, int column, size_t *length)
{
	return trimmed(t->csv.column, t->csv.n_columns, column, length);
}

static int shown(size_t length)
{
	return (int)(length > 40 ? 40 : length);
}

static const struct column *columns(const struct topology_table *t)
{
	return t->gemm ? gemm_column : conv_column;
}

/* Counts the columns, except the layer's name, that have the names of this kind of list. */
static int known_names(struct topology_table *t, bool gemm)
{
	int n = 0;
	t->gemm = gemm;
	for (int i = 1; i < known_columns(t); i++)
		for (int k = 1; k < known_columns(t); k++) {
			size_t length;
			const char *text = header_field(t, i, &length);
			n += is_one_of(columns(t)[k].words, text, length);
		}
	return n;
}

/* Counts the numbers after the name in the first layer. */
static int first_numbers(const struct topology_table *t, int *line)
{
	for (int i = 0; i < t->csv.n_rows; i++) {
		size_t length;
		int n = 0;
		if (topology_is_blank(&t->csv.row[i]))
			continue;
		while (topology_field(&t->csv.row[i], n + 1, &length), length > 0)
			n++;
		*line = t->csv.row[i].line;
		return n;
	}
	return 0;
}

/* Decides between convolutions and products: by the names where they are SCALE-Sim's, else by the count of numbers in
 * the first layer. */
static int choose_kind(struct topology_table *t)
{
	const int products = known_names(t, true), convolutions = known_names(t, false);
	int line = 0;
	t->gemm = products > convolutions;
	if (products || convolutions)
		return 0;
	const int numbers = first_numbers(t, &line);
	t->gemm = numbers < TOPOLOGY_CONV_COLUMNS - 1;
	if (!line || numbers >= TOPOLOGY_GEMM_COLUMNS - 1)
		return 0;
	return npl_fail(t->err, NPL_EINPUT,
			"%s:%d: %d number%s after the name, expected seven of a convolution (height and width of the "
			"input, of the filter, channels, filters, stride) or three of a product (M, N, K)",
			t->csv.path, line, numbers, npl_plural(numbers));
}

/* Notes the first name that does not belong to its column's place. SCALE-Sim reads columns by their place and skips the
 * names. npulab does so too, and warns. */
static void check_names(struct topology_table *t)
{
	for (int i = 1; i < known_columns(t) && !t->misnamed[0]; i++) {
		size_t length;
		const char *text = header_field(t, i, &length);
		if (!length || is_one_of(columns(t)[i].words, text, length))
			continue;
		snprintf(t->misnamed, sizeof t->misnamed,
			 "column %d is called '%.*s' and read as %s: columns are read by place, as "
			 "SCALE-Sim reads them",
			 i + 1, shown(length), text, columns(t)[i].name);
	}
}

int topology_read_names(struct topology_table *t)
{
	size_t length;
	const char *text = header_field(t, 1, &length);
	if (is_number(text, length))
		return npl_fail(
			t->err, NPL_EINPUT,
			"%s:%d: column 2 of the first row is '%.*s': expected the names of SCALE-Sim's columns, "
			"'Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num "
			"Filter, Strides,' or 'Layer, M, N, K,'",
			t->csv.path, t->csv.line, shown(length), text);
	if (choose_kind(t))
		return t->err->code;
	check_names(t);
	for (int i = 0; i < TOPOLOGY_EXTRA_COLUMNS; i++) {
		text = header_field(t, known_columns(t) + i, &length);
		for (int kind = TOPOLOGY_EXTRA_SPARSITY; kind <= TOPOLOGY_EXTRA_STRIDE_WIDTH; kind++)
			if (is_one_of(extra_column_words[kind], text, length))
				t->extra_column[i] = (enum topology_extra_column)kind;
	}
	return 0;
}

/* Says what the number in a column after the known ones stands for. */
static const char *extra_column_name(const struct topology_table *t, int column)
{
	return t->extra_column[column - known_columns(t)] == TOPOLOGY_EXTRA_STRIDE_WIDTH ? "Stride Width" : "batch";
}

/* Reads a row's number in a column, 1 to most. */
int topology_number(struct topology_table *t, const struct npl_csv_row *row, int column, int64_t limit, int64_t *number)
{
	size_t length;
	const char *text = topology_field(row, column, &length);
	*number = is_number(text, length) && length <= 9 ? strtoll(text, NULL, 10) : 0;
	if (*number >= 1 && *number <= limit)
		return 0;
	return npl_fail(t->err, NPL_EINPUT, "column %d (%s) is '%.*s', expected a whole number from 1 to %lld",
			column + 1, column < known_columns(t) ? columns(t)[column].name : extra_column_name(t, column),
			shown(length), text, (long long)limit);
}

int topology_check_length(struct topology_table *t, const struct npl_csv_row *row)
{
	int n_required = known_columns(t);
	if (row->n >= n_required)
		return 0;
	return npl_fail(t->err, NPL_EINPUT, "%d column%s, expected %d: %s", row->n, npl_plural(row->n), n_required,
			t->gemm ? "name, M, N, K"
				: "name, height and width of the input, of the filter, channels, filters, stride");
}

/* Says whether the text is a sparsity ratio N:M, which this network ignores. */
static bool is_ratio(const char *text, size_t length)
{
	const char *colon = memchr(text, ':', length);
	return colon && is_number(text, (size_t)(colon - text)) &&
	       is_number(colon + 1, length - (size_t)(colon - text) - 1);
}

static void note_ratio(struct topology_table *t, const char *text, size_t length)
{
	const size_t n = (size_t)((const char *)memchr(text, ':', length) - text);
	t->sparse = t->sparse || n != length - n - 1 || memcmp(text, text + n + 1, n) != 0;
}

/* Reads one column after the known ones: a ratio, the number of products, or the stride of the width of
 * convolutions. */
static int read_extra_column(struct topology_table *t, const struct npl_csv_row *row, int i,
			     struct topology_extras *extras)
{
	const int column = known_columns(t) + i;
	const enum topology_extra_column kind = t->extra_column[i];
	size_t length;
	const char *text = topology_field(row, column, &length);
	if (is_ratio(text, length) && (kind == TOPOLOGY_EXTRA_SPARSITY || kind == TOPOLOGY_EXTRA_UNKNOWN)) {
		note_ratio(t, text, length);
		return 0;
	}
	if (kind == TOPOLOGY_EXTRA_BATCH || (t->gemm && kind == TOPOLOGY_EXTRA_UNKNOWN && is_number(text, length))) {
		if (topology_number(t, row, column, MAX_HEADS, &extras->batch))
			return t->err->code;
		if (t->gemm || extras->batch == 1)
			return 0;
		return npl_fail(t->err, NPL_EINPUT,
				"column %d is a batch of %lld, expected 1: --batch %lld makes as many of every input",
				column + 1, (long long)extras->batch, (long long)extras->batch);
	}
	if (!t->gemm && kind == TOPOLOGY_EXTRA_STRIDE_WIDTH)
		return topology_number(t, row, column, TOPOLOGY_MAX_DIMENSION, &extras->stride_width);
	return npl_fail(t->err, NPL_EINPUT, "column %d is '%.*s', expected nothing or a ratio N:M%s", column + 1,
			shown(length), text,
			t->gemm && kind == TOPOLOGY_EXTRA_UNKNOWN ? " or how many such products there are" : "");
}

/* Reads the columns after the known ones, up to an empty field or a comment (#). Notes beside the table, after an empty
 * column, are not read. */
int topology_extras(struct topology_table *t, const struct npl_csv_row *row, struct topology_extras *extras)
{
	*extras = (struct topology_extras){0};
	for (int i = 0;; i++) {
		size_t length;
		const char *text = topology_field(row, known_columns(t) + i, &length);
		if (!length || *text == '#')
			return 0;
		if (i == TOPOLOGY_EXTRA_COLUMNS)
			return npl_fail(t->err, NPL_EINPUT, "column %d is '%.*s', expected nothing there",
					known_columns(t) + i + 1, shown(length), text);
		if (read_extra_column(t, row, i, extras))
			return t->err->code;
	}
}
