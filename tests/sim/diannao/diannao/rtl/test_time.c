/* SPDX-License-Identifier: MIT
 *
 * Promise: the register-level engine of DianNao takes the cycles that sim/diannao/diannao/engine/engine.h says, each of
 * them worked out by hand: requests at the port, rows that arrive, steps, results, room in the buffers, SYNC, memory
 * with another clock; and it notices what cannot go on. */
#include "tests/kit/sim/diannao/hand.h"

#define IDEAL "model: ideal\n"
/* At 980 MHz 255.1 bytes a cycle: an access of up to 255 bytes takes the port for 1 cycle, an SB row of Tn = 16 (512
 * bytes, 2.007 cycles) for 3. The second is the same without rounding up, and both have no latency. */
#define WHOLE "model: fixed\nbytes_per_second: 250e9\nwhole_cycles: yes\n"
#define EXACT "model: fixed\nbytes_per_second: 250e9\n"
/* 64 bytes a cycle of 980 MHz, in accesses of 64 bytes. */
#define LINES "model: fixed\nbytes_per_second: 62720000000\naccess_bytes: 64\n"

/* A request keeps the port for 13 cycles. NBin's begins in cycle 0 and is there at 1; SB's at 13.
 *     Tn = 16: rows at 16 and 19, steps there; the result at 19 + 1 + 8 = 28, when the port is free (13 + 13 = 26):
 *     stored at 29
 *     Tn = 2, 4: rows at 14 and 15; the result at 24, but the port is kept until 26: stored at 27 */
Test(diannao_rtl_time, requests_keep_the_port)
{
	for (int64_t tn = 2; tn <= 16; tn = tn == 2 ? 4 : 4 * tn) {
		struct dn_hand *h = hand_open(tn, WHOLE);
		h->config.dma_request_cycles = 13;
		hand_group(h, 0, 1024, 8192, 2);
		hand_run(h);
		cr_expect_eq(hand_when(h, DN_DECODED, 0), 0);
		cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 0), 1);
		cr_expect_eq(hand_when(h, DN_SB_ARRIVED, 0), tn == 16 ? 19 : 15);
		cr_expect_eq(hand_when(h, DN_STARTED, 0), tn == 16 ? 16 : 14);
		cr_expect_eq(hand_when(h, DN_ENDED, 0), tn == 16 ? 20 : 16);
		cr_expect_eq(hand_when(h, DN_STORED, 0), tn == 16 ? 29 : 27);
		if (tn == 16)
			hand_spent(h, 2, 8, 18, 0, 1);
		else
			hand_spent(h, 2, 8, 14, 0, 3);
		cr_expect_eq(npl_memory_now(h->memory), h->outcome.cycles);
		hand_close(h);
	}
}

/* Round robin, with 13 cycles a request: NBin A 0, SB a 13 (there at 16), whose result is in NBout at 16 + 1 + 8 = 25;
 * at 26 the one after SB is NBout: the store, at 27; NBin B 39, SB b 52 (55); result at 64, but the port is kept until
 * 65. */
Test(diannao_rtl_time, the_port_goes_round_robin)
{
	struct dn_hand *h = hand_open(16, WHOLE);
	h->config.dma_request_cycles = 13;
	hand_group(h, 0, 1024, 8192, 1);
	hand_group(h, 32, 2048, 8224, 1);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 0), 1);
	cr_expect_eq(hand_when(h, DN_SB_ARRIVED, 0), 16);
	cr_expect_eq(hand_when(h, DN_STORED, 0), 27);
	cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 1), 40);
	cr_expect_eq(hand_when(h, DN_SB_ARRIVED, 1), 55);
	cr_expect_eq(hand_when(h, DN_STORED, 1), 66);
	hand_spent(h, 2, 8, 16 + 38, 0, 2);
	hand_close(h);
}

