/* SPDX-License-Identifier: MIT
 *
 * Which page a document has (page.h). */
#include "page.h"

#include <string.h>

#include "core/base/message.h"
#include "core/base/refuse.h"

static const struct {
	const char *schema;
	int (*put)(FILE *out, const json_t *root, struct npl_err *err);
} pages[] = {{"npulab.compare/1", page_put_compare}};
enum { PAGES = sizeof pages / sizeof *pages };

static int find(const char *schema)
{
	int i = 0;
	while (i < PAGES && strcmp(pages[i].schema, schema) != 0)
		i++;
	return i;
}

int page_check(const struct page_document *document, struct npl_err *err)
{
	char known[200] = "";
	if (find(document->schema) < PAGES)
		return 0;
	for (int i = 0; i < PAGES; i++)
		npl_append(known, sizeof known, ", ", "%s", pages[i].schema);
	return npl_fail(err, NPL_EINPUT, "%s: there is no page for %s, only for %s", document->path, document->schema,
			known);
}

int page_put(FILE *out, const struct page_document *document, struct npl_err *err)
{
	return pages[find(document->schema)].put(out, document->root, err);
}
