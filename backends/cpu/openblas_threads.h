/* SPDX-License-Identifier: MIT
 *
 * Finds out whether there are the memory and the threads that OpenBLAS takes without checking: without memory for a
 * buffer it retries for ever, and without a thread it ends the process. */
#ifndef NPULAB_BACKENDS_CPU_OPENBLAS_THREADS_H
#define NPULAB_BACKENDS_CPU_OPENBLAS_THREADS_H

#include "npulab/error.h"

/* Writes the greatest number of threads, at most `max_threads`, for which there is room. It takes that much memory for
 * a moment to find out. Returns 0, or NPL_ENOMEM where there is not enough for one thread; the message has the bytes
 * that it needs and the limit. */
int cpu_threads_that_fit(int max_threads, int *threads, struct npl_err *err);

#endif
