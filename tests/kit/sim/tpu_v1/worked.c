/* SPDX-License-Identifier: MIT
 *
 * See worked.h. The machine of all cases, unless a case changes it: 3 x 3 cells, rows of 3 bytes, FIFO of 2
 * tiles, 2 tables, queues of 4, one cycle per instruction issued and per row activated, no pipeline registers; at a
 * clock of 1000 Hz weights come at 3 bytes a cycle (a tile of 9 bytes in 3 cycles, a table of 24 in 8) and the host's
 * bytes at 2 a cycle.
 *
 * In the notes "i3" is instruction 3, and [a, b) the cycles from a on and before b. */
#include "worked.h"

#include "sim/systolic/tpu_v1/isa/check.h"
#include "tests/kit/sim/tpu_v1/code.h"
#include <stdlib.h>
#include <string.h>

struct expected {
	enum tpu_event what;
	int64_t index;
	uint64_t cycle;
};

struct worked {
	const char *name, *text;
	struct expected event[8]; /* to the first of which nothing is said */
	uint64_t cycles;
	uint64_t array_active, weight_stall, weight_shift, input_stall, raw_stall, output_stall, sync_pause;
	const char *intervals, *value_counts; /* in the words of intervals.h; value_counts NULL: none */
	/* what is not as in the machine above; 0: it is */
	int64_t fifo_tiles, tables, queue, weight_rate, registers, activate_cycles, activate_latency_cycles, issue,
		sync;
	const char *buffer; /* the first rows of it at the end, three bytes each, in hexadecimal */
};

/* Buffer rows 0 to 7 at the beginning, tile 0 (rows 0 to 2 of weight memory), tile 1, the table at row 6. */
static const uint8_t first_rows[] = {1,   2, 3,   4, 5, 6, 7, 8, 9, 10,  11,  12,
				     255, 0, 128, 0, 1, 0, 0, 0, 1, 100, 100, 100};
static const uint8_t two_tiles[] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 1, 1, 1, 1, 1, 255, 0, 0, 128};
static const struct {
	int32_t bias;
	float scale;
} table[3] = {{0, 0.5f}, {1, 1}, {-100, 2}};

