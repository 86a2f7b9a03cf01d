/* SPDX-License-Identifier: MIT
 *
 * Runs a network on devices. A session binds a graph to the devices that its nodes are placed on. It quantises the
 * weights once, decides which nodes are fused, which are views and which go to the modelled host, and then runs
 * batches. The network's inputs and outputs are float32; between nodes, values stay in the number format of the device
 * that made them.
 *
 *     struct npl_range *ranges = calloc(graph->n_values, sizeof *ranges);
 *     if (!ranges) ...
 *     for (int v = 0; v < graph->n_values; v++)
 *             ranges[v] = NPL_RANGE_EMPTY;
 *     if (npl_evaluate(graph, inputs, reference_outputs, ranges, &err)) ... // the float oracle, and calibration
 *     struct npl_session_options options = {.n_devices = 1, .device = &dev, .ranges = ranges};
 *     if (npl_session_open(graph, &options, &s, &err)) ...
 *     if (npl_session_run(s, inputs, outputs, &run, &err)) ...
 *     npl_run_free(&run);
 *     npl_session_close(s);
 *     free(ranges);
 *
 * Ownership: inputs are borrowed for the call; outputs are allocated by the call and freed by the caller
 * (npl_tensor_free). The graph and the devices must outlive the session. One thread at a time.
 */
#ifndef NPULAB_SESSION_H
#define NPULAB_SESSION_H

#include "npulab/device.h"
#include "npulab/evaluate.h"
#include "npulab/graph.h"
#include "npulab/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_SESSION_DEVICES 30 /* the most devices of a session; more are refused with NPL_EUSAGE */

/* What decides the plan of a network's layers beside devices and places: in the options of a session and of a
 * comparison (compare.h), which copy it whole. */
struct npl_plan_options {
	/* Q6.10 has the scale 2^-10 for every tensor; otherwise each has the power of two that its values need */
	bool q16_plain;
	bool timing_only;    /* cycles and counters, no values: outputs stay unallocated; real devices cannot */
	bool layer_by_layer; /* every layer is a program of its own, and shares no time with its neighbours */
};

struct npl_session_options {
	int n_devices;
	struct npl_device *const *device;
	const int *place;        /* per node: index of a device or NPL_ON_HOST; NULL: everything on device[0] */
	struct npl_device *host; /* the modelled host, of the driver `processor`; NULL: the shipped machine `host` */
	const struct npl_range *ranges; /* per value; needed when a device is not float32, unless plan.timing_only */
	/* The ranges for the number format int8, where they differ (calibrate.h). NULL: they do not. */
	const struct npl_range *ranges_int8;
	struct npl_plan_options plan;
	/* On devices with layer groups: the network's inputs cross the link within a group's cycles; false: before
	 * them. */
	bool inputs_over_link;
	/* Per value: true for an input that is on the device already, such as the state of a recurrent network. NULL:
	 * no input is. */
	const bool *resident;
	/* On devices with layer groups: the network's outputs cross the link within a group's cycles; false: after
	 * them. */
	bool outputs_over_link;
};

struct npl_session; /* opaque */

/* Plans the whole network: nothing runs, but weights are quantised and layer groups opened. Returns NPL_EUSAGE for a
 * node placed on no device, too many devices, missing ranges or a host of another driver; NPL_EINPUT for weights that
 * cannot be quantised; NPL_ENOMEM, or an error of a device. */
int npl_session_open(struct npl_graph *graph, const struct npl_session_options *options, struct npl_session **session,
		     struct npl_err *err);
void npl_session_close(struct npl_session *session); /* accepts NULL */

/* From now on observer sees the results of each device and the host, in their number formats: a tensor of integers with
 * a scale stands for scale * (q - zero_point). Results that stay inside a pass are not seen. NULL: no observer. */
void npl_session_observe(struct npl_session *session, const struct npl_value_observer *observer);

/* Says whether any layer runs on the device with this index, or a layer group converts values there. A view, or a layer
 * of the host, does not count. */
bool npl_session_uses(const struct npl_session *session, int device);
/* Says whether any scale of the session comes from calibration. False: the model has all scales itself, or float32
 * needs none. */
bool npl_session_calibrated(const struct npl_session *session);

/* Sets whether runs hash the outputs of their layers, as they do at the start; a timed pass does without. */
void npl_session_hash(struct npl_session *session, bool hash);

enum npl_role {
	NPL_RAN,   /* a layer of its own */
	NPL_FUSED, /* in the same pass as a layer before it */
	NPL_VIEW,  /* a new shape for the same data: nothing moves */
};
const char *npl_role_name(enum npl_role role); /* "ran", "fused", "view" */

