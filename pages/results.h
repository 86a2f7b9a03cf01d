/* SPDX-License-Identifier: MIT
 *
 * Comparisons on one page: which they are, and what differs between them. */
#ifndef NPULAB_PAGES_RESULTS_H
#define NPULAB_PAGES_RESULTS_H

#include "entries.h"

/* Puts a section with the documents and their differences. */
void page_put_results(struct page_writer *writer, const struct page_entries *entries);

#endif
