/* SPDX-License-Identifier: MIT
 *
 * The one interface of simulated and real machines. A driver (driver.h) is what runs: the systolic simulator, OpenBLAS.
 * A device is a driver opened with a machine description: tpu_v1 is machines/tpu_v1.yaml on the driver `systolic`. Real
 * devices and the plain ones need no file: their driver's name is the device's name.
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

#include "npulab/counters.h"
#include "npulab/energy_meter.h"
#include "npulab/facts.h"
#include "npulab/layer.h"
#include "npulab/layer_group.h"
#include "npulab/params.h"
#include "npulab/result.h"
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
	/* The device copies its inputs and outputs itself on every run and reports the time (npl_result.to_device,
	 * to_host). The link is not modelled then, and the two rates are not used. */
	bool measured;
};

/* What a device can do beyond a plain layer in its own number format: bits of npl_device_info.capabilities. A layer
 * that needs one is not asked of a device without it. */
enum npl_capability {
	/* It takes Conv and Gemm of 8-bit integers, whatever its own number format is. */
	NPL_TAKES_INT8 = 1 << 0,
	/* Its number format is of integers, and it takes layers in float32 as well. */
	NPL_ALSO_FLOAT32 = 1 << 1,
	/* In layer groups it converts values between float32 and integers: QuantizeLinear and DequantizeLinear with one
	 * input (layer.h). */
	NPL_CONVERTS_IN_GROUP = 1 << 2,
	/* It multiplies two matrices of integers that are both computed (MatMul). */
	NPL_INT8_MATMUL = 1 << 3,
	/* It takes layers with several results. */
	NPL_MULTIPLE_OUTPUTS = 1 << 4,
	/* It makes the factor of LRN, and the host multiplies (layer.h). Layers of LRN in float32 come whole all the
	 * same. */
	NPL_LRN_FACTOR = 1 << 5,
	/* It takes Conv with kernels of their own for every output position (npl_conv_attrs.private_kernels). */
	NPL_PRIVATE_KERNELS = 1 << 6,
};

/* The tensors of a layer that cross a memory's port: bits of npl_device_info.crosses. */
enum npl_crossing {
	NPL_CROSS_WEIGHTS = 1 << 0,     /* in[1] of Conv and Gemm */
	NPL_CROSS_BIASES = 1 << 1,      /* in[2] of Conv and Gemm */
	NPL_CROSS_ACTIVATIONS = 1 << 2, /* all other inputs, and the results */
	NPL_CROSS_ALL = NPL_CROSS_WEIGHTS | NPL_CROSS_BIASES | NPL_CROSS_ACTIVATIONS,
};

/* What a driver says of an opened device. Each member is optional but kind, format and, of a modelled machine, crosses;
 * 0 or NULL where it is absent. */
struct npl_device_info {
	/* ---- What it is. */

	/* Whether it is simulated, analytical or real. Required. */
	enum npl_device_kind kind;
	/* One line for `devices` and the report: sizes, library, threads. */
	char detail[400];
	/* The engine that runs, "fast" or "rtl"; NULL where the driver has no engines. */
	const char *engine;

	/* ---- Numbers. */

	/* The number format of its tensors. Required. */
	enum npl_format format;
	/* What a device of NPL_FORMAT_F32 makes of float32 inside, "float16" or "tf32"; NULL: float32 as it is. */
	const char *element;
	/* Bytes in which such a device keeps an element; 0: as the format has it. */
	size_t element_bytes;

	/* ---- What it can do. */

	/* Bits of enum npl_capability. */
	unsigned capabilities;
	/* The activations that it fuses besides Relu, a bit 1 << NPL_ACT_... each. */
	unsigned activations;

	/* ---- Rates, each 0 where it is not known. */

	/* The clock in Hz; 0: the device has no cycle count. */
	double clock_hz;
	double peak_macs_per_second;
	/* The bandwidth of the memory that weights come from. */
	double memory_bytes_per_second;

	/* ---- Books. */

	/* The tensors that cross each memory's port, bits of enum npl_crossing. A simulated or analytical device must
	 * name a memory for weights and one for activations, and every memory whose bytes it reports but the host's:
	 * core counts from this what must have crossed. */
	unsigned crosses[NPL_MEM_LEVELS];
	/* The counters of npl_result.counter, n_counters of them. */
	const struct npl_counter_def *counter_def;
	size_t n_counters;

