/* SPDX-License-Identifier: MIT
 *
 * Tables of layers (layer_table.h): times side by side where there are several devices; then for each device the
 * figures of each layer, and where the machine's cycles went. */
#include "layer_table.h"

#include <string.h>

#include "cells.h"
#include "core/base/printable.h"
#include "layer_figures.h"
#include "layer_table_impl.h"
#include "reports/format/text_style.h"

#define DEVICES_A_TABLE 4 /* devices whose columns fit beside names and operators, at most */

/* Writes the cell of node i on a device; false: there is nothing to show. */
typedef bool layer_cell(const struct npl_device_report *r, int i, char text[CELL]);

/* Writes the time per batch. */
static bool time_cell(const struct npl_device_report *r, int i, char text[CELL])
{
	static const struct npl_report_context network = {0};
	const struct npl_layer_run *row = &r->run.layer[i];
	struct npl_layer_figures f;
	npl_layer_figures_of(r, &network, i, &f);
	if (npl_layer_timeless_role(row))
		snprintf(text, CELL, "%s", npl_layer_timeless_role(row));
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
		percent(text[d], share_of(npl_layer_seconds(&left), npl_layer_seconds(&all)), "");
		cells[2 + d] = text[d];
	}
	npl_table_row(table, cells);
}

/* Prints the layers on `n_devices` devices from the first on, without layers that no device has a cell for. */
static int put_layers_of(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context, int first,
			 int n_devices, const char *heading, layer_cell *cell)
{
	struct npl_table table;
	const char *header[2 + DEVICES_A_TABLE] = {heading, "OPERATOR"};
	char layout[] = "lkrrrr";
	layout[2 + n_devices] = '\0';
	for (int d = 0; d < n_devices; d++)
		header[2 + d] = c->device[first + d].instance;
	npl_table_open(&table, layout, header);
	table.least_first = MIN_LABEL;
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
	if (rows && context->choice && context->choice->n_hidden)
		put_left_of(&table, c, context, first, n_devices, cell == time_cell);
	return rows ? npl_layer_table_print(&table, out) : npl_table_close(&table);
}

/* Returns how many devices from the first on fit in a table side by side. */
static int devices_that_fit(const struct npl_comparison *c, int first)
{
	enum { OPERATOR_WIDTH = 10, GAP = 2, TIME_WIDTH = 8 };
	const int least = npl_text_must_fit() ? TIME_WIDTH : 0; /* else a name decides, and a line may get longer */
	int width = MIN_LABEL + GAP + OPERATOR_WIDTH, n = 0;
	for (; first + n < c->n_devices && n < DEVICES_A_TABLE; n++) {
		const int name_width = npl_text_width(c->device[first + n].instance);
		width += GAP + (name_width > least ? name_width : least);
		if (n && width > npl_text_columns())
			break;
	}
	return n;
}

int npl_layer_tables(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	int rc = 0;
	for (int first = 0, n_shown; first < c->n_devices && !rc; first += n_shown) {
		n_shown = devices_that_fit(c, first);
		if (c->n_devices > 1 && !context->single_layer)
			rc = put_layers_of(out, c, context, first, n_shown, "LAYER", time_cell);
		if (!rc && c->device[first].layer_accuracy)
			rc = put_layers_of(out, c, context, first, n_shown, "SIGNAL/NOISE OF", noise_cell);
	}
	for (int d = 0; d < c->n_devices && !rc; d++) {
		const struct npl_device_report *r = &c->device[d];
		rc = npl_device_layers(out, c, r, context);
		for (int p = 0; p < r->n_parts && !rc; p++)
			rc = npl_layer_causes(out, c, r, context, &r->part[p].info, r->part[p].instance);
		if (!rc && !r->n_parts)
			rc = npl_layer_causes(out, c, r, context, &r->info, r->instance);
	}
	return rc;
}

void npl_layer_notes(struct npl_table *notes, const struct npl_comparison *c, const struct npl_report_context *context)
{
	const char *sort_name = context->choice ? context->choice->sort_name : NULL;
	bool causes = false;
	char sorted[100];
	snprintf(sorted, sizeof sorted, "sorted by %s: for each layer that of the device where it is greatest",
		 sort_name ? sort_name : "");
	if (sort_name && c->n_devices > 1)
		npl_table_row(notes, (const char *const[]){"layers", sorted});
	for (int d = 0; d < c->n_devices; d++) {
		const struct npl_device_report *r = &c->device[d];
		for (int p = 0; p < r->n_parts; p++)
			npl_layer_causes_note(notes, &r->part[p].info, r->part[p].instance);
		if (!r->n_parts)
			npl_layer_causes_note(notes, &r->info, r->instance);
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
