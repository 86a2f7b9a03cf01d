/* SPDX-License-Identifier: MIT
 *
 * What limits the layers of comparisons (npulab.compare/1): how many layers have each bound, and their time and
 * energy. */
#ifndef NPULAB_PAGES_BOUNDS_H
#define NPULAB_PAGES_BOUNDS_H

#include "entries.h"

/* Puts a section, if any layer has a bound. */
void page_put_bounds(struct page_writer *writer, const struct page_entries *entries);

/* Returns what most cycles of a layer with a bound went to; "" for an unknown one. */
const char *page_bound_meaning(const char *bound);

#endif
