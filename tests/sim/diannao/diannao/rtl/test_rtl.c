/* SPDX-License-Identifier: MIT
 *
 * Promise: the register-level engine of DianNao computes what sim/diannao/diannao/isa/isa.h says, held against values
 * worked out by hand: products, biases, sums that go through NBout and that stay, results of 32 bits, rows of the
 * buffers, what is counted on the way. */
#include "tests/kit/sim/diannao/hand.h"

#define IDEAL "model: ideal\n"

/* Q6.10: 1.0 is 1024. Two steps of Tn = 2, rows [output][input]:
 *     inputs   (1, 2)              (-1, 0.5)
 *     synapses (1, 0.5) (-2, 1)    (0.5, 1) (1, 1)
 *     output 0 = 1 + 1 - 0.5 + 0.5 = 2, output 1 = -2 + 2 - 1 + 0.5 = -0.5
 * Rows are there in cycle 0; steps in cycles 0 and 1; the result is in NBout, and ideal memory, at 1 + 1 + 8. */
Test(diannao_rtl, one_group_is_as_worked_by_hand)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	hand_put(h, 0, 1024, 2048, -1024, 512, HAND_END);
	hand_put(h, 100, 1024, 512, -2048, 1024, 512, 1024, 1024, 1024, HAND_END);
	hand_group(h, 0, 100, 200, 2);
	hand_put(h, 204, 77, HAND_END);
	hand_run(h);
	cr_expect_eq(hand_get(h, 200), 2048);
	cr_expect_eq(hand_get(h, 202), -512);
	cr_expect_eq(hand_get(h, 204), 77, "nothing is written behind them");
	hand_spent(h, 2, 8, 0, 0, 0);
	const struct dn_counters *n = &h->outcome.counters;
	cr_expect(n->useful_macs == 8 && n->idle_lanes == 0 && n->nbin_rows == 2 && n->sb_rows == 2);
	cr_expect(n->nbout_rows == 1 && n->nfu3_operations == 2);
	cr_expect(n->input_bytes == 8 && n->synapse_bytes == 16 && n->output_bytes == 4);
	cr_expect(n->dram_reads == 3 && n->dram_writes == 1 && n->dram_activates == 0, "a row of SB is an access");
	cr_expect(h->outcome.memory.read_bytes == 24 && h->outcome.memory.written_bytes == 4);
	cr_expect(!n->product_saturations && !n->sum_wraps && !n->sum_saturations && !n->output_saturations);
	hand_close(h);
}

/* Any number of stages, also one in each unit: the result is as many cycles later, and the same. */
Test(diannao_rtl, more_stages_give_the_same_later)
{
	static const int stages[][3] = {{1, 1, 1}, {1, 2, 1}, {2, 1, 3}, {64, 64, 64}, {1, 1, 7}, {5, 3, 2}};
	for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
		struct dn_hand *h = hand_open(2, IDEAL);
		h->config.nfu1_stages = stages[i][0];
		h->config.nfu2_stages = stages[i][1];
		h->config.nfu3_stages = stages[i][2];
		hand_put(h, 0, 1024, 2048, -1024, 512, HAND_END);
		hand_put(h, 100, 1024, 512, -2048, 1024, 512, 1024, 1024, 1024, HAND_END);
		hand_group(h, 0, 100, 200, 2);
		hand_maximum(h, 0, 300, 2); /* of (1, 2) and (-1, 0.5) */
		hand_run(h);
		cr_expect(hand_get(h, 200) == 2048 && hand_get(h, 202) == -512);
		cr_expect(hand_get(h, 300) == 1024 && hand_get(h, 302) == 2048);
		/* The maxima pass NFU-1, which is empty `nfu1` cycles after the multiplications in cycles 0 and 1. */
		const int all = stages[i][0] + stages[i][1] + stages[i][2];
		const int second = 1 + stages[i][0] + 2 + 1 + stages[i][1], first = 1 + 1 + all;
		cr_expect_eq(hand_when(h, DN_STARTED, 1), 2 + stages[i][0]);
		cr_expect_eq(hand_when(h, DN_STORED, 0), first);
		cr_expect_eq(h->outcome.cycles, (uint64_t)(first > second ? first : second));
		hand_close(h);
	}
}

