/* SPDX-License-Identifier: MIT
 *
 * Reads saved results (document.h). Each is checked against its schema, which lies among npulab's data. */
#include "document.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/files/data_names.h"
#include "core/files/file.h"
#include "schema.h"

/* Returns the schema's file name: "npulab.compare-1.json" of "npulab.compare/1". False: it is the name of none. */
static bool file_of(const char *schema, char *file, size_t n)
{
	const char *slash = strchr(schema, '/');
	const size_t name = strspn(schema, "abcdefghijklmnopqrstuvwxyz.");
	if (strncmp(schema, "npulab.", 7) != 0 || !slash || name != (size_t)(slash - schema) || !slash[1] ||
	    slash[1 + strspn(slash + 1, "0123456789")])
		return false;
	return (size_t)snprintf(file, n, "%.*s-%s.json", (int)name, schema, slash + 1) < n;
}

static json_t *load_schema(const char *name)
{
	char folder[4096], path[4200], file[80];
	struct npl_err ignored;
	if (!file_of(name, file, sizeof file) || npl_data_dir("schemas", folder, sizeof folder, &ignored))
		return NULL;
	snprintf(path, sizeof path, "%s/%s", folder, file);
	return json_load_file(path, 0, NULL);
}

static int check(struct page_document *document, struct npl_err *err)
{
	const char *name = json_string_value(json_object_get(document->root, "schema"));
	char problem[400];
	if (!name || strncmp(name, "npulab.", 7) != 0)
		return npl_fail(err, NPL_EINPUT, "%s: is no result of npulab, expected JSON with a `schema`",
				document->path);
	json_t *schema = load_schema(name);
	if (!schema)
		return npl_fail(err, NPL_EINPUT, "%s: is of the schema %.60s, which this npulab does not write",
				document->path, name);
	const bool ok = page_schema_check(schema, document->root, problem, sizeof problem);
	json_decref(schema);
	snprintf(document->schema, sizeof document->schema, "%s", name);
	return ok ? 0 : npl_fail(err, NPL_EINPUT, "%s: %s (schema %s)", document->path, problem, name);
}

static int take(const char *path, json_t *root, const json_error_t *problem, struct page_document *document,
		struct npl_err *err)
{
	*document = (struct page_document){.path = path, .root = root};
	if (!root)
		return npl_fail(err, NPL_EINPUT, "%s:%d: is no JSON: %s", path, problem->line > 0 ? problem->line : 1,
				problem->text);
	if (check(document, err))
		page_document_free(document);
	return err->code;
}

int page_document_read(const char *path, struct page_document *document, struct npl_err *err)
{
	enum { MOST_BYTES = 1 << 30 };
	struct npl_file file;
	json_error_t problem;
	*document = (struct page_document){0};
	*err = (struct npl_err){0};
	if (!strcmp(path, "-"))
		return take("standard input", json_loadf(stdin, JSON_REJECT_DUPLICATES, &problem), &problem, document,
			    err);
	if (npl_file_map(path, MOST_BYTES, &file, err))
		return err->code;
	const int rc = page_document_parse(path, file.data, file.bytes, document, err);
	npl_file_unmap(&file);
	return rc;
}

int page_document_parse(const char *path, const char *text, size_t bytes, struct page_document *document,
			struct npl_err *err)
{
	json_error_t problem;
	*err = (struct npl_err){0};
	return take(path, json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &problem), &problem, document, err);
}

void page_document_free(struct page_document *document)
{
	json_decref(document->root);
	document->root = NULL;
}

const char *page_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

double page_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}