/* SB rows arrive one by one, 3 cycles apart; those of NBin together. Nothing is kept.
 *     NBin 0 to 1, SB 1 to 4, 7, 10, 13: steps there; the result at 13 + 9 = 22, stored at 23
 * Cut into 200, 200 and 112 bytes a row takes 3 cycles again, and NBin's 128 bytes in 100 and 28 two: all is a cycle
 * later. Without rounding up: NBin to 0.50; SB, taken at 0, 2, 4 and 6, to 2.51, 4.52, 6.52, 8.53: steps in 3, 5, 7,
 * 9. */
Test(diannao_rtl_time, rows_of_sb_arrive_one_by_one)
{
	struct dn_hand *h = hand_open(16, WHOLE);
	hand_group(h, 0, 1024, 8192, 4);
	hand_run(h);
	hand_spent(h, 4, 8, 10, 0, 1);
	cr_expect_eq(hand_when(h, DN_STARTED, 0), 4);
	hand_close(h);

	h = hand_open(16, WHOLE);
	h->config.dma_burst_bytes = 200;
	hand_group(h, 0, 1024, 8192, 4);
	hand_run(h);
	hand_spent(h, 4, 8, 10, 0, 1);
	cr_expect_eq(h->outcome.counters.dram_reads, 1 + 4 * 3);
	h->config.dma_burst_bytes = 100; /* rows: 5 of 100 and 12 bytes, 6 cycles; NBin 2 */
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 0), 2);
	cr_expect_eq(hand_when(h, DN_STARTED, 0), 2 + 6);
	hand_spent(h, 4, 8, 8 + 3 * 5, 0, 1);
	cr_expect_eq(h->outcome.counters.dram_reads, 2 + 4 * 6);
	hand_close(h);

	h = hand_open(16, EXACT);
	hand_group(h, 0, 1024, 8192, 4);
	hand_run(h);
	hand_spent(h, 4, 8, 6, 0, 1);
	hand_close(h);

	h = hand_open(16, WHOLE);
	h->config.dma_burst_bytes = 32; /* NBin's four rows are there at 4, all of them; the maximum at 7 + 1 + 2 */
	hand_maximum(h, 0, 8192, 4);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_STARTED, 0), 4);
	hand_spent(h, 4, 2, 0, 4, 1);
	hand_close(h);
}

/* Accesses of 64 bytes, one a cycle. Tn = 2: three SB rows of 8 bytes from address 60 are bytes 60 to 63 and 64 to 83:
 * two accesses, the first row is in both. NBin's 12 bytes are one, 0 to 1; SB 1 to 3, all rows there; steps 3, 4, 5;
 * the result at 14, its 4 bytes from 126 on are two accesses: 16. */
Test(diannao_rtl_time, each_access_takes_one_cycle)
{
	struct dn_hand *h = hand_open(2, LINES);
	hand_group(h, 100, 60, 126, 3);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_STARTED, 0), 3);
	hand_spent(h, 3, 8, 3, 0, 2);
	cr_expect(h->outcome.counters.dram_reads == 3 && h->outcome.counters.dram_writes == 2);
	cr_expect(h->outcome.memory.read_bytes == 192 && h->outcome.memory.written_bytes == 128);
	cr_expect(h->outcome.counters.synapse_bytes == 24 && h->outcome.counters.output_bytes == 4);
	h->program[0].sb.address = 64; /* one access */
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_STARTED, 0), 2);
	h->program[0].sb.address =
		48; /* the first two rows are in the first: the third comes a cycle later, when it is needed last */
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_STARTED, 0), 2);
	hand_spent(h, 3, 8, 2, 0, 2);
	hand_close(h);
}

/* What memory refuses has not begun, and at the next boundary the order is looked at again. NBin has one row.
 *     NBin A 0 to 1, SB a 1 to 4. SB b is the only one left, but memory is taken until 4. A's row is free at 2, its
 *     maximum in NBout at 1 + 1 + 2 = 4: at 4 all three wait, and after SB comes NBout: 5, NBin B: 6, SB b: 9. B's
 *     maximum at 9, stored at 10. */
