/* SPDX-License-Identifier: MIT
 *
 * Inside npulab/traffic.h: the bytes of a trace, its requests, the patterns, and latencies.
 *
 *     request_trace_input.c       a file's bytes, plain or out of gzip
 *     request_trace_reader.c      lines of them as requests
 *     traffic_pattern.c   requests out of nothing
 *     traffic_latency.c   how long they took
 *     traffic_run.c       all of them through a memory */
#ifndef NPULAB_FRONTEND_TRAFFIC_TRAFFIC_IMPL_H
#define NPULAB_FRONTEND_TRAFFIC_TRAFFIC_IMPL_H

#include "core/base/arith.h"
#include "npulab/traffic.h"

#define TRAFFIC_LINE_BYTES 64 /* bytes of an access where the memory gives no size */

/* Returns the bytes that a request to this memory moves. */
static inline uint64_t traffic_access_bytes(const struct npl_memory_info *memory)
{
	return memory->access_bytes ? memory->access_bytes : TRAFFIC_LINE_BYTES;
}

struct request_trace_input;
/* Opens a trace. Messages begin with `display_path`. */
int request_trace_input_open(const char *path, const char *display_path, struct request_trace_input **input,
			     struct npl_err *err);
void request_trace_input_close(struct request_trace_input *input); /* accepts NULL */
/* Reads the next `capacity` bytes, or fewer. An error is reported in *problem, together with the bytes before it. It
 * ends the input, as *n = 0 does. */
void request_trace_input_read(struct request_trace_input *input, char *to, size_t capacity, size_t *n,
			      const char **problem);

struct request_trace;
int request_trace_open(const char *path, const struct npl_memory_info *memory, struct request_trace **trace,
		       struct npl_err *err);
void request_trace_close(struct request_trace *trace); /* accepts NULL */
int request_trace_next(struct request_trace *trace, bool any_order, struct npl_traffic_request *request, int capacity,
		       int *n, struct npl_err *err);

struct pattern {
	uint64_t (*line)(struct pattern *pattern, uint64_t i, bool *is_write);
	uint64_t i, n, access_bytes;
	uint64_t lines, mask; /* lines: their number; mask: lines - 1 where that is a power of two, else 0 */
	uint64_t tile_lines, tile, random;
};
int pattern_open(const char *name, int64_t n, const struct npl_memory_info *memory, struct pattern *pattern,
		 struct npl_err *err);
void pattern_next(struct pattern *pattern, struct npl_traffic_request *request, int capacity, int *n);

/* The counts of latencies: one for each latency below EXACT, then one for each range of less than a thousandth. */
enum { LATENCY_EXACT_BITS = 20, LATENCY_RANGE_BITS = 10 };
#define LATENCY_EXACT  (UINT64_C(1) << LATENCY_EXACT_BITS)
#define LATENCY_RANGES ((size_t)(64 - LATENCY_EXACT_BITS) << LATENCY_RANGE_BITS)

struct latencies {
	uint64_t *count, *range; /* LATENCY_EXACT and LATENCY_RANGES elements */
	uint64_t max;
	npl_u128 long_sum; /* sum of the latencies from LATENCY_EXACT on; that of the others follows from the counts */
};
int latencies_open(struct latencies *latencies, struct npl_err *err);
void latencies_close(struct latencies *latencies);
void latencies_add_long(struct latencies *latencies, uint64_t cycles);
/* Returns the latencies of n_sets sets taken together. */
struct npl_latency latencies_of(const struct latencies *sets, int n_sets);

static inline void latencies_add(struct latencies *latencies, uint64_t cycles)
{
	if (__builtin_expect(cycles > latencies->max, 0))
		latencies->max = cycles;
	if (cycles < LATENCY_EXACT)
		latencies->count[cycles]++;
	else
		latencies_add_long(latencies, cycles);
}

#endif
