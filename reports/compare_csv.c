/* SPDX-License-Identifier: MIT
 *
 * The layers of a comparison as CSV (RFC 4180), for spreadsheets. Empty: not applicable or not known. Figures are sums
 * over the batches, as in the JSON. The columns that every device has are followed by the counters of all machines in
 * the comparison. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"

/* The names of the counters of all machines, each once. */
struct counters {
	const char **name;
	int n;
};

static void add_counters(struct counters *counters, const struct npl_device_info *info)
{
	for (size_t i = 0; i < info->n_counters; i++) {
		int at = 0;
		while (at < counters->n && strcmp(counters->name[at], info->counter_def[i].name) != 0)
			at++;
		if (at == counters->n)
			counters->name[counters->n++] = info->counter_def[i].name;
	}
}

/* Finds the counters; without memory there are none. */
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

static void put_counters(FILE *out, const struct counters *counters, const struct npl_layer_figures *f,
			 bool timing_only)
{
	const struct npl_device_info *info = f->mixed || !f->result.cycles ? NULL : f->info;
	for (int k = 0; k < counters->n; k++) {
		bool known = false;
		uint64_t value = 0;
		for (size_t i = 0; info && i < info->n_counters; i++)
			if (!strcmp(info->counter_def[i].name, counters->name[k]) &&
			    !(timing_only && info->counter_def[i].partition == NPL_COUNTER_OF_VALUES)) {
				known = true;
				value = f->result.counter[i];
			}
		fputc(',', out);
		if (known)
			fprintf(out, "%" PRIu64, value);
	}
}

static void put_line(FILE *out, const struct counters *counters, struct npl_layer_entry *layer)
{
	npl_layer_columns_csv(out, layer);
	put_counters(out, counters, &layer->figures, layer->comparison->timing_only);
	fputs("\r\n", out);
}

void npl_report_csv(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	struct counters counters = find_counters(c);
	struct npl_layer_entry layer;
	npl_layer_columns_csv_names(out);
	for (int k = 0; k < counters.n; k++)
		fprintf(out, ",%s", counters.name[k]);
	fputs("\r\n", out);
	for (int d = 0; d < c->n_devices; d++) {
		for (int n = 0; n < npl_chosen_layers(c, context); n++) {
			npl_layer_entry_of(c, &c->device[d], context, npl_chosen_layer(context, n), &layer);
			put_line(out, &counters, &layer);
		}
		npl_layer_entry_of(c, &c->device[d], context, -1, &layer);
		if (layer.figures.layers)
			put_line(out, &counters, &layer);
	}
	free(counters.name);
}
