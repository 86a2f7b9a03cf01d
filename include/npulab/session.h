/* SPDX-License-Identifier: MIT
 *
 * Running a network on devices. A session binds a graph to the devices its nodes are placed on: it quantises the
 * weights once, decides what is fused, what is only a view and what falls to the modelled host, and then runs
 * batches. Values are float32 at the ends; between nodes they stay in the format of the device that made them.
 *
 *     struct npl_range *ranges = calloc(graph->n_values, sizeof *ranges);
 *     for (int v = 0; v < graph->n_values; v++)
 *             ranges[v] = NPL_RANGE_EMPTY;
 *     npl_evaluate(graph, inputs, reference_outputs, ranges, &err); // the float oracle, and calibration
 *     struct npl_session_options options = {.n_devices = 1, .device = &dev, .ranges = ranges};
 *     npl_session_open(graph, &options, &s, &err);
 *     npl_session_run(s, inputs, outputs, &run, &err);
 *     npl_run_free(&run);
 *     npl_session_close(s);
 *
 * Ownership: inputs are borrowed for the call; outputs are allocated by the call and freed by the caller
 * (npl_tensor_free). The graph and the devices must outlive the session. One thread at a time.
 */
#ifndef NPULAB_SESSION_H
#define NPULAB_SESSION_H

#include "npulab/device.h"
#include "npulab/graph.h"
#include "npulab/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What values a tensor took. Starts empty: low > high. */
struct npl_range {
	float low, high;
	float least_factor; /* of what LRN makes: the least |y / x|; 0: none seen */
	/* of a tensor that a Softmax reads: the smallest of the maxima of its vectors; valid with read_by_softmax */
	float softmax_least_maximum;
	bool read_by_softmax; /* a Softmax was seen to read it */
	bool nan, infinite;   /* one was seen */
};
#define NPL_RANGE_EMPTY ((struct npl_range){.low = 1, .high = -1})

/* Runs the whole graph in float32 on the reference kernels. inputs[] has graph->n_inputs tensors of the inputs'
 * dtype and shape; outputs[] gets graph->n_outputs tensors. ranges[graph->n_values], or NULL, is widened by what each
 * value took. NPL_EINPUT when an input does not fit. */
int npl_evaluate(struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_tensor *outputs,
		 struct npl_range *ranges, struct npl_err *err);

/* Is shown every value as it is made. Not 0: the run ends with it. */
struct npl_value_observer {
	int (*seen)(void *context, int value, const struct npl_tensor *tensor, struct npl_err *err);
	void *context;
};
/* The same; observer sees the inputs and what each node makes. ranges and observer may be NULL. */
int npl_evaluate_observed(struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_tensor *outputs,
			  struct npl_range *ranges, const struct npl_value_observer *observer, struct npl_err *err);

#define NPL_ON_HOST         (-1)
#define NPL_SESSION_DEVICES 30 /* at most: NPL_EUSAGE */

struct npl_session_options {
	int n_devices;
	struct npl_device *const *device;
	const int *place;        /* per node: index of a device or NPL_ON_HOST; NULL: everything on device[0] */
	struct npl_device *host; /* the modelled host, of the driver `processor`; NULL: the shipped machine `host` */
	const struct npl_range *ranges; /* per value; needed when a device is not float32, unless timing_only */
	/* Those of the format int8, where they are others (calibrate.h). NULL: there are none. */
	const struct npl_range *ranges_int8;
	bool q16_plain;      /* Q6.10 at 2^-10 for every tensor; else each has the power of two that its values need */
	bool timing_only;    /* cycles and counters, no values: outputs stay unallocated */
	bool layer_by_layer; /* every layer is a program of its own: its time is not shared with its neighbours' */
	/* On devices with layer groups: the network's inputs cross the link within a group's cycles. False: before
	 * them. */
	bool inputs_over_link;
	/* Per value: an input that is on the device from before, such as the state of a recurrent network. NULL: none
	 * is. */
	const bool *resident;
	/* On devices with layer groups: the network's outputs cross the link within a group's cycles. False: after
	 * them. */
	bool outputs_over_link;
};

struct npl_session; /* opaque */

int npl_session_open(struct npl_graph *graph, const struct npl_session_options *options, struct npl_session **session,
		     struct npl_err *err);
void npl_session_close(struct npl_session *session); /* accepts NULL */

/* From now on observer sees what each device and the host make, in their formats: tensors of integers with a scale
 * stand for scale * (q - zero_point). Results that leave no device's pass are not seen. NULL: nobody looks. */
void npl_session_observe(struct npl_session *session, const struct npl_value_observer *observer);

/* Whether a layer runs on this device, by its index: what is a view, or left to the host, does not. */
bool npl_session_uses(const struct npl_session *session, int device);
/* Whether any scale of the session comes from calibration: false where the model itself has all scales, or float32 is
 * enough. */
