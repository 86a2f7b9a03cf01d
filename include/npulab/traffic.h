/* SPDX-License-Identifier: MIT
 *
 * A memory alone, under requests from a trace or of a pattern (`npulab dram`).
 *
 *     npl_memory_open("ddr3-2133", NULL, &memory, &err);
 *     npl_traffic_open_pattern("stream_rd", 100000, npl_memory_info(memory), &traffic, &err);
 *     npl_traffic_run(memory, traffic, NULL, &result, &err);
 *
 * A trace is text, one request a line, in the form of DRAMsim3: `0xADDRESS READ|WRITE CYCLE`. Blank lines and what
 * follows a # are left out, `read` and `write` are taken too, a line has at most NPL_TRACE_LINE bytes. It may be
 * compressed by gzip, which is told by its first bytes. It is read as it is needed and never held whole. A request is
 * one access of the memory, the aligned one that the address lies in.
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
	(UINT64_C(1) << 40) /* a quarter of an hour of DDR3-2133: what is beyond is no memory clock */
#define NPL_TRAFFIC_MAX_COUNT (INT64_C(1) << 40) /* requests of a pattern */
#define NPL_TRAFFIC_MAX_RATE  1024               /* requests offered per cycle */

struct npl_traffic_request {
	uint64_t address, cycle; /* cycle: in which it is due; 0 in patterns */
	bool is_write;
};

struct npl_traffic; /* opaque: requests in their order */

/* Requests for this memory, of which only access_bytes and capacity_bytes are looked at, and not after the return.
 * `path` "-" is standard input. NPL_EINPUT, then and as the trace is read: it cannot be opened or read, or is none,
 * with its line. */
int npl_traffic_open_trace(const char *path, const struct npl_memory_info *memory, struct npl_traffic **traffic,
			   struct npl_err *err);
/* n requests. NPL_EINPUT: there is no such pattern, naming the nearest. The lines of the patterns are accesses of the
 * memory (64 bytes where it has no size of its own), in its first 4 GiB or, where it is smaller, in all of it, round
 * and round. */
int npl_traffic_open_pattern(const char *name, int64_t n, const struct npl_memory_info *memory,
			     struct npl_traffic **traffic, struct npl_err *err);
void npl_traffic_close(struct npl_traffic *traffic); /* accepts NULL */

/* The next requests, `capacity` at most; *n is 0 at the end. Cycles that go down are refused unless any_order. */
int npl_traffic_next(struct npl_traffic *traffic, bool any_order, struct npl_traffic_request *request, int capacity,
		     int *n, struct npl_err *err);
bool npl_traffic_has_cycles(const struct npl_traffic *traffic); /* a trace; a pattern has none */

/* The patterns there are, ends with name NULL. */
struct npl_traffic_pattern {
	const char *name, *help;
};
extern const struct npl_traffic_pattern npl_traffic_patterns[];

struct npl_traffic_options {
	/* requests offered per cycle, whatever cycles they have; 0: as a trace says, 2 per channel of a pattern */
	int64_t inject;
};

/* The latencies of requests, in cycles from when each was due (offered per cycle: from when it was accepted) to its
 * completion. */
struct npl_latency {
	uint64_t requests;
	double mean;       /* NAN: no requests */
	uint64_t p99, max; /* 99 of 100 took no longer; above 2^20 cycles rounded up, by less than 0.1 % */
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

/* Puts all the traffic through a memory that is as it was opened: in order, each as soon as it is due and the memory
 * takes it. The result is that of asking in every cycle, whatever is skipped. */
int npl_traffic_run(struct npl_memory *memory, struct npl_traffic *traffic, const struct npl_traffic_options *options,
		    struct npl_traffic_result *result, struct npl_err *err);

/* What follows from a result. NAN: not known, or there is none. */
struct npl_traffic_figures {
	double peak_fraction;
	double row_hit_rate; /* of the accesses that needed a command */
	double joules[NPL_MEMORY_ENERGIES], energy_j, pj_per_bit;
};
void npl_traffic_figures_of(const struct npl_memory *memory, const struct npl_traffic_result *result,
			    struct npl_traffic_figures *figures);

#ifdef __cplusplus
}
#endif

#endif
