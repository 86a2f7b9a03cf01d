/* SPDX-License-Identifier: MIT
 *
 * Promises of traffic (npulab/traffic.h): patterns are their written rules, within the memory; a trace is the same
 * plain, compressed and in several members, in whatever pieces it is read; a compressed file that ends early is refused
 * at every byte; a run has the cycles and latencies of asking in every cycle, for every model of memory, with and
 * without a trace's own cycles. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "npulab/traffic.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/support.h"

#define LINES (UINT64_C(1) << 26) /* of 64 bytes in 4 GiB */

static const struct npl_memory_info lines_of_64 = {
	.name = "m", .access_bytes = 64, .capacity_bytes = UINT64_C(1) << 32, .channels = 1};

static struct npl_traffic *open_pattern(const char *name, int64_t n, const struct npl_memory_info *memory)
{
	struct npl_traffic *traffic;
	struct npl_err err;
	cr_assert_eq(npl_traffic_open_pattern(name, n, memory, &traffic, &err), 0, "%s: %s", name, err.msg);
	cr_assert(!npl_traffic_has_cycles(traffic));
	return traffic;
}

/* The rules as published/dram.csv has them, and that of tile64k, which is npulab's own; *s is the random source, *tile
 * the tile's line. */
static uint64_t line_by_rule(const char *name, uint64_t i, uint64_t *s, uint64_t *tile, bool *is_write)
{
	const uint64_t mib256 = 256u << 20, mask = LINES - 1;
	const uint64_t tile_lines = !strcmp(name, "tile2k") ? 32 : !strcmp(name, "tile64k") ? 1024 : 0;
	const bool tile_begins = tile_lines && i % tile_lines == 0;
	*is_write = !strcmp(name, "stream_wr") || (!strcmp(name, "copy") && i % 2) ||
		    (!strcmp(name, "triad") && i % 3 == 2);
	if (!strcmp(name, "random_rd") || tile_begins)
		*s = *s * 6364136223846793005u + 1442695040888963407u;
	if (!strcmp(name, "copy"))
		return i / 2 + (i % 2 ? (mib256 + 65536) / 64 : 0);
	if (!strcmp(name, "triad"))
		return i / 3 + i % 3 * ((mib256 + 24576) / 64);
	if (!strcmp(name, "random_rd"))
		return *s >> 38 & mask;
	if (tile_begins)
		*tile = (*s >> 38 & mask) / tile_lines * tile_lines;
	if (tile_lines)
		return *tile + i % tile_lines;
	if (!strcmp(name, "stride64k"))
		return (1024 * i & mask) + (1024 * i >> 26);
	cr_assert(!strncmp(name, "stream_", 7), "%s has no rule here", name);
	return i;
}

Test(traffic, patterns_are_their_rules)
{
	enum { N = 200000, ROOM = 777 };
	static struct npl_traffic_request batch[ROOM];
	for (const struct npl_traffic_pattern *p = npl_traffic_patterns; p->name; p++) {
		struct npl_traffic *traffic = open_pattern(p->name, N, &lines_of_64);
		uint64_t s = 1, tile = 0, i = 0;
		struct npl_err err;
		for (int n = 1; n;) {
			cr_assert_eq(npl_traffic_next(traffic, false, batch, ROOM, &n, &err), 0);
			for (int k = 0; k < n; k++, i++) {
				bool is_write;
				uint64_t line = line_by_rule(p->name, i, &s, &tile, &is_write);
				cr_assert(batch[k].address == 64 * (line & (LINES - 1)) &&
						  batch[k].is_write == is_write,
					  "%s, request %llu", p->name, (unsigned long long)i);
			}
		}
		cr_assert_eq(i, N);
		npl_traffic_close(traffic);
	}
}

