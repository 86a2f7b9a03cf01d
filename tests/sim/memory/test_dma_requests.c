/* SPDX-License-Identifier: MIT
 *
 * What the DMA engines promise of whole requests, in cycles worked out by hand: a request is not interrupted, engines
 * take turns with requests, and a new one begins 13 cycles after the one before at the earliest. The memory moves
 * 250 GB/s at 980 MHz, so that a burst of 512 bytes takes 2.007 cycles, or 3 where each access takes whole cycles. */
#include "tests/kit/sim/dma_support.h"

#define RATE         "250e9"
#define WHOLE_CYCLES "250e9\nwhole_cycles: yes"

struct engines {
	struct npl_memory *memory;
	struct npl_dma *dma;
};

static struct npl_dma_config requests_of(int request_cycles)
{
	return (struct npl_dma_config){
		.engines = 3, .queue = 4, .burst_bytes = 512, .whole_requests = true, .request_cycles = request_cycles};
}

static struct engines open_engines(const char *parameters, int request_cycles)
{
	struct npl_memory *memory = fixed_memory(parameters);
	return (struct engines){memory, dma_of(memory, requests_of(request_cycles))};
}

static void close_engines(struct engines engines)
{
	npl_dma_close(engines.dma);
	npl_memory_close(engines.memory);
}

/* One row of so many bytes. */
static struct npl_dma_descriptor row_of(uint64_t address, uint64_t bytes, uint64_t tag)
{
	return (struct npl_dma_descriptor){.address = address, .row_bytes = bytes, .tag = tag};
}

static void push(struct npl_dma *dma, int engine, struct npl_dma_descriptor descriptor)
{
	npl_dma_push(dma, engine, &descriptor);
}

/* One row whose request goes on with the next descriptor. */
static void push_part(struct npl_dma *dma, int engine, struct npl_dma_descriptor descriptor)
{
	descriptor.continues = true;
	npl_dma_push(dma, engine, &descriptor);
}

Test(dma_requests, rows_side_by_side_are_one_request)
{
	struct npl_dma_descriptor taps = {.row_bytes = 16, .count = {4, 0}, .stride = {16, 0}, .tag = 1};
	struct engines e = open_engines(RATE, 13);
	push(e.dma, 0, taps);
	cr_expect_eq(finish(e.dma, 0, 1), 1);
	/* Apart they begin in cycles 0, 13, 26 and 39. */
	e.dma = dma_anew(e.dma, e.memory, requests_of(13));
	taps.separate_rows = true;
	push(e.dma, 0, taps);
	cr_expect_eq(finish(e.dma, 0, 1), 40);
	close_engines(e);
}

/* Engine 0 begins in cycle 0, engine 1 in 13, and engine 0 again in 26. */
Test(dma_requests, engines_take_turns_with_requests)
{
	struct engines e = open_engines(RATE, 13);
	push(e.dma, 0,
	     (struct npl_dma_descriptor){
		     .row_bytes = 16, .count = {2, 0}, .stride = {16, 0}, .separate_rows = true, .tag = 1});
	push(e.dma, 1, row_of(4096, 24, 2));
	cr_expect_eq(finish(e.dma, 1, 2), 14);
	cr_expect_eq(finish(e.dma, 0, 1), 27);
	close_engines(e);
}

/* The last of 32 bursts begins in cycle 62 (31 x 2.007 = 62.22) and ends in 64.23. There the short request begins,
 * which moves for 0.13 of a cycle. */
Test(dma_requests, a_long_request_is_not_interrupted)
{
	for (int request_cycles = 0; request_cycles <= 13; request_cycles += 13) {
		struct engines e = open_engines(RATE, request_cycles);
		push(e.dma, 0, row_of(0, 16384, 1));
		push(e.dma, 1, row_of(65536, 32, 2));
		cr_expect_eq(finish(e.dma, 0, 1), 65, "64.23 cycles");
		cr_expect_eq(finish(e.dma, 1, 2), 65, "64.35 cycles");
		close_engines(e);
	}
	/* In whole cycles a burst takes 3 and the short row 1: 64 bursts, then the short row. */
	struct engines e = open_engines(WHOLE_CYCLES, 13);
	push(e.dma, 0, row_of(0, 32768, 1));
	push(e.dma, 1, row_of(65536, 32, 2));
	cr_expect_eq(finish(e.dma, 0, 1), 3 * 64);
	cr_expect_eq(finish(e.dma, 1, 2), 3 * 64 + 1);
	close_engines(e);
}

