/* SPDX-License-Identifier: MIT
 *
 * The devices of comparisons (entries.h). */
#include "entries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "drawing.h"
#include "npulab/result.h"

bool page_has_run(const json_t *device)
{
	return json_is_object(json_object_get(device, "totals"));
}

bool page_is_placement(const json_t *device)
{
	return json_is_array(json_object_get(device, "devices"));
}

bool page_is_modelled(const json_t *device)
{
	static const char *const modelled[] = {"simulated", "analytical"};
	const json_t *parts = json_object_get(device, "devices");
	const char *kind = page_text(device, "kind");
	for (size_t i = 0; i < sizeof modelled / sizeof *modelled; i++)
		if (!strcmp(kind, modelled[i]))
			return true;
	for (size_t i = 0; i < json_array_size(parts); i++)
		if (page_is_modelled(json_array_get(parts, i)))
			return true;
	return false;
}

bool page_is_metered(const json_t *device)
{
	return npl_origin_is_measured(page_text(json_object_get(device, "totals"), "energy_origin"));
}

/* ---- Cells. */

const char *page_figure_text(char buf[PAGE_FIGURE], double value, const char *unit, bool is_modelled)
{
	char text[PAGE_FIGURE - 2];
	snprintf(buf, PAGE_FIGURE, "%s%s", is_modelled ? "~" : "", page_quantity(value, unit, text, sizeof text));
	if (!isfinite(value))
		*buf = '\0';
	return buf;
}

void page_put_figure(struct page_writer *writer, double value, const char *unit, bool is_modelled)
{
	char text[PAGE_FIGURE];
	page_figure(writer, value, page_figure_text(text, value, unit, is_modelled));
}

void page_put_share(struct page_writer *writer, double fraction, bool is_modelled)
{
	char text[PAGE_FIGURE] = "";
	if (isfinite(100 * fraction))
		snprintf(text, sizeof text, "%s%.3g %%", is_modelled ? "~" : "", 100 * fraction);
	page_figure(writer, fraction, text);
}

void page_put_change(struct page_writer *writer, double value, double base)
{
	const double change = base > 0 ? value / base - 1 : NAN;
	char text[PAGE_FIGURE] = "";
	if (fabs(change) < 10)
		snprintf(text, sizeof text, change == 0 ? "0" : "%+.3g %%", 100 * change);
	else if (isfinite(change))
		snprintf(text, sizeof text, "x %.3g", change + 1);
	page_figure(writer, isfinite(change) ? change : NAN, text);
}

void page_put_ratio(struct page_writer *writer, const json_t *compared)
{
	const double ratio = page_number(compared, "sqnr_db");
	char text[PAGE_FIGURE];
	const bool is_exact = page_number(compared, "max_abs_error") == 0;
	page_figure(writer, ratio, is_exact ? "exact" : page_figure_text(text, ratio, "dB", false));
}

/* ---- Documents. */

bool page_can_compare(const json_t *first, const json_t *second)
{
	static const char *const keys[] = {"file_sha256", "batch", "samples", "layers"};
	const json_t *a = json_object_get(first, "model"), *b = json_object_get(second, "model");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])))
			return false;
	return true;
}

bool page_has_changes(const struct page_entries *entries)
{
	for (int i = 0; i < entries->n; i++)
		if (entries->entry[i].base)
			return true;
	return false;
}

bool page_is_first_of_kind(const struct page_entries *entries, int document)
{
	for (int i = 0; i < document; i++)
		if (page_can_compare(entries->document[i].root, entries->document[document].root))
			return false;
	return true;
}

static const struct page_entry *find_base(const struct page_entries *entries, const struct page_entry *entry)
{
	const char *instance = page_text(entry->device, "instance");
	for (const struct page_entry *other = entries->entry; other < entry; other++)
		if (other->document != entry->document && page_has_run(other->device) &&
		    !strcmp(page_text(other->device, "instance"), instance) &&
		    page_can_compare(entries->document[other->document].root, entries->document[entry->document].root))
			return other;
	return NULL;
}

static void add_entry(struct page_entries *entries, int document, const json_t *device)
{
	struct page_entry *entry = &entries->entry[entries->n++];
	const char *instance = page_text(device, "instance");
	*entry = (struct page_entry){.device = device, .document = document};
	if (entries->n_documents == 1)
		entry->label = strdup(instance);
	else if (asprintf(&entry->label, "%s (%s)", instance, entries->name[document]) < 0)
		entry->label = NULL;
	entry->base = page_has_run(device) ? find_base(entries, entry) : NULL;
}

static const json_t *devices_of(const struct page_document *document)
{
	return json_object_get(document->root, "devices");
}

static bool has_entry(const struct page_entries *entries, const json_t *device)
{
	for (int i = 0; i < entries->n; i++)
		if (entries->entry[i].device == device)
			return true;
	return false;
}

/* Adds a device and those of its instance in later documents behind it, so that they stand together. */
static void add_instance(struct page_entries *entries, int document, const json_t *device)
{
	const char *instance = page_text(device, "instance");
	if (has_entry(entries, device))
		return;
	add_entry(entries, document, device);
	for (int i = document + 1; i < entries->n_documents; i++) {
		const json_t *devices = devices_of(&entries->document[i]);
		for (size_t k = 0; k < json_array_size(devices); k++)
			if (!strcmp(page_text(json_array_get(devices, k), "instance"), instance) &&
			    !has_entry(entries, json_array_get(devices, k)))
				add_entry(entries, i, json_array_get(devices, k));
	}
}

int page_entries_of(const struct page_document *document, int n, struct page_entries *entries, struct npl_err *err)
{
	size_t n_devices = 0;
	for (int i = 0; i < n; i++)
		n_devices += json_array_size(json_object_get(document[i].root, "devices"));
	*entries = (struct page_entries){.n_documents = n, .document = document};
	entries->entry = calloc(n_devices + 1, sizeof *entries->entry);
	entries->name = page_document_names(document, n);
	if (!entries->entry || !entries->name) {
		page_entries_free(entries);
		return npl_no_memory(err);
	}
	for (int i = 0; i < n; i++)
		for (size_t k = 0; k < json_array_size(devices_of(&document[i])); k++)
			add_instance(entries, i, json_array_get(devices_of(&document[i]), k));
	for (int i = 0; i < entries->n; i++)
		if (!entries->entry[i].label) {
			page_entries_free(entries);
			return npl_no_memory(err);
		}
	return 0;
}

void page_entries_free(struct page_entries *entries)
{
	for (int i = 0; i < entries->n && entries->entry; i++)
		free(entries->entry[i].label);
	free(entries->entry);
	free(entries->name);
	*entries = (struct page_entries){0};
}
