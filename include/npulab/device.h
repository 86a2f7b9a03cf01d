/* SPDX-License-Identifier: MIT
 *
 * The one interface of simulated and real machines. A driver (driver.h) is the code that runs layers, such as the
 * systolic simulator or OpenBLAS. A device is a driver opened with a machine description: tpu_v1 is
 * machines/tpu_v1.yaml on the driver `systolic`. A driver without parameters, and that of a real device, needs no file:
 * its name is the device's name.
 *
 *     struct npl_device *dev;
 *     if (npl_device_open("tpu_v1", &options, &dev, &err)) ...
 *     if (npl_device_supports(dev, &layer, reason, sizeof reason) && !npl_device_run(dev, &layer, &result, &err)) ...
 *     npl_device_close(dev);
 *
 * A device is used by one thread at a time. A call borrows its tensors and keeps no pointer to them.
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

/* NPL_KIND_ANALYTICAL is a model of a real processor by its published figures, without cycles. */
enum npl_device_kind {
	NPL_KIND_SIMULATED,
	NPL_KIND_ANALYTICAL,
	NPL_KIND_CPU,
	NPL_KIND_GPU,
	NPL_KIND_REFERENCE,
	NPL_KIND_NULL
};
const char *npl_device_kind_name(enum npl_device_kind kind);
/* Says whether the time of such a device comes from a model: whether it is simulated or analytical. */
bool npl_device_kind_is_modelled(enum npl_device_kind kind);

/* The link between the device's and the host's memory. Each transfer takes latency_seconds, then its bytes cross at
 * bytes_per_second. */
struct npl_link {
	const char *name; /* "PCIe Gen3 x16"; NULL: the device works in the host's memory, without transfers */
	double bytes_per_second;
	double latency_seconds;
	double pj_per_byte;
	const char *energy_origin; /* "absent" when not known */
	/* where the energy of a byte is counted if not here: "the layers' memory"; or NULL */
	const char *energy_within;
	/* The device copies its inputs and outputs itself on every run and reports the time (npl_result.to_device,
	 * to_host). The link is then not modelled, and bytes_per_second and latency_seconds are not used. */
	bool measured;
};

/* What a device can do beyond a plain layer in its own number format: bits of npl_device_info.capabilities. A device
 * gets no layer that needs a capability which it does not have. */
enum npl_capability {
	/* It takes Conv and Gemm of 8-bit integers, whatever its own number format is. */
	NPL_TAKES_INT8 = 1 << 0,
	/* Its number format is of integers, and it takes float32 layers too. */
	NPL_ALSO_FLOAT32 = 1 << 1,
	/* In layer groups it converts values between float32 and integers: QuantizeLinear and DequantizeLinear with one
	 * input (layer.h). */
	NPL_CONVERTS_IN_GROUP = 1 << 2,
	/* It multiplies two matrices of integers that are both computed (MatMul). */
	NPL_INT8_MATMUL = 1 << 3,
	/* It takes layers with several results. */
	NPL_MULTIPLE_OUTPUTS = 1 << 4,
	/* It computes only the factor of LRN, and the host multiplies by it (layer.h). A float32 layer of LRN still
	 * comes whole. */
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

/* What a driver says of an opened device. Required are kind, format and, for a modelled machine, crosses. Every other
 * member is optional; it is 0 or NULL where it is absent. So a rate of 0 is one that is not known: no machine has a
 * rate of 0. */
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
	/* The type in which a device of NPL_FORMAT_F32 computes inside, "float16" or "tf32"; NULL: float32. */
	const char *element;
	/* The bytes of an element in such a device; 0: as many as its number format has. */
	size_t element_bytes;
	/* The setting KEY=VALUE with which sums of products wrap around less, and what it does, as a clause with the
	 * setting as its subject; NULL: no setting does. */
	const char *wrap_setting, *wrap_setting_effect;

	/* ---- What it can do. */

	/* Bits of enum npl_capability. */
	unsigned capabilities;
	/* The activations besides Relu that it fuses: a bit 1 << NPL_ACT_... each. */
	unsigned activations;

