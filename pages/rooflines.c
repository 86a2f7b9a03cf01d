/* SPDX-License-Identifier: MIT
 *
 * Rooflines on pages (rooflines.h). */
#include "rooflines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "points.h"

enum { MOST_ROOFS = 4 * PAGE_COLOURS };

/* A chart in the making. A series is a device, of which the first eight have a colour. */
struct chart {
	const json_t *machine[PAGE_COLOURS], *layers[PAGE_COLOURS];
	const char *ran_on[PAGE_COLOURS]; /* the device of a placement; NULL: all layers are the machine's */
	const char *label[PAGE_COLOURS];
	char text[PAGE_COLOURS][400]; /* the labels of devices of placements */
	bool is_modelled[PAGE_COLOURS];
	int n_series, n_roofs, n_points;
	bool has_more; /* there are more devices */
	struct page_roof roof[MOST_ROOFS];
	struct page_point *point;
};

static void add_roofs(struct chart *chart, int series, const json_t *machine)
{
	const json_t *roofs = json_object_get(machine, "roofs");
	const double rate = page_number(json_object_get(machine, "memory"), "bytes_per_second");
	for (size_t i = 0; i < json_array_size(roofs) && chart->n_roofs < MOST_ROOFS; i++) {
		const json_t *roof = json_array_get(roofs, i);
		chart->roof[chart->n_roofs++] = (struct page_roof){series, page_number(roof, "peak_ops_per_second"),
								   rate, page_text(roof, "precision")};
	}
}

/* A layer of a comparison has these figures in an object of its own, a layer of npulab.roofline/2 in itself. */
static const json_t *roofline_of(const json_t *layer)
{
	return json_object_get(layer, "macs_per_byte") ? layer : json_object_get(layer, "roofline");
}

/* Returns the point of a layer, if it is one of the series; NULL: it is none. */
static const json_t *point_of(const struct chart *chart, int series, const json_t *layer)
{
	const json_t *point = roofline_of(layer);
	const char *ran_on = chart->ran_on[series];
	return json_is_object(point) && (!ran_on || !strcmp(page_text(layer, "ran_on"), ran_on)) ? point : NULL;
}

static void add_points(struct chart *chart, int series)
{
	const json_t *layers = chart->layers[series];
	for (size_t i = 0; i < json_array_size(layers); i++) {
		const json_t *layer = json_array_get(layers, i), *roofline = point_of(chart, series, layer);
		const struct page_point point = {series, page_number(roofline, "macs_per_byte"),
						 page_number(roofline, "ops_per_second"), page_text(layer, "name")};
		if (page_point_has_place(&point))
			chart->point[chart->n_points++] = point;
	}
}

static bool has_points(const json_t *device)
{
	const json_t *layers = json_object_get(device, "layers");
	for (size_t i = 0; i < json_array_size(layers); i++)
		if (json_is_object(roofline_of(json_array_get(layers, i))))
			return true;
	return false;
}

/* Says whether a device has its place in the chart. A document of roofs alone has no layers. */
static bool is_drawn(const json_t *device)
{
	return has_points(device) ||
	       (!json_object_get(device, "layers") && json_array_size(json_object_get(device, "roofs")));
}

static void add_series(struct chart *chart, const struct page_entry *entry, const json_t *machine, const char *ran_on,
		       const char *label)
{
	const int series = chart->n_series;
	chart->has_more |= series == PAGE_COLOURS;
	if (series == PAGE_COLOURS)
		return;
	chart->n_series++;
	chart->machine[series] = machine;
	chart->is_modelled[series] = page_is_modelled(machine);
	chart->layers[series] = json_object_get(entry->device, "layers");
	chart->ran_on[series] = ran_on;
	chart->label[series] = label;
	add_roofs(chart, series, machine);
	add_points(chart, series);
}

/* The devices of a placement are series of their own. */
static void add_entry(struct chart *chart, const struct page_entry *entry)
{
	const json_t *parts = json_object_get(entry->device, "devices");
	for (size_t k = 0; k < json_array_size(parts); k++) {
		const json_t *part = json_array_get(parts, k);
		const char *instance = page_text(part, "instance");
		char *text = chart->text[chart->n_series < PAGE_COLOURS ? chart->n_series : 0], name[300];
		if (chart->n_series < PAGE_COLOURS)
			snprintf(text, sizeof *chart->text, "%s%.100s",
				 page_short_name(name, sizeof name, instance, 70),
				 entry->label + strlen(page_text(entry->device, "instance")));
		add_series(chart, entry, part, instance, text);
	}
	if (!page_is_placement(entry->device))
		add_series(chart, entry, entry->device, NULL, entry->label);
}

/* ---- Tables, from which the script draws as well. */