bool npl_session_calibrated(const struct npl_session *session);

/* Whether runs hash the outputs of their layers (they do unless told not to): a timed pass has no use for it. */
void npl_session_hash(struct npl_session *session, bool hash);

enum npl_role {
	NPL_RAN,   /* on ran_on, as a layer of its own */
	NPL_FUSED, /* in the same pass as a layer before it */
	NPL_VIEW,  /* a new shape for the same data: nothing moves */
};

/* One node's share of a run. */
struct npl_layer_run {
	int node;
	enum npl_role role;
	const char *ran_on;      /* npl_device_instance or "host"; borrowed from the session */
	const char *placed_by;   /* the placement rule that put it there; NULL: none did. Of a comparison */
	const char *note;        /* why it is on the host, what it is fused into, or what the host does of it; NULL */
	const char *why_float32; /* why a device of integers ran it in float32, which note says too; NULL: it did not */
	bool host_part;          /* ran on a device, except what the note says; that is in host_seconds */
	/* The counters of result, n_counters of them: the device's table. NULL: it has none. */
	const struct npl_counter_def *counter_def;
	size_t n_counters;
	struct npl_result
		result;      /* the device's part; its energies cover the whole row, host and link included. The row
	                             works result.seconds + host_seconds + link_seconds. */
	double host_seconds; /* modelled host: the operator itself and conversions of number format */
	double host_joules;  /* what the host draws meanwhile; in the energies of result, if it is known */
	double link_seconds;
	uint64_t link_bytes;
	int transfers;
	double start_seconds; /* from the beginning of the batch: its first work begins, */
	double ready_seconds; /* others can read its result, */
	double end_seconds;   /* and it is where the caller takes it, if that does */
	/* Values outside the format when they were converted for this row, its weights and bias too, in every batch.
	 * They are counted in result.saturations. */
	uint64_t clipped;
	enum npl_dtype output_dtype; /* of the output in its own format, and what its integers stand for */
	struct npl_quant output_quant;
	char output_sha256[65]; /* of the output's bytes in its own format; empty in timing_only or unhashed */
};

#define NPL_MAX_RUN_ENERGY 64 /* the components of several machines, of the host and of the links */

/* One batch, or the sum of several (npl_run_add). */
struct npl_run {
	int n_layers;
	struct npl_layer_run *layer; /* one per node of the graph, in its order */
	uint64_t cycles;             /* of all simulated machines used */
	/* Time of the run: device_seconds + host_seconds + link_seconds less what of them overlaps. Batches do not overlap. */
	double seconds;
	double device_seconds, host_seconds, link_seconds; /* sums of the rows */
	double overlap_seconds;                            /* exactly 0 where nothing overlaps */
	uint64_t link_bytes, macs, device_macs;            /* device_macs: without those the host did */
	uint64_t bytes[NPL_MEM_LEVELS];
	uint64_t saturations, overflows;
	uint64_t peak_buffer_bytes; /* of a device's on-chip memory, that layer groups hold at once; 0: not known */
	int n_energy;
	struct npl_energy energy[NPL_MAX_RUN_ENERGY]; /* by component and origin */
	double wall_seconds;                          /* the devices' run() calls, as this computer felt them */
	int n_resources; /* the host, devices and links, with the sums of all batches; none in a single layer */
	struct npl_resource *resource;
	int n_tasks; /* the work of the first batch: the rows' times are those of that, too */
	struct npl_task *task;
};

/* The rows that a run will have, as far as the plan tells them: role, ran_on, note and host_part. Nothing is run; the
 * strings are the session's. */
int npl_session_plan(const struct npl_session *session, struct npl_run *run, struct npl_err *err);

/* Runs one batch. outputs[] (graph->n_outputs, zeroed) gets float32 tensors; run is filled (zeroed before). The strings
 * in run belong to the session and its devices. */
int npl_session_run(struct npl_session *session, const struct npl_tensor *inputs, struct npl_tensor *outputs,
		    struct npl_run *run, struct npl_err *err);

/* Adds another batch of the same session to sum; a zeroed sum becomes a copy. The first batch's hashes and times
 * stay. */
int npl_run_add(struct npl_run *sum, const struct npl_run *run, struct npl_err *err);
/* Recomputes the totals of a run from its rows and overlap_seconds. */
int npl_run_total(struct npl_run *run, struct npl_err *err);
void npl_run_free(struct npl_run *run);

/* The work of a row: of the device, its host and the link. */
double npl_row_seconds(const struct npl_layer_run *row);

/* Whether the host does a row as a whole; its note says why. */
bool npl_row_on_host(const struct npl_layer_run *row);

/* "calibrated:a + modelled:b" without repeats, or "absent"; returns buf. */
const char *npl_energy_origins(const struct npl_energy *energy, int n, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif
