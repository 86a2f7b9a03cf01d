/* SPDX-License-Identifier: MIT
 *
 * Promise: pooling and NFU-3 on the register-level engine of DianNao, held against values worked out by hand: maxima by
 * strides and in parts, averages, functions by segments, what saturates and is counted. */
#include "tests/kit/sim/diannao/hand.h"

#define IDEAL "model: ideal\n"

/* The paper's local transpose: two lines of four maps, Tn = 2, come as rows (line 0, maps 0 1), (line 0, maps 2 3),
 * (line 1, maps 0 1), (line 1, maps 2 3); the window of two lines of maps 0 and 1 is rows 0 and 2, that of maps 2 and 3
 * rows 1 and 3. Then all four are free, and come again: the maximum of all. */
Test(diannao_rtl_pool, strides_read_rows_as_the_papers_transpose)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	h->config.nbin_rows = 4;
	hand_put(h, 0, 5, -32768, 7, -3, 4, -32767, 9, -5, HAND_END);
	struct dn_instruction *instruction = hand_nfu(h, DN_NFU1_NOP, DN_MAXIMUM, DN_FROM_RESET, DN_TO_NBOUT);
	hand_load_nbin(instruction, 0, 16, 1);
	instruction->nbin.stride = 2;
	instruction->nbin.end = 2;
	hand_store(instruction, 200, 8);
	instruction = hand_nfu(h, DN_NFU1_NOP, DN_MAXIMUM, DN_FROM_RESET, DN_TO_NBOUT);
	hand_read_nbin(instruction, 2, 1, 3, 0);
	instruction->nfu.shift = 1;
	hand_store(instruction, 0, 0);
	hand_maximum(h, 0, 208, 4);
	hand_run(h);
	cr_expect(hand_get(h, 200) == 5 && hand_get(h, 202) == -32767);
	cr_expect(hand_get(h, 204) == 5 && hand_get(h, 206) == -1, "4.5 up, -1.5 up");
	cr_expect(hand_get(h, 208) == 9 && hand_get(h, 210) == -3);
	/* Past NFU-1 and NFU-3: the last step in cycle 7, the result at 7 + 1 + 2. */
	hand_spent(h, 8, 2, 0, 0, 0);
	const struct dn_counters *n = &h->outcome.counters;
	cr_expect(n->useful_macs == 0 && n->idle_lanes == 32 && n->nbin_rows == 8 && n->sb_rows == 0);
	cr_expect(n->nbout_rows == 3 && n->nfu3_operations == 0);
	hand_close(h);
}

/* A maximum that goes through NBout and is shifted left beyond 16 bits: 20000 * 2 saturates, -20000 * 2 too. As it
 * leaves without NFU-3, this is what leaves: both are counted. */
Test(diannao_rtl_pool, a_shifted_maximum_saturates_and_is_counted)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	hand_put(h, 0, 20000, -30000, 4, -20000, HAND_END);
	struct dn_instruction *instruction = hand_nfu(h, DN_NFU1_NOP, DN_MAXIMUM, DN_FROM_RESET, DN_TO_NBOUT);
	hand_load_nbin(instruction, 0, 4, 0);
	instruction->nfu.end = 1;
	instruction = hand_nfu(h, DN_NFU1_NOP, DN_MAXIMUM, DN_FROM_NBOUT, DN_TO_NBOUT);
	hand_load_nbin(instruction, 4, 4, 0);
	hand_store(instruction, 200, 4);
	instruction->nfu.shift = -1;
	hand_run(h);
	cr_expect(hand_get(h, 200) == 32767 && hand_get(h, 202) == -32768);
	const struct dn_counters *n = &h->outcome.counters;
	cr_expect(n->sum_saturations == 2 && n->output_saturations == 2 && n->sum_wraps == 0);
	cr_expect_eq(n->nbout_rows, 2 + 2 + 1);
	hand_close(h);
}

