/* SPDX-License-Identifier: MIT
 *
 * Tables of layers (layer_tables.h). */
#include "layer_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer_values.h"

/* The entries of a table: those that have run, of the documents that can be compared with one. */
static bool is_in(const struct page_entries *entries, int document, const struct page_entry *entry)
{
	return page_has_run(entry->device) &&
	       page_can_compare(entries->document[document].root, entries->document[entry->document].root);
}

static double above_zero_or_none(double value)
{
	return value > 0 ? value : NAN;
}

static void put_entry_layer(struct page_writer *writer, const struct page_entry *entry, size_t index)
{
	const json_t *layer = page_layer_of(entry, index);
	const bool modelled = page_is_modelled(entry->device);
	const char *role = page_text(layer, "role");
	const double seconds = page_number(layer, "seconds");
	char text[PAGE_FIGURE];
	const bool ran = seconds > 0 || !strcmp(role, "ran");
	page_figure(writer, ran ? seconds : NAN, ran ? page_figure_text(text, seconds, "s", modelled) : role);
	if (entry->base)
		page_put_change(writer, seconds, page_number(page_layer_of(entry->base, index), "seconds"));
	page_put_figure(writer, page_number(layer, "energy_j"), "J", !page_is_metered(entry->device));
	if (entry->base)
		page_put_change(writer, page_number(layer, "energy_j"),
				page_number(page_layer_of(entry->base, index), "energy_j"));
	page_put_ratio(writer, layer);
	page_cell(writer, page_text(layer, "bound"));
	if (page_is_placement(entry->device))
		page_cell(writer, page_text(layer, "ran_on"));
}

static void put_layer(struct page_writer *writer, const struct page_entries *entries, int document,
		      const struct page_entry *first, size_t index)
{
	const json_t *layer = page_layer_of(first, index);
	page_row(writer);
	page_cell(writer, page_text(layer, "name"));
	page_cell(writer, page_text(layer, "op"));
	page_put_figure(writer, above_zero_or_none(page_number(layer, "macs")), "", false);
	for (int i = 0; i < entries->n; i++)
		if (is_in(entries, document, &entries->entry[i]))
			put_entry_layer(writer, &entries->entry[i], index);
}

static void put_column(struct page_writer *writer, const struct page_entry *entry, const char *what, bool is_number)
{
	char *heading;
	if (asprintf(&heading, "%s: %s", entry->label, what) < 0) {
		writer->failed = true;
		return;
	}
	page_column(writer, heading, is_number);
	free(heading);
}

static void put_columns(struct page_writer *writer, const struct page_entries *entries, int document)
{
	page_column(writer, "layer", false);
	page_column(writer, "operator", false);
	page_column(writer, "multiply-accumulates", true);
	for (int i = 0; i < entries->n; i++) {
		const struct page_entry *entry = &entries->entry[i];
		if (!is_in(entries, document, entry))
			continue;
		put_column(writer, entry, "time", true);
		if (entry->base)
			put_column(writer, entry, "change of time", true);
		put_column(writer, entry, "energy", true);
		if (entry->base)
			put_column(writer, entry, "change of energy", true);
		put_column(writer, entry, "signal/noise", true);
		put_column(writer, entry, "bound", false);
		if (page_is_placement(entry->device))
			page_column(writer, "ran on", false);
	}
}

/* Puts the table of a document and of those that can be compared with it. */
static void put_table(struct page_writer *writer, const struct page_entries *entries, int document)
{
	const struct page_table table = {.caption = "Each layer on each device, over all batches.",
					 .can_be_sorted = true,
					 .can_be_searched = true,
					 .is_long = true};
	const struct page_entry *first = NULL;
	for (int i = 0; i < entries->n && !first; i++)
		first = is_in(entries, document, &entries->entry[i]) ? &entries->entry[i] : NULL;
	if (!first)
		return;
	put_columns(writer, entries, document);
	page_table(writer, &table);
	for (size_t i = 0; i < json_array_size(json_object_get(first->device, "layers")); i++)
		put_layer(writer, entries, document, first, i);
	page_table_end(writer);
}

void page_put_layer_tables(struct page_writer *writer, const struct page_entries *entries)
{
	page_section(writer, "layers", "Layers");
	for (int i = 0; i < entries->n_documents; i++)
		if (page_is_first_of_kind(entries, i))
			put_table(writer, entries, i);
	page_section_end(writer);
}
