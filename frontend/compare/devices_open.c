/* SPDX-License-Identifier: MIT
 *
 * Opening the devices of a comparison (devices_open.h). */
#include "devices_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "core/device_access.h"
#include "core/files/data_names.h"
#include "instance.h"
#include "npulab/driver.h"
#include "sim/processor/processor_model.h"

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
	return !npl_device_kind_is_modelled(kind) && kind != NPL_KIND_NULL;
}

int npl_refuse_timing(const struct npl_device *device, struct npl_err *err)
{
	return npl_fail(err, NPL_EUSAGE, "--timing-only: %s is a real device, its time can only be measured",
			npl_device_name(device));
}

/* Refuses --engine when none of the devices has several engines. */
static int check_engine(const struct npl_compare_options *options, struct npl_device *const *device,
			struct npl_err *err)
{
	if (!options->engine)
		return 0;
	for (int d = 0; d < options->n_devices; d++)
		if (device[d] && npl_device_driver(device[d])->engines)
			return 0;
	return npl_fail(err, NPL_EUSAGE, "--engine %s: none of the devices asked for has several engines",
			options->engine);
}

/* The state of opening devices by their names. */
struct opening {
	const struct npl_compare_options *options;
	struct npl_arena arena;
	enum { UNUSED, OVERRIDDEN, IN_FORCE } * setting_use; /* per setting of the options, by find_sets */
	const char **label;                                  /* per device: the name of its instance */
	bool unknown;     /* the device tried last failed by its name: no driver or machine file has it */
	bool is_labelled; /* the label of the device tried last begins with its machine's name */
};

/* Returns where a file names the device, "FILE:LINE"; NULL: no file does. */
static const char *named_at(const struct npl_compare_options *options, int d)
{
	return options->named_at ? options->named_at[d] : NULL;
}

/* Says whether an instance sets the key of "KEY=VALUE" itself. */
static bool sets_key_of(const struct instance *instance, const char *set)
{
	const size_t length = strcspn(set, "=");
	for (int i = 0; i < instance->n_sets; i++)
		if (!strncmp(instance->set[i], set, length) && instance->set[i][length] == '=')
			return true;
	return false;
}

/* Finds the settings of a device: those of the options for its name, then its own. */
static int find_sets(struct opening *o, int d, const char *label, const struct instance *instance,
		     struct npl_device_options *device_options, struct npl_err *err)
{
	const struct npl_compare_options *options = o->options;
	const char *location = named_at(options, d);
	const size_t max_sets = (size_t)(options->n_sets + instance->n_sets) + 1;
	const char **sets = npl_arena_array(&o->arena, max_sets, sizeof *sets);
	const char **typed = npl_arena_array(&o->arena, max_sets, sizeof *typed);
	int n = sets ? npl_device_sets(label, options->set, options->n_sets, sets) : 0;
	for (int i = 0; i < options->n_sets; i++) {
		const char *set;
		if (npl_device_sets(label, &options->set[i], 1, &set) && o->setting_use[i] != IN_FORCE)
			o->setting_use[i] = sets_key_of(instance, set) ? OVERRIDDEN : IN_FORCE;
	}
	bool ok = sets && typed;
	for (int i = 0; i < instance->n_sets && ok; i++) {
		typed[n] = npl_arena_printf(&o->arena, "%s%s%s@%s", location ? location : "", location ? ": " : "",
					    instance->device, instance->set[i]);
		ok = typed[n] != NULL;
		sets[n++] = instance->set[i];
	}
	device_options->set = sets;
	device_options->typed = typed;
	device_options->n_sets = n;
	device_options->n_from_file = location ? instance->n_sets : 0;
	return ok ? 0 : npl_no_memory(err);
}

/* Refuses a device called "host": rows of layers that the host runs have this name. */
static int refuse_host(const char *machine, const char *name, struct npl_err *err)
{
	if (strcmp(machine, NPL_HOST_NAME) != 0)
		return 0;
	if (strcmp(name, NPL_HOST_NAME) != 0)
		return npl_fail(err, NPL_EUSAGE,
				"%s: 'host' is the name of the modelled host, expected another `name:` (or --host %s)",
				name, name);
	return npl_fail(err, NPL_EUSAGE,
			"host cannot be a device: it is the modelled processor beside the machines; "
			"cpu_haswell_e5_2699v3 is the same die as a device, and --host FILE sets another host");
}

