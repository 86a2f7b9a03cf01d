/* SPDX-License-Identifier: MIT
 *
 * The page of rooflines (page.h): the chart that comparisons have too, the whole network and every layer of each
 * device, and where the roofs are from. */
#include <math.h>
#include <string.h>

#include "core/base/message.h"
#include "entries.h"
#include "npulab/report.h"
#include "page.h"
#include "rooflines.h"

/* ---- Documents. */

/* Says whether the figures of two documents can be compared: they are of the same network, and count the same bytes. */
static bool can_compare(const json_t *first, const json_t *second)
{
	static const char *const keys[] = {"intensity", "model.file_sha256", "model.name", "model.batch",
					   "model.layers"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const json_t *a = page_value_at(first, keys[i]), *b = page_value_at(second, keys[i]);
		if (a != b && !json_equal(a, b))
			return false;
	}
	return true;
}

/* Returns the same device of an earlier document with which an entry can be compared; NULL: there is none. */
static const json_t *base_of(const struct page_entries *entries, const struct page_entry *entry)
{
	const char *instance = page_text(entry->device, "instance");
	for (const struct page_entry *other = entries->entry; other < entry; other++)
		if (other->document != entry->document && !strcmp(page_text(other->device, "instance"), instance) &&
		    can_compare(entries->document[other->document].root, entries->document[entry->document].root))
			return other->device;
	return NULL;
}

static const char *intensity_words(const json_t *root)
{
	return !strcmp(page_text(root, "intensity"), "weights") ? "bytes of weights alone"
								: "bytes that must cross the device's memory";
}

static void put_lede(struct page_writer *writer, const json_t *root)
{
	const json_t *model = json_object_get(root, "model");
	char text[500] = "", macs[PAGE_FIGURE];
	if (json_is_object(model))
		npl_append(text, sizeof text, "", "%.0f layers, %s multiply-accumulates in a batch of %.0f. ",
			   page_number(model, "layers"), page_figure_text(macs, page_number(model, "macs"), "", false),
			   page_number(model, "batch"));
	npl_append(text, sizeof text, "", "Intensities count %s.", intensity_words(root));
	if (json_is_object(model))
		npl_append(
			text, sizeof text, "",
			" Each layer runs by itself. In the network as a whole its weights may come during the layer "
			"before it, and layers may share a pass, so that the layers sum to more.");
	page_paragraph(writer, text);
}

static void put_documents(struct page_writer *writer, const struct page_entries *entries)
{
	page_section(writer, "results", "Compared results");
	page_column(writer, "result", false);
	page_column(writer, "network", false);
	page_column(writer, "batch", true);
	page_column(writer, "intensity", false);
	page_column(writer, "npulab", false);
	page_table(writer,
		   &(struct page_table){
			   .caption = "A change is relative to the first result with the same device, network and "
				      "batch."});
	for (int i = 0; i < entries->n_documents; i++) {
		const json_t *root = entries->document[i].root, *model = json_object_get(root, "model");
		char text[160];
		page_row(writer);
		page_cell(writer, entries->name[i]);
		page_cell(writer, page_text(model, "name"));
		npl_count_text(page_number(model, "batch"), "", text, sizeof text);
		page_figure(writer, page_number(model, "batch"), json_is_object(model) ? text : "");
		page_cell(writer, intensity_words(root));
		page_cell(writer, page_made_by(root, text, sizeof text));
	}
	page_table_end(writer);
	page_section_end(writer);
}

/* ---- Figures of networks and layers. */

static void add_columns(struct page_writer *writer, const struct page_entries *entries, bool of_layers)
{
	page_column(writer, "device", false);
	if (of_layers) {
		page_column(writer, "layer", false);
		page_column(writer, "operator", false);
	}
	page_column(writer, "format", false);
	page_column(writer, "bytes", true);
	page_column(writer, "intensity, MAC/B", true);
	page_column(writer, "time", true);
	if (entries->n_documents > 1)
		page_column(writer, "change of time", true);
	page_column(writer, "OP/s", true);
	page_column(writer, "roof", true);
	page_column(writer, "share of the roof", true);
	page_column(writer, "bound", false);
}

static void put_figures(struct page_writer *writer, const struct page_entries *entries, const struct page_entry *entry,
			const json_t *figures, const json_t *base)
{
	const bool modelled = page_is_modelled(entry->device);
	page_cell(writer, page_text(figures, "precision"));
	page_put_figure(writer, page_number(figures, "bytes"), "B", false);
	page_put_figure(writer, page_number(figures, "macs_per_byte"), "", false);
	page_put_figure(writer, page_number(figures, "seconds"), "s", modelled);
	if (entries->n_documents > 1)
		page_put_change(writer, page_number(figures, "seconds"), page_number(base, "seconds"));
	page_put_figure(writer, page_number(figures, "ops_per_second"), "OP/s", modelled);
	page_put_figure(writer, page_number(figures, "roof_ops_per_second"), "OP/s", modelled);
	page_put_share(writer, page_number(figures, "share"), modelled);
	page_cell(writer, page_text(figures, "bound"));
}

