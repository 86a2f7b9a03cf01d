/* SPDX-License-Identifier: MIT
 *
 * The comparison as a person reads it: speed, energy and accuracy side by side, then what must be known to read them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "energy_table.h"
#include "frontend/session/host_reasons.h"
#include "layer_table.h"
#include "npulab/isa.h"
#include "npulab/report.h"
#include "npulab/text.h"
#include "table.h"
#include "unavailable.h"
#include "value_notes.h"

/* Whether the device of this name times its link itself. */
static bool times_link(const struct npl_device_report *r, const char *name)
{
	for (int i = 0; i < r->n_parts; i++)
		if (!strcmp(r->part[i].name, name))
			return r->part[i].info.link.measured;
	return false;
}

/* A byte over it costs nothing more than the link draws at rest. */
static bool is_free(const struct npl_resource *link)
{
	return link->joules >= 0 && link->joules <= 0 && link->bytes + link->bytes_within > 0;
}

/* Whether all that is known of its energy was measured: what is assumed or modelled is marked. */
static bool energy_measured(const struct npl_device_report *r)
{
	for (int i = 0; i < r->run.n_energy; i++)
		if (isfinite(r->run.energy[i].joules) && strncmp(r->run.energy[i].origin, "measured", 8))
			return false;
	return true;
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
		fprintf(out, "%s; the device's own time, without moving operands or results to or from the host\n\n",
			macs);
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

/* Energy of a sample; ">" and what is known where a component is absent. */
static const char *energy_figure(char *buf, const struct npl_figures *f, bool is_model)
{
	if (isfinite(f->joules_per_inference) || f->known_joules_per_inference == 0)
		return figure(buf, f->joules_per_inference, "J", is_model);
	buf[0] = '>';
	figure(buf + 1, f->known_joules_per_inference, "J", is_model);
	return buf;
}

static void put_speed(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	struct npl_table table;
	enum { COLUMNS = 8 };
	static const char *const whole[COLUMNS] = {"DEVICE",        "FORMAT", "BATCH TIME", "SAMPLES/S",
						   "ENERGY/SAMPLE", "OPS/S",  "PEAK USED",  "POWER"};
	static const char *const layer[COLUMNS] = {"DEVICE", "FORMAT", "TIME",      "CYCLES",
						   "ENERGY", "OPS/S",  "PEAK USED", "POWER"};
	npl_table_open(&table, "llrrrrrr", context->single_layer ? layer : whole);
	for (int d = 0; d < c->n_devices; d++) {
		npl_table_unavailable(&table, &c->unavailable, d, COLUMNS);
		const struct npl_device_report *r = &c->device[d];
		bool model = npl_report_modelled(r), energy_model = !energy_measured(r);
		struct npl_figures f;
		char a[CELL], b[CELL], o[CELL], u[CELL], e[CELL], p[CELL];
		npl_figures_of(r, context, &f);
		if (context->single_layer && model)
			snprintf(b, sizeof b, "~%" PRIu64, r->run.cycles);
		else
			figure(b, context->single_layer ? NAN : f.inferences_per_second, "/s", model);
		const char *cells[] = {r->instance,
				       npl_report_format(r) ? npl_report_format(r) : "mixed",
				       figure(a, f.latency_s, "s", model),
				       b,
				       energy_figure(e, &f, energy_model),
				       figure(o, f.machine_ops_per_second, "OP/s", model),
				       percent(u, f.utilization, model ? "~" : ""),
				       figure(p, f.machine_power_w, "W", energy_model)};
		npl_table_row(&table, cells);
	}
	npl_table_unavailable(&table, &c->unavailable, c->n_devices, COLUMNS);
	npl_table_print(&table, out);
	npl_table_close(&table);
}

static void put_accuracy(FILE *out, const struct npl_comparison *c)
{
	struct npl_table table;
	static const char *const header[] = {"DEVICE", "MAX ERROR", "SIGNAL/NOISE", "SAME TOP-1", "TOP-1", "SATURATED"};
	npl_table_open(&table, "lrrrrr", header);
	for (int d = 0; d < c->n_devices; d++) {
		const struct npl_device_report *r = &c->device[d];
		char e[CELL], s[CELL], a[CELL], t[CELL], n[CELL];
		if (!isnan(r->accuracy.max_abs_error))
			snprintf(e, sizeof e, "%.3g", r->accuracy.max_abs_error);
		else
			snprintf(e, sizeof e, "-");
		if (!isnan(r->accuracy.sqnr_db))
			snprintf(s, sizeof s, "%.1f dB", r->accuracy.sqnr_db);
		else
			snprintf(s, sizeof s, r->accuracy.max_abs_error == 0 ? "exact" : "-");
		if (npl_report_saturates(r))
			snprintf(n, sizeof n, "%" PRIu64, r->run.saturations);
		else
			snprintf(n, sizeof n, "-");
		const char *cells[] = {r->instance,
				       e,
				       s,
				       percent(a, r->accuracy.top1_agreement, ""),
				       percent(t, r->accuracy.top1_accuracy, ""),
				       n};
		if (isfinite(r->accuracy.top1_accuracy))
			snprintf(t, sizeof t, "%.2f %%", 100 * r->accuracy.top1_accuracy);
		npl_table_row(&table, cells);
	}
	fputc('\n', out);
	npl_table_print(&table, out);
	npl_table_close(&table);
}

/* Operators that the host runs, those that take most time first, how many layers they are, and one of which it does a part. */
static void list_host(char *text, size_t size, const struct npl_comparison *c, const struct npl_run *run)
{
	const size_t room = size - 44; /* for what follows the list */
	struct npl_host_reason *done;
	const int n = npl_host_reasons(c->graph, run, true, &done);
	const char *part = NULL;
	int count = 0;
	size_t used = 0;
	*text = '\0';
	for (int i = 0; i < n; i++) {
		const char *op = npl_op_defs[done[i].op].name;
		count += done[i].layers;
		if (used + strlen(op) + 3 < room)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", op);
	}
	free(done);
	for (int i = 0; i < run->n_layers; i++)
		if (run->layer[i].host_part)
			part = npl_op_defs[c->graph->node[run->layer[i].node].op].name;
	snprintf(text + used, size - used, count ? " (%d of %d layer%s)" : "no layer", count, run->n_layers,
		 npl_plural(run->n_layers));
	used = strlen(text);
	if (part)
		snprintf(text + used, size - used, ", %s in part", part);
}

/* Where the time of an entry goes that is more than a device's own. */
static void put_parts(FILE *out, const struct npl_comparison *c)
{
	struct npl_table table;
	static const char *const header[] = {"TIME OF A BATCH", "MACHINE", "HOST", "LINK", "HOST RUNS"};
	int rows = 0;
	npl_table_open(&table, "lrrrl", header);
	for (int d = 0; d < c->n_devices; d++) {
		const struct npl_device_report *r = &c->device[d];
		double n = (double)r->batches;
		char m[CELL], h[CELL], l[CELL], on_host[100];
		if (!npl_report_modelled(r) && !r->n_parts && !(r->run.link_seconds > 0))
			continue;
		list_host(on_host, sizeof on_host, c, &r->run);
		const char *cells[] = {r->instance, figure(m, r->run.device_seconds / n, "s", npl_report_simulated(r)),
				       figure(h, r->run.host_seconds / n, "s", npl_report_modelled(r)),
				       figure(l, r->run.link_seconds / n, "s", npl_report_simulated(r)), on_host};
		npl_table_row(&table, cells);
		rows++;
	}
	if (rows) {
		fputc('\n', out);
		npl_table_print(&table, out);
	}
	npl_table_close(&table);
}

/* What the links of a placement carry in a batch. */
static void put_links(FILE *out, const struct npl_device_report *r)
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
		const char *cells[] = {link->of,
				       link->name,
				       t,
				       figure(b, (double)link->bytes / n, "B", false),
				       figure(w, (double)link->bytes_within / n, "B", false),
				       figure(s, link->busy_seconds / n, "s", !times_link(r, link->of)),
				       figure(e, is_free(link) ? NAN : link->joules / n, "J", true)};
		npl_table_row(&table, cells);
		rows++;
	}
	if (rows) {
		fputc('\n', out);
		npl_table_print(&table, out);
	}
	npl_table_close(&table);
}