	/* ---- Memory, power and link. */

	/* The whole text of a memory file that a parameter of the machine names; NULL: none. */
	const char *memory_yaml;
	/* Watts that are drawn also while the device waits for the host or a link; 0: none or not known. */
	double static_watts;
	/* The origin of static_watts; NULL: none. */
	const char *static_origin;
	/* The way to the host's memory; its name is NULL where the device works in the host's memory. */
	struct npl_link link;
};

/* The number format by its name: "float32", "int8", "float16". */
const char *npl_device_precision(const struct npl_device_info *info);

/* The bandwidth of a real memory, as measured. */
struct npl_memory_rate {
	double bytes_per_second;
	char how[200]; /* what was moved, how bytes are counted */
};

/* How to open a device. Zeroed, it asks for the defaults. */
struct npl_device_options {
	int n_sets;
	const char *const *set; /* "KEY=VALUE" without the machine's name */
	int threads;            /* > 0: for drivers with a parameter `threads` */
	const char *engine;     /* for drivers with several, NULL: the first */
	const char *instance;   /* tells devices of one name apart in runs and reports; NULL: the name */
};

struct npl_driver; /* the code behind a device (driver.h) */
struct npl_device; /* opaque: a driver opened with a machine */

/* Opens a device by name (a driver, or NAME.yaml in the machines folder) or by the path of a machine file.
 * NPL_EDEVICE: no such device (naming the nearest) or it cannot start; NPL_EINPUT: a bad machine file. */
int npl_device_open(const char *name, const struct npl_device_options *options, struct npl_device **device,
		    struct npl_err *err);
void npl_device_close(struct npl_device *device); /* accepts NULL */
/* Is there a driver or a machine of this name, or a file? Whether it can start is another question. */
bool npl_device_is_known(const char *name);
/* The effective parameters of a device as YAML, in the arena, which need not start here (no GPU); *yaml NULL: it has
 * none. */
int npl_device_parameters(const char *name, const struct npl_device_options *options, struct npl_arena *arena,
			  const char **yaml, struct npl_err *err);

/* What a user should know of the machine's file and settings: what it leaves out, what was adapted. Borrowed from the
 * device. */
const char *const *npl_device_notes(const struct npl_device *device, int *n);
/* Copies them into the arena for a report, with a last one where a shipped machine has other sizes or another clock:
 * which energies and fitted figures stay. NULL: out of memory. */
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
/* One of them by its key, "array.rows", as text, which is borrowed too, and as a number. NULL and NAN where the device
 * has no such key. */
const char *npl_device_setting(const struct npl_device *device, const char *key);
double npl_device_setting_number(const struct npl_device *device, const char *key);
const char *
npl_device_sha256(const struct npl_device *device); /* of that text and info.memory_yaml; NULL: it has no such text */
/* Whether the device runs the layer, size included; the reason when not in why, which may be NULL where n is 0. */
bool npl_device_supports(const struct npl_device *device, const struct npl_layer *layer, char *why, size_t n);

/* Runs the layer and balances the books: MACs done equal the layer's, partitions sum to the cycles, bytes are at least
 * those of the tensors as core counts them, energy is counts times table. A violation is NPL_EINTERNAL. */
int npl_device_run(struct npl_device *device, const struct npl_layer *layer, struct npl_result *result,
		   struct npl_err *err);

/* Layer groups, on a device that has them; the books of every layer are balanced. NPL_EDEVICE: these layers do not go
 * together. The observer may be NULL. */
bool npl_device_has_layer_groups(const struct npl_device *device);
struct npl_layer_group_handle; /* opaque; of its device until it is closed */
int npl_device_open_layer_group(struct npl_device *device, const struct npl_layer_group *group,
				struct npl_layer_group_handle **opened, struct npl_err *err);
const struct npl_layer_group_info *npl_device_layer_group_info(const struct npl_layer_group_handle *group);
int npl_device_run_layer_group(struct npl_layer_group_handle *group, const struct npl_layer_group_observer *observer,
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
