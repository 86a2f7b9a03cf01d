/* SPDX-License-Identifier: MIT
 *
 * The one interface of simulated and real machines. The list of drivers is core/devices.def. A driver is what
 * runs (the systolic simulator, OpenBLAS); a device is a driver opened with a machine description (tpu_v1 is
 * machines/tpu_v1.yaml on the driver `systolic`). Real devices and the plain ones need no file: their driver's
 * name is the device's name.
 *
 *     struct npl_device *dev;
 *     if (npl_device_open("tpu_v1", &options, &dev, &err)) ...
 *     if (npl_device_supports(dev, &layer, why, sizeof why) && !npl_device_run(dev, &layer, &result, &err)) ...
 *     npl_device_close(dev);
 *
 * A device is used by one thread at a time. It borrows tensors for the length of a call and keeps no pointer.
 */
#ifndef NPULAB_DEVICE_H
#define NPULAB_DEVICE_H

#include "npulab/energy_meter.h"
#include "npulab/facts.h"
#include "npulab/layer.h"
#include "npulab/layer_group.h"
#include "npulab/params.h"
#include "npulab/result.h"
#include "npulab/stats.h"
#include "npulab/tdp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NPL_KIND_ANALYTICAL: a real processor that is not here, by its published figures: modelled, without cycles. */
enum npl_device_kind {
	NPL_KIND_SIMULATED,
	NPL_KIND_ANALYTICAL,
	NPL_KIND_CPU,
	NPL_KIND_GPU,
	NPL_KIND_REFERENCE,
	NPL_KIND_NULL
};
const char *npl_device_kind_name(enum npl_device_kind kind);
/* Whether the time of such a device comes from a model: of one that is simulated or analytical. */
bool npl_device_kind_is_modelled(enum npl_device_kind kind);

/* The way to and from the host's memory. Bytes cross it at bytes_per_second, each transfer costs latency first. */
struct npl_link {
	const char *name; /* "PCIe Gen3 x16" ; NULL: the device works in the host's memory, no transfer */
	double bytes_per_second;
	double latency_seconds;
	double pj_per_byte;
	const char *energy_origin; /* "absent" when not known */
	const char *energy_within; /* where a byte's energy is counted instead: "the layers' memory"; or NULL */
	bool measured; /* what it is given and what is wanted of it the device moves itself, each time, and tells how long that took
	                  (npl_result.to_device, to_host); nothing is modelled, and the two rates are not used */
};

struct npl_device_info {
	enum npl_device_kind kind;
	enum npl_format format;
	const char *element;  /* what a device of NPL_FORMAT_F32 makes of float32, where that is something else, */
	size_t element_bytes; /* and in how many bytes it keeps it: "float16", 2; "tf32", 4. NULL, 0: as format has it */
	unsigned activations; /* beyond Relu, those it fuses: a bit 1 << NPL_ACT_... each */
	bool private_kernels; /* it takes Conv with them; every other device is not asked */
	bool several;         /* it takes layers with several results, every other device is not asked */
	bool integers;        /* it takes Conv and Gemm of 8-bit integers, whatever its own format is */
	bool floats;          /* its format is of integers, and it takes layers in float32 as well */
	bool converts; /* and in layer groups brings values from one to the other: layer.h, QuantizeLinear with one input */
	bool products;               /* of integers it multiplies two matrices that are both computed, too (MatMul) */
	bool lrn_factor;             /* of LRN it is asked for the factor (layer.h), unless in float32 */
	const char *engine;          /* "fast", "rtl"; NULL for a real device */
	double clock_hz;             /* 0: has no cycle count */
	double peak_macs_per_second; /* 0: not known */
	const char *memory_yaml;     /* NULL: none; the memory that a line of the machine's file names, in full */
	double memory_bytes_per_second; /* of the memory that weights come from, at most; 0: not known */
	bool memory_of_weights;         /* and nothing but weights does: inputs and results are elsewhere */
	double static_watts;       /* drawn also while the device waits for the host or a link; 0: none or not known */
	const char *static_origin; /* of static_watts; NULL: none */
	struct npl_link link;
	const struct npl_stat *stat; /* the counters of npl_result.counter */
	size_t n_stats;
	char detail[400]; /* one line for `devices` and the report: library, core type, threads... */
};

/* The number format by its name: "float32", "int8", "float16". */
const char *npl_device_precision(const struct npl_device_info *info);

struct npl_isa;
struct npl_program_dump;

