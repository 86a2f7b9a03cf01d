/* SPDX-License-Identifier: MIT
 *
 * Conservation laws checked after every layer (ARCHITECTURE.md, Invariants): a simulator whose counters do not add up
 * is wrong somewhere, and a wrong figure must not reach a report. */
#include "books.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/number_format.h"
#include "npulab/causes.h"

#define BAD(...) npl_fail(err, NPL_EINTERNAL, "the books of " __VA_ARGS__)

/* Says whether parts with this sum are the whole: parts of a time are rounded. */
static bool sums_to_whole(const struct npl_counter_def *part, int n, uint64_t sum, const struct npl_result *result)
{
	if (strcmp(part->unit, NPL_COUNTER_TIME) != 0)
		return sum == result->cycles;
	if (result->seconds >= NPL_COUNTER_TIME_SECONDS)
		return sum == 0;
	return fabs((double)sum - result->seconds * 1e12) <= n + 1e-12 * (double)sum;
}

/* Checks that the counters of parts do not exceed the counter that they are parts of, so that the causes sum to the
 * whole too. */
static int check_causes(const char *device, const struct npl_device_info *info, const struct npl_layer *layer,
			const struct npl_result *result, struct npl_err *err)
{
	struct npl_cause cause[NPL_MAX_CAUSES];
	const int n = npl_causes_of(info->counter_def, info->n_counters, result, cause);
	uint64_t sum = 0;
	for (int i = 0; i < n; i++) {
		const uint64_t amount = result->counter[cause[i].counter_def - info->counter_def];
		if (cause[i].amount > amount)
			return BAD("%s on layer %s: the parts of %s are more than its %" PRIu64 " %s", device,
				   layer->name, cause[i].counter_def->name, amount, cause[i].counter_def->unit);
		sum += cause[i].amount;
	}
	if (n && !sums_to_whole(cause[0].counter_def, n, sum, result))
		return BAD("%s on layer %s: the causes of its %s sum to %" PRIu64 ", not %" PRIu64 " cycles or %g s",
			   device, layer->name, cause[0].counter_def->unit, sum, result->cycles, result->seconds);
	return 0;
}

/* Checks that a simulated machine does no more products than its arithmetic can in its cycles. */
static int check_peak(const char *device, const struct npl_device_info *info, const struct npl_layer *layer,
		      const struct npl_result *result, struct npl_err *err)
{
	double counted_macs = 0;
	if (info->kind != NPL_KIND_SIMULATED || !(info->clock_hz > 0) || !(info->peak_macs_per_second > 0))
		return 0;
	const double greatest_macs = info->peak_macs_per_second / info->clock_hz * (double)result->cycles * (1 + 1e-9);
	for (size_t i = 0; i < info->n_counters; i++)
		if (info->counter_def[i].kind == NPL_COUNTER_USED || info->counter_def[i].kind == NPL_COUNTER_IDLE)
			counted_macs += (double)result->counter[i];
	if ((double)result->macs > greatest_macs)
		return BAD("%s on layer %s: %" PRIu64 " multiply-accumulates in %" PRIu64
			   " cycles, at its peak it does %.0f",
			   device, layer->name, result->macs, result->cycles, floor(greatest_macs));
	/* Where activations are wider than weights (int8x16), a product takes a pass for each width of a weight. The
	 * counters count passes, the peak counts products: so the counters may reach as many times the peak. */
	const size_t passes = npl_dtype_size(npl_format_dtype(info->format)) /
			      npl_dtype_size(npl_format_weight_dtype(info->format));
	if (counted_macs > greatest_macs * (double)passes)
		return BAD(
			"%s on layer %s: the counters of used and idle multiply-accumulates sum to %.0f, expected at "
			"most %.0f in %" PRIu64 " cycles",
			device, layer->name, counted_macs, floor(greatest_macs), result->cycles);
	return 0;
}