/* A memory of any size has whole accesses within it; a small one is gone through round and round, in all of it. */
Test(traffic, patterns_stay_within)
{
	const struct npl_memory_info memories[] = {
		{.name = "a", .access_bytes = 32, .capacity_bytes = UINT64_C(1) << 33},
		{.name = "b", .access_bytes = 64, .capacity_bytes = 3 * 64},
		{.name = "c", .access_bytes = 96, .capacity_bytes = 5 * 96 + 7},
		{.name = "d", .access_bytes = 0, .capacity_bytes = UINT64_MAX},
		{.name = "e", .access_bytes = 64, .capacity_bytes = 64},
		{.name = "f", .access_bytes = 1 << 20, .capacity_bytes = UINT64_C(3) << 20},
	};
	enum { N = 3000 };
	static struct npl_traffic_request request[N];
	for (size_t m = 0; m < sizeof memories / sizeof *memories; m++)
		for (const struct npl_traffic_pattern *p = npl_traffic_patterns; p->name; p++) {
			const uint64_t access = memories[m].access_bytes ? memories[m].access_bytes : 64;
			struct npl_traffic *traffic = open_pattern(p->name, N, &memories[m]);
			struct npl_err err;
			uint64_t highest = 0;
			int n;
			cr_assert_eq(npl_traffic_next(traffic, false, request, N, &n, &err), 0);
			cr_assert_eq(n, N);
			for (int i = 0; i < n; i++) {
				cr_assert(request[i].address % access == 0 &&
						  request[i].address <= memories[m].capacity_bytes - access,
					  "%s on %s: %llx", p->name, memories[m].name,
					  (unsigned long long)request[i].address);
				highest = request[i].address > highest ? request[i].address : highest;
			}
			if (memories[m].capacity_bytes < 600)
				cr_assert_eq(highest, memories[m].capacity_bytes / access * access - access, "%s on %s",
					     p->name, memories[m].name);
			cr_assert_lt(highest, UINT64_C(1) << 32);
			npl_traffic_close(traffic);
		}
	struct npl_traffic *none;
	struct npl_err err;
	const struct npl_memory_info tiny = {.name = "tiny", .access_bytes = 64, .capacity_bytes = 63};
	cr_assert_eq(npl_traffic_open_pattern("copy", 1, &tiny, &none, &err), NPL_EINPUT);
	cr_assert_eq(npl_traffic_open_pattern("copy", 0, &lines_of_64, &none, &err), NPL_EINPUT);
	cr_assert_eq(npl_traffic_open_pattern("stream", 1, &lines_of_64, &none, &err), NPL_EUSAGE);
	cr_assert_str_eq(err.msg, "there is no pattern 'stream'; the nearest is 'stream_rd'");
	cr_assert_null(none);
}

enum { MAX_REQUESTS = 20000 };

struct requests {
	struct npl_traffic_request request[MAX_REQUESTS];
	int n;
};

/* Requests at rising cycles as text, with what else may stand in a trace between them. */
static char *random_text(uint64_t *rng, struct requests *all, int n, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);
	uint64_t cycle = 0;
	cr_assert(out);
	for (all->n = 0; all->n < n; all->n++) {
		struct npl_traffic_request *r = &all->request[all->n];
		uint64_t address = (uint64_t)test_range(rng, 0, (INT64_C(1) << 32) - 1);
		cycle += (uint64_t)test_range(rng, 0, 9);
		*r = (struct npl_traffic_request){address / 64 * 64, cycle, test_range(rng, 0, 1)};
		for (int64_t k = test_range(rng, -4, 2); k > 0; k--)
			fputs(test_range(rng, 0, 1) ? "# 0x40 READ 5\n" : " \t\r\n", out);
		fprintf(out, test_range(rng, 0, 1) ? "0x%llX" : " 0X%08llx", (unsigned long long)address);
		fputs(test_range(rng, 0, 1) ? "\t  " : " ", out);
		fputs(r->is_write             ? test_range(rng, 0, 1) ? "WRITE" : "write"
		      : test_range(rng, 0, 1) ? "READ"
					      : "read",
		      out);
		fprintf(out, " %llu", (unsigned long long)cycle);
		fputs(test_range(rng, 0, 9) ? "" : " # and more", out);
		fputs(all->n == n - 1 ? "" : test_range(rng, 0, 3) ? "\n" : "\r\n", out);
	}
	fclose(out);
	return text;
}

static void write_gzip(const char *path, const char *mode, const char *text, size_t bytes)
{
	gzFile file = gzopen(path, mode);
	cr_assert(file && gzwrite(file, text, (unsigned)bytes) == (int)bytes && gzclose(file) == Z_OK);
}

