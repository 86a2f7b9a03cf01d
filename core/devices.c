/* SPDX-License-Identifier: MIT
 *
 * The device list: drivers by name, machines by file, opened into one handle (device.h). */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "core/files/data_names.h"
#include "device_access.h"
#include "device_impl.h"
#include "npulab/sha256.h"
#include "params_impl.h"
#include "setting_location.h"

#define NPL_DRIVER(name) extern const struct npl_driver npl_driver_##name;
#include "devices.def"
#undef NPL_DRIVER

const struct npl_driver *const npl_drivers[] = {
#define NPL_DRIVER(name) &npl_driver_##name,
#include "devices.def"
#undef NPL_DRIVER
	NULL};

const struct npl_driver *npl_driver_named(const char *name)
{
	for (const struct npl_driver *const *d = npl_drivers; *d; d++)
		if (!strcmp((*d)->name, name))
			return *d;
	return NULL;
}

int npl_device_list(struct npl_arena *arena, const char *const **names, int *n, struct npl_err *err)
{
	const char *fileless[sizeof npl_drivers / sizeof *npl_drivers];
	int n_fileless = 0;
	for (const struct npl_driver *const *d = npl_drivers; *d; d++)
		if (!(*d)->needs_machine)
			fileless[n_fileless++] = (*d)->name;
	return npl_data_names("machines", fileless, n_fileless, arena, names, n, err);
}

bool npl_device_is_known(const char *name)
{
	char path[PATH_MAX + 300];
	const struct npl_driver *driver = npl_driver_named(name);
	bool ships;
	return npl_is_yaml_path(name) || (driver && !driver->needs_machine) ||
	       (!npl_data_path("machines", name, path, sizeof path, &ships, &(struct npl_err){0}) && ships);
}

/* Fails for want of memory for the device of this name. */
static int no_memory(const char *name, struct npl_err *err)
{
	npl_no_memory(err);
	return npl_prefix_name(err, name);
}

/* Fills the machine from a file or, for a driver that needs none, from its name. */
static int find_machine(struct npl_device *dev, const char *name, struct npl_err *err)
{
	char path[PATH_MAX + 300];
	const struct npl_driver *driver = npl_driver_named(name);
	if (npl_is_yaml_path(name))
		return npl_description_load(name, "driver", &dev->arena, &dev->machine, err);
	if (driver && !driver->needs_machine) {
		const char *copy = npl_arena_strdup(&dev->arena, name);
		if (!copy)
			return no_memory(name, err);
		dev->machine = (struct npl_description){.name = copy,
							.driver_or_model = driver->name,
							.driver_or_model_key = "driver",
							.description = driver->summary};
		return 0;
	}
	if (npl_data_path("machines", name, path, sizeof path, &dev->ships, err))
		return err->code;
	if (dev->ships) {
		if (npl_description_load(path, "driver", &dev->arena, &dev->machine, err))
			return err->code;
		dev->shipped = dev->machine;
		dev->machine.copied_from = npl_arena_strdup(&dev->arena, name);
		return dev->machine.copied_from ? 0 : no_memory(name, err);
	}
	const char *const *names = NULL;
	int n = 0;
	if (npl_device_list(&dev->arena, &names, &n, err))
		return err->code;
	return npl_fail(err, NPL_EUSAGE, "there is no device '%s'%s (`npulab devices` lists them all)", name,
			NPL_NEAREST(name, names, n));
}

/* Checks a machine's name. It is used in tables, in --set NAME.KEY and in lists cut at commas, and must not be that of
 * a placement, a real device or the host. */