static const struct worked cases[WORKED_CASES] = {
	{/* i0 issues in 0, the transfer takes [1, 4), the shift [4, 7). i1 issues in 1, waits [2, 4) for the tile and
	  * [4, 7) for the shift, and starts in 7: two vectors in [7, 9), last write at 7 + (3 + 3 - 2) + 2 = 13. i2 is
	  * looked at in 2 and issues in 13. It waits for matrix in [2, 13), of which [9, 13) are non_matrix. */
	 .name = "one pass",
	 .text = "read_weights count=1 first=0\n"
		 "matrix_multiply.switch ub=0 acc=0 rows=2\n"
		 "halt\n",
	 .event = {{TPU_ISSUED, 0, 0},
		   {TPU_TILE_PUSHED, 0, 4},
		   {TPU_TILE_SHIFTED, 0, 4},
		   {TPU_TILE_POPPED, 0, 7},
		   {TPU_MATRIX_STARTED, 1, 7},
		   {TPU_MATRIX_WRITTEN, 1, 13},
		   {TPU_ISSUED, 2, 13}},
	 .cycles = 14,
	 .intervals = "idle 0-2, stall 2-4 i1, shift 4-7 i1, active 7-9 i1, idle 9-14, raw 9-13",
	 .array_active = 2,
	 .weight_stall = 2,
	 .weight_shift = 3,
	 .raw_stall = 4},
	{/* Tiles arrive at 4 and 7. The pass of i1 starts in 7, its one vector has entered at 8; the second tile shifts
	  * in [7, 10) and i2 starts in 10: passes shorter than the array follow each other at its rows, here 3.
	  * i1 is done at 7 + 4 + 1 = 12, i2 at 15. Shift: i1 waits [4, 7), i2 [8, 10). */
	 .name = "back to back, limited by the shift",
	 .text = "read_weights count=2 first=0\n"
		 "matrix_multiply.switch ub=0 acc=0 rows=1\n"
		 "matrix_multiply.switch ub=1 acc=1 rows=1\n"
		 "halt\n",
	 .event = {{TPU_TILE_PUSHED, 1, 7},
		   {TPU_TILE_SHIFTED, 1, 7},
		   {TPU_TILE_POPPED, 1, 10},
		   {TPU_MATRIX_STARTED, 1, 7},
		   {TPU_MATRIX_WRITTEN, 1, 12},
		   {TPU_MATRIX_STARTED, 2, 10},
		   {TPU_MATRIX_WRITTEN, 2, 15}},
	 .cycles = 16,
	 .intervals = "idle 0-2, stall 2-4 i1, shift 4-7 i1, active 7-8 i1, shift 8-10 i2, active 10-11 i2, "
		      "idle 11-16, raw 11-15",
	 .array_active = 2,
	 .weight_stall = 2,
	 .weight_shift = 5,
	 .raw_stall = 4},
	{/* At 2 bytes a cycle a tile takes 4.5: the transfers end at 1 + 4.5 = 5.5, at 10 and at 14.5, the tiles are
	  * there at 6, 10 and 15. The FIFO's room does not matter: the first is popped at 6 + 3 = 9, before the third
	  * would begin at 10. i1 starts in 9; the second tile shifts in [10, 13), i2 starts in 13; the third in [15,
	  * 18). i3 starts in 18, writes last at 18 + 4 + 2 = 24. Stalls: i1 [2, 6) and [6, 9); i2, whose turn comes at
	  * 11, none and [11, 13); i3, whose turn comes at 15, none and [15, 18). */
	 .name = "fractions of a cycle",
	 .text = "read_weights count=3 first=0\n"
		 "matrix_multiply.switch ub=0 acc=0 rows=2\n"
		 "matrix_multiply.switch ub=0 acc=2 rows=2\n"
		 "matrix_multiply.switch ub=0 acc=4 rows=2\n"
		 "halt\n",
	 .event = {{TPU_TILE_PUSHED, 0, 6},
		   {TPU_TILE_PUSHED, 1, 10},
		   {TPU_TILE_PUSHED, 2, 15},
		   {TPU_TILE_POPPED, 1, 13},
		   {TPU_TILE_SHIFTED, 2, 15},
		   {TPU_MATRIX_STARTED, 3, 18},
		   {TPU_MATRIX_WRITTEN, 3, 24}},
	 .cycles = 25,
	 .intervals = "idle 0-2, stall 2-6 i1, shift 6-9 i1, active 9-11 i1, shift 11-13 i2, active 13-15 "
		      "i2, shift 15-18 i3, active 18-20 i3, idle 20-25, raw 20-24",
	 .array_active = 6,
	 .weight_stall = 4,
	 .weight_shift = 8,
	 .raw_stall = 4,
	 .weight_rate = 2000},
	{/* One place in the FIFO. The first tile: transfer [1, 4), shift [4, 7), popped at 7, when the second transfer
	  * begins: [7, 10). i1 starts in 7. Shift [10, 13), popped at 13, transfer of the third [13, 16). i2 starts in
	  * 13. Shift [16, 19), i3 starts in 19, written at 19 + 4 + 1 = 24. Stalls: i1 [2, 4) + [4, 7); i2, whose turn
	  * is at 8, [8, 10) + [10, 13); i3, at 14, [14, 16) + [16, 19). */
	 .name = "a FIFO of one tile",
	 .text = "read_weights count=3 first=0\n"
		 "matrix_multiply.switch ub=0 acc=0 rows=1\n"
		 "matrix_multiply.switch ub=0 acc=1 rows=1\n"
		 "matrix_multiply.switch ub=0 acc=2 rows=1\n"
		 "halt\n",
	 .event = {{TPU_TILE_PUSHED, 1, 10},
		   {TPU_TILE_PUSHED, 2, 16},
		   {TPU_TILE_POPPED, 2, 19},
		   {TPU_MATRIX_STARTED, 2, 13},
		   {TPU_MATRIX_STARTED, 3, 19},
		   {TPU_MATRIX_WRITTEN, 3, 24}},
	 .cycles = 25,
	 .intervals = "idle 0-2, stall 2-4 i1, shift 4-7 i1, active 7-8 i1, stall 8-10 i2, shift 10-13 i2, "
		      "active 13-14 i2, stall 14-16 i3, shift 16-19 i3, active 19-20 i3, idle 20-25, raw "
		      "20-24",
	 .array_active = 3,
	 .weight_stall = 6,
	 .weight_shift = 9,
	 .raw_stall = 4,
	 .fifo_tiles = 1},
	{/* Two pipeline registers below the array. i1 starts in 7 and writes last at 7 + 4 + 3 + 2 = 16, which is when
	  * the activate starts: it has its table since 4 + 8 = 12 (the transfer begins where that of the tile ended).
	  * Two cycles a row: read at 16 + 6 = 22, and in the buffer 3 cycles later, at 25. halt issues in 25. Values:
	  * vector (1, 2, 3) times diag(1, 2, 3) is (1, 4, 9); with the table (0.5, 5, -182): rounded half to even 0, 5,
	  * and -128 as i8. (4, 5, 6): (4, 10, 18) gives 2, 11, -164 and so -128. (7, 8, 9): (7, 16, 27), 3.5 gives 4,
	  * 17, -146 and so -128. halt waits in [4, 25) for activate, of which [10, 25) are non_matrix. */
	 .name = "activate behind pipeline registers",
	 .text = "read_weights count=1 first=0\n"
		 "read_weights.parameters count=1 first=6\n"
		 "matrix_multiply.switch ub=0 acc=0 rows=3\n"
		 "activate.switch ub=4 acc=0 rows=3\n"
		 "halt\n",
	 .event = {{TPU_TABLE_LOADED, 0, 12},
		   {TPU_MATRIX_STARTED, 2, 7},
		   {TPU_MATRIX_WRITTEN, 2, 16},
		   {TPU_ACTIVATE_STARTED, 3, 16},
		   {TPU_ACTIVATE_ENDED, 3, 25}},
	 .cycles = 26,
	 .intervals = "idle 0-3, stall 3-4 i2, shift 4-7 i2, active 7-10 i2, idle 10-26, raw 10-25",
	 .value_counts = "i3 3 saturated",
	 .array_active = 3,
	 .weight_stall = 1,
	 .weight_shift = 3,
	 .raw_stall = 15,
	 .registers = 2,
	 .activate_cycles = 2,
	 .activate_latency_cycles = 3,
	 .buffer = "010203 040506 070809 0a0b0c 000580 020b80 041180"},
	{/* i1 starts in 7, its 3 vectors have entered at 10; it is written at 7 + 4 + 3 = 14 and read by i2 in [14,
	  * 17), as raw results, in 4 planes: 4 cycles a row, so [14, 26). i5 writes the same accumulators with no new
	  * weights, its first write 3 - 1 = 2 cycles after it starts: in 24. i6 writes others but its turn comes after:
	  * at 27. i5 is written at 24 + 4 + 3 = 31, i6 at 27 + 4 + 1 = 32. i2 ends at 26. i3 and i4 issue in 3 and
	  * 4. */
	 .name = "accumulators wait to be read",
	 .text = "read_weights count=1 first=0\n"
		 "matrix_multiply.switch ub=0 acc=0 rows=3\n"
		 "set_config result_type i32\n"
		 "set_config result_plane_rows 3\n"
		 "activate ub=8 acc=0 rows=3\n"
		 "matrix_multiply.accumulate ub=0 acc=0 rows=3\n"
		 "matrix_multiply ub=0 acc=3 rows=1\n"
		 "halt\n",
	 .event = {{TPU_MATRIX_WRITTEN, 1, 14},
		   {TPU_ACTIVATE_STARTED, 4, 14},
		   {TPU_ACTIVATE_ENDED, 4, 26},
		   {TPU_MATRIX_STARTED, 5, 24},
		   {TPU_MATRIX_WRITTEN, 5, 31},
		   {TPU_MATRIX_STARTED, 6, 27},
		   {TPU_MATRIX_WRITTEN, 6, 32}},
	 .cycles = 33,
	 .intervals = "idle 0-2, stall 2-4 i1, shift 4-7 i1, active 7-10 i1, idle 10-24, active 24-27 i5, "
		      "active 27-28 i6, idle 28-33, raw 10-24, raw 28-32",
	 .array_active = 7,
	 .weight_stall = 2,
	 .weight_shift = 3,
	 /* halt is looked at in 7: [10, 24) and [28, 32) */
	 .raw_stall = 18},
	{/* 16-bit inputs take two cycles each: 4 vectors enter in [7, 11), and i3, with other weights, would follow at
	  * 11: its tile has been shifted in [7, 10). Written at 7 + 4 + 4 = 15 and 11 + 4 + 2 = 17. */
	 .name = "16-bit inputs at half speed",
	 .text = "read_weights count=2 first=0\n"
		 "set_config input_plane_rows 2\n"
		 "matrix_multiply.switch.inputs16 ub=0 acc=0 rows=2\n"
		 "matrix_multiply.switch ub=0 acc=2 rows=2\n"
		 "halt\n",
	 .event = {{TPU_MATRIX_STARTED, 2, 7},
		   {TPU_TILE_POPPED, 1, 10},
		   {TPU_MATRIX_WRITTEN, 2, 15},
		   {TPU_MATRIX_STARTED, 3, 11},
		   {TPU_MATRIX_WRITTEN, 3, 17}},
	 .cycles = 18,
	 .intervals = "idle 0-3, stall 3-4 i2, shift 4-7 i2, active 7-11 i2, active 11-13 i3, idle 13-18, "
		      "raw 13-17",
	 .array_active = 6,
	 .weight_stall = 1,
	 .weight_shift = 3,
	 .raw_stall = 4},
	{/* The link takes 2 cycles' latency and 5 * 3 / 2 = 7.5, so 8 cycles for 5 rows of 3 bytes: i0 in [1, 11). i2
	  * for 2 rows 2 + 3: in [3, 8), beside it. The sync is looked at in 3 and issues in 11, and i4 is looked at 1 +
	  * 4 cycles later, in 16, and runs in [17, 22). halt, looked at in 17, issues in 22. Input stalls: [3, 11) and
	  * [17, 22). That host_out is waited for in [3, 8) is within the first of them; the sync takes [12, 16). */
	 .name = "host and sync",
	 .text = "read_host_memory ub=0 rows=5\n"
		 "set_config host_address 32\n"
		 "write_host_memory ub=6 rows=2\n"
		 "sync host_in host_out\n"
		 "read_host_memory ub=0 rows=2\n"
		 "halt\n",
	 .event = {{TPU_HOST_STARTED, 0, 1},
		   {TPU_HOST_ENDED, 0, 11},
		   {TPU_HOST_STARTED, 2, 3},
		   {TPU_HOST_ENDED, 2, 8},
		   {TPU_ISSUED, 3, 11},
		   {TPU_ISSUED, 4, 16},
		   {TPU_HOST_STARTED, 4, 17},
		   {TPU_HOST_ENDED, 4, 22}},
	 .cycles = 23,
	 .intervals = "idle 0-23, input 3-11, input 17-22, pause 12-16",
	 .input_stall = 13,
	 .sync_pause = 4,
	 .sync = 4},
	{/* Three cycles an instruction, four more a sync. i0 issues in 0 and takes 2 + 8 cycles: [1, 11). The sync,
	  * looked at in 3, waits for host_out until 11, issues then, and takes [12, 16); the two cycles that any
	  * instruction would be followed by are [16, 18). i2 issues in 18: [19, 30). i3 issues in 21, i4 in 24: [25,
	  * 29). halt, looked at in 27, waits for both: until 29 that is an input stall, in [29, 30) host_out alone is
	  * left. */
	 .name = "output and the time of a sync",
	 .text = "write_host_memory ub=0 rows=5\n"
		 "sync host_out\n"
		 "write_host_memory ub=4 rows=6\n"
		 "set_config host_address 32\n"
		 "read_host_memory ub=12 rows=1\n"
		 "halt\n",
	 .event = {{TPU_HOST_STARTED, 0, 1},
		   {TPU_HOST_ENDED, 0, 11},
		   {TPU_ISSUED, 1, 11},
		   {TPU_ISSUED, 2, 18},
		   {TPU_HOST_ENDED, 2, 30},
		   {TPU_HOST_STARTED, 4, 25},
		   {TPU_HOST_ENDED, 4, 29}},
	 .cycles = 31,
	 .intervals = "idle 0-31, input 27-29, output 3-11, output 29-30, pause 12-16",
	 .input_stall = 2,
	 .output_stall = 9,
	 .sync_pause = 4,
	 .issue = 3,
	 .sync = 4},
	{/* i0 and i1 as in one pass. The sync has nothing to wait for, issues in 2 and takes [3, 12), of which the
	  * array has no work in [9, 12). halt, looked at in 12, waits for matrix until 13. */
	 .name = "a sync beside the work of the array",
	 .text = "read_weights count=1 first=0\n"
		 "matrix_multiply.switch ub=0 acc=0 rows=2\n"
		 "sync host_in\n"
		 "halt\n",
	 .event = {{TPU_MATRIX_STARTED, 1, 7}, {TPU_MATRIX_WRITTEN, 1, 13}, {TPU_ISSUED, 2, 2}, {TPU_ISSUED, 3, 13}},
	 .cycles = 14,
	 .intervals = "idle 0-2, stall 2-4 i1, shift 4-7 i1, active 7-9 i1, idle 9-14, raw 12-13, pause 9-12",
	 .array_active = 2,
	 .weight_stall = 2,
	 .weight_shift = 3,
	 .raw_stall = 1,
	 .sync_pause = 3,
	 .sync = 9},
	{/* A queue of one. i0 issues in 0 and starts in 1, which makes room for the issue of cycle 2: i1 issues in 2
	  * (it was looked at in 1) and starts when i0 has ended, at 1 + 2 + 3 = 6, so i2 issues in 7 and i3, looked at
	  * in 8, one after i2's start in 11: in 12. i3 starts in 16 and ends at 21. */
	 .name = "a full queue",
	 .text = "read_host_memory ub=0 rows=2\n"
		 "read_host_memory ub=2 rows=2\n"
		 "read_host_memory ub=4 rows=2\n"
		 "read_host_memory ub=6 rows=2\n"
		 "halt\n",
	 .event = {{TPU_ISSUED, 1, 2},
		   {TPU_HOST_STARTED, 1, 6},
		   {TPU_ISSUED, 2, 7},
		   {TPU_HOST_STARTED, 2, 11},
		   {TPU_ISSUED, 3, 12},
		   {TPU_HOST_STARTED, 3, 16},
		   {TPU_HOST_ENDED, 3, 21}},
	 .cycles = 22,
	 .intervals = "idle 0-22, input 13-21",
	 /* halt is looked at in 13: [13, 21) */
	 .input_stall = 8,
	 .queue = 1},
	{/* One place in the FIFO: the second tile's transfer begins when the first is popped, [7, 10), and it shifts in
	  * [10, 13). i1 starts in 7, writes last at 7 + 4 + 1 = 12, and halt issues then: 13 cycles, just enough. */
	 .name = "a shift that ends with the program",
	 .text = "read_weights count=2 first=0\n"
		 "matrix_multiply.switch ub=0 acc=0 rows=1\n"
		 "halt\n",
	 .event = {{TPU_TILE_PUSHED, 1, 10}, {TPU_TILE_SHIFTED, 1, 10}, {TPU_TILE_POPPED, 1, 13}, {TPU_ISSUED, 2, 12}},
	 .cycles = 13,
	 .intervals = "idle 0-2, stall 2-4 i1, shift 4-7 i1, active 7-8 i1, idle 8-13, raw 8-12",
	 .array_active = 1,
	 .weight_stall = 2,
	 .weight_shift = 3,
	 .raw_stall = 4,
	 .fifo_tiles = 1},
	{/* i7 issues in 7: transfer [8, 11), shift from 11 on, until 14. i1 as before: 13 cycles, one too few. */
	 .name = "a shift that the program's end cuts off",
	 .text = "read_weights count=1 first=0\n"
		 "matrix_multiply.switch ub=0 acc=0 rows=1\n"
		 "nop\nnop\nnop\nnop\nnop\n"
		 "read_weights count=1 first=3\n"
		 "halt\n",
	 .event = {{TPU_TILE_PUSHED, 1, 11},
		   {TPU_TILE_SHIFTED, 1, 11},
		   {TPU_TILE_POPPED, 1, PROGRAM_NEVER},
		   {TPU_ISSUED, 8, 12}},
	 .cycles = 13,
	 .intervals = "idle 0-2, stall 2-4 i1, shift 4-7 i1, active 7-8 i1, idle 8-13, raw 8-12",
	 .array_active = 1,
	 .weight_stall = 2,
	 .weight_shift = 3,
	 .raw_stall = 4},
	{/* One table waits beside the one in use. Transfers: the first table [1, 9); the second needs the first to be
	  * in use: i1 issues in 1 and starts in 9, making room at 10: [10, 18). i2 starts in 18, one vector: ends at
	  * 19. */
	 .name = "parameter tables",
	 .text = "read_weights.parameters count=2 first=6\n"
		 "activate.switch ub=8 acc=0 rows=5\n"
		 "activate.switch ub=8 acc=0 rows=1\n"
		 "halt\n",
	 .event = {{TPU_TABLE_LOADED, 0, 9},
		   {TPU_ACTIVATE_STARTED, 1, 9},
		   {TPU_ACTIVATE_ENDED, 1, 14},
		   {TPU_TABLE_LOADED, 1, 18},
		   {TPU_ACTIVATE_STARTED, 2, 18},
		   {TPU_ACTIVATE_ENDED, 2, 19}},
	 .cycles = 20,
	 .intervals = "idle 0-20, raw 3-19",
	 .value_counts = "i1 5 saturated",
	 /* halt is looked at in 3: [3, 19) */
	 .raw_stall = 16,
	 .tables = 1},
	{/* A 2 x 2 image, rows 0 to 3 of the buffer, under a 2 x 2 window with stride 1 and a pad of one: 3 x 3
	  * results, the last sources of whose windows are 0 1 1 / 2 3 3 / 2 3 3. At one cycle a source vector result 0
	  * leaves at 1, 1 at 2, 2 at 3, 3 at the later of 3 and 4, 4 at 5 and so on, 8 at 9: i8 reads in [start, start
	  * + 9). Eight instructions before it: issues in 8, starts in 9, ends at 18. The greatest of each window in
	  * column 0: 1 4 4 / 7 10 10 / 7 10 10. */
	 .name = "pooling",
	 .text = "set_config in_height 2\n"
		 "set_config in_width 2\n"
		 "set_config out_height 3\n"
		 "set_config out_width 3\n"
		 "set_config kernel_height 2\n"
		 "set_config kernel_width 2\n"
		 "set_config pad_top 1\n"
		 "set_config pad_left 1\n"
		 "activate.from_buffer.max ub=4 rows=4\n"
		 "halt\n",
	 .event = {{TPU_ACTIVATE_STARTED, 8, 9}, {TPU_ACTIVATE_ENDED, 8, 18}},
	 .cycles = 19,
	 .intervals = "idle 0-19, raw 9-18",
	 /* halt is looked at in 9: [9, 18) */
	 .raw_stall = 9,
	 .buffer = "010203 040506 070809 0a0b0c 010203 040506 040506 070809 0a0b0c 0a0b0c 070809 0a0b0c 0a0b0c"},
	{/* A row takes 2 cycles of latency and 2 for its 3 bytes. i0 crosses in [1, 5). i1 issues in 1 and starts when
	  * i0 has ended, in 5; i4, of the other direction, issues in 4 and starts in 5 too: the event of i1 comes
	  * first. Both end at 9. */
	 .name = "both directions start together",
	 .text = "write_host_memory ub=0 rows=1\n"
		 "write_host_memory ub=1 rows=1\n"
		 "set_config host_address 32\n"
		 "nop\n"
		 "read_host_memory ub=9 rows=1\n"
		 "halt\n",
	 .event = {{TPU_HOST_STARTED, 0, 1},
		   {TPU_HOST_ENDED, 0, 5},
		   {TPU_HOST_STARTED, 1, 5},
		   {TPU_HOST_STARTED, 4, 5},
		   {TPU_HOST_ENDED, 1, 9},
		   {TPU_HOST_ENDED, 4, 9}},
	 .cycles = 10,
	 /* halt is looked at in 5: [5, 9) */
	 .intervals = "idle 0-10, input 5-9",
	 .input_stall = 4},
	{/* i3 sends (10, 11, 12), the low bytes of a 16-bit vector, and (255, 0, 128), its high bytes, through the tile
	  * at row 3. Of column 2 the sums are 10 + 11 * 255 + 12 * 128 = 4351, which counts 256-fold, and 255 + 128 *
	  * 128 = 16639, which counts 65536-fold: 1091567360 in all. i4 adds the same, and its high half goes beyond
	  * 2^31: 2183134720 becomes -2111832576. i5 reads the high bytes as signed, (-1, 0, -128), of which the sum is
	  * -1 - 128 * 128: 1113856 - 1073807360 more, which comes back to 1110441216. So the sum is right when i6 reads
	  * it, and nothing counts as wrapped. In column 1 2 * (5376 + 16711680) + 5376 - 65536 = 33373952 is there. i6
	  * makes of them, and of column 0, which is the same, 127: three saturations. i7 reads the zeros of row 1, with
	  * the bias -100 times 2 in column 2: one saturation, at -128.
	  * i3 issues in 3; the tile shifts in [4, 7); in [7, 9), [9, 11) and [11, 13) vectors enter, the last write of
	  * i5 is at 11 + 4 + 2 = 17, one row is read in [17, 18) by i6, one in [18, 19) by i7. halt is looked at in
	  * 8. */
	 .name = "who comes back and who saturates",
	 .text = "read_weights count=1 first=3\n"
		 "read_weights.parameters count=1 first=6\n"
		 "set_config input_plane_rows 1\n"
		 "matrix_multiply.switch.inputs16.unsigned_inputs.unsigned_weights.high_weights ub=3 acc=0 rows=1\n"
		 "matrix_multiply.accumulate.inputs16.unsigned_inputs.unsigned_weights.high_weights ub=3 acc=0 rows=1\n"
		 "matrix_multiply.accumulate.inputs16.unsigned_weights.high_weights ub=3 acc=0 rows=1\n"
		 "activate.switch ub=8 acc=0 rows=1\n"
		 "activate ub=9 acc=1 rows=1\n"
		 "halt\n",
	 .event = {{TPU_MATRIX_STARTED, 3, 7},
		   {TPU_MATRIX_STARTED, 5, 11},
		   {TPU_MATRIX_WRITTEN, 5, 17},
		   {TPU_ACTIVATE_STARTED, 6, 17},
		   {TPU_ACTIVATE_ENDED, 7, 19}},
	 .cycles = 20,
	 .intervals = "idle 0-4, shift 4-7 i3, active 7-9 i3, active 9-11 i4, active 11-13 i5, idle 13-20, raw 13-19",
	 .value_counts = "i6 3 saturated, i7 1 saturated",
	 .array_active = 6,
	 .weight_shift = 3,
	 .raw_stall = 6,
	 .buffer = "010203 040506 070809 0a0b0c ff0080 000100 000001 646464 7f7f7f 000180"},
};

