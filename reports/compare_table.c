/* SPDX-License-Identifier: MIT
 *
 * The comparison as a person reads it: speed, energy and accuracy side by side, then the notes that are needed to read
 * them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "columns.h"
#include "core/base/message.h"
#include "energy_table.h"
#include "frontend/session/host_reasons.h"
#include "layer_table.h"
#include "notes.h"
#include "npulab/report.h"
#include "reports/format/table.h"
#include "unavailable.h"

/* Says whether the device of a placement times its link itself. */
static bool times_link(const struct npl_device_report *r, const char *instance)
{
	for (int i = 0; i < r->n_parts; i++)
		if (!strcmp(r->part[i].instance, instance))
			return r->part[i].info.link.measured;
	return false;
}

static void put_heading(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	const struct npl_graph *graph = c->graph;
	char macs[32], parameters[32], line[400];
	double per_sample = graph->batch ? (double)graph->macs / (double)graph->batch : 0;
	npl_count_text(per_sample, "MAC", macs, sizeof macs);
	npl_count_text((double)graph->parameters, "", parameters, sizeof parameters);
	snprintf(line, sizeof line, "%s%s%s", context->model_name, context->description ? ": " : "",
		 context->description ? context->description : "");
	npl_table_text(line, out);
	if (context->single_layer) {
		snprintf(line, sizeof line,
			 "%s; the device's own time, without moving operands or results to or from the host", macs);
		npl_table_text(line, out);
		fputc('\n', out);
		return;
	}
	snprintf(line, sizeof line,
		 "%d layer%s, %s per sample, %s parameters; %" PRId64 " %ssample%s in batches of %" PRId64,
		 graph->n_nodes, npl_plural(graph->n_nodes), macs, parameters, c->samples,
		 c->random_inputs ? "random " : "", npl_plural(c->samples), graph->batch);
	npl_table_text(line, out);
	if (isfinite(c->reference.top1_accuracy))
		fprintf(out, "top-1 of the float32 network: %.2f %%\n", 100 * c->reference.top1_accuracy);
	fputc('\n', out);
}

