/* SPDX-License-Identifier: MIT
 *
 * Finds which input positions windows share along one dimension. The taps of window o are at o * stride + k * dilation
 * - padding. Tap k of window o is tap k + a of window o - b, with a / b = stride / dilation in lowest terms; of the
 * windows before o this is the nearest that shares the tap. */
#include "windows.h"

#include "core/base/arith.h"

struct dn_axis dn_axis_of(const struct dn_layer *layer, int d)
{
	const struct npl_window *w = &layer->window;
	int64_t common = npl_gcd(w->stride[d], w->dilation[d]);
	return (struct dn_axis){.in = layer->in[d],
				.out = layer->out[d],
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
		low = npl_div_up_i64(low, axis->dilation);
		high = npl_div_up_i64(high, axis->dilation);
	}
	struct dn_range taps = {first > low ? first : low, end < high ? end : high};
	if (taps.end < taps.first)
		taps.end = taps.first;
	return taps;
}

bool dn_reads_none(const struct dn_axis *axis, int64_t o, struct dn_range taps)
{
	taps = dn_taps_inside(axis, o, taps.first, taps.end);
	return taps.first == taps.end;
}

bool dn_all_inside(const struct dn_axis *axis, int64_t o)
{
	int64_t first = dn_tap_at(axis, o, 0);
	return first >= 0 && first + (axis->kernel - 1) * axis->dilation < axis->in;
}

/* Returns the first window whose tap `tap` is at `position` or after it. */
static int64_t first_window(const struct dn_axis *axis, int64_t tap, int64_t position)
{
	return npl_div_up_i64(position + axis->pad - tap * axis->dilation, axis->stride);
}

/* Returns how many windows from o on, before `end`, read nothing through these taps. A tap below the input comes into
 * the input before taps of lower numbers do, unless its windows step over the input. */
static int64_t empty_run(const struct dn_axis *axis, int64_t o, int64_t end, int64_t first_tap, int64_t end_tap)
{
	const int64_t taps_below = npl_div_up_i64(axis->pad - o * axis->stride, axis->dilation);
	for (int64_t tap = npl_min_i64(taps_below, end_tap) - 1; tap >= first_tap; tap--) {
		const int64_t next = first_window(axis, tap, 0);
		if (next >= end)
			break;
		if (dn_tap_at(axis, next, tap) < axis->in)
			return next - o;
	}
	return end - o;
}

int64_t dn_alike_windows(const struct dn_axis *axis, int64_t o, int64_t end, int64_t first_tap, int64_t end_tap)
{
	const struct dn_range taps = dn_taps_inside(axis, o, first_tap, end_tap);
	if (taps.first == taps.end)
		return empty_run(axis, o, end, first_tap, end_tap);
	int64_t alike_end = npl_min_i64(end, first_window(axis, taps.end - 1, axis->in));
	if (taps.first > first_tap)
		alike_end = npl_min_i64(alike_end, first_window(axis, taps.first - 1, 0));
	return alike_end - o;
}

bool dn_all_read(const struct dn_axis *axis)
{
	for (int64_t o = 0; o < axis->out;) {
		const struct dn_range taps = dn_taps_inside(axis, o, 0, axis->kernel);
		if (taps.first == taps.end)
			return false;
		/* Without gaps as wide as the input, only windows at the ends can be empty. */
		o = axis->dilation <= axis->in && o + 1 < axis->out
			    ? axis->out - 1
			    : o + dn_alike_windows(axis, o, axis->out, 0, axis->kernel);
	}
	return true;
}

int64_t dn_inner_windows(const struct dn_axis *axis, int64_t o)
{
	if (!dn_all_inside(axis, o))
		return 0;
	int64_t space = axis->in - (axis->kernel - 1) * axis->dilation - 1 - dn_tap_at(axis, o, 0);
	int64_t fitting = space / axis->stride, windows_left = axis->out - 1 - o;
	return 1 + (fitting < windows_left ? fitting : windows_left);
}

int64_t dn_next_read(const struct dn_axis *axis, int64_t first, int64_t end, int64_t first_tap, int64_t end_tap,
		     int64_t from)
{
	int64_t next = INT64_MAX;
	if (first >= end || first_tap >= end_tap)
		return next;
	from = npl_max_i64(from, 0);
	const int64_t lowest = dn_tap_at(axis, first, first_tap);
	if (lowest >= from)
		return lowest < axis->in ? lowest : next;
	for (int64_t tap = first_tap; tap < end_tap && next > from; tap++) {
		const int64_t o = npl_max_i64(first, first_window(axis, tap, from)), index = dn_tap_at(axis, o, tap);
		if (o < end && index < axis->in)
			next = npl_min_i64(next, index);
	}
	return next;
}

int64_t dn_least_read(const struct dn_axis *axis, int64_t first, int64_t end, int64_t first_tap, int64_t end_tap)
{
	return dn_next_read(axis, first, end, first_tap, end_tap, 0);
}

int64_t dn_most_read(const struct dn_axis *axis, int64_t first, int64_t end, int64_t first_tap, int64_t end_tap)
{
	int64_t highest_read = -1;
	if (first >= end || first_tap >= end_tap)
		return highest_read;
	const int64_t highest = dn_tap_at(axis, end - 1, end_tap - 1);
	if (highest < axis->in)
		return npl_max_i64(highest, highest_read);
	for (int64_t tap = end_tap - 1; tap >= first_tap && highest_read < axis->in - 1; tap--) {
		const int64_t o = npl_min_i64(end, first_window(axis, tap, axis->in)) - 1;
		if (o >= first)
			highest_read = npl_max_i64(highest_read, dn_tap_at(axis, o, tap));
	}
	return highest_read;
}

/* Taps whose distance is a multiple of `taps` fall on the same positions in windows whose distance is that multiple of
 * `windows` (windows.h); other taps never do. So positions are counted for each such class of taps, in strides. */
int64_t dn_read_below(const struct dn_axis *axis, int64_t windows, int64_t taps, int64_t positions)
{
	const int64_t stride = axis->stride;
	int64_t count = 0;
	if (positions <= 0 || windows <= 0)
		return 0;
	if (axis->dilation == 1 && stride <= taps)
		return npl_min_i64(positions, (windows - 1) * stride + taps);
	if (axis->dilation == 1)
		return npl_min_i64(positions / stride * taps + npl_min_i64(positions % stride, taps), windows * taps);
	for (int64_t tap = 0; tap < npl_min_i64(taps, axis->taps) && tap * axis->dilation < positions; tap++) {
		const int64_t strides = npl_div_up_i64(positions - tap * axis->dilation, stride);
		const int64_t class_taps = npl_div_up_i64(taps - tap, axis->taps), class_step = axis->windows;
		if (windows >= class_step || class_taps == 1)
			count += npl_min_i64(strides, (class_taps - 1) * class_step + windows);
		else
			count += npl_min_i64(strides / class_step, class_taps) * windows +
				 (strides / class_step < class_taps ? npl_min_i64(strides % class_step, windows) : 0);
	}
	return count;
}

int64_t dn_extent(const struct dn_axis *axis, int64_t windows, int64_t taps)
{
	return (windows - 1) * axis->stride + (taps - 1) * axis->dilation + 1;
}
