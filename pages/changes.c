/* SPDX-License-Identifier: MIT
 *
 * How the layers of a device differ between results (changes.h). */
#include "changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "layer_values.h"

static double above_0(double value)
{
	return value > 0 ? value : NAN;
}

static double seconds_of(const json_t *layer)
{
	return above_0(page_number(layer, "seconds"));
}

static double joules_of(const json_t *layer)
{
	return above_0(page_number(layer, "energy_j"));
}

/* ---- The layers that differ most. */

enum { MOST_CHANGED = 10 };

struct changed {
	const struct page_entry *entry;
	size_t layer;
	double seconds; /* after less before */
};

static int farther_first(const void *a, const void *b)
{
	const struct changed *x = a, *y = b;
	const double left = fabs(x->seconds), right = fabs(y->seconds);
	if (left != right)
		return left < right ? 1 : -1;
	return x->entry != y->entry ? (x->entry > y->entry) - (x->entry < y->entry)
				    : (x->layer > y->layer) - (x->layer < y->layer);
}

static size_t count_layers(const struct page_entry *entry)
{
	return json_array_size(json_object_get(entry->device, "layers"));
}

static bool any_modelled(const struct page_entries *entries)
{
	for (int i = 0; i < entries->n; i++)
		if (entries->entry[i].base && page_is_modelled(entries->entry[i].device))
			return true;
	return false;
}

/* Fills a list of the layers that take another time than before; returns their number. Measured times differ from run
 * to run: beside modelled ones they are not listed. */
static int find_changed(const struct page_entries *entries, struct changed *changed)
{
	int n = 0;
	for (int i = 0; i < entries->n; i++) {
		const struct page_entry *entry = &entries->entry[i];
		const bool is_listed = entry->base && (page_is_modelled(entry->device) || !any_modelled(entries));
		for (size_t k = 0; is_listed && k < count_layers(entry); k++) {
			const double after = page_number(page_layer_of(entry, k), "seconds"),
				     before = page_number(page_layer_of(entry->base, k), "seconds");
			if (after != before && isfinite(after - before))
				changed[n++] = (struct changed){entry, k, after - before};
		}
	}
	return n;
}

static void put_bound(struct page_writer *writer, const char *bound, const char *bound_before)
{
	char text[80];
	if (strcmp(bound, bound_before) != 0)
		snprintf(text, sizeof text, "%.30s, was %.30s", *bound ? bound : "none",
			 *bound_before ? bound_before : "none");
	else
		snprintf(text, sizeof text, "%.30s", bound);
	page_cell(writer, text);
}

static void put_changed(struct page_writer *writer, const struct changed *changed)
{
	const struct page_entry *entry = changed->entry;
	const json_t *layer = page_layer_of(entry, changed->layer),
		     *before = page_layer_of(entry->base, changed->layer);
	const bool modelled = page_is_modelled(entry->device);
	char text[PAGE_FIGURE], size[PAGE_FIGURE];
	page_row(writer);
	page_cell(writer, page_text(layer, "name"));
	page_cell(writer, entry->label);
	page_put_figure(writer, page_number(before, "seconds"), "s", modelled);
	page_put_figure(writer, page_number(layer, "seconds"), "s", modelled);
	page_quantity(fabs(changed->seconds), "s", size, sizeof size);
	snprintf(text, sizeof text, "%c%.50s", changed->seconds < 0 ? '-' : '+', size);
	page_figure(writer, changed->seconds, text);
	page_put_change(writer, page_number(layer, "seconds"), page_number(before, "seconds"));
	put_bound(writer, page_text(layer, "bound"), page_text(before, "bound"));
}

static const char *caption_of(const struct page_entries *entries)
{
	return any_modelled(entries) ? "Times of all batches on modelled devices, the greatest difference first."
				     : "Times of all batches, the greatest difference first. They are measured, and "
				       "differ from run to run.";
}

