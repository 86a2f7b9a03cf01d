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
 * The roofs of a real device are measured in the call, those of a simulated device follow from its parameters.
 */
#ifndef NPULAB_ROOFLINE_H
#define NPULAB_ROOFLINE_H

#include "npulab/compare.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_roofline_device {
	const char *name, *sha256; /* sha256 of its machine, "" where it has no parameters */
	const char *instance;      /* as in npl_device_report */
	const char *const *note;   /* n_notes of npl_device_notes */
	int n_notes;
	struct npl_device_info info;
	struct npl_roofs roofs;
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

/* Finds the point of a layer that a device ran itself, from its row of a run of `batches` batches. info: of the device.
 * Without roofs there is no roof_ops_per_second and no share. */
void npl_roofline_point_of(const struct npl_graph *graph, const struct npl_device_info *info,
			   const struct npl_roofs *roofs, const struct npl_layer_run *row, int64_t batches,
			   enum npl_intensity intensity, struct npl_roofline_point *point);

/* Returns the name of a roof's number format; for the device's own format that of npl_device_precision. */
const char *npl_roofline_precision(const struct npl_roofline_device *device, int roof);

/* Returns the MACs per byte from which on the peak limits, and not the memory; NAN: not known. */
double npl_roofline_ridge(const struct npl_roofline_device *device, int roof);

#ifdef __cplusplus
}
#endif

#endif
