/* SPDX-License-Identifier: MIT
 *
 * Traffic through a memory (npulab/traffic.h): requests in their order at the boundaries between cycles, completions with their
 * latencies. Boundaries at which nothing can be accepted or is due are skipped. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traffic_impl.h"

struct npl_traffic {
	struct trace *trace; /* NULL: the pattern */
	struct pattern pattern;
};

int npl_traffic_open_trace(const char *path, const struct npl_memory_info *memory, struct npl_traffic **traffic,
			   struct npl_err *err)
{
	*traffic = calloc(1, sizeof **traffic);
	if (!*traffic)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	if (trace_open(path, memory, &(*traffic)->trace, err)) {
		free(*traffic);
		*traffic = NULL;
		return err->code;
	}
	return 0;
}

int npl_traffic_open_pattern(const char *name, int64_t n, const struct npl_memory_info *memory,
			     struct npl_traffic **traffic, struct npl_err *err)
{
	*traffic = calloc(1, sizeof **traffic);
	if (!*traffic)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", name);
	if (pattern_open(name, n, memory, &(*traffic)->pattern, err)) {
		free(*traffic);
		*traffic = NULL;
		return err->code;
	}
	return 0;
}

void npl_traffic_close(struct npl_traffic *traffic)
{
	if (!traffic)
		return;
	trace_close(traffic->trace);
	free(traffic);
}

bool npl_traffic_has_cycles(const struct npl_traffic *traffic)
{
	return traffic->trace;
}

int npl_traffic_next(struct npl_traffic *traffic, bool any_order, struct npl_traffic_request *request, int room, int *n,
		     struct npl_err *err)
{
	if (traffic->trace)
		return trace_next(traffic->trace, any_order, request, room, n, err);
	pattern_next(&traffic->pattern, request, room, n);
	return 0;
}

enum { BATCH = 256, TOLD_EVERY = 1 << 18, READS = 0, WRITES = 1, DIRECTIONS = 2 };

#define NEVER (UINT64_MAX / 4)

struct run {
	struct npl_memory *memory;
	struct npl_traffic *traffic;
	const struct npl_traffic_options *options;
	int64_t inject;
	uint64_t access_bytes;
	struct npl_traffic_request batch[BATCH];
	int at, have;
	bool ended;
	uint64_t accepted, completed, last_cycle;
	struct latencies latencies[DIRECTIONS];
};

/* The next request that has not been accepted, or NULL. */
static const struct npl_traffic_request *next_request(struct run *run, struct npl_err *err)
{
	if (run->at < run->have)
		return &run->batch[run->at];
	if (run->ended)
		return NULL;
	if (run->accepted % TOLD_EVERY == 0 && run->options->progress)
		run->options->progress(run->options->user, "requests", (int64_t)run->accepted,
				       run->traffic->trace ? 0 : (int64_t)run->traffic->pattern.n);
	run->at = 0;
	if (npl_traffic_next(run->traffic, run->inject > 0, run->batch, BATCH, &run->have, err))
		run->have = 0;
	run->ended = run->have == 0;
	return run->have ? &run->batch[0] : NULL;
}

/* What the memory is asked at this boundary. */
enum asked { REFUSED, NOT_DUE, ALL_OFFERED, NO_MORE };

/* A request's tag is when it was due, and its direction. */
static enum asked ask(struct run *run, uint64_t now, struct npl_err *err)
{
	const struct npl_traffic_request *next;
	for (int64_t offered = 0; (next = next_request(run, err)); offered++) {
		if (run->inject ? offered == run->inject : next->cycle > now)
			return run->inject ? ALL_OFFERED : NOT_DUE;
		const uint64_t due = run->inject ? now : next->cycle;
		const struct npl_memory_request request = {.address = next->address,
							   .bytes = run->access_bytes,
							   .tag = due << 1 | next->is_write,
							   .is_write = next->is_write};
		if (!npl_memory_can_accept(run->memory, &request))
			return REFUSED;
		npl_memory_push(run->memory, &request);
		run->at++;
		run->accepted++;
	}
	return NO_MORE;
}

static void take_completions(struct run *run)
{
	struct npl_memory_completion done;
	while (npl_memory_completed(run->memory, &done)) {
		latencies_add(&run->latencies[done.tag & 1], done.cycle - (done.tag >> 1));
		run->last_cycle = done.cycle;
		run->completed++;
	}
}

