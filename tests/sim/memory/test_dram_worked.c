/* SPDX-License-Identifier: MIT
 *
 * The DRAM's timing in cases worked out by hand, on both engines: when a request is answered, by the sum of JEDEC's
 * times written beside it, one time or one rule of the controller (sim/memory/dram.h) a case. The times are no
 * memory's: each has its own value, except tCCD_S, which is a burst, so that no two can be mistaken for each other. */
#include <criterion/criterion.h>

#include "tests/kit/sim/dram/case.h"

enum { BURST = 4, CL = 11, CWL = 7, RCD = 13, RCDWR = 9, RP = 17, RAS = 40, RC = 59, WR = 19, RTP = 6, CCD_L = 8 };
enum { RRD_S = 5, RRD_L = 10, WTR_S = 3, WTR_L = 16, FAW = 50, RFC = 100, TURN = 2 };
enum { READ_DATA = CL + BURST, WRITE_DATA = CWL + BURST };

static struct dram_config plain(void)
{
	return (struct dram_config){
		.hz_numerator = 1000000000,
		.hz_denominator = 1,
		.transfers_per_clock = 2,
		.channels = 1,
		.ranks = 2,
		.bank_groups = 2,
		.banks = 4,
		.rows = 64,
		.columns = 64,
		.device_bits = 8,
		.bus_bits = 8,
		.burst_length = 8,
		.mapping = "row:rank:bankgroup:bank:column",
		.cl = CL,
		.cwl = CWL,
		.trcd_rd = RCD,
		.trcd_wr = RCDWR,
		.trp = RP,
		.tras = RAS,
		.trc = RC,
		.twr = WR,
		.trtp = RTP,
		.tccd_s = BURST,
		.tccd_l = CCD_L,
		.trrd_s = RRD_S,
		.trrd_l = RRD_L,
		.twtr_s = WTR_S,
		.twtr_l = WTR_L,
		.tfaw = FAW,
		.trfc = RFC,
		.trefi = 100000,
		.turnaround = TURN,
		.read_queue = 32,
		.write_queue = 32,
		.write_high = 2,
		.write_low = 1,
		.energy_origin = "absent",
	};
}

enum {
	A,
	B,
	C,
	D,
	E,
	F,
	BANKS
}; /* A, C and E are banks of the first group, B and D of the second, F is the other rank's */

struct step {
	uint64_t at; /* pushed at this boundary */
	int bank;
	uint64_t row;
	bool is_write;
	uint64_t done; /* boundary */
};
#define STEPS 8

static uint64_t address_of(const struct dram_config *c, const struct step *s)
{
	static const uint64_t rank[BANKS] = {[F] = 1}, group[BANKS] = {[B] = 1, [D] = 1},
			      bank[BANKS] = {[C] = 1, [D] = 1, [E] = 2};
	uint64_t number = s->row;
	number = number * (uint64_t)c->ranks + rank[s->bank];
	number = number * (uint64_t)c->bank_groups + group[s->bank];
	number = number * (uint64_t)c->banks + bank[s->bank];
	return number * (uint64_t)c->columns; /* of a byte each */
}

/* Pushes each step at its boundary and takes what comes, on one engine. */
static void work(const char *subject, const struct dram_config *c, const struct step *steps, bool every_cycle,
		 struct npl_memory_counters *counters)
{
	struct npl_err err;
	struct npl_memory *memory = dram_case_open(c, every_cycle, &err);
	cr_assert(memory, "%s: %s", subject, err.msg);
	int pushed = 0, n = 0, completed = 0;
	while (n < STEPS && steps[n].done)
		n++;
	while (completed < n) {
		uint64_t now = npl_memory_now(memory);
		for (; pushed < n && steps[pushed].at == now; pushed++) {
			struct npl_memory_request r = {.address = address_of(c, &steps[pushed]),
						       .bytes = 1,
						       .tag = (uint64_t)pushed,
						       .is_write = steps[pushed].is_write};
			cr_assert(npl_memory_can_accept(memory, &r), "%s: request %d", subject, pushed);
			npl_memory_push(memory, &r);
		}
		npl_memory_advance(memory, pushed < n ? steps[pushed].at : 1000000, NPL_MEMORY_COMPLETION);
		for (struct npl_memory_completion completion; npl_memory_completed(memory, &completion); completed++)
			cr_expect_eq(completion.cycle, steps[completion.tag].done,
				     "%s, %s: request %d: got %d, expected %d", subject,
				     every_cycle ? "every cycle" : "skipping", (int)completion.tag,
				     (int)completion.cycle, (int)steps[completion.tag].done);
		cr_assert_lt(npl_memory_now(memory), 1000000, "%s: some requests are never answered", subject);
	}
	npl_memory_counters(memory, counters);
	npl_memory_close(memory);
}

