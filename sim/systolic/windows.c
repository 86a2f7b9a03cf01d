/* SPDX-License-Identifier: MIT
 *
 * Layers with a sliding window on the systolic machines: checks and what of the input they read. */
#include "tpu.h"

struct tpu_windows tpu_windows_of(const struct npl_layer *layer)
{
	return (struct tpu_windows){npl_image_of(&layer->in[0]->shape), npl_image_of(&layer->out->shape),
				    &layer->attrs->window};
}

bool tpu_windows_ok(const struct npl_layer *layer)
{
	int rank = layer->in[0]->shape.rank;
	const struct npl_window *w = &layer->attrs->window;
	if ((rank != 3 && rank != 4) || layer->out->shape.rank != rank)
		return false;
	for (int d = 0; d < NPL_SPATIAL; d++)
		if (w->kernel[d] < 1 || w->stride[d] < 1 || w->dilation[d] < 1 || w->pad_begin[d] < 0 ||
		    w->pad_end[d] < 0)
			return false;
	return true;
}

/* How many positions of the input some window covers along dimension d. */
static int64_t touched(const struct tpu_windows *windows, int d)
{
	const struct npl_window *w = windows->window;
	int64_t count = 0;
	for (int64_t at = 0; at < windows->in.size[d]; at++) {
		bool hit = false;
		for (int64_t k = 0; k < w->kernel[d] && !hit; k++) {
			int64_t start = at + w->pad_begin[d] - k * w->dilation[d];
			hit = start >= 0 && start % w->stride[d] == 0 && start / w->stride[d] < windows->out.size[d];
		}
		count += hit;
	}
	return count;
}

int64_t tpu_touched_pixels(const struct tpu_windows *windows)
{
	return touched(windows, 0) * touched(windows, 1);
}
