/* SPDX-License-Identifier: MIT
 *
 * The main job: one network, several devices, side by side. Each device runs all samples in batches: once to get the
 * outputs (which also warms it up), then again, timed, until the median is known well enough (NPL_STABLE_MEDIAN).
 * Simulated figures are the same every time, which is checked; measured figures are medians over the timed passes.
 *
 *     struct npl_compare_options options = {.device_names = (const char *[]){"reference", "tpu_v1"}, .n_devices = 2};
 *     struct npl_comparison c;
 *     if (npl_compare(graph, &samples, NULL, &options, &c, &err)) ...
 *     npl_report_table(stdout, &c, &context); // report.h
 *     npl_comparison_free(&c);
 */
#ifndef NPULAB_COMPARE_H
#define NPULAB_COMPARE_H

#include <math.h>

#include "npulab/calibrate.h"
#include "npulab/device.h"
#include "npulab/instruction_sink.h"
#include "npulab/model.h"
#include "npulab/program_dump.h"
#include "npulab/roofs.h"
#include "npulab/session.h"
#include "npulab/system_load.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Outputs of a device compared with the float reference. NAN: not applicable or not known. An output that is infinite
 * or NaN on the device and finite in the reference gives an error of INFINITY and a ratio of -INFINITY. Where only the
 * reference has such outputs there is no distance, and both are NAN. */
struct npl_accuracy {
	double max_abs_error; /* over all outputs, integers as they stand */
	/* 10 log10 (sum of reference^2 / sum of error^2), over the outputs that are floats, or over all outputs where
	 * none is. NAN: there is no error at all. */
	double sqnr_db;
	double top1_agreement; /* fraction of samples whose greatest output is the reference's; classifiers only */
	double top1_accuracy;  /* against the labels */
	uint64_t not_finite;   /* results that are infinite or NaN on the device and finite in the reference */
	uint64_t reference_not_finite; /* results that are infinite or NaN in the reference */
};
#define NPL_ACCURACY_UNKNOWN                                                                                           \
	((struct npl_accuracy){.max_abs_error = NAN, .sqnr_db = NAN, .top1_agreement = NAN, .top1_accuracy = NAN})

/* One layer's result on a device compared with the float reference, over the first batch. NAN: not seen (inside a pass,
 * or a view), not judged, or not finite in the reference. An exact result has an error of 0 and a ratio of INFINITY. A
 * result that is not finite where the reference is has an error of INFINITY and a ratio of -INFINITY. */
struct npl_layer_accuracy {
	double max_abs_error, sqnr_db;
	uint64_t not_finite; /* elements that are not finite, as in struct npl_accuracy */
};

/* Where the energy of a real device comes from. NAN: not known. */
struct npl_energy_report {
	char note[700]; /* what measured it, how it was assumed or why it is absent; empty: a simulated device */
	double idle_watts_before, idle_watts_after; /* power of what the meter counts while nothing runs */
	/* what the meter counted over all repeats and the pauses between them */
	double joules, seconds;
	int repeats; /* runs of all samples while the meter counted */
};
#define NPL_ENERGY_UNKNOWN                                                                                             \
	((struct npl_energy_report){                                                                                   \
		.idle_watts_before = NAN, .idle_watts_after = NAN, .joules = NAN, .seconds = NAN, .repeats = 0})

/* passes are repeated until the median is known within this share of it, or a limit of time is spent */
#define NPL_STABLE_MEDIAN 0.01

/* The area of a component of a machine (energy_model.h). NAN: not known. */
struct npl_component_area {
	const char *name, *origin; /* "unified buffer", "calibrated:jouppi2017" */
	double mm2;
	double low_mm2, high_mm2; /* what follows bottom-up */
};