struct npl_memory_rate {
	double bytes_per_second;
	char how[200]; /* what was moved, how bytes are counted */
};

/* A driver: ten members and optional ones, so that a new machine is its own folder, a line in devices.def and a YAML file. */
struct npl_driver {
	const char *name;               /* "systolic", "cpu" */
	const char *summary;            /* one line */
	const struct npl_param *params; /* schema of its machine files and of --set; NULL: none */
	size_t config_bytes;            /* size of the struct that params describes */
	bool needs_machine;             /* true: cannot be opened without a machine file */
	bool may_be_host;               /* a machine of it may be the modelled host, and be called `host` */
	/* Optional: defaults that were fitted to one machine and are neutral now, and the machine's name for a note. */
	const struct npl_former_default *formerly;
	const char *fitted_to;
	/* Optional: beginnings of the parameters by which energies, watts and fitted figures would change, between blanks. */
	const char *sizes;
	/* Optional, after the parameters are read: brings those that the user did not give (npl_machine_source) in line with what the
	 * user did, and tells it in *note, in the arena. What cannot be is left to open. */
	int (*adapt)(void *config, const struct npl_machine *machine, struct npl_arena *arena, const char **note,
		     struct npl_err *err);
	/* Opens with a config filled from params (borrowed until close). NPL_EDEVICE: cannot start, with the reason. */
	int (*open)(const void *config, void **state, struct npl_err *err);
	void (*close)(void *state); /* accepts NULL */
	/* Optional: the engine that runs from now on, by name. NPL_EUSAGE naming those there are. */
	int (*choose_engine)(void *state, const char *name, struct npl_err *err);
	void (*describe)(const void *state, struct npl_device_info *info); /* info is zeroed */
	/* Can this layer run here? If not, the reason in why. Not an error. */
	bool (*supports)(const void *state, const struct npl_layer *layer, char *why, size_t n);
	/* Runs a supported layer: fills out (unless timing_only) and the result. The seconds of a device with a clock_hz are not the driver's:
	 * npl_device_run makes them of the cycles. */
	int (*run)(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err);
	/* Optional, all three or none: layer groups of supported layers (layer_group.h). results[i] is layer i's share; shares sum to the
	 * whole. open_layer_group: NPL_EDEVICE, together they do not go. */
	int (*open_layer_group)(void *state, const struct npl_layer_group *group, void **opened,
				struct npl_layer_group_info *info, struct npl_err *err);
	int (*run_layer_group)(void *state, void *opened, const struct npl_layer_group_watcher *watcher,
			       struct npl_result *results, struct npl_err *err);
	void (*close_layer_group)(void *opened); /* accepts NULL */
	const struct npl_isa *isa;               /* its instruction set (program.h); NULL: none */
	/* Optional, with isa: the program of a layer, or of a layer group that is about to run (program_dump.h), into a zeroed dump. */
	int (*dump_layer)(void *state, const struct npl_layer *layer, struct npl_program_dump *dump,
			  struct npl_err *err);
	int (*dump_layer_group)(void *state, void *opened, struct npl_program_dump *dump, struct npl_err *err);
	/* Optional, for real devices: a meter of what this device draws; NPL_EDEVICE with the reason why there is none. */
	int (*open_meter)(void *state, struct npl_energy_meter *meter, struct npl_err *err);
	/* Optional: what it is assumed to draw where nothing can be measured. */
	void (*assume_power)(const void *state, struct npl_assumed_power *power);
	/* Optional: what was found, for `npulab devices --verbose` (facts.h). */
	int (*facts)(void *state, struct npl_facts *facts, struct npl_err *err);
	/* Optional: bytes per second of the memory it works in, as measured now. */
	int (*measure_memory)(void *state, struct npl_memory_rate *rate, struct npl_err *err);
};

extern const struct npl_driver *const npl_drivers[]; /* NULL-terminated, in the order of devices.def */

struct npl_device_options {
	int n_sets;
	const char *const *set; /* "KEY=VALUE" without the machine's name */
	int threads;            /* > 0: for drivers with a parameter `threads` */
	const char *engine;     /* for drivers with several, NULL: the first */
	const char *instance;   /* tells devices of one name apart in runs and reports; NULL: the name */
};

struct npl_device; /* opaque: a driver opened with a machine */

/* Opens a device by name (a driver, or NAME.yaml in the machines folder) or by the path of a machine file.
 * NPL_EDEVICE: no such device (naming the nearest) or it cannot start; NPL_EINPUT: a bad machine file. */
