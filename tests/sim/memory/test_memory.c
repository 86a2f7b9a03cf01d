/* SPDX-License-Identifier: MIT
 *
 * The memory port (npulab/memory.h) and the models without an inside. `ideal` answers at once, takes any number of
 * requests, and has no energy. `fixed` moves bytes at its rate exactly, whatever the clock and however many
 * requests, and answers its latency later. A boundary of one clock is found on another without rounding in between. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arith.h"
#include "npulab/memory.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/support.h"

#define SEED 0x3e30ull

static const struct npl_hz clocks[] = {{1000000000, 1}, {980000000, 1}, {700000000, 1}, {3200000000, 3},
				       {2800000000, 3}, {100000000, 1}, {999999937, 7}};
enum { CLOCKS = sizeof clocks / sizeof *clocks };

static struct npl_memory *open_text(const char *folder, const char *text, const struct npl_hz *clock)
{
	struct npl_memory *memory;
	struct npl_err err;
	cli_write_text(folder, "memory.yaml", text);
	cr_assert_eq(npl_memory_open(cli_path(folder, "memory.yaml"), &(struct npl_memory_options){.clock = *clock},
				     &memory, &err),
		     0, "%s", err.msg);
	return memory;
}

Test(memory, ideal_answers_at_once)
{
	struct npl_memory *memory;
	struct npl_memory_completion completion;
	struct npl_memory_counters n;
	struct npl_memory_energy energy[NPL_MEMORY_ENERGIES];
	struct npl_err err;
	cr_assert_eq(npl_memory_open("ideal", NULL, &memory, &err), 0, "%s", err.msg);
	const struct npl_memory_info *info = npl_memory_info(memory);
	cr_assert_str_eq(info->name, "ideal");
	cr_assert_str_eq(info->model, "ideal");
	cr_assert(isinf(info->peak_bytes_per_second) && info->capacity_bytes == UINT64_MAX && !info->access_bytes);
	cr_assert(info->clock.numerator == 1000000000 && info->clock.denominator == 1 && info->channels == 1);
	cr_assert_str_eq(info->mapping, "");
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 1000; i++) {
			struct npl_memory_request r = {.address = i << 40, .bytes = i + 1, .tag = i, .is_write = i % 2};
			cr_assert(npl_memory_can_accept(memory, &r));
			npl_memory_push(memory, &r);
		}
		cr_assert_eq(npl_memory_pending(memory), 1000);
		/* There is something to take: time stands. */
		npl_memory_advance(memory, 1000, NPL_MEMORY_COMPLETION);
		cr_assert_eq(npl_memory_now(memory), 7 * round);
		for (uint64_t i = 0; i < 1000; i++)
			cr_assert(npl_memory_completed(memory, &completion) && completion.tag == i &&
				  completion.cycle == 7 * round);
		cr_assert(!npl_memory_completed(memory, &completion));
		npl_memory_step(memory);
		npl_memory_advance(memory, 7 * (round + 1), NPL_MEMORY_COMPLETION | NPL_MEMORY_ROOM);
		cr_assert_eq(npl_memory_now(memory), 7 * (round + 1));
	}
	npl_memory_counters(memory, &n);
	cr_assert(n.reads == 1500 && n.writes == 1500 && n.read_bytes == 3 * 250000 && n.written_bytes == 3 * 250500);
	cr_assert_eq(npl_memory_energy_of(memory, &n, energy), 0);
	npl_memory_reset(memory);
	npl_memory_counters(memory, &n);
	cr_assert(npl_memory_now(memory) == 0 && n.reads == 0 && n.written_bytes == 0);
	npl_memory_close(memory);
	npl_memory_close(NULL);
}

/* Offered as fast as they are taken: the last byte of all that came before request i, and of it, at a byte every
 * clock / rate cycles, rounded up to a cycle. */
