/* SPDX-License-Identifier: MIT
 *
 * The contract of a driver: the code that runs one kind of machine. A new kind of machine is a source with a struct
 * npl_driver, a line in core/devices.def, and a machine file; docs/first-machine.md builds one from nothing. A driver
 * is built within this tree, and not outside of it with the public headers: it includes private headers of core, such
 * as core/base/refuse.h, and a machine with programs sim/common/isa.h.
 *
 * Core calls a driver and checks its results: npl_device_run computes seconds from the cycles and balances the books.
 * Core itself counts the least bytes of a layer in each memory, from the tensors and npl_device_info.crosses.
 */
#ifndef NPULAB_DRIVER_H
#define NPULAB_DRIVER_H

#include "npulab/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_isa; /* opaque: an instruction set (sim/common/isa.h) */
struct npl_instruction_sink;
struct npl_signal_def;
struct npl_program_dump;

/* A member whose comment begins with "Optional" can be left out: it is then NULL, false or 0. If the comment begins
 * with "Optional, with" the names of other members, it can be given only together with these. Every other member is
 * required. */
struct npl_driver {
	/* ---- What every driver has. */

	/* The driver's name, which is the `driver:` of its machine files: "systolic", "cpu". */
	const char *name;
	/* What the driver runs, in one line for `npulab devices`. */
	const char *summary;
	/* Starts a machine. `config` is filled from `params` and borrowed until close; *state is handed to every other
	 * function. NPL_EDEVICE: the machine cannot start, with the reason. NPL_EUSAGE: parameters that are valid alone
	 * contradict each other. Fail with npl_fail_settings, which takes the keys of all of them. Core then puts
	 * before the message where the user set one of these keys, and turns the code into NPL_EINPUT if that is in a
	 * file. NPL_EINPUT: a file that a parameter names is bad; npl_blame_settings has the parameter's key. */
	int (*open)(const void *config, void **state, struct npl_err *err);
	/* Ends the machine and frees its state. It accepts NULL. */
	void (*close)(void *state);
	/* Says what the machine is and can do. `info` is zeroed before. */
	void (*describe)(const void *state, struct npl_device_info *info);
	/* Whether the machine can run the layer, whose tensors may have no data. A refusal puts a whole reason into
	 * `reason` (npl_refuse of core/base/refuse.h); it is no error. `reason` may be NULL where reason_bytes is 0. */
	bool (*supports)(const void *state, const struct npl_layer *layer, char *reason, size_t reason_bytes);
	/* Runs a layer that it supports: fills layer->out unless timing_only, and the zeroed result. Cycles, counters,
	 * bytes and energies are the same with timing_only. Core computes the seconds of a machine with a clock_hz from
	 * its cycles. */
	int (*run)(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err);

	/* ---- Parameters, and notes about them. */

	/* Optional: the schema of its machine files and of --set. */
	const struct npl_param *params;
	/* Optional, with params: bytes of the struct that params fills. */
	size_t config_bytes;
	/* Optional: true where the driver cannot be opened without a machine file. Otherwise the driver's name is a
	 * device. */
	bool needs_machine;
	/* Optional: true where its machines may be the modelled host, and be called `host`. */
	bool may_be_host;
	/* Optional: the defaults that earlier versions had. A machine file that leaves one out gets a note. */
	const struct npl_former_default *former_defaults;
	/* Optional, with former_defaults: the machine that they were fitted to, as the note names it. */
	const char *former_machine;
	/* Optional: beginnings of the keys of sizes and clocks, between blanks: "array. clock_hz". Energies and fitted
	 * figures of a shipped machine go with these values: a report notes it where the user changed one. */
	const char *size_keys;
	/* Optional: which parameters have an effect only with some values of others. The user who sets one of them in
	 * vain gets a note. */
	const struct npl_param_condition *conditions;
	/* Optional: adapts parameters that the user left unset (npl_description_source) to those that the user set, and
	 * says in *note, in the arena, what it changed. It leaves to open what it cannot adapt; open refuses that. */
	int (*adapt_unset)(void *config, const struct npl_description *machine, struct npl_arena *arena,
			   const char **note, struct npl_err *err);

	/* ---- Engines: implementations of one machine that give the same values, cycles and counters. */

