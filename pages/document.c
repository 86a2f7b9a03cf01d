/* SPDX-License-Identifier: MIT
 *
 * Reads saved results (document.h). Each is checked against its schema, which lies among npulab's data. */
#include "document.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/files/data_names.h"
#include "core/files/file.h"
#include "core/files/path.h"
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

static int not_json(const char *path, const json_error_t *problem, struct npl_err *err)
{
	/* Jansson gives no reason where its hash tables cannot grow. */
	if (json_error_code(problem) == json_error_out_of_memory || !*problem->text)
		return npl_no_memory(err);
	return npl_fail(err, NPL_EINPUT, "%s:%d: is no JSON: %s", path, problem->line > 0 ? problem->line : 1,
			problem->text);
}

static int fail_unknown(const char *path, const char *schema, struct npl_err *err)
{
	return npl_fail(err, NPL_EINPUT, "%s: is of the schema %.60s, which this npulab does not write", path, schema);
}

/* Loads the schema of a document, which path names in messages. */
static int load_schema(const char *path, const char *name, json_t **schema, struct npl_err *err)
{
	char folder[4096], schema_path[4200], file[80];
	json_error_t problem;
	if (!file_of(name, file, sizeof file))
		return fail_unknown(path, name, err);
	const int rc = npl_data_dir("schemas", folder, sizeof folder, err);
	if (rc)
		return rc;
	snprintf(schema_path, sizeof schema_path, "%s/%s", folder, file);
	*schema = json_load_file(schema_path, 0, &problem);
	if (!*schema && json_error_code(&problem) == json_error_cannot_open_file)
		return fail_unknown(path, name, err);
	return *schema ? 0 : not_json(schema_path, &problem, err);
}

static int check(struct page_document *document, struct npl_err *err)
{
	const char *name = json_string_value(json_object_get(document->root, "schema"));
	char problem[400];
	if (!name || strncmp(name, "npulab.", 7) != 0)
		return npl_fail(err, NPL_EINPUT, "%s: is no result of npulab, expected JSON with a `schema`",
				document->path);
	json_t *schema = NULL;
	if (load_schema(document->path, name, &schema, err))
		return err->code;
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
		return not_json(path, problem, err);
	if (check(document, err))
		page_document_free(document);
	return err->code;
}

/* Reads standard input to its end. */
static int read_input(struct page_document *document, struct npl_err *err)
{
	char *text = NULL, piece[1 << 14];
	size_t bytes = 0, n;
	FILE *all = open_memstream(&text, &bytes);
	if (!all)
		return npl_no_memory(err);
	while ((n = fread(piece, 1, sizeof piece, stdin)) > 0)
		fwrite(piece, 1, n, all);
	int rc = fclose(all) ? npl_no_memory(err) : 0;
	if (!rc && ferror(stdin))
		rc = npl_fail(err, NPL_EINPUT, "standard input: cannot be read");
	if (!rc)
		rc = page_document_parse("standard input", text, bytes, document, err);
	free(text);
	return rc;
}

int page_document_read(const char *path, struct page_document *document, struct npl_err *err)
{
	enum { MOST_BYTES = 1 << 30 };
	struct npl_file file;
	*document = (struct page_document){0};
	*err = (struct npl_err){0};
	if (!strcmp(path, "-"))
		return read_input(document, err);
	if (npl_file_map(path, MOST_BYTES, &file, err))
		return err->code;
	const int rc = page_document_parse(path, file.data, file.bytes, document, err);
	npl_file_unmap(&file);
	return rc;
}

int page_document_parse(const char *path, const char *text, size_t bytes, struct page_document *document,
			struct npl_err *err)
{
	static const char mark[] = "\xef\xbb\xbf"; /* some editors begin UTF-8 with it */
	const size_t skipped = bytes >= 3 && !memcmp(text, mark, 3) ? 3 : 0;
	json_error_t problem;
	*err = (struct npl_err){0};
	return take(path, json_loadb(text + skipped, bytes - skipped, JSON_REJECT_DUPLICATES, &problem), &problem,
		    document, err);
}

void page_document_free(struct page_document *document)
{
	json_decref(document->root);
	document->root = NULL;
}

char (*page_document_names(const struct page_document *document, int n))[PAGE_NAME]
{
	char(*name)[PAGE_NAME] = calloc((size_t)n + 1, sizeof *name);
	for (int i = 0; i < n && name; i++) {
		const char *file = npl_path_file(document[i].path);
		const size_t length = npl_path_stem_length(file);
		snprintf(name[i], sizeof name[i], "%.*s", length < 70 ? (int)length : 70, file);
	}
	for (int i = 0; i < n && name; i++)
		for (int k = 0; k < i; k++) {
			const char *path = document[i].path;
			const size_t length = strlen(path);
			if (!strcmp(name[i], name[k]))
				snprintf(name[i], sizeof name[i], "%d: %s", i + 1,
					 path + (length > 60 ? length - 60 : 0));
		}
	return name;
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

const json_t *page_value_at(const json_t *object, const char *path)
{
	char key[200];
	const char *point = strchr(path, '.');
	const json_t *whole = json_object_get(object, path);
	if (whole || !point)
		return whole;
	snprintf(key, sizeof key, "%.*s", (int)(point - path), path);
	return page_value_at(json_object_get(object, key), point + 1);
}

const char *page_value_text(const json_t *value, char *buf, size_t n)
{
	if (json_is_string(value))
		snprintf(buf, n, "%s", json_string_value(value));
	else if (json_is_boolean(value))
		snprintf(buf, n, "%s", json_is_true(value) ? "true" : "false");
	else if (json_is_integer(value))
		snprintf(buf, n, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_number(value))
		snprintf(buf, n, "%.10g", json_number_value(value));
	else
		*buf = '\0';
	return buf;
}
