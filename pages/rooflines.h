/* SPDX-License-Identifier: MIT
 *
 * Rooflines on pages: the layers of each device below what its arithmetic and its memory allow. */
#ifndef NPULAB_PAGES_ROOFLINES_H
#define NPULAB_PAGES_ROOFLINES_H

#include "entries.h"

/* Puts the section of comparisons (npulab.compare/1) and of rooflines (npulab.roofline/2): one chart with every layer
 * of every device. */
void page_put_rooflines(struct page_writer *writer, const struct page_entries *entries);

#endif