Test(diannao_rtl_time, refused_requests_have_not_begun)
{
	struct dn_hand *h = hand_open(16, WHOLE);
	h->config.nbin_rows = 1;
	hand_sb(hand_add(h), DN_LOAD, 1024, 512, 1);
	hand_sb(hand_add(h), DN_LOAD, 2048, 512, 1);
	hand_maximum(h, 0, 8192, 1);
	hand_maximum(h, 32, 8224, 1);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_SB_ARRIVED, 0), 4);
	cr_expect_eq(hand_when(h, DN_STORED, 2), 5);
	cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 3), 6);
	cr_expect_eq(hand_when(h, DN_SB_ARRIVED, 1), 9);
	hand_spent(h, 2, 2, 0, 5, 1);
	hand_close(h);
}

/* A load waits until there is room for all its rows, which REUSE 0 makes when the instruction ends. NBin, 2 rows:
 *     A 0 to 1, steps 1 and 2; ended at 3: B 3 to 4, steps 4 and 5; maxima at 5 and 8, stored at 6 and 9
 * With 4 rows B is there at 2: steps 1 to 4, maxima at 5 and 7. With 3 rows it waits as with 2. */
Test(diannao_rtl_time, a_load_waits_for_room_in_nbin)
{
	for (int64_t rows = 2; rows <= 4; rows++) {
		struct dn_hand *h = hand_open(16, WHOLE);
		h->config.nbin_rows = rows;
		hand_maximum(h, 0, 8192, 2);
		hand_maximum(h, 64, 8224, 2);
		hand_run(h);
		cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 1), rows == 4 ? 2 : 4);
		cr_expect_eq(hand_when(h, DN_STORED, 0), 6);
		hand_spent(h, 4, 2, 0, rows == 4 ? 1 : 2, 1);
		hand_close(h);
	}
}

/* SB of 3 rows, two groups of 2: NBin A 0 to 1, SB a 1 to 4 and 7; NBin B 7 to 8; a's rows are free at 8: SB b 8 to 11
 * and 14. The result of A at 7 + 9 = 16, of B at 23, stored at 24. */
Test(diannao_rtl_time, a_load_waits_for_room_in_sb)
{
	struct dn_hand *h = hand_open(16, WHOLE);
	h->config.sb_rows = 3;
	hand_group(h, 0, 1024, 8192, 2);
	hand_group(h, 64, 2048, 8224, 2);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 1), 8);
	cr_expect_eq(hand_when(h, DN_STARTED, 1), 11);
	cr_expect_eq(hand_when(h, DN_STORED, 0), 17);
	hand_spent(h, 4, 8, 4 + 2 + 3 + 2, 0, 1);
	hand_close(h);
}

/* NBout, ideal memory. One row of results: the maximum of cycle 0 is there, and stored, at 3: the next step is in cycle
 * 3, its result at 6. Sums of 32 bits take two of three rows; the group after waits with its last step until they are
 * stored, at 0 + 1 + 5 = 6; the one after that until 6 + 1 + 5 = 12, and its sums are there at 18. */
Test(diannao_rtl_time, a_step_waits_for_room_in_nbout)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	h->config.nbout_rows = 3;
	h->config.nbout_sum_rows = 2;
	hand_maximum(h, 0, 200, 1);
	hand_maximum(h, 4, 204, 1);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_STARTED, 1), 3);
	hand_spent(h, 2, 2, 0, 0, 2);
	hand_close(h);

	h = hand_open(2, IDEAL);
	h->config.nbout_rows = 5;
	h->config.nbout_sum_rows = 2;
	for (uint64_t i = 0; i < 3; i++) {
		struct dn_instruction *instruction = hand_group(h, 0, 100, 200 + 8 * i, i == 1 ? 2 : 1);
		instruction->nfu.out = DN_TO_NBOUT;
		instruction->nbout.size = 8;
	}
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_STARTED, 1), 1);
	cr_expect_eq(hand_when(h, DN_ENDED, 1), 7);
	cr_expect_eq(hand_when(h, DN_STARTED, 2), 12);
	hand_spent(h, 4, 5, 0, 0, 4 + 5);
	hand_close(h);
}