struct npl_device_report {
	const char *name; /* the machine's name */
	/* `name`, or "NAME@KEY=VALUE..." as the user asked for it, which tells entries of one machine apart. */
	const char *instance;
	const char *driver; /* the name of its driver */
	struct npl_device_info info;
	const struct npl_param_value *setting; /* n_settings of them: the parameters in force */
	int n_settings;
	const char *const *note; /* n_notes of npl_device_notes */
	int n_notes;
	char machine_sha256[NPL_SHA256_HEX];        /* empty for a device without parameters */
	const struct npl_component_area *component; /* n_components of them; 0: the areas are not known */
	int n_components;
	struct npl_roofs *roofs; /* of a modelled device; of a real one where asked for; otherwise its n is 0 */
	char output_sha256[NPL_SHA256_HEX]; /* hash of the float outputs of all samples; empty without values */
	/* sum over the batches; of a measured device, those of the pass with the median time */
	struct npl_run run;
	double spread; /* measured: width of the middle half of the passes over their median; NAN: not measured */
	/* measured: the median is known within this share of it, with 95 % confidence; NAN: not measured */
	double median_within;
	int passes; /* timed passes */
	struct npl_energy_report energy;
	/* load while something was measured; otherwise zeroed, with load.processors 0 */
	struct npl_system_load load;
	double simulation_wall_seconds; /* median over the passes; NAN for a real device */
	struct npl_accuracy accuracy;
	struct npl_layer_accuracy *layer_accuracy; /* run.n_layers; NULL: not asked for */
	int64_t samples, batches, batch;
	bool is_placement; /* the entry of rules that place each layer: of several devices, or of the host alone */
	/* entries of a placement: the devices that it used, described (name, info, settings, machine_sha256), without
	 * runs */
	int n_parts;
	struct npl_device_report *part;
};

/* A device that was asked for and cannot start here: no driver, no GPU. */
struct npl_unavailable {
	const char *instance; /* as the user asked for it */
	const char *reason;   /* one line */
	int entries_before;   /* how many entries were asked for before it */
};
struct npl_unavailables { /* zero-initialise before use; everything lives in the arena */
	struct npl_arena *arena;
	struct npl_unavailable *device;
	int n;
};

struct npl_comparison {
	const struct npl_graph *graph;
	int64_t samples, batches;
	bool labelled, random_inputs, timing_only;
	struct npl_accuracy reference; /* only top1_accuracy, of the float network itself; NAN without labels */
	const char *calibrated_on;     /* "calibration set" or "inputs"; NULL: no scale comes from calibration */
	char calibration[40];          /* the method, such as "min-max"; empty: no scale comes from calibration */
	/* The scale of Q6.10: "power of two" (one for each tensor) or "none" (2^-10 for all). NULL: no device has
	 * Q6.10. */
	const char *q16_scale;
	int n_devices;
	struct npl_device_report *device;
	struct npl_unavailables unavailable;
	/* the modelled host, described like the parts of a placement; name NULL: no host was asked for */
	struct npl_device_report host;
	struct npl_arena arena;
};

/* Watches the only entry of a comparison, or the only device of a single layer. Its first pass is then the only one:
 * nothing is measured. If a function does not return 0, the comparison ends with that code. Functions may be NULL. */
struct npl_run_watcher {
	/* Is called when all devices are open and described in the comparison, before any of them runs. */
	int (*on_start)(void *context, const struct npl_comparison *comparison, struct npl_err *err);
	/* Is called for each result that is seen (npl_session_observe), of node value `value` of the graph; of a single
	 * layer 0. */
	int (*on_value)(void *context, int value, const struct npl_tensor *tensor, struct npl_err *err);
	/* Is called after the first batch with the accuracy of each of the n rows, where the options ask for that of
	 * layers; of a single layer it is that of its result. */
	int (*on_accuracy)(void *context, const struct npl_layer_accuracy *accuracy, int n, struct npl_err *err);
	/* Is called after each batch. */
	int (*on_batch)(void *context, int64_t batch, const struct npl_run *run, struct npl_err *err);
	const struct npl_instruction_sink *instructions; /* is told those of every simulated device; NULL: none is */
	void *context;
};

struct npl_compare_options {
	/* ---- Devices and their settings. */