/* Checks that the counters of a partition sum to the whole: busy, stalled and idle cycles. */
static int check_partitions(const char *device, const struct npl_device_info *info, const struct npl_layer *layer,
			    const struct npl_result *result, struct npl_err *err)
{
	int n_partitions = 0;
	for (size_t i = 0; i < info->n_counters; i++)
		n_partitions = info->counter_def[i].partition > n_partitions ? info->counter_def[i].partition
									     : n_partitions;
	for (int partition = 1; partition <= n_partitions; partition++) {
		const struct npl_counter_def *part = NULL;
		uint64_t sum = 0;
		int n = 0;
		for (size_t i = 0; i < info->n_counters; i++)
			if (info->counter_def[i].partition == partition) {
				part = &info->counter_def[i];
				sum += result->counter[i];
				n++;
			}
		if (part && !sums_to_whole(part, n, sum, result))
			return BAD("%s on layer %s: the parts of its %s sum to %" PRIu64 ", not %" PRIu64
				   " cycles or %g s",
				   device, layer->name, part->unit, sum, result->cycles, result->seconds);
	}
	return check_causes(device, info, layer, result, err);
}

static int check_energy(const char *device, const struct npl_layer *layer, const struct npl_result *result,
			struct npl_err *err)
{
	for (int i = 0; i < result->n_energy; i++) {
		const struct npl_energy *e = &result->energy[i];
		double expected = (double)e->events * e->pj_per_event * 1e-12;
		if (!npl_origin_ok(e->origin))
			return BAD("%s on layer %s: the energy of %s has no valid origin: '%s'", device, layer->name,
				   e->component, e->origin);
		if (e->events && !isnan(e->joules) && fabs(e->joules - expected) > 1e-9 * expected)
			return BAD("%s on layer %s: the energy of %s is %g J, but events times table give %g J", device,
				   layer->name, e->component, e->joules, expected);
		if (e->joules < 0)
			return BAD("%s on layer %s: the energy of %s is negative: %g J", device, layer->name,
				   e->component, e->joules);
	}
	return 0;
}

/* Checks that the bytes that crossed each memory's port are at least those that had to. */
static int check_bytes(const char *device, const struct npl_device_info *info, const struct npl_layer *layer,
		       const struct npl_least_bytes *least, struct npl_result *result, struct npl_err *err)
{
	/* in the order of enum npl_memory_level */
	static const char *const level[] = {"memory", "buffer", "host link"};
	_Static_assert(sizeof level / sizeof *level == NPL_MEM_LEVELS, "each level of memory has a name");
	for (int i = 0; i < NPL_MEM_LEVELS; i++) {
		result->bytes_at_least[i] = npl_max_u64(result->bytes_at_least[i], least->bytes[i]);
		if (result->bytes[i] && i != NPL_MEM_HOST && !info->crosses[i])
			return BAD("%s on layer %s: %" PRIu64
				   " bytes crossed the %s, and npl_device_info.crosses names "
				   "no tensors that do",
				   device, layer->name, result->bytes[i], level[i]);
		if (result->bytes[i] < result->bytes_at_least[i])
			return BAD("%s on layer %s: %" PRIu64 " bytes crossed the %s, its tensors have %" PRIu64,
				   device, layer->name, result->bytes[i], level[i], result->bytes_at_least[i]);
	}
	return 0;
}

int npl_books_check(const char *device, const struct npl_device_info *info, const struct npl_layer *layer,
		    const struct npl_least_bytes *least, struct npl_result *result, struct npl_err *err)
{
	if (info->kind != NPL_KIND_NULL && result->macs != layer->macs)
		return BAD("%s on layer %s: %" PRIu64 " multiply-accumulates done, the layer has %" PRIu64, device,
			   layer->name, result->macs, layer->macs);
	if (check_bytes(device, info, layer, least, result, err))
		return err->code;
	if (isnan(result->seconds) || result->seconds < 0)
		return BAD("%s on layer %s: %g seconds", device, layer->name, result->seconds);
	if (check_partitions(device, info, layer, result, err) || check_peak(device, info, layer, result, err))
		return err->code;
	return check_energy(device, layer, result, err);
}