static int check_name(const struct npl_description *machine, const struct npl_driver *driver, struct npl_err *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+";
	const char *name = machine->name;
	const struct npl_driver *namesake = npl_driver_named(name);
	char location[NPL_SETTING_LOCATION];
	size_t length = strlen(name);
	npl_setting_heading_location(machine, machine->line.name, location);
	if (!length || length > 32 || strspn(name, allowed) != length)
		return npl_fail(err, NPL_EINPUT, "%s: the name '%s' must be 1 to 32 letters, digits, '_', '-' or '+'",
				location, name);
	if (!strcmp(name, NPL_PLACEMENT_NAME) || (!strcmp(name, NPL_HOST_NAME) && !driver->may_be_host) ||
	    (namesake && !namesake->needs_machine && strcmp(name, machine->driver_or_model)))
		return npl_fail(err, NPL_EINPUT, "%s: the name '%s' is taken, expected another `name:`", location,
				name);
	return 0;
}

static int apply_threads(struct npl_device *dev, int threads, struct npl_err *err)
{
	char text[16], typed[32];
	snprintf(text, sizeof text, "%d", threads);
	snprintf(typed, sizeof typed, "--threads %d", threads);
	return npl_params_set(&dev->machine, &dev->arena,
			      &(struct npl_setting){.key = "threads", .value = text, .typed = typed}, err);
}

/* Adds a setting of the options. One of `threads` is refused beside --threads with another number. */
static int apply_set(struct npl_device *dev, const struct npl_device_options *options, int i, struct npl_err *err)
{
	const char *set = options->set[i], *equals = strchr(set, '='), *name = dev->machine.name;
	const char *given = options->typed ? options->typed[i] : NULL;
	const struct npl_setting setting = {.key = npl_arena_strndup(&dev->arena, set, strcspn(set, "=")),
					    .value = equals ? equals + 1 : "",
					    .typed = given ? given
							   : npl_arena_printf(&dev->arena, "--set %s.%s", name, set),
					    .from_file = i >= options->n_sets - options->n_from_file};
	const int code = npl_setting_code(&setting);
	if (!setting.key || !setting.typed)
		return npl_no_memory(err);
	if (!equals)
		return npl_fail(err, code, "%s: expected %s%sKEY=VALUE", setting.typed, given ? "" : name,
				given ? "" : ".");
	if (options->threads > 0 && !strcmp(setting.key, "threads") && atoll(setting.value) != options->threads)
		return npl_fail(err, code, "%s beside --threads %d, expected one of them", setting.typed,
				options->threads);
	return npl_params_set(&dev->machine, &dev->arena, &setting, err);
}

static int apply_options(struct npl_device *dev, const struct npl_device_options *options, struct npl_err *err)
{
	if (options->threads > 0 && npl_param_find(dev->driver->params, "threads") &&
	    apply_threads(dev, options->threads, err))
		return err->code;
	for (int i = 0; i < options->n_sets; i++)
		if (apply_set(dev, options, i, err))
			return err->code;
	return 0;
}

/* Finds the shipped machine that a user's file was made from. A device that needs no file ships with its defaults. */
static int find_shipped(struct npl_device *dev, struct npl_err *err)
{
	static const struct npl_shipped_files machines = {"machines", "machine", "driver"};
	if (!dev->driver->needs_machine && !dev->machine.copied_from) {
		dev->shipped = (struct npl_description){.name = dev->machine.name,
							.driver_or_model = dev->machine.driver_or_model};
		return 0;
	}
	if (dev->ships || !dev->machine.path)
		return 0;
	return npl_description_find_shipped(&dev->machine, &machines, &dev->arena, &dev->shipped, err);
}

static int find_sources(struct npl_device *dev, struct npl_err *err)
{
	return npl_description_sources(&dev->machine, dev->driver->params, dev->config,
				       dev->shipped.name ? &dev->shipped : NULL, &dev->arena, err);
}

static void add_note(struct npl_device *dev, const char *note)
{
	if (note)
		dev->note[dev->n_notes++] = note;
}

