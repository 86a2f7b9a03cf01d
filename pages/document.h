/* SPDX-License-Identifier: MIT
 *
 * Results that npulab has saved as JSON (docs/json.md), read again. */
#ifndef NPULAB_PAGES_DOCUMENT_H
#define NPULAB_PAGES_DOCUMENT_H

#include <jansson.h>

#include "npulab/error.h"

struct page_document {
	const char *path; /* borrowed */
	json_t *root;     /* as its schema wants it: keys that the schema requires are there, with its types */
	char schema[40];  /* "npulab.compare/1" */
};
/* Reads a file; "-" is standard input. Returns NPL_EINPUT, with the file and, where it is known, the line or the place,
 * for what is no result, or is of a schema that this npulab does not write; NPL_ENOMEM. */
int page_document_read(const char *path, struct page_document *document, struct npl_err *err);
/* The same with a text; path names it in messages. */
int page_document_parse(const char *path, const char *text, size_t bytes, struct page_document *document,
			struct npl_err *err);
void page_document_free(struct page_document *document); /* accepts a zeroed one */

/* Returns names of documents that stand on one page: of each its file without what follows the dot, and where two have
 * the same file the end of the path. Allocated; NULL: memory is short. */
enum { PAGE_NAME = 80 };
char (*page_document_names(const struct page_document *document, int n))[PAGE_NAME];

/* Return the value of a key, "" or NAN where it is null or absent. */
const char *page_text(const json_t *object, const char *key);
double page_number(const json_t *object, const char *key);
/* Writes a text, a number or a truth value; "" for null. Returns buf. */
const char *page_value_text(const json_t *value, char *buf, size_t n);
/* Returns the value at a path such as "memory.clock_hz"; NULL: there is none. */
const json_t *page_value_at(const json_t *object, const char *path);

#endif