int npl_device_open(const char *name, const struct npl_device_options *options, struct npl_device **device,
		    struct npl_err *err);
void npl_device_close(struct npl_device *device); /* accepts NULL */
/* Is there a driver or a machine of this name, or a file? Whether it can start is another question. */
bool npl_device_is_known(const char *name);
/* The effective parameters of a device as YAML, in the arena, which need not start here (no GPU); *yaml NULL: it has none. */
int npl_device_parameters(const char *name, const struct npl_device_options *options, struct npl_arena *arena,
			  const char **yaml, struct npl_err *err);

/* What a user should know of the machine's file and settings: what it leaves out, what was adapted. Borrowed from the device. */
const char *const *npl_device_notes(const struct npl_device *device, int *n);
/* Copies them into the arena for a report, with a last one where a shipped machine has other sizes or another clock: which energies and
 * fitted figures stay. NULL: out of memory. */
const char *const *npl_device_keep_notes(const struct npl_device *device, struct npl_arena *arena, int *n);
const char *npl_device_name(const struct npl_device *device);
const char *npl_device_instance(const struct npl_device *device); /* as the options said, else the name */
const struct npl_driver *npl_device_driver(const struct npl_device *device);
const void *npl_device_state(const struct npl_device *device); /* what the driver's open made */
const char *npl_device_description(const struct npl_device *device);
const struct npl_device_info *npl_device_get_info(const struct npl_device *device);
const char *npl_device_yaml(const struct npl_device *device); /* effective machine as YAML; NULL: has no parameters */
/* The effective parameters, borrowed from the device. */
const struct npl_param_value *npl_device_settings(const struct npl_device *device, int *n);
/* One of them by its key, "array.rows", as text, which is borrowed too, and as a number. NULL and NAN where the device has no such key. */
const char *npl_device_setting(const struct npl_device *device, const char *key);
double npl_device_setting_number(const struct npl_device *device, const char *key);
const char *npl_device_sha256(const struct npl_device *device); /* of that text, and info.memory_yaml; NULL likewise */
bool npl_device_supports(const struct npl_device *device, const struct npl_layer *layer, char *why, size_t n);

/* Runs the layer and balances the books: MACs done equal the layer's, partitions sum to the cycles, bytes are at
 * least those of the tensors, energy is counts times table. A violation is NPL_EINTERNAL. */
int npl_device_run(struct npl_device *device, const struct npl_layer *layer, struct npl_result *result,
		   struct npl_err *err);

/* Layer groups, on a device that has them; the books of every layer are balanced. NPL_EDEVICE: these layers do not go together.
 * The watcher may be NULL. */
bool npl_device_has_layer_groups(const struct npl_device *device);
struct npl_layer_group_handle; /* opaque; of its device until it is closed */
int npl_device_open_layer_group(struct npl_device *device, const struct npl_layer_group *group,
				struct npl_layer_group_handle **opened, struct npl_err *err);
const struct npl_layer_group_info *npl_device_layer_group_info(const struct npl_layer_group_handle *group);
int npl_device_run_layer_group(struct npl_layer_group_handle *group, const struct npl_layer_group_watcher *watcher,
			       struct npl_result *results, struct npl_err *err);
void npl_device_close_layer_group(struct npl_layer_group_handle *group); /* accepts NULL */

/* NPL_EDEVICE, with the reason: nothing of it can be measured. */
int npl_device_open_meter(struct npl_device *device, struct npl_energy_meter *meter, struct npl_err *err);
void npl_device_assume_power(const struct npl_device *device, struct npl_assumed_power *power); /* watts NAN: nothing */
/* What was found of a device; nothing of one that has nothing to tell. */
int npl_device_facts(struct npl_device *device, struct npl_facts *facts, struct npl_err *err);
/* NPL_EDEVICE: it has no way to measure it. */
int npl_device_measure_memory(struct npl_device *device, struct npl_memory_rate *rate, struct npl_err *err);

/* Every device there is: the drivers that need no machine file, and each file of the machines folder, in a fixed
 * order. Names live in the arena. */
int npl_device_list(struct npl_arena *arena, const char *const **names, int *n, struct npl_err *err);

/* The folder that holds the machines or models: $NPULAB_DATA/KIND, the source tree's, or the installed one.
 * NPL_EINPUT when there is none, naming where it looked. */
int npl_data_dir(const char *kind, char *path, size_t n, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