/* Tn = 4, rounded: each product is rounded to 10 fraction bits, ties up, before it is added: inputs of 1/1024 times
 *     512 (a half)  -> 1 (0.5 up)      511 -> 0      -512 (-0.5) -> 0      -513 -> -1
 * and 16 bits: 32 * 31 does not fit into 6 integer bits: 32767, as -32 * -32; 31 * -32 -> -32768. */
Test(diannao_rtl, products_are_rounded_before_they_are_added)
{
	struct dn_hand *h = hand_open(4, IDEAL);
	h->config.nbin_rows = 1;
	hand_put(h, 0, 1, 1, 1, 1, HAND_END);
	hand_put(h, 100, 512, 512, 512, 512, 511, 511, 511, 511, -512, -512, -512, -512, -513, -513, -513, -513,
		 HAND_END);
	hand_group(h, 0, 100, 200, 1);
	hand_put(h, 8, 32767, -32768, 0, 0, HAND_END);
	hand_put(h, 140, 31 * 1024, 0, 0, 0, 0, -32768, 0, 0, -32768, 0, 0, 0, 32767, 32767, 0, 0, HAND_END);
	hand_group(h, 8, 140, 208, 1);
	hand_run(h);
	cr_expect(hand_get(h, 200) == 4 && hand_get(h, 202) == 0 && hand_get(h, 204) == 0 && hand_get(h, 206) == -4);
	cr_expect(hand_get(h, 208) == 32767 && hand_get(h, 210) == 32767 && hand_get(h, 212) == -32768);
	cr_expect_eq(hand_get(h, 214), -1, "32767 - 32768");
	cr_expect_eq(h->outcome.counters.product_saturations, 5);
	cr_expect(!h->outcome.counters.sum_wraps && !h->outcome.counters.sum_saturations);
	hand_close(h);
}

/* Full products have 20 fraction bits: 4 * 512 / 2^20, shifted by 10 to 2 / 1024; -513 * 4 = -2052 -> -2.004 -> -2; and
 * 32 * 31 is itself until it is shifted: 1040155648 >> 15 = 31743.02 -> 31743. */
Test(diannao_rtl, full_products_are_shifted_after_the_sum)
{
	struct dn_hand *h = hand_open(4, IDEAL);
	h->config.product = NPL_Q16_FULL;
	hand_put(h, 0, 1, 1, 1, 1, HAND_END);
	hand_put(h, 100, 512, 512, 512, 512, 511, 511, 511, 511, -512, -512, -512, -512, -513, -513, -513, -513,
		 HAND_END);
	hand_group(h, 0, 100, 200, 1)->nfu.shift = 10;
	hand_put(h, 8, 32767, 0, 0, 0, HAND_END);
	hand_put(h, 140, 31 * 1024, 0, 0, 0, HAND_END);
	hand_group(h, 8, 140, 208, 1)->nfu.shift = 15;
	hand_run(h);
	cr_expect(hand_get(h, 200) == 2 && hand_get(h, 202) == 2 && hand_get(h, 204) == -2 && hand_get(h, 206) == -2);
	cr_expect(hand_get(h, 208) == 31743 && hand_get(h, 210) == 0);
	cr_expect(!h->outcome.counters.product_saturations && !h->outcome.counters.sum_saturations);
	hand_close(h);
}

/* Two chunks of one input row each for two groups of Tn = 2 outputs. The first chunk's sums go to NBout at indices 0
 * and 1, two rows of 16 bits each, and come back:
 *     inputs (32767, 32767), then (32767, -32768); 1.0 is 1024
 *     group 0: synapses (1, 1) (1, -1), then (1, 1) (-1, 0): 65534 + -1 = 65533; 0 + -32767
 *     group 1: synapses (-1, -1) (2, 0), then (1, -1) (0, 1): -65534 + 65534 = 0, for 32768 saturates; 32767
 *     (saturated) - 32768 = -1
 * Shifted by 1, ties up: 32766.5 -> 32767, -16383.5 -> -16383; 0, -0.5 -> 0. */
