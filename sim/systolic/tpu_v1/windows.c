/* SPDX-License-Identifier: MIT
 *
 * What layers with a sliding window read of their input. */
#include "tpu.h"

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
