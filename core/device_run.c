/* SPDX-License-Identifier: MIT
 *
 * Layers and layer groups on an opened device (device.h): the driver runs them, and the books check its results. */
#include "device_impl.h"

#include <stdlib.h>
#include <string.h>

#include "books.h"
#include "core/base/message.h"
#include "core/base/parallel.h"
#include "core/base/refuse.h"
#include "device_access.h"
#include "npulab/signal_sink.h"

static int check_result(const struct npl_device *device, const struct npl_layer *layer,
			const struct npl_least_bytes *least, struct npl_result *result, struct npl_err *err)
{
	if (device->info.clock_hz > 0) {
		result->seconds = (double)result->cycles / device->info.clock_hz;
		result->seconds_origin = NPL_TIME_MODELLED;
	}
	return npl_books_check(device->machine.name, &device->info, layer, least, result, err);
}

int npl_device_no_isa(const char *name, struct npl_err *err)
{
	char list[100] = "";
	for (const struct npl_driver *const *d = npl_drivers; *d; d++)
		if ((*d)->isa)
			npl_append(list, sizeof list, ", ", "%s", (*d)->name);
	return npl_fail(err, NPL_EUSAGE, "%s has no instruction set, expected a machine of one of these drivers: %s",
			name, list);
}

void npl_program_dump_free(struct npl_program_dump *dump)
{
	free(dump->text);
	free(dump->host.data);
	free(dump->weights.data);
	free(dump->buffer.data);
	*dump = (struct npl_program_dump){0};
}

int npl_device_dump_programs(struct npl_device *device, const struct npl_program_sink *sink, struct npl_err *err)
{
	if (sink && !device->driver->dump_layer)
		return npl_device_no_isa(device->machine.name, err);
	device->sink = sink;
	return 0;
}

static int on_program(void *context, const struct npl_executed_program *program, struct npl_err *err)
{
	const struct npl_device *device = context;
	const struct npl_instruction_sink *sink = device->instruction_sink;
	struct npl_executed_program named = *program;
	named.machine = device->machine.name;
	return sink->on_program ? sink->on_program(sink->context, &named, err) : 0;
}

static int on_instruction(void *context, const struct npl_executed_instruction *instruction, struct npl_err *err)
{
	const struct npl_instruction_sink *sink = ((const struct npl_device *)context)->instruction_sink;
	return sink->on_instruction ? sink->on_instruction(sink->context, instruction, err) : 0;
}

static int on_end(void *context, const struct npl_executed_end *end, struct npl_err *err)
{
	const struct npl_instruction_sink *sink = ((const struct npl_device *)context)->instruction_sink;
	return sink->on_end ? sink->on_end(sink->context, end, err) : 0;
}

int npl_device_signals(const struct npl_device *device, struct npl_signal_def def[NPL_MAX_SIGNAL_ROWS])
{
	return device->driver->signals ? device->driver->signals(device->state, def) : 0;
}

const struct npl_signal_sink *npl_device_signal_sink(const struct npl_device *device,
						     const struct npl_instruction_sink *sink)
{
	const struct npl_signal_sink *signals = sink->signals;
	return signals && (!signals->machine || !strcmp(signals->machine, npl_device_name(device)) ||
			   !strcmp(signals->machine, npl_device_instance(device)))
		       ? signals
		       : NULL;
}

int npl_device_check_signals(const struct npl_device *device, const char *engine, struct npl_err *err)
{
	if (!device->driver->signals)
		return npl_fail(err, NPL_EUSAGE, "%s has no engine rtl, whose signals could be told",
				device->machine.name);
	if (!engine || strcmp(engine, "rtl") != 0)
		return npl_fail(err, NPL_EUSAGE, "%s runs the engine %s, and only rtl has signals: expected engine rtl",
				device->machine.name, engine ? engine : "fast");
	return 0;
}

int npl_device_tell_instructions(struct npl_device *device, const struct npl_instruction_sink *sink,
				 struct npl_err *err)
{
	if (sink && !device->driver->tell_instructions)
		return npl_device_no_isa(device->machine.name, err);
	const struct npl_signal_sink *signals = sink ? npl_device_signal_sink(device, sink) : NULL;
	if (signals && npl_device_check_signals(device, device->info.engine, err))
		return err->code;
	device->instruction_sink = sink;
	device->own_sink = (struct npl_instruction_sink){on_program, on_instruction, on_end, device, signals};
	if (device->driver->tell_instructions)
		device->driver->tell_instructions(device->state, sink ? &device->own_sink : NULL);
	return 0;
}

