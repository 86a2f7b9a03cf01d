/* SPDX-License-Identifier: MIT
 *
 * Any layer on the GPU: which way it goes, prepared once and run often.
 */
#ifndef NPULAB_BACKENDS_CUDA_LAYER_GROUP_LAYER_H
#define NPULAB_BACKENDS_CUDA_LAYER_GROUP_LAYER_H

#include "backends/cuda/products/layer.h"

/* Can the device run the layer, and if not, why? */
bool cu_layer_takes(const struct cu_device *device, const struct npl_layer *layer, char *why, size_t n);

/* Prepares a layer that is taken. resident[k]: input k (1, 2) is a weight or bias with data now, that stays on the GPU;
 * else it is a value like any other. `names` only: the layer gives data another shape. */
int cu_layer_open(const struct cu_device *device, const struct npl_layer *layer, const bool *resident, bool names,
		  struct cu_layer *made, struct npl_err *err);
void cu_layer_close(struct cu_layer *layer); /* accepts a zeroed one */

/* Puts the layer into the device's stream. in[k] as layer->in[k], out[0] and on its results, scratch at least
 * scratch_bytes. */
int cu_layer_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		 struct npl_err *err);

/* Whether in[1] and in[2], where they have data before the layer group runs, are weights: a Conv's, or those of rows
 * times a matrix (N,K) with one bias per column. */
bool cu_layer_weighs(const struct cu_device *device, const struct npl_layer *layer);

/* Whether input k must be on the GPU. */
bool cu_layer_reads(const struct cu_layer *layer, int k);

#endif
