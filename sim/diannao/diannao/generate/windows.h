/* SPDX-License-Identifier: MIT
 *
 * Finds which positions of the input the windows of a layer read along one dimension. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_WINDOWS_H
#define NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_WINDOWS_H

#include "layer.h"

/* One dimension of a layer's windows; sizes are those of its window. Tap k of window o reads the same position as tap k
 * + taps of window o - windows, and no window before o that is nearer shares a position with it. */
struct dn_axis {
	int64_t in, out, kernel, stride, dilation, pad;
	int64_t taps, windows;
};
struct dn_axis dn_axis_of(const struct dn_layer *layer, int d);
int64_t dn_tap_at(const struct dn_axis *axis, int64_t o, int64_t tap); /* the input position of tap `tap` of window o */
struct dn_range {                                                      /* a range of taps, whose end is excluded */
	int64_t first, end;
};
/* Returns which of the taps first..end-1 of window o are inside the input. */
struct dn_range dn_taps_inside(const struct dn_axis *axis, int64_t o, int64_t first, int64_t end);
bool dn_all_inside(const struct dn_axis *axis, int64_t o); /* says whether all taps of window o are inside the input */
bool dn_reads_none(const struct dn_axis *axis, int64_t o, struct dn_range taps);
/* Says whether every window reads something, so that none has all its taps in the padding. */
bool dn_all_read(const struct dn_axis *axis);
/* Returns how many consecutive windows from o on have all taps inside the input; 0: window o has not. */
int64_t dn_inner_windows(const struct dn_axis *axis, int64_t o);
/* Returns how many consecutive windows from o on, before `end`, have the same ones of taps first_tap..end_tap-1 inside
 * the input, be it some or none. */
int64_t dn_alike_windows(const struct dn_axis *axis, int64_t o, int64_t end, int64_t first_tap, int64_t end_tap);

/* Returns the least input position that windows first..end-1 read through taps first_tap..end_tap-1; INT64_MAX: none.
 * With gaps between taps, a window at the border may begin at a later position than the next window. */
int64_t dn_least_read(const struct dn_axis *axis, int64_t first, int64_t end, int64_t first_tap, int64_t end_tap);

/* Returns the least such position at or after `from`; INT64_MAX: none. */
int64_t dn_next_read(const struct dn_axis *axis, int64_t first, int64_t end, int64_t first_tap, int64_t end_tap,
		     int64_t from);
/* Returns the greatest such position; -1: none. */
int64_t dn_most_read(const struct dn_axis *axis, int64_t first, int64_t end, int64_t first_tap, int64_t end_tap);

/* Returns how many different positions so many windows read through so many taps, inside the input or not, among the
 * first `positions` positions counted from the first tap of the first window. */
int64_t dn_read_below(const struct dn_axis *axis, int64_t windows, int64_t taps, int64_t positions);
/* Returns the number of positions from the first tap of the first of so many windows to the last of so many taps of the
 * last window. */
int64_t dn_extent(const struct dn_axis *axis, int64_t windows, int64_t taps);

#endif
