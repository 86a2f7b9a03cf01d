/* SPDX-License-Identifier: MIT
 *
 * The machines of runs that are made again (trace_machines.h). */
#include "trace_machines.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "core/device_access.h"
#include "npulab/driver.h"
#include "npulab/signal_sink.h"

static const struct npl_trace_machine *machine_of(const struct npl_trace_header *header, const char *name)
{
	for (int i = 0; i < header->n_machines; i++)
		if (!strcmp(header->machine[i].name, name))
			return &header->machine[i];
	return NULL;
}

static const char *value_of(const struct npl_trace_pairs *pairs, const char *name)
{
	for (int i = 0; i < pairs->n; i++)
		if (!strcmp(pairs->pair[i].name, name))
			return pairs->pair[i].value;
	return NULL;
}

static const char *default_of(const struct npl_driver *driver, const char *key)
{
	for (const struct npl_param *p = driver->params; p && p->key; p++)
		if (!strcmp(p->key, key))
			return p->default_text;
	return NULL;
}

/* The settings of a run, with those that make its machines the trace's. */
struct settings {
	struct npl_arena *arena;
	const char **set;
	int n, capacity;
};

static int add_setting(struct settings *settings, const char *text, struct npl_err *err)
{
	if (settings->n == settings->capacity) {
		const int capacity = settings->capacity ? 2 * settings->capacity : 64;
		const char **grown = npl_arena_array(settings->arena, (size_t)capacity, sizeof *grown);
		if (!grown)
			return npl_no_memory(err);
		if (settings->n)
			memcpy(grown, settings->set, (size_t)settings->n * sizeof *grown);
		settings->set = grown;
		settings->capacity = capacity;
	}
	settings->set[settings->n++] = text;
	return text ? 0 : npl_no_memory(err);
}

/* Warns of parameters of the trace that the machine does not have now: the run goes without them. */
static void warn_of_unknown(const struct cli_trace_machines *machines, const struct npl_trace_machine *machine,
			    const struct npl_param_value *now, int n)
{
	for (int i = 0; i < machine->parameter.n && !machines->quiet; i++) {
		const char *key = machine->parameter.pair[i].name;
		char warning[300];
		const char *const warnings[] = {warning};
		int k = 0;
		while (k < n && strcmp(now[k].key, key) != 0)
			k++;
		if (k < n)
			continue;
		snprintf(warning, sizeof warning, "%s: this npulab has no parameter %s: checked without it",
			 machine->name, key);
		cli_warn(machines->trace, warnings, 1);
	}
}

/* Gives a device, called `name` in settings, the parameters that it has in the trace. */
static int restore(const struct cli_trace_machines *machines, const struct npl_device *device, const char *in_trace,
		   const char *name, struct settings *settings, struct npl_err *err)
{
	const struct npl_trace_machine *machine = machine_of(machines->header, in_trace);
	int n;
	const struct npl_param_value *now = npl_device_settings(device, &n);
	if (!machine)
		return npl_fail(err, NPL_EINPUT, "the trace has no machine '%s', which its run uses", in_trace);
	warn_of_unknown(machines, machine, now, n);
	for (int i = 0; i < n; i++) {
		const char *then = value_of(&machine->parameter, now[i].key);
		const char *wanted = then ? then : default_of(npl_device_driver(device), now[i].key);
		char warning[300];
		const char *const warnings[] = {warning};
		const bool is_same = !wanted || !strcmp(wanted, now[i].value);
		if (then && is_same)
			continue;
		if (is_same)
			snprintf(warning, sizeof warning, "%s: the trace lacks %s: checked with %s, as it is now",
				 in_trace, now[i].key, now[i].value);
		else
			snprintf(warning, sizeof warning,
				 then ? "%s: %s is %s now; checked with %s, as in the trace"
				      : "%s: %s is %s now; the trace lacks it: checked with its default %s",
				 in_trace, now[i].key, now[i].value, wanted);
		if (!machines->quiet)
			cli_warn(machines->trace, warnings, 1);
		if (is_same)
			continue;
		if (add_setting(settings, npl_arena_printf(settings->arena, "%s.%s=%s", name, now[i].key, wanted), err))
			return err->code;
	}
	return 0;
}