static void set(int64_t *value, int64_t other)
{
	*value = other ? other : *value;
}

static struct tpu_config machine_of(const struct worked *w)
{
	struct tpu_config m = {.clock_hz = 1000,
			       .rows = 3,
			       .columns = 3,
			       .accumulator_rows = 8,
			       .buffer_bytes = 24 * 3,
			       .weight_bytes = 64 * 3,
			       .weight_bytes_per_second = 3000,
			       .fifo_tiles = 2,
			       .parameter_tables = 2,
			       .queue_instructions = 4,
			       .issue_cycles = 1,
			       .activate_cycles_per_row = 1,
			       .link_bytes_per_second = 2000,
			       .link_latency_seconds = 0.0019};
	set(&m.fifo_tiles, w->fifo_tiles);
	set(&m.parameter_tables, w->tables);
	set(&m.queue_instructions, w->queue);
	set(&m.weight_bytes_per_second, w->weight_rate);
	set(&m.matrix_registers, w->registers);
	set(&m.activate_cycles_per_row, w->activate_cycles);
	set(&m.activate_latency_cycles, w->activate_latency_cycles);
	set(&m.issue_cycles, w->issue);
	set(&m.sync_cycles, w->sync);
	return m;
}

static bool differs(const char *label, int64_t index, uint64_t actual, uint64_t expected, char *reason,
		    size_t reason_bytes)
{
	if (actual == expected)
		return false;
	snprintf(reason, reason_bytes, "%s %lld: %lld, expected %lld", label, (long long)index, (long long)actual,
		 (long long)expected);
	return true;
}

