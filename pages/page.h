/* SPDX-License-Identifier: MIT
 *
 * Pages of saved results: HTML that needs no network and no script to be read, Markdown, and tables in LaTeX. */
#ifndef NPULAB_PAGES_PAGE_H
#define NPULAB_PAGES_PAGE_H

#include "document.h"
#include "writer.h"

/* Says whether these documents can be on one page: they are of one schema. NPL_EINPUT where not. */
int page_check(const struct page_document *document, int n, struct npl_err *err);
/* Writes the page of documents that page_check accepts. Several are compared. The
 * caller sets out, format, and where it wants them files and folder. Returns 0, NPL_EINPUT for the points of a sweep
 * whose lists have not all the same length, or NPL_ENOMEM. */
int page_put(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err);

/* The page of npulab.compare/1 (compare.c): of compare, run and layer. */
int page_put_compare(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err);
/* The page of npulab.validate/1 (validate.c). */
int page_put_validate(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err);
/* The page of npulab.dram/1 (dram.c). */
int page_put_dram(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err);
/* The page of npulab.roofline/2 (roofline.c). */
int page_put_roofline(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err);
/* The page of npulab.pareto/1 (pareto.c): of a sweep. */
int page_put_pareto(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err);
/* The page of any document (any.c): its keys and its lists as tables. */
int page_put_any(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err);

/* Begin and end a page. Several documents have their names as the title (page_document_names); a page ends with the
 * program that made its last document. */
void page_begin_of(struct page_writer *writer, const char *title, char (*name)[PAGE_NAME], int n);
void page_end_of(struct page_writer *writer, const struct page_document *document, int n);
/* Writes the version and the commit of the program that made a document; "" if it does not say. Returns buf. */
const char *page_made_by(const json_t *root, char *buf, size_t n);

#endif
