/* SPDX-License-Identifier: MIT
 *
 * The layers of a comparison as CSV (RFC 4180), for spreadsheets. Empty: not applicable or not known. Figures are sums
 * over the batches, as in the JSON. Behind the columns that every device has come the counters of all machines in the comparison. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csv_fields.h"
#include "layer_figures.h"
#include "npulab/report.h"
#include "value_notes.h"

/* "inf": exact, no noise at all; "-inf": infinite or NaN where float32 is not. */
static void put_ratio(FILE *out, double ratio)
{
	if (isinf(ratio))
		fputs(ratio > 0 ? "inf" : "-inf", out);
	else
		npl_csv_put_double(out, ratio);
}

/* The names of the counters of all machines, each once. */
struct counters {
	const char **name;
	int n;
};

static void add_counters(struct counters *counters, const struct npl_device_info *info)
{
	for (size_t i = 0; i < info->n_stats; i++) {
		int at = 0;
		while (at < counters->n && strcmp(counters->name[at], info->stat[i].name) != 0)
			at++;
		if (at == counters->n)
			counters->name[counters->n++] = info->stat[i].name;
	}
}

/* Without memory there are none. */
static struct counters find_counters(const struct npl_comparison *c)
{
	struct counters counters = {0};
	size_t machines = 1;
	for (int d = 0; d < c->n_devices; d++)
		machines += 1 + (size_t)c->device[d].n_parts;
	counters.name = calloc(machines * NPL_MAX_COUNTERS, sizeof *counters.name);
	for (int d = 0; d < c->n_devices && counters.name; d++) {
		add_counters(&counters, &c->device[d].info);
		for (int p = 0; p < c->device[d].n_parts; p++)
			add_counters(&counters, &c->device[d].part[p].info);
	}
	return counters;
}

static void put_u64(FILE *out, bool known, uint64_t value)
{
	fputc(',', out);
	if (known)
		fprintf(out, "%" PRIu64, value);
}

static void put_double(FILE *out, double value)
{
	fputc(',', out);
	npl_csv_put_double(out, value);
}

static void put_counters(FILE *out, const struct counters *counters, const struct npl_layer_figures *f,
			 bool timing_only)
{
	const struct npl_device_info *info = f->mixed || !f->result.cycles ? NULL : f->info;
	for (int k = 0; k < counters->n; k++) {
		bool known = false;
		uint64_t value = 0;
		for (size_t i = 0; info && i < info->n_stats; i++)
			if (!strcmp(info->stat[i].name, counters->name[k]) &&
			    !(timing_only && info->stat[i].partition == NPL_STAT_OF_VALUES)) {
				known = true;
				value = f->result.counter[i];
			}
		put_u64(out, known, value);
	}
}

/* The columns from `cycles` on; row NULL: of several layers. */
static void put_figures(FILE *out, const struct npl_comparison *c, const struct npl_device_report *r,
			const struct npl_report_context *context, const struct npl_layer_run *row,
			const struct npl_layer_figures *f, const struct counters *counters)
{
	/* of a layer alone the meter's reading is its own */
	const struct npl_energy *energy = context->single_layer ? r->run.energy : row ? row->result.energy : NULL;
	const int n_energy = context->single_layer ? r->run.n_energy : row ? row->result.n_energy : 0;
	const bool clocked = f->result.cycles > 0, simulated = clocked && f->info;
	char origin[400];
	put_u64(out, clocked, f->result.cycles);
	put_double(out, npl_layer_seconds(f));
	put_double(out, npl_surrounding_seconds(r, f->host_seconds));
	put_double(out, npl_surrounding_seconds(r, row ? row->link_seconds : f->link_seconds));
	put_u64(out, true, row ? row->result.macs : f->macs_with_host);
	put_double(out, row ? npl_energy_sum(energy, n_energy) : f->absent || f->no_energy ? NAN : f->joules);
	fputc(',', out);
	if (row)
		npl_csv_put_text(out, npl_energy_origins(energy, n_energy, origin, sizeof origin));
	put_u64(out, npl_report_counts_wraps(r) && !c->timing_only, f->result.overflows);
	fputc(',', out);
	put_ratio(out, row && r->layer_accuracy ? r->layer_accuracy[row - r->run.layer].sqnr_db : NAN);
	fprintf(out, ",%" PRId64, r->batches);
	put_double(out, npl_layer_utilization(f));
	put_u64(out, simulated, f->result.bytes[NPL_MEM_DRAM]);
	put_u64(out, simulated, f->result.bytes[NPL_MEM_BUFFER]);
	put_u64(out, simulated, f->result.bytes[NPL_MEM_HOST]);
	put_u64(out, r->info.kind == NPL_KIND_SIMULATED || f->link_bytes, f->link_bytes);
	fputc(',', out);
	npl_csv_put_text(out, npl_layer_bound(f));
	put_counters(out, counters, f, c->timing_only);
	fputs("\r\n", out);
}

static void put_name(FILE *out, const struct npl_report_context *context, const struct npl_device_report *r)
{
	npl_csv_put_text(out, context->model_name);
	fputc(',', out);
	npl_csv_put_text(out, r->instance);
	fputc(',', out);
}

void npl_report_csv(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	struct counters counters = find_counters(c);
	struct npl_layer_figures f;
	char name[40];
	fputs("model,device,index,name,op,ran_on,cycles,seconds,host_seconds,link_seconds,macs,energy_j,energy_origin,"
	      "overflows,sqnr_db,batches,utilization,memory_bytes,buffer_bytes,link_bytes_within_cycles,link_bytes,bound",
	      out);
	for (int k = 0; k < counters.n; k++)
		fprintf(out, ",%s", counters.name[k]);
	fputs("\r\n", out);
	for (int d = 0; d < c->n_devices; d++) {
		const struct npl_device_report *r = &c->device[d];
		for (int n = 0; n < npl_chosen_layers(c, context); n++) {
			const int i = npl_chosen_layer(context, n);
			const struct npl_layer_run *row = &r->run.layer[i];
			put_name(out, context, r);
			fprintf(out, "%d,", i);
			npl_csv_put_text(out, c->graph->node[row->node].name);
			fprintf(out, ",%s,", npl_op_defs[c->graph->node[row->node].op].name);
			npl_csv_put_text(out, row->ran_on);
			npl_layer_figures_of(r, context, i, &f);
			put_figures(out, c, r, context, row, &f, &counters);
		}
		npl_layer_figures_left(r, context, &f);
		if (!f.layers)
			continue;
		put_name(out, context, r);
		fprintf(out, ",%s,,", npl_layers_left_text(context, name, sizeof name));
		put_figures(out, c, r, context, NULL, &f, &counters);
	}
	free(counters.name);
}
