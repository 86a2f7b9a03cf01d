/* SPDX-License-Identifier: MIT
 *
 * Which input positions windows share along one dimension. The taps of window o are at o * stride + k * dilation -
 * padding; tap k of window o is tap k + a of window o - b, with a / b = stride / dilation in lowest terms, and no
 * other window before it is nearer. */
#include "schedule.h"

static int64_t ceil_div(int64_t a, int64_t b)
{
	return a <= 0 ? -(-a / b) : (a + b - 1) / b;
}

struct dn_axis dn_axis_of(const struct dn_work *work, int d)
{
	const struct npl_window *w = &work->window;
	int64_t common = npl_gcd(w->stride[d], w->dilation[d]);
	return (struct dn_axis){.in = work->in[d],
				.out = work->out[d],
				.kernel = w->kernel[d],
				.stride = w->stride[d],
				.dilation = w->dilation[d],
				.pad = w->pad_begin[d],
				.taps = w->stride[d] / common,
				.windows = w->dilation[d] / common};
}

int64_t dn_span(const struct dn_axis *axis, int64_t first, int64_t end)
{
	return (end - 1 - first) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
}

int64_t dn_tap_at(const struct dn_axis *axis, int64_t o, int64_t tap)
{
	return o * axis->stride + tap * axis->dilation - axis->pad;
}

struct dn_range dn_taps_inside(const struct dn_axis *axis, int64_t o, int64_t first, int64_t end)
{
	int64_t low = axis->pad - o * axis->stride, high = low + axis->in;
	if (axis->dilation > 1) {
		low = ceil_div(low, axis->dilation);
		high = ceil_div(high, axis->dilation);
	}
	struct dn_range taps = {first > low ? first : low, end < high ? end : high};
	if (taps.end < taps.first)
		taps.end = taps.first;
	return taps;
}

struct dn_range dn_new_taps(const struct dn_axis *axis, int64_t o, int64_t first)
{
	bool shared = o - axis->windows >= first && axis->taps < axis->kernel;
	return dn_taps_inside(axis, o, shared ? axis->kernel - axis->taps : 0, axis->kernel);
}

struct dn_range dn_last_taps(const struct dn_axis *axis, int64_t o, int64_t end)
{
	bool shared = o + axis->windows < end && axis->taps < axis->kernel;
	return dn_taps_inside(axis, o, 0, shared ? axis->taps : axis->kernel);
}

struct dn_held dn_held(const struct dn_config *config, const struct dn_axis axis[NPL_SPATIAL], int64_t in_rows,
		       int64_t first, int64_t end)
{
	int64_t width = dn_span(&axis[1], first, end) * in_rows, rows = config->nbin_rows;
	return (struct dn_held){.rows_slide = width <= rows / dn_span(&axis[0], 0, 1),
				.all_fits = width <= rows / dn_span(&axis[0], 0, axis[0].out)};
}