/* A store that three instructions fill is one request, when the last result is there: steps 1, 2, 3, the last maximum
 * at 6, 96 bytes to 7. NBin's loads have been taken at 0, 1 and 2. The instruction that fills it up is the one that is
 * told. */
Test(diannao_rtl_time, a_store_of_several_instructions_is_one_request)
{
	struct dn_hand *h = hand_open(16, WHOLE);
	for (uint64_t i = 0; i < 3; i++)
		hand_store(hand_maximum(h, 32 * i, 0, 1), i ? 0 : 8192, i ? 0 : 96);
	hand_run(h);
	cr_expect(hand_when(h, DN_STORED, 0) == -1 && hand_when(h, DN_STORED, 2) == 7);
	hand_spent(h, 3, 2, 0, 1, 1);
	cr_expect_eq(h->outcome.counters.dram_writes, 1);
	hand_close(h);
}

/* SYNC, ideal memory: the maximum of cycle 0 is stored at 3, after decoding there; the SYNC is decoded at 4 and its
 * step is in cycle 4. */
Test(diannao_rtl_time, a_sync_waits_for_stores)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	hand_maximum(h, 0, 200, 1);
	hand_maximum(h, 4, 204, 1)->cp.op = DN_CP_SYNC;
	hand_add(h);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_DECODED, 1), 4);
	cr_expect_eq(hand_when(h, DN_DECODED, 2), 4);
	hand_spent(h, 2, 4, 0, 1, 0);
	hand_close(h);

	/* A store that is not full is none yet: with the pipeline empty, at 3, the SYNC is decoded. */
	h = hand_open(2, IDEAL);
	hand_maximum(h, 0, 200, 1)->nbout.size = 8;
	hand_store(hand_maximum(h, 4, 0, 1), 0, 0);
	h->program[1].cp.op = DN_CP_SYNC;
	hand_add(h);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_STARTED, 1), 3);
	hand_spent(h, 2, 4, 0, 0, 0);
	hand_close(h);

	/* It waits for loads: SB's row is there at 3, where it is decoded; NBin 3 to 4; the maximum at 7, stored at
	 * 8. */
	h = hand_open(16, WHOLE);
	hand_sb(hand_add(h), DN_LOAD, 1024, 512, 1);
	hand_maximum(h, 0, 8192, 1)->cp.op = DN_CP_SYNC;
	hand_add(h);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_ENDED, 0), 0);
	cr_expect_eq(hand_when(h, DN_DECODED, 1), 3);
	hand_spent(h, 1, 2, 3, 1, 1);
	hand_close(h);
}

/* Nothing to do takes no time; loads alone take theirs: NBin 0 to 1, SB 1 to 4. All four cycles are waited for SB,
 * which has a load then. */
Test(diannao_rtl_time, an_empty_program_takes_no_time)
{
	struct dn_hand *h = hand_open(16, WHOLE);
	hand_add(h);
	hand_run(h);
	cr_expect_eq(h->outcome.cycles, 0);
	struct dn_instruction *instruction = &h->program[0];
	hand_sb(instruction, DN_LOAD, 1024, 512, 1);
	hand_load_nbin(instruction, 0, 32, 1);
	hand_run(h);
	hand_spent(h, 0, 0, 4, 0, 0);
	instruction->sb.op = DN_READ_NOP;
	hand_run(h);
	hand_spent(h, 0, 0, 0, 1, 0);
	hand_close(h);

	/* Sums that stay have a way too: NFU-1 and NFU-2. */
	h = hand_open(2, IDEAL);
	instruction = hand_group(h, 0, 100, 0, 3);
	instruction->nfu.out = DN_TO_KEEP;
	instruction->nbout.write = DN_WRITE_NOP;
	instruction->nbout.size = 0;
	hand_run(h);
	hand_spent(h, 3, 5, 0, 0, 0);
	hand_close(h);
}

