/* SPDX-License-Identifier: MIT
 *
 * Threads that work through a list of independent tasks and sleep in between.
 *
 *     npl_pool_run(pool, n_tasks, task, &context);     task(context, i, worker) for i in [0, n_tasks), any order
 */
#ifndef NPULAB_CORE_BASE_POOL_H
#define NPULAB_CORE_BASE_POOL_H

#include <stdint.h>

#include "npulab/error.h"

struct npl_pool; /* opaque */

/* Opens a pool. `threads` includes the caller of npl_pool_run, which works too: 1 starts no thread. */
int npl_pool_open(int threads, struct npl_pool **pool, struct npl_err *err);
void npl_pool_close(struct npl_pool *pool); /* accepts NULL */

/* Returns when all tasks are done. worker is in [0, threads), and no two tasks at a time have the same. One call at a
 * time. Threads that have not woken up when the last task is taken are not waited for. */
void npl_pool_run(struct npl_pool *pool, int64_t n_tasks, void (*task)(void *context, int64_t i, int worker),
		  void *context);

#endif
