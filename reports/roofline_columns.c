/* SPDX-License-Identifier: MIT
 *
 * Columns from roofline_columns.def: their values and cells, and how a row of them is written. */
#include "roofline_columns.h"

#include <math.h>

#include "cells.h"
#include "reports/format/column_value.h"

enum { TABLE = 0, CSV = 1 << 0, JSON = 1 << 1, LAYERS = 1 << 2 };

struct column {
	bool of_point; /* false: of a roof */
	const char *key;
	unsigned reports; /* the reports that have it beside the table */
	struct npl_column_value (*value)(const struct npl_roofline_row *row);
	const char *heading; /* NULL: not in the table; "": the device's name */
	char align;
	const char *(*cell)(char text[CELL], const struct npl_roofline_row *row);
};

static bool is_modelled(const struct npl_roofline_row *row)
{
	return row->d->roofs.origin == NPL_TIME_MODELLED;
}

/* Returns the operations per second of the roof's peak. */
static double peak(const struct npl_roofline_row *row)
{
	return 2 * row->d->roofs.roof[row->roof].macs_per_second;
}

static double of_batch(const struct npl_roofline_row *row, double sum)
{
	return sum / (double)row->d->batches;
}

static const char *op_name(const struct npl_roofline_row *row)
{
	return row->node ? npl_op_defs[row->node->op].name : NULL;
}

/* Writes MACs per byte with three digits and no prefix. */
static const char *intensity_cell(char buf[CELL], double value)
{
	if (!isfinite(value))
		snprintf(buf, CELL, "-");
	else if (value >= 99.95)
		snprintf(buf, CELL, "%.0f", value);
	else
		snprintf(buf, CELL, "%.*f", value >= 9.995 ? 1 : 2, value);
	return buf;
}

/* The rows of roofline_columns.def as functions: roof_value_KEY, roof_cell_KEY, point_value_KEY and point_cell_KEY. */
#define NPL_VALUE(kind, key, of)                                                                                       \
	static struct npl_column_value kind##_value_##key(const struct npl_roofline_row *row)                          \
	{                                                                                                              \
		return of;                                                                                             \
	}
#define NPL_CELL(kind, key, of)                                                                                        \
	static const char *kind##_cell_##key(char text[CELL], const struct npl_roofline_row *row)                      \
	{                                                                                                              \
		(void)text;                                                                                            \
		return of;                                                                                             \
	}
#define NPL_ROOF(key, reports, value)  NPL_VALUE(roof, key, value)
#define NPL_POINT(key, reports, value) NPL_VALUE(point, key, value)
#define NPL_ROOF_SHOWN(key, reports, value, heading, align, cell)                                                      \
	NPL_VALUE(roof, key, value)                                                                                    \
	NPL_CELL(roof, key, cell)
#define NPL_POINT_SHOWN(key, reports, value, heading, align, cell)                                                     \
	NPL_VALUE(point, key, value)                                                                                   \
	NPL_CELL(point, key, cell)
#include "roofline_columns.def"

static const struct column columns[] = {
#define NPL_ROOF(key, reports, value)  {false, #key, (reports), roof_value_##key, NULL, 0, NULL},
#define NPL_POINT(key, reports, value) {true, #key, (reports), point_value_##key, NULL, 0, NULL},
#define NPL_ROOF_SHOWN(key, reports, value, heading, align, cell)                                                      \
	{false, #key, (reports), roof_value_##key, heading, align, roof_cell_##key},
#define NPL_POINT_SHOWN(key, reports, value, heading, align, cell)                                                     \
	{true, #key, (reports), point_value_##key, heading, align, point_cell_##key},
#include "roofline_columns.def"
};
#define COLUMNS (sizeof columns / sizeof *columns)

enum {
#define NPL_ROOF_SHOWN(key, reports, value, heading, align, cell) +1
	ROOF_COLUMNS = 0
#include "roofline_columns.def"
	,
#define NPL_POINT_SHOWN(key, reports, value, heading, align, cell) +1
	POINT_COLUMNS = 0
#include "roofline_columns.def"
};
_Static_assert(ROOF_COLUMNS <= NPL_TABLE_COLUMNS && POINT_COLUMNS <= NPL_TABLE_COLUMNS, "all columns fit in a table");

struct npl_roofline_row npl_roof_row(const struct npl_roofline_device *device, int roof)
{
	return (struct npl_roofline_row){.d = device, .roof = roof};
}

struct npl_roofline_row npl_point_row(const struct npl_roofline *r, const struct npl_roofline_device *device,
				      const struct npl_roofline_point *point)
{
	return (struct npl_roofline_row){.d = device,
					 .roof = point->roof,
					 .p = point,
					 .node = point->node < 0 ? NULL : &r->graph->node[point->node]};
}

static int open_table(struct npl_table *table, bool of_point, const char *device_name)
{
	const char *header[NPL_TABLE_COLUMNS];
	char layout[NPL_TABLE_COLUMNS + 1];
	int n = 0;
	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].of_point == of_point && columns[i].heading) {
			layout[n] = columns[i].align;
			header[n++] = *columns[i].heading ? columns[i].heading : device_name;
		}
	layout[n] = '\0';
	npl_table_open(table, layout, header);
	return n;
}

int npl_roofs_open(struct npl_table *table)
{
	return open_table(table, false, NULL);
}

int npl_points_open(struct npl_table *table, const struct npl_roofline_device *device)
{
	return open_table(table, true, device->instance);
}

void npl_roofline_columns_row(struct npl_table *table, const struct npl_roofline_row *row)
{
	const char *cells[NPL_TABLE_COLUMNS];
	char text[NPL_TABLE_COLUMNS][CELL];
	int n = 0;
	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].of_point == (row->p != NULL) && columns[i].heading) {
			cells[n] = columns[i].cell(text[n], row);
			n++;
		}
	npl_table_row(table, cells);
}

void npl_roofline_columns_json(struct npl_json *json, const struct npl_roofline_row *row)
{
	const unsigned reports = JSON | (row->node ? LAYERS : 0);
	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].of_point == (row->p != NULL) && (columns[i].reports & reports)) {
			const struct npl_column_value value = columns[i].value(row);
			npl_column_value_json(json, columns[i].key, &value);
		}
}

void npl_roofline_columns_csv_names(FILE *out, bool points)
{
	const char *comma = "";
	for (size_t i = 0; i < COLUMNS; i++)
		if ((points || !columns[i].of_point) && (columns[i].reports & CSV)) {
			fprintf(out, "%s%s", comma, columns[i].key);
			comma = ",";
		}
	fputs("\r\n", out);
}

void npl_roofline_columns_csv(FILE *out, const struct npl_roofline_row *row)
{
	const char *comma = "";
	for (size_t i = 0; i < COLUMNS; i++)
		if ((row->p || !columns[i].of_point) && (columns[i].reports & CSV)) {
			const struct npl_column_value value = columns[i].value(row);
			fputs(comma, out);
			npl_column_value_csv(out, &value);
			comma = ",";
		}
	fputs("\r\n", out);
}
