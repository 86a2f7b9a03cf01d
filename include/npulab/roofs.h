/* SPDX-License-Identifier: MIT
 *
 * Roofs (Williams, Waterman and Patterson, CACM 2009): the most that a device can do, limited by its arithmetic and by
 * its memory; and points below them, for layers and networks.
 *
 * Speeds are operations per second, two for a multiply-accumulate, as everywhere in npulab; intensities are
 * multiply-accumulates per byte, as in the TPU's paper: the roof at intensity i is min(peak, 2 i x bytes per second).
 * docs/roofline.md says which bytes count.
 */
#ifndef NPULAB_ROOFS_H
#define NPULAB_ROOFS_H

#include "npulab/device.h"
#include "npulab/system_load.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_roof {
	enum npl_format format;
	double macs_per_second; /* the peak */
	char explanation[160];  /* how a measured roof was found: by which products */
};

/* The roofs of a device. n is 0 where none is known. */
struct npl_roofs {
	enum npl_time_origin origin;
	int n;
	struct npl_roof roof[2];        /* the roof of its own number format first */
	double memory_bytes_per_second; /* INFINITY: no limit; NAN: not known */
	char memory_explanation[200];
	struct npl_system_load load; /* while the roofs were measured; zeroed for a simulated device */
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

#ifdef __cplusplus
}
#endif

#endif
