/* SPDX-License-Identifier: MIT
 *
 * Images with channels last, (N, ..., C), which cuDNN prefers in 16 bits and integer convolutions in 8: which
 * convolutions use them, and conversion between the orders.
 */
#ifndef NPULAB_BACKENDS_CUDA_PRODUCTS_CHANNELS_LAST_H
#define NPULAB_BACKENDS_CUDA_PRODUCTS_CHANNELS_LAST_H

#include "layer.h"

/* Says whether channels last is tried before ONNX's order, for convolutions in one or two dimensions: of 16-bit floats
 * by cuDNN, on a GPU with tensor cores; of integers always. */
bool cu_layout_wanted(const struct cu_layer *layer);

/* Says whether both orders have the same bytes: one channel, one position, no spatial dimension, or no elements. */
bool cu_layout_is_free(const struct npl_shape *shape);

/* Copies a tensor of this shape on the host from ONNX's order to channels last, or back. */
void cu_layout_turn(const struct npl_shape *shape, size_t element, bool to_last, const void *from, void *to);

#endif
