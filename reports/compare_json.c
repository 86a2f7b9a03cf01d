/* SPDX-License-Identifier: MIT
 *
 * npulab.compare/1: the machine-readable form of compare, run and layer. Keys in a fixed order; counters are integers;
 * null is "not applicable or not known". An exact result has a max_abs_error of 0 and, as JSON has no infinity, a
 * sqnr_db of null; a result that was not compared has null for both. One with elements that are not finite where
 * float32's are has null for both, and their number in not_finite. */
#include <math.h>
#include <string.h>

#include "columns.h"
#include "settings_json.h"
#include "unavailable.h"

static void put_cycle_class(struct npl_json *json, const struct npl_counter_def *def)
{
	static const char *const kinds[] = {
		[NPL_COUNTER_WORK] = "work", [NPL_COUNTER_MEMORY] = "memory", [NPL_COUNTER_WAITING] = "waiting"};
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", def->name);
	if (def->part_of)
		npl_json_string(json, "part_of", def->part_of);
	npl_json_string(json, "kind", kinds[def->kind]);
	npl_json_string(json, "unit", def->unit);
	npl_json_string(json, "meaning", def->help);
	npl_json_string(json, "bound", def->bound);
	npl_json_close(json, '}');
}

/* Writes what a machine's cycles can go to, and the parts of these classes. */
static void put_cycle_classes(struct npl_json *json, const struct npl_device_info *info)
{
	npl_json_open(json, "cycle_classes", '[');
	for (size_t i = 0; i < info->n_counters; i++)
		if (info->counter_def[i].partition == 1)
			put_cycle_class(json, &info->counter_def[i]);
	npl_json_close(json, ']');
	npl_json_open(json, "cycle_parts", '[');
	for (size_t i = 0; i < info->n_counters; i++)
		if (info->counter_def[i].part_of)
			put_cycle_class(json, &info->counter_def[i]);
	npl_json_close(json, ']');
}

/* Writes the names of all counters of a machine, in the order of the CSV. */
static void put_counter_names(struct npl_json *json, const struct npl_device_info *info)
{
	npl_json_open(json, "counters", '[');
	for (size_t i = 0; i < info->n_counters; i++)
		npl_json_string(json, NULL, info->counter_def[i].name);
	npl_json_close(json, ']');
}

static void put_components(struct npl_json *json, const struct npl_device_report *r)
{
	npl_json_open(json, "components", '[');
	for (int i = 0; i < r->n_components; i++) {
		const struct npl_component_area *component = &r->component[i];
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "component", component->name);
		npl_json_double(json, "area_mm2", component->mm2);
		npl_json_double(json, "area_low_mm2", component->low_mm2);
		npl_json_double(json, "area_high_mm2", component->high_mm2);
		npl_json_string(json, "area_origin", component->origin);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_roofs(struct npl_json *json, const struct npl_device_report *r)
{
	npl_json_open(json, "roofs", '[');
	for (int i = 0; r->roofs && i < r->roofs->n; i++) {
		const struct npl_roof *roof = &r->roofs->roof[i];
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "precision",
				roof->format == r->info.format ? npl_device_precision(&r->info)
							       : npl_format_name(roof->format));
		npl_json_double(json, "peak_ops_per_second", 2 * roof->macs_per_second);
		npl_json_text(json, "how", roof->explanation);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
	npl_json_open(json, "memory", '{');
	npl_json_double(json, "bytes_per_second", r->roofs ? r->roofs->memory_bytes_per_second : NAN);
	npl_json_text(json, "how", r->roofs ? r->roofs->memory_explanation : "");
	npl_json_close(json, '}');
}

/* Writes what is known of a machine before it runs. */
static void put_machine(struct npl_json *json, const struct npl_device_report *r)
{
	npl_json_settings(json, r->setting, r->n_settings);
	npl_json_sources(json, r->setting, r->n_settings);
	put_cycle_classes(json, &r->info);
	put_counter_names(json, &r->info);
	put_components(json, r);
	put_roofs(json, r);
}

/* Writes the devices that a placement ran on. */
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
		put_machine(json, part);
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
		npl_json_string(json, "device", link->device_name);
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
		       const struct npl_report_context *context)
{
	struct npl_entry entry;
	struct npl_layer_entry layer;
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", r->name);
	npl_json_string(json, "instance", r->instance);
	npl_json_null(json, "unavailable");
	npl_json_string(json, "kind", r->is_placement ? "mixed" : npl_device_kind_name(r->info.kind));
	npl_json_string(json, "engine", r->info.engine);
	npl_json_string(json, "precision", npl_report_format(r));
	npl_json_double(json, "clock_hz", r->info.clock_hz > 0 ? r->info.clock_hz : NAN);
	npl_json_text(json, "machine_sha256", r->machine_sha256);
	npl_json_text(json, "detail", r->info.detail);
	npl_json_texts(json, "notes", r->note, r->n_notes);
	put_machine(json, r);
	if (r->is_placement)
		put_used_devices(json, r);
	npl_json_text(json, "output_sha256", r->output_sha256);
	npl_entry_of(c, r, context, &entry);
	npl_json_open(json, "totals", '{');
	npl_columns_json(json, NPL_COLUMNS_TOTALS, &entry);
	npl_json_close(json, '}');
	npl_json_open(json, "accuracy", '{');
	npl_columns_json(json, NPL_COLUMNS_ACCURACY, &entry);
	npl_json_close(json, '}');
	put_links(json, &r->run);
	npl_json_open(json, "layers", '[');
	for (int i = 0; i < r->run.n_layers; i++) {
		npl_layer_entry_of(c, r, context, i, &layer);
		npl_json_open(json, NULL, '{');
		npl_layer_columns_json(json, &layer);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
	npl_json_close(json, '}');
}

/* Writes the modelled host of all entries; null for a single layer, which has none. */
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
	npl_json_settings(json, c->host.setting, c->host.n_settings);
	npl_json_sources(json, c->host.setting, c->host.n_settings);
	npl_json_close(json, '}');
}

void npl_report_json(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	/* The keys that an entry has besides its name: null where the device cannot start. */
	static const char *const keys[] = {
		"kind",     "engine",        "precision",     "clock_hz",    "machine_sha256", "detail",     "notes",
		"settings", "sources",       "cycle_classes", "cycle_parts", "counters",       "components", "roofs",
		"memory",   "output_sha256", "totals",        "accuracy",    "links",          "layers",     NULL};
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
	npl_json_bool(&json, "layer_list", graph->layer_list);
	npl_json_i64(&json, "samples", c->samples);
	npl_json_bool(&json, "random_inputs", c->random_inputs);
	npl_json_i64(&json, "batches", c->batches);
	npl_json_string(&json, "one_batch", graph->batching.indivisible ? graph->batching.mixed_by : NULL);
	npl_json_string(&json, "calibrated_on", c->calibrated_on);
	npl_json_text(&json, "calibration", c->calibration);
	npl_json_string(&json, "q16_scale", c->q16_scale);
	npl_json_double(&json, "reference_top1_accuracy", c->reference.top1_accuracy);
	npl_json_close(&json, '}');
	put_host(&json, c);
	npl_json_open(&json, "devices", '[');
	for (int d = 0; d < c->n_devices; d++) {
		npl_json_unavailable(&json, &c->unavailable, d, keys);
		put_device(&json, c, &c->device[d], context);
	}
	npl_json_unavailable(&json, &c->unavailable, c->n_devices, keys);
	npl_json_close(&json, ']');
	npl_json_close(&json, '}');
	fputc('\n', out);
}