static void check_both_engines(const char *subject, const struct dram_config *c, const struct step steps[STEPS])
{
	struct npl_memory_counters counters;
	work(subject, c, steps, false, &counters);
	work(subject, c, steps, true, &counters);
}

#define CASE(what, ...)                                                                                                \
	{                                                                                                              \
		what,                                                                                                  \
		{                                                                                                      \
			__VA_ARGS__                                                                                    \
		}                                                                                                      \
	}

/* From the start, all rows closed: ACT in cycle 0. */
Test(dram_worked, rows_open_and_close_in_time)
{
	const struct dram_config c = plain();
	static const struct {
		const char *what;
		struct step steps[STEPS];
	} cases[] = {
		CASE("read, row closed", {0, A, 1, false, RCD + READ_DATA}),
		CASE("write, row closed", {0, A, 1, true, RCDWR + WRITE_DATA}),
		CASE("read, row open", {0, A, 1, false, RCD + READ_DATA}, {200, A, 1, false, 200 + READ_DATA}),
		CASE("write, row open", {0, A, 1, true, RCDWR + WRITE_DATA}, {200, A, 1, true, 200 + WRITE_DATA}),
		CASE("another row: tRC after ACT", {0, A, 1, false, RCD + READ_DATA},
		     {0, A, 2, false, RC + RCD + READ_DATA}),
		CASE("another row, long after: PRE at once", {0, A, 1, false, RCD + READ_DATA},
		     {200, A, 2, false, 200 + RP + RCD + READ_DATA}),
		CASE("another row: tRTP after RD", {0, A, 1, false, RCD + READ_DATA},
		     {200, A, 1, false, 200 + READ_DATA}, {200, A, 2, false, 200 + RTP + RP + RCD + READ_DATA}),
		CASE("another row: tWR after the last data", {0, A, 1, true, RCDWR + WRITE_DATA},
		     {200, A, 1, true, 200 + WRITE_DATA},
		     {201, A, 2, false, 200 + WRITE_DATA + WR + RP + RCD + READ_DATA}),
		CASE("tRRD_S to another group", {0, A, 1, false, RCD + READ_DATA},
		     {0, B, 1, false, RRD_S + RCD + READ_DATA}),
		CASE("tRRD_L in a group", {0, A, 1, false, RCD + READ_DATA}, {0, C, 1, false, RRD_L + RCD + READ_DATA}),
		CASE("nothing between ACT of two ranks but the bus", {0, A, 1, false, RCD + READ_DATA},
		     {0, F, 1, false, RCD + BURST + TURN + READ_DATA}),
		CASE("tFAW: the fifth ACT", {0, A, 1, false, RCD + READ_DATA},
		     {0, B, 1, false, RRD_S + RCD + READ_DATA}, {0, C, 1, false, 2 * RRD_S + RCD + READ_DATA},
		     {0, D, 1, false, 3 * RRD_S + RCD + READ_DATA}, {0, E, 1, false, FAW + RCD + READ_DATA}),
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check_both_engines(cases[i].what, &c, cases[i].steps);
}

/* Rows of A, B, C and F are open well before 400. */
#define OPENED                                                                                                         \
	{0, A, 1, false, RCD + READ_DATA}, {100, B, 1, false, 100 + RCD + READ_DATA},                                  \
		{200, C, 1, false, 200 + RCD + READ_DATA},                                                             \
	{                                                                                                              \
		300, F, 1, false, 300 + RCD + READ_DATA                                                                \
	}

Test(dram_worked, bursts_keep_their_distance)
{
	const struct dram_config c = plain();
	static const struct {
		const char *what;
		struct step steps[STEPS];
	} cases[] = {
		CASE("reads of one bank: tCCD_L", OPENED, {400, A, 1, false, 400 + READ_DATA},
		     {400, A, 1, false, 400 + CCD_L + READ_DATA}),
		CASE("reads of one group: tCCD_L", OPENED, {400, A, 1, false, 400 + READ_DATA},
		     {400, C, 1, false, 400 + CCD_L + READ_DATA}),
		CASE("reads of two groups: tCCD_S", OPENED, {400, A, 1, false, 400 + READ_DATA},
		     {400, B, 1, false, 400 + BURST + READ_DATA}),
		CASE("reads of two ranks", OPENED, {400, A, 1, false, 400 + READ_DATA},
		     {400, F, 1, false, 400 + BURST + TURN + READ_DATA}),
		CASE("writes of one group: tCCD_L", OPENED, {400, A, 1, true, 400 + WRITE_DATA},
		     {400, C, 1, true, 400 + CCD_L + WRITE_DATA}),
		CASE("writes of two groups: tCCD_S", OPENED, {400, A, 1, true, 400 + WRITE_DATA},
		     {400, B, 1, true, 400 + BURST + WRITE_DATA}),
		CASE("writes of two ranks", OPENED, {400, A, 1, true, 400 + WRITE_DATA},
		     {400, F, 1, true, 400 + BURST + TURN + WRITE_DATA}),
		CASE("read, then write", OPENED, {400, A, 1, false, 400 + READ_DATA},
		     {400, B, 1, true, 400 + CL + BURST + TURN - CWL + WRITE_DATA}),
		CASE("read, then write of another rank", OPENED, {400, A, 1, false, 400 + READ_DATA},
		     {400, F, 1, true, 400 + CL + BURST + TURN - CWL + WRITE_DATA}),
		CASE("write, then read of its group: tWTR_L", OPENED, {400, A, 1, true, 400 + WRITE_DATA},
		     {401, C, 1, false, 400 + WRITE_DATA + WTR_L + READ_DATA}),
		CASE("write, then read of another group: tWTR_S", OPENED, {400, A, 1, true, 400 + WRITE_DATA},
		     {401, B, 1, false, 400 + WRITE_DATA + WTR_S + READ_DATA}),
		CASE("write, then read of another rank: the bus", OPENED, {400, A, 1, true, 400 + WRITE_DATA},
		     {401, F, 1, false, 400 + WRITE_DATA + TURN - CL + READ_DATA}),
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check_both_engines(cases[i].what, &c, cases[i].steps);
}

/* More than write_high = 2 writes go before reads, until fewer than write_low wait and a read does. */
Test(dram_worked, writes_go_in_batches_before_reads)
{
	struct dram_config c = plain();
	enum { TURN_TO_WRITE = CL + BURST + TURN - CWL };
	static const struct {
		const char *what;
		int64_t write_low;
		struct step steps[STEPS];
	} cases[] = {
		{"an open row goes before an older request",
		 1,
		 {OPENED, {400, A, 2, false, 400 + RTP + RP + RCD + READ_DATA}, {400, A, 1, false, 400 + READ_DATA}}},
		{"of two whose row is open the older goes first",
		 1,
		 {OPENED, {400, B, 1, false, 400 + READ_DATA}, {400, A, 1, false, 400 + BURST + READ_DATA}}},
		{"of two closed rows the older is opened first",
		 1,
		 {{0, B, 1, false, RCD + READ_DATA}, {0, A, 1, false, RRD_S + RCD + READ_DATA}}},
		{"a younger burst that can go does not wait for an older one that cannot",
		 1,
		 {OPENED,
		  {400, A, 1, false, 400 + READ_DATA},
		  {400, C, 1, false, 400 + CCD_L + READ_DATA},
		  {400, B, 1, false, 400 + BURST + READ_DATA}}},
		{"two writes wait for a read",
		 1,
		 {OPENED,
		  {400, B, 1, true, 400 + TURN_TO_WRITE + WRITE_DATA},
		  {400, B, 2, true, 400 + TURN_TO_WRITE + WRITE_DATA + WR + RP + RCDWR + WRITE_DATA},
		  {400, A, 1, false, 400 + READ_DATA}}},
		{"three do not, and all three go",
		 1,
		 {OPENED,
		  {400, B, 1, true, 400 + WRITE_DATA},
		  {400, A, 1, true, 400 + BURST + WRITE_DATA},
		  {400, B, 1, true, 400 + CCD_L + WRITE_DATA},
		  {400, C, 1, false, 400 + BURST + WRITE_DATA + WTR_L + READ_DATA}}},
		{"they do until fewer than two wait",
		 2,
		 {OPENED,
		  {400, B, 1, true, 400 + WRITE_DATA},
		  {400, A, 1, true, 400 + BURST + WRITE_DATA},
		  {400, B, 1, true, 400 + BURST + WRITE_DATA + WTR_L + TURN_TO_WRITE + WRITE_DATA},
		  {400, C, 1, false, 400 + BURST + WRITE_DATA + WTR_L + READ_DATA}}},
		{"a read of what waits to be written takes a cycle",
		 1,
		 {OPENED, {400, B, 2, true, 400 + RP + RCDWR + WRITE_DATA}, {401, B, 2, false, 402}}},
		{"what has been written is read from memory",
		 1,
		 {OPENED,
		  {400, B, 1, true, 400 + WRITE_DATA},
		  {401, B, 1, false, 400 + WRITE_DATA + WTR_L + READ_DATA}}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		c.write_low = cases[i].write_low;
		check_both_engines(cases[i].what, &c, cases[i].steps);
	}
}

/* One rank is due every tREFI, two ranks half a period apart. */
Test(dram_worked, each_rank_is_refreshed_when_due)
{
	enum { REFI = 1000 };
	static const struct {
		const char *what;
		int64_t ranks;
		struct step steps[STEPS];
	} cases[] = {
		{"nothing open: REF when due", 1, {{REFI, A, 1, false, REFI + RFC + RCD + READ_DATA}}},
		{"ACT just before; tRAS, tRC, then REF",
		 1,
		 {{REFI - 1, A, 1, false, REFI - 1 + RC + RFC + RCD + READ_DATA}}},
		{"a row open since long: PRE, tRP, REF",
		 1,
		 {{0, A, 1, false, RCD + READ_DATA}, {REFI, A, 1, false, REFI + RP + RFC + RCD + READ_DATA}}},
		{"RD just before: tRTP, PRE, tRP, REF",
		 1,
		 {{0, A, 1, false, RCD + READ_DATA},
		  {REFI - 1, A, 1, false, REFI - 1 + READ_DATA},
		  {REFI - 1, A, 1, false, REFI - 1 + RTP + RP + RFC + RCD + READ_DATA}}},
		{"WR just before: tWR, PRE, tRP, REF",
		 1,
		 {{0, A, 1, false, RCD + READ_DATA},
		  {REFI - 1, A, 1, true, REFI - 1 + WRITE_DATA},
		  {REFI, A, 1, false, REFI - 1 + WRITE_DATA + WR + RP + RFC + RCD + READ_DATA}}},
		{"two rows open: PRE one after the other",
		 1,
		 {{0, A, 1, false, RCD + READ_DATA},
		  {0, B, 1, false, RRD_S + RCD + READ_DATA},
		  {REFI, A, 1, false, REFI + 1 + RP + RFC + RCD + READ_DATA}}},
		{"the next is due tREFI later, however late this one was",
		 1,
		 {{REFI - 1, A, 1, false, REFI - 1 + RC + RFC + RCD + READ_DATA},
		  {2 * REFI, A, 1, false, 2 * REFI + RP + RFC + RCD + READ_DATA}}},
		{"the first rank's is due after half a period",
		 2,
		 {{REFI / 2, A, 1, false, REFI / 2 + RFC + RCD + READ_DATA}}},
		{"the second's after a whole one; the first is not kept",
		 2,
		 {{0, A, 1, false, RCD + READ_DATA},
		  {REFI / 2 + 300, A, 1, false, REFI / 2 + 300 + RCD + READ_DATA},
		  {REFI, F, 1, false, REFI + RFC + RCD + READ_DATA},
		  {REFI, A, 1, false, REFI + 1 + READ_DATA}}},
	};
	struct dram_config c = plain();
	c.trefi = REFI;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		c.ranks = cases[i].ranks;
		check_both_engines(cases[i].what, &c, cases[i].steps);
	}
}

/* A request is a row hit when no row was opened for it. */
Test(dram_worked, a_row_hit_opened_no_row)
{
	const struct dram_config c = plain();
	static const struct {
		const char *what;
		uint64_t hits, activates, precharges, forwarded;
		struct step steps[STEPS];
	} cases[] = {
		{"a row opened for one and used by another",
		 1,
		 1,
		 0,
		 0,
		 {{0, A, 1, false, RCD + READ_DATA}, {0, A, 1, false, RCD + CCD_L + READ_DATA}}},
		{"a row each", 0, 2, 1, 0, {{0, A, 1, false, RCD + READ_DATA}, {0, A, 2, false, RC + RCD + READ_DATA}}},
		{"a row that was still open",
		 1,
		 1,
		 0,
		 0,
		 {{0, A, 1, false, RCD + READ_DATA}, {200, A, 1, true, 200 + WRITE_DATA}}},
		{"forwarded, which is no hit", 0, 1, 0, 1, {{0, A, 1, true, RCDWR + WRITE_DATA}, {1, A, 1, false, 2}}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int every_cycle = 0; every_cycle < 2; every_cycle++) {
			struct npl_memory_counters n;
			work(cases[i].what, &c, cases[i].steps, every_cycle, &n);
			cr_expect_eq(n.row_hits, cases[i].hits, "%s: %d hits", cases[i].what, (int)n.row_hits);
			cr_expect_eq(n.activates, cases[i].activates, "%s", cases[i].what);
			cr_expect_eq(n.precharges, cases[i].precharges, "%s", cases[i].what);
			cr_expect_eq(n.forwarded, cases[i].forwarded, "%s", cases[i].what);
		}
}
