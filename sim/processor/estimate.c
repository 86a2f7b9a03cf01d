/* SPDX-License-Identifier: MIT
 *
 * How long a processor takes for an operator, and on how many cores (processor_model.h). */
#include <math.h>

#include "processor_model.h"

double npl_processor_peak(const struct npl_processor_model *processor, enum npl_processor_precision precision)
{
	return (double)processor->cores * processor->clock_hz * processor->macs[precision];
}

/* Bytes per second of a level that n cores share. */
static double shared_by(double all, double one, double n)
{
	return one > 0 ? fmin(all, n * one) : all;
}

/* Of the smallest level that holds as many bytes. */
static double bandwidth(const struct npl_processor_model *p, double bytes, double n)
{
	if (bytes <= n * p->private_bytes)
		return n * p->private_rate;
	if (bytes <= p->shared_bytes)
		return shared_by(p->shared_rate, p->shared_core_rate, n);
	return shared_by(p->memory_rate, p->memory_core_rate, n);
}

static double seconds_on(const struct npl_processor_model *p, enum npl_processor_precision precision,
			 const struct npl_processor_work *work, double n)
{
	double cycles = work->macs ? (double)work->macs / p->macs[precision] : 0;
	for (int c = 0; c < NPL_CLASSES; c++)
		cycles += work->operations[c] / (p->rate[c] * (c == NPL_SCATTER ? 1 : p->lanes));
	const double arithmetic = cycles / (n * p->clock_hz);
	double traffic = (double)work->weight_bytes / shared_by(p->memory_rate, p->memory_core_rate, n);
	if (work->bytes)
		traffic += (double)work->bytes / bandwidth(p, (double)work->bytes, n);
	const double hidden = p->overlap * fmin(arithmetic, traffic);
	return p->overhead_seconds + (n - 1) * p->fork_join_seconds + (arithmetic + traffic - hidden) / p->efficiency;
}

/* Tries 1, 2, 4, 8... and all cores: what lies between is at most a factor of two from one of them. */
struct npl_processor_time npl_processor_estimate(const struct npl_processor_model *p,
						 enum npl_processor_precision precision,
						 const struct npl_processor_work *work)
{
	struct npl_processor_time best = {.seconds = INFINITY};
	for (int64_t n = 1;; n = 2 * n < p->cores ? 2 * n : p->cores) {
		const double seconds = seconds_on(p, precision, work, (double)n);
		if (seconds < best.seconds)
			best = (struct npl_processor_time){.seconds = seconds, .cores = n};
		if (n == p->cores)
			break;
	}
	best.watts = p->idle_watts + (double)best.cores * p->core_watts;
	return best;
}
