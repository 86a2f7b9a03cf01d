/* SPDX-License-Identifier: MIT
 *
 * Charts of layers (layer_charts.h). */
#include "layer_charts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "cycle_classes.h"
#include "layer_values.h"

/* More than any device or placement has of components or of classes of cycles. */
enum { MOST_SERIES = 64 };

/* What a layer's bar of a device is made of. */
struct chart {
	const char *name[MOST_SERIES];
	int n;            /* 0: the device has no such chart */
	const char *unit; /* of the values that value_of returns */
	bool is_modelled;
	double (*value_of)(const struct chart *chart, const json_t *layer, int series);
};

/* Adds a series, unless there is one of its name. */
static void add_series(struct chart *chart, const char *name)
{
	for (int i = 0; i < chart->n; i++)
		if (!strcmp(chart->name[i], name))
			return;
	if (chart->n < MOST_SERIES)
		chart->name[chart->n++] = name;
}

static double total_of(const struct chart *chart, const json_t *layers, int series)
{
	double total = 0;
	for (size_t i = 0; i < json_array_size(layers); i++) {
		const double value = chart->value_of(chart, json_array_get(layers, i), series);
		total += value > 0 ? value : 0;
	}
	return total;
}

/* Brings the series that have most over all layers to the front. */
static void sort_series(struct chart *chart, const json_t *layers)
{
	double total[MOST_SERIES];
	for (int i = 0; i < chart->n; i++)
		total[i] = total_of(chart, layers, i);
	for (int i = 1; i < chart->n; i++)
		for (int k = i; k > 0 && total[k] > total[k - 1]; k--) {
			const char *name = chart->name[k];
			const double value = total[k];
			chart->name[k] = chart->name[k - 1];
			total[k] = total[k - 1];
			chart->name[k - 1] = name;
			total[k - 1] = value;
		}
}

/* ---- Times. */

static double whole_time_of(const struct chart *chart, const json_t *layer, int series)
{
	(void)chart, (void)series;
	return page_number(layer, "seconds");
}

static double or_0(double value)
{
	return isnan(value) ? 0 : value;
}

/* A layer's seconds are those of the device, the host and the link together. */
static double time_of(const struct chart *chart, const json_t *layer, int series)
{
	const double host = or_0(page_number(layer, "host_seconds")), link = or_0(page_number(layer, "link_seconds"));
	const double parts[] = {page_number(layer, "seconds") - host - link, host, link};
	(void)chart;
	return parts[series];
}

/* The time of a single layer is the device's own; its document has no host. */
static void times_of(const struct page_entries *entries, const struct page_entry *entry, struct chart *chart)
{
	const bool has_host = json_is_object(json_object_get(entries->document[entry->document].root, "host"));
	*chart = has_host ? (struct chart){.name = {"machine", "host", "link"}, .n = 3, .value_of = time_of}
			  : (struct chart){.name = {"machine"}, .n = 1, .value_of = whole_time_of};
	chart->unit = "s";
	chart->is_modelled = page_is_modelled(entry->device);
}

/* ---- Energies by component, the greatest first. */

/* Components of one name, of the devices of a placement, are one. */
static double energy_of(const struct chart *chart, const json_t *layer, int series)
{
	const json_t *energy = json_object_get(layer, "energy");
	double sum = 0;
	for (size_t i = 0; i < json_array_size(energy); i++) {
		const json_t *one = json_array_get(energy, i);
		const double joules = page_number(one, "joules");
		sum += joules > 0 && !strcmp(page_text(one, "component"), chart->name[series]) ? joules : 0;
	}
	return sum;
}

static void energies_of(const struct page_entries *entries, const struct page_entry *entry, struct chart *chart)
{
	const json_t *device = entry->device;
	const json_t *energy = json_object_get(json_object_get(device, "totals"), "energy");
	(void)entries;
	*chart = (struct chart){.unit = "J", .value_of = energy_of, .is_modelled = !page_is_metered(device)};
	for (size_t i = 0; i < json_array_size(energy); i++)
		if (page_number(json_array_get(energy, i), "joules") > 0)
			add_series(chart, page_text(json_array_get(energy, i), "component"));
	/* In the order of the entry that it is compared with, so that colours mean the same. */
	sort_series(chart, json_object_get(entry->base ? entry->base->device : device, "layers"));
}