#define MOST_REASONS 6 /* of a device: more are in the JSON */

/* Why layers are on the host, each operator and reason once, with the host's time per batch. */
static void put_reasons(FILE *out, const struct npl_comparison *c)
{
	static const char *const header[] = {"ON THE HOST OF", "OPERATOR", "HOST", "WHY"};
	struct npl_table table;
	int rows = 0;
	npl_table_open(&table, "llrl", header);
	for (int d = 0; d < c->n_devices; d++) {
		const struct npl_device_report *r = &c->device[d];
		struct npl_host_reason *reason;
		const int n = npl_host_reasons(c->graph, &r->run, false, &reason);
		char time[CELL], line[60];
		for (int i = 0; i < n && i < MOST_REASONS; i++, rows++)
			npl_table_row(&table, (const char *const[]){
						      r->instance, npl_op_defs[reason[i].op].name,
						      figure(time, reason[i].seconds / (double)r->batches, "s", true),
						      reason[i].note});
		snprintf(line, sizeof line, "and %d more reason%s: --json has all", n - MOST_REASONS,
			 npl_plural(n - MOST_REASONS));
		if (n > MOST_REASONS)
			npl_table_row(&table, (const char *const[]){r->instance, "", "", line});
		free(reason);
	}
	if (rows) {
		fputc('\n', out);
		npl_table_print(&table, out);
	}
	npl_table_close(&table);
}