static bool text_differs(const char *label, const char *actual, const char *expected, char *reason, size_t reason_bytes)
{
	if (!strcmp(actual, expected))
		return false;
	snprintf(reason, reason_bytes, "%s are '%s', expected '%s'", label, actual, expected);
	return true;
}

static bool as_expected(const struct worked *w, const struct program_run *run, char *reason, size_t reason_bytes)
{
	const struct tpu_counters *k = &run->outcome.counters;
	uint64_t all = k->array_active + k->weight_stall + k->weight_shift + k->non_matrix;
	if (run->rc) {
		snprintf(reason, reason_bytes, "%.200s", run->err.msg);
		return false;
	}
	if (run->wrong[0]) {
		snprintf(reason, reason_bytes, "%s", run->wrong);
		return false;
	}
	for (const struct expected *e = w->event; e < w->event + 8 && (e->what || e->index || e->cycle); e++)
		if (differs("event", e - w->event, run->events[e->what].cycle[e->index], e->cycle, reason,
			    reason_bytes))
			return false;
	for (const char *at = w->buffer; at && *at; at++) {
		static const char digits[] = "0123456789abcdef";
		size_t row = (size_t)(at - w->buffer) / 7, byte = (size_t)(at - w->buffer) % 7;
		if (byte == 6 || byte & 1)
			continue;
		uint64_t value = (uint64_t)((strchr(digits, at[0]) - digits) * 16 + (strchr(digits, at[1]) - digits));
		if (differs("byte of row", (int64_t)row, run->buffer[3 * row + byte / 2], value, reason, reason_bytes))
			return false;
	}
	char message[800];
	program_intervals_text(run->intervals, message, sizeof message);
	if (text_differs("intervals", message, w->intervals, reason, reason_bytes))
		return false;
	program_value_counts_text(run->value_counts, run->c->program.count, message, sizeof message);
	if (text_differs("value counts", message, w->value_counts ? w->value_counts : "", reason, reason_bytes))
		return false;
	return !(differs("cycles", 0, run->outcome.cycles, w->cycles, reason, reason_bytes) ||
		 differs("sum of the four counters", 0, all, w->cycles, reason, reason_bytes) ||
		 differs("array_active", 0, k->array_active, w->array_active, reason, reason_bytes) ||
		 differs("weight_stall", 0, k->weight_stall, w->weight_stall, reason, reason_bytes) ||
		 differs("weight_shift", 0, k->weight_shift, w->weight_shift, reason, reason_bytes) ||
		 differs("input_stall", 0, k->input_stall, w->input_stall, reason, reason_bytes) ||
		 differs("raw_stall", 0, k->raw_stall, w->raw_stall, reason, reason_bytes) ||
		 differs("output_stall", 0, k->output_stall, w->output_stall, reason, reason_bytes) ||
		 differs("sync_pause", 0, k->sync_pause, w->sync_pause, reason, reason_bytes));
}

