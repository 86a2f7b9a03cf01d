/* SPDX-License-Identifier: MIT
 *
 * Promise: a buffer grants in a cycle what the ports of its banks allow and no more, counts what was done and what
 * waited, and two halves in turn make the side that is ahead wait for the other, by as much as a walk through every
 * cycle says. */
#include <criterion/criterion.h>
#include <string.h>

#include "sim/memory/sram.h"
#include "tests/kit/support.h"

static struct npl_sram *buffer(struct npl_sram_config config)
{
	struct npl_sram *sram;
	struct npl_err err;
	cr_assert_eq(npl_sram_open(&config, "test", &sram, &err), 0, "%s", err.msg);
	return sram;
}

/* Four banks of eight rows; rows 0, 4, 8 are in bank 0. */
Test(sram, conflicts_worked_by_hand)
{
	struct npl_sram *s = buffer((struct npl_sram_config){.rows = 32,
							     .row_bytes = 64,
							     .banks = 4,
							     .read_ports = 1,
							     .write_ports = 1,
							     .read_pj = 2,
							     .write_pj = 3,
							     .origin = "absent"});
	const struct npl_sram_counters *count = npl_sram_counters(s);
	struct npl_memory_energy energy[NPL_SRAM_ENERGIES];
	cr_expect(npl_sram_access(s, 5, 0, false));
	cr_expect(npl_sram_access(s, 5, 1, false), "another bank");
	cr_expect_not(npl_sram_access(s, 5, 4, false), "the bank of row 0 has one read port");
	cr_expect_not(npl_sram_access(s, 5, 0, false), "the same row too");
	cr_expect(npl_sram_access(s, 5, 8, true), "its write port is free");
	cr_expect_not(npl_sram_access(s, 5, 12, true));
	cr_expect(npl_sram_access(s, 6, 4, false), "in the next cycle");
	cr_expect_eq(count->reads, 3);
	cr_expect_eq(count->writes, 1);
	cr_expect_eq(count->read_waits, 2);
	cr_expect_eq(count->write_waits, 1);
	npl_sram_energy(s, energy);
	cr_expect_eq((double)energy[0].events * energy[0].pj + (double)energy[1].events * energy[1].pj, 3 * 2 + 3);
	cr_expect_str_eq(energy[0].origin, "absent");
	npl_sram_reset(s);
	cr_expect_eq(count->reads + count->writes + count->read_waits + count->write_waits, 0);
	npl_sram_close(s);
	/* One shared port beside one to read: two reads, or a read and a write; not two writes. */
	s = buffer((struct npl_sram_config){.rows = 2, .row_bytes = 1, .banks = 1, .read_ports = 1, .shared_ports = 1});
	cr_expect(npl_sram_access(s, 0, 0, true) && npl_sram_access(s, 0, 1, false));
	cr_expect_not(npl_sram_access(s, 0, 1, false));
	cr_expect(npl_sram_access(s, 1, 0, false) && npl_sram_access(s, 1, 1, false));
	cr_expect_not(npl_sram_access(s, 1, 1, true));
	cr_expect(npl_sram_access(s, 2, 1, true));
	cr_expect_not(npl_sram_access(s, 2, 0, true));
	npl_sram_close(s);
}

/* DianNao's buffers: 64 rows of 32, of 32, of 512 bytes. */
Test(sram, sizes)
{
	cr_expect_eq(npl_sram_bytes(&(struct npl_sram_config){.rows = 64, .row_bytes = 32}), 2048);
	cr_expect_eq(npl_sram_bytes(&(struct npl_sram_config){.rows = 64, .row_bytes = 512}), 32768);
}

/* Granted and refused of one cycle and bank: as many as fit, by the brute rule that some way to give each a port
 * exists. */
Test(sram, grants_are_what_the_ports_allow)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull, asked = 0;
		struct npl_sram_config c = {.rows = test_range(&rng, 8, 64),
					    .row_bytes = 4,
					    .banks = test_range(&rng, 1, 8),
					    .read_ports = test_range(&rng, 0, 2),
					    .write_ports = test_range(&rng, 0, 2),
					    .shared_ports = test_range(&rng, 0, 2)};
		if (!(c.read_ports && c.write_ports) && !c.shared_ports)
			c.shared_ports = 1;
		struct npl_sram *s = buffer(c);
		for (uint64_t cycle = 0; cycle < 50; cycle++) {
			int64_t used[8][2] = {{0}};
			for (int i = 0; i < 20; i++, asked++) {
				int64_t row = test_range(&rng, 0, c.rows - 1), bank = row % c.banks;
				bool is_write = test_range(&rng, 0, 1);
				int64_t reads = used[bank][0] + !is_write, writes = used[bank][1] + is_write;
				bool fits = false; /* some of the shared ports for reads, the rest for writes */
				for (int64_t r = 0; r <= c.shared_ports; r++)
					fits |= reads <= c.read_ports + r &&
						writes <= c.write_ports + c.shared_ports - r;
				cr_assert_eq(npl_sram_access(s, cycle, row, is_write), fits, "seed %llu",
					     (unsigned long long)seed);
				used[bank][is_write] += fits;
			}
		}
		const struct npl_sram_counters *n = npl_sram_counters(s);
		cr_assert_eq(n->reads + n->writes + n->read_waits + n->write_waits, asked);
		cr_assert_leq(n->reads + n->writes,
			      50 * (uint64_t)(c.banks * (c.read_ports + c.write_ports + c.shared_ports)));
		npl_sram_close(s);
	}
}

