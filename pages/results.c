/* SPDX-License-Identifier: MIT
 *
 * Comparisons on one page (results.h). */
#include "results.h"

#include <string.h>

#include "core/base/message.h"
#include "npulab/report.h"
#include "page.h"

enum { LINE = 500 };

static void put_count(struct page_writer *writer, double n)
{
	char text[PAGE_FIGURE];
	page_figure(writer, n, npl_count_text(n, "", text, sizeof text));
}

static void put_document(struct page_writer *writer, const struct page_entries *entries, int i)
{
	const json_t *root = entries->document[i].root, *model = json_object_get(root, "model");
	char text[160];
	page_row(writer);
	page_cell(writer, entries->name[i]);
	page_cell(writer, page_text(model, "name"));
	put_count(writer, page_number(model, "batch"));
	put_count(writer, page_number(model, "samples"));
	page_cell(writer, page_text(model, "calibration"));
	page_cell(writer, page_made_by(root, text, sizeof text));
}

/* ---- Differences, as items of a list. The list begins with the first. */

struct differences {
	struct page_writer *writer;
	int n;
};

static void put_difference(struct differences *d, const char *line)
{
	if (!d->n++)
		page_list(d->writer);
	page_item(d->writer, line);
}

/* Puts an item if a value has changed. */
static void put_changed(struct differences *d, const char *label, const char *key, const char *value,
			const char *value_before)
{
	char line[LINE] = "";
	if (!strcmp(value, value_before))
		return;
	npl_append(line, sizeof line, "", "%s: %s %s, was %s", label, key, *value ? value : "none",
		   *value_before ? value_before : "none");
	put_difference(d, line);
}

/* Says which parameters of a machine are not those that it had before. */
static void put_changed_settings(struct differences *d, const char *label, const json_t *machine,
				 const json_t *machine_before)
{
	json_t *settings = json_object_get(machine, "settings"), *value;
	const json_t *before = json_object_get(machine_before, "settings");
	char text[80], text_before[80];
	const char *key;
	json_object_foreach (settings, key, value)
		put_changed(d, label, key, page_value_text(value, text, sizeof text),
			    page_value_text(json_object_get(before, key), text_before, sizeof text_before));
	json_object_foreach ((json_t *)before, key, value)
		if (!json_object_get(settings, key))
			put_changed(d, label, key, "", page_value_text(value, text, sizeof text));
}

/* Says of a device what differs: its parameters, its number format and where its energies come from. */
static void put_changed_device(struct differences *d, const struct page_entry *entry)
{
	const json_t *device = entry->device, *before = entry->base->device;
	put_changed_settings(d, entry->label, device, before);
	if (!page_is_modelled(device)) {
		char line[LINE];
		snprintf(line, sizeof line, "%s: measured again, and measured times differ from run to run",
			 entry->label);
		put_difference(d, line);
	}
	put_changed(d, entry->label, "number format", page_text(device, "precision"), page_text(before, "precision"));
	put_changed(d, entry->label, "energy", page_text(json_object_get(device, "totals"), "energy_origin"),
		    page_text(json_object_get(before, "totals"), "energy_origin"));
}

/* Says the same of the modelled host of each document after the first. */
static void put_changed_hosts(struct differences *d, const struct page_entries *entries)
{
	const json_t *first = json_object_get(entries->document[0].root, "host");
	for (int i = 1; i < entries->n_documents; i++) {
		const json_t *host = json_object_get(entries->document[i].root, "host");
		char label[120];
		snprintf(label, sizeof label, "the modelled host, %s", entries->name[i]);
		if (json_is_object(first) && json_is_object(host))
			put_changed_settings(d, label, host, first);
	}
}

/* Says which documents cannot be compared with any before them, and which devices not. */
static void put_unlike(struct differences *d, const struct page_entries *entries)
{
	char line[LINE];
	for (int i = 1; i < entries->n_documents; i++) {
		if (!page_is_first_of_kind(entries, i))
			continue;
		snprintf(line, sizeof line,
			 "%s is shown without changes: no result before it has the same network, batch and samples.",
			 entries->name[i]);
		put_difference(d, line);
	}
	for (int i = 0; i < entries->n; i++) {
		const struct page_entry *entry = &entries->entry[i];
		if (entry->base || !page_has_run(entry->device) || page_is_first_of_kind(entries, entry->document))
			continue;
		snprintf(line, sizeof line, "%s is shown without changes: no result before it has this device.",
			 entry->label);
		put_difference(d, line);
	}
}

void page_put_results(struct page_writer *writer, const struct page_entries *entries)
{
	struct differences d = {writer, 0};
	page_section(writer, "results", "Compared results");
	page_column(writer, "result", false);
	page_column(writer, "network", false);
	page_column(writer, "batch", true);
	page_column(writer, "samples", true);
	page_column(writer, "calibration", false);
	page_column(writer, "npulab", false);
	page_table(writer,
		   &(struct page_table){
			   .caption = "A change is relative to the first result with the same device, network, batch "
				      "and samples."});
	for (int i = 0; i < entries->n_documents; i++)
		put_document(writer, entries, i);
	page_table_end(writer);
	page_heading(writer, "What differs");
	put_unlike(&d, entries);
	for (int i = 0; i < entries->n; i++)
		if (entries->entry[i].base)
			put_changed_device(&d, &entries->entry[i]);
	put_changed_hosts(&d, entries);
	if (d.n)
		page_list_end(writer);
	else
		page_paragraph(writer, "No parameter of a device differs.");
	page_section_end(writer);
}
