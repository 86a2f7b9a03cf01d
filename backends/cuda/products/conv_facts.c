/* SPDX-License-Identifier: MIT
 *
 * Facts about a convolution that several of its methods need (layer.h). */
#include "core/ops/window.h"
#include "layer.h"

bool cu_conv_is_pointwise(const struct cu_layer *layer)
{
	const struct npl_window *window = &layer->layer->attrs->conv.window;
	if (layer->conv.plane != layer->conv.pixels)
		return false;
	for (int i = 0; i < window->rank; i++) {
		int d = npl_window_index(window->rank, i);
		if (window->kernel[d] != 1 || window->stride[d] != 1 || window->pad_begin[d] || window->pad_end[d])
			return false;
	}
	return true;
}

uint32_t cu_conv_padding(const struct cu_layer *layer)
{
	return ((uint32_t)layer->layer->in[0]->quant.zero_point & 0xff) ^ (uint32_t)layer->conv.flip;
}
