/* SPDX-License-Identifier: MIT
 *
 * Bits that toggle where one row of operands follows another: the fast engines count them on request
 * (docs/energy.md, The data matters). */
#ifndef NPULAB_SIM_COMMON_TOGGLES_H
#define NPULAB_SIM_COMMON_TOGGLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns how many bits differ between two rows of bytes. */
uint64_t sim_toggled_bits(const void *a, const void *b, size_t bytes);
/* Returns how many bits differ between the row and the one before it, which it then replaces. */
uint64_t sim_follow(void *last, const void *row, size_t bytes);

/* What a row of bytes holds. */
struct sim_bits {
	uint64_t ones, signs, zeros; /* how many bits are 1; in how many bytes the highest is; how many bytes are 0 */
};
struct sim_bits sim_bits_of(const void *row, size_t bytes);

/* Operands of 9 bits, one in each of n lanes: bytes, signed or not, minus a zero point. */
struct sim_lanes {
	uint8_t *low, *negative;  /* the last row: its lower 8 bits, and 0 or 1 for the ninth */
	uint8_t *toggles, *zeros; /* of each lane, over the rows that followed, modulo 256 */
};
/* A row follows: adds the bits that toggle in each lane, and 1 where the operand is 0. */
void sim_follow_lanes(const struct sim_lanes *lanes, const uint8_t *row, size_t n, bool is_signed, int zero_point);

#endif