/* Sums of 3 rows, divided by 3: the reciprocal is (2^16 + 1) / 3 = 21845 / 2^16.
 *     300 -> 6553500 / 65536 = 99.998 -> 100; -301 -> -6575345 / 65536 = -100.33 -> -100
 * Then by 4, exact, and shifted by 1: 300 / 8 = 37.5 -> 38, -301 / 8 = -37.6 -> -38. NFU-2 and NFU-3: 5 stages. */
Test(diannao_rtl_pool, averages_divide_by_the_reciprocal)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	hand_put(h, 0, 100, -100, 150, -101, 50, -100, HAND_END);
	for (int i = 0; i < 2; i++) {
		struct dn_instruction *instruction = hand_nfu(h, DN_NFU1_NOP, DN_ADD, DN_FROM_RESET, DN_TO_NFU3);
		if (i)
			hand_read_nbin(instruction, 0, 0, 0, 0);
		else
			hand_load_nbin(instruction, 0, 12, 1);
		hand_store(instruction, 200 + 4 * (uint64_t)i, 4);
		instruction->nfu.divisor = i ? 4 : 3;
		instruction->nfu.shift = (int16_t)i;
	}
	hand_run(h);
	cr_expect(hand_get(h, 200) == 100 && hand_get(h, 202) == -100);
	cr_expect(hand_get(h, 204) == 38 && hand_get(h, 206) == -38);
	hand_spent(h, 6, 5, 0, 0, 0);
	cr_expect_eq(h->outcome.counters.nfu3_operations, 4);
	hand_close(h);
}

/* 15 bits of a reciprocal are not enough to be exact: 7 times 30000, by 7, is 210000 * 18725 / 2^17 = 30000.7 ->
 * 30001. */
Test(diannao_rtl_pool, averages_are_not_exact)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	for (uint64_t i = 0; i < 7; i++)
		hand_put(h, 4 * i, 30000, -30000, HAND_END);
	struct dn_instruction *instruction = hand_nfu(h, DN_NFU1_NOP, DN_ADD, DN_FROM_RESET, DN_TO_NFU3);
	hand_load_nbin(instruction, 0, 28, 1);
	hand_store(instruction, 200, 4);
	instruction->nfu.divisor = 7;
	hand_run(h);
	cr_expect(hand_get(h, 200) == 30001 && hand_get(h, 202) == -30001);
	hand_close(h);
}

/* An average of a sum that wrapped: 16 bits, 2 * 32767 is -2, by 2: -1. */
Test(diannao_rtl_pool, an_average_of_a_wrapped_sum_wraps)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	h->config.sum_bits = 16;
	hand_put(h, 0, 32767, 4, 32767, 4, HAND_END);
	struct dn_instruction *instruction = hand_nfu(h, DN_NFU1_NOP, DN_ADD, DN_FROM_RESET, DN_TO_NFU3);
	hand_load_nbin(instruction, 0, 8, 1);
	hand_store(instruction, 200, 4);
	instruction->nfu.divisor = 2;
	hand_run(h);
	cr_expect(hand_get(h, 200) == -1 && hand_get(h, 202) == 4);
	cr_expect_eq(h->outcome.counters.sum_wraps, 1);
	hand_close(h);
}

/* Sigmoid, line by line of its table (1.0 is 1024):
 *     x = 1024  segment 9:  (195 * 1024 + 512) / 1024 + 553 = 195 + 553 = 748
 *     x = 0     segment 7:  0 + 512
 *     x = -512  segment 6:  (252 * -512 + 512) / 1024 = -125.5 -> -126, + 512 = 386
 *     40000 saturates to 32767, segment 15: 0 + 1024; as that is level, nothing saturates on the way out
 * tanh with its result doubled (RESULT SHIFT -1): x = 1024: (398 * 1024 + 512) / 1024 + 377 = 775 -> 1550. x is the
 * maximum of one value, shifted left by 1 where it has to be 40000. */
