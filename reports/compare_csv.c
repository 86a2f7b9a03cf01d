/* SPDX-License-Identifier: MIT
 *
 * The layers of a comparison as CSV (RFC 4180), for spreadsheets. Empty: not applicable or not known. Figures are sums
 * over the batches, as in the JSON. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "npulab/report.h"
#include "npulab/yaml.h"

static void put_text(FILE *out, const char *text)
{
	if (!text)
		return;
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void put_double(FILE *out, double value)
{
	char text[40];
	if (isfinite(value))
		fputs(npl_double_text(value, text, sizeof text), out);
}

/* "inf": exact, no noise at all. */
static void put_ratio(FILE *out, double ratio)
{
	if (isinf(ratio) && ratio > 0)
		fputs("inf", out);
	else
		put_double(out, ratio);
}

void npl_report_csv(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	fputs("model,device,index,name,op,ran_on,cycles,seconds,host_seconds,link_seconds,macs,energy_j,energy_origin,"
	      "sqnr_db,batches\r\n",
	      out);
	for (int d = 0; d < c->n_devices; d++)
		for (int i = 0; i < c->device[d].run.n_layers; i++) {
			const struct npl_layer_run *row = &c->device[d].run.layer[i];
			const struct npl_node *node = &c->graph->node[row->node];
			char origin[400];
			put_text(out, context->model_name);
			fputc(',', out);
			put_text(out, c->device[d].name);
			fprintf(out, ",%d,", i);
			put_text(out, node->name);
			fprintf(out, ",%s,", npl_op_defs[node->op].name);
			put_text(out, row->ran_on);
			fputc(',', out);
			if (row->result.cycles)
				fprintf(out, "%" PRIu64, row->result.cycles);
			fputc(',', out);
			put_double(out, context->single_layer ? row->result.seconds : npl_row_seconds(row));
			fputc(',', out);
			put_double(out, npl_surrounding_seconds(&c->device[d], row->host_seconds));
			fputc(',', out);
			put_double(out, npl_surrounding_seconds(&c->device[d], row->link_seconds));
			fprintf(out, ",%" PRIu64 ",", row->result.macs);
			put_double(out, npl_energy_sum(row->result.energy, row->result.n_energy));
			fputc(',', out);
			put_text(out,
				 npl_energy_origins(row->result.energy, row->result.n_energy, origin, sizeof origin));
			fputc(',', out);
			put_ratio(out, c->device[d].layer_accuracy ? c->device[d].layer_accuracy[i].sqnr_db : NAN);
			fprintf(out, ",%" PRId64 "\r\n", c->device[d].batches);
		}
}