/* Opens a device; o->label[d] becomes its label, and o->unknown says whether its name is at fault. */
static int open_device(struct opening *o, int d, const struct instance *instance, struct npl_device **device,
		       struct npl_err *err)
{
	const struct npl_compare_options *options = o->options;
	struct npl_device_options device_options = {.threads = options->threads};
	struct npl_device *plain = NULL;
	const char *name = instance->device;
	o->unknown = false;
	o->is_labelled = false;
	/* A device that cannot be opened has the name by which it was asked for. */
	if (!(o->label[d] = npl_arena_strdup(&o->arena, options->device_names[d])))
		return npl_no_memory(err);
	/* Settings of a machine file are addressed by the machine's name, which only the opened file tells. */
	if (npl_is_yaml_path(name) && npl_device_open(name, &device_options, &plain, err))
		return err->code;
	const char *machine = plain ? npl_device_name(plain) : name;
	o->is_labelled = true;
	o->label[d] = instance_label(machine, options->device_names[d], &o->arena);
	int rc = o->label[d] ? find_sets(o, d, machine, instance, &device_options, err) : npl_no_memory(err);
	if (!rc)
		rc = refuse_host(machine, name, err);
	npl_device_close(plain);
	o->unknown = rc == NPL_EUSAGE;
	device_options.engine = options->engine;
	device_options.instance = o->label[d];
	if (!rc) {
		rc = npl_device_open(name, &device_options, device, err);
		o->unknown = rc && !npl_device_is_known(name);
	}
	if (!rc && options->plan.timing_only && !options->place && npl_is_measured(*device))
		rc = npl_refuse_timing(*device, err);
	return rc;
}

/* Opens a device. A file that names it is at fault for a name that no device has, for a machine file that cannot be
 * read, and for a setting after the name. */
static int open_one(struct opening *o, int d, struct npl_device **device, struct npl_err *err)
{
	const char *location = named_at(o->options, d);
	struct instance instance;
	int rc = instance_cut(o->options->device_names[d], &o->arena, &instance, err);
	o->unknown = rc != 0;
	if (!rc)
		rc = open_device(o, d, &instance, device, err);
	if (!rc || !location || !(o->unknown || (err->in_file && npl_is_yaml_path(instance.device))))
		return rc;
	npl_prefix(err, "%s", location);
	if (err->code == NPL_EUSAGE)
		err->code = NPL_EINPUT;
	return err->code;
}

static int list_unavailable(struct opening *o, int d, struct npl_unavailables *list, const struct npl_err *error,
			    struct npl_err *err)
{
	/* In a row of cuda's, "cuda: no driver" becomes "no driver". */
	const char *reason = o->is_labelled ? npl_err_reason(error) : error->msg;
	if (!list->device)
		list->device = npl_arena_array(list->arena, (size_t)o->options->n_devices, sizeof *list->device);
	struct npl_unavailable *entry = list->device ? &list->device[list->n] : NULL;
	if (entry)
		*entry = (struct npl_unavailable){.instance = npl_arena_strdup(list->arena, o->label[d]),
						  .reason = npl_arena_strdup(list->arena, reason),
						  .entries_before = d - list->n};
	if (!entry || !entry->instance || !entry->reason)
		return npl_no_memory(err);
	list->n++;
	return 0;
}

static bool is_of_host(const struct npl_compare_options *options, const char *set)
{
	return !options->without_host && npl_device_sets(NPL_HOST_NAME, &set, 1, &(const char *){NULL});
}

static int check_distinct_labels(const struct opening *o, struct npl_err *err)
{
	const struct npl_compare_options *options = o->options;
	for (int d = 0; d < options->n_devices; d++)
		for (int e = 0; e < d; e++)
			if (!strcmp(o->label[d], o->label[e]))
				return npl_fail(err, NPL_EUSAGE,
						"%s and %s are both called '%s': give one machine file another `name:`",
						options->device_names[e], options->device_names[d], o->label[d]);
	return 0;
}

static int open_all(struct opening *o, struct npl_device **device, struct npl_unavailables *unavailable,
		    struct npl_err *err)
{
	const struct npl_compare_options *options = o->options;
	const bool is_error = !unavailable || options->place;
	struct npl_err first_error = {0};
	int rc = 0;
	for (int d = 0; d < options->n_devices && !rc; d++) {
		struct npl_err error = {0};
		rc = open_one(o, d, &device[d], &error);
		if (!rc)
			continue;
		if (rc != NPL_EDEVICE || is_error || o->unknown)
			return npl_fail_as(err, &error);
		if (!first_error.code)
			first_error = error;
		rc = list_unavailable(o, d, unavailable, &error, err);
	}
	if (!rc && first_error.code && unavailable->n == options->n_devices)
		return npl_fail_as(err, &first_error);
	return rc;
}

static bool is_listed(const char *const *names, int n, const char *name)
{
	while (n > 0 && strcmp(names[n - 1], name) != 0)
		n--;
	return n > 0;
}

int npl_refuse_set(const char *set, const char *const *names, int n, const char *reason, struct npl_err *err)
{
	char asked[100];
	const size_t length = strcspn(set, ".=");
	if (set[length] != '.')
		return npl_fail(err, NPL_EUSAGE, "--set %s: expected DEVICE.KEY=VALUE, as %s.KEY=VALUE", set,
				n ? names[0] : NPL_HOST_NAME);
	snprintf(asked, sizeof asked, "%.*s", (int)length, set);
	return npl_fail(err, NPL_EUSAGE, "--set %s: %s, '%s'%s", set, reason, asked, NPL_NEAREST(asked, names, n));
}

