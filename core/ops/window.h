/* SPDX-License-Identifier: MIT
 *
 * Sliding windows: the arithmetic that convolution, pooling and every device that runs them share. Output
 * position o reads, for the kernel's element `tap`, the input position o * stride - pad_begin + tap * dilation;
 * positions outside the input are padding. Windows here are resolved: the shape rule has replaced auto_pad by
 * pads. One-dimensional tensors are images of height 1.
 */
#ifndef NPULAB_CORE_OPS_WINDOW_H
#define NPULAB_CORE_OPS_WINDOW_H

#include "npulab/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor (N,C,W), (N,C,H,W) or (N,C,D,H,W) as the kernels see it. */
struct npl_image {
	int64_t images, channels;
	int64_t size[NPL_VOLUME]; /* height, width, depth: 1 where the tensor has none */
};
struct npl_image npl_image_of(const struct npl_shape *shape);
/* Returns the index in the arrays of a window or an image of the i-th of a model's `rank` spatial dimensions. */
static inline int npl_window_index(int rank, int i)
{
	return rank < NPL_VOLUME ? NPL_SPATIAL - rank + i : i ? i - 1 : NPL_DEPTH;
}

/* Returns how many input positions one window spans along dimension d, dilation included. */
int64_t npl_window_extent(const struct npl_window *window, int d);
/* Returns the output size along dimension d for an input of this size; 0 when the window does not fit. With ceil_mode a
 * last window that would start in the padding at the end is dropped, as PyTorch and later ONNX versions define. */
int64_t npl_window_output(const struct npl_window *window, int d, int64_t input);
/* Gives the output positions first <= o < end (within 0..output) for which the tap is inside the input. */
void npl_window_range(const struct npl_window *window, int d, int64_t tap, int64_t input, int64_t output,
		      int64_t *first, int64_t *end);
/* Returns how many input positions along dimension d the first `output` windows cover. */
int64_t npl_window_touched(const struct npl_window *window, int d, int64_t input, int64_t output);

#ifdef __cplusplus
}
#endif

#endif
