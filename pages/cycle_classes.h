/* SPDX-License-Identifier: MIT
 *
 * What the cycles of machines went to over all layers of a comparison (npulab.compare/1), and what each class means. */
#ifndef NPULAB_PAGES_CYCLE_CLASSES_H
#define NPULAB_PAGES_CYCLE_CLASSES_H

#include "entries.h"

/* Puts a table with a row for each class of a machine's cycles, and for each part of a class; nothing where no machine
 * has any. */
void page_put_cycle_classes(struct page_writer *writer, const struct page_entries *entries);

#endif
