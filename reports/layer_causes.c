/* SPDX-License-Identifier: MIT
 *
 * The table of where the cycles, or the time, of each layer on a machine went. */
#include <ctype.h>
#include <string.h>

#include "cells.h"
#include "core/base/message.h"
#include "layer_table_impl.h"
#include "npulab/causes.h"
#include "reports/format/text_style.h"

/* Writes a counter's name as a heading, without a unit of time: "weight_stall" is "WEIGHT STALL", "memory_ps" is
 * "MEMORY". */
static void put_heading(char text[CELL], const char *name)
{
	const size_t length = strlen(name), unit = sizeof "_" NPL_COUNTER_TIME - 1;
	const bool timed = length > unit && !strcmp(name + length - unit, "_" NPL_COUNTER_TIME);
	snprintf(text, CELL, "%.*s", (int)(timed ? length - unit : length), name);
	for (char *c = text; *c; c++)
		*c = *c == '_' ? ' ' : (char)toupper((unsigned char)*c);
}

/* Returns the sum of its causes; 0: they count nothing. */
static double causes_sum(const struct npl_device_info *info, const struct npl_result *result)
{
	struct npl_cause cause[NPL_MAX_CAUSES];
	double sum = 0;
	const int n = npl_causes_of(info->counter_def, info->n_counters, result, cause);
	for (int k = 0; k < n; k++)
		sum += (double)cause[k].amount;
	return sum;
}

static void put_causes_row(struct npl_table *table, const struct npl_device_info *info, const char *name,
			   const struct npl_result *result)
{
	struct npl_cause cause[NPL_MAX_CAUSES];
	char text[NPL_MAX_CAUSES][CELL];
	const char *cells[1 + NPL_MAX_CAUSES] = {name};
	const int n = npl_causes_of(info->counter_def, info->n_counters, result, cause);
	const double total = causes_sum(info, result);
	for (int k = 0; k < n; k++)
		cells[1 + k] = share_cell(text[k], (double)cause[k].amount, total);
	npl_table_row(table, cells);
}

/* Headings of several words take two lines where one line would leave fewer characters than this to the names of
 * layers. */
#define MIN_NAME 30

static void open_causes(struct npl_table *table, const struct npl_device_info *info, const char *name)
{
	static const struct npl_result no_result = {0};
	struct npl_cause cause[NPL_MAX_CAUSES];
	char text[NPL_MAX_CAUSES][CELL], heading[200], layout[2 + NPL_MAX_CAUSES] = "l";
	const char *header[1 + NPL_MAX_CAUSES] = {heading}, *second_line[1 + NPL_MAX_CAUSES] = {""};
	const int n = npl_causes_of(info->counter_def, info->n_counters, &no_result, cause);
	size_t width = MIN_NAME;
	snprintf(heading, sizeof heading, "%s OF %s",
		 n && !strcmp(cause[0].counter_def->unit, NPL_COUNTER_TIME) ? "TIME" : "CYCLES", name);
	for (int k = 0; k < n; k++) {
		put_heading(text[k], cause[k].name);
		width += 2 + strlen(text[k]);
		header[1 + k] = text[k];
		layout[1 + k] = 'r';
	}
	const bool two_lines = width > (size_t)npl_text_columns();
	for (int k = 0; k < n; k++) {
		char *space = two_lines ? strchr(text[k], ' ') : NULL;
		second_line[1 + k] = space ? space + 1 : "";
		if (space)
			*space = '\0';
	}
	npl_table_open(table, layout, header);
	table->least_first = MIN_LABEL;
	if (two_lines) {
		npl_table_row(table, second_line);
		table->headings = 2;
	}
}

int npl_layer_causes(FILE *out, const struct npl_comparison *c, const struct npl_device_report *r,
		     const struct npl_report_context *context, const struct npl_device_info *info, const char *name)
{
	struct npl_table table;
	struct npl_layer_figures f, shown_figures = {0}, all_figures = {0};
	char text[CELL];
	if (!npl_causes_of(info->counter_def, info->n_counters, &r->run.layer[0].result,
			   (struct npl_cause[NPL_MAX_CAUSES]){{0}}))
		return 0;
	open_causes(&table, info, name);
	for (int n = 0; n < npl_chosen_layers(c, context); n++) {
		const int i = npl_chosen_layer(context, n);
		npl_layer_figures_of(r, context, i, &f);
		if (f.info != info || causes_sum(info, &f.result) <= 0)
			continue;
		put_causes_row(&table, info, c->graph->node[i].name, &f.result);
		npl_layer_figures_add(&shown_figures, &f);
	}
	for (int i = 0; i < r->run.n_layers; i++) {
		npl_layer_figures_of(r, context, i, &f);
		if (f.info == info && causes_sum(info, &f.result) > 0)
			npl_layer_figures_add(&all_figures, &f);
	}
	if (all_figures.layers == r->run.n_layers)
		snprintf(text, sizeof text, "all %d layers", all_figures.layers);
	else
		snprintf(text, sizeof text, "%d of %d layers", all_figures.layers, r->run.n_layers);
	if (all_figures.layers > 1)
		put_causes_row(&table, info, text, &all_figures.result);
	return shown_figures.layers ? npl_layer_table_print(&table, out) : npl_table_close(&table);
}

void npl_layer_causes_note(struct npl_table *notes, const struct npl_device_info *info, const char *name)
{
	static const struct npl_result no_result = {0};
	struct npl_cause cause[NPL_MAX_CAUSES];
	char line[1200] = "";
	const int n = npl_causes_of(info->counter_def, info->n_counters, &no_result, cause);
	for (int k = 0; k < n; k++) {
		char heading[CELL];
		put_heading(heading, cause[k].name);
		npl_append(line, sizeof line, "; ", "%s: %s", heading, cause[k].counter_def->help);
	}
	if (n)
		npl_table_row(notes, (const char *const[]){name, line});
}