static void check_trace(const char *path, const struct requests *all, uint64_t *rng)
{
	static struct npl_traffic_request batch[1000];
	struct npl_traffic *traffic;
	struct npl_err err;
	int at = 0;
	cr_assert_eq(npl_traffic_open_trace(path, &lines_of_64, &traffic, &err), 0, "%s", err.msg);
	cr_assert(npl_traffic_has_cycles(traffic));
	for (int n = 1; n; at += n) {
		int capacity = (int)test_range(rng, 1, 1000);
		cr_assert_eq(npl_traffic_next(traffic, false, batch, capacity, &n, &err), 0, "%s", err.msg);
		cr_assert(n <= capacity && at + n <= all->n);
		for (int k = 0; k < n; k++)
			cr_assert(batch[k].address == all->request[at + k].address &&
					  batch[k].cycle == all->request[at + k].cycle &&
					  batch[k].is_write == all->request[at + k].is_write,
				  "%s: request %d", path, at + k);
	}
	cr_assert_eq(at, all->n, "%s", path);
	npl_traffic_close(traffic);
}

/* Far more than is read at a time, so that lines and members are cut in any place. */
Test(traffic, a_trace_plain_and_compressed)
{
	static struct requests all;
	char folder[CLI_PATH];
	uint64_t rng = 0x7ace;
	cli_folder(folder);
	for (int round = 0; round < 5; round++) {
		size_t bytes;
		char *text = random_text(&rng, &all, round ? (int)test_range(&rng, 1, MAX_REQUESTS) : MAX_REQUESTS,
					 &bytes);
		const char *plain = cli_path(folder, "plain"), *packed = cli_path(folder, "gz");
		size_t cut = (size_t)test_range(&rng, 0, (int64_t)bytes);
		cli_write(folder, "plain", text, bytes);
		write_gzip(packed, "wb", text, cut);
		write_gzip(packed, "ab1", text + cut, bytes - cut); /* a member of its own */
		check_trace(plain, &all, &rng);
		check_trace(packed, &all, &rng);
		cr_assert(freopen(packed, "rb", stdin));
		check_trace("-", &all, &rng);
		/* zeros that fill up the last block of a tape are no damage, in no number */
		FILE *padded = fopen(packed, "ab");
		for (int64_t zeros = test_range(&rng, 1, 200000); zeros > 0; zeros--)
			fputc(0, padded);
		cr_assert(padded && !fclose(padded));
		check_trace(packed, &all, &rng);
		/* nor is a byte-order mark before the text */
		char *marked = malloc(bytes + 3);
		cr_assert(marked);
		memcpy(marked, "\xef\xbb\xbf", 3);
		memcpy(marked + 3, text, bytes);
		cli_write(folder, "plain", marked, bytes + 3);
		write_gzip(packed, "wb", marked, bytes + 3);
		check_trace(plain, &all, &rng);
		check_trace(packed, &all, &rng);
		free(marked);
		free(text);
	}
	cli_remove_folder(folder);
}

/* What a trace's reading says in the end. */
static struct npl_err refusal_of(const char *path)
{
	struct npl_traffic_request request[16];
	struct npl_traffic *traffic;
	struct npl_err err = {0};
	int n = 1;
	if (npl_traffic_open_trace(path, &lines_of_64, &traffic, &err))
		return err;
	while (n && !npl_traffic_next(traffic, false, request, 16, &n, &err))
		;
	npl_traffic_close(traffic);
	return err;
}

Test(traffic, damaged_compression_is_refused)
{
	static struct requests all;
	char folder[CLI_PATH];
	uint64_t rng = 99;
	size_t bytes, packed;
	cli_folder(folder);
	char *text = random_text(&rng, &all, 100, &bytes);
	write_gzip(cli_path(folder, "whole"), "wb", text, bytes);
	char *whole = cli_read(cli_path(folder, "whole"), &packed);
	const char *path = cli_path(folder, "part");
	for (size_t n = 0; n < packed; n++) {
		cli_write(folder, "part", whole, n);
		struct npl_err err = refusal_of(path);
		cr_assert_eq(err.code, NPL_EINPUT, "%zu of %zu bytes", n, packed);
		if (n >= 2)
			cr_assert(strstr(err.msg, "the gzip data end in the middle"), "%zu bytes: %s", n, err.msg);
	}
	for (size_t n = packed - 8; n < packed - 4; n++) { /* the checksum */
		whole[n] ^= 1;
		cli_write(folder, "part", whole, packed);
		whole[n] ^= 1;
		struct npl_err err = refusal_of(path);
		cr_assert(err.code == NPL_EINPUT && strstr(err.msg, "the gzip data are damaged"), "%s", err.msg);
	}
	FILE *file = fopen(cli_path(folder, "whole"), "ab");
	cr_assert(file && fputs("0x40 READ 999999\n", file) >= 0 && !fclose(file));
	struct npl_err err = refusal_of(cli_path(folder, "whole"));
	cr_assert(err.code == NPL_EINPUT && strstr(err.msg, "what follows the gzip data is not gzip data"), "%s",
		  err.msg);
	free(text);
	free(whole);
	cli_remove_folder(folder);
}