	/* ---- Rates, each 0 where it is not known. */

	/* The clock in Hz; 0: the device has no cycle count. */
	double clock_hz;
	double peak_macs_per_second;
	/* The bandwidth of the memory that weights come from. */
	double memory_bytes_per_second;

	/* ---- Books. */

	/* The tensors that cross each memory's port, bits of enum npl_crossing. A simulated or analytical device must
	 * name a memory for weights, one for activations, and every memory whose bytes it reports, except the host's.
	 * Core computes from this the bytes that must have crossed. */
	unsigned crosses[NPL_MEM_LEVELS];
	/* The counters of npl_result.counter, n_counters of them. */
	const struct npl_counter_def *counter_def;
	size_t n_counters;

	/* ---- Memory, power and link. */

	/* The whole text of a memory file that a parameter of the machine names; NULL: none. */
	const char *memory_yaml;
	/* The power that the device draws even while it waits for the host or a link. */
	double static_watts;
	/* The origin of static_watts; NULL: the power is not known, and static_watts is 0. */
	const char *static_origin;
	/* The silicon of the device, by its energy model; 0: not known. area_is_partial: some components are not in
	 * it. */
	double area_mm2;
	bool area_is_partial;
	bool counts_activity; /* of operands, where there are values (docs/energy.md, The data matters) */
	/* The link to the host's memory; its name is NULL where the device works in the host's memory. */
	struct npl_link link;
};

/* Returns the name of the device's number format: "float32", "int8", "float16". */
const char *npl_device_precision(const struct npl_device_info *info);

/* The measured bandwidth of a real memory. */
struct npl_memory_rate {
	double bytes_per_second;
	char explanation[200]; /* what was moved, and how its bytes are counted */
};

/* How to open a device. Zeroed, it asks for the defaults. */
struct npl_device_options {
	int n_sets;
	const char *const *set; /* "KEY=VALUE" without the machine's name */
	/* What messages call each setting: as the user typed it. NULL, or an entry NULL: "--set NAME.KEY=VALUE". */
	const char *const *typed;
	int n_from_file;      /* so many of the last settings are in a file: a wrong one is NPL_EINPUT */
	int threads;          /* > 0: for drivers with a parameter `threads` */
	const char *engine;   /* for drivers with several engines; NULL: the first */
	const char *instance; /* tells devices of one name apart in runs and reports; NULL: the name */
};

struct npl_driver; /* the code behind a device (driver.h) */
struct npl_device; /* opaque: a driver opened with a machine */

/* Opens a device by name (of a driver, or of NAME.yaml in the machines folder) or by the path of a machine file.
 * Returns NPL_EUSAGE when there is no such device or engine, with the nearest name, or a setting is wrong; NPL_EINPUT
 * for a bad machine file; NPL_EDEVICE when the device cannot start here; NPL_ENOMEM. */
int npl_device_open(const char *name, const struct npl_device_options *options, struct npl_device **device,
		    struct npl_err *err);
void npl_device_close(struct npl_device *device); /* accepts NULL */
/* Says whether there is a driver or a machine of this name, or a file. The device may still fail to start. */
bool npl_device_is_known(const char *name);
/* Gives the parameters in force of a device as YAML in the arena; *yaml is NULL when it has none. The device need not
 * be able to start here (no GPU). */
int npl_device_parameters(const char *name, const struct npl_device_options *options, struct npl_arena *arena,
			  const char **yaml, struct npl_err *err);

/* Returns n notes that a user should know about the machine's file and settings: what the file leaves out, what was
 * adapted, what has no effect. They are borrowed from the device. */
