/* SPDX-License-Identifier: MIT
 *
 * A chart with a figure of each layer, for several devices of the same layers. */
#ifndef NPULAB_PAGES_LAYER_VALUES_H
#define NPULAB_PAGES_LAYER_VALUES_H

#include "bars.h"
#include "entries.h"

/* Returns the layer of that index of a device; NULL: it has none. */
const json_t *page_layer_of(const struct page_entry *entry, size_t index);

struct page_layer_values {
	const char *id, *label, *unit; /* as in page_bars */
	enum page_bars_kind kind;
	bool is_modelled;
	double (*value_of)(const json_t *layer); /* NAN: the layer has none */
	const struct page_entry *entry[PAGE_COLOURS];
	int n;
};
/* Puts the chart, with a row for each layer that has the figure on any of the devices. */
void page_layer_values_put(struct page_writer *writer, const struct page_layer_values *values);

#endif
