/* SPDX-License-Identifier: MIT
 *
 * Opening the devices of a comparison (devices_open.h). */
#include "devices_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int npl_device_sets(const char *device, const char *const *set, int n_sets, const char **fill)
{
	size_t length = strlen(device);
	int n = 0;
	for (int i = 0; i < n_sets; i++)
		if (!strncmp(set[i], device, length) && set[i][length] == '.')
			fill[n++] = set[i] + length + 1;
	return n;
}

bool npl_is_measured(const struct npl_device *device)
{
	enum npl_device_kind kind = npl_device_get_info(device)->kind;
	return kind != NPL_KIND_SIMULATED && kind != NPL_KIND_NULL;
}

int npl_refuse_timing(const struct npl_device *device, struct npl_err *err)
{
	return npl_fail(err, NPL_EUSAGE, "--timing-only: %s is a real device, its time can only be measured",
			npl_device_name(device));
}

/* --engine is for at least one of the devices. */
static int check_engine(const struct npl_compare_options *options, struct npl_device *const *device,
			struct npl_err *err)
{
	if (!options->engine)
		return 0;
	for (int d = 0; d < options->n_devices; d++)
		if (npl_device_driver(device[d])->choose_engine)
			return 0;
	return npl_fail(err, NPL_EUSAGE, "--engine %s: none of the devices asked for has several engines",
			options->engine);
}

int npl_devices_open(const struct npl_compare_options *options, struct npl_device **device, struct npl_err *err)
{
	const char **sets = calloc((size_t)options->n_sets + 1, sizeof *sets);
	bool *used = calloc((size_t)options->n_sets + 1, sizeof *used);
	int rc = sets && used ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory");
	for (int d = 0; d < options->n_devices && !rc; d++) {
		/* a machine file's settings are addressed by the machine's name, which only the opened file tells */
		const char *name = options->device_names[d];
		struct npl_device *plain = NULL;
		if (strchr(name, '/') || strstr(name, ".yaml")) {
			if ((rc = npl_device_open(name, &(struct npl_device_options){.threads = options->threads},
						  &plain, err)))
				break;
		}
		const char *label = plain ? npl_device_name(plain) : name;
		struct npl_device_options opening = {
			.set = sets, .threads = options->threads, .engine = options->engine};
		opening.n_sets = npl_device_sets(label, options->set, options->n_sets, sets);
		for (int i = 0; i < options->n_sets; i++)
			used[i] = used[i] || npl_device_sets(label, &options->set[i], 1, &(const char *){NULL});
		npl_device_close(plain);
		rc = npl_device_open(name, &opening, &device[d], err);
		if (!rc && options->timing_only && !options->place && npl_is_measured(device[d]))
			rc = npl_refuse_timing(device[d], err);
	}
	for (int d = 0; d < options->n_devices && !rc; d++)
		for (int e = 0; e < d && !rc; e++)
			if (!strcmp(npl_device_name(device[d]), npl_device_name(device[e])))
				rc = npl_fail(err, NPL_EUSAGE,
					      "%s and %s are both called '%s': give one machine file another `name:`",
					      options->device_names[e], options->device_names[d],
					      npl_device_name(device[d]));
	if (!rc)
		rc = check_engine(options, device, err);
	for (int i = 0; i < options->n_sets && !rc; i++)
		if (!used[i])
			rc = npl_fail(
				err, NPL_EUSAGE,
				"--set %s: none of the devices asked for has this name, expected DEVICE.NAME=VALUE",
				options->set[i]);
	free(sets);
	free(used);
	return rc;
}

/* Copies what outlives the device into the comparison. */
int npl_report_describe(struct npl_comparison *c, const struct npl_device *device, struct npl_device_report *report,
			struct npl_err *err)
{
	int n;
	const struct npl_param_value *from = npl_device_settings(device, &n);
	struct npl_param_value *settings = npl_arena_array(&c->arena, (size_t)n + 1, sizeof *settings);
	report->info = *npl_device_get_info(device);
	report->name = npl_arena_strdup(&c->arena, npl_device_name(device));
	bool ok = settings && report->name;
	for (int i = 0; i < n && ok; i++) {
		settings[i] = from[i];
		settings[i].value = npl_arena_strdup(&c->arena, from[i].value);
		ok = settings[i].value != NULL;
	}
	if (!ok)
		return npl_fail(err, NPL_ENOMEM, "out of memory");
	report->setting = settings;
	report->n_settings = n;
	if (npl_device_sha256(device))
		snprintf(report->machine_sha256, sizeof report->machine_sha256, "%s", npl_device_sha256(device));
	return 0;
}

/* Makes a string the comparison's. False: out of memory. */
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

/* The rows point at strings of devices and sessions that are about to close. */
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
		ok = (!resource->of || keep(c, &resource->of)) && ok;
		ok = (!resource->energy_origin || keep(c, &resource->energy_origin)) && ok;
		ok = (!resource->energy_within || keep(c, &resource->energy_within)) && ok;
	}
	return ok ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory");
}