static void put_roof_table(struct page_writer *writer, const struct chart *chart)
{
	page_column(writer, "device", false);
	page_column(writer, "format", false);
	page_column(writer, "peak", true);
	page_column(writer, "memory", true);
	page_column(writer, "ridge, MAC/B", true);
	page_table(writer,
		   &(struct page_table){
			   .caption = "The roofs of each device. At an intensity below the ridge the memory is the "
				      "limit, above it the arithmetic.",
			   .data_of = "roofline"});
	for (int i = 0; i < chart->n_roofs; i++) {
		const struct page_roof *roof = &chart->roof[i];
		const bool modelled = chart->is_modelled[roof->series];
		const double ridge = roof->peak_ops_per_second / roof->bytes_per_second / 2;
		page_row(writer);
		page_cell(writer, chart->label[roof->series]);
		page_cell(writer, roof->name);
		page_put_figure(writer, roof->peak_ops_per_second, "OP/s", modelled);
		page_put_figure(writer, roof->bytes_per_second, "B/s", modelled);
		page_put_figure(writer, ridge, "", modelled);
	}
	page_table_end(writer);
}

static void put_point(struct page_writer *writer, const struct chart *chart, int series, const json_t *layer)
{
	const json_t *roofline = point_of(chart, series, layer);
	const bool modelled = chart->is_modelled[series];
	if (!roofline)
		return;
	page_row(writer);
	page_cell(writer, chart->label[series]);
	page_cell(writer, page_text(layer, "name"));
	page_put_figure(writer, page_number(roofline, "bytes"), "B", false);
	page_put_figure(writer, page_number(roofline, "macs_per_byte"), "", false);
	page_put_figure(writer, page_number(roofline, "ops_per_second"), "OP/s", modelled);
	page_put_figure(writer, page_number(roofline, "roof_ops_per_second"), "OP/s", modelled);
	page_put_share(writer, page_number(roofline, "share"), modelled);
	page_cell(writer, page_text(roofline, "lower_roof"));
}

static void put_point_table(struct page_writer *writer, const struct chart *chart)
{
	bool any = false;
	for (int s = 0; s < chart->n_series; s++)
		for (size_t i = 0; i < json_array_size(chart->layers[s]); i++)
			any |= point_of(chart, s, json_array_get(chart->layers[s], i)) != NULL;
	if (!any)
		return;
	page_fold(writer, "Figures of all layers");
	page_column(writer, "device", false);
	page_column(writer, "layer", false);
	page_column(writer, "bytes", true);
	page_column(writer, "intensity, MAC/B", true);
	page_column(writer, "OP/s", true);
	page_column(writer, "roof", true);
	page_column(writer, "share of the roof", true);
	page_column(writer, "lower roof", false);
	page_table(
		writer,
		&(struct page_table){
			.caption =
				"Layers that the device ran itself, over all batches. One without OP/s has no point. "
				"The share of the roof is the least time that both roofs allow, over the time taken.",
			.can_be_sorted = true,
			.can_be_searched = true,
			.is_long = true,
			.data_of = "roofline"});
	for (int s = 0; s < chart->n_series; s++)
		for (size_t i = 0; i < json_array_size(chart->layers[s]); i++)
			put_point(writer, chart, s, json_array_get(chart->layers[s], i));
	page_table_end(writer);
	page_fold_end(writer);
}

static void put_chart(struct page_writer *writer, const struct chart *chart)
{
	page_points_put(writer, &(struct page_points){.id = "roofline",
						      .label = "Operations per second of each layer over its "
							       "multiply-accumulates per byte, below the roofs",
						      .n_series = chart->n_series,
						      .n_roofs = chart->n_roofs,
						      .n_points = chart->n_points,
						      .series = chart->label,
						      .is_modelled = chart->is_modelled,
						      .roof = chart->roof,
						      .point = chart->point});
}

static bool any_is_measured(const struct chart *chart)
{
	for (int i = 0; i < chart->n_roofs; i++)
		if (!chart->is_modelled[chart->roof[i].series])
			return true;
	return false;
}

void page_put_rooflines(struct page_writer *writer, const struct page_entries *entries)
{
	struct chart chart = {.n_series = 0};
	size_t n_layers = 0;
	for (int i = 0; i < entries->n; i++)
		n_layers += json_array_size(json_object_get(entries->entry[i].device, "layers"));
	chart.point = calloc(n_layers + 1, sizeof *chart.point);
	writer->failed |= !chart.point;
	for (int i = 0; i < entries->n && chart.point; i++)
		if (is_drawn(entries->entry[i].device))
			add_entry(&chart, &entries->entry[i]);
	if (chart.n_series) {
		page_section(writer, "roofline", "Roofline");
		page_paragraph(
			writer,
			"The intensity of a layer is its multiply-accumulates (MAC) per byte that must cross "
			"the device's memory. The roof at an intensity is the lower of two limits: the peak of "
			"the arithmetic, and 2 x intensity x the memory's bytes per second, since a MAC is two "
			"operations. They meet at the ridge. A layer without MACs has no point, nor one of which "
			"no byte must cross.");
		if (!strcmp(entries->document->schema, "npulab.compare/1")) /* others run each layer by itself */
			page_paragraph(writer,
				       "A layer whose weights came during the layer before it may lie above the "
				       "roof.");
		if (any_is_measured(&chart))
			page_paragraph(writer,
				       "The roofs of a real device are measured too, with a product of matrices and a "
				       "copy: a layer may be a little above them.");
		if (chart.has_more)
			page_paragraph(writer, "The chart and its tables have the first eight devices.");
		put_chart(writer, &chart);
		put_roof_table(writer, &chart);
		put_point_table(writer, &chart);
		page_section_end(writer);
	}
	free(chart.point);
}