bool program_works(int index, tpu_engine *engine, const char **name, char *reason, size_t reason_bytes)
{
	const struct worked *w = cases + index;
	uint8_t buffer[24 * 3] = {0}, host[64] = {0}, weights[64 * 3] = {0};
	struct program_case c = {.config = machine_of(w),
				 .buffer = buffer,
				 .weights = weights,
				 .host = host,
				 .buffer_bytes = sizeof buffer,
				 .weight_bytes = sizeof weights,
				 .host_bytes = sizeof host,
				 .stuck_at = -1};
	struct tpu_memory memory = {.buffer = buffer,
				    .weights = weights,
				    .weight_bytes = sizeof weights,
				    .host = host,
				    .host_bytes = sizeof host};
	struct program_run run = {0};
	struct npl_err err;
	*name = w->name;
	memcpy(buffer, first_rows, sizeof first_rows);
	memcpy(weights, two_tiles, sizeof two_tiles);
	memcpy(weights + sizeof two_tiles, table, sizeof table);
	bool ok = !tpu_assemble(w->name, w->text, strlen(w->text), &c.program, &err) &&
		  !tpu_program_check(&c.config, &c.program, &memory, w->name, &err);
	if (!ok)
		snprintf(reason, reason_bytes, "%.200s", err.msg);
	ok = ok && program_run(&run, engine, &c, false) && as_expected(w, &run, reason, reason_bytes);
	program_run_free(&run);
	sim_program_free(&c.program);
	return ok;
}
