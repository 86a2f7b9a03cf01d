/* SPDX-License-Identifier: MIT
 *
 * Tables of layers (layer_table.h): times side by side where there are several devices; then for each device the
 * figures of each layer, and where the machine's cycles went. */
#include "layer_table.h"

#include <ctype.h>
#include <string.h>

#include "cells.h"
#include "core/base/text.h"
#include "layer_figures.h"
#include "npulab/causes.h"

#define DEVICES_A_TABLE 4  /* devices whose columns fit beside names and operators, at most */
#define LEAST_LABEL     16 /* columns that names of layers keep, and sums such as "all 100 layers" need */

static void print(struct npl_table *table, FILE *out)
{
	fputc('\n', out);
	npl_table_print(table, out);
	npl_table_close(table);
}

static double safe_share(double part, double total)
{
	return total > 0 ? part / total : NAN;
}

/* Writes a share that sums with others, always with one decimal. */
static const char *share_cell(char buf[CELL], double part, double total)
{
	if (total > 0)
		snprintf(buf, CELL, "%.1f %%", 100 * part / total);
	else
		snprintf(buf, CELL, "-");
	return buf;
}

/* The table of the devices' times side by side. */

/* Writes the cell of node i on a device; false: there is nothing to show. */
typedef bool layer_cell(const struct npl_device_report *r, int i, char text[CELL]);

/* Returns "fused" or "view" for a layer that takes no time of its own; NULL: it does. */
static const char *role_text(const struct npl_layer_run *row)
{
	if (row->role == NPL_FUSED)
		return "fused";
	return row->role == NPL_VIEW && npl_row_seconds(row) <= 0 ? "view" : NULL;
}

/* Writes the time per batch. */
static bool time_cell(const struct npl_device_report *r, int i, char text[CELL])
{
	static const struct npl_report_context network = {0};
	const struct npl_layer_run *row = &r->run.layer[i];
	struct npl_layer_figures f;
	npl_layer_figures_of(r, &network, i, &f);
	if (role_text(row))
		snprintf(text, CELL, "%s", role_text(row));
	else
		figure(text, npl_row_seconds(row) / (double)r->batches, "s", f.modelled);
	if (npl_row_on_host(row))
		strncat(text, " host", CELL - strlen(text) - 1);
	if (row->host_part)
		strncat(text, " part host", CELL - strlen(text) - 1);
	return true;
}

/* Writes the signal-to-noise ratio of the result, with a mark where sums wrapped. It writes "exact" where there is no
 * noise, and "-" where the result is inside a pass, a view or not compared. */
static bool noise_cell(const struct npl_device_report *r, int i, char text[CELL])
{
	const double ratio = r->layer_accuracy ? r->layer_accuracy[i].sqnr_db : NAN;
	if (isfinite(ratio) || ratio < 0)
		snprintf(text, CELL, "%.1f dB", ratio);
	else
		snprintf(text, CELL, "%s", ratio > 0 ? "exact" : "-");
	if (r->run.layer[i].result.overflows)
		strncat(text, " wrapped", CELL - strlen(text) - 1);
	return !isnan(ratio);
}

/* Adds a row for the layers that are left out, with their share of each device's time in a table of times. */
static void put_left_of(struct npl_table *table, const struct npl_comparison *c,
			const struct npl_report_context *context, int first, int n_devices, bool times)
{
	char text[DEVICES_A_TABLE][CELL], name[CELL];
	const char *cells[2 + DEVICES_A_TABLE] = {npl_layers_left_text(context, name, sizeof name), ""};
	for (int d = 0; d < n_devices && times; d++) {
		struct npl_layer_figures left, all;
		npl_layer_figures_left(&c->device[first + d], context, &left);
		npl_layer_figures_all(&c->device[first + d], context, &all);
		percent(text[d], safe_share(npl_layer_seconds(&left), npl_layer_seconds(&all)), "");
		cells[2 + d] = text[d];
	}
	npl_table_row(table, cells);
}

