/* SPDX-License-Identifier: MIT
 *
 * Which input positions windows share along one dimension. The taps of window o are at o * stride + k * dilation -
 * padding; tap k of window o is tap k + a of window o - b, with a / b = stride / dilation in lowest terms, and no
 * other window before it is nearer. */
#include "windows.h"

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

/* Of these, those that no window from `first` on before o has read. */
static struct dn_range new_taps(const struct dn_axis *axis, int64_t o, int64_t first)
{
	bool shared = o - axis->windows >= first && axis->taps < axis->kernel;
	return dn_taps_inside(axis, o, shared ? axis->kernel - axis->taps : 0, axis->kernel);
}

bool dn_all_inside(const struct dn_axis *axis, int64_t o)
{
	int64_t first = dn_tap_at(axis, o, 0);
	return first >= 0 && first + (axis->kernel - 1) * axis->dilation < axis->in;
}

bool dn_all_read(const struct dn_axis *axis)
{
	struct dn_range taps = {0, 1};
	for (int64_t o = 0; o < axis->out && taps.first < taps.end && !dn_all_inside(axis, o); o++)
		taps = dn_taps_inside(axis, o, 0, axis->kernel);
	for (int64_t o = axis->out - 1; o >= 0 && taps.first < taps.end && !dn_all_inside(axis, o); o--)
		taps = dn_taps_inside(axis, o, 0, axis->kernel);
	return taps.first < taps.end;
}

int64_t dn_inner_run(const struct dn_axis *axis, int64_t o)
{
	if (!dn_all_inside(axis, o))
		return 0;
	int64_t room = axis->in - (axis->kernel - 1) * axis->dilation - 1 - dn_tap_at(axis, o, 0);
	int64_t more = room / axis->stride, left = axis->out - 1 - o;
	return 1 + (more < left ? more : left);
}

int64_t dn_least_read(const struct dn_axis *axis, int64_t first, int64_t end, int64_t first_tap, int64_t end_tap)
{
	int64_t least = INT64_MAX;
	for (int64_t o = first; o < end; o++) {
		struct dn_range taps = dn_taps_inside(axis, o, first_tap, end_tap);
		int64_t at = dn_tap_at(axis, o, taps.first);
		if (taps.first < taps.end && at < least)
			least = at;
		if (dn_tap_at(axis, o, first_tap) >= 0)
			break;
	}
	return least;
}

int64_t dn_touched(const struct dn_axis *axis, int64_t first, int64_t end)
{
	if (first >= end)
		return 0;
	int64_t span = (end - 1 - first) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
	int64_t low = dn_tap_at(axis, first, 0), high = low + span;
	if (axis->dilation == 1 && axis->stride <= axis->kernel)
		return (high < axis->in ? high : axis->in) > (low > 0 ? low : 0)
			       ? (high < axis->in ? high : axis->in) - (low > 0 ? low : 0)
			       : 0;
	int64_t count = 0;
	for (int64_t o = first, alike; o < end; o += alike) {
		struct dn_range taps = new_taps(axis, o, first);
		alike = o - axis->windows >= first ? dn_inner_run(axis, o) : 1;
		alike = alike > end - o ? end - o : alike;
		alike = alike > 1 ? alike : 1;
		count += (taps.end - taps.first) * alike;
	}
	return count;
}

int64_t dn_span(const struct dn_axis *axis, int64_t windows)
{
	return (windows - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
}