/* At most dma.queue instructions are decoded and have not ended. 1: NBin A 0 to 1, a step, ended at 2: B 2 to 3. The
 * maxima at 4 and 6, stored at 5 and 7. 2: B 1 to 2. Instructions without steps end at once: any number of them. */
Test(diannao_rtl_time, a_full_window_delays_decoding)
{
	for (int queue = 1; queue <= 2; queue++) {
		struct dn_hand *h = hand_open(16, WHOLE);
		h->config.dma_queue = queue;
		hand_maximum(h, 0, 8192, 1);
		hand_maximum(h, 32, 8224, 1);
		hand_run(h);
		cr_expect_eq(hand_when(h, DN_DECODED, 1), queue == 1 ? 2 : 0);
		hand_spent(h, 2, 2, 0, queue == 1 ? 2 : 1, 1);
		hand_close(h);
	}
	struct dn_hand *h = hand_open(16, WHOLE);
	h->config.dma_queue = 1;
	h->config.nbin_rows = 60;
	for (uint64_t i = 0; i < 60; i++)
		hand_load_nbin(hand_add(h), 32 * i, 32, 1);
	hand_run(h);
	cr_expect(hand_when(h, DN_DECODED, 59) == 59 && hand_when(h, DN_ENDED, 59) == 59, "when load 58 has arrived");
	cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 59), 60);
	hand_spent(h, 0, 0, 0, 60, 0);
	hand_close(h);
}

/* Rows may be freed before they have come: A's are never read, and free at once; B's load follows A's, 1 to 2, into the
 * same two rows. */
Test(diannao_rtl_time, freed_before_they_come)
{
	struct dn_hand *h = hand_open(16, WHOLE);
	h->config.nbin_rows = 2;
	for (uint64_t i = 0; i < 64; i++)
		hand_put(h, 2 * i, i < 32 ? 99 : (int)i, HAND_END);
	hand_load_nbin(hand_add(h), 0, 64, 1);
	hand_read_nbin(hand_add(h), 0, 0, 0, 0);
	hand_maximum(h, 64, 8192, 2);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_STARTED, 2), 2);
	cr_expect(hand_get(h, 8192) == 48 && hand_get(h, 8222) == 63);
	hand_spent(h, 2, 2, 0, 2, 1);
	hand_close(h);
}

/* What has no NFU-1 OP waits for NFU-1 to be empty: a multiplication in cycle 0, the maximum in cycle 4; their results
 * at 9 and 7. Stores are in order: both at 9. The other way round nothing waits: steps in 0 and 1, results at 3 and
 * 10. */
Test(diannao_rtl_time, nothing_overtakes_in_nfu1)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	hand_put(h, 0, 3, 0, 4, 5, HAND_END);
	hand_put(h, 100, 1024, 0, 2048, 0, HAND_END);
	hand_group(h, 0, 100, 200, 1);
	hand_maximum(h, 4, 204, 1);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_STARTED, 1), 4);
	cr_expect(hand_when(h, DN_STORED, 0) == 9 && hand_when(h, DN_STORED, 1) == 9);
	cr_expect(hand_get(h, 200) == 3 && hand_get(h, 202) == 6 && hand_get(h, 204) == 4 && hand_get(h, 206) == 5);
	hand_spent(h, 2, 3 + 2, 0, 0, 2);
	hand_close(h);

	h = hand_open(2, IDEAL);
	hand_maximum(h, 4, 204, 1);
	hand_group(h, 0, 100, 200, 1);
	hand_run(h);
	cr_expect(hand_when(h, DN_STORED, 0) == 3 && hand_when(h, DN_STORED, 1) == 10);
	hand_spent(h, 2, 8, 0, 0, 0);
	hand_close(h);
}

