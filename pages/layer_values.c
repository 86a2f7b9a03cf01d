/* SPDX-License-Identifier: MIT
 *
 * A chart of layers for several devices (layer_values.h). */
#include "layer_values.h"

#include <math.h>
#include <stdlib.h>

const json_t *page_layer_of(const struct page_entry *entry, size_t index)
{
	return json_array_get(json_object_get(entry->device, "layers"), index);
}

/* Fills the rows with the layers that have a value on any of the devices; returns their number. value: (devices, n). */
static size_t fill_rows(const struct page_layer_values *values, size_t n, const char **row, double *value)
{
	size_t rows = 0;
	for (size_t i = 0; i < n; i++) {
		bool has_value = false;
		for (int e = 0; e < values->n; e++) {
			const double one = values->value_of(page_layer_of(values->entry[e], i));
			value[(size_t)e * n + rows] = one;
			has_value |= !isnan(one);
		}
		row[rows] = page_text(page_layer_of(values->entry[0], i), "name");
		rows += has_value;
	}
	return rows;
}

void page_layer_values_put(struct page_writer *writer, const struct page_layer_values *values)
{
	const size_t n = json_array_size(json_object_get(values->entry[0]->device, "layers"));
	struct page_series series[PAGE_COLOURS];
	const char **row = calloc(n + 1, sizeof *row);
	double *value = calloc((n + 1) * (size_t)values->n, sizeof *value);
	writer->failed |= !row || !value;
	if (row && value) {
		const size_t rows = fill_rows(values, n, row, value);
		for (int e = 0; e < values->n; e++)
			series[e] = (struct page_series){.name = values->entry[e]->label,
							 .value = value + (size_t)e * n};
		page_bars_put(writer, &(struct page_bars){.id = values->id,
							  .label = values->label,
							  .unit = values->unit,
							  .is_modelled = values->is_modelled,
							  .kind = values->kind,
							  .n_rows = (int)rows,
							  .n_series = values->n,
							  .row = row,
							  .series = series});
	}
	free(row);
	free(value);
}
