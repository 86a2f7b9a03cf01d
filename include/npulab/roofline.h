/* SPDX-License-Identifier: MIT
 *
 * Rooflines (Williams, Waterman and Patterson, CACM 2009): the most that a device can do, limited by its arithmetic and
 * by its memory, and how far below that the layers of a network stay.
 *
 *     struct npl_roofline roofline;
 *     if (npl_roofline(graph, &samples, NULL, &options, NPL_INTENSITY_MEMORY, &roofline, &err)) ...
 *     npl_roofline_table(stdout, &roofline, "resnet50"); // report.h
 *     npl_roofline_free(&roofline);
 *
 * Speeds are operations per second, two for a multiply-accumulate, as everywhere in npulab; intensities are
 * multiply-accumulates per byte, as in the TPU's paper: the roof at intensity i is min(peak, 2 i x bytes per second).
 * The roofs of a real device are measured in the call, those of a simulated device follow from its parameters.
 * docs/roofline.md says which bytes count.
 */
#ifndef NPULAB_ROOFLINE_H
#define NPULAB_ROOFLINE_H

#include "npulab/compare.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_roof {
	enum npl_format format;
	double macs_per_second; /* the peak */
	char explanation[160];  /* how a measured roof was found: by which products */
};

/* The bytes that an intensity counts. */
enum npl_intensity {
	/* the bytes that must cross the device's memory: weights alone where that memory holds only weights */
	NPL_INTENSITY_MEMORY,
	NPL_INTENSITY_WEIGHTS, /* the weights of layers with MACs, on every device, as in the TPU's paper */
};

/* A layer, or a whole network. NAN: not applicable or not known. */
struct npl_roofline_point {
	int node; /* node of the graph; -1: the whole network */
	int roof; /* index of the device's roof for its number format; for a network, that of its greatest layer */
	uint64_t macs;
	uint64_t weight_bytes, input_bytes, output_bytes; /* bytes of its tensors, in the layer's number format */
	double bytes;                                     /* the bytes that the intensity counts */
	double crossed_bytes;       /* bytes that the simulated machine's memory moved; NAN: a real device */
	double seconds;             /* seconds of the device alone */
	double macs_per_byte;       /* INFINITY: no byte must cross */
	double ops_per_second;      /* attained */
	double roof_ops_per_second; /* the roof at its intensity */
	/* the share of the roof: the least time that both roofs allow, over the time taken. NAN: the roofs ask for no
	 * time */
	double share;
	bool memory_bound; /* the memory's roof is the lower one */
	/* What limits it: for a simulated machine by its counters (causes.h). For a real device it is the lower roof,
	 * "memory" or "peak", where the layer reaches half of that, else "neither roof". NULL: not known. */
	const char *bound;
};

struct npl_roofline_device {
	const char *name, *sha256; /* sha256 of its machine, "" where it has no parameters */
	const char *instance;      /* as in npl_device_report */
	const char *const *note;   /* n_notes of npl_device_notes */
	int n_notes;
	struct npl_device_info info;
	enum npl_time_origin roofs_origin; /* of the roofs */
	int n_roofs;
	struct npl_roof roof[2];        /* the roof of its own number format first */
	double memory_bytes_per_second; /* INFINITY: no limit; NAN: not known */
	char memory_explanation[200];
	struct npl_system_load load; /* while the roofs were measured; zeroed for a simulated device */
	int n_points;
	struct npl_roofline_point *point;  /* the layers that it ran itself */
	struct npl_roofline_point network; /* the whole network, from a run of its own; without a model n_points is 0 */
	int64_t batches;                   /* batches that the points are sums of */
};

struct npl_roofline {
	const struct npl_graph *graph; /* NULL: roofs alone */
	enum npl_intensity intensity;
	int n_devices;
	struct npl_roofline_device *device;
	struct npl_unavailables unavailable;
	struct npl_arena arena;
};

/* Finds the rooflines of the devices of the options, which must be simulated machines, processors or GPUs (else
 * NPL_EUSAGE). graph NULL: roofs alone, and samples are not read. On a simulated machine every layer runs by itself
 * (npl_plan_options.layer_by_layer), so that no layer gains by weights that were fetched during another; the network
 * runs as usual. calibration as in npl_compare. */
int npl_roofline(struct npl_graph *graph, const struct npl_samples *samples, const struct npl_samples *calibration,
		 const struct npl_compare_options *options, enum npl_intensity intensity, struct npl_roofline *roofline,
		 struct npl_err *err);
void npl_roofline_free(struct npl_roofline *roofline);

/* Returns the name of a roof's number format; for the device's own format that of npl_device_precision. */
const char *npl_roofline_precision(const struct npl_roofline_device *device, int roof);

/* Returns the MACs per byte from which on the peak limits, and not the memory; NAN: not known. */
double npl_roofline_ridge(const struct npl_roofline_device *device, int roof);

#ifdef __cplusplus
}
#endif

#endif
