/* SPDX-License-Identifier: MIT
 *
 * Copies of what must outlive a comparison's devices and sessions (report_copy.h). */
#include "report_copy.h"

#include <stdio.h>

#include "core/base/refuse.h"
#include "core/device_access.h"
#include "npulab/driver.h"
#include "npulab/energy_model.h"
#include "roofs.h"

/* Copies the areas of the device's components, if it has any. */
static int keep_areas(struct npl_comparison *c, const struct npl_device *device, struct npl_device_report *report,
		      struct npl_err *err)
{
	const struct npl_energy_model *model = npl_device_energy_model(device);
	const int n = model ? model->n_components : 0;
	struct npl_component_area *area = npl_arena_array(&c->arena, (size_t)n + 1, sizeof *area);
	bool ok = area != NULL;
	for (int i = 0; i < n && ok; i++) {
		const struct npl_component *component = &model->component[i];
		area[i] = (struct npl_component_area){.name = npl_arena_strdup(&c->arena, component->name),
						      .origin = npl_arena_strdup(&c->arena, component->area_origin),
						      .mm2 = component->area_mm2,
						      .low_mm2 = component->bottom_up_mm2.low,
						      .high_mm2 = component->bottom_up_mm2.high};
		ok = area[i].name && area[i].origin;
	}
	report->component = area;
	report->n_components = ok ? n : 0;
	return ok ? 0 : npl_no_memory(err);
}

int npl_report_describe(struct npl_comparison *c, const struct npl_device *device, struct npl_device_report *report,
			struct npl_err *err)
{
	int n;
	const struct npl_param_value *from = npl_device_settings(device, &n);
	struct npl_param_value *settings = npl_arena_array(&c->arena, (size_t)n + 1, sizeof *settings);
	report->info = *npl_device_get_info(device);
	report->name = npl_arena_strdup(&c->arena, npl_device_name(device));
	report->instance = npl_arena_strdup(&c->arena, npl_device_instance(device));
	report->note = npl_device_keep_notes(device, &c->arena, &report->n_notes);
	bool ok = settings && report->name && report->instance && report->note;
	for (int i = 0; i < n && ok; i++) {
		settings[i] = from[i];
		settings[i].value = npl_arena_strdup(&c->arena, from[i].value);
		settings[i].has_no_effect = !npl_device_setting_has_effect(device, from[i].key);
		ok = settings[i].value != NULL;
	}
	if (!ok)
		return npl_no_memory(err);
	report->driver = npl_device_driver(device)->name;
	report->setting = settings;
	report->n_settings = n;
	if (npl_device_sha256(device))
		snprintf(report->machine_sha256, sizeof report->machine_sha256, "%s", npl_device_sha256(device));
	report->roofs = npl_arena_array(&c->arena, 1, sizeof *report->roofs);
	if (!report->roofs)
		return npl_no_memory(err);
	npl_roofs_of_model(&report->info, report->roofs);
	return keep_areas(c, device, report, err);
}

/* Copies a string into the comparison's arena. False: out of memory, or there is no string. */
static bool keep(struct npl_comparison *c, const char **text)
{
	if (*text)
		*text = npl_arena_strdup(&c->arena, *text);
	return *text != NULL;
}

static bool keep_energies(struct npl_comparison *c, struct npl_energy *energy, int n)
{
	bool ok = true;
	for (int e = 0; e < n; e++)
		ok = keep(c, &energy[e].component) && keep(c, &energy[e].origin) && ok;
	return ok;
}

int npl_report_keep_strings(struct npl_comparison *c, struct npl_run *run, struct npl_err *err)
{
	bool ok = keep_energies(c, run->energy, run->n_energy);
	for (int i = 0; i < run->n_layers; i++) {
		struct npl_layer_run *row = &run->layer[i];
		ok = keep(c, &row->ran_on) && ok;
		ok = (!row->note || keep(c, &row->note)) && ok;
		ok = (!row->placed_by || keep(c, &row->placed_by)) && ok;
		ok = keep_energies(c, row->result.energy, row->result.n_energy) && ok;
	}
	for (int r = 0; r < run->n_resources; r++) {
		struct npl_resource *resource = &run->resource[r];
		ok = keep(c, &resource->name) && ok;
		ok = (!resource->device_name || keep(c, &resource->device_name)) && ok;
		ok = (!resource->energy_origin || keep(c, &resource->energy_origin)) && ok;
		ok = (!resource->energy_within || keep(c, &resource->energy_within)) && ok;
	}
	return ok ? 0 : npl_no_memory(err);
}