/* One node's share of a run. */
struct npl_layer_run {
	int node;
	enum npl_role role;
	int device;            /* index of the session's device that ran it, or NPL_ON_HOST */
	const char *ran_on;    /* that device's npl_device_instance, or "host"; borrowed from the session */
	const char *placed_by; /* in a comparison, the placement rule that put it there; NULL: no rule did */
	const char *note;      /* why it is on the host, what it is fused into, or which part the host does; NULL */
	/* why a device of integers ran it in float32, which is in note too; NULL: it did not */
	const char *float32_reason;
	bool host_part; /* ran on a device, except the part that note names; its time is in host_seconds */
	/* The definitions of the n_counters counters in result: the device's table. NULL: it has none. */
	const struct npl_counter_def *counter_def;
	size_t n_counters;
	/* The device's part. Its energies are those of the whole row, host and link included. The row's time is
	 * result.seconds + host_seconds + link_seconds. */
	struct npl_result result;
	double host_seconds; /* modelled host: the operator itself and conversions of number format */
	double host_joules;  /* energy of the host meanwhile; part of result's energies where it is known */
	double link_seconds;
	uint64_t link_bytes;
	int transfers;
	double start_seconds; /* when its first work begins, from the beginning of the batch */
	double ready_seconds; /* when other rows can read its result */
	double end_seconds;   /* when its result, if the caller takes it, is where the caller takes it */
	/* The values that were outside the number format when they were converted for this row. Those of its weights
	 * and bias are counted in every batch. result.saturations contains them. */
	uint64_t clipped;
	enum npl_dtype output_dtype; /* type of the output in its own number format, and its quantisation */
	struct npl_quant output_quant;
	/* hash of the output's bytes in its own number format; empty in timing_only or unhashed */
	char output_sha256[NPL_SHA256_HEX];
};

#define NPL_MAX_RUN_ENERGY 64 /* the components of several machines, of the host and of the links */

/* One batch, or the sum of several (npl_run_add). */
struct npl_run {
	int n_layers;
	struct npl_layer_run *layer; /* one per node of the graph, in its order */
	/* Sums of the rows (result.h): cycles of all simulated machines that ran, macs of all layers. */
	NPL_RESULT_COUNTS(NPL_COUNT_MEMBER)
	/* Time of the run: device_seconds + host_seconds + link_seconds - overlap_seconds. Batches do not overlap. */
	double seconds;
	double device_seconds, host_seconds, link_seconds; /* sums of the rows */
	double overlap_seconds;                            /* exactly 0 where nothing overlaps */
	uint64_t link_bytes, device_macs;                  /* device_macs: macs without those of the host */
	uint64_t bytes[NPL_MEM_LEVELS];
	/* the most bytes of a device's on-chip memory that layer groups use at once; 0: not known */
	uint64_t peak_buffer_bytes;
	int n_energy;
	struct npl_energy energy[NPL_MAX_RUN_ENERGY]; /* one for each component and origin */
	double wall_seconds;                          /* time of this computer in the devices' run() calls */
	int n_resources; /* the host, devices and links, with sums over all batches; 0 for a single layer */
	struct npl_resource *resource;
	int n_tasks; /* the tasks of the first batch, whose times the rows have too */
	struct npl_task *task;
};

/* Fills the rows that a run will have with what the plan knows: role, device, ran_on, note and host_part. Nothing
 * runs; the session owns the strings. */
int npl_session_planned_rows(const struct npl_session *session, struct npl_run *run, struct npl_err *err);

/* Runs one batch. outputs[], graph->n_outputs zeroed tensors, gets the network's outputs in the types of the graph;
 * with timing_only it may be NULL. run is overwritten: an earlier one must be freed before. Its strings belong to the
 * session and its devices. Returns NPL_EINPUT when an input does not fit, NPL_ENOMEM, or a device's error; outputs and
 * run are then empty. */
int npl_session_run(struct npl_session *session, const struct npl_tensor *inputs, struct npl_tensor *outputs,
		    struct npl_run *run, struct npl_err *err);

/* Adds another batch of the same session to sum; a zeroed sum becomes a copy. The hashes and times of the first batch
 * are kept. */
int npl_run_add(struct npl_run *sum, const struct npl_run *run, struct npl_err *err);
/* Recomputes the totals of a run from its rows and overlap_seconds. */
int npl_run_total(struct npl_run *run, struct npl_err *err);
void npl_run_free(struct npl_run *run);

/* Returns the work of a row in seconds: of its device, host and link. */
double npl_row_seconds(const struct npl_layer_run *row);

/* Says whether the host does the whole row; note says why. */
bool npl_row_on_host(const struct npl_layer_run *row);

#ifdef __cplusplus
}
#endif

#endif
