/* SPDX-License-Identifier: MIT
 *
 * The devices of comparisons (npulab.compare/1) side by side: what a batch takes and of what that is made, how far the
 * values are from float32, and what each device is. */
#ifndef NPULAB_PAGES_SIDE_BY_SIDE_H
#define NPULAB_PAGES_SIDE_BY_SIDE_H

#include "entries.h"

void page_put_side_by_side(struct page_writer *writer, const struct page_entries *entries);

#endif