/* Finds the source of each parameter, adapts unset parameters to those that the user set, and collects the notes. */
static int complete_parameters(struct npl_device *dev, struct npl_err *err)
{
	const struct npl_driver *driver = dev->driver;
	const char *adapted = NULL;
	if (find_shipped(dev, err) || find_sources(dev, err))
		return err->code;
	if (driver->adapt_unset && driver->adapt_unset(dev->config, &dev->machine, &dev->arena, &adapted, err))
		return npl_prefix_name(err, dev->machine.name);
	if (dev->machine.former_key)
		add_note(dev,
			 npl_arena_printf(&dev->arena, "%s: `model:` is called `driver:` now; it is read as before",
					  dev->machine.path));
	if (!dev->ships && dev->machine.path)
		add_note(dev, npl_description_left_out_note(&dev->machine, driver->params, driver->former_defaults,
							    driver->former_machine, &dev->arena));
	add_note(dev, adapted);
	if (adapted && find_sources(dev, err))
		return err->code;
	if (!dev->ships && dev->machine.copied_from && dev->shipped.name)
		add_note(dev, npl_description_lost_note(&dev->machine, driver->params, dev->config, &dev->shipped,
							&dev->arena));
	add_note(dev, npl_description_without_effect_note(&dev->machine, driver->params, driver->conditions,
							  dev->config, &dev->arena));
	if (dev->shipped.name)
		dev->resized_note = npl_description_resized_note(&dev->machine, driver->params, driver->size_keys,
								 &dev->shipped, &dev->arena);
	return 0;
}

/* Returns the parameters as YAML; NULL: out of memory. The caller holds the lock. */
static const char *make_yaml(const struct npl_device *dev)
{
	struct npl_device_texts *texts = dev->texts;
	if (!texts->yaml)
		texts->yaml = npl_params_dump(dev->driver->params, &dev->machine, dev->config, &texts->arena);
	return texts->yaml;
}

/* Hashes the machine's parameters, and what is in the files that they name: a memory, a table of energies. Returns NULL
 * when memory runs out. The caller holds the lock. */
static const char *make_sha256(const struct npl_device *dev)
{
	const struct npl_energy_model *energy = npl_device_energy_model(dev);
	const char *yaml = make_yaml(dev);
	struct npl_sha256 state;
	if (!yaml)
		return NULL;
	if (*dev->texts->sha256)
		return dev->texts->sha256;
	npl_sha256_init(&state);
	npl_sha256_update(&state, yaml, strlen(yaml));
	if (dev->info.memory_yaml)
		npl_sha256_update(&state, dev->info.memory_yaml, strlen(dev->info.memory_yaml));
	if (energy && energy->own_table)
		npl_sha256_update(&state, energy->own_table, strlen(energy->own_table));
	npl_sha256_final(&state, dev->texts->sha256);
	return dev->texts->sha256;
}

/* Returns a text that `make` makes, or made before; NULL: the device has no parameters, or memory ran out. */
static const char *text_of(const struct npl_device *dev, const char *(*make)(const struct npl_device *dev))
{
	if (!dev->texts)
		return NULL;
	pthread_mutex_lock(&dev->texts->lock);
	const char *text = make(dev);
	pthread_mutex_unlock(&dev->texts->lock);
	return text;
}

/* Writes "; the nearest is 'systolic'" for a name that no driver has. */
static const char *nearest_driver(const char *name, char *text, size_t n)
{
	const char *names[sizeof npl_drivers / sizeof *npl_drivers];
	int count = 0;
	for (const struct npl_driver *const *d = npl_drivers; *d; d++)
		names[count++] = (*d)->name;
	snprintf(text, n, "%s", NPL_NEAREST(name, names, count));
	return text;
}

/* Finds the driver that the machine names, and checks the machine's name. */
static int find_driver(struct npl_device *dev, struct npl_err *err)
{
	char nearest_text[200], location[NPL_SETTING_LOCATION];
	dev->driver = npl_driver_named(dev->machine.driver_or_model);
	if (!dev->driver)
		return npl_fail(
			err, NPL_EINPUT, "%s: there is no driver '%s'%s",
			npl_setting_heading_location(&dev->machine, dev->machine.line.driver_or_model, location),
			dev->machine.driver_or_model,
			nearest_driver(dev->machine.driver_or_model, nearest_text, sizeof nearest_text));
	return dev->machine.path ? check_name(&dev->machine, dev->driver, err) : 0;
}