	/* "NAME[@KEY=VALUE]...": each setting applies to this entry alone. `place` holds indices of this list. */
	const char *const *device_names;
	/* Per device: the "FILE:LINE" that names it, for messages about it, which are then NPL_EINPUT. The array or an
	 * entry is NULL where no file does. */
	const char *const *named_at;
	int n_devices;
	int n_sets;
	const char *const *set; /* "DEVICE.KEY=VALUE", for every entry of this name */
	int threads;            /* 0: each device's default */
	const char *engine;     /* engine of the simulated machines that have several; NULL: the first */

	/* ---- The modelled host. */

	/* The name of a machine or a file. NULL: the shipped `host`. Its settings stand in `set`: "host.KEY=VALUE". */
	const char *host;
	bool without_host; /* no layer can go to the host: settings of the host are refused */

	/* ---- How the network runs. */

	struct npl_calibration_options calibration;
	struct npl_plan_options plan; /* of the session of each entry */
	bool once; /* check simulated figures with one further pass, and do not measure npulab's own time */

	/* ---- One mixed entry (`run --place`), whose nodes run on several devices. */

	/* Per node: the index of its device. NULL: one entry per device. */
	const int *place;
	/* Per node: the rule that placed it, NULL where no rule did; the array may be NULL. */
	const char *const *placed_by;

	/* ---- What is reported beside times and energies. */

	bool no_accuracy;        /* skip the reference (it still runs where it is needed to calibrate) */
	bool only_real_accuracy; /* skip it so where all devices are modelled */
	bool measure_roofs;      /* of the real devices: takes seconds for each */
	bool layer_accuracy;     /* compare every layer too; this copies one batch's values, up to 1 GiB */
	/* NULL, or graph->n_outputs zeroed tensors that receive the outputs of the last device. */
	struct npl_tensor *outputs;
	/* Receives the programs of the first batch (program_dump.h), where only one device runs. NULL: they are not
	 * kept. */
	const struct npl_program_sink *programs;
	const struct npl_run_watcher *watcher; /* NULL: nobody watches */
};

/* Opens options->device_names into device[], which is zeroed. Each device gets the settings of `set` for its name, then
 * those after '@' in its entry. Returns NPL_EUSAGE when a setting names none of the devices, when two entries are the
 * same, or when timing_only is set for a real device (in a placement only the plan shows whether it is used). A device
 * that cannot start here leaves NULL in its place and is listed in `unavailable`; it is refused when none can start,
 * when `unavailable` is NULL, and in a placement. The caller closes the devices, after a failure too. */
int npl_devices_open(const struct npl_compare_options *options, struct npl_device **device,
		     struct npl_unavailables *unavailable, struct npl_err *err);

/* Opens the modelled host of options->host with the settings in `set` that begin with "host.". Returns NPL_EUSAGE when
 * it is no processor. */
int npl_host_open(const struct npl_compare_options *options, struct npl_device **host, struct npl_err *err);

/* Runs the comparison. calibration: the samples that ranges are found on; NULL: `samples` themselves. Devices that
 * cannot start are listed in comparison->unavailable; returns NPL_EDEVICE when none can. */
int npl_compare(struct npl_graph *graph, const struct npl_samples *samples, const struct npl_samples *calibration,
		const struct npl_compare_options *options, struct npl_comparison *comparison, struct npl_err *err);
void npl_comparison_free(struct npl_comparison *comparison);

/* Fills the options of one device: the entries of `set` that begin with its name and a dot. fill has room for n_sets
 * entries. Returns how many there are. */
int npl_device_sets(const char *device, const char *const *set, int n_sets, const char **fill);

/* Returns NPL_EINPUT when there are labels and the network is no classifier, or when a label is not one of its
 * classes. */
int npl_labels_check(const struct npl_graph *graph, const struct npl_samples *samples, struct npl_err *err);

/* Compares out with ref, over n_outputs tensors with `count` samples each; labels may be NULL. */
void npl_accuracy_of(const struct npl_tensor *ref, const struct npl_tensor *out, int n_outputs, int64_t count,
		     const struct npl_tensor *labels, struct npl_accuracy *accuracy);

#ifdef __cplusplus
}
#endif

#endif
