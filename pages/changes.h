/* SPDX-License-Identifier: MIT
 *
 * How the layers of a device differ between comparisons on one page (npulab.compare/1). */
#ifndef NPULAB_PAGES_CHANGES_H
#define NPULAB_PAGES_CHANGES_H

#include "entries.h"

/* Puts a section with the layers whose times differ most, and charts of the time and the energy of each layer in each
 * document, for every device that more than one has. */
void page_put_changes(struct page_writer *writer, const struct page_entries *entries);

#endif