static void refused(struct npl_sram_config config, const char *reason)
{
	struct npl_sram *sram;
	struct npl_err err;
	cr_expect_eq(npl_sram_open(&config, "here", &sram, &err), NPL_EINPUT, "should be refused: %s", reason);
	cr_expect(strstr(err.msg, reason), "'%s' does not say '%s'", err.msg, reason);
}

Test(sram, what_it_refuses)
{
	refused((struct npl_sram_config){.rows = 0, .row_bytes = 1, .banks = 1, .shared_ports = 1}, "needs rows");
	refused((struct npl_sram_config){.rows = 4, .row_bytes = 1, .banks = 5, .shared_ports = 1},
		"no more banks than rows");
	refused((struct npl_sram_config){.rows = 4, .row_bytes = 1, .banks = 1, .read_ports = 1}, "one to write");
	refused((struct npl_sram_config){.rows = 4, .row_bytes = 1, .banks = 1, .write_ports = 1}, "port to read");
}

/* n fills of f cycles and n drains of d cycles: the slower side sets the pace. */
static void pace(uint64_t n, uint64_t f, uint64_t d)
{
	struct npl_double_buffer b = {0};
	uint64_t filler = 0, drainer = 0, slower = f > d ? f : d;
	while (b.drains < n) {
		if (b.fills < n && npl_double_can_fill(&b)) {
			filler = npl_double_fill_begin(&b, filler) + f;
			npl_double_fill_end(&b, filler);
		} else {
			cr_assert(npl_double_can_drain(&b));
			drainer = npl_double_drain_begin(&b, drainer) + d;
			npl_double_drain_end(&b, drainer);
		}
	}
	cr_expect_eq(drainer, f + (n - 1) * slower + d, "%llu fills of %llu and drains of %llu: %llu",
		     (unsigned long long)n, (unsigned long long)f, (unsigned long long)d, (unsigned long long)drainer);
	cr_expect_eq(b.drain_wait_cycles, f + (n - 1) * (slower - d));
	cr_expect_eq(b.fill_wait_cycles, n > 2 && d > f ? (n - 2) * (d - f) : 0);
}

Test(sram, double_buffer_laws)
{
	for (uint64_t n = 1; n < 12; n++)
		for (uint64_t f = 1; f < 10; f++)
			for (uint64_t d = 1; d < 10; d++)
				pace(n, f, d);
}

/* Against a walk through every cycle, with tiles of all sizes and both sides late by chance. */
Test(sram, double_buffer_walked)
{
	enum { N = 40 };
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull, f[N], d[N], idle[N], filler = 0, drainer = 0;
		struct npl_double_buffer b = {0};
		for (int i = 0; i < N; i++) {
			f[i] = (uint64_t)test_range(&rng, 0, 20);
			d[i] = (uint64_t)test_range(&rng, 0, 20);
			idle[i] = (uint64_t)test_range(&rng, 0, 5);
		}
		while (b.drains < N) {
			if (b.fills < N && npl_double_can_fill(&b)) {
				uint64_t at = b.fills;
				filler = npl_double_fill_begin(&b, filler + idle[at]) + f[at];
				npl_double_fill_end(&b, filler);
			} else {
				uint64_t at = b.drains;
				drainer = npl_double_drain_begin(&b, drainer) + d[at];
				npl_double_drain_end(&b, drainer);
			}
		}
		/* Each cycle both sides work, wait or pause; full and empty halves are counted. */
		uint64_t fills = 0, drains = 0, fill_left = 0, drain_left = 0, pause = idle[0], waits[2] = {0, 0},
			 cycle = 0;
		bool filling = false, draining = false;
		for (;; cycle++) {
			for (int settled = 0; !settled;) {
				settled = 1;
				if (filling && !fill_left) {
					filling = false;
					fills++;
					pause = fills < N ? idle[fills] : 0;
					settled = 0;
				}
				if (draining && !drain_left) {
					draining = false;
					drains++;
					settled = 0;
				}
				if (!filling && fills < N && !pause && fills < drains + 2) {
					filling = true;
					fill_left = f[fills];
					settled = 0;
				}
				if (!draining && drains < fills) {
					draining = true;
					drain_left = d[drains];
					settled = 0;
				}
			}
			if (drains == N)
				break;
			waits[0] += !filling && fills < N && !pause;
			waits[1] += !draining;
			fill_left -= filling;
			drain_left -= draining;
			pause -= pause > 0;
		}
		cr_assert_eq(drainer, cycle, "seed %llu: %llu, walked %llu", (unsigned long long)seed,
			     (unsigned long long)drainer, (unsigned long long)cycle);
		cr_assert_eq(b.fill_wait_cycles, waits[0], "seed %llu", (unsigned long long)seed);
		cr_assert_eq(b.drain_wait_cycles, waits[1], "seed %llu", (unsigned long long)seed);
	}
}