/* Which components of a sum are not known. */
static void put_absent(char *line, size_t used, size_t size, const struct npl_run *run)
{
	int absent = 0;
	for (int i = 0; i < run->n_energy && run->n_energy > 1 && used < size; i++)
		if (!isfinite(run->energy[i].joules))
			used += (size_t)snprintf(
				line + used, size - used, "%s%s",
				absent++ ? ", " : "; not known and not in the sum: ", run->energy[i].component);
}

/* Why the table of links has no energy for some. */
static void put_links_within(struct npl_table *table, const struct npl_comparison *c)
{
	const struct npl_device_report *placed = &c->device[0];
	char line[200];
	for (int i = 0; placed->n_parts && i < placed->run.n_resources; i++) {
		const struct npl_resource *link = &placed->run.resource[i];
		if (link->kind != NPL_RESOURCE_LINK || (!link->energy_within && !is_free(link)))
			continue;
		if (link->energy_within)
			snprintf(line, sizeof line, "the energy of bytes over its %s is in %s", link->name,
				 link->energy_within);
		else
			snprintf(line, sizeof line,
				 "its %s draws the same idle or busy: bytes over it take no energy of their own",
				 link->name);
		npl_table_row(table, (const char *const[]){link->of, line});
	}
}

#define LAYERS_JUDGED                                                                                                   \
	"signal over noise of the first batch's result against the float32 reference's; that of the devices is of all " \
	"samples"

static bool any_layer_judged(const struct npl_comparison *c)
{
	for (int d = 0; d < c->n_devices; d++)
		for (int i = 0; i < c->graph->n_nodes; i++)
			if (!isnan(c->device[d].layer_accuracy[i].sqnr_db))
				return true;
	return false;
}

/* What a device of integers left to its floats. */
static size_t put_floats(char *line, size_t size, const struct npl_device_report *r)
{
	int layers = 0;
	uint64_t macs = 0;
	for (int i = 0; i < r->run.n_layers; i++) {
		const struct npl_layer_run *row = &r->run.layer[i];
		if (!npl_row_why_floats(row))
			continue;
		layers++;
		macs += row->result.macs;
	}
	if (!layers)
		return 0;
	return (size_t)snprintf(line, size, "; %d of %d layers in float32, with %.2g %% of the MACs", layers,
				r->run.n_layers, r->run.macs ? 100.0 * (double)macs / (double)r->run.macs : 0.0);
}

/* Samples that had to be one batch, or do not fill the last. */
static void put_batches(struct npl_table *table, const struct npl_comparison *c)
{
	const int64_t filled = c->graph->batch ? c->batches * c->graph->batch - c->samples : 0;
	char line[400];
	if (c->graph->batching.together) {
		snprintf(line, sizeof line, "all %" PRId64 " samples run as one batch, because they cannot be cut: %s",
			 c->samples, c->graph->batching.mixed_by);
		npl_table_row(table, (const char *const[]){"one batch", line});
	}
	if (filled > 0) {
		snprintf(line, sizeof line,
			 "the last batch holds %" PRId64
			 " sample%s and is filled up; the filling takes time and energy and "
			 "counts as no work",
			 c->graph->batch - filled, npl_plural(c->graph->batch - filled));
		npl_table_row(table, (const char *const[]){"short batch", line});
	}
}

/* What its file leaves out, what was adapted to the user's settings. */
static void put_machine_notes(struct npl_table *table, const struct npl_device_report *r)
{
	for (int i = 0; i < r->n_notes; i++)
		npl_table_row(table, (const char *const[]){r->name, r->note[i]});
	for (int i = 0; i < r->n_parts; i++)
		put_machine_notes(table, &r->part[i]);
}

