/* SPDX-License-Identifier: MIT
 *
 * Traffic through a memory as a person reads it. Energy and times are modelled ("~"); counts are the model's own. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cells.h"
#include "core/base/message.h"
#include "npulab/report.h"
#include "reports/format/table.h"

static void put_row(struct npl_table *table, const char *name, const char *value, const char *remark)
{
	npl_table_row(table, (const char *const[]){name, value, remark});
}

static void put_count(struct npl_table *table, const char *name, uint64_t value, const char *remark)
{
	char text[CELL];
	snprintf(text, sizeof text, "%" PRIu64, value);
	put_row(table, name, text, remark);
}

/* Writes a value, with a "~" where it is known. */
static void put_modelled(struct npl_table *table, const char *name, double value, const char *unit, const char *remark)
{
	char text[CELL] = "~";
	npl_si_text(value, unit, text + isfinite(value), sizeof text - 1);
	put_row(table, name, text, remark);
}

static void put_share(struct npl_table *table, const char *name, double fraction, const char *remark)
{
	char text[CELL] = "-";
	if (isfinite(fraction))
		snprintf(text, sizeof text, "%.2f %%", 100 * fraction);
	put_row(table, name, text, remark);
}

static void put_head(FILE *out, const struct npl_traffic_report *r)
{
	const struct npl_memory_info *info = npl_memory_info(r->memory);
	const struct npl_memory_counters *n = &r->result->counters;
	char line[400], arrival[60] = "at the trace's cycles";
	if (r->result->inject)
		snprintf(arrival, sizeof arrival, "%lld offered per cycle", (long long)r->result->inject);
	snprintf(line, sizeof line, "%s: %" PRIu64 " reads, %" PRIu64 " writes, %s", r->name, n->reads, n->writes,
		 arrival);
	npl_table_text(line, out);
	snprintf(line, sizeof line, "%s: %s; %lld channel%s%s%s", info->name,
		 info->description ? info->description : info->model, (long long)info->channels,
		 npl_plural(info->channels), *info->mapping ? ", " : "", info->mapping);
	npl_table_text(line, out);
	fputc('\n', out);
}

static void put_latency(struct npl_table *table, const char *name, const struct npl_latency *latency,
			const char *remark)
{
	char label[CELL], value[CELL];
	if (!latency->requests)
		return;
	snprintf(label, sizeof label, "%slatency, mean", name);
	snprintf(value, sizeof value, "%.1f", latency->mean);
	put_row(table, label, value, remark);
	snprintf(label, sizeof label, "%slatency, 99th percentile", name);
	put_count(table, label, latency->p99, "");
}

static void put_time(struct npl_table *table, const struct npl_traffic_report *r,
		     const struct npl_traffic_figures *figures)
{
	const struct npl_traffic_result *result = r->result;
	const struct npl_memory_info *info = npl_memory_info(r->memory);
	char clock[CELL], remark[CELL + 40], peak[CELL];
	npl_si_text((double)info->clock.numerator / (double)info->clock.denominator, "Hz", clock, sizeof clock);
	snprintf(remark, sizeof remark, "to the last completion, at %s", clock);
	put_count(table, "cycles", result->cycles, remark);
	put_modelled(table, "time", result->seconds, "s", "");
	put_modelled(table, "bandwidth", result->bytes_per_second, "B/s", "of all requests");
	npl_si_text(info->peak_bytes_per_second, "B/s", peak, sizeof peak);
	snprintf(remark, sizeof remark, "of %s", peak);
	put_share(table, "peak used", figures->peak_fraction, isfinite(figures->peak_fraction) ? remark : "");
	put_latency(table, "", &result->latency,
		    result->inject ? "cycles from acceptance to completion"
				   : "cycles from the trace's cycle to completion");
	if (result->read_latency.requests && result->write_latency.requests) {
		put_latency(table, "read ", &result->read_latency, "");
		put_latency(table, "write ", &result->write_latency, "");
	}
}

static void put_commands(struct npl_table *table, const struct npl_traffic_report *r,
			 const struct npl_traffic_figures *figures)
{
	const struct npl_memory_counters *n = &r->result->counters;
	if (strcmp(npl_memory_info(r->memory)->model, "dram"))
		return;
	put_share(table, "row hits", figures->row_hit_rate, "accesses that found their row open");
	put_count(table, "read commands", n->read_commands, "");
	put_count(table, "write commands", n->write_commands, "");
	put_count(table, "forwarded", n->forwarded, "reads answered out of the write queue");
	put_count(table, "activates", n->activates, "");
	put_count(table, "precharges", n->precharges, "");
	put_count(table, "refreshes", n->refreshes, "of a rank each");
}

static void put_energy(struct npl_table *table, const struct npl_traffic_report *r,
		       const struct npl_traffic_figures *figures)
{
	const struct npl_traffic_result *result = r->result;
	put_modelled(table, "energy", figures->total_joules, "J",
		     result->n_energy ? result->energy[0].origin : "absent");
	for (int i = 0; i < result->n_energy; i++) {
		char label[CELL];
		snprintf(label, sizeof label, "  %s", result->energy[i].name);
		put_modelled(table, label, figures->joules[i], "J", "");
	}
	char text[CELL] = "-";
	if (isfinite(figures->pj_per_bit))
		snprintf(text, sizeof text, "~%.1f pJ", figures->pj_per_bit);
	put_row(table, "energy per bit", text, "");
}

int npl_dram_table(FILE *out, const struct npl_traffic_report *r)
{
	static const char *const header[] = {"FIGURE", "VALUE", "WHAT"};
	struct npl_traffic_figures figures;
	struct npl_table table;
	npl_traffic_figures_of(r->memory, r->result, &figures);
	put_head(out, r);
	npl_table_open(&table, "lrl", header);
	put_time(&table, r, &figures);
	put_commands(&table, r, &figures);
	put_energy(&table, r, &figures);
	npl_table_print(&table, out);
	return npl_table_close(&table);
}
