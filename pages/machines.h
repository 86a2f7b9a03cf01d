/* SPDX-License-Identifier: MIT
 *
 * The machines of comparisons (npulab.compare/1): area and power of their components, and every parameter with its
 * source. */
#ifndef NPULAB_PAGES_MACHINES_H
#define NPULAB_PAGES_MACHINES_H

#include "entries.h"

void page_put_machines(struct page_writer *writer, const struct page_entries *entries);

#endif
