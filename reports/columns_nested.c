/* SPDX-License-Identifier: MIT
 *
 * Values of JSON that are lists or objects (columns.h). */
#include <math.h>

#include "columns.h"
#include "npulab/roofline.h"

static void put_energy(struct npl_json *json, const struct npl_energy *energy, int n)
{
	npl_json_open(json, "energy", '[');
	for (int i = 0; i < n; i++) {
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "component", energy[i].component);
		npl_json_string(json, "part", npl_energy_part_name(energy[i].part));
		npl_json_double(json, "joules", energy[i].joules);
		npl_json_double(json, "joules_low", energy[i].has_range ? energy[i].joules_low : energy[i].joules);
		npl_json_double(json, "joules_high", energy[i].has_range ? energy[i].joules_high : energy[i].joules);
		npl_json_double(json, "joules_by_activity",
				energy[i].has_activity ? energy[i].joules_by_activity : NAN);
		npl_json_string(json, "origin", energy[i].origin);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

void npl_json_entry_energy(struct npl_json *json, const struct npl_entry *e)
{
	put_energy(json, e->run->energy, e->run->n_energy);
}

void npl_json_layer_energy(struct npl_json *json, const struct npl_layer_entry *l)
{
	put_energy(json, l->row->result.energy, l->row->result.n_energy);
}

void npl_json_entry_parts(struct npl_json *json, const struct npl_entry *e)
{
	npl_json_open(json, "energy_by_part", '{');
	for (int p = 0; p < NPL_ENERGY_PARTS; p++)
		npl_json_double(json, npl_energy_part_name((enum npl_energy_part)p), e->figures.part_joules[p]);
	npl_json_close(json, '}');
}

static void put_bytes(struct npl_json *json, const char *key, bool known, uint64_t bytes)
{
	if (known)
		npl_json_u64(json, key, bytes);
	else
		npl_json_null(json, key);
}

/* Writes the bytes of an entry by memory. The bytes of the link are known for a modelled device, and for one that
 * measures its link. */
void npl_json_entry_bytes(struct npl_json *json, const struct npl_entry *e)
{
	const struct npl_run *run = e->run;
	const uint64_t bytes_within = e->modelled ? run->bytes[NPL_MEM_HOST] : 0;
	npl_json_open(json, "bytes", '{');
	put_bytes(json, "dram", e->modelled, run->bytes[NPL_MEM_DRAM]);
	put_bytes(json, "buffer", e->modelled && e->report->info.kind != NPL_KIND_ANALYTICAL,
		  run->bytes[NPL_MEM_BUFFER]);
	put_bytes(json, "host_link", e->modelled || run->link_bytes, run->link_bytes + bytes_within);
	put_bytes(json, "host_link_within_cycles", e->modelled, bytes_within);
	npl_json_close(json, '}');
}

void npl_json_layer_output(struct npl_json *json, const struct npl_layer_entry *l)
{
	const struct npl_layer_run *row = l->row;
	const bool is_quantised = row->output_quant.scale > 0;
	const char *type = row->role == NPL_RAN || is_quantised ? npl_dtype_name(row->output_dtype) : NULL;
	npl_json_open(json, "output", '{');
	npl_json_string(json, "type", type);
	npl_json_double(json, "scale", is_quantised ? (double)row->output_quant.scale : NAN);
	npl_json_double(json, "zero_point", is_quantised ? (double)row->output_quant.zero_point : NAN);
	npl_json_close(json, '}');
}

/* Returns the entry of the device that ran the layer itself, of a kind that has roofs; NULL: there is none. */
static const struct npl_device_report *runner_of(const struct npl_layer_entry *l)
{
	const struct npl_device_report *r = l->report;
	if (l->row->role != NPL_RAN || npl_row_on_host(l->row) || !l->machine)
		return NULL;
	if (r->n_parts)
		r = &r->part[l->row->device];
	const bool is_real = r->info.kind == NPL_KIND_CPU || r->info.kind == NPL_KIND_GPU;
	return is_real || r->roofs->n ? r : NULL;
}

/* Writes the point of a layer below the roofs of its device. The intensity of a layer that moves no byte is null. */
void npl_json_layer_roofline(struct npl_json *json, const struct npl_layer_entry *l)
{
	const struct npl_device_report *r = runner_of(l);
	struct npl_roofline_point point;
	if (!r) {
		npl_json_null(json, "roofline");
		return;
	}
	npl_roofline_point_of(l->comparison->graph, &r->info, r->roofs, l->row, l->report->batches,
			      NPL_INTENSITY_MEMORY, &point);
	npl_json_open(json, "roofline", '{');
	npl_json_double(json, "bytes", point.bytes);
	npl_json_double(json, "macs_per_byte", point.macs_per_byte);
	npl_json_double(json, "ops_per_second", point.ops_per_second);
	npl_json_double(json, "roof_ops_per_second", point.roof_ops_per_second);
	npl_json_double(json, "share", point.share);
	npl_json_string(json, "lower_roof", isnan(point.share) ? NULL : point.memory_bound ? "memory" : "peak");
	npl_json_close(json, '}');
}

void npl_json_layer_counters(struct npl_json *json, const struct npl_layer_entry *l)
{
	npl_json_open(json, "counters", '{');
	for (size_t k = 0; k < l->row->n_counters; k++)
		if (l->comparison->timing_only && l->row->counter_def[k].partition == NPL_COUNTER_OF_VALUES)
			npl_json_null(json, l->row->counter_def[k].name);
		else
			npl_json_u64(json, l->row->counter_def[k].name, l->row->result.counter[k]);
	npl_json_close(json, '}');
}