/* Reads the driver and its parameters, before it starts. */
static int read_parameters(struct npl_device *dev, const struct npl_device_options *options, struct npl_err *err)
{
	if (find_driver(dev, err)) {
		err->in_file = true;
		return err->code;
	}
	if (options && apply_options(dev, options, err))
		return err->code;
	size_t bytes = dev->driver->config_bytes;
	dev->config = npl_arena_alloc(&dev->arena, bytes ? bytes : 1);
	if (!dev->config)
		return no_memory(dev->machine.name, err);
	if (npl_params_read(dev->driver->params, &dev->machine, &dev->arena, dev->config, err))
		return err->code;
	if (dev->driver->params) {
		if (complete_parameters(dev, err))
			return err->code;
		dev->texts = npl_arena_alloc(&dev->arena, sizeof *dev->texts);
		if (!dev->texts)
			return no_memory(dev->machine.name, err);
		pthread_mutex_init(&dev->texts->lock, NULL);
		if (npl_params_values(dev->driver->params, &dev->machine, dev->config, &dev->arena, &dev->value,
				      &dev->n_values))
			return no_memory(dev->machine.name, err);
	}
	return 0;
}

int npl_driver_find_engine(const struct npl_driver *driver, const char *name, struct npl_err *err)
{
	int n = 0;
	for (; driver->engines[n]; n++)
		if (!strcmp(name, driver->engines[n]))
			return 0;
	return npl_fail(err, NPL_EUSAGE, "there is no engine '%s'%s", name, NPL_NEAREST(name, driver->engines, n));
}

static int choose_engine(struct npl_device *dev, const char *name, struct npl_err *err)
{
	if (npl_driver_find_engine(dev->driver, name, err))
		return err->code;
	return dev->driver->choose_engine(dev->state, name, err);
}

bool npl_driver_ok(const struct npl_driver *driver, char *reason, size_t reason_bytes)
{
	const int groups = (driver->open_layer_group != NULL) + (driver->run_layer_group != NULL) +
			   (driver->close_layer_group != NULL);
	if (groups != 0 && groups != 3)
		return npl_refuse(reason, reason_bytes,
				  "%d of the three functions of layer groups, expected all or none", groups);
	if ((driver->engines != NULL) != (driver->choose_engine != NULL))
		return npl_refuse(reason, reason_bytes, "engines and choose_engine go together");
	if (driver->isa && !driver->engines)
		return npl_refuse(reason, reason_bytes, "an instruction set without engines to run its programs");
	if ((driver->dump_layer || driver->dump_layer_group) && !driver->isa)
		return npl_refuse(reason, reason_bytes, "dumps of programs without an instruction set");
	if ((driver->dump_layer && groups) != (driver->dump_layer_group != NULL))
		return npl_refuse(reason, reason_bytes,
				  "dump_layer and layer groups go with dump_layer_group, which goes with nothing else");
	return true;
}

/* Checks what a driver says of its device. A modelled machine must say which memories a layer's tensors cross, so that
 * its bytes can be checked. */
static int check_info(const struct npl_device *dev, struct npl_err *err)
{
	const struct npl_device_info *info = &dev->info;
	const unsigned crossings = info->crosses[NPL_MEM_DRAM] | info->crosses[NPL_MEM_BUFFER];
	const unsigned required = NPL_CROSS_WEIGHTS | NPL_CROSS_ACTIVATIONS;
	char reason[200];
	if (!npl_driver_ok(dev->driver, reason, sizeof reason))
		return npl_fail(err, NPL_EINTERNAL, "its driver: %s", reason);
	if (info->n_counters > NPL_MAX_COUNTERS)
		return npl_fail(err, NPL_EINTERNAL, "%zu counters, at most %d", info->n_counters, NPL_MAX_COUNTERS);
	if (!npl_counters_ok(info->counter_def, info->n_counters, reason, sizeof reason))
		return npl_fail(err, NPL_EINTERNAL, "%s", reason);
	if (npl_device_kind_is_modelled(info->kind) && (crossings & required) != required)
		return npl_fail(err, NPL_EINTERNAL,
				"no memory that its weights or its activations cross, expected "
				"npl_device_info.crosses to name one for both");
	return 0;
}

