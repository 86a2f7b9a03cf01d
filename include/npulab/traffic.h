/* SPDX-License-Identifier: MIT
 *
 * Runs a memory alone, with requests from a request trace or a pattern (`npulab dram`).
 *
 *     npl_memory_open("ddr3-2133", NULL, &memory, &err);
 *     npl_traffic_open_pattern("stream_rd", 100000, npl_memory_info(memory), &traffic, &err);
 *     npl_traffic_run(memory, traffic, NULL, &result, &err);
 *
 * A request trace is text, one request a line, in the form of DRAMsim3: `0xADDRESS READ|WRITE CYCLE`. Blank lines and
 * text after a # are ignored, `read` and `write` are accepted too, and a line has at most NPL_TRACE_LINE bytes. The
 * file may be compressed by gzip, which its first bytes show. It is read piece by piece and never held whole. A request
 * is one access of the memory: the aligned one that contains the address.
 */
#ifndef NPULAB_TRAFFIC_H
#define NPULAB_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "npulab/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_TRACE_LINE 4096
#define NPL_TRACE_MAX_CYCLE                                                                                            \
	(UINT64_C(1) << 40) /* a quarter of an hour of DDR3-2133; a greater number is not a cycle of a memory clock */
#define NPL_TRAFFIC_MAX_COUNT (INT64_C(1) << 40) /* the most requests of a pattern */
#define NPL_TRAFFIC_MAX_RATE  1024               /* requests offered per cycle */

struct npl_traffic_request {
	uint64_t address, cycle; /* cycle: when the request is due; 0 in patterns */
	bool is_write;
};

struct npl_traffic; /* opaque: requests in their order */

/* Opens a trace of requests for this memory; only access_bytes and capacity_bytes are read, during the call. `path` "-"
 * is standard input. This call and npl_traffic_next return NPL_EINPUT, with the line, when the trace cannot be opened
 * or read or is not a trace. */
int npl_traffic_open_trace(const char *path, const struct npl_memory_info *memory, struct npl_traffic **traffic,
			   struct npl_err *err);
/* Opens n requests of a pattern. Each request is one access of the memory (64 bytes where the memory has no access
 * size), in its first 4 GiB, or in all of a smaller memory; at the end a pattern starts over. Returns NPL_EUSAGE when
 * there is no such pattern, with the nearest name. */
int npl_traffic_open_pattern(const char *name, int64_t n, const struct npl_memory_info *memory,
			     struct npl_traffic **traffic, struct npl_err *err);
void npl_traffic_close(struct npl_traffic *traffic); /* accepts NULL */

/* Gives the next requests, `capacity` at most; *n is 0 at the end. Refuses cycles that decrease unless any_order. */
int npl_traffic_next(struct npl_traffic *traffic, bool any_order, struct npl_traffic_request *request, int capacity,
		     int *n, struct npl_err *err);
bool npl_traffic_has_cycles(const struct npl_traffic *traffic); /* true for a trace; a pattern has no cycles */

/* All patterns; the table ends with name NULL. */
struct npl_traffic_pattern {
	const char *name, *help;
};
extern const struct npl_traffic_pattern npl_traffic_patterns[];

struct npl_traffic_options {
	/* Requests offered per cycle, whatever their cycles are; 0: at the cycles of a trace, or 2 per channel for a
	 * pattern. */
	int64_t inject;
};

/* The latencies of requests in cycles, from when each was due to its completion. For requests that are offered per
 * cycle, the latency begins when the request is accepted. */
struct npl_latency {
	uint64_t requests;
	double mean;       /* NAN: no requests */
	uint64_t p99, max; /* p99: 99 of 100 took no longer; rounded up above 2^20 cycles, by less than 0.1 % */
};

struct npl_traffic_result {
	uint64_t requests, cycles; /* cycles: boundary of the last completion */
	int64_t inject;            /* 0: at the cycles of the trace */
	double seconds, bytes_per_second;
	struct npl_latency latency, read_latency, write_latency;
	struct npl_memory_counters counters;
	int n_energy;
	struct npl_memory_energy energy[NPL_MEMORY_ENERGIES];
};

/* Sends all requests in order to a memory in the state after opening, each as soon as it is due and the memory accepts
 * it. The result is exact: cycles that are skipped do not change it. */
int npl_traffic_run(struct npl_memory *memory, struct npl_traffic *traffic, const struct npl_traffic_options *options,
		    struct npl_traffic_result *result, struct npl_err *err);

/* Figures that follow from a result. NAN: not known, or not applicable. */
struct npl_traffic_figures {
	double peak_fraction;
	double row_hit_rate;                /* of the accesses that needed a command */
	double joules[NPL_MEMORY_ENERGIES]; /* of the parts that npl_traffic_result.energy has, in its order */
	double total_joules, pj_per_bit;    /* the sum of the parts; that sum over the bits read and written */
};
void npl_traffic_figures_of(const struct npl_memory *memory, const struct npl_traffic_result *result,
			    struct npl_traffic_figures *figures);

#ifdef __cplusplus
}
#endif

#endif
