/* SPDX-License-Identifier: MIT
 *
 * Plans the order of images in the GPU's memory. cuDNN's 16-bit convolutions are fastest with channels last, (N, ...,
 * C), because a tensor core sums over neighbours in memory; cuDNN would convert images in ONNX's order before and after
 * each convolution. Patches of integer convolutions are copied in pieces of neighbouring channels, and neighbouring
 * sums become neighbouring results. A layer group therefore keeps images with channels last from one such convolution
 * to the next, through all layers that take either order. Where a layer needs the other order, the tensor is converted
 * once. The conversion counts in the time of the first layer that needs it, or in the transfer when the tensor comes
 * from or goes to the host. Shapes stay ONNX's everywhere, and the host sees ONNX's order only.
 */
#ifndef NPULAB_BACKENDS_CUDA_LAYER_GROUP_LAYOUT_H
#define NPULAB_BACKENDS_CUDA_LAYER_GROUP_LAYOUT_H

#include "layer.h"

struct cu_layer_group;

/* Chooses the order of every tensor once all layers are open. Sets `channels_last` and the steps of the copy in
 * the other order in each tensor, and the group's read_last for each layer input. */
void cu_layout_plan(struct cu_layer_group *group);

/* Returns the tensor from which a layer reads h: the root of h if both have the same shape, else h itself. */
int cu_layout_owner(const struct cu_layer_group *group, int h);
/* Says whether the memory that h names is in another order than ONNX's, so that its elements must be reordered on the
 * way to or from the host. */
bool cu_layout_differs_from_onnx(const struct cu_layer_group *group, int h);

#endif
