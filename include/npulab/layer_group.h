/* SPDX-License-Identifier: MIT
 *
 * Layers that follow each other on one device and run as one task: a machine with programs can then fetch weights ahead
 * across layers, keep values between layers on chip and do several layers in one pass. A layer group is opened once and
 * run often.
 *
 * A tensor is identified by its address. An input that is an earlier layer's `out` is that layer's result; every other
 * input except weights is a given tensor, which comes from outside. The outputs of the group are outs that are read
 * after the run. Given tensors and outputs have data when the group runs. Weights and biases (in[1], in[2] of Conv and
 * Gemm) and other constants have data from opening to closing: a given tensor that has data when the group is opened is
 * such a constant. All other tensors between layers need no data.
 *
 *     struct npl_layer_group group = {.n = n, .layer = layers, .n_outputs = 1, .output = &y};
 *     if (npl_device_open_layer_group(device, &group, &opened, &err)) ...
 *     npl_device_run_layer_group(opened, NULL, results, &err); // results[n], zeroed
 *     npl_device_close_layer_group(opened);
 */
#ifndef NPULAB_LAYER_GROUP_H
#define NPULAB_LAYER_GROUP_H

#include "npulab/layer.h"
#include "npulab/result.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_layer_group {
	int n;
	/* Borrowed, with all that they point to, until the layer group is closed. */
	const struct npl_layer *const *layer;
	int n_outputs;
	const struct npl_tensor *const *output;
	/* Given tensors come over the link within the group's cycles, except those that are resident. */
	bool inputs_over_link;
	/* Given tensors that are on the device already, such as the state of a recurrent network; borrowed while the
	 * group is opened. */
	int n_resident;
	const struct npl_tensor *const *resident;
	/* Outputs leave over the link within the group's cycles. */
	bool outputs_over_link;
	int n_constant; /* given tensors whose data is the same in every run: a device may keep them on chip */
	const struct npl_tensor *const *constant; /* borrowed while the layer group is opened */
	bool timing_only;
	/* The number of each layer in a network of n_nodes, for npl_layer_group_progress. NULL: layers are numbered
	 * within the layer group. */
	const int *node;
	int n_nodes; /* node is borrowed until the layer group is closed */
};

/* Notes as progress (npulab/progress.h) that the device has reached this layer. */
void npl_layer_group_progress(const struct npl_layer_group *group, int layer);

/* How the device runs the group. The layer group owns the arrays. A pass is work that the device does in one go, such
 * as a convolution with the activation after it; the index of one of its layers identifies it. Layers of one pass hand
 * values to each other inside the device. */
struct npl_layer_group_info {
	/* For each layer, the pass that makes its results, often the layer itself; -1: the layer does no work, as a
	 * view. */
	const int *pass;
	/* For each layer, the pass that reads its inputs. NULL: each layer ends in the pass in which it begins. */
	const int *first_pass;
	int n_transfers; /* inputs and outputs of the group that cross the link within the cycles */
	const struct npl_tensor *const *transfer;
	/* for each of these, the bytes that cross the link before or after the cycles */
	const uint64_t *bytes_outside;
	uint64_t peak_buffer_bytes; /* the most bytes of the device's on-chip memory that are in use at once */
};

/* on_result() is called during a run for each result that is in the device's memory as a whole and no output of the
 * group. `result` is its index in layer->out; `out` holds it for the length of the call. If on_result() does not return
 * 0, the run ends with that code. */
struct npl_layer_group_observer {
	int (*on_result)(void *context, int layer, int result, const struct npl_tensor *out, struct npl_err *err);
	void *context;
};

#ifdef __cplusplus
}
#endif

#endif
