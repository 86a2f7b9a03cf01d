/* SPDX-License-Identifier: MIT
 *
 * One layer on the GPU: chooses a method for it, prepares it once and runs it often.
 */
#ifndef NPULAB_BACKENDS_CUDA_LAYER_GROUP_LAYER_H
#define NPULAB_BACKENDS_CUDA_LAYER_GROUP_LAYER_H

#include "backends/cuda/products/layer.h"

/* Says whether the device can run the layer; if not, `reason` says why. */
bool cu_layer_supports(const struct cu_device *device, const struct npl_layer *layer, char *reason,
		       size_t reason_bytes);

/* Prepares a layer that cu_layer_supports accepts. resident[k] says that input k (1 or 2) is a weight or bias that has
 * data now and stays on the GPU; every other input is given on each run. `is_view` says that the layer only gives data
 * another shape. */
int cu_layer_open(const struct cu_device *device, const struct npl_layer *layer, const bool *resident, bool is_view,
		  struct cu_layer *handle, struct npl_err *err);
void cu_layer_close(struct cu_layer *layer); /* accepts a zeroed one */

/* Queues the layer in the device's stream. in[k] is the value of layer->in[k]; out[0] and its successors are the
 * results. `scratch` is the address of at least scratch_bytes. */
int cu_layer_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		 struct npl_err *err);

/* Says whether in[1] and in[2] are weights if they have data before the layer group runs: those of a Conv, or of a Gemm
 * of rows times a matrix (N,K) with one bias per column. */
bool cu_layer_weighs(const struct cu_device *device, const struct npl_layer *layer);

/* Says whether the layer reads input k from the GPU on each run. */
bool cu_layer_reads(const struct cu_layer *layer, int k);

#endif