static int open_driver(struct npl_device *dev, const struct npl_device_options *options, struct npl_err *err)
{
	if (read_parameters(dev, options, err))
		return err->code;
	if (options && options->instance && !(dev->instance = npl_arena_strdup(&dev->arena, options->instance)))
		return no_memory(dev->machine.name, err);
	if (dev->driver->open(dev->config, &dev->state, err)) {
		dev->state = NULL;
		const bool is_fault = err->code == NPL_EUSAGE || err->code == NPL_EINPUT;
		return is_fault ? npl_setting_locate_fault(&dev->machine, err)
				: npl_prefix_name(err, dev->machine.name);
	}
	if (options && options->engine && dev->driver->engines && choose_engine(dev, options->engine, err))
		return npl_prefix_name(err, dev->machine.name);
	dev->driver->describe(dev->state, &dev->info);
	return check_info(dev, err) ? npl_prefix_name(err, dev->machine.name) : 0;
}

int npl_device_open(const char *name, const struct npl_device_options *options, struct npl_device **device,
		    struct npl_err *err)
{
	struct npl_device *dev = calloc(1, sizeof *dev);
	struct npl_err local = {0};
	*device = NULL;
	if (!dev ? no_memory(name, &local) : find_machine(dev, name, &local) || open_driver(dev, options, &local)) {
		npl_device_close(dev);
		return npl_fail_as(err, &local);
	}
	*device = dev;
	return 0;
}

int npl_device_parameters(const char *name, const struct npl_device_options *options, struct npl_arena *arena,
			  const char **yaml, struct npl_err *err)
{
	struct npl_device *dev = calloc(1, sizeof *dev);
	*yaml = NULL;
	if (!dev)
		return no_memory(name, err);
	int rc = find_machine(dev, name, err);
	if (!rc)
		rc = read_parameters(dev, options, err);
	if (!rc && dev->texts) {
		const char *text = text_of(dev, make_yaml);
		*yaml = text ? npl_arena_strdup(arena, text) : NULL;
		rc = *yaml ? 0 : no_memory(name, err);
	}
	npl_device_close(dev);
	return rc;
}

void npl_device_close(struct npl_device *device)
{
	if (!device)
		return;
	if (device->state)
		device->driver->close(device->state);
	if (device->texts) {
		pthread_mutex_destroy(&device->texts->lock);
		npl_arena_free(&device->texts->arena);
	}
	npl_arena_free(&device->arena);
	free(device);
}

const char *npl_device_name(const struct npl_device *device)
{
	return device->machine.name;
}

const char *npl_device_instance(const struct npl_device *device)
{
	return device->instance ? device->instance : device->machine.name;
}

const struct npl_driver *npl_device_driver(const struct npl_device *device)
{
	return device->driver;
}

const void *npl_device_state(const struct npl_device *device)
{
	return device->state;
}

const char *npl_device_description(const struct npl_device *device)
{
	return device->machine.description ? device->machine.description : device->driver->summary;
}

const struct npl_device_info *npl_device_get_info(const struct npl_device *device)
{
	return &device->info;
}

const char *npl_device_yaml(const struct npl_device *device)
{
	return text_of(device, make_yaml);
}

const struct npl_param_value *npl_device_settings(const struct npl_device *device, int *n)
{
	*n = device->n_values;
	return device->value;
}

const char *npl_device_setting(const struct npl_device *device, const char *key)
{
	return npl_param_text(device->value, device->n_values, key);
}

double npl_device_setting_number(const struct npl_device *device, const char *key)
{
	return npl_param_number(device->value, device->n_values, key);
}

bool npl_device_setting_has_effect(const struct npl_device *device, const char *key)
{
	const struct npl_driver *driver = device->driver;
	const struct npl_param *param = npl_param_find(driver->params, key);
	return param && !npl_params_decided_by(driver->params, driver->conditions, param, device->config);
}

