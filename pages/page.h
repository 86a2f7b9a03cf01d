/* SPDX-License-Identifier: MIT
 *
 * Pages of HTML from saved results: one file with everything in it, that needs no network and no script to be read. */
#ifndef NPULAB_PAGES_PAGE_H
#define NPULAB_PAGES_PAGE_H

#include "document.h"

/* Says whether there is a page for documents of this schema; NPL_EINPUT where not, with those that there are. */
int page_check(const struct page_document *document, struct npl_err *err);
/* Writes the page of a document that page_check accepts. Returns 0 or NPL_ENOMEM. */
int page_put(FILE *out, const struct page_document *document, struct npl_err *err);

/* The page of npulab.compare/1 (compare.c): of compare, run and layer. */
int page_put_compare(FILE *out, const json_t *root, struct npl_err *err);

#endif
