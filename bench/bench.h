/* SPDX-License-Identifier: MIT
 *
 * Timing for benchmarks: a case is run until its median is steady enough to print. Ratios between two cases of one
 * run mean more than any absolute figure: the computers this runs on are shared. */
#ifndef NPULAB_BENCH_BENCH_H
#define NPULAB_BENCH_BENCH_H

#include <stdio.h>
#include <stdlib.h>

#include "core/computer/clock.h"

#define BENCH_RUNS 200

static int bench_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Median seconds of one call of work(context), over at least 5 calls and half a second, after one to warm up. */
__attribute__((unused)) static double bench_seconds(void (*work)(void *context), void *context)
{
	double times[BENCH_RUNS], total = 0;
	int n = 0;
	work(context);
	while (n < BENCH_RUNS && (n < 5 || total < 0.5)) {
		double start = npl_clock_seconds();
		work(context);
		times[n] = npl_clock_seconds() - start;
		total += times[n++];
	}
	qsort(times, (size_t)n, sizeof *times, bench_order);
	return times[n / 2];
}

/* Prints one line with the subject, its rate in the unit, and the time. */
__attribute__((unused)) static void bench_print(const char *subject, double amount, const char *unit, double seconds)
{
	printf("%-52s %9.2f %-8s %10.3f ms\n", subject, amount / seconds * 1e-9, unit, seconds * 1e3);
	fflush(stdout);
}

#endif