/* Prints the layers on `n_devices` devices from the first on, without layers that no device has a cell for. */
static void put_layers_of(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context,
			  int first, int n_devices, const char *heading, layer_cell *cell)
{
	struct npl_table table;
	const char *header[2 + DEVICES_A_TABLE] = {heading, "OPERATOR"};
	char layout[] = "lkrrrr";
	layout[2 + n_devices] = '\0';
	for (int d = 0; d < n_devices; d++)
		header[2 + d] = c->device[first + d].instance;
	npl_table_open(&table, layout, header);
	table.least_first = LEAST_LABEL;
	int rows = 0;
	for (int n = 0; n < npl_chosen_layers(c, context); n++) {
		const int i = npl_chosen_layer(context, n);
		char text[DEVICES_A_TABLE][CELL];
		const char *cells[2 + DEVICES_A_TABLE] = {c->graph->node[i].name,
							  npl_op_defs[c->graph->node[i].op].name};
		bool has_cell = false;
		for (int d = 0; d < n_devices; d++) {
			cells[2 + d] = text[d];
			has_cell |= cell(&c->device[first + d], i, text[d]);
		}
		if (has_cell)
			npl_table_row(&table, cells);
		rows += has_cell;
	}
	if (rows && context->choice && context->choice->left)
		put_left_of(&table, c, context, first, n_devices, cell == time_cell);
	if (rows)
		print(&table, out);
	else
		npl_table_close(&table);
}

/* The table of all that is known of a device's layers. */

enum column { LAYER, OPERATOR, TIME, SHARE, CYCLES, USED, MOVED, ENERGY, BOUND, COLUMNS };
static const char *const headings[COLUMNS] = {"",          "OPERATOR", "TIME",   "SHARE", "CYCLES",
					      "PEAK USED", "MOVED",    "ENERGY", "BOUND"};

/* The cells of a row, which are figures of a batch. */
struct cells {
	const char *cell[COLUMNS];
	char text[COLUMNS][CELL];
};

static void put_energy_cell(char text[CELL], const struct npl_layer_figures *f, double batches)
{
	if (f->no_energy || (f->absent && !(f->joules > 0))) {
		snprintf(text, CELL, "-");
		return;
	}
	text[0] = '>';
	figure(text + f->absent, f->joules / batches, "J", f->energy_modelled);
}

static void fill_cells(const struct npl_device_report *r, const struct npl_layer_figures *f, double all_seconds,
		       struct cells *cells)
{
	const double batches = (double)r->batches;
	for (int k = 0; k < COLUMNS; k++) {
		snprintf(cells->text[k], CELL, "-");
		cells->cell[k] = cells->text[k];
	}
	figure(cells->text[TIME], npl_layer_seconds(f) / batches, "s", f->modelled);
	share_cell(cells->text[SHARE], npl_layer_seconds(f), all_seconds);
	if (f->result.cycles && !f->mixed)
		figure(cells->text[CYCLES], (double)f->result.cycles / batches, "", true);
	if (!f->mixed)
		percent(cells->text[USED], npl_layer_utilization(f), f->modelled ? "~" : "");
	if (f->result.cycles && f->info)
		figure(cells->text[MOVED], (double)f->result.bytes[NPL_MEM_DRAM] / batches, "B", f->modelled);
	put_energy_cell(cells->text[ENERGY], f, batches);
	if (npl_layer_bound(f))
		snprintf(cells->text[BOUND], CELL, "%s", npl_layer_bound(f));
}

static void fill_layer(const struct npl_comparison *c, const struct npl_device_report *r,
		       const struct npl_report_context *context, int i, double all_seconds, struct cells *cells)
{
	const struct npl_layer_run *row = &r->run.layer[i];
	struct npl_layer_figures f;
	npl_layer_figures_of(r, context, i, &f);
	fill_cells(r, &f, all_seconds, cells);
	cells->cell[LAYER] = c->graph->node[i].name;
	cells->cell[OPERATOR] = npl_op_defs[c->graph->node[i].op].name;
	if (!role_text(row))
		return;
	for (int k = TIME; k < COLUMNS; k++)
		cells->cell[k] = "";
	cells->cell[TIME] = role_text(row);
}

static void put_cells(struct npl_table *table, const struct cells *cells, const bool *known)
{
	const char *known_cell[COLUMNS];
	int n = 0;
	for (int k = 0; k < COLUMNS; k++)
		if (known[k])
			known_cell[n++] = cells->cell[k];
	npl_table_row(table, known_cell);
}