	/* Optional: their names, ended by NULL. The first is the one that open chooses. */
	const char *const *engines;
	/* Optional, with engines: runs on the named engine from now on. The name is one of engines, since core refuses
	 * every other. */
	int (*choose_engine)(void *state, const char *name, struct npl_err *err);

	/* ---- Layer groups (layer_group.h): layers that come as one task. All three functions, or none. */

	/* Optional: prepares a group of supported layers. NPL_EDEVICE: the layers do not go together. */
	int (*open_layer_group)(void *state, const struct npl_layer_group *group, void **handle,
				struct npl_layer_group_info *info, struct npl_err *err);
	/* Optional, with open_layer_group: runs an opened group. results[i], zeroed, becomes the share of layer i, and
	 * the shares sum to the whole. The observer may be NULL. */
	int (*run_layer_group)(void *state, void *handle, const struct npl_layer_group_observer *observer,
			       struct npl_result *results, struct npl_err *err);
	/* Optional, with open_layer_group: ends an opened group. It accepts NULL. */
	void (*close_layer_group)(void *handle);

	/* ---- Programs, of machines that have instructions. */

	/* Optional: the instruction set, for `asm`, `disasm` and `exec` (program.h). */
	const struct npl_isa *isa;
	/* Optional, with isa: the program of a layer, put into a dump that has the machine's name and nothing else
	 * (program_dump.h). */
	int (*dump_layer)(void *state, const struct npl_layer *layer, struct npl_program_dump *dump,
			  struct npl_err *err);
	/* Optional, with isa and layer groups: the program of an opened group that is about to run. */
	int (*dump_layer_group)(void *state, void *handle, struct npl_program_dump *dump, struct npl_err *err);

	/* Optional, with isa: from now on tells the sink the instructions that it executes (instruction_sink.h); NULL:
	 * tells none. `machine` of a program is left to core. */
	void (*tell_instructions)(void *state, const struct npl_instruction_sink *sink);
	/* Optional, with tell_instructions: fills the table of the signals that the engine `rtl` tells the signal sink
	 * of such a sink (signal_sink.h), at most NPL_MAX_SIGNAL_ROWS. Returns the number of rows. */
	int (*signals)(const void *state, struct npl_signal_def *def);

	/* Optional: what the machine costs by its components (energy_model.h). */
	const struct npl_energy_model *(*energy_model)(const void *state);

	/* ---- Real devices. */

	/* Optional: opens a meter of what the device draws. NPL_EDEVICE: there is none, with the reason. */
	int (*open_meter)(void *state, struct npl_energy_meter *meter, struct npl_err *err);
	/* Optional: the power that the device is assumed to draw where nothing can be measured. */
	void (*assume_power)(const void *state, struct npl_assumed_power *power);
	/* Optional: what was found of the device, for `npulab devices --verbose` (facts.h). */
	int (*facts)(void *state, struct npl_facts *facts, struct npl_err *err);
	/* Optional: measures now how many bytes per second the device's memory gives. */
	int (*measure_memory)(void *state, struct npl_memory_rate *rate, struct npl_err *err);
};

/* For describe(): sets the power that the device draws always. An unknown power, whose origin is absent, is not 0 W: it
 * leaves static_origin as it is, and results say "absent". */
/* Describes the area of a machine by its energy model. */
static inline void npl_describe_area(struct npl_device_info *info, const struct npl_energy_model *model)
{
	info->area_mm2 = model->area_mm2 > 0 ? model->area_mm2 : 0;
	info->area_is_partial = model->area_is_partial;
}
static inline void npl_describe_static_power(struct npl_device_info *info, double watts, const char *origin)
{
	if (npl_origin_is_absent(origin))
		return;
	info->static_watts = watts;
	info->static_origin = origin;
}

/* Every driver, in the order of core/devices.def, ended by NULL. */
extern const struct npl_driver *const npl_drivers[];
const struct npl_driver *npl_driver_named(const char *name); /* NULL: there is none */
/* Says whether members that must be given together are all given or all absent; if not, `reason` says which are
 * missing. Core does not open a device with such a driver. */
bool npl_driver_ok(const struct npl_driver *driver, char *reason, size_t reason_bytes);
/* Refuses with NPL_EUSAGE a name that is none of the driver's engines; the message names the nearest. The driver must
 * have engines. */
int npl_driver_find_engine(const struct npl_driver *driver, const char *name, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
