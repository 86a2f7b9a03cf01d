/* SPDX-License-Identifier: MIT
 *
 * The main job: one network, several devices, side by side. Each device runs all samples in batches: once to get the
 * outputs (which also warms it up), then again, timed, until the median is worth having. Simulated figures are the
 * same every time, which is checked; measured ones are medians over the timed passes.
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
#include "npulab/model.h"
#include "npulab/program_dump.h"
#include "npulab/session.h"
#include "npulab/system_load.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Outputs of a device against the float reference. NAN: not applicable or not known. Where the device has an infinity
 * or a NaN and the reference a number the error is INFINITY and the ratio -INFINITY; where only the reference itself
 * holds what is no finite number there is no distance, and both are NAN. */
struct npl_accuracy {
	double max_abs_error; /* over all outputs, integers as they stand */
	/* 10 log10 (sum of reference^2 / sum of error^2), over the outputs that are floats, or over all where none is.
	 * NAN: there is no error at all. */
	double sqnr_db;
	double top1_agreement; /* fraction of samples whose greatest output is the reference's; classifiers only */
	double top1_accuracy;  /* against the labels */
	uint64_t not_finite;   /* results that are infinite or NaN on the device and finite in the reference */
	uint64_t reference_not_finite; /* results that are infinite or NaN in the reference */
};
#define NPL_ACCURACY_UNKNOWN                                                                                           \
	((struct npl_accuracy){.max_abs_error = NAN, .sqnr_db = NAN, .top1_agreement = NAN, .top1_accuracy = NAN})

/* One layer's result on a device against the float reference, over the first batch. NAN: not seen, as inside a pass or
 * a view, not judged, or not finite in the reference. An exact one has an error of 0 and a ratio of INFINITY, one that
 * is not finite where the reference is has an error of INFINITY and a ratio of -INFINITY. */
struct npl_layer_accuracy {
	double max_abs_error, sqnr_db;
	uint64_t not_finite; /* elements, as in struct npl_accuracy */
};

/* Where the energy of a real device comes from. NAN: not known. */
struct npl_energy_report {
	char note[700]; /* by what it was measured, how it was assumed or why it is absent; empty: a simulated device */
	double idle_watts_before, idle_watts_after; /* of what the meter counts, while nothing runs */
	double joules, seconds;                     /* what it counted, over all repeats with what lies between them; */
	int repeats;                                /* runs of all samples meanwhile */
};
#define NPL_ENERGY_UNKNOWN                                                                                             \
	((struct npl_energy_report){                                                                                   \
		.idle_watts_before = NAN, .idle_watts_after = NAN, .joules = NAN, .seconds = NAN, .repeats = 0})

#define NPL_STABLE_MEDIAN 0.01 /* repeats go on until the median is known within this, or a limit of time is spent */

struct npl_device_report {
	const char *name; /* the machine's name */
	/* That name, or "NAME@KEY=VALUE..." as it was asked for, which tells entries of one machine apart. */
	const char *instance;
	struct npl_device_info info;
	const struct npl_param_value *setting; /* n_settings: the effective machine */
	int n_settings;
	const char *const *note; /* n_notes of npl_device_notes */
	int n_notes;
	char machine_sha256[65]; /* empty for a device without parameters */
	char output_sha256[65];  /* of the float outputs of all samples; empty without values */
	struct npl_run run;      /* sum over the batches; measured: of the pass with the median time */
	double spread; /* measured: width of the middle half of the passes over their median; NAN: not measured */
	double median_within; /* measured: the median is known within this share of it, with 95 %; NAN: not measured */
	int passes;           /* timed */
	struct npl_energy_report energy;
	struct npl_system_load load;    /* meanwhile, where something was measured; else zeroed: load.processors 0 */
	double simulation_wall_seconds; /* median over the passes; NAN for a real device */
	struct npl_accuracy accuracy;
	struct npl_layer_accuracy *layer_accuracy; /* run.n_layers; NULL: not asked for */
	int64_t samples, batches, batch;
	int n_parts; /* placement: the devices it used, described (name, info, settings, machine_sha256); no runs */
	struct npl_device_report *part;
};

/* A device that was asked for and cannot start here: no driver, no GPU. */
struct npl_unavailable {
	const char *instance; /* as it was asked for */
	const char *reason;   /* one line */
	int entries_before;   /* how many entries were asked for before it */
};
struct npl_unavailables { /* zeroed at first; everything lives in the arena */
	struct npl_arena *arena;
	struct npl_unavailable *device;
	int n;
};

