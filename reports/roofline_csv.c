/* SPDX-License-Identifier: MIT
 *
 * The points of rooflines as CSV, for spreadsheets and plots, each with the roofs above it. Sums over the batches, as
 * in the JSON; without a model a line for each roof. */
#include <inttypes.h>
#include <math.h>

#include "csv_fields.h"
#include "npulab/report.h"

static void put_number(FILE *out, double value)
{
	fputc(',', out);
	npl_csv_put_double(out, value);
}

static void put_roof(FILE *out, const struct npl_roofline_device *d, int roof, const char *model)
{
	npl_csv_put_text(out, model);
	fputc(',', out);
	npl_csv_put_text(out, d->instance);
	fprintf(out, ",%s", npl_roofline_precision(d, roof));
	put_number(out, 2 * d->roof[roof].macs_per_second);
	put_number(out, d->memory_bytes_per_second);
	put_number(out, npl_roofline_ridge(d, roof));
}

static void put_point(FILE *out, const struct npl_roofline *r, const struct npl_roofline_device *d,
		      const struct npl_roofline_point *p, const char *model)
{
	const struct npl_node *node = p->node < 0 ? NULL : &r->graph->node[p->node];
	put_roof(out, d, p->roof, model);
	fputc(',', out);
	if (node)
		fprintf(out, "%d", p->node);
	fputc(',', out);
	npl_csv_put_text(out, node ? node->name : NULL);
	fprintf(out, ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, node ? npl_op_defs[node->op].name : "",
		p->macs, p->weight_bytes, p->input_bytes, p->output_bytes);
	put_number(out, p->bytes);
	put_number(out, p->crossed_bytes);
	put_number(out, p->seconds);
	put_number(out, p->macs_per_byte);
	put_number(out, p->ops_per_second);
	put_number(out, p->roof_ops_per_second);
	put_number(out, p->share);
	fprintf(out, ",%s,%s,%" PRId64 "\r\n", isfinite(p->share) ? p->memory_bound ? "memory" : "peak" : "",
		p->bound ? p->bound : "", d->batches);
}

void npl_roofline_csv(FILE *out, const struct npl_roofline *r, const char *model)
{
	fputs("model,device,precision,peak_ops_per_second,memory_bytes_per_second,ridge_macs_per_byte", out);
	if (r->graph)
		fputs(",index,name,op,macs,weight_bytes,input_bytes,output_bytes,bytes,crossed_bytes,seconds,macs_per_byte,"
		      "ops_per_second,roof_ops_per_second,share,lower_roof,bound,batches",
		      out);
	fputs("\r\n", out);
	for (int d = 0; d < r->n_devices; d++) {
		const struct npl_roofline_device *device = &r->device[d];
		for (int i = 0; i < device->n_roofs && !r->graph; i++) {
			put_roof(out, device, i, NULL);
			fputs("\r\n", out);
		}
		for (int i = 0; i < device->n_points && r->graph; i++)
			put_point(out, r, device, &device->point[i], model);
		if (device->n_points && r->graph)
			put_point(out, r, device, &device->network, model);
	}
}