static void two_chunks(int64_t sum_bits, int64_t sum_rows)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	h->config.sum_bits = sum_bits;
	hand_put(h, 0, 32767, 32767, 32767, -32768, HAND_END);
	hand_put(h, 100, 1024, 1024, 1024, -1024, HAND_END);
	hand_put(h, 108, -1024, -1024, 2048, 0, HAND_END);
	hand_put(h, 116, 1024, 1024, -1024, 0, HAND_END);
	hand_put(h, 124, 1024, -1024, 0, 1024, HAND_END);
	for (int i = 0; i < 4; i++) {
		struct dn_instruction *instruction = hand_nfu(h, DN_MULT, DN_ADD, i < 2 ? DN_FROM_RESET : DN_FROM_NBOUT,
							      i < 2 ? DN_TO_NBOUT : DN_TO_NFU3);
		hand_sb(instruction, DN_LOAD, 100 + 8 * (uint64_t)i, 8, 0);
		if (i % 2)
			hand_read_nbin(instruction, 0, 0, 0, 0);
		else
			hand_load_nbin(instruction, 4 * (uint64_t)(i / 2), 4, 1);
		instruction->nfu.begin = i % 2 == 0;
		instruction->nfu.shift = i < 2 ? 0 : 1;
		if (i == 2)
			hand_store(instruction, 200, 8);
		else if (i == 3)
			hand_store(instruction, 0, 0);
	}
	hand_run(h);
	cr_expect(hand_get(h, 200) == 32767 && hand_get(h, 202) == -16383, "%d %d", hand_get(h, 200), hand_get(h, 202));
	cr_expect(hand_get(h, 204) == 0 && hand_get(h, 206) == 0, "%d %d", hand_get(h, 204), hand_get(h, 206));
	/* Steps in cycles 0 to 3, the last result at 3 + 1 + 8. Sums written and read twice, and two rows of
	 * results. */
	hand_spent(h, 4, 8, 0, 0, 0);
	cr_expect_eq(h->outcome.counters.nbout_rows, (uint64_t)(4 * sum_rows + 2));
	cr_expect_eq(h->outcome.counters.nbin_rows, 4);
	cr_expect_eq(h->outcome.counters.input_bytes, 8, "loaded once, read twice");
	cr_expect(!h->outcome.counters.sum_wraps && !h->outcome.counters.sum_saturations);
	cr_expect_eq(h->outcome.counters.product_saturations, 2);
	hand_close(h);
}

Test(diannao_rtl, partial_sums_wait_in_nbout)
{
	two_chunks(32, 2);
	two_chunks(18, 2);
	two_chunks(33, 3);
	two_chunks(48, 3);
}

/* The index is one higher after what does not keep its sums, whatever it does with them; results have rows of their
 * own. The input is 1.
 *     0: 5 goes to NBout      1: a maximum, (8, 9), is stored      2: 7 goes to NBout
 *     0: 5 comes, is kept, gets 1 more and goes back               0: 6 comes and is stored
 *     1: it is still in the registers, and stored again            2: 7 comes and is stored
 * SYNC makes each wait until the results before it are in NBout. */
Test(diannao_rtl, sums_and_results_have_rows_of_their_own)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	h->config.nbout_sum_rows = 6;
	h->config.nbout_rows = 7;
	hand_put(h, 0, 1024, 0, 8, 9, HAND_END);
	hand_put(h, 100, 5, 0, 50, 0, 7, 0, 70, 0, 1, 0, 10, 0, 0, 0, 0, 0, HAND_END);
	static const struct {
		int in, out, synapses;
		bool begin;
	} step[] = {{DN_FROM_RESET, DN_TO_NBOUT, 100, true},  {0, 0, 0, false},
		    {DN_FROM_RESET, DN_TO_NBOUT, 108, false}, {DN_FROM_NBOUT, DN_TO_KEEP, 124, true},
		    {DN_FROM_KEEP, DN_TO_NBOUT, 116, false},  {DN_FROM_NBOUT, DN_TO_NFU3, 124, true},
		    {DN_FROM_KEEP, DN_TO_NFU3, 124, false},   {DN_FROM_NBOUT, DN_TO_NFU3, 124, false}};
	for (int i = 0; i < 8; i++) {
		if (i == 1) {
			hand_maximum(h, 4, 200, 1);
			continue;
		}
		struct dn_instruction *instruction = hand_nfu(h, DN_MULT, DN_ADD, (enum dn_from)step[i].in,
							      (enum dn_to)step[i].out);
		hand_load_nbin(instruction, 0, 4, 0);
		hand_sb(instruction, DN_LOAD, (uint64_t)step[i].synapses, 8, 0);
		instruction->nfu.begin = step[i].begin;
		instruction->cp.op = DN_CP_SYNC;
		if (step[i].out == DN_TO_NFU3)
			hand_store(instruction, 204 + 4 * (uint64_t)(i - 5), 4);
	}
	hand_add(h);
	hand_run(h);
	cr_expect(hand_get(h, 200) == 8 && hand_get(h, 202) == 9);
	cr_expect(hand_get(h, 204) == 6 && hand_get(h, 206) == 60);
	cr_expect(hand_get(h, 208) == 6 && hand_get(h, 210) == 60, "kept, with nothing added");
	cr_expect(hand_get(h, 212) == 7 && hand_get(h, 214) == 70);
	hand_close(h);
}

