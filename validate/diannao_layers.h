/* SPDX-License-Identifier: MIT
 *
 * The ten layers of the DianNao paper (Chen et al., ASPLOS 2014, Table 5): their shapes, their ideal cycles, and the
 * run of one of them on a device. Convolutions have stride 1 and no padding (CONV1 gives the input of POOL1), pooling
 * windows do not overlap. */
#ifndef NPULAB_VALIDATE_DIANNAO_LAYERS_H
#define NPULAB_VALIDATE_DIANNAO_LAYERS_H

#include "npulab/device.h"
#include "simd_baseline.h"

enum npl_diannao_kind { NPL_DIANNAO_CLASS, NPL_DIANNAO_CONV, NPL_DIANNAO_POOL };

struct npl_diannao_layer {
	const char *name; /* "*": private kernels */
	enum npl_diannao_kind kind;
	struct npl_simd_layer shape; /* shape; a classifier has one position */
};

enum {
	NPL_DIANNAO_CLASS1,
	NPL_DIANNAO_CLASS3,
	NPL_DIANNAO_CONV1,
	NPL_DIANNAO_CONV2,
	NPL_DIANNAO_CONV3,
	NPL_DIANNAO_CONV4,
	NPL_DIANNAO_CONV5,
	NPL_DIANNAO_POOL1,
	NPL_DIANNAO_POOL3,
	NPL_DIANNAO_POOL5,
	NPL_DIANNAO_LAYERS
};
extern const struct npl_diannao_layer npl_diannao_layers[NPL_DIANNAO_LAYERS];

/* Returns the number of products, or of pooled inputs. */
double npl_diannao_operations(const struct npl_diannao_layer *layer);

/* Ideal cycles: those with all operands at hand and Tn x Tn multipliers. The paper does not define them, so there are
 * two readings. STEPS counts Tn inputs by Tn outputs a cycle, both rounded up to whole rows, and for pooling whole
 * windows of Tn maps a cycle, rounded up as well. OTHER divides the operations by what can be done in a cycle, Tn x Tn
 * products or for pooling Tn inputs, with nothing rounded up. */
enum npl_diannao_ideal { NPL_DIANNAO_STEPS, NPL_DIANNAO_OTHER };
double npl_diannao_ideal(const struct npl_diannao_layer *layer, enum npl_diannao_ideal reading, double tn);

/* Runs the layer without values for its time and counters. *supported is false where the device does not run it, with
 * the reason in `reason`. */
int npl_diannao_run(struct npl_device *device, const struct npl_diannao_layer *layer, struct npl_result *result,
		    bool *supported, char *reason, size_t reason_bytes, struct npl_err *err);

#endif
