/* SPDX-License-Identifier: MIT
 *
 * Threads that work through a list of independent tasks: what parallel loops of the cpu device run on, beside
 * OpenBLAS's own threads.
 *
 *     cpu_pool_run(pool, n_tasks, task, &context);     task(context, i, worker) for i in [0, n_tasks), any order
 */
#ifndef NPULAB_CPU_POOL_H
#define NPULAB_CPU_POOL_H

#include <stdint.h>

#include "npulab/error.h"

struct cpu_pool; /* opaque */

/* threads counts the caller of cpu_pool_run, who works too: 1 starts none. */
int cpu_pool_open(int threads, struct cpu_pool **pool, struct npl_err *err);
void cpu_pool_close(struct cpu_pool *pool); /* accepts NULL */
int cpu_pool_threads(const struct cpu_pool *pool);

/* Returns when all tasks are done. worker is in [0, threads). One call at a time. */
void cpu_pool_run(struct cpu_pool *pool, int64_t n_tasks, void (*task)(void *context, int64_t i, int worker),
		  void *context);

#endif
