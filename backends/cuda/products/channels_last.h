/* SPDX-License-Identifier: MIT
 *
 * Images with channels last, (N, ..., C), as cuDNN wants them in 16 bits: which convolutions are done so, and how an
 * image is turned.
 */
#ifndef NPULAB_BACKENDS_CUDA_PRODUCTS_CHANNELS_LAST_H
#define NPULAB_BACKENDS_CUDA_PRODUCTS_CHANNELS_LAST_H

#include "layer.h"

/* Whether a convolution is tried with channels last before it is done as ONNX has it: one of 16 bits in one or two
 * dimensions, by cuDNN on a GPU with tensor cores. */
bool cu_layout_wanted(const struct cu_layer *layer);

/* Both orders are the same bytes: one channel, one position, no third dimension, or nothing at all. */
bool cu_layout_is_free(const struct npl_shape *shape);

/* On the host: the elements of a tensor of this shape, as ONNX has them, with channels last, or back. */
void cu_layout_turn(const struct npl_shape *shape, size_t element, bool to_last, const void *from, void *to);

#endif
