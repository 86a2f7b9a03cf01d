/* SPDX-License-Identifier: MIT
 *
 * Cuts a window's products into parts where they do not fit NBin at once (tiles.h). The parts come one after the
 * other. */
#include "tiles.h"

#include "core/base/arith.h"

struct dn_part dn_part_from(const struct dn_layer *layer, const struct dn_tiles *tiles, int64_t in_rows, int64_t ky,
			    int64_t kx, int64_t row)
{
	const int64_t lines = layer->window.kernel[0], taps = layer->window.kernel[1];
	struct dn_part part = {ky, ky + 1, kx, kx + 1, row, in_rows};
	if (tiles->lines) {
		part.ky_end = npl_min_i64(ky + tiles->lines, lines);
		part.kx_end = taps;
	} else if (tiles->taps) {
		part.kx_end = npl_min_i64(kx + tiles->taps, taps);
	} else {
		part.row_end = npl_min_i64(row + tiles->rows, in_rows);
	}
	return part;
}

bool dn_next_part(const struct dn_layer *layer, const struct dn_tiles *tiles, int64_t in_rows, struct dn_part *part)
{
	if (!part->ky_end) {
		*part = dn_part_from(layer, tiles, in_rows, 0, 0, 0);
		return true;
	}
	if (part->row_end < in_rows)
		*part = dn_part_from(layer, tiles, in_rows, part->ky, part->kx, part->row_end);
	else if (part->kx_end < layer->window.kernel[1])
		*part = dn_part_from(layer, tiles, in_rows, part->ky, part->kx_end, 0);
	else if (part->ky_end < layer->window.kernel[0])
		*part = dn_part_from(layer, tiles, in_rows, part->ky_end, 0, 0);
	else
		return false;
	return true;
}

int64_t dn_part_rows(const struct dn_part *part)
{
	return (part->ky_end - part->ky) * (part->kx_end - part->kx) * (part->row_end - part->row);
}