static void put_most_changed(struct page_writer *writer, const struct page_entries *entries)
{
	size_t n_layers = 0;
	for (int i = 0; i < entries->n; i++)
		n_layers += count_layers(&entries->entry[i]);
	struct changed *changed = calloc(n_layers + 1, sizeof *changed);
	writer->failed |= !changed;
	const int n = changed ? find_changed(entries, changed) : 0;
	if (n) {
		qsort(changed, (size_t)n, sizeof *changed, farther_first);
		page_heading(writer, "Layers whose time changes most");
		page_column(writer, "layer", false);
		page_column(writer, "device", false);
		page_column(writer, "before", true);
		page_column(writer, "after", true);
		page_column(writer, "difference", true);
		page_column(writer, "change", true);
		page_column(writer, "bound", false);
		page_table(writer, &(struct page_table){.caption = caption_of(entries), .can_be_sorted = true});
		for (int i = 0; i < n && i < MOST_CHANGED; i++)
			put_changed(writer, &changed[i]);
		page_table_end(writer);
	}
	free(changed);
}

/* ---- Charts of each device. */

/* Says whether the figure of any layer is not the same in all documents. */
static bool any_differs(const struct page_layer_values *values)
{
	for (int e = 1; e < values->n; e++)
		for (size_t k = 0; k < count_layers(values->entry[0]); k++) {
			const double first = values->value_of(page_layer_of(values->entry[0], k)),
				     other = values->value_of(page_layer_of(values->entry[e], k));
			if (first != other && !(isnan(first) && isnan(other)))
				return true;
		}
	return false;
}

/* Puts a chart of a figure of the layers in each document that has the device of the first entry. */
static void put_chart(struct page_writer *writer, const struct page_entries *entries, int first, const char *what,
		      struct page_layer_values values)
{
	const char *instance = page_text(entries->entry[first].device, "instance");
	char heading[300] = "", id[80], name[40];
	snprintf(name, sizeof name, "change-%s", what);
	npl_append(heading, sizeof heading, "", "%s: %s by layer", instance, what);
	values.id = page_word(id, sizeof id, name, instance);
	values.label = heading;
	values.kind = PAGE_BARS_GROUPED;
	values.entry[values.n++] = &entries->entry[first];
	for (int k = first + 1; k < entries->n && values.n < PAGE_COLOURS; k++)
		if (entries->entry[k].base == &entries->entry[first])
			values.entry[values.n++] = &entries->entry[k];
	if (values.n < 2 || !any_differs(&values))
		return;
	page_heading(writer, heading);
	page_layer_values_put(writer, &values);
}

/* Names the devices whose layers have the times and energies that they had. */
static void put_unchanged(struct page_writer *writer, const struct page_entries *entries)
{
	for (int i = 0; i < entries->n; i++) {
		const struct page_entry *entry = &entries->entry[i];
		struct page_layer_values values = {.value_of = seconds_of, .entry = {entry, entry->base}, .n = 2};
		char text[300];
		if (!entry->base || any_differs(&values))
			continue;
		values.value_of = joules_of;
		if (any_differs(&values))
			continue;
		snprintf(text, sizeof text, "%s: all layers have the time and the energy that they had.", entry->label);
		page_paragraph(writer, text);
	}
}

void page_put_changes(struct page_writer *writer, const struct page_entries *entries)
{
	if (!page_has_changes(entries))
		return;
	page_section(writer, "changes", "Before and after");
	put_unchanged(writer, entries);
	put_most_changed(writer, entries);
	for (int i = 0; i < entries->n; i++) {
		const json_t *device = entries->entry[i].device;
		put_chart(writer, entries, i, "time",
			  (struct page_layer_values){
				  .unit = "s", .value_of = seconds_of, .is_modelled = page_is_modelled(device)});
		put_chart(writer, entries, i, "energy",
			  (struct page_layer_values){
				  .unit = "J", .value_of = joules_of, .is_modelled = !page_is_metered(device)});
	}
	page_section_end(writer);
}