static void stream(struct npl_memory *memory, const struct npl_hz *clock, uint64_t rate, uint64_t latency,
		   uint64_t *rng)
{
	struct npl_memory_completion completion;
	uint64_t tag = 0, n_taken = 0, bytes[2000];
	npl_u128 total = 0;
	enum { N = sizeof bytes / sizeof *bytes };
	while (n_taken < N) {
		struct npl_memory_request r = {
			.tag = tag, .bytes = (uint64_t)test_range(rng, 1, 600), .is_write = tag % 3 == 0};
		while (tag < N && npl_memory_can_accept(memory, &r)) {
			npl_memory_push(memory, &r);
			bytes[tag++] = r.bytes;
			r.tag = tag;
			r.bytes = (uint64_t)test_range(rng, 1, 600);
		}
		if (test_range(rng, 0, 1))
			npl_memory_step(memory);
		else
			npl_memory_advance(memory, UINT64_MAX, NPL_MEMORY_COMPLETION | (tag < N ? NPL_MEMORY_ROOM : 0));
		for (; npl_memory_completed(memory, &completion); n_taken++) {
			cr_assert_eq(completion.tag, n_taken);
			total += bytes[n_taken];
			npl_u128 above = total * (npl_u128)clock->numerator,
				 below = (npl_u128)rate * (npl_u128)clock->denominator;
			uint64_t expected = (uint64_t)((above + below - 1) / below) + latency;
			cr_assert_eq(completion.cycle, expected, "%d at %g Hz: %llu, expected %llu", (int)n_taken,
				     (double)clock->numerator / (double)clock->denominator,
				     (unsigned long long)completion.cycle, (unsigned long long)expected);
			cr_assert_leq(completion.cycle, npl_memory_now(memory));
		}
	}
}

Test(memory, fixed_has_its_bandwidth)
{
	static const uint64_t rates[] = {250000000000, 1000, 34133333333, 999999999989, 980000000};
	char folder[CLI_PATH], text[256];
	uint64_t rng = SEED;
	cli_folder(folder);
	for (size_t r = 0; r < sizeof rates / sizeof *rates; r++)
		for (int k = 0; k < CLOCKS; k++) {
			snprintf(text, sizeof text, "model: fixed\nbytes_per_second: %llu\n",
				 (unsigned long long)rates[r]);
			struct npl_memory *memory = open_text(folder, text, &clocks[k]);
			cr_assert_eq(npl_memory_info(memory)->peak_bytes_per_second, (double)rates[r]);
			stream(memory, &clocks[k], rates[r], 0, &rng);
			npl_memory_reset(memory);
			stream(memory, &clocks[k], rates[r], 0, &rng);
			npl_memory_close(memory);
		}
	cli_remove_folder(folder);
}

enum { FED = NPL_MEMORY_MAX_SIMPLE_PENDING + 5000 };

static void push_some(struct npl_memory *memory, struct npl_memory_feed *feed)
{
	for (; feed->n_pushed < FED && feed->n_pushed_now < feed->per_cycle; feed->n_pushed_now++) {
		struct npl_memory_request request = feed->requests[feed->n_pushed];
		if (!npl_memory_can_accept(memory, &request))
			return;
		request.tag += feed->tag_per_cycle * npl_memory_now(memory);
		npl_memory_push(memory, &request);
		feed->n_pushed++;
	}
}

/* The completions of the same random requests, fed, or by the single calls that feeding stands for. */
static void feed_or_push(struct npl_memory *memory, bool fed, uint64_t per_cycle,
			 struct npl_memory_completion done[FED])
{
	static struct npl_memory_request request[FED];
	struct npl_memory_feed feed = {
		.requests = request, .n = FED, .per_cycle = per_cycle, .tag_per_cycle = UINT64_C(1) << 20};
	uint64_t rng = SEED;
	for (uint64_t i = 0; i < FED; i++)
		request[i] = (struct npl_memory_request){
			.address = 64 * i, .bytes = 64, .tag = i, .is_write = test_range(&rng, 0, 1)};
	npl_memory_reset(memory);
	for (uint64_t n_taken = 0, n; n_taken < FED; n_taken += n) {
		if (fed)
			npl_memory_feed(memory, &feed);
		else
			push_some(memory, &feed);
		n = npl_memory_take(memory, done + n_taken, FED - n_taken);
		if (n && feed.n_pushed_now < per_cycle)
			continue;
		if (fed)
			npl_memory_advance(memory, UINT64_MAX, NPL_MEMORY_COMPLETION | NPL_MEMORY_ROOM);
		else
			npl_memory_step(memory);
		feed.n_pushed_now = 0;
	}
	cr_assert_eq(npl_memory_pending(memory), 0);
}

