/* SPDX-License-Identifier: MIT
 *
 * Translates layers into the machine's terms. `model_layer` is the layer as a device gets it. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_LAYER_H
#define NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_LAYER_H

#include "sim/diannao/diannao/dn.h"
#include "sim/diannao/nfu/segments.h"

/* What NFU-2 makes of the values of a window. */
enum dn_kind { DN_SUM, DN_MAX, DN_AVERAGE };

/* The factor of LRN (lrn.c) is a 1x1 convolution whose kernels and biases the driver makes. For each output map the
 * kernel has this synapse for the output's own map, for `maps_below` maps below it and `maps_above` maps above it, and
 * 0 for the others. All outputs have the same bias. */
struct dn_lrn {
	bool present;
	int64_t maps_below, maps_above;
	int16_t synapse;
	int32_t bias;
	int raised; /* NFU-3's function is 2^raised times the factor */
};

/* A layer as the machine sees it. For each image, group and output position, a window of taps times ni input maps gives
 * `no` outputs. A Gemm is a convolution with a 1x1 window over one line of positions. A function alone is applied to
 * the maximum of one value. */
struct dn_layer {
	enum dn_kind kind;
	int64_t images, groups;
	int64_t ni, no; /* maps of one group; the two are equal except for DN_SUM */
	int64_t in[NPL_SPATIAL], out[NPL_SPATIAL];
	struct npl_window window;
	bool private_kernels; /* every position has a kernel of its own */
	bool bias;
	bool activates; /* NFU-3 applies `function`; if false, the identity */
	bool raw;       /* the 32-bit sums leave as they are */
	int shift;      /* right shift from the scale of NFU-2's result to the scale at which NFU-3 works */
	struct dn_function function;
	int result_shift; /* right shift from NFU-3's scale to the output's */
	struct dn_lrn lrn;
	struct dn_layout {
		int64_t image, map, y, x; /* distance in elements from one to the next */
	} input_layout, output_layout;
};

/* Translates a layer. Returns false with the reason in `reason` when the machine cannot do the layer; `reason` as in
 * npl_driver.supports. */
bool dn_layer_of(const struct dn_config *config, const struct npl_layer *model_layer, struct dn_layer *layer,
		 char *reason, size_t reason_bytes);
int64_t dn_taps(const struct dn_layer *layer);      /* positions of the window */
int64_t dn_positions(const struct dn_layer *layer); /* output positions of one map */
/* These return ceil(maps / Tn), of the input maps and of the output maps. */
int64_t dn_in_rows(const struct dn_config *config, const struct dn_layer *layer);
int64_t dn_out_rows(const struct dn_config *config, const struct dn_layer *layer);

/* lrn.c: makes the layer of LRN's factor, except what depends on the output's scale. x and w are the log2 of the scales
 * of its input and of the synapses that are made. Returns false with the reason in `reason`. */
bool dn_lrn_of(const struct dn_config *config, const struct npl_layer *model_layer, int x, struct dn_layer *layer,
	       int *w, char *reason, size_t reason_bytes);
uint64_t dn_lrn_pairs(const struct dn_layer *layer); /* maps in the windows of all maps */
/* Allocates and fills kernels (no, ni) and biases (no). */
int dn_lrn_operands(const struct dn_layer *layer, struct npl_tensor *kernels, struct npl_tensor *biases,
		    struct npl_err *err);

#endif