static void put_networks(struct page_writer *writer, const struct page_entries *entries)
{
	page_section(writer, "network", "The whole network");
	add_columns(writer, entries, false);
	page_table(writer, &(struct page_table){.caption = "The network as a whole, over all batches.",
						.can_be_sorted = entries->n > 1});
	for (int i = 0; i < entries->n; i++) {
		const struct page_entry *entry = &entries->entry[i];
		const json_t *network = json_object_get(entry->device, "network");
		if (!json_object_size(network))
			continue;
		page_row(writer);
		page_cell(writer, entry->label);
		put_figures(writer, entries, entry, network, json_object_get(base_of(entries, entry), "network"));
	}
	page_table_end(writer);
	page_section_end(writer);
}

/* Returns the layer of the same index; NULL: there is none. Lists of one network on one device seldom differ. */
static const json_t *same_layer(const json_t *layers, size_t at, const json_t *layer)
{
	const json_t *index = json_object_get(layer, "index");
	if (json_equal(json_object_get(json_array_get(layers, at), "index"), index))
		return json_array_get(layers, at);
	for (size_t i = 0; i < json_array_size(layers); i++)
		if (json_equal(json_object_get(json_array_get(layers, i), "index"), index))
			return json_array_get(layers, i);
	return NULL;
}

static void put_layers_of(struct page_writer *writer, const struct page_entries *entries,
			  const struct page_entry *entry)
{
	const json_t *layers = json_object_get(entry->device, "layers"),
		     *before = json_object_get(base_of(entries, entry), "layers");
	for (size_t i = 0; i < json_array_size(layers); i++) {
		const json_t *layer = json_array_get(layers, i);
		page_row(writer);
		page_cell(writer, entry->label);
		page_cell(writer, page_text(layer, "name"));
		page_cell(writer, page_text(layer, "op"));
		put_figures(writer, entries, entry, layer, same_layer(before, i, layer));
	}
}

static void put_layers(struct page_writer *writer, const struct page_entries *entries)
{
	page_section(writer, "layers", "Layers");
	add_columns(writer, entries, true);
	page_table(writer, &(struct page_table){.caption = "Layers that the device ran itself, over all batches. The "
							   "bound is what limits a layer's speed.",
						.can_be_sorted = true,
						.can_be_searched = true,
						.is_long = true});
	for (int i = 0; i < entries->n; i++)
		put_layers_of(writer, entries, &entries->entry[i]);
	page_table_end(writer);
	page_section_end(writer);
}

/* ---- Where the roofs are from. */

static void put_roof_remarks(struct page_writer *writer, const json_t *device)
{
	const json_t *roofs = json_object_get(device, "roofs"), *memory = json_object_get(device, "memory");
	char text[400];
	for (size_t i = 0; i < json_array_size(roofs); i++) {
		const json_t *roof = json_array_get(roofs, i);
		if (!*page_text(roof, "how"))
			continue;
		snprintf(text, sizeof text, "peak in %.40s: %.300s", page_text(roof, "precision"),
			 page_text(roof, "how"));
		page_remark(writer, text);
	}
	if (*page_text(memory, "how")) {
		snprintf(text, sizeof text, "bytes per second: %.300s", page_text(memory, "how"));
		page_remark(writer, text);
	}
}

static void put_origins(struct page_writer *writer, const struct page_entries *entries)
{
	page_section(writer, "origins", "Where the roofs are from");
	page_list(writer);
	for (int i = 0; i < entries->n; i++) {
		const json_t *device = entries->entry[i].device, *notes = json_object_get(device, "notes");
		char text[400];
		page_item(writer, entries->entry[i].label);
		if (*page_text(device, "unavailable")) {
			snprintf(text, sizeof text, "is not available here: %.300s", page_text(device, "unavailable"));
			page_remark(writer, text);
			continue;
		}
		page_remark(writer, page_text(device, "detail"));
		put_roof_remarks(writer, device);
		for (size_t k = 0; k < json_array_size(notes); k++)
			page_remark(writer, json_string_value(json_array_get(notes, k)));
	}
	page_list_end(writer);
	page_section_end(writer);
}

/* ---- The page. */

static void title_of(const json_t *root, char *title, size_t n)
{
	const json_t *devices = json_object_get(root, "devices");
	const char *model = page_text(json_object_get(root, "model"), "name");
	*title = '\0';
	npl_append(title, n, "", "%s%s", *model ? "Rooflines of " : "Roofs", model);
	for (size_t i = 0; i < json_array_size(devices); i++)
		npl_append(title, n,
			   i        ? ", "
			   : *model ? " on "
				    : " of ",
			   "%s", page_text(json_array_get(devices, i), "instance"));
}

int page_put_roofline(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err)
{
	struct page_entries entries;
	char title[400];
	bool has_layers = false;
	if (page_entries_of(document, n, &entries, err))
		return err->code;
	for (int i = 0; i < entries.n; i++)
		has_layers |= json_array_size(json_object_get(entries.entry[i].device, "layers")) > 0;
	title_of(document->root, title, sizeof title);
	page_begin_of(writer, title, entries.name, n);
	if (n == 1)
		put_lede(writer, document->root);
	else
		put_documents(writer, &entries);
	if (has_layers)
		put_networks(writer, &entries);
	page_put_rooflines(writer, &entries);
	if (has_layers)
		put_layers(writer, &entries);
	put_origins(writer, &entries);
	page_end_of(writer, document, n);
	page_entries_free(&entries);
	return 0;
}