Test(memory, feeding_is_pushing_and_stepping)
{
	static const char *const texts[] = {
		"model: ideal\n",
		"model: fixed\nbytes_per_second: 34000000000\naccess_bytes: 64\n",
		/* More than NPL_MEMORY_MAX_SIMPLE_PENDING are under way. */
		"model: fixed\nbytes_per_second: 340000000000\naccess_bytes: 64\nlatency_seconds: 1e-4\n",
		"model: fixed\nbytes_per_second: 4000000000\nlatency_seconds: 2e-5\n",
	};
	static const uint64_t per_cycle[] = {1, 3, FED};
	static struct npl_memory_completion fed[FED], pushed[FED];
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
		for (size_t k = 0; k < sizeof per_cycle / sizeof *per_cycle; k++) {
			struct npl_memory *memory = open_text(folder, texts[t], &clocks[2]);
			feed_or_push(memory, false, per_cycle[k], pushed);
			feed_or_push(memory, true, per_cycle[k], fed);
			for (int i = 0; i < FED; i++)
				cr_assert(fed[i].cycle == pushed[i].cycle && fed[i].tag == pushed[i].tag,
					  "%s%llu in a cycle: completion %d at %llu (tag %llx), expected %llu (%llx)",
					  texts[t], (unsigned long long)per_cycle[k], i,
					  (unsigned long long)fed[i].cycle, (unsigned long long)fed[i].tag,
					  (unsigned long long)pushed[i].cycle, (unsigned long long)pushed[i].tag);
			npl_memory_close(memory);
		}
	cli_remove_folder(folder);
}

/* A latency of whole cycles is that many, and anything above is one more. */
Test(memory, fixed_has_its_latency)
{
	static const struct {
		const char *seconds;
		struct npl_hz clock;
		uint64_t cycles;
	} cases[] = {{"0", {700000000, 1}, 0},      {"1e-8", {700000000, 1}, 7},     {"125e-9", {2000000000, 1}, 250},
		     {"1e-7", {980000000, 1}, 98},  {"1e-7", {3200000000, 3}, 107},  {"3e-9", {1000000000, 1}, 3},
		     {"1e-9", {980000000, 1}, 1},   {"1.01e-9", {1000000000, 1}, 2}, {"1e-6", {1000000000, 1}, 1000},
		     {"7e-9", {3000000000, 1}, 21}, {"1.1e-7", {700000000, 1}, 77}};
	char folder[CLI_PATH], text[256];
	uint64_t rng = SEED;
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(text, sizeof text, "model: fixed\nbytes_per_second: 250e9\nlatency_seconds: %s\n",
			 cases[i].seconds);
		struct npl_memory *memory = open_text(folder, text, &cases[i].clock);
		stream(memory, &cases[i].clock, 250000000000, cases[i].cycles, &rng);
		npl_memory_close(memory);
	}
	cli_remove_folder(folder);
}