const char *const *npl_device_notes(const struct npl_device *device, int *n);
const char *npl_device_name(const struct npl_device *device);
const char *npl_device_instance(const struct npl_device *device); /* the instance of the options, else the name */
const char *npl_device_description(const struct npl_device *device);
const struct npl_device_info *npl_device_get_info(const struct npl_device *device);
/* Returns the parameters in force as YAML, which is made at the first call; NULL: it has none, or memory ran out. */
const char *npl_device_yaml(const struct npl_device *device);
/* Returns the parameters in force, n of them, borrowed from the device. */
const struct npl_param_value *npl_device_settings(const struct npl_device *device, int *n);
/* Returns the parameter of a key such as "array.rows", as text borrowed from the device, or as a number. Returns NULL
 * or NAN where the device has no such key. */
const char *npl_device_setting(const struct npl_device *device, const char *key);
double npl_device_setting_number(const struct npl_device *device, const char *key);
/* Says whether the parameter of a key has an effect with the values of the others (npl_driver.conditions). */
bool npl_device_setting_has_effect(const struct npl_device *device, const char *key);
/* Returns the hash of npl_device_yaml, of info.memory_yaml and of the energy model's own_table, which is made at the
 * first call; NULL: the device has no parameters, or memory ran out. */
const char *npl_device_sha256(const struct npl_device *device);
/* Says whether the device runs the layer, its size included. Otherwise puts the reason into `reason`, which may be NULL
 * where reason_bytes is 0. */
bool npl_device_supports(const struct npl_device *device, const struct npl_layer *layer, char *reason,
			 size_t reason_bytes);

/* Runs the layer and balances the books: MACs done equal the layer's, partitions sum to the cycles, bytes are at least
 * those that core counts for the tensors, energies are counts times coefficients. Returns NPL_EINTERNAL when they do
 * not balance. */
int npl_device_run(struct npl_device *device, const struct npl_layer *layer, struct npl_result *result,
		   struct npl_err *err);

/* Layer groups, on a device that has them (npl_device_has_layer_groups). Running a group balances the books of every
 * layer; the observer may be NULL. npl_device_open_layer_group returns NPL_EDEVICE when the layers do not go
 * together. */
bool npl_device_has_layer_groups(const struct npl_device *device);
struct npl_layer_group_handle; /* opaque; it belongs to its device until it is closed */
int npl_device_open_layer_group(struct npl_device *device, const struct npl_layer_group *group,
				struct npl_layer_group_handle **handle_out, struct npl_err *err);
const struct npl_layer_group_info *npl_device_layer_group_info(const struct npl_layer_group_handle *group);
int npl_device_run_layer_group(struct npl_layer_group_handle *group, const struct npl_layer_group_observer *observer,
			       struct npl_result *results, struct npl_err *err);
void npl_device_close_layer_group(struct npl_layer_group_handle *group); /* accepts NULL */

/* Opens a meter of what the device draws. Returns NPL_EDEVICE, with the reason, when nothing can be measured. */
int npl_device_open_meter(struct npl_device *device, struct npl_energy_meter *meter, struct npl_err *err);
/* Gives the power that the device is assumed to draw where no meter can be opened, as its driver finds it. watts is NAN
 * where it is not known; power->note then says why, or is empty for a driver that assumes no power. Never fails. */
void npl_device_assume_power(const struct npl_device *device, struct npl_assumed_power *power);
/* Adds the facts that the driver found about the device, if any. */
int npl_device_facts(struct npl_device *device, struct npl_facts *facts, struct npl_err *err);
/* Measures the bandwidth of the device's memory. Returns NPL_EDEVICE when the device has no way to do that. */
int npl_device_measure_memory(struct npl_device *device, struct npl_memory_rate *rate, struct npl_err *err);

/* Names that no machine file may take: the modelled host's, and that of a comparison's entry for placement rules. */
#define NPL_HOST_NAME      "host"
#define NPL_PLACEMENT_NAME "placement"

/* Lists all devices: the drivers that need no machine file, in the order of npl_drivers (driver.h), then each file of
 * the machines folder, sorted. Names live in the arena. Returns NPL_EINPUT when there is no such folder or it cannot be
 * read, or NPL_ENOMEM. */
int npl_device_list(struct npl_arena *arena, const char *const **names, int *n, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