struct npl_comparison {
	const struct npl_graph *graph;
	int64_t samples, batches;
	bool labelled, random_inputs, timing_only;
	struct npl_accuracy reference; /* only top1_accuracy: of the float network itself; NAN without labels */
	const char *calibrated_on;     /* "calibration set", "inputs"; NULL: no number format comes from there */
	char calibration[40];          /* how: "min-max"; empty: no number format comes from there */
	/* "power of two" (of each tensor) or "none" (2^-10 for all). NULL: no device has Q6.10. */
	const char *q16_scale;
	int n_devices;
	struct npl_device_report *device;
	struct npl_unavailables unavailable;
	struct npl_device_report host; /* the modelled host, described as parts are; name NULL: no host was asked for */
	struct npl_arena arena;
};

struct npl_compare_options {
	int n_sets;
	const char *const *set; /* "DEVICE.KEY=VALUE" */
	int threads;            /* 0: each device's default */
	const char *engine;     /* of the simulated machines that have several; NULL: the first */
	struct npl_calibrate calibrate;
	bool q16_plain;      /* as in npl_session_options */
	bool layer_accuracy; /* of every layer too; takes a copy of one batch's values, up to 1 GiB */
	bool no_accuracy;    /* skip the reference (it still runs where it is needed to calibrate) */
	bool timing_only;    /* cycles without values; real devices cannot */
	bool layer_by_layer; /* every layer by itself, as in npl_session_options */
	bool once; /* simulated figures are held against one further pass, how long npulab takes is not measured */
	/* "NAME[@KEY=VALUE]...", with settings of this entry alone. The indices of `place` refer to these. */
	const char *const *device_names;
	int n_devices;
	/* The modelled host: the name of a machine or a file. NULL: the shipped `host`. Its settings stand in `set`:
	 * "host.KEY=VALUE". */
	const char *host;
	bool without_host; /* no layer can fall to a host: its settings are refused */
	/* Is given the programs of the first batch (program_dump.h), of one device alone. NULL: they are not kept. */
	const struct npl_program_sink *programs;
	const int *place; /* run --place: one mixed entry, nodes on these devices; NULL: one entry per device */
	const char *const *placed_by; /* per node: the rule that did, NULL: none did; or NULL */
	/* NULL, or graph->n_outputs zeroed tensors that receive the outputs of the last device. */
	struct npl_tensor *outputs;
};

/* Opens options->device_names into device[], zeroed, with the settings that belong to each: those of `set` for its
 * name, then its own after '@'. NPL_EUSAGE when a setting names none of the devices, when two are the same, or with
 * timing_only for a real device; of a placement only the plan tells whether it is used. A device that cannot start here
 * leaves NULL in its place and is listed in `unavailable`, unless none can; with `unavailable` NULL, and for a
 * placement, it is refused. The caller closes them, after a failure too. */
int npl_devices_open(const struct npl_compare_options *options, struct npl_device **device,
		     struct npl_unavailables *unavailable, struct npl_err *err);

/* Opens the modelled host of options->host with the settings in `set` that begin with "host.". NPL_EUSAGE: it is no
 * processor. */
int npl_host_open(const struct npl_compare_options *options, struct npl_device **host, struct npl_err *err);

/* calibration: samples to find ranges on, or NULL to use the samples themselves. Devices that cannot start are listed
 * in comparison->unavailable; NPL_EDEVICE when none of them can. */
int npl_compare(struct npl_graph *graph, const struct npl_samples *samples, const struct npl_samples *calibration,
		const struct npl_compare_options *options, struct npl_comparison *comparison, struct npl_err *err);
void npl_comparison_free(struct npl_comparison *comparison);

/* The options of one device: those of `set` that begin with its name and a dot. fill has room for n_sets entries. */
int npl_device_sets(const char *device, const char *const *set, int n_sets, const char **fill);

/* NPL_EINPUT when there are labels and the network is no classifier, or one is none of its classes. */
int npl_labels_check(const struct npl_graph *graph, const struct npl_samples *samples, struct npl_err *err);

/* out against ref, over n_outputs tensors with `count` samples each; labels may be NULL. */
void npl_accuracy_of(const struct npl_tensor *ref, const struct npl_tensor *out, int n_outputs, int64_t count,
		     const struct npl_tensor *labels, struct npl_accuracy *accuracy);

#ifdef __cplusplus
}
#endif

#endif
