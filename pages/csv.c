/* SPDX-License-Identifier: MIT
 *
 * Saved results as CSV (csv.h). Here is what all documents share, and the lines of those that have no columns of their
 * own: objects within objects have columns with a point in their name. */
#include "csv.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "reports/format/csv_fields.h"

enum { PATH = 200 };

/* ---- Documents without columns of their own. */

/* Returns the key of the first list of objects; NULL: there is none. */
static const char *list_of(const json_t *root)
{
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)root, key, value)
		if (page_csv_is_list_of_objects(value))
			return key;
	return NULL;
}

/* An empty list may be one of objects, for which a line has no field. */
static bool is_empty_or_of_objects(const json_t *value)
{
	return json_is_array(value) && (!json_array_size(value) || page_csv_is_list_of_objects(value));
}

/* Adds the paths of an object's values, each once. False: memory is short. */
static bool add_paths(json_t *paths, const json_t *object, const char *prefix)
{
	const char *key;
	json_t *value;
	bool ok = true;
	json_object_foreach ((json_t *)object, key, value) {
		char path[PATH];
		snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", key);
		if (json_is_object(value))
			ok = ok && add_paths(paths, value, path);
		else if (!is_empty_or_of_objects(value) && !json_object_get(paths, path))
			ok = ok && !json_object_set_new(paths, path, json_true());
	}
	return ok;
}

/* Calls add_paths or put_line for each line of the documents. */
static bool for_lines(const struct page_csv *csv, const char *list, json_t *paths,
		      bool (*call)(const struct page_csv *csv, int document, const json_t *object, json_t *paths))
{
	bool ok = true;
	for (int i = 0; i < csv->n; i++) {
		const json_t *root = csv->document[i].root, *lines = list ? json_object_get(root, list) : NULL;
		if (!list)
			ok = ok && call(csv, i, root, paths);
		for (size_t k = 0; k < json_array_size(lines); k++)
			ok = ok && call(csv, i, json_array_get(lines, k), paths);
	}
	return ok;
}

static bool add_line(const struct page_csv *csv, int document, const json_t *object, json_t *paths)
{
	(void)csv, (void)document;
	return add_paths(paths, object, "");
}

static bool put_line(const struct page_csv *csv, int document, const json_t *object, json_t *paths)
{
	const char *path;
	json_t *ignored;
	bool is_first = true;
	page_csv_begin(csv, document);
	json_object_foreach (paths, path, ignored) {
		page_csv_comma(csv, is_first);
		page_csv_value(csv->out, page_value_at(object, path));
		is_first = false;
	}
	fputs("\r\n", csv->out);
	return true;
}

static int put_any(const struct page_csv *csv, struct npl_err *err)
{
	json_t *paths = json_object(), *ignored;
	const char *list = NULL, *path;
	for (int i = 0; i < csv->n && !list; i++)
		list = list_of(csv->document[i].root);
	bool ok = paths && for_lines(csv, list, paths, add_line), is_first = true;
	if (ok) {
		page_csv_begin_names(csv);
		json_object_foreach (paths, path, ignored) {
			page_csv_comma(csv, is_first);
			npl_csv_put_text(csv->out, path);
			is_first = false;
		}
		fputs("\r\n", csv->out);
		ok = for_lines(csv, list, paths, put_line);
	}
	json_decref(paths);
	return ok ? 0 : npl_no_memory(err);
}

int page_csv_put(FILE *out, const struct page_document *document, int n, struct npl_err *err)
{
	static const struct {
		const char *schema;
		int (*put)(const struct page_csv *csv, struct npl_err *err);
	} own[] = {{"npulab.compare/1", page_csv_compare},
		   {"npulab.pareto/1", page_csv_pareto},
		   {"npulab.roofline/2", page_csv_roofline}};
	int (*put)(const struct page_csv *csv, struct npl_err *err) = put_any;
	const struct page_csv csv = {out, document, n, n > 1 ? page_document_names(document, n) : NULL};
	if (n > 1 && !csv.name)
		return npl_no_memory(err);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (!strcmp(own[i].schema, document->schema))
			put = own[i].put;
	const int rc = put(&csv, err);
	free(csv.name);
	return rc;
}
