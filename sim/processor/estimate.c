/* SPDX-License-Identifier: MIT
 *
 * Estimates how long a processor takes for an operator, and on how many cores (processor_model.h). */
#include <math.h>

#include "processor_model.h"

double npl_processor_peak(const struct npl_processor_model *processor, enum npl_processor_precision precision)
{
	return (double)processor->cores * processor->clock_hz * processor->macs[precision];
}

/* Returns the bytes per second of a level that n cores share. */
static double shared_by(double all_rate, double core_rate, double n)
{
	return core_rate > 0 ? fmin(all_rate, n * core_rate) : all_rate;
}

/* Returns the bytes per second from memory to n cores. */
static double memory_rate(const struct npl_processor_model *p, double n)
{
	return p->core_share == NPL_SHARE_EVEN ? p->memory_rate * n / (double)p->cores
					       : shared_by(p->memory_rate, p->memory_core_rate, n);
}

/* Returns the bandwidth of the smallest level that holds so many bytes. *part: whether that is a cache or memory. */
static double bandwidth(const struct npl_processor_model *p, double bytes, double n, enum npl_processor_part *part)
{
	*part = NPL_PROCESSOR_CACHE;
	if (bytes <= n * p->private_bytes)
		return n * p->private_rate;
	if (bytes <= p->shared_bytes)
		return shared_by(p->shared_rate, p->shared_core_rate, n);
	*part = NPL_PROCESSOR_MEMORY;
	return memory_rate(p, n);
}

/* Returns the time on so many cores. Arithmetic and traffic overlap in part: the hidden time is a part of the
 * shorter. */
static struct npl_processor_time time_on_cores(const struct npl_processor_model *p,
					       enum npl_processor_precision precision,
					       const struct npl_processor_counts *counts, int64_t cores)
{
	struct npl_processor_time t = {.cores = cores};
	const double n = (double)cores;
	enum npl_processor_part level;
	double cycles = counts->macs ? (double)counts->macs / p->macs[precision] : 0;
	for (int c = 0; c < NPL_CLASSES; c++)
		cycles += counts->operations[c] / (p->rate[c] * (c == NPL_SCATTERED_ACCESS ? 1 : p->lanes));
	double arithmetic = cycles / (n * p->clock_hz);
	t.part[NPL_PROCESSOR_MEMORY] = (double)counts->weight_bytes / memory_rate(p, n);
	if (counts->bytes) {
		const double rate = bandwidth(p, (double)counts->bytes, n, &level);
		t.part[level] += (double)counts->bytes / rate;
	}
	const double traffic = t.part[NPL_PROCESSOR_MEMORY] + t.part[NPL_PROCESSOR_CACHE];
	const double hidden = p->overlap * fmin(arithmetic, traffic);
	/* The part of the traffic that is not hidden. */
	const double visible_share = arithmetic < traffic || traffic <= 0 ? 1 : (traffic - hidden) / traffic;
	arithmetic -= arithmetic < traffic ? hidden : 0;
	t.part[NPL_PROCESSOR_ARITHMETIC] = arithmetic / p->efficiency;
	t.part[NPL_PROCESSOR_CACHE] *= visible_share / p->efficiency;
	t.part[NPL_PROCESSOR_MEMORY] *= visible_share / p->efficiency;
	t.part[NPL_PROCESSOR_START] = p->overhead_seconds + (n - 1) * p->fork_join_seconds;
	for (int i = 0; i < NPL_PROCESSOR_PARTS; i++)
		t.seconds += t.part[i];
	return t;
}

/* Tries 1, 2, 4, 8 and so on, and all cores: a number in between is at most a factor of two from one of these. */
struct npl_processor_time npl_processor_estimate(const struct npl_processor_model *p,
						 enum npl_processor_precision precision,
						 const struct npl_processor_counts *counts)
{
	struct npl_processor_time best = {.seconds = INFINITY};
	for (int64_t n = 1;; n = 2 * n < p->cores ? 2 * n : p->cores) {
		const struct npl_processor_time time = time_on_cores(p, precision, counts, n);
		if (time.seconds < best.seconds)
			best = time;
		if (n == p->cores)
			break;
	}
	best.watts = p->idle_watts + (double)best.cores * p->core_watts;
	return best;
}
