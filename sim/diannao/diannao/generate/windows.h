/* SPDX-License-Identifier: MIT
 *
 * Which positions of the input the windows of a layer read, along one dimension. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_WINDOWS_H
#define NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_WINDOWS_H

#include "layer.h"

/* One dimension of a layer's windows, in the sizes of its window. Tap k of window o is tap k + taps of window o -
 * windows, and of none before o that is nearer. */
struct dn_axis {
	int64_t in, out, kernel, stride, dilation, pad;
	int64_t taps, windows;
};
struct dn_axis dn_axis_of(const struct dn_layer *layer, int d);
int64_t dn_tap_at(const struct dn_axis *axis, int64_t o, int64_t tap); /* its input position */
struct dn_range {                                                      /* of taps, end excluded */
	int64_t first, end;
};
/* Those of first..end-1 of window o that lie inside the input. */
struct dn_range dn_taps_inside(const struct dn_axis *axis, int64_t o, int64_t first, int64_t end);
bool dn_all_inside(const struct dn_axis *axis, int64_t o); /* all taps of window o */
bool dn_reads_none(const struct dn_axis *axis, int64_t o, struct dn_range taps);
/* Every window reads something: none has all its taps in the padding. */
bool dn_all_read(const struct dn_axis *axis);
/* Windows from o on that have all taps inside; 0: o has not. */
int64_t dn_inner_windows(const struct dn_axis *axis, int64_t o);
/* Windows from o on, of those before `end`, of which the same ones of taps first_tap..end_tap-1 lie inside the input:
 * some, or none. */
int64_t dn_alike_windows(const struct dn_axis *axis, int64_t o, int64_t end, int64_t first_tap, int64_t end_tap);

/* The least input position that windows first..end-1 read through taps first_tap..end_tap-1; INT64_MAX: none. With gaps
 * between taps a window at the border may read less far down than the next. */
int64_t dn_least_read(const struct dn_axis *axis, int64_t first, int64_t end, int64_t first_tap, int64_t end_tap);

/* The least one from a position on. */
int64_t dn_next_read(const struct dn_axis *axis, int64_t first, int64_t end, int64_t first_tap, int64_t end_tap,
		     int64_t from);
/* The greatest one of all; -1: none. */
int64_t dn_most_read(const struct dn_axis *axis, int64_t first, int64_t end, int64_t first_tap, int64_t end_tap);

/* Different positions that so many windows read through so many taps, in the input or not: those among the first
 * `positions` from the first tap of the first window on. */
int64_t dn_read_below(const struct dn_axis *axis, int64_t windows, int64_t taps, int64_t positions);
/* From the first tap of the first of so many windows to the last of so many taps of the last. */
int64_t dn_extent(const struct dn_axis *axis, int64_t windows, int64_t taps);

#endif
