/* SPDX-License-Identifier: MIT
 *
 * Rooflines as a person reads them: the roofs of all devices, then each device's layers below its roof. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/base/text.h"
#include "npulab/report.h"
#include "table.h"
#include "unavailable.h"

#define CELL 48

static const char *mark(const struct npl_roofline_device *d)
{
	return d->roofs_origin == NPL_TIME_MODELLED ? "~" : "";
}

static const char *figure(char *buf, double value, const char *unit, const char *mark)
{
	char text[32];
	npl_si_text(value, unit, text, sizeof text);
	snprintf(buf, CELL, "%s%s", isfinite(value) ? mark : "", text);
	return buf;
}

/* Writes MACs per byte with three digits and no prefix. */
static const char *intensity(char *buf, double value)
{
	if (!isfinite(value))
		snprintf(buf, CELL, "-");
	else if (value >= 99.95)
		snprintf(buf, CELL, "%.0f", value);
	else
		snprintf(buf, CELL, "%.*f", value >= 9.995 ? 1 : 2, value);
	return buf;
}

static const char *share(char *buf, const struct npl_roofline_point *p, const char *mark)
{
	if (!isfinite(p->share))
		snprintf(buf, CELL, "-");
	else
		snprintf(buf, CELL, p->share < 0.0995 ? "%s%.2g %%" : "%s%.1f %%", mark, 100 * p->share);
	return buf;
}

static void put_roofs(FILE *out, const struct npl_roofline *r)
{
	enum { COLUMNS = 5 };
	static const char *const header[COLUMNS] = {"DEVICE", "FORMAT", "PEAK", "MEMORY", "RIDGE MAC/B"};
	struct npl_table table;
	npl_table_open(&table, "llrrr", header);
	for (int d = 0; d < r->n_devices; d++) {
		npl_table_unavailable(&table, &r->unavailable, d, COLUMNS);
		const struct npl_roofline_device *device = &r->device[d];
		for (int i = 0; i < device->n_roofs; i++) {
			char p[CELL], m[CELL], g[CELL];
			const char *cells[] = {
				device->instance, npl_roofline_precision(device, i),
				figure(p, 2 * device->roof[i].macs_per_second, "OP/s", mark(device)),
				isinf(device->memory_bytes_per_second)
					? "no limit"
					: figure(m, device->memory_bytes_per_second, "B/s", mark(device)),
				intensity(g, npl_roofline_ridge(device, i))};
			npl_table_row(&table, cells);
		}
	}
	npl_table_unavailable(&table, &r->unavailable, r->n_devices, COLUMNS);
	npl_table_print(&table, out);
	npl_table_close(&table);
}

static void put_point(struct npl_table *table, const struct npl_roofline *r, const struct npl_roofline_device *d,
		      const struct npl_roofline_point *p)
{
	const struct npl_node *node = p->node < 0 ? NULL : &r->graph->node[p->node];
	const double n = (double)d->batches;
	char b[CELL], i[CELL], t[CELL], o[CELL], f[CELL], s[CELL];
	const char *cells[] = {node ? node->name : "network",
			       node ? npl_op_defs[node->op].name : "",
			       figure(b, p->bytes / n, "B", ""),
			       intensity(i, p->macs ? p->macs_per_byte : NAN),
			       figure(t, p->seconds / n, "s", mark(d)),
			       figure(o, p->macs ? p->ops_per_second : NAN, "", mark(d)),
			       figure(f, p->macs ? p->roof_ops_per_second : NAN, "", mark(d)),
			       share(s, p, mark(d)),
			       p->bound ? p->bound : "-"};
	npl_table_row(table, cells);
}

static void put_points(FILE *out, const struct npl_roofline *r, const struct npl_roofline_device *d)
{
	struct npl_table table;
	const char *header[] = {d->instance, "OPERATOR", "BYTES", "MAC/B", "TIME", "OP/S", "ROOF", "OF ROOF", "BOUND"};
	npl_table_open(&table, "lkrrrrrrl", header);
	for (int i = 0; i < d->n_points; i++)
		put_point(&table, r, d, &d->point[i]);
	if (d->n_points)
		put_point(&table, r, d, &d->network);
	fputc('\n', out);
	npl_table_print(&table, out);
	npl_table_close(&table);
}

/* Returns the name of the bytes that a device's intensities count. */
static const char *bytes_of(const struct npl_roofline *r, const struct npl_roofline_device *d)
{
	if (r->intensity == NPL_INTENSITY_WEIGHTS)
		return "weights, whatever else crosses the memory";
	return d->roofs_origin == NPL_TIME_MEASURED ? "weights, inputs and results, each once"
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
	if (d->roofs_origin == NPL_TIME_MODELLED)
		return;
	for (int i = 0; i < d->n_roofs; i++) {
		snprintf(line, sizeof line, "%s peak: %s", npl_roofline_precision(d, i), d->roof[i].explanation);
		npl_table_row(table, (const char *const[]){d->instance, line});
	}
	snprintf(line, sizeof line, "memory%s: %s", isfinite(d->memory_bytes_per_second) ? "" : " not known",
		 d->memory_explanation);
	npl_table_row(table, (const char *const[]){d->instance, line});
	npl_table_row(table, (const char *const[]){d->instance, d->info.detail});
	if (d->load.busy) {
		snprintf(line, sizeof line,
			 "roofs measured beside other programs, which took %.1f of %d processors (load average %.1f)",
			 d->load.other_processors, d->load.processors, d->load.load_average);
		npl_table_row(table, (const char *const[]){d->instance, line});
	}
}

static void put_notes(FILE *out, const struct npl_roofline *r)
{
	static const char *const header[] = {"NOTES", ""};
	struct npl_table table;
	bool any_model = false, any_measure = false, any_above_roof = false;
	npl_table_open(&table, "ll", header);
	for (int d = 0; d < r->n_devices; d++) {
		const struct npl_roofline_device *device = &r->device[d];
		put_device_notes(&table, r, device);
		any_model |= device->roofs_origin == NPL_TIME_MODELLED;
		any_measure |= device->roofs_origin == NPL_TIME_MEASURED;
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
				"a layer that finds in the caches what the roof has cross the memory, or that is done with fewer or faster operations than the products of the peak"});
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
	npl_table_close(&table);
}

void npl_roofline_table(FILE *out, const struct npl_roofline *r, const char *model)
{
	char macs[32], line[300];
	if (r->graph) {
		npl_count_text((double)r->graph->macs, "MAC", macs, sizeof macs);
		snprintf(line, sizeof line, "%s: %d layer%s, %s in a batch of %" PRId64, model, r->graph->n_nodes,
			 npl_plural(r->graph->n_nodes), macs, r->graph->batch);
		npl_table_text(line, out);
		fputc('\n', out);
	}
	put_roofs(out, r);
	for (int d = 0; d < r->n_devices && r->graph; d++)
		put_points(out, r, &r->device[d]);
	put_notes(out, r);
}