/* A bomb: 256 MiB of a comment without an end, and of blank lines, in 1 MiB each; to a program that may have half of
 * that. */
Test(traffic, a_decompression_bomb_is_refused)
{
	enum { PIECE = 1 << 20, PIECES = 256 };
	char folder[CLI_PATH];
	char *piece = malloc(PIECE);
	cr_assert(piece);
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder,
						.address_space = TEST_SANITIZED ? 0 : (size_t)PIECES * PIECE / 2};
	for (int lines = 0; lines < 2; lines++) {
		gzFile file = gzopen(cli_path(folder, "bomb"), "wb1");
		memset(piece, lines ? '\n' : '#', PIECE);
		for (int i = 0; i < PIECES; i++)
			cr_assert_eq(gzwrite(file, piece, PIECE), PIECE);
		cr_assert_eq(gzclose(file), Z_OK);
		struct cli_result r = cli_run(&options, "dram", "@/bomb");
		cli_check_refusal(&r, 3, lines ? "there is no request in it" : ":1: the line is too long", "a bomb");
		cli_free(&r);
	}
	free(piece);
	cli_remove_folder(folder);
}

/* What a run must tell, found by asking in every cycle. */
struct expected {
	uint64_t n, last, latency[MAX_REQUESTS];
};

static int ascending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* All the traffic, cycle by cycle: inject 0 is at the requests' cycles. */
static void run_slowly(struct npl_memory *memory, const struct requests *all, int64_t inject, struct expected *e)
{
	static uint64_t due[MAX_REQUESTS];
	const uint64_t bytes = npl_memory_info(memory)->access_bytes;
	int at = 0;
	*e = (struct expected){0};
	for (;; npl_memory_step(memory)) {
		const uint64_t now = npl_memory_now(memory);
		struct npl_memory_completion completion;
		while (npl_memory_completed(memory, &completion)) {
			e->latency[e->n++] = completion.cycle - due[completion.tag];
			e->last = completion.cycle;
		}
		if (e->n == (uint64_t)all->n)
			break;
		for (int64_t offered = 0; at < all->n && (inject ? offered < inject : all->request[at].cycle <= now);
		     offered++, at++) {
			struct npl_memory_request r = {.address = all->request[at].address,
						       .bytes = bytes ? bytes : 64,
						       .tag = (uint64_t)at,
						       .is_write = all->request[at].is_write};
			if (!npl_memory_can_accept(memory, &r))
				break;
			due[at] = inject ? now : all->request[at].cycle;
			npl_memory_push(memory, &r);
		}
	}
	qsort(e->latency, e->n, sizeof *e->latency, ascending);
}

