/* SPDX-License-Identifier: MIT
 *
 * Which page a document has (page.h). */
#include "page.h"

#include <string.h>

#include "core/base/refuse.h"

static const struct {
	const char *schema;
	int (*put)(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err);
} pages[] = {{"npulab.compare/1", page_put_compare},
	     {"npulab.dram/1", page_put_dram},
	     {"npulab.pareto/1", page_put_pareto},
	     {"npulab.roofline/2", page_put_roofline},
	     {"npulab.validate/1", page_put_validate}};
enum { PAGES = sizeof pages / sizeof *pages };

int page_check(const struct page_document *document, int n, struct npl_err *err)
{
	for (int i = 1; i < n; i++)
		if (strcmp(document[i].schema, document->schema) != 0)
			return npl_fail(err, NPL_EINPUT,
					"%s: is of the schema %s, and %s of %s: results on one page are of one schema",
					document[i].path, document[i].schema, document->path, document->schema);
	return 0;
}

int page_put(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err)
{
	int i = 0;
	while (i < PAGES && strcmp(pages[i].schema, document->schema) != 0)
		i++;
	const int rc = (i < PAGES ? pages[i].put : page_put_any)(writer, document, n, err);
	const int closed = page_writer_close(writer, err);
	return rc ? rc : closed;
}
