/* SPDX-License-Identifier: MIT
 *
 * Placements of comparisons (npulab.compare/1): which device ran each layer, and when. */
#ifndef NPULAB_PAGES_PLACEMENT_H
#define NPULAB_PAGES_PLACEMENT_H

#include "entries.h"

/* Puts a section with a time axis for each entry that ran on more than one device. */
void page_put_placements(struct page_writer *writer, const struct page_entries *entries);

#endif