/* OUTPUT END: the index is 0 after it; OUTPUT BEGIN: before. Sums 1 2, then 10 20 over index 0 (END before), 100 200 at
 * 1; index 0 and 1 are read in this order: 10 20, 100 200. The input is 1, so are the steps. */
Test(diannao_rtl, output_begin_and_end_set_the_index_of_sums)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	static const int sums[] = {1, 10, 100};
	hand_put(h, 0, 1024, 0, HAND_END);
	for (int i = 0; i < 5; i++) {
		struct dn_instruction *instruction = hand_nfu(h, DN_MULT, DN_ADD, i < 3 ? DN_FROM_RESET : DN_FROM_NBOUT,
							      i < 3 ? DN_TO_NBOUT : DN_TO_NFU3);
		if (i < 3)
			hand_put(h, 100 + 8 * (uint64_t)i, sums[i], 0, 2 * sums[i], 0, HAND_END);
		hand_sb(instruction, DN_LOAD, 100 + 8 * (uint64_t)i, 8, 0);
		if (i)
			hand_read_nbin(instruction, 1, 0, 0, 1);
		else
			hand_load_nbin(instruction, 0, 4, 1);
		instruction->nfu.end = i == 0;
		instruction->nfu.begin = i == 3;
		if (i >= 3)
			hand_store(instruction, i == 3 ? 200 : 0, i == 3 ? 8 : 0);
	}
	hand_run(h);
	cr_expect(hand_get(h, 200) == 10 && hand_get(h, 202) == 20);
	cr_expect(hand_get(h, 204) == 100 && hand_get(h, 206) == 200);
	hand_close(h);
}

/* BIAS and KEEP: the words of an SB row, then two multiplications that add to what is there. Rounded, a bias loses ten
 * bits, ties up:
 *     1536 -> 1.5 -> 2, -1536 -> -1.5 -> -1; 3 << 20 -> 3072; 2^31 - 1 -> 2097152 (2^21)
 * and the row's other half (here 7s) is not looked at. Products: input 2.0, synapses n + 1 in the first and 10 (n + 1)
 * in the second. */
static void biases(int product, const int *expected)
{
	struct dn_hand *h = hand_open(4, IDEAL);
	static const int32_t bias[] = {1536, -1536, 3 << 20, INT32_MAX};
	h->config.product = product;
	hand_put(h, 0, 0, 2048, 0, 0, HAND_END);
	for (uint64_t i = 0; i < 16; i++)
		hand_put(h, 100 + 2 * i, 7, HAND_END);
	for (uint64_t n = 0; n < 4; n++) {
		hand_put32(h, 100 + 4 * n, bias[n]);
		hand_put(h, 132 + 8 * n, 9, (int)(n + 1), 9, 9, HAND_END);
		hand_put(h, 164 + 8 * n, 9, (int)(10 * (n + 1)), 9, 9, HAND_END);
	}
	hand_sb(hand_nfu(h, DN_BIAS, DN_ADD, DN_FROM_RESET, DN_TO_KEEP), DN_LOAD, 100, 32, 0);
	struct dn_instruction *instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_KEEP, DN_TO_KEEP);
	hand_load_nbin(instruction, 0, 8, 1);
	hand_sb(instruction, DN_LOAD, 132, 32, 0);
	instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_KEEP, DN_TO_NFU3);
	hand_read_nbin(instruction, 0, 0, 0, 0);
	hand_sb(instruction, DN_LOAD, 164, 32, 0);
	hand_store(instruction, 200, 8);
	instruction->nfu.shift = product == NPL_Q16_FULL ? 10 : 0;
	hand_run(h);
	for (uint64_t n = 0; n < 4; n++)
		cr_expect_eq(hand_get(h, 200 + 2 * n), expected[n], "output %d is %d", (int)n,
			     hand_get(h, 200 + 2 * n));
	hand_spent(h, 3, 8, 0, 0, 0);
	const struct dn_counters *c = &h->outcome.counters;
	cr_expect(c->useful_macs == 32 && c->idle_lanes == 16 && c->nbin_rows == 2 && c->sb_rows == 3);
	cr_expect(c->sum_saturations == 1 && c->output_saturations == 1 && c->sum_wraps == (product == NPL_Q16_FULL));
	hand_close(h);
}

