/* SPDX-License-Identifier: MIT
 *
 * In which order images lie on the GPU. cuDNN's convolutions in 16 bits want their channels last: (N, ..., C), so that
 * neighbours in memory are what a tensor core sums over; images that lie as ONNX has them it would turn before and
 * after each convolution. So a layer group keeps images with channels last from one such convolution to the next,
 * through all layers that do not care, and turns a tensor where somebody needs it otherwise: once, in the time of the
 * first layer that does, or with the change of type of what comes and goes. Shapes stay ONNX's everywhere, and the host
 * sees its own order only.
 */
#ifndef NPULAB_BACKENDS_CUDA_LAYER_GROUP_LAYOUT_H
#define NPULAB_BACKENDS_CUDA_LAYER_GROUP_LAYOUT_H

#include "layer.h"

struct cu_layer_group;

/* Decides, when layers are open and the layer group knows who reads what: `channels_last` of what it holds, read_last
 * of its layers' inputs, and which tensors have a copy in the other order, at which steps. */
void cu_layout_plan(struct cu_layer_group *group);

/* The held tensor whose memory and order h has: where it gives another the same shape, that one, else itself. */
int cu_layout_owner(const struct cu_layer_group *group, int h);
/* Whether h's elements must be turned before the host has them, or after. */
bool cu_layout_differs_from_onnx(const struct cu_layer_group *group, int h);

#endif