Test(diannao_rtl_pool, functions_follow_their_segments)
{
	struct dn_hand *h = hand_open(4, IDEAL);
	hand_put(h, 0, 512, 0, -256, 20000, HAND_END);
	for (int i = 0; i < 3; i++) {
		struct dn_instruction *instruction = hand_nfu(h, DN_NFU1_NOP, DN_MAXIMUM, DN_FROM_RESET, DN_TO_NFU3);
		if (i)
			hand_read_nbin(instruction, 0, 0, 0, 1);
		else
			hand_load_nbin(instruction, 0, 8, 1);
		hand_store(instruction, 200 + 8 * (uint64_t)i, 8);
		instruction->nfu.nfu3 = (uint8_t)(i == 2 ? 0 : i + 1);
		instruction->nfu.shift = -1;
		instruction->nfu.result_shift = (int16_t)(i == 1 ? -1 : 0);
	}
	hand_run(h);
	cr_expect(hand_get(h, 200) == 748 && hand_get(h, 202) == 512 && hand_get(h, 204) == 386);
	cr_expect_eq(hand_get(h, 206), 1024);
	/* tanh: segment 7: 0 + 7; segment 6: (947 * -512 + 512) / 1024 = -473; -473 - 7 = -480; segment 15: 1024. All
	 * doubled. */
	cr_expect(hand_get(h, 208) == 1550 && hand_get(h, 210) == 14 && hand_get(h, 212) == -960);
	cr_expect_eq(hand_get(h, 214), 2048);
	/* The identity: 40000 saturates, and as nothing is level there, that counts as the result's too. */
	cr_expect(hand_get(h, 216) == 1024 && hand_get(h, 218) == 0 && hand_get(h, 220) == -512);
	cr_expect_eq(hand_get(h, 222), 32767);
	const struct dn_counters *n = &h->outcome.counters;
	cr_expect(n->sum_saturations == 3 && n->output_saturations == 1, "%d %d", (int)n->sum_saturations,
		  (int)n->output_saturations);
	cr_expect_eq(n->nfu3_operations, 12);
	hand_spent(h, 3, 5, 0, 0, 0);
	hand_close(h);
}

/* A line y = -x: with RESULT SHIFT -1 16000 becomes -32000, 17000 is beyond 16 bits; 40000 saturates and is not level,
 * which is counted once although it saturates twice. 17000 saturates on the way out only. A line y = 2 x, of which
 * RESULT SHIFT takes half: 40000 gives 65534, which is 32767 before it is halved: 16384 (16383.5 up), counted for what
 * saturated on the way in; 17000 gives 32767 too, and that is not counted; 16000 is itself. */
Test(diannao_rtl_pool, a_result_that_saturates_is_counted_once)
{
	struct dn_hand *h = hand_open(4, IDEAL);
	for (int i = 0; i < DN_SEGMENTS; i++)
		h->function[0].a[i] = -1024, h->function[0].b[i] = 0;
	hand_put(h, 0, 8000, 8500, 20000, 0, HAND_END);
	struct dn_instruction *instruction = hand_nfu(h, DN_NFU1_NOP, DN_MAXIMUM, DN_FROM_RESET, DN_TO_NFU3);
	hand_load_nbin(instruction, 0, 8, 1);
	hand_store(instruction, 200, 6);
	instruction->nfu.nfu3 = 1;
	instruction->nfu.shift = instruction->nfu.result_shift = -1;
	hand_run(h);
	cr_expect(hand_get(h, 200) == -32000 && hand_get(h, 202) == -32768 && hand_get(h, 204) == -32768);
	cr_expect_eq(hand_get(h, 206), 0, "not stored");
	cr_expect(h->outcome.counters.sum_saturations == 1 && h->outcome.counters.output_saturations == 2);
	for (int i = 0; i < DN_SEGMENTS; i++)
		h->function[0].a[i] = 2048;
	instruction->nfu.result_shift = 1;
	hand_run(h);
	cr_expect(hand_get(h, 200) == 16000 && hand_get(h, 202) == 16384 && hand_get(h, 204) == 16384);
	cr_expect(h->outcome.counters.sum_saturations == 1 && h->outcome.counters.output_saturations == 1);
	hand_close(h);
}