/* Finds the columns that have a figure in some row. */
static void find_known(const struct npl_comparison *c, const struct npl_device_report *r,
		       const struct npl_report_context *context, double all_seconds, bool *known)
{
	for (int k = 0; k < COLUMNS; k++)
		known[k] = k < SHARE;
	for (int n = 0; n < npl_chosen_layers(c, context); n++) {
		struct cells cells;
		fill_layer(c, r, context, npl_chosen_layer(context, n), all_seconds, &cells);
		for (int k = SHARE; k < COLUMNS; k++)
			known[k] |= *cells.cell[k] && strcmp(cells.cell[k], "-") != 0;
	}
	known[SHARE] &= !context->single_layer;
}

static void put_sum(struct npl_table *table, const struct npl_device_report *r, const struct npl_layer_figures *f,
		    const char *name, double all_seconds, const bool *known)
{
	struct cells cells;
	fill_cells(r, f, all_seconds, &cells);
	cells.cell[LAYER] = name;
	cells.cell[OPERATOR] = "";
	put_cells(table, &cells, known);
}

/* Adds a row for work that overlaps, by which the layers' sum exceeds the batch. */
static void put_overlap(struct npl_table *table, const struct npl_device_report *r, const bool *known)
{
	struct cells cells;
	for (int k = 0; k < COLUMNS; k++)
		cells.cell[k] = "";
	cells.cell[LAYER] = "less overlap";
	cells.cell[TIME] = figure(cells.text[TIME], -r->run.overlap_seconds / (double)r->batches, "s", true);
	put_cells(table, &cells, known);
}

static void put_device(FILE *out, const struct npl_comparison *c, const struct npl_device_report *r,
		       const struct npl_report_context *context)
{
	struct npl_table table;
	struct npl_layer_figures all_figures, left_figures;
	const char *header[COLUMNS];
	char layout[COLUMNS + 1] = "", heading[200], name[CELL];
	bool known[COLUMNS];
	int n = 0;
	npl_layer_figures_all(r, context, &all_figures);
	npl_layer_figures_left(r, context, &left_figures);
	const double all_seconds = npl_layer_seconds(&all_figures);
	find_known(c, r, context, all_seconds, known);
	snprintf(heading, sizeof heading, "%s", r->instance);
	for (int k = 0; k < COLUMNS; k++)
		if (known[k]) {
			header[n] = k == LAYER ? heading : headings[k];
			layout[n++] = k == OPERATOR ? 'k' : k == LAYER || k == BOUND ? 'l' : 'r';
		}
	npl_table_open(&table, layout, header);
	table.least_first = LEAST_LABEL;
	for (int i = 0; i < npl_chosen_layers(c, context); i++) {
		struct cells cells;
		fill_layer(c, r, context, npl_chosen_layer(context, i), all_seconds, &cells);
		put_cells(&table, &cells, known);
	}
	if (left_figures.layers)
		put_sum(&table, r, &left_figures, npl_layers_left_text(context, name, sizeof name), all_seconds, known);
	snprintf(name, sizeof name, "all %d layers", all_figures.layers);
	if (all_figures.layers > 1)
		put_sum(&table, r, &all_figures, name, all_seconds, known);
	if (all_figures.layers > 1 && r->run.overlap_seconds > 0 && !context->single_layer)
		put_overlap(&table, r, known);
	print(&table, out);
}

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
#define LEAST_NAME 30

static void open_causes(struct npl_table *table, const struct npl_device_info *info, const char *name)
{
	static const struct npl_result no_result = {0};
	struct npl_cause cause[NPL_MAX_CAUSES];
	char text[NPL_MAX_CAUSES][CELL], heading[200], layout[2 + NPL_MAX_CAUSES] = "l";
	const char *header[1 + NPL_MAX_CAUSES] = {heading}, *second_line[1 + NPL_MAX_CAUSES] = {""};
	const int n = npl_causes_of(info->counter_def, info->n_counters, &no_result, cause);
	size_t width = LEAST_NAME;
	snprintf(heading, sizeof heading, "%s OF %s",
		 n && !strcmp(cause[0].counter_def->unit, NPL_COUNTER_TIME) ? "TIME" : "CYCLES", name);
	for (int k = 0; k < n; k++) {
		put_heading(text[k], cause[k].name);
		width += 2 + strlen(text[k]);
		header[1 + k] = text[k];
		layout[1 + k] = 'r';
	}
	const bool two_lines = width > NPL_TABLE_WIDTH;
	for (int k = 0; k < n; k++) {
		char *space = two_lines ? strchr(text[k], ' ') : NULL;
		second_line[1 + k] = space ? space + 1 : "";
		if (space)
			*space = '\0';
	}
	npl_table_open(table, layout, header);
	table->least_first = LEAST_LABEL;
	if (two_lines)
		npl_table_row(table, second_line);
}

