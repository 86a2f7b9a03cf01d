/* SPDX-License-Identifier: MIT
 *
 * The table of all that is known of a device's layers: a name, and the columns that columns.def has for it. */
#include <string.h>

#include "cells.h"
#include "layer_table_impl.h"

/* A line of the table: a layer, several layers together, or a text in the place of the time alone. */
struct line {
	const struct npl_device_report *report;
	const struct npl_report_context *context;
	const char *name, *op;
	const char *time_text;            /* in a line that has no figures; NULL: it has */
	struct npl_layer_figures figures; /* of all batches, as all_seconds; the cells are of one */
	double batches, all_seconds;
};

static const char *energy_cell(char text[CELL], const struct line *line)
{
	const struct npl_layer_figures *f = &line->figures;
	if (f->no_energy || (f->absent && !(f->joules > 0)))
		return "-";
	const double joules = f->joules / line->batches;
	return f->absent ? least_figure(text, joules, "J", f->energy_modelled)
			 : figure(text, joules, "J", f->energy_modelled);
}

#define NPL_LAYER_TABLE(name, heading, align, cell)                                                                    \
	static const char *name##_cell_of(char text[CELL], const struct line *line)                                    \
	{                                                                                                              \
		(void)text;                                                                                            \
		return cell;                                                                                           \
	}
#define NPL_LAYER_FIGURE NPL_LAYER_TABLE
#include "columns.def"

static const struct line_column {
	const char *heading;
	char align;
	bool is_figure;
	const char *(*cell)(char text[CELL], const struct line *line); /* "-": not known */
} line_columns[] = {
#define NPL_LAYER_TABLE(name, heading, align, cell)  {heading, align, false, name##_cell_of},
#define NPL_LAYER_FIGURE(name, heading, align, cell) {heading, align, true, name##_cell_of},
#include "columns.def"
};

enum { COLUMNS = sizeof line_columns / sizeof *line_columns };
_Static_assert(1 + COLUMNS <= NPL_TABLE_COLUMNS, "a name and all columns fit in a table");

static const char *cell_of(const struct line_column *column, char text[CELL], const struct line *line)
{
	return line->time_text && column->is_figure ? "" : column->cell(text, line);
}

static void put_line(struct npl_table *table, const struct line *line, const bool shown[COLUMNS])
{
	char text[COLUMNS][CELL];
	const char *cells[1 + COLUMNS] = {line->name};
	int n = 1;
	for (int k = 0; k < COLUMNS; k++)
		if (shown[k])
			cells[n++] = cell_of(&line_columns[k], text[k], line);
	npl_table_row(table, cells);
}

/* Makes the line of layer i out of what the lines of a table have in common. */
static struct line layer_line(const struct npl_comparison *c, const struct line *common, int i)
{
	struct line line = *common;
	line.name = c->graph->node[i].name;
	line.op = npl_op_defs[c->graph->node[i].op].name;
	line.time_text = npl_layer_timeless_role(&line.report->run.layer[i]);
	npl_layer_figures_of(line.report, line.context, i, &line.figures);
	return line;
}

static void put_sum(struct npl_table *table, const struct line *common, const char *name,
		    const struct npl_layer_figures *f, const bool shown[COLUMNS])
{
	struct line line = *common;
	line.name = name;
	line.figures = *f;
	put_line(table, &line, shown);
}

/* Adds a row for work that overlaps, by which the layers' sum exceeds the batch. */
static void put_overlap(struct npl_table *table, const struct line *common, const bool shown[COLUMNS])
{
	char text[CELL];
	struct line line = *common;
	line.name = "less overlap";
	line.time_text = figure(text, -line.report->run.overlap_seconds / line.batches, "s", true);
	put_line(table, &line, shown);
}

/* Finds the columns that are shown: a column of figures is where one of the chosen layers has a figure. */
static void find_shown(const struct npl_comparison *c, const struct line *common, bool shown[COLUMNS])
{
	for (int k = 0; k < COLUMNS; k++)
		shown[k] = !line_columns[k].is_figure;
	for (int n = 0; n < npl_chosen_layers(c, common->context); n++) {
		const struct line line = layer_line(c, common, npl_chosen_layer(common->context, n));
		for (int k = 0; k < COLUMNS; k++) {
			char text[CELL];
			const char *cell = cell_of(&line_columns[k], text, &line);
			shown[k] |= *cell && strcmp(cell, "-") != 0;
		}
	}
}

static void open_table(struct npl_table *table, const char *name, const bool shown[COLUMNS])
{
	const char *header[1 + COLUMNS] = {name};
	char layout[1 + COLUMNS + 1] = "l";
	int n = 1;
	for (int k = 0; k < COLUMNS; k++)
		if (shown[k]) {
			layout[n] = line_columns[k].align;
			header[n++] = line_columns[k].heading;
		}
	npl_table_open(table, layout, header);
	table->least_first = MIN_LABEL;
}

int npl_device_layers(FILE *out, const struct npl_comparison *c, const struct npl_device_report *r,
		      const struct npl_report_context *context)
{
	struct npl_table table;
	struct npl_layer_figures all, left;
	char name[CELL];
	bool shown[COLUMNS];
	npl_layer_figures_all(r, context, &all);
	npl_layer_figures_left(r, context, &left);
	const struct line common = {.report = r,
				    .context = context,
				    .op = "",
				    .batches = (double)r->batches,
				    .all_seconds = npl_layer_seconds(&all)};
	find_shown(c, &common, shown);
	open_table(&table, r->instance, shown);
	for (int n = 0; n < npl_chosen_layers(c, context); n++) {
		const struct line line = layer_line(c, &common, npl_chosen_layer(context, n));
		put_line(&table, &line, shown);
	}
	if (left.layers)
		put_sum(&table, &common, npl_layers_left_text(context, name, sizeof name), &left, shown);
	if (all.layers > 1) {
		snprintf(name, sizeof name, "all %d layers", all.layers);
		put_sum(&table, &common, name, &all, shown);
	}
	if (all.layers > 1 && r->run.overlap_seconds > 0 && !context->single_layer)
		put_overlap(&table, &common, shown);
	return npl_layer_table_print(&table, out);
}