/* After a rest a request begins with the cycle in which it is seen; before, it waits for its turn. */
Test(memory, fixed_takes_turns)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	struct npl_memory *memory = open_text(
		folder,
		"model: fixed\nbytes_per_second: 3e9\naccess_bytes: 64\ncapacity_bytes: 4096\n"
		"energy: {pj_per_byte: 550, origin: \"modelled:mcpat-chen2014\"}\n",
		&clocks[0]);
	const struct npl_memory_info *info = npl_memory_info(memory);
	cr_assert(info->access_bytes == 64 && info->capacity_bytes == 4096);
	struct npl_memory_request r = {.bytes = 1};
	struct npl_memory_completion completion;
	npl_memory_advance(memory, 100, 0);
	npl_memory_push(memory, &r); /* 64 bytes: 21 1/3 cycles */
	cr_assert(!npl_memory_can_accept(memory, &r));
	npl_memory_advance(memory, 1000, NPL_MEMORY_ROOM);
	cr_assert_eq(npl_memory_now(memory), 121);
	cr_assert(npl_memory_can_accept(memory, &r) && !npl_memory_completed(memory, &completion));
	r.tag = 1;
	npl_memory_push(memory, &r);
	npl_memory_advance(memory, 1000, NPL_MEMORY_COMPLETION);
	cr_assert(npl_memory_completed(memory, &completion) && completion.cycle == 122 && completion.tag == 0);
	npl_memory_advance(memory, 1000, NPL_MEMORY_COMPLETION);
	cr_assert(npl_memory_completed(memory, &completion) && completion.cycle == 143 && completion.tag == 1);
	npl_memory_advance(memory, 150, NPL_MEMORY_COMPLETION | NPL_MEMORY_ROOM);
	r = (struct npl_memory_request){.bytes = 64, .tag = 2, .is_write = true};
	npl_memory_push(memory, &r);
	cr_assert_eq(npl_memory_pending(memory), 1);
	npl_memory_advance(memory, 1000, 0);
	cr_assert(npl_memory_completed(memory, &completion) && completion.cycle == 172 && completion.tag == 2);
	cr_assert(npl_memory_now(memory) == 1000 && npl_memory_pending(memory) == 0);
	struct npl_memory_counters n;
	struct npl_memory_energy energy[NPL_MEMORY_ENERGIES];
	npl_memory_counters(memory, &n);
	cr_assert(n.reads == 2 && n.writes == 1 && n.read_bytes == 128 && n.written_bytes == 64);
	cr_assert_eq(npl_memory_energy_of(memory, &n, energy), 2);
	cr_assert(energy[0].events == 128 && energy[1].events == 64 && energy[0].pj == 550 && energy[1].pj == 550);
	cr_assert_str_eq(energy[1].origin, "modelled:mcpat-chen2014");
	npl_memory_close(memory);
	cli_remove_folder(folder);
}

/* No more is accepted than completion can be kept for. */
Test(memory, untaken_completions_are_bounded)
{
	static const char *const names[] = {"ideal", "diannao-250gbps"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct npl_memory *memory;
		struct npl_memory_completion completion;
		struct npl_memory_request r = {.bytes = 1};
		struct npl_err err;
		cr_assert_eq(npl_memory_open(names[i], NULL, &memory, &err), 0, "%s", err.msg);
		for (int n = 0; n < 100000 && npl_memory_pending(memory) < NPL_MEMORY_MAX_SIMPLE_PENDING; n++) {
			while (npl_memory_can_accept(memory, &r))
				npl_memory_push(memory, &r), r.tag++;
			npl_memory_step(memory);
		}
		npl_memory_advance(memory, npl_memory_now(memory) + 1000, 0);
		cr_assert_eq(npl_memory_pending(memory), NPL_MEMORY_MAX_SIMPLE_PENDING, "%s", names[i]);
		cr_assert(!npl_memory_can_accept(memory, &r), "%s", names[i]);
		cr_assert(npl_memory_completed(memory, &completion) && completion.tag == 0);
		cr_assert(npl_memory_can_accept(memory, &r), "%s", names[i]);
		npl_memory_close(memory);
	}
}

/* A boundary and the one it is crossed to, as products: no division has rounded. */
Test(memory, clocks_meet_exactly)
{
	uint64_t rng = SEED;
	for (int from = 0; from < CLOCKS; from++)
		for (int to = 0; to < CLOCKS; to++)
			for (int i = 0; i < 200; i++) {
				const uint64_t t = test_rng(&rng) >> test_range(&rng, 24, 63);
				const npl_u128 f = (npl_u128)clocks[from].numerator * (npl_u128)clocks[to].denominator,
					       g = (npl_u128)clocks[to].numerator * (npl_u128)clocks[from].denominator;
				const uint64_t up = npl_hz_ceil(t, &clocks[from], &clocks[to]),
					       down = npl_hz_floor(t, &clocks[from], &clocks[to]);
				cr_assert(up * f >= t * g && (!up || (up - 1) * f < t * g), "%llu, %d to %d",
					  (unsigned long long)t, from, to);
				cr_assert(down * f <= t * g && (down + 1) * f > t * g, "%llu, %d to %d",
					  (unsigned long long)t, from, to);
			}
}
