/* SPDX-License-Identifier: MIT
 *
 * Placements on a time axis (placement.h). */
#include "placement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "spans.h"

enum { MOST_ROWS = 32 };

struct axis {
	const char *row[MOST_ROWS];
	int n_rows, n_spans;
	struct page_span *span;
};

/* Returns the row of a device, which is added if there is none; -1: there are too many. */
static int row_of(struct axis *axis, const char *device)
{
	int i = 0;
	while (i < axis->n_rows && strcmp(axis->row[i], device) != 0)
		i++;
	if (i == MOST_ROWS)
		return -1;
	axis->row[i] = device;
	axis->n_rows += i == axis->n_rows;
	return i;
}

static void add_layer(struct axis *axis, const json_t *layer)
{
	const double start = page_number(layer, "start_seconds"), end = page_number(layer, "end_seconds");
	const char *device = page_text(layer, "ran_on");
	if (!(start >= 0) || !(end > start) || !page_is_drawable(end) || !*device)
		return;
	const int row = row_of(axis, device);
	if (row >= 0)
		axis->span[axis->n_spans++] = (struct page_span){row, start, end, page_text(layer, "name")};
}

static void put_axis(struct page_writer *writer, const struct page_entry *entry, const struct axis *axis)
{
	char label[300] = "", word[80];
	page_heading(writer, entry->label);
	npl_append(label, sizeof label, "", "Time of each layer of the first batch, by device: %s", entry->label);
	page_spans_put(writer, &(struct page_spans){.id = page_word(word, sizeof word, "placement", entry->label),
						    .label = label,
						    .n_rows = axis->n_rows,
						    .n_spans = axis->n_spans,
						    .row = axis->row,
						    .span = axis->span});
}

void page_put_placements(struct page_writer *writer, const struct page_entries *entries)
{
	bool is_open = false;
	for (int i = 0; i < entries->n; i++) {
		const json_t *layers = json_object_get(entries->entry[i].device, "layers");
		const size_t n = json_array_size(layers);
		struct axis axis = {.span = calloc(n + 1, sizeof *axis.span)};
		writer->failed |= !axis.span;
		for (size_t k = 0; k < n && axis.span; k++)
			add_layer(&axis, json_array_get(layers, k));
		if (axis.n_rows > 1) {
			if (!is_open)
				page_section(writer, "placement", "Which device ran when");
			is_open = true;
			put_axis(writer, &entries->entry[i], &axis);
		}
		free(axis.span);
	}
	if (is_open)
		page_section_end(writer);
}
