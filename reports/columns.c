/* SPDX-License-Identifier: MIT
 *
 * Columns from columns.def: how each kind of value is written in a table, in JSON and in CSV. */
#include "columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "energy_table.h"
#include "reports/format/column_value.h"
#include "value_notes.h"

/* The figures that "~" marks as modelled. */
enum mark { UNMARKED, MARK_TIME, MARK_ENERGY };

struct column {
	const char *key; /* NULL: not in JSON */
	enum npl_column_group group;
	/* in the table of networks, in that of one layer; NULL: the column is not in this table */
	const char *heading[2];
	char align;
	const char *(*show)(char buf[CELL], const struct npl_entry *e, const struct npl_column_value *v,
			    const char *unit, bool is_model);
	const char *unit;
	enum mark mark;
	struct npl_column_value (*value)(struct npl_entry *e);
};

struct layer_column {
	const char *key, *name; /* the name in JSON, and in CSV; NULL: it is not there */
	struct npl_column_value (*value)(struct npl_layer_entry *l);
};

/* Returns `seconds`, a time of the host or a link in an entry or one of its rows. NAN: no such time was measured, since
 * a real device did everything itself (0 s). */
/* Returns a layer's energy by the activity of operands, where the run has one. On devices that do not count it, it is
 * the energy itself, so that layers sum to the total. */
static double layer_by_activity(const struct npl_device_report *report, const struct npl_energy *energy, int n)
{
	const double joules = npl_energy_by_activity(energy, n);
	if (isnan(npl_energy_by_activity(report->run.energy, report->run.n_energy)))
		return NAN;
	return isnan(joules) ? npl_energy_sum(energy, n) : joules;
}

static double host_or_link_seconds(const struct npl_device_report *report, double seconds)
{
	return npl_device_kind_is_modelled(report->info.kind) || seconds > 0 ? seconds : NAN;
}

/* Says whether the machine counts cycles, as a simulated one does. The host (NULL) does not; in a mixed run the
 * machines' cycles are of different lengths and have no sum. */
static bool has_clock(const struct npl_device_info *info)
{
	return info && info->kind == NPL_KIND_SIMULATED && info->clock_hz > 0;
}

/* Cells of the tables. */

static const char *show_text(char buf[CELL], const struct npl_entry *e, const struct npl_column_value *v,
			     const char *unit, bool is_model)
{
	(void)buf, (void)e, (void)unit, (void)is_model;
	return v->text;
}

static const char *show_figure(char buf[CELL], const struct npl_entry *e, const struct npl_column_value *v,
			       const char *unit, bool is_model)
{
	(void)e;
	return figure(buf, v->real, unit, is_model);
}

/* Writes the energy of a sample; ">" and the known part where a component is absent. */
static const char *show_least_figure(char buf[CELL], const struct npl_entry *e, const struct npl_column_value *v,
				     const char *unit, bool is_model)
{
	if (isfinite(v->real) || e->figures.known_joules_per_sample == 0)
		return figure(buf, v->real, unit, is_model);
	return least_figure(buf, e->figures.known_joules_per_sample, unit, is_model);
}

static const char *show_share(char buf[CELL], const struct npl_entry *e, const struct npl_column_value *v,
			      const char *unit, bool is_model)
{
	(void)e, (void)unit;
	return percent(buf, v->real, is_model ? "~" : "");
}

static const char *show_hundredths(char buf[CELL], const struct npl_entry *e, const struct npl_column_value *v,
				   const char *unit, bool is_model)
{
	(void)e, (void)unit, (void)is_model;
	if (!isfinite(v->real))
		return "-";
	snprintf(buf, CELL, "%.2f %%", 100 * v->real);
	return buf;
}

static const char *show_count(char buf[CELL], const struct npl_entry *e, const struct npl_column_value *v,
			      const char *unit, bool is_model)
{
	(void)e, (void)unit;
	snprintf(buf, CELL, "%s%" PRIu64, is_model ? "~" : "", v->count);
	return buf;
}

static const char *show_error(char buf[CELL], const struct npl_entry *e, const struct npl_column_value *v,
			      const char *unit, bool is_model)
{
	(void)e, (void)unit, (void)is_model;
	if (isnan(v->real))
		return "-";
	snprintf(buf, CELL, "%.3g", v->real);
	return buf;
}