static struct dn_hand *other_clock(const char *memory, int64_t memory_hz)
{
	struct dn_hand *h = hand_open(16, NULL);
	h->config.clock_hz = 900000000;
	h->memory = hand_memory(memory, (struct npl_hz){memory_hz, 1}, true);
	return h;
}

/* 300 MHz and 64 bytes a cycle: memory's boundaries are at 0, 3, 6, ... of the machine's. NBin's 64 bytes are there at
 * 1, which is 3; steps 3 and 4; the maximum at 7 is seen at 9, 32 bytes take half a cycle: 12. With 4 cycles a request,
 * which are 2 of memory's: A to 1 (3), a step, the maximum at 6, where memory's 2 is and after NBin comes NBout: its
 * store, to 3 (9); B from 4 to 5 (15), the maximum at 18, stored to 7 (21). */
Test(diannao_rtl_time, a_slower_clock_of_memory_rounds_up)
{
	static const char text[] = "model: fixed\nbytes_per_second: 19200000000\n";
	struct dn_hand *h = other_clock(text, 300000000);
	hand_maximum(h, 0, 8192, 2);
	hand_run(h);
	hand_spent(h, 2, 2, 0, 3, 5);
	cr_expect_eq(npl_memory_now(h->memory), 4);
	hand_close(h);

	h = other_clock(text, 300000000);
	h->config.dma_request_cycles = 4;
	hand_maximum(h, 0, 8192, 1);
	hand_maximum(h, 32, 8224, 1);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 0), 3);
	cr_expect_eq(hand_when(h, DN_STORED, 0), 9);
	cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 1), 15);
	hand_spent(h, 2, 2, 0, 3 + 11, 3);
	hand_close(h);
}

/* 1.35 GHz and 64 bytes a cycle: memory's boundary m is at m / 1.5. A cycle a request is 2 of memory's: NBin's loads
 * begin at 0, 2 and 4 and take half a cycle: there at 1, 3, 5, seen at 1, 2 and 4 (0.67, 2, 3.33): steps there. The
 * maximum at 7 is seen at 11 (10.5), 96 bytes to 12.5: 13, seen at 9 (8.67). Memory stands at 14 (13.5) then. */
Test(diannao_rtl_time, a_faster_clock_of_memory_rounds_up)
{
	struct dn_hand *h = other_clock("model: fixed\nbytes_per_second: 86400000000\n", 1350000000);
	h->config.dma_request_cycles = 1;
	for (uint64_t i = 0; i < 3; i++)
		hand_store(hand_maximum(h, 32 * i, 0, 1), i ? 0 : 8192, i ? 0 : 96);
	hand_run(h);
	cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 0), 1);
	cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 1), 2);
	cr_expect_eq(hand_when(h, DN_NBIN_ARRIVED, 2), 4);
	cr_expect_eq(hand_when(h, DN_STORED, 2), 9);
	hand_spent(h, 3, 2, 0, 2, 2);
	cr_expect_eq(npl_memory_now(h->memory), 14);
	hand_close(h);
}

/* Ideal memory with a clock of its own answers at its boundaries: at 0, then every 2.5 cycles of the machine. The
 * maximum of cycle 0, at 3, is seen at memory's 2 (5), where it is stored. */
Test(diannao_rtl_time, ideal_memory_of_another_clock)
{
	struct dn_hand *h = other_clock(IDEAL, 360000000);
	hand_maximum(h, 0, 8192, 1);
	hand_run(h);
	hand_spent(h, 1, 2, 0, 0, 2);
	hand_close(h);
}

