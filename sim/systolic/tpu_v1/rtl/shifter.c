/* SPDX-License-Identifier: MIT
 *
 * The tile shifter: moves the tile at the head of the weight FIFO into the shadow plane, one row per cycle, the last
 * row first. The earliest cycle in which it begins is that in which the row that switches to the previous tile enters
 * the array: in every cell that row is read ahead of the refill (matrix_unit.h). */
#include "rtl.h"

void tpu_rtl_shifter_drive(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires)
{
	const struct tpu_rtl_shifter *shifter = &rtl->shifter;
	const struct tpu_rtl_fifo *tiles = &rtl->weights.fifo[TPU_RTL_TILE];
	int64_t rows = rtl->context.config->rows;
	bool free = !shifter->full || wires->weights_switch;
	wires->shift_begins = shifter->entered == 0 && tiles->slots_arrived > 0 && free;
	wires->weights_enter = shifter->entered > 0 || wires->shift_begins;
	if (!wires->weights_enter)
		return;
	wires->weights_row = tiles->row[tiles->first] + rows - 1 - shifter->entered;
	wires->tile_popped = shifter->entered == rows - 1;
}

bool tpu_rtl_shifter_clock(struct tpu_rtl_shifter *shifter, const struct tpu_rtl_wires *wires,
			   struct tpu_rtl_context *context)
{
	if (wires->weights_switch)
		shifter->full = false;
	if (wires->shift_begins)
		tpu_rtl_begins(context, TPU_TILE_SHIFTED, shifter->tile);
	if (wires->weights_enter)
		shifter->entered++;
	if (wires->tile_popped) {
		tpu_rtl_ends(context, TPU_TILE_POPPED, shifter->tile++);
		shifter->entered = 0;
		shifter->full = true;
	}
	return wires->weights_switch || wires->weights_enter;
}