int cli_trace_restore(const struct cli_trace_machines *machines, struct npl_compare_options *options,
		      struct npl_arena *arena, struct npl_err *err)
{
	struct settings settings = {.arena = arena};
	struct npl_device **device = calloc((size_t)options->n_devices + 1, sizeof *device), *host = NULL;
	struct npl_unavailables unavailable = {.arena = arena};
	int rc = device ? npl_devices_open(options, device, &unavailable, err) : npl_no_memory(err);
	if (!rc && unavailable.n)
		rc = npl_fail(err, NPL_EDEVICE, "%s: %s", unavailable.device[0].instance, unavailable.device[0].reason);
	if (!rc && !options->without_host)
		rc = npl_host_open(options, &host, err);
	for (int i = 0; i < options->n_sets && !rc; i++)
		rc = add_setting(&settings, options->set[i], err);
	for (int d = 0; d < options->n_devices && !rc; d++)
		rc = restore(machines, device[d], npl_device_instance(device[d]), npl_device_name(device[d]), &settings,
			     err);
	if (!rc && host)
		rc = restore(machines, host, NPL_HOST_NAME, NPL_HOST_NAME, &settings, err);
	for (int d = 0; device && d < options->n_devices; d++)
		npl_device_close(device[d]);
	npl_device_close(host);
	free(device);
	options->set = settings.set;
	options->n_sets = settings.n;
	return rc;
}

int cli_trace_need_signals(const struct npl_compare_options *options, struct npl_arena *arena, struct npl_err *err)
{
	struct npl_compare_options opened = *options;
	struct npl_device **device = calloc((size_t)options->n_devices + 1, sizeof *device);
	struct npl_unavailables unavailable = {.arena = arena};
	struct npl_signal_def def[NPL_MAX_SIGNAL_ROWS];
	char drivers[100] = "";
	int n = 0;
	opened.engine = NULL; /* which devices without engines refuse with another message */
	int rc = device ? npl_devices_open(&opened, device, &unavailable, err) : npl_no_memory(err);
	for (int d = 0; device && d < options->n_devices; d++) {
		n += device[d] ? npl_device_signals(device[d], def) : 0;
		npl_device_close(device[d]);
	}
	free(device);
	for (const struct npl_driver *const *driver = npl_drivers; *driver; driver++)
		if ((*driver)->signals)
			npl_append(drivers, sizeof drivers, " or ", "%s", (*driver)->name);
	if (rc || n)
		return rc;
	return npl_fail(err, NPL_EUSAGE, "%s has no engine rtl, whose signals could be told; expected a machine of %s",
			options->device_names[0], drivers);
}

int cli_trace_open_machine(const struct cli_trace_machines *machines, const char *name, const struct cli_common *common,
			   struct npl_arena *arena, struct npl_device **device, struct npl_err *err)
{
	struct settings settings = {.arena = arena};
	if (cli_open_machine(name, common, device, err) || !machines->header)
		return *device ? 0 : err->code;
	const char *own = npl_device_name(*device);
	int rc = 0;
	for (int i = 0; i < common->set.n && !rc; i++)
		rc = add_setting(&settings, common->set.item[i], err);
	if (!rc)
		rc = restore(machines, *device, npl_device_instance(*device), own, &settings, err);
	const char **set = npl_arena_array(arena, (size_t)settings.n + 1, sizeof *set);
	if (rc || !set)
		return rc ? rc : npl_no_memory(err);
	const struct npl_device_options options = {.set = set,
						   .n_sets = npl_device_sets(own, settings.set, settings.n, set)};
	npl_device_close(*device);
	*device = NULL;
	return npl_device_open(name, &options, device, err);
}