/* Rounded: 22 (n + 1) besides. Full: as many times 1024, so 1536 + 22528 = 24064 -> 23.5 -> 24; -1536 + 45056 = 43520
 * -> 42.5 -> 43; and 2^31 - 1 + 90112 wraps: -2147393537, which saturates at the other side. */
Test(diannao_rtl, biases_are_added_and_sums_kept)
{
	biases(NPL_Q16_ROUNDED, (const int[]){2 + 22, -1 + 44, 3072 + 66, 32767});
	biases(NPL_Q16_FULL, (const int[]){24, 43, 3072 + 66, -32768});
}

/* With Tn = 1 an SB row is one value, and a bias two of them: the lower 16 bits, then the upper. -70000 = 0xfffeee90:
 * rounded -68.36 -> -68. Then 3 * 5. */
Test(diannao_rtl, a_machine_of_one_neuron_is_right)
{
	struct dn_hand *h = hand_open(1, IDEAL);
	hand_put32(h, 100, -70000);
	hand_put(h, 104, 5 * 1024, HAND_END);
	hand_put(h, 0, 3, HAND_END);
	hand_sb(hand_nfu(h, DN_BIAS, DN_ADD, DN_FROM_RESET, DN_TO_KEEP), DN_LOAD, 100, 4, 0);
	struct dn_instruction *instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_KEEP, DN_TO_NFU3);
	hand_load_nbin(instruction, 0, 2, 0);
	hand_sb(instruction, DN_LOAD, 104, 2, 0);
	hand_store(instruction, 200, 2);
	hand_run(h);
	cr_expect_eq(hand_get(h, 200), -68 + 15);
	hand_spent(h, 3, 8, 0, 0, 0);
	hand_close(h);
}

/* sum_bits 16. Chunk 0: 32767 + 32767 = 65534, which is -2, for both outputs. Chunk 1: output 0 gets -32768: 32766 as
 * it is without wrapping, so nothing is counted; output 1 gets 1: 65535 is -1, counted. The third output group does not
 * go through NBout: 32767 + 1 = 32768 is -32768, counted; of its two outputs only one is stored. */
Test(diannao_rtl, sums_that_wrap_are_counted)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	h->config.sum_bits = 16;
	hand_put(h, 0, 1024, 1024, HAND_END);
	hand_put(h, 100, 32767, 32767, 32767, 32767, -32768, 0, 1, 0, 32767, 1, 32767, 1, HAND_END);
	struct dn_instruction *instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_RESET, DN_TO_NBOUT);
	hand_load_nbin(instruction, 0, 4, 1);
	hand_sb(instruction, DN_LOAD, 100, 8, 0);
	instruction->nfu.end = 1;
	instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_NBOUT, DN_TO_NFU3);
	hand_read_nbin(instruction, 0, 0, 0, 1);
	hand_sb(instruction, DN_LOAD, 108, 8, 0);
	hand_store(instruction, 200, 6);
	instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_RESET, DN_TO_NFU3);
	hand_read_nbin(instruction, 0, 0, 0, 1);
	hand_sb(instruction, DN_LOAD, 116, 8, 0);
	hand_store(instruction, 0, 0);
	hand_put(h, 206, 77, HAND_END);
	hand_run(h);
	cr_expect(hand_get(h, 200) == 32766 && hand_get(h, 202) == -1 && hand_get(h, 204) == -32768);
	cr_expect_eq(hand_get(h, 206), 77);
	cr_expect_eq(h->outcome.counters.sum_wraps, 2);
	cr_expect_eq(h->outcome.counters.nfu3_operations, 3);
	cr_expect_eq(h->outcome.counters.nbout_rows, 1 + 1 + 2, "16 bits are one row");
	hand_close(h);
}