static void put_notes(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	static const char *const header[] = {"NOTES", ""};
	struct npl_table table;
	char line[1600], amount[40];
	bool any_model = false, any_measure = false;
	npl_table_open(&table, "ll", header);
	for (int d = 0; d < c->n_devices; d++) {
		const struct npl_device_report *r = &c->device[d];
		any_model = any_model || npl_report_modelled(r) || !energy_measured(r);
		any_measure = any_measure || (isfinite(r->spread) && !npl_report_modelled(r));
		size_t used = npl_energy_note(line, sizeof line, r);
		if (used < sizeof line)
			used += npl_value_notes(line + used, sizeof line - used, c, r);
		if (used < sizeof line)
			used += put_floats(line + used, sizeof line - used, r);
		if (isfinite(r->spread) && used < sizeof line)
			used += (size_t)snprintf(line + used, sizeof line - used,
						 "; median of %d run%s, the middle half within %.0f %%", r->passes,
						 npl_plural(r->passes), 100 * r->spread);
		if (r->median_within > NPL_STABLE_MEDIAN && used < sizeof line)
			used += (size_t)snprintf(line + used, sizeof line - used,
						 r->median_within < 1
							 ? "; not stable: the median is known within %.2g %%"
							 : "; not stable: the median is known within %.0f %%",
						 100 * r->median_within);
		if (r->load.busy && used < sizeof line)
			used += (size_t)snprintf(
				line + used, sizeof line - used,
				"; measured beside other programs, which took %.1f of %d processors (load average %.1f)",
				r->load.others, r->load.processors, r->load.load_average);
		if (r->run.bytes[NPL_MEM_HOST] && used < sizeof line)
			used += (size_t)snprintf(
				line + used, sizeof line - used,
				"; %s over the host link within its own time: not all fits on chip",
				npl_si_text((double)r->run.bytes[NPL_MEM_HOST], "B", amount, sizeof amount));
		if (r->run.overlap_seconds > 0 && used < sizeof line)
			used += (size_t)snprintf(
				line + used, sizeof line - used, "; %s of a batch's work goes on while other does",
				npl_si_text(r->run.overlap_seconds / (double)r->batches, "s", amount, sizeof amount));
		put_absent(line, used, sizeof line, &r->run);
		npl_table_row(&table, (const char *const[]){r->instance, line});
		put_machine_notes(&table, r);
	}
	npl_table_unavailable_notes(&table, &c->unavailable);
	npl_host_note(&table, c);
	npl_memory_note(&table, c);
	put_links_within(&table, c);
	if (any_model)
		npl_table_row(
			&table,
			(const char *const[]){
				"~",
				context->single_layer
					? "modelled or assumed, not measured"
					: "modelled or assumed, not measured; BATCH TIME, SAMPLES/S and "
					  "ENERGY/SAMPLE cover the machine, its host and the link between them, "
					  "OPS/S, PEAK USED and POWER the chip and its memory while they work; energy "
					  "marked - is within CHIP, or none"});
	if (any_measure)
		npl_table_row(&table, (const char *const[]){"no mark", "measured on this computer"});
	if (any_measure && npl_isa_limit()) {
		snprintf(line, sizeof line, "kernels for %s and no further: " NPL_MAX_ISA " is set", npl_isa_limit());
		npl_table_row(&table, (const char *const[]){"limited", line});
	}
	if (c->graph->layer_list)
		npl_table_row(&table,
			      (const char *const[]){"list of layers",
						    "each layer's input is there and its result stays: no "
						    "conversion by the host and no transfer over a link counts"});
	put_batches(&table, c);
	if (context->layers && c->n_devices && c->device[0].layer_accuracy)
		npl_table_row(&table, (const char *const[]){
					      "layers", any_layer_judged(c) ? LAYERS_JUDGED
									    : "no layer's result is of real numbers, "
									      "whose signal over noise could be told"});
	if (context->layers)
		npl_layer_notes(&table, c, context);
	if (c->calibrated_on) {
		snprintf(line, sizeof line, "number formats calibrated on the %s (%s)%s", c->calibrated_on,
			 c->calibration,
			 c->q16_scale && !strcmp(c->q16_scale, "none") ? "; Q6.10 at 2^-10 throughout" : "");
		npl_table_row(&table, (const char *const[]){"calibration", line});
	}
	fputc('\n', out);
	npl_table_print(&table, out);
	npl_table_close(&table);
}

void npl_report_table(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	put_heading(out, c, context);
	put_speed(out, c, context);
	if (!c->timing_only && !context->single_layer)
		put_accuracy(out, c);
	if (!context->single_layer) {
		put_parts(out, c);
		npl_energy_table(out, c, context);
	}
	if (c->n_devices && c->device[0].n_parts)
		put_links(out, &c->device[0]);
	if (!context->single_layer)
		put_reasons(out, c);
	if (context->layers)
		npl_layer_tables(out, c, context);
	put_notes(out, c, context);
}