const char *const *npl_device_notes(const struct npl_device *device, int *n)
{
	*n = device->n_notes;
	return device->note;
}

const char *const *npl_device_keep_notes(const struct npl_device *device, struct npl_arena *arena, int *n)
{
	const int n_all = device->n_notes + (device->resized_note != NULL);
	const char **list = npl_arena_array(arena, (size_t)n_all + 1, sizeof *list);
	for (int i = 0; list && i < n_all; i++)
		if (!(list[i] = npl_arena_strdup(arena, i < device->n_notes ? device->note[i] : device->resized_note)))
			return NULL;
	*n = n_all;
	return list;
}

const char *npl_device_sha256(const struct npl_device *device)
{
	return text_of(device, make_sha256);
}

bool npl_device_supports(const struct npl_device *device, const struct npl_layer *layer, char *reason,
			 size_t reason_bytes)
{
	struct npl_err err = {0};
	if (reason_bytes)
		reason[0] = '\0';
	if (npl_op_check_attrs(layer->op, layer->attrs, &err))
		return npl_refuse(reason, reason_bytes, "%s", err.msg);
	if (layer->activation > NPL_ACT_RELU && !(device->info.activations >> layer->activation & 1u))
		return npl_refuse(reason, reason_bytes, "it does not apply %s while it writes a result",
				  npl_activation_name(layer->activation));
	if (layer->op == NPL_OP_CONV && layer->attrs->conv.private_kernels &&
	    !(device->info.capabilities & NPL_PRIVATE_KERNELS))
		return npl_refuse(reason, reason_bytes,
				  "it has no Conv with kernels of its own for every output position");
	if (!device->driver->supports(device->state, layer, reason, reason_bytes))
		return false;
	if (layer->n_further && !(device->info.capabilities & NPL_MULTIPLE_OUTPUTS))
		return npl_refuse(reason, reason_bytes,
				  "the device gives only its first result, and the network reads others too");
	return true;
}

const struct npl_energy_model *npl_device_energy_model(const struct npl_device *device)
{
	return device->driver->energy_model ? device->driver->energy_model(device->state) : NULL;
}

int npl_device_open_meter(struct npl_device *device, struct npl_energy_meter *meter, struct npl_err *err)
{
	*meter = (struct npl_energy_meter){0};
	if (!device->driver->open_meter)
		return npl_fail(err, NPL_EDEVICE, "there is no meter of what %s draws", device->machine.name);
	return device->driver->open_meter(device->state, meter, err);
}

/* Replaces the driver's name by the machine's in a note about settings. */
static void name_settings(const struct npl_device *device, char *note, size_t n)
{
	char option[80], *cursor;
	const size_t length = (size_t)snprintf(option, sizeof option, " %.60s.", device->driver->name);
	const char *name = device->machine.name;
	if (!strcmp(name, device->driver->name))
		return;
	for (cursor = note; (cursor = strstr(cursor, option)); cursor++) {
		const size_t available = n - (size_t)(cursor - note);
		char tail[sizeof((struct npl_assumed_power *)0)->note];
		snprintf(tail, sizeof tail, "%s", cursor + length);
		snprintf(cursor, available, " %s.%s", name, tail);
	}
}

void npl_device_assume_power(const struct npl_device *device, struct npl_assumed_power *power)
{
	*power = (struct npl_assumed_power){.watts = NAN};
	if (device->driver->assume_power)
		device->driver->assume_power(device->state, power);
	name_settings(device, power->note, sizeof power->note);
}

int npl_device_facts(struct npl_device *device, struct npl_facts *facts, struct npl_err *err)
{
	return device->driver->facts ? device->driver->facts(device->state, facts, err) : 0;
}

int npl_device_measure_memory(struct npl_device *device, struct npl_memory_rate *rate, struct npl_err *err)
{
	*rate = (struct npl_memory_rate){0};
	if (!device->driver->measure_memory)
		return npl_fail(err, NPL_EDEVICE, "%s cannot measure its memory", device->machine.name);
	return device->driver->measure_memory(device->state, rate, err);
}