/* Sums as they are: three results of 32 bits in a store of 12 bytes, from two groups of Tn = 2; they take four rows of
 * NBout.
 *     full products: 32767 * 32767 = 1073676289, twice that = 2147352578; -32768 * 32767 = -1073709056 */
Test(diannao_rtl, sums_as_they_are)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	h->config.product = NPL_Q16_FULL;
	hand_put(h, 0, 32767, 32767, HAND_END);
	hand_put(h, 100, 32767, 32767, -32768, 0, 3, -4, 1, 1, HAND_END);
	hand_put32(h, 212, 77);
	for (int i = 0; i < 2; i++) {
		struct dn_instruction *instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_RESET, DN_TO_NBOUT);
		if (i)
			hand_read_nbin(instruction, 0, 0, 0, 0);
		else
			hand_load_nbin(instruction, 0, 4, 1);
		hand_sb(instruction, DN_LOAD, 100 + 8 * (uint64_t)i, 8, 0);
		hand_store(instruction, i ? 0 : 200, i ? 0 : 12);
	}
	hand_run(h);
	cr_expect(hand_get32(h, 200) == 2147352578 && hand_get32(h, 204) == -1073709056);
	cr_expect(hand_get32(h, 208) == -32767 && hand_get32(h, 212) == 77);
	cr_expect_eq(h->outcome.counters.nbout_rows, 4);
	cr_expect_eq(h->outcome.counters.nfu3_operations, 0);
	hand_spent(h, 2, 5, 0, 0, 0);
	hand_close(h);
}

/* They wrap like others: a third product as large makes 3221028867 = -1073938429, counted; of 24 bits they are sums
 * with their sign. */
Test(diannao_rtl, sums_as_they_are_wrap)
{
	for (int bits = 32; bits >= 24; bits -= 8) {
		struct dn_hand *h = hand_open(2, IDEAL);
		h->config.product = NPL_Q16_FULL;
		h->config.sum_bits = bits;
		hand_put(h, 0, 32767, 32767, 32767, 0, HAND_END);
		hand_put(h, 100, 32767, 32767, -1, 0, 32767, 0, -1, 0, HAND_END);
		struct dn_instruction *instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_RESET, DN_TO_NBOUT);
		hand_load_nbin(instruction, 0, 8, 0);
		hand_sb(instruction, DN_LOAD, 100, 16, 0);
		hand_store(instruction, 200, 8);
		hand_run(h);
		/* 3221028867 = 0xbffd0003; its lowest 24 bits are 0xfd0003 = -196605. */
		cr_expect_eq(hand_get32(h, 200), bits == 32 ? -1073938429 : -196605);
		cr_expect_eq(hand_get32(h, 204), -65534);
		cr_expect_eq(h->outcome.counters.sum_wraps, 1);
		hand_close(h);
	}
}

/* NBin NOP: a multiplication has zeros, SB rows are read all the same. A load that ends within a row fills it up with
 * zeros: NBin has one row, in which 5 6 was before 7. */
Test(diannao_rtl, nbin_nop_multiplies_by_zeros)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	h->config.nbin_rows = 1;
	hand_put(h, 0, 5, 6, 7, 8, HAND_END);
	hand_put(h, 100, 1024, 1024, 1024, 0, HAND_END);
	hand_maximum(h, 0, 200, 1);
	hand_maximum(h, 4, 204, 1)->nbin.size = 2;
	hand_group(h, 0, 100, 212, 1);
	struct dn_instruction *instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_RESET, DN_TO_NFU3);
	hand_sb(instruction, DN_LOAD, 100, 8, 0);
	hand_store(instruction, 208, 4);
	hand_put(h, 208, 1, 1, HAND_END);
	hand_run(h);
	cr_expect(hand_get(h, 212) == 11 && hand_get(h, 214) == 5);
	cr_expect(hand_get(h, 200) == 5 && hand_get(h, 202) == 6 && hand_get(h, 204) == 7 && hand_get(h, 206) == 0);
	cr_expect(hand_get(h, 208) == 0 && hand_get(h, 210) == 0);
	cr_expect(h->outcome.counters.nbin_rows == 3 && h->outcome.counters.sb_rows == 2);
	hand_close(h);
}

