/* SPDX-License-Identifier: MIT
 *
 * Pages of HTML as outputs of commands. */
#ifndef NPULAB_CLI_PAGE_H
#define NPULAB_CLI_PAGE_H

#include <stdio.h>

#include "pages/page.h"

struct cli_page {
	char *text; /* allocated */
	size_t bytes;
};
/* Make the page of a document, and of a result whose JSON `writer` writes. After an error there is nothing to free. */
int cli_page_of_document(const struct page_document *document, struct cli_page *page, struct npl_err *err);
int cli_page_of_result(void (*writer)(FILE *out, const void *data), const void *data, struct cli_page *page,
		       struct npl_err *err);

#endif
