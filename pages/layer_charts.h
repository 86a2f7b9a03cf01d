/* SPDX-License-Identifier: MIT
 *
 * Charts of the layers of comparisons (npulab.compare/1): sections for their times, energies, cycles and errors. Times,
 * energies and cycles have a chart for each device that has any; errors have one for all. */
#ifndef NPULAB_PAGES_LAYER_CHARTS_H
#define NPULAB_PAGES_LAYER_CHARTS_H

#include "entries.h"

void page_put_layer_charts(struct page_writer *writer, const struct page_entries *entries);

#endif
