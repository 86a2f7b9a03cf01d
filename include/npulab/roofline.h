/* SPDX-License-Identifier: MIT
 *
 * Rooflines (Williams, Waterman and Patterson, CACM 2009): what a device can do at most, by its arithmetic and by its
 * memory, and where the layers of a network lie below that.
 *
 *     struct npl_roofline roofline;
 *     if (npl_roofline(graph, &samples, NULL, &options, NPL_INTENSITY_MEMORY, &roofline, &err)) ...
 *     npl_roofline_table(stdout, &roofline, "resnet50"); // report.h
 *     npl_roofline_free(&roofline);
 *
 * Speeds are operations per second, two for a multiply-accumulate, as everywhere in npulab; intensities are
 * multiply-accumulates per byte, as in the TPU's paper: the roof at intensity i is min(peak, 2 i x bytes per second).
 * Roofs of real devices are measured here and now, those of simulated ones are their parameters. docs/roofline.md says
 * which bytes count.
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
	char how[160];          /* of a measured one: which products */
};

/* Which bytes an intensity is of. */
enum npl_intensity {
	/* those that must cross the device's memory: only weights where that holds only weights */
	NPL_INTENSITY_MEMORY,
	NPL_INTENSITY_WEIGHTS, /* those of the weights of layers with MACs, on every device, as in the TPU's paper */
};

/* A layer, or a whole network. NAN: not applicable or not known. */
struct npl_roofline_point {
	int node; /* of the graph; -1: the whole network */
	int roof; /* which of the device's: of its number format; of a network that of its greatest layer */
	uint64_t macs;
	uint64_t weight_bytes, input_bytes, output_bytes; /* of its tensors, in the layer's number format */
	double bytes;                                     /* those that the intensity is of */
	double crossed_bytes;       /* those that the simulated machine's memory did move; NAN: a real device */
	double seconds;             /* of the device alone */
	double macs_per_byte;       /* INFINITY: no byte must cross */
	double ops_per_second;      /* attained */
	double roof_ops_per_second; /* at its intensity */
	/* of the roof: the least time that both roofs allow, over the time taken. NAN: they ask for none */
	double share;
	bool memory_bound; /* the memory is the lower of its roofs */
	/* What limits it. A simulated machine: by its counters (causes.h). A real device: "memory" or "peak", the lower
	 * roof, where the layer reaches half of it, else "neither roof". NULL: not known. */
	const char *bound;
};

struct npl_roofline_device {
	const char *name, *sha256; /* sha256 of its machine; "" */
	const char *instance;      /* as in npl_device_report */
	const char *const *note;   /* n_notes of npl_device_notes */
	int n_notes;
	struct npl_device_info info;
	enum npl_time_origin roofs_origin; /* of the roofs */
	int n_roofs;
	struct npl_roof roof[2];        /* that of its own format first */
	double memory_bytes_per_second; /* INFINITY: no limit; NAN: not known */
	char memory_how[200];
	struct npl_system_load load; /* while the roofs were measured; zeroed for a simulated device */
	int n_points;
	struct npl_roofline_point *point;  /* of the layers that it ran itself */
	struct npl_roofline_point network; /* their sum, in a run of the whole; without a model n_points is 0 */
	int64_t batches;                   /* that the points are sums of */
};

struct npl_roofline {
	const struct npl_graph *graph; /* NULL: roofs alone */
	enum npl_intensity intensity;
	int n_devices;
	struct npl_roofline_device *device;
	struct npl_unavailables unavailable;
	struct npl_arena arena;
};

/* The devices of the options, which must be simulated ones, processors or GPUs (NPL_EUSAGE). graph NULL: roofs alone,
 * samples are not looked at. Of a simulated machine every layer runs by itself (npl_session_options.layer_by_layer), so
 * that no layer takes credit for weights that came during another; the network runs as always. calibration as in
 * npl_compare. */
int npl_roofline(struct npl_graph *graph, const struct npl_samples *samples, const struct npl_samples *calibration,
		 const struct npl_compare_options *options, enum npl_intensity intensity, struct npl_roofline *roofline,
		 struct npl_err *err);
void npl_roofline_free(struct npl_roofline *roofline);

/* The number format of a roof by its name: of the device's own that which npl_device_precision says. */
const char *npl_roofline_precision(const struct npl_roofline_device *device, int roof);

/* MACs per byte from which on the peak and not the memory is the limit; NAN: not known. */
double npl_roofline_ridge(const struct npl_roofline_device *device, int roof);

#ifdef __cplusplus
}
#endif

#endif
