/* SPDX-License-Identifier: MIT
 *
 * The page of a document that has none of its own (page.h): what its objects hold as tables of keys and values, and its
 * lists of objects as tables with a column for each key. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

enum { TEXT = 600, PATH = 200 };

/* Writes a value in one cell; a list of plain values with commas. */
static const char *value_text(const json_t *value, char buf[TEXT])
{
	*buf = '\0';
	for (size_t i = 0; i < json_array_size(value); i++) {
		char one[TEXT];
		const size_t length = strlen(buf);
		snprintf(buf + length, TEXT - length, "%s%s", i ? ", " : "", value_text(json_array_get(value, i), one));
	}
	return json_is_array(value) ? buf : page_value_text(value, buf, TEXT);
}

static bool is_list_of_objects(const json_t *value)
{
	return json_array_size(value) > 0 && json_is_object(json_array_get(value, 0));
}

static void put_value(struct page_writer *writer, const json_t *value)
{
	char text[TEXT];
	page_figure(writer, json_is_number(value) ? json_number_value(value) : NAN, value_text(value, text));
}

/* ---- Objects: a row for each key, those of objects within behind a point. */

static void put_keys(struct page_writer *writer, const json_t *object, const char *prefix)
{
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)object, key, value) {
		char path[PATH];
		snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", key);
		if (json_is_object(value)) {
			put_keys(writer, value, path);
		} else if (!is_list_of_objects(value) && strcmp(path, "schema") != 0) {
			page_row(writer);
			page_cell(writer, path);
			put_value(writer, value);
		}
	}
}

static void put_object(struct page_writer *writer, const json_t *object)
{
	page_column(writer, "key", false);
	page_column(writer, "value", true);
	page_table(writer, &(struct page_table){.caption = "What the result says of itself.", .is_long = true});
	put_keys(writer, object, "");
	page_table_end(writer);
}

/* ---- Lists of objects: a column for each key. */

static void add_columns(struct page_writer *writer, const json_t *object, const char *prefix)
{
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)object, key, value) {
		char path[PATH];
		bool is_there = json_is_array(value) && (!json_array_size(value) || is_list_of_objects(value));
		snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", key);
		for (int i = 0; i < writer->n_columns; i++)
			is_there |= !strcmp(writer->column[i].heading, path);
		if (json_is_object(value))
			add_columns(writer, value, path);
		else if (!is_there)
			page_column(writer, path, json_is_number(value));
	}
}

static void put_list(struct page_writer *writer, const char *path, const json_t *list)
{
	page_heading(writer, path);
	for (size_t i = 0; i < json_array_size(list); i++)
		add_columns(writer, json_array_get(list, i), "");
	page_table(writer, &(struct page_table){.caption = path,
						.can_be_sorted = true,
						.can_be_searched = json_array_size(list) > 10,
						.is_long = true});
	for (size_t i = 0; i < json_array_size(list); i++) {
		page_row(writer);
		for (int c = 0; c < writer->n_columns; c++)
			put_value(writer, page_value_at(json_array_get(list, i), writer->column[c].heading));
	}
	page_table_end(writer);
}

/* Puts the lists within an object, and those within their elements. */
static void put_lists(struct page_writer *writer, const json_t *object, const char *prefix)
{
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)object, key, value) {
		char path[PATH];
		snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", key);
		if (json_is_object(value))
			put_lists(writer, value, path);
		if (!is_list_of_objects(value))
			continue;
		put_list(writer, path, value);
		for (size_t i = 0; i < json_array_size(value); i++) {
			char element[PATH + 30];
			snprintf(element, sizeof element, "%s[%zu]", path, i);
			element[PATH - 1] = '\0';
			put_lists(writer, json_array_get(value, i), element);
		}
	}
}

int page_put_any(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err)
{
	(void)err;
	page_begin(writer, document->schema);
	for (int i = 0; i < n; i++) {
		char id[40];
		snprintf(id, sizeof id, "result-%d", i + 1);
		page_section(writer, id, n > 1 ? document[i].path : "Result");
		put_object(writer, document[i].root);
		put_lists(writer, document[i].root, "");
		page_section_end(writer);
	}
	page_end_of(writer, document, n);
	return 0;
}
