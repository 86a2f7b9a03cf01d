/* SPDX-License-Identifier: MIT
 *
 * Tables of the layers of comparisons (npulab.compare/1): every layer on every device. */
#ifndef NPULAB_PAGES_LAYER_TABLES_H
#define NPULAB_PAGES_LAYER_TABLES_H

#include "entries.h"

/* Documents of the same network share a table. */
void page_put_layer_tables(struct page_writer *writer, const struct page_entries *entries);

#endif