/* Prints the causes of the entry's layers that this machine ran; a placement has several machines. */
static void put_causes(FILE *out, const struct npl_comparison *c, const struct npl_device_report *r,
		       const struct npl_report_context *context, const struct npl_device_info *info, const char *name)
{
	struct npl_table table;
	struct npl_layer_figures f, shown_figures = {0}, all_figures = {0};
	char text[CELL];
	if (!npl_causes_of(info->counter_def, info->n_counters, &r->run.layer[0].result,
			   (struct npl_cause[NPL_MAX_CAUSES]){{0}}))
		return;
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
	if (shown_figures.layers)
		print(&table, out);
	else
		npl_table_close(&table);
}

/* Returns how many devices from the first on fit in a table side by side. */
static int devices_that_fit(const struct npl_comparison *c, int first)
{
	enum { OPERATOR_WIDTH = 10, GAP = 2 };
	int width = LEAST_LABEL + GAP + OPERATOR_WIDTH, n = 0;
	for (; first + n < c->n_devices && n < DEVICES_A_TABLE; n++) {
		width += GAP + npl_text_width(c->device[first + n].instance);
		if (n && width > NPL_TABLE_WIDTH)
			break;
	}
	return n;
}

void npl_layer_tables(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	for (int first = 0, n_shown; first < c->n_devices; first += n_shown) {
		n_shown = devices_that_fit(c, first);
		if (c->n_devices > 1 && !context->single_layer)
			put_layers_of(out, c, context, first, n_shown, "LAYER", time_cell);
		if (c->device[first].layer_accuracy)
			put_layers_of(out, c, context, first, n_shown, "SIGNAL/NOISE OF", noise_cell);
	}
	for (int d = 0; d < c->n_devices; d++) {
		const struct npl_device_report *r = &c->device[d];
		put_device(out, c, r, context);
		for (int p = 0; p < r->n_parts; p++)
			put_causes(out, c, r, context, &r->part[p].info, r->part[p].instance);
		if (!r->n_parts)
			put_causes(out, c, r, context, &r->info, r->instance);
	}
}

/* Adds a note on each cause, in the order of the table's columns. */
static void put_legend(struct npl_table *notes, const struct npl_device_info *info, const char *name)
{
	static const struct npl_result no_result = {0};
	struct npl_cause cause[NPL_MAX_CAUSES];
	char line[1200];
	size_t used = 0;
	const int n = npl_causes_of(info->counter_def, info->n_counters, &no_result, cause);
	for (int k = 0; k < n && used < sizeof line; k++) {
		char heading[CELL];
		put_heading(heading, cause[k].name);
		used += (size_t)snprintf(line + used, sizeof line - used, "%s%s: %s", k ? "; " : "", heading,
					 cause[k].counter_def->help);
	}
	if (n)
		npl_table_row(notes, (const char *const[]){name, line});
}

void npl_layer_notes(struct npl_table *notes, const struct npl_comparison *c, const struct npl_report_context *context)
{
	const char *by = context->choice ? context->choice->by : NULL;
	bool causes = false;
	char sorted[100];
	snprintf(sorted, sizeof sorted, "sorted by %s: for each layer that of the device where it is greatest",
		 by ? by : "");
	if (by && c->n_devices > 1)
		npl_table_row(notes, (const char *const[]){"layers", sorted});
	for (int d = 0; d < c->n_devices; d++) {
		const struct npl_device_report *r = &c->device[d];
		for (int p = 0; p < r->n_parts; p++)
			put_legend(notes, &r->part[p].info, r->part[p].instance);
		if (!r->n_parts)
			put_legend(notes, &r->info, r->instance);
		for (int i = 0; i < r->run.n_layers; i++)
			causes |= r->run.layer[i].n_counters > 0;
	}
	if (causes)
		npl_table_row(
			notes,
			(const char *const[]){
				"BOUND",
				"what most of the layer's cycles, or of its time, went to: "
				"docs/roofline.md, Bounds, has each; TIME is the machine's, the host's and the "
				"link's, CYCLES the machine's alone; MOVED: bytes that crossed the machine's memory; "
				"figures of layers are of one full batch; layers that are done within another have "
				"no counts of their own"});
}