static int put_speed(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	struct npl_table table;
	struct npl_entry entry;
	const int n = npl_columns_open(&table, NPL_COLUMNS_TOTALS, context->single_layer);
	for (int d = 0; d < c->n_devices; d++) {
		npl_table_unavailable(&table, &c->unavailable, d, n);
		npl_entry_of(c, &c->device[d], context, &entry);
		npl_columns_row(&table, NPL_COLUMNS_TOTALS, &entry);
	}
	npl_table_unavailable(&table, &c->unavailable, c->n_devices, n);
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

static int put_accuracy(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	struct npl_table table;
	struct npl_entry entry;
	npl_columns_open(&table, NPL_COLUMNS_ACCURACY, false);
	for (int d = 0; d < c->n_devices; d++) {
		npl_entry_of(c, &c->device[d], context, &entry);
		npl_columns_row(&table, NPL_COLUMNS_ACCURACY, &entry);
	}
	fputc('\n', out);
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

/* Lists the operators that the host runs, by their time, with the number of layers, and one of which it does a part.
 * Returns 0 or NPL_ENOMEM. */
static int list_host(char *text, size_t size, const struct npl_comparison *c, const struct npl_run *run)
{
	const size_t room = size - 49; /* leaves room for the text after the list */
	struct npl_host_reason *host_reason;
	const int n = npl_host_reasons(c->graph, run, true, &host_reason);
	const char *part = NULL;
	int count = 0;
	bool all = true;
	if (n < 0)
		return n;
	*text = '\0';
	for (int i = 0; i < n; i++) {
		const char *op = npl_op_defs[host_reason[i].op].name;
		count += host_reason[i].layers;
		all = all && strlen(text) + strlen(op) + 3 < room;
		if (all)
			npl_append(text, size, ", ", "%s", op);
	}
	npl_append(text, size, "", "%s", all ? "" : ", ...");
	free(host_reason);
	for (int i = 0; i < run->n_layers; i++)
		if (run->layer[i].host_part)
			part = npl_op_defs[c->graph->node[run->layer[i].node].op].name;
	npl_append(text, size, "", count ? " (%d of %d layer%s)" : "no layer", count, run->n_layers,
		   npl_plural(run->n_layers));
	if (part)
		npl_append(text, size, "", ", %s in part", part);
	return 0;
}

/* Writes where the time of an entry beyond the device's own goes. */
static int put_parts(FILE *out, const struct npl_comparison *c)
{
	struct npl_table table;
	static const char *const header[] = {"TIME OF A BATCH", "MACHINE", "HOST", "LINK", "HOST RUNS"};
	int rows = 0, rc = 0;
	npl_table_open(&table, "lrrrl", header);
	for (int d = 0; d < c->n_devices && !rc; d++) {
		const struct npl_device_report *r = &c->device[d];
		double n = (double)r->batches;
		char m[CELL], h[CELL], l[CELL], on_host[100];
		if (!npl_report_modelled(r) && !r->n_parts && !(r->run.link_seconds > 0))
			continue;
		rc = list_host(on_host, sizeof on_host, c, &r->run);
		const char *cells[] = {r->instance, figure(m, r->run.device_seconds / n, "s", npl_report_simulated(r)),
				       figure(h, r->run.host_seconds / n, "s", npl_report_modelled(r)),
				       figure(l, r->run.link_seconds / n, "s", npl_report_simulated(r)), on_host};
		npl_table_row(&table, cells);
		rows++;
	}
	if (rows && !rc) {
		fputc('\n', out);
		npl_table_print(&table, out);
	}
	const int closed = npl_table_close(&table);
	return rc ? rc : closed;
}

/* Writes what the links of a placement carry in a batch. */
static int put_links(FILE *out, const struct npl_device_report *r)
{
	static const char *const header[] = {"LINK OF", "", "TRANSFERS", "BYTES", "WITHIN CYCLES", "TIME", "ENERGY"};
	struct npl_table table;
	double n = (double)r->batches;
	int rows = 0;
	npl_table_open(&table, "llrrrrr", header);
	for (int i = 0; i < r->run.n_resources; i++) {
		const struct npl_resource *link = &r->run.resource[i];
		char t[CELL], b[CELL], w[CELL], s[CELL], e[CELL];
		if (link->kind != NPL_RESOURCE_LINK)
			continue;
		snprintf(t, sizeof t, "%.6g", (double)link->transfers / n);
		const char *cells[] = {link->device_name,
				       link->name,
				       t,
				       figure(b, (double)link->bytes / n, "B", false),
				       figure(w, (double)link->bytes_within / n, "B", false),
				       figure(s, link->busy_seconds / n, "s", !times_link(r, link->device_name)),
				       figure(e, npl_link_is_free(link) ? NAN : link->joules / n, "J", true)};
		npl_table_row(&table, cells);
		rows++;
	}
	if (rows) {
		fputc('\n', out);
		npl_table_print(&table, out);
	}
	return npl_table_close(&table);
}

/* Returns the host's time in layers that a machine runs, in which it converts their inputs and results. */
static double conversion_seconds(const struct npl_run *run)
{
	double seconds = 0;
	for (int i = 0; i < run->n_layers; i++)
		if (!npl_row_on_host(&run->layer[i]))
			seconds += run->layer[i].host_seconds;
	return seconds;
}

#define MAX_REASONS 6 /* the most reasons of a device: the JSON has all */

/* Writes why layers are on the host, each operator and reason once, with the host's time per batch. */
static int put_reasons(FILE *out, const struct npl_comparison *c)
{
	static const char *const header[] = {"ON THE HOST OF", "OPERATOR", "HOST", "WHY"};
	struct npl_table table;
	int rows = 0, n = 0;
	npl_table_open(&table, "llrl", header);
	for (int d = 0; d < c->n_devices && n >= 0; d++) {
		const struct npl_device_report *r = &c->device[d];
		struct npl_host_reason *reason;
		n = npl_host_reasons(c->graph, &r->run, false, &reason);
		char time[CELL], line[60];
		for (int i = 0; i < n && i < MAX_REASONS; i++, rows++)
			npl_table_row(&table, (const char *const[]){
						      r->instance, npl_op_defs[reason[i].op].name,
						      figure(time, reason[i].seconds / (double)r->batches, "s", true),
						      reason[i].note});
		snprintf(line, sizeof line, "and %d more reason%s: --json has all", n - MAX_REASONS,
			 npl_plural(n - MAX_REASONS));
		if (n > MAX_REASONS)
			npl_table_row(&table, (const char *const[]){r->instance, "", "", line});
		const double conversions = conversion_seconds(&r->run);
		if (n && conversions > 0)
			npl_table_row(&table,
				      (const char *const[]){r->instance, "",
							    figure(time, conversions / (double)r->batches, "s", true),
							    "converts values for layers that the machine runs"});
		rows += n && conversions > 0;
		free(reason);
	}
	if (rows && n >= 0) {
		fputc('\n', out);
		npl_table_print(&table, out);
	}
	const int closed = npl_table_close(&table);
	return n < 0 ? n : closed;
}

int npl_report_table(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	put_heading(out, c, context);
	int rc = put_speed(out, c, context);
	if (!rc && !c->timing_only && !context->single_layer)
		rc = put_accuracy(out, c, context);
	if (!rc && !context->single_layer)
		rc = put_parts(out, c);
	if (!rc)
		rc = npl_energy_table(out, c, context);
	if (!rc && c->n_devices && c->device[0].n_parts)
		rc = put_links(out, &c->device[0]);
	if (!rc && !context->single_layer)
		rc = put_reasons(out, c);
	if (!rc && context->layers)
		rc = npl_layer_tables(out, c, context);
	return rc ? rc : npl_report_notes(out, c, context);
}
