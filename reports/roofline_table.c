/* SPDX-License-Identifier: MIT
 *
 * Rooflines as a person reads them: the roofs of all devices, then each device's layers below its roof. */
#include <inttypes.h>
#include <math.h>

#include "core/base/message.h"
#include "npulab/report.h"
#include "reports/format/table.h"
#include "roofline_columns.h"
#include "unavailable.h"

static int put_roofs(FILE *out, const struct npl_roofline *r)
{
	struct npl_table table;
	const int columns = npl_roofs_open(&table);
	for (int d = 0; d < r->n_devices; d++) {
		npl_table_unavailable(&table, &r->unavailable, d, columns);
		for (int i = 0; i < r->device[d].roofs.n; i++) {
			const struct npl_roofline_row row = npl_roof_row(&r->device[d], i);
			npl_roofline_columns_row(&table, &row);
		}
	}
	npl_table_unavailable(&table, &r->unavailable, r->n_devices, columns);
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

static int put_points(FILE *out, const struct npl_roofline *r, const struct npl_roofline_device *d)
{
	struct npl_table table;
	npl_points_open(&table, d);
	for (int i = 0; i <= d->n_points && d->n_points; i++) {
		const struct npl_roofline_row row = npl_point_row(r, d, i < d->n_points ? &d->point[i] : &d->network);
		npl_roofline_columns_row(&table, &row);
	}
	fputc('\n', out);
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

/* Returns the name of the bytes that a device's intensities count. */
static const char *bytes_of(const struct npl_roofline *r, const struct npl_roofline_device *d)
{
	if (r->intensity == NPL_INTENSITY_WEIGHTS)
		return "weights, whatever else crosses the memory";
	return d->roofs.origin == NPL_TIME_MEASURED ? "weights, inputs and results, each once"
	       : d->info.crosses[NPL_MEM_DRAM] == NPL_CROSS_WEIGHTS
		       ? "weights: inputs and results are in the machine's own buffer"
		       : "weights, inputs and results that must cross the memory";
}

static void put_device_notes(struct npl_table *table, const struct npl_roofline *r, const struct npl_roofline_device *d)
{
	char line[600];
	if (r->graph) {
		snprintf(line, sizeof line, "bytes are of %s", bytes_of(r, d));
		npl_table_row(table, (const char *const[]){d->instance, line});
	}
	for (int i = 0; i < d->n_notes; i++)
		npl_table_row(table, (const char *const[]){d->instance, d->note[i]});
	if (d->roofs.origin == NPL_TIME_MODELLED)
		return;
	for (int i = 0; i < d->roofs.n; i++) {
		snprintf(line, sizeof line, "%s peak: %s", npl_roofline_precision(d, i), d->roofs.roof[i].explanation);
		npl_table_row(table, (const char *const[]){d->instance, line});
	}
	snprintf(line, sizeof line, "memory%s: %s", isfinite(d->roofs.memory_bytes_per_second) ? "" : " not known",
		 d->roofs.memory_explanation);
	npl_table_row(table, (const char *const[]){d->instance, line});
	npl_table_row(table, (const char *const[]){d->instance, d->info.detail});
	if (d->roofs.load.busy) {
		snprintf(line, sizeof line,
			 "roofs measured beside other programs, which took %.1f of %d processors (load average %.1f)",
			 d->roofs.load.other_processors, d->roofs.load.processors, d->roofs.load.load_average);
		npl_table_row(table, (const char *const[]){d->instance, line});
	}
}

static int put_notes(FILE *out, const struct npl_roofline *r)
{
	static const char *const header[] = {"NOTES", ""};
	struct npl_table table;
	bool any_model = false, any_measure = false, any_above_roof = false;
	npl_table_open(&table, "ll", header);
	for (int d = 0; d < r->n_devices; d++) {
		const struct npl_roofline_device *device = &r->device[d];
		put_device_notes(&table, r, device);
		any_model |= device->roofs.origin == NPL_TIME_MODELLED;
		any_measure |= device->roofs.origin == NPL_TIME_MEASURED;
		for (int i = 0; i < device->n_points; i++)
			any_above_roof |= device->point[i].share > 1;
	}
	npl_table_unavailable_notes(&table, &r->unavailable);
	npl_table_row(&table,
		      (const char *const[]){
			      "roof",
			      "the lower of the peak and twice MAC/B times the memory's rate, as OP/S in operations "
			      "per second; OF ROOF is the least time that both allow over the time taken, also "
			      "of layers without MACs"});
	if (r->graph && any_model)
		npl_table_row(&table,
			      (const char *const[]){
				      "bound ~",
				      "what most of the layer's cycles, or of its time, went to, by the machine's "
				      "counters: docs/roofline.md, Bounds, has each"});
	if (r->graph && any_measure)
		npl_table_row(&table, (const char *const[]){"bound", "of a real device the lower roof, where the layer "
								     "reaches half of it"});
	if (any_above_roof)
		npl_table_row(
			&table,
			(const char *const[]){
				"over 100 %",
				"a layer that finds in the caches what the roof has cross the memory, or that is done "
				"with fewer or faster operations than the products of the peak"});
	if (any_model)
		npl_table_row(&table,
			      (const char *const[]){
				      "~", r->graph ? "modelled: parameters of the machine; each layer by itself, the "
						      "whole network as it runs"
						    : "modelled: parameters of the machine"});
	if (any_measure)
		npl_table_row(&table, (const char *const[]){"no mark", "measured on this computer"});
	fputc('\n', out);
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

int npl_roofline_table(FILE *out, const struct npl_roofline *r, const char *model)
{
	char macs[32], line[300];
	if (r->graph) {
		npl_count_text((double)r->graph->macs, "MAC", macs, sizeof macs);
		snprintf(line, sizeof line, "%s: %d layer%s, %s in a batch of %" PRId64, model, r->graph->n_nodes,
			 npl_plural(r->graph->n_nodes), macs, r->graph->batch);
		npl_table_text(line, out);
		fputc('\n', out);
	}
	int rc = put_roofs(out, r);
	for (int d = 0; d < r->n_devices && r->graph && !rc; d++)
		rc = put_points(out, r, &r->device[d]);
	return rc ? rc : put_notes(out, r);
}