/* Gives the program of a layer, or of an opened layer group, to the sink. */
static int tell_program(struct npl_device *device, const struct npl_layer *layer, void *group, struct npl_err *err)
{
	struct npl_program_dump dump = {.machine = device->machine.name};
	int rc = group ? device->driver->dump_layer_group(device->state, group, &dump, err)
		       : device->driver->dump_layer(device->state, layer, &dump, err);
	if (!rc)
		rc = device->sink->on_program(device->sink->context, &dump, err);
	npl_program_dump_free(&dump);
	return rc;
}

/* Keeps npulab's pool out of a run that is measured: a real device has threads of its own, and `reference` runs on one.
 * Returns the argument for npl_parallel_alone after the run. */
static bool begin_run(const struct npl_device *device)
{
	const bool was_alone = npl_parallel_alone(true);
	if (npl_device_kind_is_modelled(device->info.kind))
		npl_parallel_alone(was_alone);
	return was_alone;
}

int npl_device_run(struct npl_device *device, const struct npl_layer *layer, struct npl_result *result,
		   struct npl_err *err)
{
	struct npl_err local = {0};
	if (npl_op_check_attrs(layer->op, layer->attrs, err))
		return NPL_EINTERNAL;
	if (device->sink && tell_program(device, layer, NULL, err))
		return err->code;
	const bool was_alone = begin_run(device);
	const int rc = device->driver->run(device->state, layer, result, &local);
	npl_parallel_alone(was_alone);
	if (rc)
		return npl_fail(err, local.code, "%s: layer %s: %s", device->machine.name, layer->name, local.msg);
	const struct npl_least_bytes least = npl_least_bytes_of(&device->info, layer);
	return check_result(device, layer, &least, result, err);
}

struct npl_layer_group_handle {
	struct npl_device *device;
	struct npl_layer_group group;
	struct npl_layer_group_info info;
	void *driver_handle;
	struct npl_least_bytes *least; /* the least bytes of each layer */
	bool program_told;             /* the sink has received its program */
};

bool npl_device_has_layer_groups(const struct npl_device *device)
{
	return device->driver->open_layer_group != NULL;
}

int npl_device_open_layer_group(struct npl_device *device, const struct npl_layer_group *group,
				struct npl_layer_group_handle **handle_out, struct npl_err *err)
{
	struct npl_err local = {0};
	*handle_out = NULL;
	for (int i = 0; i < group->n; i++)
		if (npl_op_check_attrs(group->layer[i]->op, group->layer[i]->attrs, err))
			return NPL_EINTERNAL;
	struct npl_layer_group_handle *handle = calloc(1, sizeof *handle);
	if (!handle || !(handle->least = calloc((size_t)group->n + 1, sizeof *handle->least))) {
		free(handle);
		return npl_no_memory(err);
	}
	handle->device = device;
	handle->group = *group;
	int rc = device->driver->open_layer_group(device->state, group, &handle->driver_handle, &handle->info, &local);
	if (!rc)
		rc = npl_least_bytes_of_group(&device->info, group, &handle->info, handle->least, &local);
	if (!rc) {
		*handle_out = handle;
		return 0;
	}
	npl_device_close_layer_group(handle);
	return npl_fail(err, rc, "%s: %s", device->machine.name, local.msg);
}

const struct npl_layer_group_info *npl_device_layer_group_info(const struct npl_layer_group_handle *group)
{
	return &group->info;
}

int npl_device_run_layer_group(struct npl_layer_group_handle *group, const struct npl_layer_group_observer *observer,
			       struct npl_result *results, struct npl_err *err)
{
	struct npl_device *device = group->device;
	struct npl_err local = {0};
	if (device->sink && !group->program_told && tell_program(device, NULL, group->driver_handle, err))
		return err->code;
	group->program_told |= device->sink != NULL;
	const bool was_alone = begin_run(device);
	const int rc = device->driver->run_layer_group(device->state, group->driver_handle, observer, results, &local);
	npl_parallel_alone(was_alone);
	if (rc)
		return group->group.n == 1 ? npl_fail(err, local.code, "%s: layer %s: %s", device->machine.name,
						      group->group.layer[0]->name, local.msg)
					   : npl_fail(err, local.code, "%s: layers %s to %s: %s", device->machine.name,
						      group->group.layer[0]->name,
						      group->group.layer[group->group.n - 1]->name, local.msg);
	for (int i = 0; i < group->group.n; i++)
		if (check_result(device, group->group.layer[i], &group->least[i], &results[i], err))
			return err->code;
	return 0;
}

void npl_device_close_layer_group(struct npl_layer_group_handle *group)
{
	if (!group)
		return;
	group->device->driver->close_layer_group(group->driver_handle);
	free(group->least);
	free(group);
}