/* DRAM: both of its engines give the same cycles, and they are more than those of the bytes. */
Test(diannao_rtl_time, dram_is_slower_than_its_bytes_on_both_engines)
{
	static const char *const names[] = {"memories/ddr3-2133.yaml", "memories/hbm2.yaml",
					    "memories/lpddr4-2400.yaml"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct dn_outcome outcome[2];
		for (int every_cycle = 0; every_cycle < 2; every_cycle++) {
			struct dn_hand *h = hand_open(16, NULL);
			h->memory = hand_memory(names[i], (struct npl_hz){0}, every_cycle);
			for (uint64_t g = 0; g < 20; g++)
				hand_group(h, 64 * g, 8192 + 1024 * g, 32768 + 32 * g, 2);
			hand_run(h);
			outcome[every_cycle] = h->outcome;
			hand_close(h);
		}
		const struct dn_counters *n = &outcome[0].counters;
		cr_expect_eq(outcome[0].cycles, outcome[1].cycles);
		cr_expect_eq(memcmp(n, &outcome[1].counters, sizeof *n), 0);
		cr_expect(n->dram_reads > 0 && n->dram_writes > 0 && n->dram_activates > 0);
		cr_expect_gt(n->wait_sb, 20);
	}
}

/* ---- What the check would have refused ---- */

static void cannot(struct dn_hand *h, const char *reason)
{
	struct npl_err err = {0};
	h->program[h->count - 1].cp.op = DN_CP_END;
	for (int values = 0; values < 2; values++) {
		cr_expect_eq(hand_once(h, values, &err), NPL_EINTERNAL);
		cr_expect(strstr(err.msg, reason) != NULL, "'%s' does not say '%s'", err.msg, reason);
	}
	hand_close(h);
}

Test(diannao_rtl_time, programs_that_cannot_go_on)
{
	static const char *const memories[] = {IDEAL, WHOLE};
	for (int m = 0; m < 2; m++) {
		/* more rows than NBin has */
		struct dn_hand *h = hand_open(2, memories[m]);
		hand_maximum(h, 0, 200, 9);
		cannot(h, "no transfer brings");
		/* a row that is not held */
		h = hand_open(2, memories[m]);
		h->config.dma_request_cycles = 50;
		hand_maximum(h, 0, 200, 2);
		hand_maximum(h, 0, 204, 2)->nbin.stride = 1;
		h->program[1].nbin.end = 2;
		cannot(h, "no transfer brings");
		/* more results than NBout has room for */
		h = hand_open(2, memories[m]);
		for (uint64_t i = 0; i < 9; i++)
			hand_store(hand_maximum(h, 4 * i, 0, 1), i ? 0 : 200, i ? 0 : 36);
		cannot(h, "no transfer brings");
		/* room that nobody makes, after a SYNC */
		h = hand_open(2, memories[m]);
		hand_load_nbin(hand_add(h), 0, 32, 1);
		hand_load_nbin(hand_add(h), 0, 4, 1);
		hand_add(h)->cp.op = DN_CP_SYNC;
		hand_add(h);
		cannot(h, "no transfer brings");
	}
}

Test(diannao_rtl_time, programs_that_were_not_checked)
{
	struct dn_hand *h = hand_open(2, IDEAL);
	hand_store(hand_maximum(h, 0, 0, 1), 0, 0);
	cannot(h, "for the store that is open");
	h = hand_open(2, IDEAL);
	hand_maximum(h, 0, 200, 1)->nbout.size = 8;
	hand_maximum(h, 0, 200, 1);
	cannot(h, "instruction 1 was not checked");
	h = hand_open(2, IDEAL);
	hand_maximum(h, (uint64_t)1 << DN_ADDRESS_BITS, 200, 1);
	cannot(h, "in memory");
	h = hand_open(2, IDEAL);
	hand_group(h, 0, 100, 200, 1)->nfu.nfu3 = 3;
	cannot(h, "a function");
	h = hand_open(2, IDEAL);
	hand_group(h, 0, 100, 200, 1)->sb.size = 7;
	cannot(h, "whole rows");
	h = hand_open(2, IDEAL); /* 8 rows are four places */
	for (int i = 0; i < 5; i++) {
		struct dn_instruction *instruction = hand_nfu(h, DN_NFU1_NOP, DN_ADD, DN_FROM_RESET, DN_TO_NBOUT);
		hand_load_nbin(instruction, 0, 4, 0);
	}
	cannot(h, "a place for sums");
}
