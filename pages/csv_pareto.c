/* SPDX-License-Identifier: MIT
 *
 * The points of sweeps as CSV (csv.h): a line for each point, with its parameters, its figures, and the objectives that
 * are expressions. */
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "csv.h"
#include "pareto.h"
#include "reports/format/csv_fields.h"

/* The lists of a document that have a column for each of their elements, and the key of its name. */
static const struct {
	const char *list, *name;
} lists[] = {{"parameters", "name"}, {"objectives", "expression"}, {"metrics", "name"}};
enum { LISTS = sizeof lists / sizeof *lists };

/* Returns the column of a name in a document; NULL: it has none. */
static const json_t *column_of(const json_t *root, const char *name)
{
	for (int l = 0; l < LISTS; l++) {
		const json_t *list = json_object_get(root, lists[l].list);
		for (size_t i = 0; i < json_array_size(list); i++)
			if (!strcmp(page_text(json_array_get(list, i), lists[l].name), name))
				return json_array_get(list, i);
	}
	return NULL;
}

/* Adds the names of a list's columns to those of all documents, each once. False: memory is short. */
static bool add_names(const json_t *root, int l, json_t *names)
{
	const json_t *list = json_object_get(root, lists[l].list);
	bool ok = true;
	for (size_t i = 0; i < json_array_size(list) && ok; i++) {
		const char *name = page_text(json_array_get(list, i), lists[l].name);
		if (!json_object_get(names, name))
			ok = !json_object_set_new(names, name, json_true());
	}
	return ok;
}

static void put_points(const struct page_csv *csv, int document, json_t *names, const bool *on_front)
{
	const json_t *root = csv->document[document].root, *points = json_object_get(root, "points"), *column[400];
	static const char *const own[] = {"id", "status", "feasible", "reason"};
	const size_t n = json_array_size(json_object_get(points, "id"));
	const char *name;
	json_t *ignored;
	size_t n_columns = 0;
	json_object_foreach (names, name, ignored)
		if (n_columns < sizeof column / sizeof *column)
			column[n_columns++] = json_object_get(column_of(root, name), "values");
	for (size_t r = 0; r < n; r++) {
		page_csv_begin(csv, document);
		for (int i = 0; i < 4; i++) {
			page_csv_comma(csv, i == 0);
			page_csv_value(csv->out, json_array_get(json_object_get(points, own[i]), r));
		}
		fputs(on_front[r] ? ",true" : ",false", csv->out);
		for (size_t i = 0; i < n_columns; i++) {
			fputc(',', csv->out);
			page_csv_value(csv->out, json_array_get(column[i], r));
		}
		fputs("\r\n", csv->out);
	}
}

int page_csv_pareto(const struct page_csv *csv, struct npl_err *err)
{
	for (int i = 0; i < csv->n; i++)
		if (page_check_points(&csv->document[i], err))
			return err->code;
	json_t *names = json_object(), *ignored;
	const char *name;
	bool ok = names;
	for (int l = 0; l < LISTS; l++)
		for (int i = 0; i < csv->n; i++)
			ok = ok && add_names(csv->document[i].root, l, names);
	if (ok) {
		page_csv_begin_names(csv);
		page_csv_comma(csv, true);
		fputs("id,status,feasible,reason,front", csv->out);
		json_object_foreach (names, name, ignored) {
			fputc(',', csv->out);
			npl_csv_put_text(csv->out, name);
		}
		fputs("\r\n", csv->out);
	}
	for (int i = 0; i < csv->n && ok; i++) {
		bool *on_front = page_on_front(csv->document[i].root);
		ok = on_front;
		if (ok)
			put_points(csv, i, names, on_front);
		free(on_front);
	}
	json_decref(names);
	return ok ? 0 : npl_no_memory(err);
}
