/* SPDX-License-Identifier: MIT
 *
 * What the devices of comparisons are (about_devices.h). */
#include "about_devices.h"

#include <string.h>

#include "core/base/message.h"
#include "npulab/compare.h"

/* Says how far the times of a measured device can be trusted. */
static void put_measurement(struct page_writer *writer, const json_t *totals)
{
	const double within = page_number(totals, "seconds_median_within");
	char text[300];
	if (json_is_true(json_object_get(totals, "machine_busy"))) {
		snprintf(text, sizeof text,
			 "measured beside other programs, which took %.3g processors (load average %.3g)",
			 page_number(totals, "others_processors"), page_number(totals, "load_average"));
		page_remark(writer, text);
	}
	if (page_number(totals, "passes") > 0) {
		snprintf(text, sizeof text, "median of %.0f runs, of which the middle half spans %.3g %% of it",
			 page_number(totals, "passes"), 100 * page_number(totals, "seconds_spread"));
		page_remark(writer, text);
	}
	if (within > NPL_STABLE_MEDIAN && within < 100) {
		snprintf(text, sizeof text, "not stable: the median is known within %.2g %%", 100 * within);
		page_remark(writer, text);
	}
}

/* Counts the layers that the host ran beside a device, by operator and reason: "Add: no operation for it". */
static json_t *count_hosted(struct page_writer *writer, const json_t *layers)
{
	json_t *counts = json_object();
	writer->failed |= !counts;
	for (size_t i = 0; i < json_array_size(layers) && counts; i++) {
		const json_t *layer = json_array_get(layers, i);
		char key[300] = "";
		if (strcmp(page_text(layer, "ran_on"), "host") != 0 || !*page_text(layer, "note"))
			continue;
		npl_append(key, sizeof key, "", "%.60s: %.200s", page_text(layer, "op"), page_text(layer, "note"));
		const json_int_t n = json_integer_value(json_object_get(counts, key));
		writer->failed |= json_object_set_new(counts, key, json_integer(n + 1)) != 0;
	}
	return counts;
}

static void put_hosted(struct page_writer *writer, const json_t *layers)
{
	json_t *counts = count_hosted(writer, layers), *count;
	const char *key;
	json_object_foreach (counts, key, count) {
		const int n = (int)json_integer_value(count);
		char text[400] = "";
		npl_append(text, sizeof text, "", "%d layer%s on the host, %s", n, npl_plural(n), key);
		page_remark(writer, text);
	}
	json_decref(counts);
}

static void put_origin(struct page_writer *writer, const json_t *device, const char *label)
{
	const json_t *notes = json_object_get(device, "notes"), *totals = json_object_get(device, "totals");
	const char *origin = page_text(totals, "energy_origin"), *note = page_text(totals, "energy_note");
	char text[700] = "";
	page_item(writer, label);
	if (*page_text(device, "unavailable"))
		npl_append(text, sizeof text, "", "not available here: %s", page_text(device, "unavailable"));
	page_remark(writer, text);
	page_remark(writer, page_text(device, "detail"));
	*text = '\0';
	if (*origin)
		npl_append(text, sizeof text, "", "energy %s%s%s", origin, *note ? ": " : "", note);
	page_remark(writer, text);
	put_measurement(writer, totals);
	put_hosted(writer, json_object_get(device, "layers"));
	for (size_t k = 0; k < json_array_size(notes); k++)
		page_remark(writer, json_string_value(json_array_get(notes, k)));
}

void page_put_about_devices(struct page_writer *writer, const struct page_entries *entries)
{
	page_heading(writer, "About the devices");
	page_list(writer);
	for (int i = 0; i < entries->n; i++) {
		const json_t *parts = json_object_get(entries->entry[i].device, "devices");
		put_origin(writer, entries->entry[i].device, entries->entry[i].label);
		for (size_t k = 0; k < json_array_size(parts); k++)
			put_origin(writer, json_array_get(parts, k), page_text(json_array_get(parts, k), "instance"));
	}
	page_list_end(writer);
}