static const char *show_decibels(char buf[CELL], const struct npl_entry *e, const struct npl_column_value *v,
				 const char *unit, bool is_model)
{
	(void)is_model;
	if (isnan(v->real))
		return e->report->accuracy.max_abs_error == 0 ? "exact" : "-";
	snprintf(buf, CELL, "%.1f %s", v->real, unit);
	return buf;
}

/* The rows of columns.def as functions that compute their values: of_GROUP_NAME, both_NAME, csv_NAME and json_NAME. */
#define NPL_SHOWN(group, name, heading, layer_heading, align, show, unit, mark, of)                                    \
	static struct npl_column_value of_##group##_##name(struct npl_entry *e)                                        \
	{                                                                                                              \
		(void)e;                                                                                               \
		return of;                                                                                             \
	}
#define NPL_COLUMN           NPL_SHOWN
#define NPL_KEY(group, k, v) NPL_SHOWN(group, k, NULL, NULL, 0, NULL, NULL, UNMARKED, v)
#define NPL_OF_LAYER(how, name, of)                                                                                    \
	static struct npl_column_value how##_##name(struct npl_layer_entry *l)                                         \
	{                                                                                                              \
		(void)l;                                                                                               \
		return of;                                                                                             \
	}
#define NPL_LAYER(name, v)     NPL_OF_LAYER(both, name, v)
#define NPL_LAYER_CSV(name, v) NPL_OF_LAYER(csv, name, v)
#define NPL_LAYER_JSON(k, v)   NPL_OF_LAYER(json, k, v)
#include "columns.def"

