/* SPDX-License-Identifier: MIT
 *
 * Patterns of requests: streams, tiles, random lines. They are those for which published/dram.csv holds the figures of
 * other simulators (the file describes their rules), except tile64k, which is npulab's own. A line is one access of the
 * memory; a memory of less than 4 GiB is used as a whole. */
#include <string.h>

#include "core/base/arith.h"
#include "core/base/nearest.h"
#include "traffic_impl.h"

#define SPAN_BYTES   (UINT64_C(1) << 32)
#define KIB          UINT64_C(1024)
#define COPY_BYTES   (256 * KIB * KIB + 64 * KIB) /* distance from the array that is read to the one that is written */
#define TRIAD_BYTES  (256 * KIB * KIB + 24 * KIB) /* distance from one array to the next */
#define STRIDE_BYTES (64 * KIB)

static uint64_t lines_of(const struct pattern *p, uint64_t bytes)
{
	return bytes / p->access_bytes;
}

/* Returns a random line. The highest bits of Knuth's generator (MMIX) pick it. */
static uint64_t random_line(struct pattern *p)
{
	p->random = p->random * 6364136223846793005u + 1442695040888963407u;
	return (uint64_t)((npl_u128)p->random * p->lines >> 64);
}

static uint64_t stream_rd(struct pattern *p, uint64_t i, bool *is_write)
{
	(void)p, (void)is_write;
	return i;
}

static uint64_t stream_wr(struct pattern *p, uint64_t i, bool *is_write)
{
	(void)p;
	*is_write = true;
	return i;
}

static uint64_t copy(struct pattern *p, uint64_t i, bool *is_write)
{
	*is_write = i % 2;
	return i / 2 + (i % 2) * lines_of(p, COPY_BYTES);
}

static uint64_t triad(struct pattern *p, uint64_t i, bool *is_write)
{
	*is_write = i % 3 == 2;
	return i / 3 + (i % 3) * lines_of(p, TRIAD_BYTES);
}

static uint64_t tile(struct pattern *p, uint64_t i, bool *is_write)
{
	const uint64_t index = i % p->tile_lines;
	(void)is_write;
	if (index == 0) {
		p->tile = random_line(p);
		p->tile -= p->tile % p->tile_lines;
	}
	return p->tile + index;
}

static uint64_t random_rd(struct pattern *p, uint64_t i, bool *is_write)
{
	(void)i, (void)is_write;
	return random_line(p);
}

/* Returns line i of a walk in steps of STRIDE_BYTES, which begins one line further after each round through the
 * memory. */
static uint64_t stride64k(struct pattern *p, uint64_t i, bool *is_write)
{
	const uint64_t line = i * lines_of(p, STRIDE_BYTES);
	(void)is_write;
	return line % p->lines + line / p->lines;
}

const struct npl_traffic_pattern npl_traffic_patterns[] = {
#define TRAFFIC_PATTERN(name, function, tile_bytes, help) {name, help},
#include "patterns.def"
	{0},
};

static const struct {
	uint64_t (*line)(struct pattern *pattern, uint64_t i, bool *is_write);
	uint64_t tile_bytes;
} rules[] = {
#define TRAFFIC_PATTERN(name, function, tile_bytes, help) {function, tile_bytes},
#include "patterns.def"
};
#define PATTERNS ((int)(sizeof rules / sizeof *rules))

int pattern_open(const char *name, int64_t n, const struct npl_memory_info *memory, struct pattern *p,
		 struct npl_err *err)
{
	const char *names[PATTERNS];
	const uint64_t span = memory->capacity_bytes < SPAN_BYTES ? memory->capacity_bytes : SPAN_BYTES;
	int found = -1;
	for (int i = 0; i < PATTERNS; i++) {
		names[i] = npl_traffic_patterns[i].name;
		found = strcmp(name, names[i]) ? found : i;
	}
	if (found < 0)
		return npl_fail(err, NPL_EUSAGE, "there is no pattern '%s'%s", name,
				NPL_NEAREST(name, names, PATTERNS));
	if (n < 1 || n > NPL_TRAFFIC_MAX_COUNT)
		return npl_fail(err, NPL_EINPUT, "%s: %lld requests, expected 1 to %lld", name, (long long)n,
				(long long)NPL_TRAFFIC_MAX_COUNT);
	*p = (struct pattern){
		.line = rules[found].line, .n = (uint64_t)n, .access_bytes = traffic_access_bytes(memory), .random = 1};
	p->lines = lines_of(p, span);
	if (!p->lines)
		return npl_fail(err, NPL_EINPUT, "%s: the memory has %llu bytes, expected room for an access of %llu",
				memory->name, (unsigned long long)memory->capacity_bytes,
				(unsigned long long)p->access_bytes);
	p->mask = p->lines & (p->lines - 1) ? 0 : p->lines - 1;
	p->tile_lines = lines_of(p, rules[found].tile_bytes) ? lines_of(p, rules[found].tile_bytes) : 1;
	return 0;
}

void pattern_next(struct pattern *p, struct npl_traffic_request *request, int capacity, int *n)
{
	*n = p->n - p->i < (uint64_t)capacity ? (int)(p->n - p->i) : capacity;
	for (int k = 0; k < *n; k++) {
		request[k] = (struct npl_traffic_request){0};
		uint64_t line = p->line(p, p->i++, &request[k].is_write);
		line = p->lines - 1 == p->mask ? line & p->mask : line % p->lines;
		request[k].address = line * p->access_bytes;
	}
}
