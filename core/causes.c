/* SPDX-License-Identifier: MIT
 *
 * Where cycles went, and what limits a layer (causes.h). */
#include "npulab/causes.h"

#include <string.h>

/* WELL_USED and LINK_BUSY are npulab's choice. DRAM that refreshes and opens rows gives no more than nine tenths
 * of its peak, and between layers it is idle for a while, so a memory that moves bytes in three quarters of the time at
 * its peak has hardly anything left. */
#define WELL_USED   0.5 /* share of the MACs that are possible while the machine computes */
#define MEMORY_BUSY 0.75
#define LINK_BUSY   0.5

static bool is_cause(const struct npl_counter_def *def)
{
	return def->partition == 1 || def->part_of;
}

/* Returns the amount of the counter that belongs to none of its parts; *parts: how many parts it has. */
static uint64_t remaining_amount(const struct npl_counter_def *def, size_t n_counters, size_t offset,
				 const struct npl_result *result, int *parts)
{
	uint64_t remaining = result->counter[offset];
	*parts = 0;
	for (size_t i = 0; i < n_counters; i++)
		if (def[i].part_of && !strcmp(def[i].part_of, def[offset].name)) {
			remaining -= result->counter[i];
			++*parts;
		}
	return remaining;
}

int npl_causes_of(const struct npl_counter_def *def, size_t n_counters, const struct npl_result *result,
		  struct npl_cause cause[NPL_MAX_CAUSES])
{
	struct npl_cause other[NPL_MAX_CAUSES]; /* what counters with parts have besides these */
	int n = 0, n_other = 0;
	for (size_t i = 0; i < n_counters; i++) {
		int parts;
		if (!is_cause(&def[i]))
			continue;
		const uint64_t remaining = remaining_amount(def, n_counters, i, result, &parts);
		if (parts)
			other[n_other++] = (struct npl_cause){&def[i], "other", remaining};
		else
			cause[n++] = (struct npl_cause){&def[i], def[i].name, remaining};
	}
	for (int i = 0; i < n_other; i++)
		cause[n++] = other[i];
	return n;
}

/* Returns the share of the MACs that were possible while the machine computed. */
static double used_macs_share(const struct npl_device_info *info, const struct npl_result *result)
{
	double used = 0, idle = 0;
	for (size_t i = 0; i < info->n_counters; i++) {
		used += info->counter_def[i].kind == NPL_COUNTER_USED ? (double)result->counter[i] : 0;
		idle += info->counter_def[i].kind == NPL_COUNTER_IDLE ? (double)result->counter[i] : 0;
	}
	return used > 0 ? used / (used + idle) : 0;
}

static double share_of(double amount, double rate, double seconds)
{
	return rate > 0 && seconds > 0 ? amount / rate / seconds : 0;
}

/* Returns the amount of all causes with the kind and bound of this counter. */
static uint64_t sum_of_bound(const struct npl_cause *cause, int n, const struct npl_counter_def *def)
{
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		if (cause[i].counter_def->kind == def->kind && !strcmp(cause[i].counter_def->bound, def->bound))
			sum += cause[i].amount;
	return sum;
}

/* Returns the share of the causes' sum that is waiting for memory. */
static double memory_wait_share(const struct npl_cause *cause, int n)
{
	double waiting = 0, all = 0;
	for (int i = 0; i < n; i++) {
		waiting += cause[i].counter_def->kind == NPL_COUNTER_MEMORY ? (double)cause[i].amount : 0;
		all += (double)cause[i].amount;
	}
	return all > 0 ? waiting / all : 0;
}

const char *npl_bound_of(const struct npl_device_info *info, const struct npl_result *result)
{
	struct npl_cause cause[NPL_MAX_CAUSES];
	const int n = npl_causes_of(info->counter_def, info->n_counters, result, cause);
	const struct npl_counter_def *greatest_def = NULL;
	uint64_t greatest = 0;
	for (int i = 0; i < n; i++) {
		const uint64_t bound_amount = sum_of_bound(cause, n, cause[i].counter_def);
		greatest_def = bound_amount > greatest ? cause[i].counter_def : greatest_def;
		greatest = bound_amount > greatest ? bound_amount : greatest;
	}
	if (!greatest_def)
		return NULL;
	/* The memory sets the pace where it is waited for in more of the time than it is idle. Without cycles the
	 * causes are the parts of a modelled time, of which none goes on during another. */
	const double moving = share_of((double)result->bytes[NPL_MEM_DRAM], info->memory_bytes_per_second,
				       result->seconds);
	if (moving >= MEMORY_BUSY &&
	    (greatest_def->kind == NPL_COUNTER_MEMORY || (result->cycles && memory_wait_share(cause, n) > 1 - moving)))
		return "memory";
	if (greatest_def->kind == NPL_COUNTER_WORK)
		return used_macs_share(info, result) >= WELL_USED ? "peak" : greatest_def->bound;
	if (greatest_def->kind == NPL_COUNTER_MEMORY)
		return greatest_def->bound;
	return share_of((double)result->bytes[NPL_MEM_HOST], info->link.bytes_per_second, result->seconds) >= LINK_BUSY
		       ? "link"
		       : greatest_def->bound;
}
