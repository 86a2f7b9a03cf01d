/* SPDX-License-Identifier: MIT
 *
 * What the parts of the GPU's benchmark share. Tables are Markdown, to be kept in docs/gpu-results.md. */
#ifndef NPULAB_BENCH_CUDA_BENCH_CUDA_H
#define NPULAB_BENCH_CUDA_BENCH_CUDA_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "backends/cuda/layer_group/cuda.h"
#include "core/computer/clock.h"
#include "npulab/device.h"

enum { BENCH_LIST = 16 };

struct bench_list {
	int n;
	const char *item[BENCH_LIST];
};

struct bench_options {
	struct bench_list precisions, sizes, networks;
	bool smallest; /* a few runs of anything: what a test can wait for */
	int64_t batch;
	double pytorch_ms; /* of a batch of ResNet-50 in float16; NAN: not measured */
};

/* How often something is measured: at least `least` times and for `enough` seconds, at most `most` times. */
struct bench_repeats {
	int least, most;
	double enough;
};
struct bench_repeats bench_repeats(const struct bench_options *options);

/* Opens the device `cuda` in a precision. */
int bench_open(const char *precision, struct npl_device **device, struct npl_err *err);

static inline int bench_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sorts. */
static inline double bench_median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof *values, bench_order);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Each of these runs one part of the measurements. It prints results as they come, and goes on after an error, which
 * it prints in their place. It returns how many measurements failed. */
int bench_head(void);
int bench_products(const struct bench_options *options);
int bench_networks(const struct bench_options *options);

#endif
