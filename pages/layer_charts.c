/* SPDX-License-Identifier: MIT
 *
 * Charts of layers (layer_charts.h). */
#include "layer_charts.h"

#include <stdlib.h>
#include <string.h>

#include "bars.h"
#include "core/base/message.h"
#include "core/base/refuse.h"
#include "document.h"
#include "html.h"
#include "reports/format/markup.h"

/* More than any device or placement has of components or of classes of cycles. */
enum { MOST_SERIES = 64 };

/* What a layer's bar of a device is made of. */
struct chart {
	const char *name[MOST_SERIES];
	int n;            /* 0: the device has no such chart */
	const char *unit; /* of the values that value_of returns */
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

static double time_of(const struct chart *chart, const json_t *layer, int series)
{
	static const char *const keys[] = {"seconds", "host_seconds", "link_seconds"};
	(void)chart;
	return page_number(layer, keys[series]);
}

static void times_of(const json_t *device, struct chart *chart)
{
	(void)device;
	*chart = (struct chart){{"device", "host", "link"}, 3, "s", time_of};
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

static void energies_of(const json_t *device, struct chart *chart)
{
	const json_t *energy = json_object_get(json_object_get(device, "totals"), "energy");
	*chart = (struct chart){.unit = "J", .value_of = energy_of};
	for (size_t i = 0; i < json_array_size(energy); i++)
		if (page_number(json_array_get(energy, i), "joules") > 0)
			add_series(chart, page_text(json_array_get(energy, i), "component"));
	sort_series(chart, json_object_get(device, "layers"));
}

/* ---- Cycles by class. */

static double cycles_of(const struct chart *chart, const json_t *layer, int series)
{
	return page_number(json_object_get(layer, "counters"), chart->name[series]);
}

static double ps_of(const struct chart *chart, const json_t *layer, int series)
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
		chart->value_of = in_ps ? ps_of : cycles_of;
		add_series(chart, page_text(one, "name"));
	}
	return true;
}

/* The devices of a placement share a chart where all of them count cycles, or all of them times. */
static void classes_of(const json_t *device, struct chart *chart)
{
	const json_t *parts = json_object_get(device, "devices");
	*chart = (struct chart){.n = 0};
	bool ok = add_classes(chart, device);
	for (size_t i = 0; i < json_array_size(parts) && ok; i++)
		ok = add_classes(chart, json_array_get(parts, i));
	chart->n = ok ? chart->n : 0;
	if (chart->n > PAGE_COLOURS)
		sort_series(chart, json_object_get(device, "layers"));
}

/* ---- Charts. */

/* A chart has a row for each layer that took any time. */
static bool has_time(const json_t *layer)
{
	return page_number(layer, "seconds") > 0 || page_number(layer, "host_seconds") > 0 ||
	       page_number(layer, "link_seconds") > 0;
}

struct room {
	const char **row;
	double *value; /* (series, rows) */
};

static int open_room(struct room *room, size_t n_rows, int n_series, struct npl_err *err)
{
	room->row = calloc(n_rows + 1, sizeof *room->row);
	room->value = calloc((n_rows + 1) * (size_t)n_series, sizeof *room->value);
	return room->row && room->value ? 0 : npl_no_memory(err);
}

/* Draws the chart of a device, below a heading. */
static int put_chart(FILE *out, const json_t *device, const struct chart *chart, const char *heading,
		     struct npl_err *err)
{
	const json_t *layers = json_object_get(device, "layers");
	const char *instance = page_text(device, "instance");
	const size_t n = json_array_size(layers);
	struct page_series series[PAGE_COLOURS];
	const int n_series = chart->n < PAGE_COLOURS ? chart->n : PAGE_COLOURS;
	struct room room = {0};
	char label[300] = "";
	int rows = 0, rc = open_room(&room, n, n_series, err);
	for (size_t i = 0; i < n && !rc; i++) {
		const json_t *layer = json_array_get(layers, i);
		if (!has_time(layer))
			continue;
		for (int s = 0; s < chart->n; s++) {
			const double value = chart->value_of(chart, layer, s);
			const int place = s < n_series ? s : n_series - 1;
			room.value[(size_t)place * n + (size_t)rows] += value > 0 ? value : 0;
		}
		room.row[rows++] = page_text(layer, "name");
	}
	for (int s = 0; s < n_series && !rc; s++)
		series[s] = (struct page_series){chart->name[s], room.value + (size_t)s * n};
	if (chart->n > n_series) /* what has no colour of its own */
		series[n_series - 1].name = "others";
	if (rows) {
		fputs("<h3>", out);
		npl_xml_put(out, instance);
		fputs("</h3>\n", out);
		npl_append(label, sizeof label, "", "%s on %s", heading, instance);
		page_bars_put(out, &(struct page_bars){.label = label,
						       .unit = chart->unit,
						       .n_rows = rows,
						       .n_series = n_series,
						       .row = room.row,
						       .series = series});
	}
	free(room.row);
	free(room.value);
	return rc;
}

int page_put_layer_charts(FILE *out, const json_t *devices, struct npl_err *err)
{
	static const struct {
		const char *id, *heading;
		void (*chart_of)(const json_t *device, struct chart *chart);
	} sections[] = {{"time", "Time by layer", times_of},
			{"energy", "Energy by layer", energies_of},
			{"cycles", "Where the cycles went", classes_of}};
	int rc = 0;
	for (size_t s = 0; s < sizeof sections / sizeof *sections && !rc; s++) {
		bool is_open = false;
		for (size_t i = 0; i < json_array_size(devices) && !rc; i++) {
			struct chart chart;
			sections[s].chart_of(json_array_get(devices, i), &chart);
			if (!chart.n)
				continue;
			if (!is_open)
				page_section(out, sections[s].id, sections[s].heading);
			is_open = true;
			rc = put_chart(out, json_array_get(devices, i), &chart, sections[s].heading, err);
		}
		if (is_open)
			page_section_end(out);
	}
	return rc;
}
