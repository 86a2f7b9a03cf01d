/* SPDX-License-Identifier: MIT
 *
 * Loops over independent tasks by the threads that npulab may use (npl_threads_allow): one pool for the process, which
 * is started when it is first needed. Results must not depend on which thread runs which task: sums over tasks are kept
 * for each worker and added after the loop.
 *
 *     const int workers = npl_parallel_workers();
 *     ... scratch for each worker ...
 *     npl_parallel(workers, n_tasks, task, &context);     task(context, i, worker) for i in [0, n_tasks), any order
 */
#ifndef NPULAB_CORE_BASE_PARALLEL_H
#define NPULAB_CORE_BASE_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

/* Returns how many threads a loop of this thread may use, itself included: 1 within a task that the pool runs and while
 * npl_parallel_alone holds. */
int npl_parallel_workers(void);

/* Returns when all tasks are done; workers is 1 or what npl_parallel_workers gave, worker in [0, workers). The calling
 * thread does all tasks itself where workers is 1, where another thread uses the pool, and where no thread can be
 * started. */
void npl_parallel(int workers, int64_t n_tasks, void (*task)(void *context, int64_t i, int worker), void *context);

/* Does the same over the elements [0, count), in pieces of at least `piece` elements, so that short loops wake no
 * thread. */
void npl_parallel_pieces(int64_t count, int64_t piece, void (*body)(void *context, int64_t first, int64_t end),
			 void *context);

/* Sets whether the calling thread's loops run without the pool, for measurements of code with threads of its own.
 * Returns the former setting. */
bool npl_parallel_alone(bool alone);

#endif