static int run_all(struct run *run, struct npl_err *err)
{
	for (err->code = 0;; take_completions(run)) {
		const enum asked asked = ask(run, npl_memory_now(run->memory), err);
		const uint64_t pending = run->accepted - run->completed;
		if (err->code)
			return err->code;
		if (asked == NO_MORE && !pending)
			return 0;
		if (asked == REFUSED) /* by a full queue, or for completions that were not taken */
			npl_memory_advance(run->memory, NEVER,
					   NPL_MEMORY_ROOM |
						   (pending < NPL_MEMORY_MAX_PENDING ? 0 : NPL_MEMORY_COMPLETION));
		else if (asked == NO_MORE)
			npl_memory_advance(run->memory, NEVER, NPL_MEMORY_COMPLETION);
		else if (asked == NOT_DUE)
			npl_memory_advance(run->memory, run->batch[run->at].cycle, 0);
		else
			npl_memory_step(run->memory);
		if (npl_memory_now(run->memory) >= NEVER)
			return npl_fail(err, NPL_EINTERNAL, "%s: %llu requests never complete",
					npl_memory_info(run->memory)->name, (unsigned long long)pending);
	}
}

static void fill_result(const struct run *run, struct npl_traffic_result *result)
{
	const struct npl_memory_info *info = npl_memory_info(run->memory);
	*result = (struct npl_traffic_result){.requests = run->completed,
					      .cycles = run->last_cycle,
					      .inject = run->inject,
					      .latency = latencies_of(run->latencies, DIRECTIONS),
					      .read_latency = latencies_of(&run->latencies[READS], 1),
					      .write_latency = latencies_of(&run->latencies[WRITES], 1)};
	npl_memory_counters(run->memory, &result->counters);
	result->n_energy = npl_memory_energy_of(run->memory, &result->counters, result->energy);
	result->seconds = (double)result->cycles * (double)info->clock.denominator / (double)info->clock.numerator;
	result->bytes_per_second = (double)(result->counters.read_bytes + result->counters.written_bytes) /
				   result->seconds;
}

int npl_traffic_run(struct npl_memory *memory, struct npl_traffic *traffic, const struct npl_traffic_options *options,
		    struct npl_traffic_result *result, struct npl_err *err)
{
	static const struct npl_traffic_options none;
	const struct npl_memory_info *info = npl_memory_info(memory);
	struct run *run = calloc(1, sizeof *run);
	if (!run)
		return npl_fail(err, NPL_ENOMEM, "out of memory");
	run->memory = memory;
	run->traffic = traffic;
	run->options = options ? options : &none;
	run->access_bytes = traffic_access_bytes(info);
	run->inject = run->options->inject;
	if (!run->inject && !npl_traffic_has_cycles(traffic))
		run->inject = 2 * info->channels;
	int rc = latencies_open(&run->latencies[READS], err);
	if (!rc)
		rc = latencies_open(&run->latencies[WRITES], err);
	if (!rc)
		rc = run_all(run, err);
	if (!rc)
		fill_result(run, result);
	latencies_close(&run->latencies[READS]);
	latencies_close(&run->latencies[WRITES]);
	free(run);
	return rc;
}

void npl_traffic_figures_of(const struct npl_memory *memory, const struct npl_traffic_result *result,
			    struct npl_traffic_figures *figures)
{
	const struct npl_memory_counters *n = &result->counters;
	const uint64_t commands = n->read_commands + n->write_commands;
	const double bits = 8 * (double)(n->read_bytes + n->written_bytes);
	const double peak = npl_memory_info(memory)->peak_bytes_per_second;
	*figures = (struct npl_traffic_figures){.peak_fraction = isfinite(peak) ? result->bytes_per_second / peak : NAN,
						.row_hit_rate = commands ? (double)n->row_hits / (double)commands : NAN,
						.energy_j = result->n_energy ? 0 : NAN};
	for (int i = 0; i < result->n_energy; i++) {
		const struct npl_memory_energy *part = &result->energy[i];
		const bool known = strcmp(part->origin, "absent") != 0;
		figures->joules[i] = known ? (double)part->events * part->pj * 1e-12 : NAN;
		figures->energy_j += figures->joules[i];
	}
	figures->pj_per_bit = figures->energy_j * 1e12 / bits;
}