static void check_run(struct npl_memory *memory, const char *path, const struct requests *all, int64_t inject,
		      const char *subject)
{
	static struct expected e;
	struct npl_traffic *traffic;
	struct npl_traffic_result r;
	struct npl_err err;
	double sum = 0;
	npl_memory_reset(memory);
	run_slowly(memory, all, inject, &e);
	struct npl_memory_counters slowly;
	npl_memory_counters(memory, &slowly);
	npl_memory_reset(memory);
	cr_assert_eq(npl_traffic_open_trace(path, npl_memory_info(memory), &traffic, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_traffic_run(memory, traffic, &(struct npl_traffic_options){.inject = inject}, &r, &err), 0,
		     "%s: %s", subject, err.msg);
	npl_traffic_close(traffic);
	for (uint64_t i = 0; i < e.n; i++)
		sum += (double)e.latency[i];
	uint64_t rank = e.n - e.n / 100; /* no longer than 99 of 100, or more where n does not divide */
	cr_assert_eq(r.requests, e.n, "%s", subject);
	cr_assert_eq(r.cycles, e.last, "%s: %llu, expected %llu", subject, (unsigned long long)r.cycles,
		     (unsigned long long)e.last);
	cr_assert(!memcmp(&r.counters, &slowly, sizeof slowly), "%s: counters", subject);
	cr_assert_float_eq(r.latency.mean, sum / (double)e.n, 1e-9 * sum / (double)e.n, "%s", subject);
	cr_assert_eq(r.latency.max, e.latency[e.n - 1], "%s", subject);
	const double p99 = (double)e.latency[rank - 1],
		     exact = e.latency[rank - 1] < UINT64_C(1) << 20 ? 0 : p99 / 1000;
	cr_assert((double)r.latency.p99 >= p99 && (double)r.latency.p99 <= p99 + exact, "%s: 99th %llu, expected %g",
		  subject, (unsigned long long)r.latency.p99, p99);
	cr_assert_eq(r.read_latency.requests + r.write_latency.requests, e.n);
	cr_assert(r.read_latency.requests == r.counters.reads && r.write_latency.requests == r.counters.writes);
}

Test(traffic, runs_are_those_of_every_cycle)
{
	static struct requests all;
	static const char *const memories[] = {"ddr3-2133", "ddr4-2400", "ideal", "@/fixed.yaml", "@/slow.yaml"};
	char folder[CLI_PATH];
	uint64_t rng = 0xd1a;
	cli_folder(folder);
	cli_write_text(folder, "fixed.yaml",
		       "name: f\nmodel: fixed\nbytes_per_second: 7000000000\nlatency_seconds: 1e-7\n");
	cli_write_text(folder, "slow.yaml",
		       "name: s\nmodel: fixed\nbytes_per_second: 64000000000\nlatency_seconds: 1e-4\n");
	for (int round = 0; round < 8; round++) {
		size_t bytes;
		char *text = random_text(&rng, &all, (int)test_range(&rng, 1, 1500), &bytes);
		cli_write(folder, "trace", text, bytes);
		for (size_t m = 0; m < sizeof memories / sizeof *memories; m++)
			for (int engine = 0; engine < (m < 2 ? 2 : 1); engine++) {
				char *name = cli_expand(memories[m], folder), subject[300];
				struct npl_memory *memory;
				struct npl_err err;
				const struct npl_memory_options options = {.channels = m < 2 ? 1 + round % 3 : 0,
									   .every_cycle = engine};
				const int64_t inject = round % 2 ? test_range(&rng, 1, 8) : 0;
				cr_assert_eq(npl_memory_open(name, &options, &memory, &err), 0, "%s", err.msg);
				snprintf(subject, sizeof subject, "%s, engine %d, inject %d, round %d", memories[m],
					 engine, (int)inject, round);
				check_run(memory, cli_path(folder, "trace"), &all, inject, subject);
				npl_memory_close(memory);
				free(name);
			}
		free(text);
	}
	cli_remove_folder(folder);
}

/* A trace that asks for far more than there is: a new row of one bank each, all at cycle 0. */
Test(traffic, latencies_of_an_overload_are_counted)
{
	static struct requests all;
	char folder[CLI_PATH];
	struct npl_memory *memory;
	struct npl_err err;
	cli_folder(folder);
	FILE *file = fopen(cli_path(folder, "trace"), "w");
	cr_assert(file);
	for (all.n = 0; all.n < MAX_REQUESTS; all.n++) {
		all.request[all.n] = (struct npl_traffic_request){.address = (uint64_t)all.n % 60000 << 16};
		fprintf(file, "0x%llx READ 0\n", (unsigned long long)all.request[all.n].address);
	}
	fclose(file);
	cli_write_text(folder, "slow.yaml", "name: s\nmodel: fixed\nbytes_per_second: 100000000\n");
	cr_assert_eq(npl_memory_open("ddr3-2133", NULL, &memory, &err), 0, "%s", err.msg);
	check_run(memory, cli_path(folder, "trace"), &all, 0, "DRAM");
	npl_memory_close(memory);
	cr_assert_eq(npl_memory_open(cli_path(folder, "slow.yaml"), NULL, &memory, &err), 0, "%s", err.msg);
	check_run(memory, cli_path(folder, "trace"), &all, 0, "12.8 million cycles");
	npl_memory_close(memory);
	cli_remove_folder(folder);
}
