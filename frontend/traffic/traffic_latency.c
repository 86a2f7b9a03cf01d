/* SPDX-License-Identifier: MIT
 *
 * Counts latencies (traffic_impl.h). */
#include <math.h>
#include <stdlib.h>

#include "traffic_impl.h"

int latencies_open(struct latencies *latencies, struct npl_err *err)
{
	*latencies = (struct latencies){.count = calloc(LATENCY_EXACT, sizeof *latencies->count),
					.range = calloc(LATENCY_RANGES, sizeof *latencies->range)};
	if (latencies->count && latencies->range)
		return 0;
	latencies_close(latencies);
	return npl_fail(err, NPL_ENOMEM, "out of memory for latencies");
}

void latencies_close(struct latencies *latencies)
{
	free(latencies->count);
	free(latencies->range);
	*latencies = (struct latencies){0};
}

/* Counts a latency of LATENCY_EXACT or more in its range, which its highest bit and the LATENCY_RANGE_BITS after it
 * select. */
void latencies_add_long(struct latencies *latencies, uint64_t cycles)
{
	const int top = 63 - __builtin_clzll(cycles);
	latencies->long_sum += cycles;
	const uint64_t within = cycles >> (top - LATENCY_RANGE_BITS) & ((1u << LATENCY_RANGE_BITS) - 1);
	latencies->range[((uint64_t)(top - LATENCY_EXACT_BITS) << LATENCY_RANGE_BITS) + within]++;
}

/* Returns the longest latency of a range. */
static uint64_t end_of(uint64_t range)
{
	const int top = (int)(range >> LATENCY_RANGE_BITS) + LATENCY_EXACT_BITS;
	const uint64_t within = range & ((1u << LATENCY_RANGE_BITS) - 1);
	return (UINT64_C(1) << top) + ((within + 1) << (top - LATENCY_RANGE_BITS)) - 1;
}

/* Returns the number of requests; *sum is the sum of their latencies. */
static uint64_t total(const struct latencies *latencies, npl_u128 *sum)
{
	uint64_t n = 0;
	*sum += latencies->long_sum;
	for (uint64_t cycles = 0; cycles < LATENCY_EXACT && cycles <= latencies->max; cycles++) {
		n += latencies->count[cycles];
		*sum += (npl_u128)cycles * latencies->count[cycles];
	}
	for (uint64_t range = 0; range < LATENCY_RANGES; range++)
		n += latencies->range[range];
	return n;
}

/* Returns the smallest latency that `rank` of the requests do not exceed. */
static uint64_t latency_of_rank(const struct latencies *sets, int n_sets, uint64_t rank, uint64_t max)
{
	uint64_t below = 0;
	for (uint64_t cycles = 0; cycles < LATENCY_EXACT && cycles <= max; cycles++) {
		for (int s = 0; s < n_sets; s++)
			below += sets[s].count[cycles];
		if (below >= rank)
			return cycles;
	}
	for (uint64_t range = 0; range < LATENCY_RANGES; range++) {
		for (int s = 0; s < n_sets; s++)
			below += sets[s].range[range];
		if (below >= rank)
			return end_of(range) < max ? end_of(range) : max;
	}
	return max;
}

struct npl_latency latencies_of(const struct latencies *sets, int n_sets)
{
	struct npl_latency latency = {.mean = NAN};
	npl_u128 sum = 0;
	for (int s = 0; s < n_sets; s++) {
		latency.requests += total(&sets[s], &sum);
		latency.max = sets[s].max > latency.max ? sets[s].max : latency.max;
	}
	if (!latency.requests)
		return latency;
	latency.mean = (double)sum / (double)latency.requests;
	latency.p99 = latency_of_rank(sets, n_sets, latency.requests - latency.requests / 100, latency.max);
	return latency;
}