/* ---- Cycles by class. */

static double cycles_of(const struct chart *chart, const json_t *layer, int series)
{
	return page_number(json_object_get(layer, "counters"), chart->name[series]);
}

static double class_seconds_of(const struct chart *chart, const json_t *layer, int series)
{
	return 1e-12 * cycles_of(chart, layer, series);
}

/* Adds the classes of a device. Returns false where they have another unit than those before. */
static bool add_classes(struct chart *chart, const json_t *device)
{
	const json_t *list = json_object_get(device, "cycle_classes");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const bool in_ps = !strcmp(page_text(one, "unit"), "ps");
		const char *unit = in_ps ? "s" : "";
		if (chart->unit && strcmp(chart->unit, unit) != 0)
			return false;
		chart->unit = unit;
		chart->value_of = in_ps ? class_seconds_of : cycles_of;
		add_series(chart, page_text(one, "name"));
	}
	return true;
}

/* The devices of a placement share a chart where all of them count cycles, or all of them times. */
static void classes_of(const struct page_entries *entries, const struct page_entry *entry, struct chart *chart)
{
	const json_t *device = entry->device;
	const json_t *parts = json_object_get(device, "devices");
	(void)entries;
	*chart = (struct chart){.is_modelled = page_is_modelled(device)};
	bool ok = add_classes(chart, device);
	for (size_t i = 0; i < json_array_size(parts) && ok; i++)
		ok = add_classes(chart, json_array_get(parts, i));
	chart->n = ok ? chart->n : 0;
	if (chart->n > PAGE_COLOURS)
		sort_series(chart, json_object_get(device, "layers"));
}

/* ---- Charts. */

/* Says whether a layer has a row: a layer that took time, and has a part of what the chart shows. */
static bool has_row(const struct chart *chart, const json_t *layer)
{
	bool any = false;
	for (int s = 0; s < chart->n; s++)
		any |= chart->value_of(chart, layer, s) > 0;
	return any && page_number(layer, "seconds") > 0;
}

/* What a chart needs room for. */
struct room {
	const char **row;
	double *value; /* (series, rows) */
};

static bool open_room(struct page_writer *writer, struct room *room, size_t n_rows, int n_series)
{
	room->row = calloc(n_rows + 1, sizeof *room->row);
	room->value = calloc((n_rows + 1) * (size_t)n_series, sizeof *room->value);
	writer->failed |= !room->row || !room->value;
	return room->row && room->value;
}

static void close_room(struct room *room)
{
	free(room->row);
	free(room->value);
}

/* Sums the values of a layer in the rows of the series; those that have no colour of their own are in the last. */
static void add_row(const struct chart *chart, const json_t *layer, int n_series, size_t n, size_t row,
		    struct room *room)
{
	for (int s = 0; s < chart->n; s++) {
		const double value = chart->value_of(chart, layer, s);
		room->value[(size_t)(s < n_series ? s : n_series - 1) * n + row] += value > 0 ? value : 0;
	}
	room->row[row] = page_text(layer, "name");
}

/* Puts the chart of a device, with a row for each layer that took any time, below a heading. */
static void put_chart(struct page_writer *writer, const struct page_entry *entry, const struct chart *chart,
		      const char *id, const char *heading)
{
	const json_t *layers = json_object_get(entry->device, "layers");
	const size_t n = json_array_size(layers);
	const int n_series = chart->n < PAGE_COLOURS ? chart->n : PAGE_COLOURS;
	struct page_series series[PAGE_COLOURS];
	struct room room = {0};
	char label[300] = "", word[80];
	size_t rows = 0;
	const bool ok = open_room(writer, &room, n, n_series);
	for (size_t i = 0; i < n && ok; i++)
		if (has_row(chart, json_array_get(layers, i)))
			add_row(chart, json_array_get(layers, i), n_series, n, rows++, &room);
	for (int s = 0; s < n_series; s++)
		series[s] = (struct page_series){chart->name[s], room.value + (size_t)s * n, NULL, NULL};
	if (chart->n > n_series)
		series[n_series - 1].name = "others";
	if (rows) {
		page_heading(writer, entry->label);
		npl_append(label, sizeof label, "", "%s on %s", heading, entry->label);
		page_bars_put(writer, &(struct page_bars){.id = page_word(word, sizeof word, id, entry->label),
							  .label = label,
							  .unit = chart->unit,
							  .is_modelled = chart->is_modelled,
							  .n_rows = (int)rows,
							  .n_series = n_series,
							  .row = room.row,
							  .series = series});
	}
	close_room(&room);
}