/* The third descriptor of the request is pushed late, and no other engine comes between. Each descriptor completes for
 * itself. The other engine begins in cycle 100. */
Test(dma_requests, a_request_may_have_several_descriptors)
{
	struct engines e = open_engines(RATE, 0);
	push_part(e.dma, 0, row_of(0, 512, 1));
	push_part(e.dma, 0, row_of(0, 512, 2));
	push(e.dma, 1, row_of(0, 512, 4));
	cr_expect_eq(finish(e.dma, 0, 1), 3);
	cr_expect_eq(finish(e.dma, 0, 2), 5);
	npl_dma_advance(e.dma, 97, false);
	push(e.dma, 0, row_of(0, 512, 3));
	cr_expect_eq(finish(e.dma, 0, 3), 100);
	cr_expect_eq(finish(e.dma, 1, 4), 102);
	/* A descriptor without bytes ends a request too. */
	e.dma = dma_anew(e.dma, e.memory, requests_of(0));
	push_part(e.dma, 0, row_of(0, 512, 1));
	push(e.dma, 1, row_of(0, 512, 2));
	cr_expect_eq(finish(e.dma, 0, 1), 3);
	npl_dma_advance(e.dma, 10, false);
	push(e.dma, 0, row_of(0, 0, 3));
	cr_expect_eq(finish(e.dma, 0, 3), 10);
	cr_expect_eq(finish(e.dma, 1, 2), 13);
	close_engines(e);
}

/* A request begins when its first access is taken, and not when it is pushed. Engine 2 comes before engine 1, while
 * engine 0 has the port, for 13 cycles and then for 3. When the port is free, it is engine 1's turn. Requests that
 * wait for the port do not wait for their 13 cycles once more. */
Test(dma_requests, the_turn_is_decided_when_the_port_is_free)
{
	struct engines e = open_engines(WHOLE_CYCLES, 13);
	push(e.dma, 0, row_of(0, 512, 1));
	npl_dma_advance(e.dma, 12, false);
	push(e.dma, 2, row_of(0, 512, 2));
	npl_dma_advance(e.dma, 13, false);
	push(e.dma, 1, row_of(0, 512, 3));
	cr_expect_eq(finish(e.dma, 0, 1), 3);
	cr_expect_eq(finish(e.dma, 1, 3), 16);
	cr_expect_eq(finish(e.dma, 2, 2), 29);
	close_engines(e);
	e = open_engines(WHOLE_CYCLES, 0);
	push(e.dma, 0, row_of(0, 512, 1));
	npl_dma_advance(e.dma, 1, false);
	push(e.dma, 2, row_of(0, 512, 2));
	npl_dma_advance(e.dma, 2, false);
	push(e.dma, 1, row_of(0, 512, 3));
	cr_expect_eq(finish(e.dma, 0, 1), 3);
	cr_expect_eq(finish(e.dma, 1, 3), 6, "the memory refused engine 2 in cycles 1 and 2");
	cr_expect_eq(finish(e.dma, 2, 2), 9);
	close_engines(e);
}

/* A row of 1100 bytes takes 3 + 3 + 1 cycles wherever it is. */
Test(dma_requests, bursts_begin_with_the_row)
{
	struct engines e = open_engines(WHOLE_CYCLES, 0);
	for (uint64_t address = 0; address < 1200; address += 100) {
		e.dma = dma_anew(e.dma, e.memory, requests_of(0));
		push(e.dma, 0, row_of(address, 1100, 1));
		cr_expect_eq(finish(e.dma, 0, 1), 7);
	}
	close_engines(e);
}