/* Circular buffers: SB has three rows, NBin two. Row i of SB is i times the input, which is 10. Rows 1 to 3 are loaded
 * without steps, 2 and 3 read and kept: 50. Row 1 is freed and row 4 comes into its place; the rows held are now 2, 3
 * and 4, of which 3 and 4 are read: 70. That frees all of them, and row 5 comes: 50. */
Test(diannao_rtl, rows_from_the_oldest)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	h->config.sb_rows = 3;
	h->config.nbin_rows = 2;
	hand_put(h, 0, 10, 0, 10, 0, HAND_END);
	for (uint64_t i = 0; i < 5; i++)
		hand_put(h, 100 + 8 * i, (int)(1024 * (i + 1)), 0, 0, 0, HAND_END);
	hand_sb(hand_add(h), DN_LOAD, 100, 24, 1);
	struct dn_instruction *instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_RESET, DN_TO_NFU3);
	hand_load_nbin(instruction, 0, 8, 1);
	hand_sb(instruction, DN_READ, 8, 16, 1); /* rows 2, 3 */
	hand_store(instruction, 200, 4);
	hand_sb(hand_add(h), DN_READ, 0, 8, 0); /* frees row 1 */
	hand_sb(hand_add(h), DN_LOAD, 124, 8, 1);
	instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_RESET, DN_TO_NFU3);
	hand_read_nbin(instruction, 0, 0, 0, 1);
	hand_sb(instruction, DN_READ, 8, 16, 0); /* rows 3, 4; frees 2 to 4 */
	hand_store(instruction, 204, 4);
	instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_RESET, DN_TO_NFU3);
	hand_read_nbin(instruction, 1, 1, 1, 0);
	hand_sb(instruction, DN_LOAD, 132, 8, 0); /* row 5 */
	hand_store(instruction, 208, 4);
	hand_run(h);
	cr_expect_eq(hand_get(h, 200), 50);
	cr_expect_eq(hand_get(h, 204), 70);
	cr_expect_eq(hand_get(h, 208), 50);
	hand_spent(h, 5, 8, 0, 0, 0);
	hand_close(h);
}

/* SYNC: what was stored is loaded. Without it the load would run ahead and find what was there before. */
Test(diannao_rtl, sync_sees_stores)
{
	for (int sync = 0; sync < 2; sync++) {
		struct dn_hand *h = hand_open(2, IDEAL);
		hand_put(h, 0, 5, 6, HAND_END);
		hand_put(h, 200, 1, 2, HAND_END);
		hand_maximum(h, 0, 200, 1);
		struct dn_instruction *instruction = hand_maximum(h, 200, 204, 1);
		instruction->nfu.shift = -1;
		instruction->cp.op = sync ? DN_CP_SYNC : DN_CP_NOP;
		hand_add(h);
		hand_run(h);
		cr_expect(hand_get(h, 200) == 5 && hand_get(h, 202) == 6);
		cr_expect_eq(hand_get(h, 204), sync ? 10 : 2);
		cr_expect_eq(hand_get(h, 206), sync ? 12 : 4);
		hand_close(h);
	}
}

/* Tn = 16, all lanes: input i is i + 1, synapse [n][i] is (n - 8) * 1024 where i is even and 1024 else:
 * (n - 8) (1 + 3 + ... + 15) + (2 + 4 + ... + 16) = 64 (n - 8) + 72. */
Test(diannao_rtl, all_sixteen_lanes_are_right)
{
	struct dn_hand *h = hand_open(16, IDEAL);
	for (uint64_t i = 0; i < 16; i++)
		hand_put(h, 2 * i, (int)(i + 1), HAND_END);
	for (uint64_t n = 0; n < 16; n++)
		for (uint64_t i = 0; i < 16; i++)
			hand_put(h, 1024 + 32 * n + 2 * i, i % 2 ? 1024 : ((int)n - 8) * 1024, HAND_END);
	hand_group(h, 0, 1024, 2048, 1);
	hand_run(h);
	for (uint64_t n = 0; n < 16; n++)
		cr_expect_eq(hand_get(h, 2048 + 2 * n), 64 * ((int)n - 8) + 72);
	hand_spent(h, 1, 8, 0, 0, 0);
	hand_close(h);
}