/* ---- Errors: all devices in one chart. */

static double ratio_of(const json_t *layer)
{
	return page_number(layer, "sqnr_db");
}

static bool has_ratio(const json_t *device)
{
	const json_t *layers = json_object_get(device, "layers");
	for (size_t i = 0; i < json_array_size(layers); i++)
		if (!isnan(ratio_of(json_array_get(layers, i))))
			return true;
	return false;
}

/* Puts the ratios of the devices of all documents that can be compared with this one; eight have a colour. */
static void put_errors_like(struct page_writer *writer, const struct page_entries *entries, int document)
{
	char id[80];
	struct page_layer_values values = {
		.id = page_word(id, sizeof id, "error", document ? entries->name[document] : ""),
		.label = "Signal-to-noise ratio of each layer on each device",
		.unit = "dB",
		.kind = PAGE_BARS_MARKS,
		.value_of = ratio_of};
	bool has_more = false;
	for (int i = 0; i < entries->n; i++) {
		if (!has_ratio(entries->entry[i].device) ||
		    !page_can_compare(entries->document[document].root,
				      entries->document[entries->entry[i].document].root))
			continue;
		has_more |= values.n == PAGE_COLOURS;
		if (values.n < PAGE_COLOURS)
			values.entry[values.n++] = &entries->entry[i];
	}
	if (has_more)
		page_paragraph_of_drawings(writer, "The chart has the first eight devices.");
	if (values.n)
		page_layer_values_put(writer, &values);
}

static void put_errors(struct page_writer *writer, const struct page_entries *entries)
{
	bool any = false;
	for (int i = 0; i < entries->n; i++)
		any |= has_ratio(entries->entry[i].device);
	if (!any)
		return;
	page_section(writer, "error", "Error by layer");
	page_paragraph_of_drawings(writer,
				   "The signal-to-noise ratio of each layer's result against float32, in dB: the "
				   "higher it is, the smaller is the error. There is no mark where the result is "
				   "exact, and where the device does not store it.");
	for (int i = 0; i < entries->n_documents; i++)
		if (page_is_first_of_kind(entries, i))
			put_errors_like(writer, entries, i);
	page_section_end(writer);
}

/* ---- The sections. */

/* A chart for each device, of layers. */
struct section {
	const char *id, *heading, *text;
	void (*chart_of)(const struct page_entries *entries, const struct page_entry *entry, struct chart *chart);
};

static bool put_section(struct page_writer *writer, const struct page_entries *entries, const struct section *section)
{
	bool any = false;
	page_section(writer, section->id, section->heading);
	for (int i = 0; i < entries->n; i++) {
		struct chart chart;
		section->chart_of(entries, &entries->entry[i], &chart);
		if (!chart.n)
			continue;
		if (!any)
			page_paragraph_of_drawings(writer, section->text);
		any = true;
		put_chart(writer, &entries->entry[i], &chart, section->id, section->heading);
	}
	return any;
}

void page_put_layer_charts(struct page_writer *writer, const struct page_entries *entries)
{
	static const struct section
		times = {"time", "Time by layer",
			 "The time of all batches, in the machine, on the host and on the link between them. Layers "
			 "that take no time of their own (fused, view) have no row.",
			 times_of},
		energies = {"energy", "Energy by layer", "The energy of all batches, by component.", energies_of},
		cycles = {"cycles", "Where the cycles went", "The cycles of all batches, by what the machine did.",
			  classes_of};
	put_section(writer, entries, &times);
	page_section_end(writer);
	put_section(writer, entries, &energies);
	page_section_end(writer);
	if (put_section(writer, entries, &cycles))
		page_put_cycle_classes(writer, entries);
	page_section_end(writer);
	put_errors(writer, entries);
}