static const struct column columns[] = {
#define NPL_ROW(key, group, name, heading, layer_heading, align, show, unit, mark)                                     \
	{key, NPL_COLUMNS_##group, {heading, layer_heading}, align, show, unit, mark, of_##group##_##name},
#define NPL_COLUMN(group, key, heading, layer_heading, align, show, unit, mark, of)                                    \
	NPL_ROW(#key, group, key, heading, layer_heading, align, show, unit, mark)
#define NPL_SHOWN(group, name, heading, layer_heading, align, show, unit, mark, of)                                    \
	NPL_ROW(NULL, group, name, heading, layer_heading, align, show, unit, mark)
#define NPL_KEY(group, key, of) NPL_ROW(#key, group, key, NULL, NULL, 0, NULL, NULL, UNMARKED)
#include "columns.def"
};

static const struct layer_column layer_columns[] = {
#define NPL_LAYER(name, of)     {#name, #name, both_##name},
#define NPL_LAYER_CSV(name, of) {NULL, #name, csv_##name},
#define NPL_LAYER_JSON(key, of) {#key, NULL, json_##key},
#include "columns.def"
};

/* How many headings each group has in the table of networks, in bits 0 to 7, and in that of one layer, in bits 8 to 14;
 * those of TOTALS 16 bits above those of ACCURACY. */
enum {
#define IS_HEADING(heading) _Generic((heading), void * : 0, default : 1)
#define NPL_SHOWN(group, name, heading, layer_heading, align, show, unit, mark, of)                                    \
	+((IS_HEADING(heading) + (IS_HEADING(layer_heading) << 8))                                                     \
	  << (NPL_COLUMNS_##group == NPL_COLUMNS_TOTALS ? 16 : 0))
#define NPL_COLUMN NPL_SHOWN
	HEADINGS = 0
#include "columns.def"
};
_Static_assert((HEADINGS & 0xff) <= NPL_TABLE_COLUMNS && (HEADINGS >> 8 & 0xff) <= NPL_TABLE_COLUMNS &&
		       (HEADINGS >> 16 & 0xff) <= NPL_TABLE_COLUMNS && (HEADINGS >> 24) <= NPL_TABLE_COLUMNS,
	       "all columns fit in a table");

#define COLUMNS       (sizeof columns / sizeof *columns)
#define LAYER_COLUMNS (sizeof layer_columns / sizeof *layer_columns)

void npl_entry_of(const struct npl_comparison *c, const struct npl_device_report *r,
		  const struct npl_report_context *context, struct npl_entry *e)
{
	*e = (struct npl_entry){.comparison = c,
				.report = r,
				.run = &r->run,
				.context = context,
				.modelled = npl_device_kind_is_modelled(r->info.kind),
				.metered = r->energy.repeats > 0};
	npl_figures_of(r, context, &e->figures);
}

void npl_layer_entry_of(const struct npl_comparison *c, const struct npl_device_report *r,
			const struct npl_report_context *context, int i, struct npl_layer_entry *l)
{
	*l = (struct npl_layer_entry){.comparison = c, .report = r, .context = context, .index = i};
	if (i < 0) {
		npl_layer_figures_left(r, context, &l->figures);
		return;
	}
	l->row = &r->run.layer[i];
	l->node = &c->graph->node[l->row->node];
	l->machine = npl_layer_machine(r, l->row);
	l->accuracy = r->layer_accuracy ? &r->layer_accuracy[i] : NULL;
	l->energy = context->single_layer ? r->run.energy : l->row->result.energy;
	l->n_energy = context->single_layer ? r->run.n_energy : l->row->result.n_energy;
	npl_layer_figures_of(r, context, i, &l->figures);
}

static bool is_shown(const struct column *column, enum npl_column_group group, bool single_layer)
{
	return column->group == group && column->heading[single_layer];
}

int npl_columns_open(struct npl_table *table, enum npl_column_group group, bool single_layer)
{
	const char *header[NPL_TABLE_COLUMNS];
	char layout[NPL_TABLE_COLUMNS + 1];
	int n = 0;
	for (size_t i = 0; i < COLUMNS; i++)
		if (is_shown(&columns[i], group, single_layer)) {
			layout[n] = columns[i].align;
			header[n++] = columns[i].heading[single_layer];
		}
	layout[n] = '\0';
	npl_table_open(table, layout, header);
	return n;
}

void npl_columns_row(struct npl_table *table, enum npl_column_group group, struct npl_entry *e)
{
	const bool is_model[] = {[UNMARKED] = false,
				 [MARK_TIME] = npl_report_modelled(e->report),
				 [MARK_ENERGY] = !npl_energy_measured(e->report)};
	const char *cells[NPL_TABLE_COLUMNS];
	char text[NPL_TABLE_COLUMNS][CELL];
	int n = 0;
	for (size_t i = 0; i < COLUMNS; i++) {
		const struct column *column = &columns[i];
		if (!is_shown(column, group, e->context->single_layer))
			continue;
		const struct npl_column_value value = column->value(e);
		cells[n] = value.kind == VALUE_ABSENT
				   ? "-"
				   : column->show(text[n], e, &value, column->unit, is_model[column->mark]);
		n++;
	}
	npl_table_row(table, cells);
}

void npl_columns_json(struct npl_json *json, enum npl_column_group group, struct npl_entry *e)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		if (columns[i].group != group || !columns[i].key)
			continue;
		const struct npl_column_value value = columns[i].value(e);
		if (value.kind == VALUE_OF_ENTRY)
			value.of_entry(json, e);
		else
			npl_column_value_json(json, columns[i].key, &value);
	}
}

void npl_layer_columns_json(struct npl_json *json, struct npl_layer_entry *l)
{
	for (size_t i = 0; i < LAYER_COLUMNS; i++) {
		if (!layer_columns[i].key)
			continue;
		const struct npl_column_value value = layer_columns[i].value(l);
		if (value.kind == VALUE_OF_LAYER)
			value.of_layer(json, l);
		else
			npl_column_value_json(json, layer_columns[i].key, &value);
	}
}

void npl_layer_columns_csv_names(FILE *out)
{
	const char *comma = "";
	for (size_t i = 0; i < LAYER_COLUMNS; i++)
		if (layer_columns[i].name) {
			fprintf(out, "%s%s", comma, layer_columns[i].name);
			comma = ",";
		}
}

void npl_layer_columns_csv(FILE *out, struct npl_layer_entry *l)
{
	const char *comma = "";
	for (size_t i = 0; i < LAYER_COLUMNS; i++) {
		if (!layer_columns[i].name)
			continue;
		const struct npl_column_value value = layer_columns[i].value(l);
		fputs(comma, out);
		npl_column_value_csv(out, &value);
		comma = ",";
	}
}
