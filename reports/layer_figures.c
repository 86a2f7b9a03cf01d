/* SPDX-License-Identifier: MIT
 *
 * Figures of layers (layer_figures.h). */
#include "layer_figures.h"

#include <math.h>
#include <string.h>

#include "core/base/message.h"
#include "npulab/causes.h"

const struct npl_device_info *npl_layer_machine(const struct npl_device_report *report, const struct npl_layer_run *row)
{
	if (row->device == NPL_ON_HOST)
		return NULL;
	return report->n_parts ? &report->part[row->device].info : &report->info;
}

static void take_energy(const struct npl_energy *energy, int n, struct npl_layer_figures *f)
{
	f->no_energy = !n;
	for (int i = 0; i < n; i++) {
		const bool known = isfinite(energy[i].joules);
		f->joules += known ? energy[i].joules : 0;
		f->absent |= !known;
		f->energy_modelled |= known && !npl_origin_is_measured(energy[i].origin);
	}
}

void npl_layer_figures_of(const struct npl_device_report *r, const struct npl_report_context *context, int i,
			  struct npl_layer_figures *f)
{
	const struct npl_layer_run *row = &r->run.layer[i];
	const bool times_link = row->result.to_device.n + row->result.to_host.n > 0;
	*f = (struct npl_layer_figures){.layers = 1,
					.device_seconds = row->result.seconds,
					.host_seconds = row->host_seconds,
					.link_seconds = context->single_layer ? 0 : row->link_seconds,
					.result = row->result,
					.link_bytes = row->link_bytes,
					.info = npl_layer_machine(r, row)};
	f->modelled = row->result.seconds_origin != NPL_TIME_MEASURED || row->host_seconds > 0 ||
		      (f->link_seconds > 0 && !times_link);
	f->result.n_energy = 0;
	f->macs_with_host = row->result.macs;
	f->possible_macs = f->info ? row->result.seconds * f->info->peak_macs_per_second : 0;
	if (f->info && !(f->info->peak_macs_per_second > 0) && row->result.seconds > 0)
		f->possible_macs = NAN;
	if (context->single_layer) /* the meter's reading is the layer's own */
		take_energy(r->run.energy, r->run.n_energy, f);
	else
		take_energy(row->result.energy, row->result.n_energy, f);
	if (!f->info) /* the host's MACs are not the machine's */
		f->result.macs = 0;
	if (row->role != NPL_RAN)
		f->info = NULL;
}

void npl_layer_figures_add(struct npl_layer_figures *sum, const struct npl_layer_figures *f)
{
	struct npl_err ignored; /* never set: no energy can be too much here */
	if (!sum->layers)
		sum->no_energy = true;
	sum->layers += f->layers;
	sum->device_seconds += f->device_seconds;
	sum->host_seconds += f->host_seconds;
	sum->link_seconds += f->link_seconds;
	sum->modelled |= f->modelled && npl_layer_seconds(f) > 0;
	npl_result_add(&sum->result, &f->result, &ignored);
	sum->macs_with_host += f->macs_with_host;
	sum->possible_macs += f->possible_macs;
	sum->link_bytes += f->link_bytes;
	sum->joules += f->joules;
	sum->absent |= f->absent;
	sum->no_energy &= f->no_energy;
	sum->energy_modelled |= f->energy_modelled;
	if (sum->info && f->info && sum->info != f->info)
		sum->mixed = true;
	sum->info = f->info ? f->info : sum->info;
	sum->mixed |= f->mixed;
}

double npl_layer_seconds(const struct npl_layer_figures *f)
{
	return f->device_seconds + f->host_seconds + f->link_seconds;
}

double npl_layer_utilization(const struct npl_layer_figures *f)
{
	return f->possible_macs > 0 && f->result.macs ? (double)f->result.macs / f->possible_macs : NAN;
}

const char *npl_layer_bound(const struct npl_layer_figures *f)
{
	if (f->host_seconds > 0 && f->host_seconds >= f->device_seconds && f->host_seconds >= f->link_seconds)
		return "host";
	if (f->link_seconds > 0 && f->link_seconds >= f->device_seconds)
		return "link";
	return f->info && !f->mixed ? npl_bound_of(f->info, &f->result) : NULL;
}

int npl_chosen_layers(const struct npl_comparison *c, const struct npl_report_context *context)
{
	return context->choice ? context->choice->n : c->graph->n_nodes;
}

int npl_chosen_layer(const struct npl_report_context *context, int i)
{
	return context->choice ? context->choice->node[i] : i;
}

void npl_layer_figures_all(const struct npl_device_report *r, const struct npl_report_context *context,
			   struct npl_layer_figures *sum)
{
	*sum = (struct npl_layer_figures){0};
	for (int i = 0; i < r->run.n_layers; i++) {
		struct npl_layer_figures figures;
		npl_layer_figures_of(r, context, i, &figures);
		npl_layer_figures_add(sum, &figures);
	}
}

static bool is_chosen(const struct npl_layer_choice *choice, int layer)
{
	for (int i = 0; i < choice->n; i++)
		if (choice->node[i] == layer)
			return true;
	return false;
}

void npl_layer_figures_left(const struct npl_device_report *r, const struct npl_report_context *context,
			    struct npl_layer_figures *sum)
{
	*sum = (struct npl_layer_figures){0};
	for (int i = 0; context->choice && i < r->run.n_layers; i++) {
		struct npl_layer_figures figures;
		if (is_chosen(context->choice, i))
			continue;
		npl_layer_figures_of(r, context, i, &figures);
		npl_layer_figures_add(sum, &figures);
	}
}

const char *npl_layers_left_text(const struct npl_report_context *context, char *buf, size_t n)
{
	snprintf(buf, n, "%d more layer%s", context->choice ? context->choice->n_hidden : 0,
		 npl_plural(context->choice ? context->choice->n_hidden : 0));
	return buf;
}
