/* SPDX-License-Identifier: MIT
 *
 * The layers of a comparison as CSV (RFC 4180), for spreadsheets. Empty: not applicable or not known. Figures are sums
 * over the batches, as in the JSON. */
#include <inttypes.h>
#include <math.h>

#include "csv_fields.h"
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

void npl_report_csv(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	fputs("model,device,index,name,op,ran_on,cycles,seconds,host_seconds,link_seconds,macs,energy_j,energy_origin,"
	      "overflows,sqnr_db,batches\r\n",
	      out);
	for (int d = 0; d < c->n_devices; d++)
		for (int i = 0; i < c->device[d].run.n_layers; i++) {
			const struct npl_layer_run *row = &c->device[d].run.layer[i];
			const struct npl_node *node = &c->graph->node[row->node];
			/* of a layer alone the meter's reading is its own */
			const struct npl_energy *energy = context->single_layer ? c->device[d].run.energy
										: row->result.energy;
			const int n_energy = context->single_layer ? c->device[d].run.n_energy : row->result.n_energy;
			char origin[400];
			npl_csv_put_text(out, context->model_name);
			fputc(',', out);
			npl_csv_put_text(out, c->device[d].instance);
			fprintf(out, ",%d,", i);
			npl_csv_put_text(out, node->name);
			fprintf(out, ",%s,", npl_op_defs[node->op].name);
			npl_csv_put_text(out, row->ran_on);
			fputc(',', out);
			if (row->result.cycles)
				fprintf(out, "%" PRIu64, row->result.cycles);
			fputc(',', out);
			npl_csv_put_double(out, context->single_layer ? row->result.seconds : npl_row_seconds(row));
			fputc(',', out);
			npl_csv_put_double(out, npl_surrounding_seconds(&c->device[d], row->host_seconds));
			fputc(',', out);
			npl_csv_put_double(out, npl_surrounding_seconds(&c->device[d], row->link_seconds));
			fprintf(out, ",%" PRIu64 ",", row->result.macs);
			npl_csv_put_double(out, npl_energy_sum(energy, n_energy));
			fputc(',', out);
			npl_csv_put_text(out, npl_energy_origins(energy, n_energy, origin, sizeof origin));
			fputc(',', out);
			if (npl_report_counts_wraps(&c->device[d]) && !c->timing_only)
				fprintf(out, "%" PRIu64, row->result.overflows);
			fputc(',', out);
			put_ratio(out, c->device[d].layer_accuracy ? c->device[d].layer_accuracy[i].sqnr_db : NAN);
			fprintf(out, ",%" PRId64 "\r\n", c->device[d].batches);
		}
}
