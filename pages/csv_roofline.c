/* SPDX-License-Identifier: MIT
 *
 * Saved rooflines as CSV (csv.h): the bytes that `npulab roofline --csv` of the same run writes
 * (reports/roofline_csv.c). The names of the columns are those of reports/roofline_columns.def. A line is of a point
 * with the roof above it, or, without a model, of a roof. */
#include <string.h>

#include "csv.h"

/* The reports of roofline_columns.def. */
enum { TABLE = 0, CSV = 1 << 0, JSON = 1 << 1, LAYERS = 1 << 2 };

static const struct {
	bool of_point;
	const char *name;
	unsigned reports;
} columns[] = {
#define NPL_ROOF(key, reports, value)                              {false, #key, (reports)},
#define NPL_ROOF_SHOWN(key, reports, value, heading, align, cell)  {false, #key, (reports)},
#define NPL_POINT(key, reports, value)                             {true, #key, (reports)},
#define NPL_POINT_SHOWN(key, reports, value, heading, align, cell) {true, #key, (reports)},
#include "reports/roofline_columns.def"
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* What a field is made of. point: NULL in a line of a roof alone. */
struct place {
	const json_t *root, *device, *roof, *point;
};

/* Returns the device's roof for the number format of a point. */
static const json_t *roof_of(const json_t *device, const json_t *point)
{
	const json_t *roofs = json_object_get(device, "roofs");
	for (size_t i = 0; i < json_array_size(roofs); i++)
		if (!strcmp(page_text(json_array_get(roofs, i), "precision"), page_text(point, "precision")))
			return json_array_get(roofs, i);
	return NULL;
}

static const json_t *value_of(int column, const struct place *at)
{
	static const struct {
		const char *name, *path;
	} of_device[] = {
		{"device", "instance"}, {"memory_bytes_per_second", "memory.bytes_per_second"}, {"batches", "batches"}};
	const char *name = columns[column].name;
	for (size_t i = 0; i < sizeof of_device / sizeof *of_device; i++)
		if (!strcmp(of_device[i].name, name))
			return page_value_at(at->device, of_device[i].path);
	if (!strcmp(name, "model"))
		return page_value_at(at->root, "model.name");
	return json_object_get(columns[column].of_point ? at->point : at->roof, name);
}

static void put_line(const struct page_csv *csv, int document, bool points, const struct place *at)
{
	bool is_first = true;
	if (at)
		page_csv_begin(csv, document);
	else
		page_csv_begin_names(csv);
	for (int i = 0; i < COLUMNS; i++) {
		if (!(columns[i].reports & CSV) || (columns[i].of_point && !points))
			continue;
		page_csv_comma(csv, is_first);
		is_first = false;
		if (at)
			page_csv_value(csv->out, value_of(i, at));
		else
			fputs(columns[i].name, csv->out);
	}
	fputs("\r\n", csv->out);
}

static void put_point(const struct page_csv *csv, int document, struct place at, const json_t *point)
{
	at.point = point;
	at.roof = roof_of(at.device, point);
	put_line(csv, document, true, &at);
}

/* The whole network stands behind its layers. */
static void put_device(const struct page_csv *csv, int document, bool points, struct place at)
{
	const json_t *layers = json_object_get(at.device, "layers"), *roofs = json_object_get(at.device, "roofs"),
		     *network = json_object_get(at.device, "network");
	for (size_t i = 0; i < json_array_size(layers); i++)
		put_point(csv, document, at, json_array_get(layers, i));
	if (json_object_size(network))
		put_point(csv, document, at, network);
	for (size_t i = 0; i < json_array_size(roofs) && !json_is_object(json_object_get(at.root, "model")); i++) {
		at.roof = json_array_get(roofs, i);
		put_line(csv, document, points, &at);
	}
}

int page_csv_roofline(const struct page_csv *csv, struct npl_err *err)
{
	bool points = false;
	(void)err;
	for (int i = 0; i < csv->n; i++)
		points |= json_is_object(json_object_get(csv->document[i].root, "model"));
	put_line(csv, 0, points, NULL);
	for (int i = 0; i < csv->n; i++) {
		const json_t *root = csv->document[i].root, *devices = json_object_get(root, "devices");
		for (size_t d = 0; d < json_array_size(devices); d++)
			put_device(csv, i, points, (struct place){.root = root, .device = json_array_get(devices, d)});
	}
	return 0;
}