/* Refuses a setting whose device is not among those opened, and names the nearest that is. */
static int refuse_set(struct opening *o, const char *set, struct npl_err *err)
{
	const struct npl_compare_options *options = o->options;
	const char **names = npl_arena_array(&o->arena, (size_t)options->n_devices + 1, sizeof *names);
	int n = 0;
	if (!names)
		return npl_no_memory(err);
	for (int d = 0; d < options->n_devices; d++) {
		struct instance instance;
		if (instance_cut(o->label[d], &o->arena, &instance, err))
			return err->code;
		if (!is_listed(names, n, instance.device))
			names[n++] = instance.device;
	}
	if (!options->without_host)
		names[n++] = NPL_HOST_NAME;
	return npl_refuse_set(set, names, n, "no device here has this name", err);
}

int npl_devices_open(const struct npl_compare_options *options, struct npl_device **device,
		     struct npl_unavailables *unavailable, struct npl_err *err)
{
	struct opening o = {.options = options};
	o.setting_use = npl_arena_array(&o.arena, (size_t)options->n_sets + 1, sizeof *o.setting_use);
	o.label = npl_arena_array(&o.arena, (size_t)options->n_devices + 1, sizeof *o.label);
	int rc = o.setting_use && o.label ? open_all(&o, device, unavailable, err) : npl_no_memory(err);
	if (!rc)
		rc = check_distinct_labels(&o, err);
	if (!rc)
		rc = check_engine(options, device, err);
	for (int i = 0; i < options->n_sets && !rc; i++)
		if (o.setting_use[i] == OVERRIDDEN)
			rc = npl_fail(err, NPL_EUSAGE,
				      "--set %s has no effect: each device of this name has its own value of the key",
				      options->set[i]);
		else if (o.setting_use[i] == UNUSED && !is_of_host(options, options->set[i]))
			rc = refuse_set(&o, options->set[i], err);
	npl_arena_free(&o.arena);
	return rc;
}

/* Refuses a host that is no processor or has a link: the networks' values begin in its memory, so that a link of its
 * own would carry nothing. */
static int check_host(const char *name, const struct npl_device *host, const char *const *set, int n_sets,
		      struct npl_err *err)
{
	const struct npl_processor_model *model = npl_processor_of(host);
	if (!model)
		return npl_fail(
			err, NPL_EUSAGE,
			"--host %s: a machine of the driver '%s' cannot be the host, expected one of 'processor', as "
			"`npulab devices host --yaml` prints",
			name, npl_device_driver(host)->name);
	for (int i = 0; i < n_sets; i++)
		if (!strncmp(set[i], "host_link.", strlen("host_link.")))
			return npl_fail(err, NPL_EUSAGE,
					"--set host.%s: the host has no link to itself, expected a device's host_link",
					set[i]);
	if (*model->link.name)
		return npl_fail(err, NPL_EUSAGE,
				"--host %s: its host_link.name is '%s', expected \"\": the host has no link to itself",
				name, model->link.name);
	return 0;
}

int npl_host_open(const struct npl_compare_options *options, struct npl_device **host, struct npl_err *err)
{
	struct npl_arena arena = {0};
	const char **sets = npl_arena_array(&arena, (size_t)options->n_sets + 1, sizeof *sets);
	const char **typed = npl_arena_array(&arena, (size_t)options->n_sets + 1, sizeof *typed);
	const char *name = options->host ? options->host : NPL_HOST_NAME;
	struct npl_device_options device_options = {.set = sets, .typed = typed};
	int rc = sets && typed ? 0 : npl_no_memory(err);
	*host = NULL;
	/* The machine of --host may have another name than "host". */
	for (int i = 0; i < options->n_sets && !rc; i++) {
		if (!npl_device_sets(NPL_HOST_NAME, &options->set[i], 1, &sets[device_options.n_sets]))
			continue;
		typed[device_options.n_sets] = npl_arena_printf(&arena, "--set %s", options->set[i]);
		rc = typed[device_options.n_sets++] ? 0 : npl_no_memory(err);
	}
	/* A bad file is reported before any bad setting. */
	if (!rc && options->host && device_options.n_sets) {
		rc = npl_device_open(name, NULL, host, err);
		npl_device_close(*host);
		*host = NULL;
	}
	const bool is_file = rc || !device_options.n_sets;
	if (!rc)
		rc = npl_device_open(name, &device_options, host, err);
	if (rc && options->host && is_file)
		npl_prefix(err, "--host %s", options->host);
	if (!rc)
		rc = check_host(name, *host, device_options.set, device_options.n_sets, err);
	if (rc) {
		npl_device_close(*host);
		*host = NULL;
	}
	npl_arena_free(&arena);
	return rc;
}

int npl_start_watching(const struct npl_run_watcher *watcher, struct npl_device *const *device, int n,
		       const struct npl_comparison *comparison, struct npl_err *err)
{
	for (int d = 0; d < n && watcher->instructions; d++)
		if (device[d] && npl_device_driver(device[d])->tell_instructions &&
		    npl_device_tell_instructions(device[d], watcher->instructions, err))
			return err->code;
	return watcher->on_start ? watcher->on_start(watcher->context, comparison, err) : 0;
}
