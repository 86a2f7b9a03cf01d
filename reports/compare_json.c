/* SPDX-License-Identifier: MIT
 *
 * npulab.compare/1: the machine-readable form of compare, run and layer. Keys in a fixed order; counters are integers;
 * null is "not applicable or not known". An exact result has a max_abs_error of 0 and, as JSON has no infinity, a sqnr_db of null; one
 * that nobody judged has null for both; one with results that are not finite where float32's are has null for both and their number
 * in not_finite. */
#include <math.h>
#include <string.h>

#include "json.h"
#include "layer_figures.h"
#include "npulab/report.h"
#include "unavailable.h"
#include "value_notes.h"

static void put_energy(struct npl_json *json, const struct npl_energy *energy, int n)
{
	npl_json_open(json, "energy", '[');
	for (int i = 0; i < n; i++) {
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "component", energy[i].component);
		npl_json_string(json, "part", npl_energy_part_name(energy[i].part));
		npl_json_double(json, "joules", energy[i].joules);
		npl_json_string(json, "origin", energy[i].origin);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

/* Where a real device's energy comes from, or why there is none. */
static void put_measured_energy(struct npl_json *json, const struct npl_energy_report *energy)
{
	const bool metered = energy->repeats > 0;
	npl_json_text(json, "energy_note", energy->note);
	npl_json_double(json, "idle_power_before_w", metered ? energy->idle_watts_before : NAN);
	npl_json_double(json, "idle_power_after_w", metered ? energy->idle_watts_after : NAN);
	npl_json_double(json, "metered_j", metered ? energy->joules : NAN);
	npl_json_double(json, "metered_seconds", metered ? energy->seconds : NAN);
	if (metered)
		npl_json_i64(json, "metered_passes", energy->repeats);
	else
		npl_json_null(json, "metered_passes");
}

/* A simulated machine counts cycles; in a mixed run the machines' cycles are of different lengths and have no sum. */
static bool has_clock(const struct npl_device_info *info)
{
	return info->kind == NPL_KIND_SIMULATED && info->clock_hz > 0;
}

static void put_totals(struct npl_json *json, const struct npl_device_report *r,
		       const struct npl_report_context *context)
{
	const struct npl_run *run = &r->run;
	struct npl_figures f;
	char origin[400];
	bool simulated = npl_device_kind_is_modelled(r->info.kind);
	npl_figures_of(r, context, &f);
	npl_json_open(json, "totals", '{');
	if (has_clock(&r->info))
		npl_json_u64(json, "cycles", run->cycles);
	else
		npl_json_null(json, "cycles");
	npl_json_double(json, "seconds", f.seconds);
	npl_json_double(json, "latency_s", f.latency_s);
	npl_json_double(json, "host_seconds", npl_surrounding_seconds(r, run->host_seconds));
	npl_json_double(json, "host_link_seconds", npl_surrounding_seconds(r, run->link_seconds));
	npl_json_double(json, "overlap_seconds", run->overlap_seconds);
	npl_json_double(json, "seconds_spread", r->spread);
	npl_json_double(json, "seconds_median_within", simulated ? NAN : r->median_within);
	if (simulated && !isfinite(r->spread)) /* as many as the clock allowed: each gives the same figures */
		npl_json_null(json, "passes");
	else
		npl_json_i64(json, "passes", r->passes);
	npl_json_double(json, "load_average", r->load.processors ? r->load.load_average : NAN);
	npl_json_double(json, "others_processors", r->load.processors ? r->load.others : NAN);
	if (r->load.processors && isfinite(r->load.others))
		npl_json_number(json, "machine_busy", r->load.busy ? "true" : "false");
	else
		npl_json_null(json, "machine_busy");
	npl_json_double(json, "inferences_per_second", f.inferences_per_second);
	npl_json_double(json, "ops_per_second", f.ops_per_second);
	npl_json_double(json, "utilization", f.utilization);
	npl_json_double(json, "energy_j", f.energy_j);
	npl_json_string(json, "energy_origin", npl_energy_origins(run->energy, run->n_energy, origin, sizeof origin));
	put_energy(json, run->energy, run->n_energy);
	put_measured_energy(json, &r->energy);
	npl_json_double(json, "inferences_per_joule", f.inferences_per_joule);
	npl_json_double(json, "power_w", f.power_w);
	npl_json_open(json, "energy_by_part", '{');
	for (int p = 0; p < NPL_ENERGY_PARTS; p++)
		npl_json_double(json, npl_energy_part_name((enum npl_energy_part)p), f.part_j[p]);
	npl_json_close(json, '}');
	npl_json_double(json, "machine_power_w", f.machine_power_w);
	npl_json_double(json, "machine_ops_per_second", f.machine_ops_per_second);
	npl_json_open(json, "bytes", '{');
	if (simulated) {
		npl_json_u64(json, "dram", run->bytes[NPL_MEM_DRAM]);
		if (r->info.kind == NPL_KIND_ANALYTICAL)
			npl_json_null(json, "buffer");
		else
			npl_json_u64(json, "buffer", run->bytes[NPL_MEM_BUFFER]);
		npl_json_u64(json, "host_link", run->link_bytes + run->bytes[NPL_MEM_HOST]);
		npl_json_u64(json, "host_link_within_cycles", run->bytes[NPL_MEM_HOST]);
	} else {
		npl_json_null(json, "dram");
		npl_json_null(json, "buffer");
		if (run->link_bytes) /* a device that measures its link */
			npl_json_u64(json, "host_link", run->link_bytes);
		else
			npl_json_null(json, "host_link");
		npl_json_null(json, "host_link_within_cycles");
	}
	npl_json_close(json, '}');
	if (run->peak_buffer_bytes)
		npl_json_u64(json, "peak_buffer_bytes", run->peak_buffer_bytes);
	else
		npl_json_null(json, "peak_buffer_bytes");
	npl_json_double(json, "simulation_wall_seconds", r->simulation_wall_seconds);
	npl_json_close(json, '}');
}

static void put_accuracy(struct npl_json *json, const struct npl_device_report *r, bool timing_only)
{
	npl_json_open(json, "accuracy", '{');
	npl_json_double(json, "max_abs_error", r->accuracy.max_abs_error);
	npl_json_double(json, "sqnr_db", r->accuracy.sqnr_db);
	npl_json_double(json, "top1_agreement", r->accuracy.top1_agreement);
	npl_json_double(json, "top1_accuracy", r->accuracy.top1_accuracy);
	if (npl_report_saturates(r) && !timing_only)
		npl_json_u64(json, "saturations", r->run.saturations);
	else
		npl_json_null(json, "saturations");
	if (npl_report_counts_wraps(r) && !timing_only)
		npl_json_u64(json, "overflows", r->run.overflows);
	else
		npl_json_null(json, "overflows");
	npl_json_u64(json, "not_finite", r->accuracy.not_finite);
	npl_json_u64(json, "reference_not_finite", r->accuracy.reference_not_finite);
	npl_json_close(json, '}');
}

static void put_layer(struct npl_json *json, const struct npl_comparison *c, const struct npl_device_report *r,
		      const struct npl_report_context *context, int i)
{
	static const char *const roles[] = {[NPL_RAN] = "ran", [NPL_FUSED] = "fused", [NPL_VIEW] = "view"};
	const struct npl_layer_run *row = &r->run.layer[i];
	const struct npl_node *node = &c->graph->node[row->node];
	struct npl_layer_figures figures;
	const struct npl_device_info *machine = npl_layer_machine(r, row);
	npl_json_open(json, NULL, '{');
	npl_json_i64(json, "index", i);
	npl_json_string(json, "name", node->name);
	npl_json_string(json, "op", npl_op_defs[node->op].name);
	npl_json_string(json, "ran_on", row->ran_on);
	npl_json_string(json, "role", roles[row->role]);
	npl_json_string(json, "placed_by", row->placed_by);
	npl_json_string(json, "note", row->note);
	if (machine && has_clock(machine))
		npl_json_u64(json, "cycles", row->result.cycles);
	else
		npl_json_null(json, "cycles");
	npl_json_double(json, "seconds", context->single_layer ? row->result.seconds : npl_row_seconds(row));
	npl_json_double(json, "host_seconds", npl_surrounding_seconds(r, row->host_seconds));
	npl_json_double(json, "link_seconds", npl_surrounding_seconds(r, row->link_seconds));
	npl_json_double(json, "start_seconds", r->run.n_resources ? row->start_seconds : NAN);
	npl_json_double(json, "end_seconds", r->run.n_resources ? row->end_seconds : NAN);
	npl_json_u64(json, "macs", row->result.macs);
	npl_json_double(json, "energy_j", npl_energy_sum(row->result.energy, row->result.n_energy));
	put_energy(json, row->result.energy, row->result.n_energy);
	npl_json_i64(json, "transfers", row->transfers);
	npl_json_u64(json, "link_bytes", row->link_bytes);
	npl_json_text(json, "output_sha256", row->output_sha256);
	npl_json_double(json, "max_abs_error", r->layer_accuracy ? r->layer_accuracy[i].max_abs_error : NAN);
	npl_json_double(json, "sqnr_db",
			r->layer_accuracy && isfinite(r->layer_accuracy[i].sqnr_db) ? r->layer_accuracy[i].sqnr_db
										    : NAN);
	if (npl_report_counts_wraps(r) && !c->timing_only)
		npl_json_u64(json, "overflows", row->result.overflows);
	else
		npl_json_null(json, "overflows");
	npl_json_u64(json, "not_finite", r->layer_accuracy ? r->layer_accuracy[i].not_finite : 0);
	npl_json_open(json, "output", '{');
	bool has_type = row->role == NPL_RAN || row->output_quant.scale > 0;
	npl_json_string(json, "type", has_type ? npl_dtype_name(row->output_dtype) : NULL);
	npl_json_double(json, "scale", row->output_quant.scale > 0 ? (double)row->output_quant.scale : NAN);
	npl_json_double(json, "zero_point", row->output_quant.scale > 0 ? (double)row->output_quant.zero_point : NAN);
	npl_json_close(json, '}');
	npl_layer_figures_of(r, context, i, &figures);
	npl_json_string(json, "bound", npl_layer_bound(&figures));
	npl_json_open(json, "counters", '{');
	for (size_t k = 0; k < row->n_stats; k++)
		if (c->timing_only && row->stat[k].partition == NPL_STAT_OF_VALUES)
			npl_json_null(json, row->stat[k].name);
		else
			npl_json_u64(json, row->stat[k].name, row->result.counter[k]);
	npl_json_close(json, '}');
	npl_json_close(json, '}');
}

/* The effective parameters as one flat object of dotted keys. */
static void put_settings(struct npl_json *json, const struct npl_device_report *r)
{
	npl_json_open(json, "settings", '{');
	for (int i = 0; i < r->n_settings; i++)
		if (r->setting[i].is_number)
			npl_json_number(json, r->setting[i].key, r->setting[i].value);
		else
			npl_json_string(json, r->setting[i].key, r->setting[i].value);
	npl_json_close(json, '}');
}

/* What a placement ran on. */
static void put_used_devices(struct npl_json *json, const struct npl_device_report *r)
{
	npl_json_open(json, "devices", '[');
	for (int i = 0; i < r->n_parts; i++) {
		const struct npl_device_report *part = &r->part[i];
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "name", part->name);
		npl_json_string(json, "instance", part->instance);
		npl_json_string(json, "kind", npl_device_kind_name(part->info.kind));
		npl_json_string(json, "engine", part->info.engine);
		npl_json_string(json, "precision", npl_device_precision(&part->info));
		npl_json_double(json, "clock_hz", part->info.clock_hz > 0 ? part->info.clock_hz : NAN);
		npl_json_text(json, "machine_sha256", part->machine_sha256);
		npl_json_text(json, "detail", part->info.detail);
		npl_json_texts(json, "notes", part->note, part->n_notes);
		put_settings(json, part);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_links(struct npl_json *json, const struct npl_run *run)
{
	npl_json_open(json, "links", '[');
	for (int i = 0; i < run->n_resources; i++) {
		const struct npl_resource *link = &run->resource[i];
		if (link->kind != NPL_RESOURCE_LINK)
			continue;
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "name", link->name);
		npl_json_string(json, "device", link->of);
		npl_json_u64(json, "transfers", link->transfers);
		npl_json_u64(json, "bytes", link->bytes);
		npl_json_u64(json, "bytes_within_cycles", link->bytes_within);
		npl_json_double(json, "seconds", link->busy_seconds);
		npl_json_double(json, "energy_j", link->joules);
		npl_json_string(json, "energy_origin", link->energy_origin);
		npl_json_string(json, "energy_within", link->energy_within);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_device(struct npl_json *json, const struct npl_comparison *c, const struct npl_device_report *r,
		       const struct npl_report_context *context, bool mixed)
{
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", r->name);
	npl_json_string(json, "instance", r->instance);
	npl_json_null(json, "unavailable");
	npl_json_string(json, "kind", mixed ? "mixed" : npl_device_kind_name(r->info.kind));
	npl_json_string(json, "engine", r->info.engine);
	npl_json_string(json, "precision", npl_report_format(r));
	npl_json_double(json, "clock_hz", r->info.clock_hz > 0 ? r->info.clock_hz : NAN);
	npl_json_text(json, "machine_sha256", r->machine_sha256);
	npl_json_text(json, "detail", r->info.detail);
	npl_json_texts(json, "notes", r->note, r->n_notes);
	put_settings(json, r);
	if (mixed)
		put_used_devices(json, r);
	npl_json_text(json, "output_sha256", r->output_sha256);
	put_totals(json, r, context);
	put_accuracy(json, r, c->timing_only);
	put_links(json, &r->run);
	npl_json_open(json, "layers", '[');
	for (int i = 0; i < r->run.n_layers; i++)
		put_layer(json, c, r, context, i);
	npl_json_close(json, ']');
	npl_json_close(json, '}');
}

/* The modelled host beside all of them; null for a single layer, which has none. */
static void put_host(struct npl_json *json, const struct npl_comparison *c)
{
	if (!c->host.name) {
		npl_json_null(json, "host");
		return;
	}
	npl_json_open(json, "host", '{');
	npl_json_string(json, "name", c->host.name);
	npl_json_text(json, "machine_sha256", c->host.machine_sha256);
	npl_json_text(json, "detail", c->host.info.detail);
	put_settings(json, &c->host);
	npl_json_close(json, '}');
}

void npl_report_json(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	/* What an entry has beside its name: null where the device cannot start. */
	static const char *const keys[] = {
		"kind",     "engine",        "precision", "clock_hz", "machine_sha256", "detail", "notes",
		"settings", "output_sha256", "totals",    "accuracy", "links",          "layers", NULL};
	struct npl_json json = {.out = out};
	const struct npl_graph *graph = c->graph;
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.compare/1");
	npl_json_build(&json);
	npl_json_open(&json, "model", '{');
	npl_json_string(&json, "name", context->model_name);
	npl_json_text(&json, "file_sha256", graph->file_sha256);
	npl_json_i64(&json, "batch", graph->batch);
	npl_json_u64(&json, "macs", graph->macs);
	npl_json_u64(&json, "parameters", graph->parameters);
	npl_json_i64(&json, "layers", graph->n_nodes);
	npl_json_number(&json, "layer_list", graph->layer_list ? "true" : "false");
	npl_json_i64(&json, "samples", c->samples);
	npl_json_i64(&json, "batches", c->batches);
	npl_json_string(&json, "one_batch", graph->batching.together ? graph->batching.mixed_by : NULL);
	npl_json_string(&json, "calibrated_on", c->calibrated_on);
	npl_json_text(&json, "calibration", c->calibration);
	npl_json_string(&json, "q16_scale", c->q16_scale);
	npl_json_double(&json, "reference_top1_accuracy", c->reference.top1_accuracy);
	npl_json_close(&json, '}');
	put_host(&json, c);
	npl_json_open(&json, "devices", '[');
	for (int d = 0; d < c->n_devices; d++) {
		npl_json_unavailable(&json, &c->unavailable, d, keys);
		put_device(&json, c, &c->device[d], context, !strcmp(c->device[d].name, "placement"));
	}
	npl_json_unavailable(&json, &c->unavailable, c->n_devices, keys);
	npl_json_close(&json, ']');
	npl_json_close(&json, '}');
	fputc('\n', out);
}
